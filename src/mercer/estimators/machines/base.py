"""What all support vector machines share: a fit in a straight line, what is kept of it, and values at new points."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from threading import Lock
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import parse_memory
from mercer.arrays.shapes import Axes, Inside
from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.features.params import KernelParams
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel, Linear
from mercer.messages import warn_caller
from mercer.solvers.evidence import DualityGap, Objective
from mercer.solvers.machines.fit import MachineFit, fit_machines
from mercer.solvers.machines.problems import MachineProblems
from mercer.solvers.machines.rounds import Progress
from mercer.solvers.machines.smo import SMO
from mercer.solvers.plan import Plan

from ..engine import in_the_kind_given, where_the_data_lives
from ..primal import PrimalForm
from ..progress import fit_task, with_callbacks
from ..transaction import all_or_nothing
from .argument import MachineArgument, machine_argument

EXPECTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "C": (lambda v: v > 0, "a positive number, or infinity for a hard margin"),
    "nu": (lambda v: 0 < v <= 1, "a number above 0 and at most 1, the share of points that may be on the wrong side"),
    "epsilon": (lambda v: 0 <= v < np.inf, "a finite number that is not negative, the error that costs nothing"),
    "tol": (lambda v: 0 < v < np.inf, "a positive number such as 1e-3"),
    "cache_size": (lambda v: v > 0, "a positive number of megabytes"),
    "max_iter": (
        lambda v: isinstance(v, numbers.Integral) and int(v) >= -1,
        "a whole number of steps, or -1 for as many as could be of use",
    ),
    "max_time": (lambda v: v > 0, "a positive number of seconds, or None for no limit"),
}


def check_options(owner: Any) -> None:
    """Raise if an option of an estimator has no meaning, saying which values have one."""
    options = owner.get_params(deep=False)
    for name, (holds, text) in EXPECTED.items():
        value = options.get(name)
        if name not in options or (name == "max_time" and value is None):
            continue
        if not isinstance(value, numbers.Real) or not holds(value):
            raise ValueError(f"{type(owner).__name__}: {name} must be {text}; got {value!r}")
    if options.get("scaling", "sum") not in ("sum", "mean"):
        raise ValueError(f"{type(owner).__name__}: scaling must be 'sum' or 'mean', got {options['scaling']!r}")


def check_positive_weights(owner: object, sample_weight: Any, n: int) -> np.ndarray:
    """Return the weights as n finite numbers, 0 where a point takes no part; negative weights mean that too."""
    if sample_weight is None:
        return np.ones(n)
    name = type(owner).__name__
    weights = np.asarray(sample_weight, dtype=np.float64)
    weights = np.full(n, float(weights)) if weights.ndim == 0 else weights
    if weights.shape != (n,):
        raise ValueError(
            f"{name}: sample_weight and X have incompatible shapes: there are {n} points, so sample_weight must be one "
            f"number or have shape ({n},); got shape {weights.shape}"
        )
    if not np.isfinite(weights).all():
        bad = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise ValueError(f"{name}: weights must be finite, but sample_weight[{bad}] is {weights[bad]}")
    if not (weights > 0).any():
        raise ValueError(
            f"{name}: Invalid input - all samples have zero or negative weights. Give some points a positive weight."
        )
    return np.maximum(weights, 0.0)


def name_limits(max_iter: int, max_time: float | None) -> tuple[str, str]:
    """Return the limits that were given, in parentheses, and what may be raised."""
    limits = {"max_iter": max_iter if max_iter >= 0 else None, "max_time": max_time}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    where = f" ({', '.join(f'{name}={limit}' for name, limit in given.items())})" if given else ""
    return where, " or ".join([*given, "tol"])


class SupportVectorMachine(PrimalForm, KernelParams, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """The estimator behind all machines: subclasses say which problems their targets make."""

    # What subclasses have among their parameters.
    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    tol: float
    max_iter: int
    max_time: float | None
    memory: float | str | None
    device: Any
    verbose: bool | int
    shrinking: bool

    support_: Annotated[np.ndarray, Axes("s", of="iu")]
    support_vectors_: Rows
    n_support_: np.ndarray
    dual_coef_: Annotated[np.ndarray | sparse.spmatrix | sparse.sparray, Axes("k s")]
    intercept_: Annotated[np.ndarray, Axes("p+")]
    kernel_: Kernel
    shape_fit_: tuple[int, ...]
    n_iter_: int | np.ndarray
    converged_: bool
    fit_status_: int
    violation_: float
    duality_gap_: DualityGap
    objective_: Objective
    plan_: Plan
    # Of all machines, with a centre of no weight where there are no support vectors.
    _function: Annotated[Expansion, Inside(n=lambda s: max(s, 1), q="p")]
    # Which coefficients of support vectors are inside of their boxes, if they have such.
    _free: Annotated[np.ndarray, Axes("s p")] | None
    _gamma: float
    _X_fit: Rows | None  # all training points, for functions of two collections

    def _check_fitted(self) -> None:
        """Raise if support vectors are none of the training points; files call this."""
        total, support = self.shape_fit_[0] if self.shape_fit_ else 0, self.support_
        if not isinstance(total, int | np.integer) or not 0 <= support.min(initial=0) <= support.max(initial=0) < total:
            raise ValueError(f"{type(self).__name__}: a support vector is none of the {total} training points")

    def _problems(self, y: Any, weights: np.ndarray) -> MachineProblems:
        """Check the targets of points, and return the dual problems that they make."""
        raise NotImplementedError

    @with_callbacks
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Fit to data; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernel takes; the matrix of the kernel if it is precomputed.
        y : array of shape (n,)
            Numbers for a regression; labels, numbers or texts, of at least two classes for a classification.
        sample_weight : array of shape (n,), optional
            Factors of the bound on each coefficient.  A point whose weight is 0 or less takes no part.
        """
        return self._run(X, y, sample_weight)

    def _run(self, X: Rows, y: Any, sample_weight: Any) -> Self:
        """Fit, tell callbacks, and undo everything if it fails."""
        with fit_task(self, X, y) as context, all_or_nothing(self):
            check_options(self)
            argument = self._kernel_argument
            X = argument.check(X, reset=True)
            problems = self._problems(y, check_positive_weights(self, sample_weight, length(X)))
            kernel, points = self._find_kernel(argument, X, problems), argument.points(X)
            place, progress = argument.place(X), self._tell(context)
            fit = fit_machines(problems, kernel, points, self._solver(self.memory), place, progress)
            self._keep(argument.finish(fit, X), argument.show(kernel), X)
            self._remember(X, y, sample_weight)
        return self

    def _remember(self, X: Rows, y: Any, sample_weight: Any = None) -> None:
        """Keep what a fit was given, checked, if more than support vectors is ever wanted."""

    def _find_kernel(self, argument: MachineArgument, X: Rows, problems: MachineProblems) -> Kernel:
        """Return the kernel of the problems at checked training points."""
        return argument.train(X, problems.kept)

    @property
    def _kernel_argument(self) -> MachineArgument:
        return machine_argument(self)

    def _solver(self, memory: float | str | None) -> SMO:
        budget = None if memory is None else parse_memory(memory)
        return SMO(self.tol, self.max_iter, self.max_time, budget, bool(self.shrinking))

    def _keep(self, fit: MachineFit, kernel: Kernel, X: Rows) -> None:
        """Keep a fit to points X, of one machine or of a cluster; warn if a problem is not solved."""
        if not (np.isfinite(fit.coef).all() and np.isfinite(fit.intercept).all()):
            raise ValueError(
                f"{type(self).__name__}: The dual coefficients or intercepts are not finite. The input data may "
                "contain large values and need to be preprocessed, for example by StandardScaler."
            )
        argument, found = self._kernel_argument, len(fit.support) > 0
        self.support_, self.intercept_, self.n_support_ = fit.support, fit.intercept, fit.n_support
        self.support_vectors_, centers = argument.pick_vectors(X, fit.support)
        self.kernel_ = kernel
        self.shape_fit_ = tuple(X.shape) if hasattr(X, "shape") else (length(X),)
        self._X_fit = X if argument.is_function else None
        sparse_too = sparse.issparse(self.support_vectors_) and not argument.is_function
        self.dual_coef_ = type(self.support_vectors_)(fit.dual_coef) if sparse_too else fit.dual_coef
        # Constants without support vectors need some centre all the same.
        anything = centers if found else argument.pick_vectors(X, np.zeros(1, dtype=np.int64))[1]
        coef = fit.coef if found else np.zeros((1, len(fit.intercept)))
        self._function = Expansion(kernel, anything, coef, fit.intercept)
        self.n_iter_ = int(fit.n_iter[0]) if fit.classes is None else fit.n_iter
        self.converged_, self.fit_status_ = fit.converged, 0 if fit.converged else 1
        self.violation_, self.duality_gap_, self.plan_ = fit.violation, fit.gap, fit.plan
        self.objective_, self._free = fit.objective, fit.free
        report = (
            f"{fit.n_iter.sum()} steps, violation {fit.violation:.3g} (tol={self.tol:g}), duality gap "
            f"{fit.gap.absolute:.3g}, relative {fit.gap.relative:.3g}"
        )
        if self.verbose:
            print(f"[{type(self).__name__}] {report}")
        if not fit.converged:
            lower = ", or lower C if it is very large" if hasattr(self, "C") else ""
            where, raised = name_limits(self.max_iter, self.max_time)
            warn_caller(
                # The beginning is scikit-learn's, for those who filter by it.
                f"Solver terminated early{where}.  Consider pre-processing your data with StandardScaler or "
                f"MinMaxScaler, or raise {raised}{lower}: {type(self).__name__} stopped after {report}.",
                ConvergenceWarning,
            )

    def _tell(self, context: Any) -> Progress | None:
        """Return the function that tells scikit-learn's callbacks of each round, or None if there are none."""
        if not getattr(self, "_skl_callbacks", None):
            return None
        one_at_a_time = Lock()  # pairs of classes are solved side by side

        def progress(n_iter: int, violation: float) -> None:
            with one_at_a_time:
                task = context.subcontext(task_name="round")
                task.call_on_fit_task_begin(estimator=self)
                task.call_on_fit_task_end(estimator=self)

        return progress

    # -- values at new points ---------------------------------------------------------------------------------------

    def _values(self, X: Rows) -> np.ndarray:
        """Return f(x) + b of every problem, shape (points, problems)."""
        check_is_fitted(self)
        return self._kernel_argument.evaluate(self._function, X)

    @property
    def expansion_(self) -> Expansion:
        """The function f + b of the only problem."""
        return self._expansions("expansion_", one=True)[0]

    @property
    def expansions_(self) -> list[Expansion]:
        """The functions f + b of all problems, if there are several; they share their centres."""
        return self._expansions("expansions_", one=False)

    def _expansions(self, name: str, *, one: bool) -> list[Expansion]:
        f = getattr(self, "_function", None)
        if f is not None and (f.coef.shape[1] == 1) == one:
            return f.outputs()
        why = "it is not fitted" if f is None else f"there are {f.coef.shape[1]} machines, one for each pair of classes"
        raise AttributeError(f"this {type(self).__name__} has no {name}, because {why}")

    def _find_function(self) -> Expansion:
        found = getattr(self, "_function", None)
        return self.expansion_ if found is None or found.coef.shape[1] == 1 else found

    @property
    @in_the_kind_given
    def alpha_(self) -> np.ndarray:
        """The multipliers 0 ≤ αᵢ ≤ Cᵢ of all m training points, shape (m,), or (m, pairs) for several pairs of classes.

        0 for points that are no support vectors, and for those that are not of the pair.
        """
        alpha = np.abs(self._spread("alpha_"))
        return alpha[:, 0] if alpha.shape[1] == 1 else alpha

    @property
    @in_the_kind_given
    def margin_set_(self) -> np.ndarray | list[np.ndarray]:
        """SV₁, the positions of the training points with 0 < αᵢ < Cᵢ, which lie exactly on the margin.

        For several pairs of classes a list with an array for each.
        """
        free = self._check_free("margin_set_")
        found = [np.sort(self.support_[chosen]) for chosen in free.T]
        return found[0] if len(found) == 1 else found

    def _spread(self, name: str) -> np.ndarray:
        """Return the coefficients of all training points in each function."""
        beta = np.zeros((self.shape_fit_[0], self._check_free(name).shape[1]))
        beta[self.support_] = self._function.coef[: len(self.support_)]
        return beta

    def _check_free(self, name: str) -> np.ndarray:
        """Return which coefficients are inside of their boxes, for an attribute that only points with such have."""
        free: np.ndarray | None = getattr(self, "_free", None)
        if free is None:
            features = "it was solved in Nyström features, where points have no multipliers; fit fewer rows"
            why = features if hasattr(self, "_free") else "it is not fitted"
            raise AttributeError(f"this {type(self).__name__} has no {name}, because {why}")
        return free

    @property
    @in_the_kind_given
    def coef_(self) -> Any:
        """The weights of the features, one row for each problem, if the kernel is linear."""
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError(
                f"coef_ is only available when using a linear kernel, after fit; the kernel is {self.kernel!r}"
            )
        vectors, rows = host_array(self.support_vectors_), self._function.coef[: len(self.support_)].T
        coef: Any = type(vectors)(rows) @ vectors if sparse.issparse(vectors) else rows @ vectors
        values: Any = coef.data if sparse.issparse(coef) else coef
        values.flags.writeable = False
        return coef

    def __sklearn_tags__(self) -> Tags:
        return self._kernel_argument.describe(super().__sklearn_tags__())
