"""What both searches share: folds, the machines of all cells, their scores, and a last fit of the best."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import parse_memory
from mercer.expansion import Expansion
from mercer.features.params import KernelParams
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Gaussian, Kernel
from mercer.learning.folds import split_kept
from mercer.learning.length_scales import length_scale_of, with_length_scale
from mercer.solvers.machines.path import Cell, Lane, solve_paths
from mercer.solvers.machines.problems import check_options, positive_weights
from mercer.solvers.machines.smo import SMO

from ..engine import where_the_data_lives
from ..kernels import accepts_sparse, all_or_nothing, checked_rows, is_precomputed
from ..progress import fit_task, reporter
from .base import SupportVectorMachine
from .grid import checked_penalties, checked_scales, grid_of, results_table
from .kernel import TrainingKernel, gamma_of, is_function, rows_of, training_kernel, with_weight

OF_THE_FIT = (
    "support_", "support_vectors_", "n_support_", "dual_coef_", "intercept_", "n_iter_", "converged_", "violation_",
    "duality_gap_", "plan_",
)  # fmt: skip


@dataclass
class Fold:
    """A fold: its points, the machine that reads its values, and the problems of that machine.

    Parameters
    ----------
    held : array of int
        The points it is scored at.
    machine : SupportVectorMachine
        A machine that knows the targets of the other points, and answers from ``known``.
    lanes : list of Lane
        Its problems.
    """

    held: np.ndarray
    machine: Any
    lanes: list[Lane]


class SupportVectorSearch(KernelParams, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """The estimator behind both searches: subclasses say which machine they search for."""

    # What subclasses have among their parameters.
    Cs: Any
    length_scales: Any
    kernel: Any
    cv: Any
    scoring: Any
    tol: float
    max_iter: int
    max_time: float | None
    memory: float | str | None
    refit: bool

    # -- for subclasses ---------------------------------------------------------------------------------------------

    def _machine(self, kernel: Any, C: float) -> SupportVectorMachine:
        """Return the machine of a cell, not fitted."""
        raise NotImplementedError

    def _known(self) -> Any:
        """Return a machine that answers from its attribute ``known``."""
        raise NotImplementedError

    def _checked(self, y: Any, n: int, weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the targets of n points, and the unit that penalties are in."""
        raise NotImplementedError

    # -- the steps of a fit -----------------------------------------------------------------------------------------

    @with_callbacks  # type: ignore[untyped-decorator]
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Score the whole grid, and fit the best to all points; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points, of whatever kind the kernel takes; the matrix of the kernel if it is precomputed.
        y : array of shape (n,)
            Their targets.
        sample_weight : array of shape (n,), optional
            Factors of C for each point, and its weight in the scores.  A point whose weight is 0 or less takes no part.
        """
        with fit_task(self, X, y) as context, all_or_nothing(self):
            self._fit(X, y, sample_weight, context)
        return self

    def _fit(self, X: Rows, y: Any, sample_weight: Any, context: Any) -> None:
        check_options(self)
        rows = self._rows(X, reset=True)
        n = length(rows)
        weights = positive_weights(self, sample_weight, n)
        targets, unit = self._checked(y, n, weights)
        kept = np.flatnonzero(weights)  # from here on there are no others
        training = self._training(rows, kept)
        rows, targets, weights = with_weight(rows, kept), targets[kept], weights[kept]
        kernels, scales = self._kernels(training, rows)
        penalties = checked_penalties(self, self.Cs, kernels[0], training.points, unit)
        folds = [self._fold(k, *split, targets, weights) for k, split in enumerate(self._splits(targets, n, kept))]
        score = self._scorer(folds, rows, targets, None if sample_weight is None else weights)
        order = np.argsort(penalties, kind="stable")
        shape = len(penalties), len(kernels), len(folds)
        scores, fit_time, score_time = np.empty((3, *shape))
        memory = parse_memory(self.memory)
        solver = SMO(tol=self.tol, max_iter=self.max_iter, max_time=self.max_time, memory=memory)
        lanes, early, report = [lane for fold in folds for lane in fold.lanes], 0, reporter(self, context)
        for j, cells in enumerate(solve_paths(solver, kernels, training.points, lanes, penalties[order].tolist())):
            early += sum(not cell.converged for path in cells for cell in path)
            for k, paths in enumerate(_by_fold(folds, cells)):
                for i, here in zip(order, zip(*paths, strict=True), strict=True):
                    fit_time[i, j, k] = sum(cell.seconds for cell in here)
                    begin = time.perf_counter()
                    scores[i, j, k] = score(folds[k], np.column_stack([cell.values for cell in here]))
                    score_time[i, j, k] = time.perf_counter() - begin
            report(j, float(np.max(scores[:, j].mean(axis=-1))))
        if early:
            self._warn(early, len(lanes) * len(kernels) * len(penalties))
        flat = [array.reshape(-1, len(folds)) for array in (scores, fit_time, score_time)]
        self.cv_results_ = results_table(grid_of(penalties, scales), *flat)
        self._keep_best(training, kernels)
        if self.refit:
            self.best_estimator_ = self._machine(self._of_the_best(), self.C_).fit(X, y, sample_weight)
            for name in OF_THE_FIT:
                setattr(self, name, getattr(self.best_estimator_, name))

    def _training(self, X: Any, kept: np.ndarray) -> TrainingKernel:
        """Return the kernel that the argument stands for, checked, before length scales are put in, at some points."""
        machine: Any = self._machine(self._argument(), 1.0)
        machine._gamma = gamma_of(machine, with_weight(X, kept))
        training = training_kernel(machine, X, kept)
        return replace(training, points=with_weight(training.points, kept))

    def _kernels(self, training: TrainingKernel, X: Any) -> tuple[list[Kernel], list[Any] | None]:
        """Return the kernels to try and their length scales, None if these are left alone."""
        wish = "auto" if self.length_scales is None and self.kernel is None else self.length_scales
        if wish is None:
            return [training.solved], None
        if is_precomputed(self.kernel) or is_function(self.kernel):
            raise ValueError(
                f"{type(self).__name__}: a kernel that is precomputed or a plain function has no length scale; leave "
                "out length_scales, or give a mercer kernel that has one, like Gaussian()"
            )
        scales = checked_scales(self, wish, X)
        return [with_length_scale(training.solved, scale) for scale in scales], scales

    def _splits(self, targets: np.ndarray, n: int, kept: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the points to fit and to score of each fold, as scikit-learn chooses them."""
        classifier, few = self.__sklearn_tags__().estimator_type == "classifier", len(kept)
        try:
            return split_kept(self.cv, n, kept, targets, classifier)
        except ValueError as error:
            raise ValueError(
                f"{type(self).__name__}: cv={self.cv!r} cannot split these {few} points (n_samples={few}): {error} "
                "Give fewer folds, more points, or the splits themselves."
            ) from None

    def _fold(self, k: int, fit: np.ndarray, held: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> Fold:
        if not (len(fit) and len(held)):
            raise ValueError(
                f"{type(self).__name__}: fold {k} has no points of positive weight to "
                f"{'score' if len(fit) else 'fit'}; give fewer folds (cv={self.cv!r}), or shuffle them"
            )
        machine = self._known()
        try:
            numbers = machine._prepare(targets[fit], len(fit), weights[fit])
        except ValueError as error:
            raise ValueError(
                f"{type(self).__name__}: the training points of fold {k} cannot be fitted. {error} Give fewer folds "
                f"(cv={self.cv!r}), or splits that hold every class."
            ) from None
        parts = machine._parts(numbers, weights[fit], 1.0)
        return Fold(held, machine, [Lane(fit[indices], held, problem) for indices, problem in parts])

    def _scorer(self, folds: list[Fold], X: Any, targets: np.ndarray, weights: np.ndarray | None) -> Any:
        """Return the score of decision values at the points of a fold."""
        name = type(self).__name__
        if self.scoring is not None and not (isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(
                f"{name}: scoring must be the name of one score, such as 'f1_macro' or 'neg_mean_absolute_error', or a "
                f"scorer; got {self.scoring!r}"
            )
        scorer = check_scoring(folds[0].machine, self.scoring)

        def score(fold: Fold, values: np.ndarray) -> float:
            fold.machine.known = values
            options = {} if weights is None else {"sample_weight": weights[fold.held]}
            try:
                return float(scorer(fold.machine, pick(X, fold.held), targets[fold.held], **options))
            except AttributeError as error:
                raise ValueError(
                    f"{name}: scoring={self.scoring!r} asks for more than the predictions and decision values of a "
                    f"support vector machine. {error}"
                ) from error

        return score

    def _keep_best(self, training: TrainingKernel, kernels: list[Kernel]) -> None:
        """Keep the parameters of the cell with the best mean score, the first of equals."""
        table = self.cv_results_
        if not np.isfinite(table["mean_test_score"]).any():
            raise ValueError(
                f"{type(self).__name__}: no cell of the grid has a finite score; R² for example needs two points in "
                f"every fold. Give fewer folds (cv={self.cv!r}) or another scoring."
            )
        self.best_index_ = int(table["rank_test_score"].argmin())
        self.best_params_ = table["params"][self.best_index_]
        self.best_score_ = float(table["mean_test_score"][self.best_index_])
        self.C_ = self.best_params_["C"]
        best = kernels[self.best_index_ % len(kernels)]
        self.kernel_ = training.shown if best is training.solved else best
        self.length_scale_ = self.best_params_.get("length_scale", length_scale_of(self.kernel_))

    def _of_the_best(self) -> Any:
        """Return the argument ``kernel`` of the last fit."""
        return self.kernel if is_precomputed(self.kernel) or is_function(self.kernel) else self.kernel_

    def _warn(self, early: int, total: int) -> None:
        limits = {"max_iter": self.max_iter if self.max_iter >= 0 else None, "max_time": self.max_time}
        given = [f"{name}={limit}" for name, limit in limits.items() if limit is not None]
        raised = " or ".join([*(text.partition("=")[0] for text in given), "tol"])
        where = f" ({', '.join(given)})" if given else ""
        warnings.warn(
            f"{type(self).__name__}: {early} of the {total} machines of the grid stopped early{where}, so that their "
            f"scores are of what they had reached. Raise {raised}, leave out the largest Cs, or scale the data, for "
            "example by StandardScaler.",
            ConvergenceWarning,
            stacklevel=6,
        )

    # -- the best machine -------------------------------------------------------------------------------------------

    def _best(self, X: Rows) -> Any:
        """Return the fitted machine, after a check of the points it is to be asked about."""
        if not self.refit and hasattr(self, "cv_results_"):
            raise AttributeError(
                f"this {type(self).__name__} has refit=False, so there is no machine fitted to all points; set "
                "refit=True, or fit one with best_params_ yourself"
            )
        check_is_fitted(self)
        self._rows(X, reset=False)
        return self.best_estimator_

    @property
    def expansion_(self) -> Expansion:
        """The function f + b of the machine fitted to all points, if it is one."""
        return self.best_estimator_.expansion_

    @property
    def expansions_(self) -> list[Expansion]:
        """The functions f + b of all pairs of classes, if there are several."""
        return list(self.best_estimator_.expansions_)

    def _argument(self) -> Any:
        return Gaussian() if self.kernel is None else self.kernel

    def _rows(self, X: Rows, *, reset: bool) -> Any:
        return checked_rows(self, X, Gaussian(), reset=reset) if self.kernel is None else rows_of(self, X, reset=reset)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not is_precomputed(self.kernel) and accepts_sparse(self._argument())
        return tags


def _by_fold(folds: list[Fold], cells: list[list[Cell]]) -> list[list[list[Cell]]]:
    """Return the paths of each fold's machines."""
    ends = np.cumsum([len(fold.lanes) for fold in folds])
    return [cells[end - len(fold.lanes) : end] for fold, end in zip(folds, ends, strict=True)]
