"""What both searches share: folds, the machines of all cells, their scores, and a last fit of the best."""

from __future__ import annotations

import numbers
import time
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.ma import MaskedArray
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.arrays.budget import parse_memory
from mercer.expansion import Expansion
from mercer.features.params import SOMETIMES, KernelParams
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Kernel
from mercer.learning.folds import split_kept
from mercer.learning.length_scales import length_scale_of, median_distance, spread_positions, with_length_scale
from mercer.messages import warn_caller
from mercer.solvers.evidence import DualityGap, Objective
from mercer.solvers.machines.path import Lane, solve_paths
from mercer.solvers.machines.smo import SMO
from mercer.solvers.plan import Plan

from ..engine import in_the_kind_given, where_the_data_lives
from ..progress import fit_task, reporter, with_callbacks
from ..transaction import all_or_nothing
from .argument import MachineArgument, machine_argument, with_weight
from .base import SupportVectorMachine, check_options, check_positive_weights, name_limits

PENALTIES = np.logspace(-1.0, 2.5, 8)  # in units of the targets, divided by the mean of k(x, x)
SCALES = np.geomspace(0.125, 4.0, 8)  # in units of the median distance
OF_THE_FIT = (
    "support_", "support_vectors_", "n_support_", "dual_coef_", "intercept_", "n_iter_", "converged_", "violation_",
    "duality_gap_", "objective_", "plan_",
)  # fmt: skip


@dataclass(frozen=True)
class Fold:
    """The points that a fold is scored at, a machine that knows the classes of the others, and their problems."""

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

    cv_results_: dict[str, Any]
    best_index_: int
    best_params_: dict[str, Any]
    best_score_: float
    C_: float
    kernel_: Kernel
    length_scale_: Any
    best_estimator_: Annotated[SupportVectorMachine, SOMETIMES]
    support_: Annotated[np.ndarray, SOMETIMES]
    support_vectors_: Annotated[Rows, SOMETIMES]
    n_support_: Annotated[np.ndarray, SOMETIMES]
    dual_coef_: Annotated[np.ndarray | sparse.spmatrix | sparse.sparray, SOMETIMES]
    intercept_: Annotated[np.ndarray, SOMETIMES]
    n_iter_: Annotated[int | np.ndarray, SOMETIMES]
    converged_: Annotated[bool, SOMETIMES]
    violation_: Annotated[float, SOMETIMES]
    duality_gap_: Annotated[DualityGap, SOMETIMES]
    objective_: Annotated[Objective, SOMETIMES]
    plan_: Annotated[Plan, SOMETIMES]

    def _check_fitted(self) -> None:
        """Raise if the best machine comes without what is shown of it; files call this."""
        there = {"best_estimator_", *OF_THE_FIT} & set(vars(self))
        if there and len(there) <= len(OF_THE_FIT):
            raise ValueError(f"{type(self).__name__}: some attributes of the best machine are missing")

    def _machine(self, kernel: Any, C: float) -> SupportVectorMachine:
        """Return the machine of a cell, not fitted."""
        raise NotImplementedError

    def _read_targets(self, y: Any, weights: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the targets of points, and the unit that penalties are in."""
        raise NotImplementedError

    @with_callbacks
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
        argument = self._kernel_argument
        rows = argument.check(X, reset=True)
        n = length(rows)
        weights = check_positive_weights(self, sample_weight, n)
        targets, unit = self._read_targets(y, weights)
        kept = np.flatnonzero(weights)  # from here on there are no others
        given, points = argument.train(rows, kept), with_weight(argument.points(rows), kept)
        rows, targets, weights = with_weight(rows, kept), targets[kept], weights[kept]
        kernels, scales = self._scale(given, rows)
        penalties = check_penalties(self, self.Cs, kernels[0], points, unit)
        folds = [self._fold(k, *split, targets, weights) for k, split in enumerate(self._splits(targets, n, kept))]
        score = self._scorer(folds, rows, targets, None if sample_weight is None else weights)
        order = np.argsort(penalties, kind="stable")
        scores, fit_time, score_time = np.empty((3, len(penalties), len(kernels), len(folds)))
        values: list[list[np.ndarray]] = []  # of points left out, with the best C of each kernel
        solver = SMO(self.tol, self.max_iter, self.max_time, parse_memory(self.memory))
        lanes, early, report = [lane for fold in folds for lane in fold.lanes], 0, reporter(self, context)
        for j, cells in enumerate(solve_paths(solver, kernels, points, lanes, penalties[order].tolist())):
            early += sum(not cell.converged for path in cells for cell in path)
            paths = iter(cells)
            for k, fold in enumerate(folds):
                own = [next(paths) for _ in fold.lanes]
                for i, here in zip(order, zip(*own, strict=True), strict=True):
                    fit_time[i, j, k] = sum(cell.seconds for cell in here)
                    begin = time.perf_counter()
                    scores[i, j, k] = score(fold, np.column_stack([cell.values for cell in here]))
                    score_time[i, j, k] = time.perf_counter() - begin
            top = int(np.argmax(np.nan_to_num(scores[:, j].mean(axis=-1), nan=-np.inf)))  # the first of equals
            at, paths = int(np.flatnonzero(order == top)[0]), iter(cells)
            values.append([np.column_stack([next(paths)[at].values for _ in fold.lanes]) for fold in folds])
            report(j, float(np.max(scores[:, j].mean(axis=-1))))
        if early:
            where, raised = name_limits(self.max_iter, self.max_time)
            warn_caller(
                f"{type(self).__name__}: {early} of the {len(lanes) * len(kernels) * len(penalties)} machines of the "
                f"grid stopped early{where}, so that their scores are of what they had reached. Raise {raised}, leave "
                "out the largest Cs, or scale the data, for example by StandardScaler.",
                ConvergenceWarning,
            )
        params = [
            {"C": float(C)} | ({} if scales is None else {"length_scale": scale})
            for C in penalties
            for scale in scales or [None]  # which runs fastest, as in scikit-learn's ParameterGrid
        ]
        flat = [array.reshape(-1, len(folds)) for array in (scores, fit_time, score_time)]
        self.cv_results_ = tabulate_results(params, *flat)
        place = self._choose_best() % len(kernels)
        best = kernels[place]
        self.kernel_ = argument.show(given) if best is given else best
        self.length_scale_ = self.best_params_.get("length_scale", length_scale_of(self.kernel_))
        if self.refit:
            machine = self._machine(argument.pass_on(self.kernel_), self.C_)
            self.best_estimator_ = machine.fit(X, y, sample_weight)
            for name in OF_THE_FIT:
                setattr(self, name, getattr(self.best_estimator_, name))
            self._keep_values(folds, values[place], targets, weights)

    def _keep_values(self, folds: list[Fold], values: list[np.ndarray], y: np.ndarray, weights: np.ndarray) -> None:
        """Keep what is made of the values that points had when the best machine was fitted without them."""

    @property
    def _kernel_argument(self) -> MachineArgument:
        return machine_argument(self, self._machine(self.kernel, 1.0))

    def _scale(self, kernel: Kernel, X: Rows) -> tuple[list[Kernel], list[Any] | None]:
        """Return the kernels to try and their length scales, None if these are left alone."""
        wish = "auto" if self.length_scales is None and self.kernel is None else self.length_scales
        if wish is None:
            return [kernel], None
        if not self._kernel_argument.has_scale:
            raise ValueError(
                f"{type(self).__name__}: a kernel that is precomputed or a plain function has no length scale; leave "
                "out length_scales, or give a mercer kernel that has one, like Gaussian()"
            )
        scales = check_scales(self, wish, X)
        return [with_length_scale(kernel, scale) for scale in scales], scales

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
        machine: Any = self._machine(self.kernel, 1.0)
        try:
            problems = machine._problems(targets[fit], weights[fit])
        except ValueError as error:
            raise ValueError(
                f"{type(self).__name__}: the training points of fold {k} cannot be fitted. {error} Give fewer folds "
                f"(cv={self.cv!r}), or splits that hold every class."
            ) from None
        machine.classes_ = problems.classes
        return Fold(held, machine, [Lane(fit[index], held, problem) for index, problem in problems.parts()])

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
            fold.machine._values = lambda X: values  # which are known
            options = {} if weights is None else {"sample_weight": weights[fold.held]}
            try:
                return float(scorer(fold.machine, pick(X, fold.held), targets[fold.held], **options))
            except AttributeError as error:
                raise ValueError(
                    f"{name}: scoring={self.scoring!r} asks for more than the predictions and decision values of a "
                    f"support vector machine. {error}"
                ) from error

        return score

    def _choose_best(self) -> int:
        """Keep the parameters of the cell with the best mean score, the first of equals, and return its place."""
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
        return self.best_index_

    # -- the best machine -------------------------------------------------------------------------------------------

    def _best(self, X: Rows) -> Any:
        """Return the fitted machine, after a check of the points it is to be asked about."""
        self._check_refit()
        check_is_fitted(self)
        self._kernel_argument.check(X, reset=False)
        return self.best_estimator_

    def _check_refit(self) -> None:
        """Raise if there is no machine that was fitted to all points."""
        if hasattr(self, "cv_results_") and not hasattr(self, "best_estimator_"):
            raise AttributeError(
                f"this {type(self).__name__} has refit=False, so there is no machine fitted to all points; set "
                "refit=True, or fit one with best_params_ yourself"
            )

    @property
    def expansion_(self) -> Expansion:
        """The function f + b of the machine fitted to all points, if it is one."""
        return self.best_estimator_.expansion_

    @property
    def expansions_(self) -> list[Expansion]:
        """The functions f + b of all pairs of classes, if there are several."""
        return list(self.best_estimator_.expansions_)

    @property
    @in_the_kind_given
    def coef_primal_(self) -> np.ndarray:
        """The weights of that machine in explicit features, where those are finite."""
        return self.best_estimator_.coef_primal_

    @property
    @in_the_kind_given
    def alpha_(self) -> np.ndarray:
        """The multipliers of all training points in that machine."""
        return self.best_estimator_.alpha_

    @property
    @in_the_kind_given
    def margin_set_(self) -> np.ndarray | list[np.ndarray]:
        """The points exactly on the margin of that machine."""
        return self.best_estimator_.margin_set_

    def __sklearn_tags__(self) -> Tags:
        return self._kernel_argument.describe(super().__sklearn_tags__())


def check_penalties(owner: Any, given: Any, kernel: Kernel, points: Rows, unit: float) -> np.ndarray:
    """Return the penalties to try: those given, or a default in the unit of the targets and for the kernel's size."""
    if given is None:
        some = pick(points, spread_positions(length(points)))
        level = float(np.mean(kernel.diag(some)))
        return PENALTIES * (unit if unit > 0 else 1.0) / (level if level > 0 else 1.0)
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or values.size == 0 or not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(
            f"{type(owner).__name__}: Cs must be a list of positive penalties such as [0.1, 1.0, 10.0]; got {given!r}"
        )
    return values


def check_scales(owner: Any, given: Any, X: Any) -> list[Any]:
    """Return the length scales to try: those given, or for "auto" a default around the median distance of rows."""
    name = type(owner).__name__
    if isinstance(given, str) and given == "auto":
        try:
            return (SCALES * median_distance(X)).tolist()
        except (TypeError, ValueError):
            raise ValueError(
                f"{type(owner).__name__}: length_scales='auto' measures distances between rows of numbers, and these "
                "points are not; give length_scales as a list such as [0.5, 1.0, 2.0]"
            ) from None
    if isinstance(given, str | numbers.Number) or not hasattr(given, "__len__") or len(given) == 0:
        example = "'auto', or a list of length scales to try such as [0.5, 1.0, 2.0]"
        raise ValueError(f"{name}: length_scales must be {example}; got {given!r}")
    return [value.item() if isinstance(value, np.generic) else value for value in given]


def tabulate_results(
    params: list[dict[str, Any]], scores: np.ndarray, fit_time: np.ndarray, score_time: np.ndarray
) -> dict[str, Any]:
    """Return ``cv_results_`` with the keys of scikit-learn's GridSearchCV, from arrays of shape (cells, folds)."""
    table: dict[str, Any] = {}
    for name, seconds in (("fit_time", fit_time), ("score_time", score_time)):
        table[f"mean_{name}"], table[f"std_{name}"] = seconds.mean(axis=1), seconds.std(axis=1)
    with np.errstate(invalid="ignore"):
        table |= tabulate_grid(params, scores, scores.mean(axis=1))
        table["std_test_score"] = scores.std(axis=1)
    return table


def tabulate_grid(params: list[dict[str, Any]], scores: np.ndarray, mean: np.ndarray) -> dict[str, Any]:
    """Return the columns of ``cv_results_`` that tell of parameters and of scores, fold by fold and on the whole."""
    table: dict[str, Any] = {}
    for name in params[0]:
        column = np.empty(len(params), dtype=object)
        column[:] = [cell[name] for cell in params]
        plain = all(isinstance(value, numbers.Real) for value in column)
        table[f"param_{name}"] = MaskedArray(column.astype(np.float64) if plain else column, mask=False)
    table["params"] = params
    for fold, column in enumerate(scores.T):
        table[f"split{fold}_test_score"] = column
    table["mean_test_score"] = mean
    table["rank_test_score"] = rankdata(-np.nan_to_num(mean, nan=-np.inf), method="min").astype(np.int32)
    return table
