"""What all support vector machines share: the steps of a fit, its certificate, and values at new points."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import parse_memory
from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.features.params import KernelParams
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Linear
from mercer.solvers.machines.dual import DualProblem, DualSolution
from mercer.solvers.machines.problems import check_options, finite_penalty, positive_weights
from mercer.solvers.machines.rounds import Progress
from mercer.solvers.machines.smo import SMO

from ..kernels import accepts_sparse, all_or_nothing, device_of, is_precomputed
from ..progress import fit_task
from .kernel import TrainingKernel, function_matrix, gamma_of, is_function, rows_of, training_kernel, with_weight

Part = tuple[np.ndarray, DualProblem]  # some training points, and the problem on them


@dataclass(frozen=True)
class DualityGap:
    """Primal minus dual value, a bound on how far the objective is from its minimum.

    Parameters
    ----------
    absolute : float
        In the unit of the objective.
    relative : float
        Divided by the objective.
    """

    absolute: float
    relative: float


class SupportVectorMachine(KernelParams, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """The estimator behind all machines: subclasses say which problems there are and how to read their solutions."""

    _one_machine: ClassVar[bool] = True  # whether there is one problem, and n_iter_ is one number

    # What subclasses have among their parameters.
    kernel: Any
    tol: float
    max_iter: int
    max_time: float | None
    memory: float | str | None
    device: Any
    verbose: bool | int
    shrinking: bool

    # -- for subclasses ---------------------------------------------------------------------------------------------

    def _prepare(self, y: Any, n: int, weights: np.ndarray) -> np.ndarray:
        """Check the targets, remember what they say, and return them as numbers."""
        raise NotImplementedError

    def _parts(self, y: np.ndarray, weights: np.ndarray, C: float) -> list[Part]:
        """Return the problems, each on some of the points."""
        raise NotImplementedError

    def _read(self, solution: DualSolution) -> tuple[np.ndarray, float]:
        """Return the coefficients of the points of a problem, and the intercept."""
        return solution.beta, float(solution.intercepts[0])

    def _order(self, y: np.ndarray) -> np.ndarray:
        """Return the training points in the order in which support vectors are listed."""
        return np.arange(len(y))

    def _keep_layout(self, y: np.ndarray) -> None:
        """Keep the number of support vectors and their coefficients in scikit-learn's layout."""
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        self.dual_coef_ = self._dual_coef(self._coef.T)

    def _calibrate(self, training: TrainingKernel, y: np.ndarray, weights: np.ndarray, C: float, device: Any) -> None:
        """Fit what probabilities need, where there are any."""

    # -- the steps of a fit -----------------------------------------------------------------------------------------

    def _run(self, X: Rows, y: Any, sample_weight: Any) -> None:
        """Fit, tell callbacks, and undo everything if it fails."""
        with fit_task(self, X, y) as context, all_or_nothing(self):
            self._fit(X, y, sample_weight, self._progress(context))

    def _fit(self, X: Rows, y: Any, sample_weight: Any, progress: Progress | None) -> None:
        check_options(self)
        X = rows_of(self, X, reset=True)
        n = length(X)
        weights = positive_weights(self, sample_weight, n)
        targets = self._prepare(y, n, weights)
        kept = np.flatnonzero(weights)
        self._gamma = gamma_of(self, with_weight(X, kept))
        training = training_kernel(self, X, kept)
        C = finite_penalty(getattr(self, "C", 1.0), training.solved, with_weight(training.points, kept))
        parts = self._parts(targets, weights, C)
        device = self._device(X)
        solutions = self._solve(training, n, parts, progress, device)
        self._keep_solutions(training, X, parts, [self._read(solution) for solution in solutions], targets)
        self._keep_evidence(parts, solutions, device)
        self._calibrate(training, targets, weights, C, device)

    def _device(self, X: Any) -> Any:
        """Return the device to compute on, or None for the host, which takes sparse data, matrices and functions."""
        here = is_precomputed(self.kernel) or is_function(self.kernel) or sparse.issparse(X)
        return None if here else device_of(self, X)

    def _solve(
        self, training: TrainingKernel, n: int, parts: list[Part], progress: Progress | None, device: Any
    ) -> list[DualSolution]:
        memory = None if self.memory is None else parse_memory(self.memory)
        solver = SMO(self.tol, self.max_iter, self.max_time, memory, bool(self.shrinking))
        if device is not None:
            from mercer.arrays.place import Place

            return solver.solve_at(Place.find(device, memory), training.solved, training.points, parts, progress)
        if len(parts) > 1:
            return solver.solve_many(training.solved, training.points, parts, progress=progress)
        ((indices, problem),) = parts
        everything = len(indices) == n and bool((indices == np.arange(n)).all())
        points = training.points if everything else pick(training.points, indices)
        return [solver.solve(training.solved, points, problem, progress=progress)]

    def _keep_solutions(
        self,
        training: TrainingKernel,
        X: Any,
        parts: list[Part],
        found: list[tuple[np.ndarray, float]],
        targets: np.ndarray,
    ) -> None:
        """Keep support vectors and coefficients, one column for each problem."""
        n = length(X)
        coef = np.zeros((n, len(parts)))
        for column, ((indices, _), (values, _)) in enumerate(zip(parts, found, strict=True)):
            coef[indices, column] = values
        intercept = np.array([b for _, b in found])
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                f"{type(self).__name__}: The dual coefficients or intercepts are not finite. The input data may "
                "contain large values and need to be preprocessed, for example by StandardScaler."
            )
        order = self._order(targets)
        support = order[(coef[order] != 0).any(axis=1)].astype(np.int32)
        given = is_precomputed(self.kernel)
        self.support_, self.intercept_ = support, intercept
        self.support_vectors_ = np.empty((0, 0)) if given else pick(X, support)
        self.kernel_ = training.shown
        self.shape_fit_ = tuple(X.shape) if hasattr(X, "shape") else (n,)
        self._coef = coef[support]
        self._X_fit = X if is_function(self.kernel) else None
        self._keep_layout(targets)
        self._keep_function(support if given else self.support_vectors_, np.zeros(1) if given else pick(X, [0]))

    def _keep_function(self, centers: Rows, anything: Rows) -> None:
        """Keep the functions together; constants without support vectors need some centre all the same."""
        coef = self._coef if len(self._coef) else np.zeros((1, self._coef.shape[1]))
        centers = centers if len(self._coef) else anything
        self._function = Expansion(self.kernel_, centers, coef, self.intercept_)

    def _dual_coef(self, rows: np.ndarray) -> Any:
        """Return coefficients as ``dual_coef_`` holds them: sparse after a fit to sparse data."""
        kept_sparse = sparse.issparse(self.support_vectors_) and not is_function(self.kernel)
        return type(self.support_vectors_)(rows) if kept_sparse else rows

    def _keep_evidence(self, parts: list[Part], solutions: list[DualSolution], device: Any = None) -> None:
        """Keep how well the problems are solved, and warn if one is not."""
        steps = np.array([solution.n_iter for solution in solutions], dtype=np.int64)
        self.n_iter_ = int(steps[0]) if self._one_machine else steps
        self.converged_ = all(solution.converged for solution in solutions)
        self.fit_status_ = 0 if self.converged_ else 1
        self.violation_ = max(0.0, *(float(solution.violation) for solution in solutions))
        self.duality_gap_ = DualityGap(
            max(float(solution.duality_gap) for solution in solutions),
            max(float(solution.relative_gap) for solution in solutions),
        )
        largest = max(len(indices) for indices, _ in parts)
        where = f"{largest} points" if len(parts) == 1 else f"{len(parts)} pairs of classes of up to {largest} points"
        where = where if device is None else f"{where} on {device}"
        self.plan_ = (
            f"SMO on the dual problem of {where}, because coefficients that are bounded and have a fixed sum can be "
            "improved two at a time"
        )
        if self.verbose:
            print(f"[{type(self).__name__}] {self._report(int(steps.sum()))}")
        if not self.converged_:
            self._warn(int(steps.sum()))

    def _report(self, steps: int) -> str:
        return (
            f"{steps} steps, violation {self.violation_:.3g} (tol={self.tol:g}), duality gap "
            f"{self.duality_gap_.absolute:.3g}, relative {self.duality_gap_.relative:.3g}"
        )

    def _warn(self, steps: int) -> None:
        limits = {"max_iter": self.max_iter if self.max_iter >= 0 else None, "max_time": self.max_time}
        given = {name: limit for name, limit in limits.items() if limit is not None}
        where = f" ({', '.join(f'{name}={limit}' for name, limit in given.items())})" if given else ""
        lower = ", or lower C if it is very large" if hasattr(self, "C") else ""
        who, report = type(self).__name__, self._report(steps)
        warnings.warn(
            # The beginning is scikit-learn's, for those who filter by it.
            f"Solver terminated early{where}.  Consider pre-processing your data with StandardScaler or "
            f"MinMaxScaler, or raise {' or '.join([*given, 'tol'])}{lower}: {who} stopped after {report}.",
            ConvergenceWarning,
            stacklevel=8,
        )

    def _progress(self, context: Any) -> Progress | None:
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
        X = rows_of(self, X, reset=False)
        if is_precomputed(self.kernel):
            return np.asarray(X[:, self.support_] @ self._coef + self.intercept_)
        if is_function(self.kernel):
            return np.asarray(function_matrix(self, X, self._X_fit)[:, self.support_] @ self._coef + self.intercept_)
        device = None if sparse.issparse(X) else self.device
        return np.asarray(host_array(self._function(X, memory=self.memory, device=device)))

    @property
    def expansion_(self) -> Expansion:
        """The function f + b of the only problem."""
        return self._expansions(one=True)[0]

    @property
    def expansions_(self) -> list[Expansion]:
        """The functions f + b of all problems, if there are several; they share their centres."""
        return self._expansions(one=False)

    def _expansions(self, *, one: bool) -> list[Expansion]:
        f = getattr(self, "_function", None)
        if f is None or (f.coef.shape[1] == 1) != one:
            why = (
                "it is not fitted"
                if f is None
                else f"there are {f.coef.shape[1]} machines, one for each pair of classes"
            )
            name = "expansion_" if one else "expansions_"
            raise AttributeError(f"this {type(self).__name__} has no {name}, because {why}")
        return f.outputs()

    @property
    def coef_(self) -> Any:
        """The weights of the features, one row for each problem, if the kernel is linear."""
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError(
                f"coef_ is only available when using a linear kernel, after fit; the kernel is {self.kernel!r}"
            )
        vectors = host_array(self.support_vectors_)
        rows = self._coef.T
        coef: Any = type(vectors)(rows) @ vectors if sparse.issparse(vectors) else rows @ vectors
        values: Any = coef.data if sparse.issparse(coef) else coef
        values.flags.writeable = False
        return coef

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not is_precomputed(self.kernel) and accepts_sparse(self.kernel)
        return tags
