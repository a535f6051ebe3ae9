"""The fit of automatic models: read columns, hold rows out, try candidates, choose, estimate, fit again, report."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.model_selection import train_test_split
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from mercer.arrays.budget import parse_memory
from mercer.estimators.kernel_argument import all_or_nothing
from mercer.features.params import KernelParams
from mercer.formula.data import is_frame, pick, refuse_masked
from mercer.kernels import Kernel
from mercer.words import parse_seconds

from ._advice import Findings, advice
from ._baselines import baselines
from ._clock import Clock
from ._describe import candidate, certificate_of, described
from ._progress import Progress
from ._search import EXACT_ROWS, TUNING_ROWS, Recipe, Search, Trial, affordable
from ._tables import Tables
from .encoder import TableEncoder, check_columns, in_order
from .report import HeldOut, Report, Score, Task

FEWEST = 10  # rows from which some are held out
SHOWN = 2000  # rows held out that the report keeps


class AutoModel(KernelParams, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """What both automatic models share; subclasses say what is tried and how it is scored."""

    task: Task
    metric: str
    models: tuple[str, ...]
    encoder_: TableEncoder
    report_: Report

    def __init__(
        self,
        model: str = "auto",
        *,
        kernel: Any = None,
        budget: float | str | None = None,
        memory: float | str | None = None,
        test: Any = 0.2,
        refit: bool = True,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.kernel = kernel
        self.budget = budget
        self.memory = memory
        self.test = test
        self.refit = refit
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Find a model for a table; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : frame (pandas, polars) or array of shape (n, columns)
            The table: numbers, categories, texts and dates, with missing values or without.
        y : array or series of shape (n,)
            The target of each row.
        """
        context = self._init_callback_context(max_subtasks=None)
        with ExitStack() as ends, all_or_nothing(self):
            self._fit(X, y, context, ends)
        return self

    # -- for subclasses -----------------------------------------------------------------------------------------------

    @abstractmethod
    def _targets(self, y: Any, n: int) -> np.ndarray:
        """Check the targets, and return them as numbers."""

    @abstractmethod
    def _seen(self, y: np.ndarray, extra: dict[str, Any]) -> np.ndarray:
        """Return targets as the last model is to see them."""

    @abstractmethod
    def _goals(self, y: np.ndarray) -> np.ndarray:
        """Return what kernels are tuned to, of shape (n, q) and about unit size."""

    @abstractmethod
    def _recipes(self, search: Search, y: np.ndarray, options: dict[str, Any]) -> list[Recipe]:
        """Return the candidates."""

    @abstractmethod
    def _best(self, trials: list[Trial]) -> Trial:
        """Choose."""

    @abstractmethod
    def _outputs(self, model: Any, extra: dict[str, Any], rows: Any) -> np.ndarray:
        """Return values or probabilities of a fitted model at encoded rows."""

    @abstractmethod
    def _scored(self, y: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """Return scores by metric."""

    @abstractmethod
    def _baseline(self, model: Any, rows: np.ndarray, y: np.ndarray) -> dict[str, float]:
        """Return scores of a baseline."""

    @abstractmethod
    def _left_errors(self, y: np.ndarray, best: Trial, shown: HeldOut | None) -> np.ndarray:
        """Return errors on rows that were left out, for intervals."""

    @abstractmethod
    def _shown(self, y: np.ndarray, outputs: np.ndarray) -> HeldOut:
        """Return rows held out for plots."""

    # -- the steps of a fit -------------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, context: Any, ends: ExitStack) -> None:
        clock, share, given = Clock(parse_seconds(self.budget)), self._checked_test(), self._given()
        target = str(getattr(y, "name", None) or "y")
        X = self._checked(X, y)
        targets = self._targets(y, X.shape[0])
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        options = {"memory": self.memory, "random_state": seed}
        train, held = self._split(targets, share, seed)
        encoder = TableEncoder().fit(pick(X, train))
        some = train if len(train) <= TUNING_ROWS else self._some(targets, train, seed)
        progress = Progress(self, context)
        search = Search(
            Tables(encoder, pick(X, some)), self._goals(targets[some]), given, clock=clock, progress=progress, rng=rng,
            memory=parse_memory(self.memory),
        )  # fmt: skip
        recipes = self._recipes(search, targets[some], options)
        context.max_subtasks = len(recipes) + (1 if len(held) == 0 else 2 + bool(self.refit))
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        ends.callback(context.call_on_fit_task_end, estimator=self, X=X, y=y)  # also if the fit fails
        beside = self._baselines(progress, encoder, X, targets, train, held, seed)
        begin = clock.elapsed
        trials, skipped = search.run(recipes)
        best, spent = self._best(trials), clock.elapsed - begin
        scores: list[Score] = []
        notes: list[str] = []
        shown = None
        if len(held):
            with progress.task("fit of the training rows"):
                self.model_, notes = self._last_fit(best, pick(X, train), targets[train], clock)
            outputs = self._outputs(self.model_, best.extra, best.encoder.transform(pick(X, held)))
            values = self._scored(targets[held], outputs)
            scores = [Score(f"mercer {type(self.model_).__name__}", values, clock.elapsed - begin), *beside]
            shown = self._shown(targets[held][:SHOWN], outputs[:SHOWN])
        if self.refit or not len(held):
            with progress.task("fit of all rows"):
                self.model_, notes = self._last_fit(best, X, targets, clock)
        self.encoder_, self.extra_, self.kernel_ = best.encoder, best.extra, self.model_.kernel_
        self._errors = self._left_errors(targets[some], best, shown)
        columns = described(best.encoder, X)
        shares = np.bincount(targets) / len(targets) if self.task == "classification" else np.empty(0)
        findings = Findings(
            self.task, self.metric, len(train), scores, best.score, columns, best.encoder, best.kernel, skipped, spent,
            shares, notes,
        )  # fmt: skip
        self.report_ = Report(
            task=self.task, target=target, n_rows=len(targets), n_train=len(train), n_test=len(held),
            columns=tuple(columns), candidates=tuple(candidate(trial, best) for trial in trials), metric=self.metric,
            scores=tuple(scores), model=type(self.model_).__name__, kernel=repr(self.kernel_),
            plan=str(getattr(self.model_, "plan_", "nothing is solved: the training rows are the model")),
            certificate=certificate_of(self.kernel_), advice=advice(findings), seconds=clock.elapsed, held_out=shown,
        )  # fmt: skip

    def _last_fit(self, best: Trial, X: Any, targets: np.ndarray, clock: Clock) -> tuple[Any, list[str]]:
        """Fit the chosen candidate to many rows, by centres if that would take too long."""
        estimator, notes, n = clone(best.estimator), [], X.shape[0]
        columns = len(best.encoder.get_feature_names_out())
        how = affordable(best.kernel, n, max(1, columns), parse_memory(self.memory), clock)
        if "solver" in estimator.get_params():
            estimator.set_params(solver=how.solver)
        if how.solver != "auto" and "solver" in estimator.get_params():
            notes.append(f"Nyström centres stand for all rows, because {how.why}: more time would allow an exact fit.")
        if how.rows < n:
            some = _parts(np.arange(n), targets, self.task, best.estimator.get_params().get("random_state") or 0,
                          train_size=how.rows)[0]  # fmt: skip
            notes.append(
                f"{how.rows} of {n} rows were fitted in the time there was; a larger budget takes all of them."
            )
            X, targets = pick(X, some), targets[some]
        with threadpool_limits(1 if n <= EXACT_ROWS else None, user_api="blas"):
            return estimator.fit(best.encoder.transform(X), self._seen(targets, best.extra)), notes

    def _baselines(
        self, progress: Progress, encoder: TableEncoder, X: Any, targets: np.ndarray, train: np.ndarray,
        held: np.ndarray, seed: int,
    ) -> list[Score]:  # fmt: skip
        if not len(held):
            return []
        with progress.task("baselines"):
            return baselines(
                self.task, encoder, pick(X, train), targets[train], pick(X, held),
                lambda model, rows: self._baseline(model, rows, targets[held]), seed,
            )  # fmt: skip

    # -- checks -------------------------------------------------------------------------------------------------------

    def _checked(self, X: Any, y: Any) -> Any:
        """Check the table of a fit, and remember its columns."""
        if self.model not in self.models:
            raise ValueError(f"{type(self).__name__}: model must be one of {self.models}, got {self.model!r}")
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._table(X, reset=True)
        if X.shape[0] < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 rows, got n_samples = {X.shape[0]}")
        check_columns(X)  # before rows are split and lose their places
        return X

    def _table(self, X: Any, *, reset: bool) -> Any:
        if is_frame(X) and not sparse.issparse(X):
            if not reset and hasattr(self, "feature_names_in_"):
                X = in_order(self, X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            if X.shape[0] == 0 or X.shape[1] == 0:
                raise ValueError(
                    f"{type(self).__name__}: the table needs at least one row and one column, got shape "
                    f"{tuple(X.shape)}"
                )
            return X
        refuse_masked(X, type(self).__name__)
        return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)

    def _rows(self, X: Any) -> Any:
        """Return new rows encoded."""
        check_is_fitted(self)
        return self.encoder_.transform(self._table(X, reset=False))

    def _checked_test(self) -> float:
        if self.test is None or (isinstance(self.test, numbers.Real) and 0 <= float(self.test) < 1):
            return float(self.test or 0.0)
        raise ValueError(
            f"{type(self).__name__}: test must be the share of rows to hold out, from 0 (none) to below 1; got "
            f"{self.test!r}"
        )

    def _given(self) -> Kernel | None:
        if self.kernel is None or isinstance(self.kernel, Kernel):
            return self.kernel
        if isinstance(self.kernel, str):
            from mercer.kernels.text import parse_kernel

            return parse_kernel(self.kernel)
        raise TypeError(
            f"{type(self).__name__}: kernel must be a mercer kernel or the text of one, for example 'Gaussian(2.0)'; "
            f"got {self.kernel!r}"
        )

    def _split(self, targets: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows to learn from, and those held out."""
        n = len(targets)
        if share == 0 or n < FEWEST:
            return np.arange(n), np.empty(0, dtype=int)
        return _parts(np.arange(n), targets, self.task, seed, test_size=share)

    def _some(self, targets: np.ndarray, train: np.ndarray, seed: int) -> np.ndarray:
        """Return the rows that candidates are compared on."""
        return _parts(train, targets[train], self.task, seed, train_size=TUNING_ROWS)[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


def _parts(rows: np.ndarray, targets: np.ndarray, task: str, seed: int, **sizes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Split rows at random, with the same share of each class where there are enough rows of it."""
    strata = None
    if task == "classification":
        counts = np.bincount(targets)
        common = counts >= 2
        enough = min(sizes.get("test_size", 1.0), 1.0) * len(rows) >= common.sum()
        # Rows of a class that occurs once cannot be shared out: they are dealt with as if they were of the largest.
        strata = np.where(common[targets], targets, int(counts.argmax())) if enough else None
    first, second = train_test_split(rows, random_state=seed, stratify=strata, **sizes)
    return np.sort(first), np.sort(second)
