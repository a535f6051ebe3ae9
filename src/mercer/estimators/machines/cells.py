"""What machines in cells share: a grid, a fit in cells, what is kept of it, and values at new points."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import parse_memory
from mercer.arrays.tensors import host_array
from mercer.features.params import KernelParams
from mercer.formula.data import Rows
from mercer.kernels import Gaussian, Kernel
from mercer.learning.length_scales import length_scale_of, with_length_scale
from mercer.messages import warn_caller
from mercer.solvers.evidence import DualityGap
from mercer.solvers.machines.cells.fit import CellFit, CellPlan, fit_cells, plan_cells
from mercer.solvers.machines.cells.function import CellFunction, CellMachine
from mercer.solvers.machines.cells.task import Task
from mercer.solvers.machines.smo import SMO
from mercer.solvers.plan import Plan

from ..engine import in_the_kind_given, where_the_data_lives
from ..kernel_argument import KernelArgument, kernel_argument
from ..progress import fit_task, reporter, with_callbacks
from ..targets import check_whole
from ..transaction import all_or_nothing
from .base import check_options, check_positive_weights, name_limits
from .search import check_penalties, check_scales, tabulate_grid


class CellSearch(KernelParams, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """The estimator behind both: subclasses say what is learned."""

    # What subclasses have among their parameters.
    Cs: Any
    length_scales: Any
    kernel: Any
    folds: int
    cell_size: int
    search_size: int
    overlap: Any
    tol: float
    max_iter: int
    max_time: float | None
    memory: float | str | None
    assume_psd: bool
    random_state: Any

    cv_results_: dict[str, Any]
    best_index_: int
    best_params_: dict[str, Any]
    best_score_: float
    C_: float
    length_scale_: Any
    kernel_: Kernel
    n_fits_: int
    n_stopped_: int
    n_iter_: int
    converged_: bool
    duality_gap_: DualityGap
    plan_: Plan
    _function: CellFunction

    def _find_task(self, y: Any, weights: np.ndarray) -> tuple[Task, float]:
        """Check the targets of points, and return what is learned, with the unit that penalties are in."""
        raise NotImplementedError

    @with_callbacks
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Cut points into cells, search the grid and fit in each; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : array of shape (n, d)
            The training points.
        y : array of shape (n,)
            Their targets.
        sample_weight : array of shape (n,), optional
            Factors of C for each point, and its weight in the scores.  A point whose weight is 0 or less takes no part.
        """
        with fit_task(self, X, y) as context, all_or_nothing(self):
            self._fit(X, y, sample_weight, context)
        return self

    def _fit(self, X: Rows, y: Any, sample_weight: Any, context: Any) -> None:
        plan = self._check_parameters()
        argument = self._kernel_argument
        rows = self._check(argument, X, reset=True)
        weights = check_positive_weights(self, sample_weight, len(rows))
        task, unit = self._find_task(y, weights)
        kept = np.flatnonzero(weights)
        if len(kept) < plan.folds:
            raise ValueError(
                f"{type(self).__name__}: {plan.folds} folds cannot split {len(kept)} points (n_samples={len(kept)}); "
                "give fewer folds or more points"
            )
        if len(kept) < len(rows):
            rows, task = rows[kept], task.part(kept)
        kernel = argument.resolve(rows, assume_psd=self.assume_psd)
        wish = "auto" if self.length_scales is None and self.kernel is None else self.length_scales
        scales = None if wish is None else check_scales(self, wish, rows)
        kernels = [kernel] if scales is None else [with_length_scale(kernel, scale) for scale in scales]
        penalties = check_penalties(self, self.Cs, kernels[0], rows, unit)
        order = np.argsort(penalties, kind="stable")
        solver = SMO(self.tol, self.max_iter, self.max_time, parse_memory(self.memory))
        stretch: Any = length_scale_of(kernels[0])
        stretch = np.asarray(stretch, dtype=np.float64) if np.shape(stretch) == rows.shape[1:] else None
        fit = fit_cells(plan, task, kernels, penalties[order], rows, solver, reporter(self, context), stretch)
        self._keep(fit, task, penalties, order, kernels, scales)
        self.plan_ = plan_cells(plan, fit, len(rows), rows.shape[1])
        self._warn(fit)

    def _keep(
        self, fit: CellFit, task: Task, penalties: np.ndarray, order: np.ndarray, kernels: list[Kernel],
        scales: list[Any] | None,
    ) -> None:  # fmt: skip
        """Keep the machines and the table of the grid, with penalties as they were given."""
        params = [
            {"C": float(C)} | ({} if scales is None else {"length_scale": scale})
            for C in penalties
            for scale in scales or [None]
        ]
        place = np.argsort(order)  # of a penalty among ascending ones
        top = 0.0 if task.class_weight is None else 1.0  # the best score there is
        folds = top - fit.choice.folds[place].reshape(len(params), -1)
        self.cv_results_ = tabulate_grid(params, folds, top - fit.choice.means[place].ravel())
        i, j = int(order[fit.choice.best[0]]), int(fit.choice.best[1])
        self.best_index_ = i * len(kernels) + j
        self.best_params_ = params[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.C_, self.kernel_ = float(penalties[i]), kernels[j]
        self.length_scale_ = self.best_params_.get("length_scale", length_scale_of(self.kernel_))
        self.n_fits_, self.n_stopped_ = fit.choice.fits, fit.choice.stopped
        self._function = fit.function
        machines = fit.function.machines
        self.n_iter_ = sum(machine.n_iter for machine in machines)
        self.converged_ = all(machine.converged for machine in machines)
        gaps = [machine.gap for machine in machines if machine.gap is not None]
        self.duality_gap_ = max(gaps, key=lambda gap: gap.relative, default=DualityGap(0.0, 0.0, 0.0, 0.0))

    def _warn(self, fit: CellFit) -> None:
        if self.converged_ and not fit.early:
            return
        late = sum(not machine.converged for machine in fit.function.machines)
        where, raised = name_limits(self.max_iter, self.max_time)
        warn_caller(
            f"{type(self).__name__}: {fit.early} machines of the grid and those of {late} of the "
            f"{len(fit.function.machines)} cells stopped early{where}. Raise {raised}, leave out the largest Cs, or "
            "scale the data, for example by StandardScaler.",
            ConvergenceWarning,
        )

    def _check_parameters(self) -> CellPlan:
        """Return how to cut and search, if the parameters say so."""
        check_options(self)
        name = type(self).__name__
        cell_size, search_size = (
            check_whole(self, each, getattr(self, each), 10) for each in ("cell_size", "search_size")
        )
        if not isinstance(self.overlap, numbers.Real) or not 0 <= float(self.overlap) < 1:
            raise ValueError(
                f"{name}: overlap must be a number from 0 to below 1, the share of the points at a cut that both sides "
                f"have; got {self.overlap!r}"
            )
        folds = check_whole(self, "folds", self.folds, 2)
        seed = check_random_state(0 if self.random_state is None else self.random_state).randint(2**31)
        return CellPlan(cell_size, min(search_size, cell_size), float(self.overlap), folds, int(seed))

    @property
    def _kernel_argument(self) -> KernelArgument:
        return kernel_argument(self, Gaussian() if self.kernel is None else self.kernel)

    def _check(self, argument: KernelArgument, X: Rows, *, reset: bool) -> np.ndarray:
        """Return points as rows of numbers, which can be cut."""
        name = type(self).__name__
        if argument.is_matrix:
            raise ValueError(f"{name}: kernel='precomputed' has no points to cut; give a kernel such as Gaussian()")
        rows: Any = host_array(argument.check(X, reset=reset))  # machines of cells are solved here
        if sparse.issparse(rows):
            raise TypeError(
                f"{name}: sparse input is not supported, as cuts take all columns; use X.toarray() if it fits"
            )
        if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "biuf":
            raise TypeError(
                f"{name} cuts space across directions, which takes a dense array of numbers of shape (n, d); got "
                f"{type(rows).__name__}. Use SVCCV or SVRCV for other points."
            )
        return rows

    def _values(self, X: Rows) -> np.ndarray:
        """Return f + b of all problems, shape (points, problems)."""
        check_is_fitted(self)
        return self._function(self._check(self._kernel_argument, X, reset=False), parse_memory(self.memory))

    @property
    def cells_(self) -> list[CellMachine]:
        """The machines of each cell: ``function``, ``classes``, ``C``, ``size``, ``n_iter``, ``gap``, ``converged``."""
        return self._function.machines

    @property
    @in_the_kind_given
    def cell_sizes_(self) -> np.ndarray:
        """The number of points that each cell was fitted to, those of its neighbours at its borders included."""
        return np.array([machine.size for machine in self._function.machines])

    def __sklearn_tags__(self) -> Tags:
        tags = self._kernel_argument.describe(super().__sklearn_tags__())
        tags.input_tags.sparse = False
        return tags
