"""The fit of automatic models: read columns, hold rows out, try candidates, choose, estimate, fit again, report."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.model_selection import train_test_split
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from mercer.estimators.transaction import all_or_nothing
from mercer.features.params import KernelParams
from mercer.formula.data import Rows, pick
from mercer.kernels import Kernel
from mercer.losses import Loss, as_loss
from mercer.losses.text import find_losses
from mercer.words import parse_seconds

from .judging.advice import Findings, write_advice
from .judging.baselines import score_baselines
from .report import Candidate, Column, Report, Score, Task
from .search.base import EXACT_ROWS, TUNING_ROWS, TableSearch, Trial, plan_last_fit
from .search.encodings import Encodings
from .search.time import FitTasks, TimeBudget
from .tables.encoder import TableEncoder
from .tables.frames import check_columns, check_table

FEWEST = 10  # rows from which some are held out
SHOWN = 2000  # rows held out that the report keeps
WAYS = {"overlap": "compared as equal or not (Overlap)", "indicators": "as indicators of 0 and 1"}


class AutoModel(KernelParams, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """What both automatic models share; subclasses say what is searched and what is predicted."""

    _search: ClassVar[type[TableSearch]]
    models: ClassVar[tuple[str, ...]]
    model_: Any
    encoder_: TableEncoder
    extra_: dict[str, Any]
    kernel_: Kernel
    report_: Report
    _errors: np.ndarray

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
        loss: Any = None,
    ) -> None:
        self.model = model
        self.kernel = kernel
        self.budget = budget
        self.memory = memory
        self.test = test
        self.refit = refit
        self.random_state = random_state
        self.loss = loss

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Rows, y: ArrayLike) -> Self:
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

    @abstractmethod
    def _check_targets(self, y: ArrayLike, n: int) -> np.ndarray:
        """Check the targets, and return them as numbers."""

    # -- the steps of a fit -------------------------------------------------------------------------------------------

    def _fit(self, X: Rows, y: ArrayLike, context: Any, ends: ExitStack) -> None:
        clock, share, given = TimeBudget(parse_seconds(self.budget)), self._check_test(), self._read_kernel()
        target = str(getattr(y, "name", None) or "y")
        X = self._check_fit(X, y)
        targets = self._check_targets(y, X.shape[0])
        loss = self._read_loss(targets)
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        train, held = self._split(targets, share, seed)
        encoder = TableEncoder().fit(pick(X, train))
        some = train
        if len(train) > TUNING_ROWS:
            some = _split_rows(train, targets[train], self._search.task, seed, train_size=TUNING_ROWS)[0]
        tasks = FitTasks(self, context)
        search = self._search(
            Encodings(encoder, pick(X, some)), targets[some], getattr(self, "classes_", np.empty(0)), given,
            clock=clock, tasks=tasks, rng=rng, options={"memory": self.memory, "random_state": seed}, loss=loss,
        )  # fmt: skip
        recipes = search.list_recipes(self.model)
        context.max_subtasks = len(recipes) + (1 if len(held) == 0 else 2 + bool(self.refit))
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        ends.callback(context.call_on_fit_task_end, estimator=self, X=X, y=y)  # also if the fit fails
        scores: list[Score] = []
        if len(held):
            with tasks.begin("baselines"):
                scores = score_baselines(
                    search, encoder, pick(X, train), targets[train], pick(X, held), targets[held], seed
                )
        begin = clock.elapsed
        trials, skipped = search.run(recipes)
        best, spent = search.choose(trials), clock.elapsed - begin
        notes: list[str] = []
        shown = None
        if len(held):
            with tasks.begin("fit of the training rows"):
                self.model_, notes = self._fit_last(search, best, pick(X, train), targets[train])
            outputs = search.predict(self.model_, best.extra, best.encoder.transform(pick(X, held)))
            values = search.score(targets[held], outputs)
            scores = [Score(f"mercer {type(self.model_).__name__}", values, clock.elapsed - begin), *scores]
            shown = search.hold_out(targets[held][:SHOWN], outputs[:SHOWN])
        if self.refit or not len(held):
            with tasks.begin("fit of all rows"):
                self.model_, notes = self._fit_last(search, best, X, targets)
        self.encoder_, self.extra_, self.kernel_ = best.encoder, best.extra, self.model_.kernel_
        self._errors = np.empty(0)
        if search.task == "regression":
            self._errors = np.abs(search.y - best.outputs if shown is None else shown.truth - shown.prediction)
        candidates = [
            Candidate(trial.name, repr(trial.kernel), trial.score, trial.seconds, trial is best, trial.note)
            for trial in trials
        ]
        proof = "No proof is known for this kernel."
        if self.kernel_.theorem() is not None:
            proof = self.kernel_.certificate().explain()
        report = Report(
            task=search.task, target=target, n_rows=len(targets), n_train=len(train), n_test=len(held),
            columns=_describe_columns(best.encoder, X), candidates=tuple(candidates),
            metric=search.metric, scores=tuple(scores), model=_name_model(self.model_), kernel=repr(self.kernel_),
            plan=str(getattr(self.model_, "plan_", "nothing is solved: the training rows are the model")),
            certificate=proof, advice=(), seconds=0.0, held_out=shown,
        )  # fmt: skip
        shares = np.bincount(targets) / len(targets) if search.task == "classification" else np.empty(0)
        findings = Findings(best.score, best.encoder, best.kernel, skipped, spent, shares, notes)
        self.report_ = replace(report, advice=write_advice(report, findings), seconds=clock.elapsed)

    def _fit_last(self, search: TableSearch, best: Trial, X: Rows, targets: np.ndarray) -> tuple[Any, list[str]]:
        """Fit the chosen candidate to many rows, by centres if that would take too long."""
        estimator, notes, n = clone(best.estimator), [], X.shape[0]
        columns = len(best.encoder.get_feature_names_out())
        how = plan_last_fit(best.kernel, n, max(1, columns), search.memory, search.clock)
        if "solver" in estimator.get_params():
            estimator.set_params(solver=how.solver)
            if how.solver != "auto":
                notes.append(
                    f"Nyström centres stand for all rows, because {how.why}: more time would allow an exact fit."
                )
        if how.rows < n:
            seed = best.estimator.get_params().get("random_state") or 0
            some = _split_rows(np.arange(n), targets, search.task, seed, train_size=how.rows)[0]
            notes.append(
                f"{how.rows} of {n} rows were fitted in the time there was; a larger budget takes all of them."
            )
            X, targets = pick(X, some), targets[some]
        with threadpool_limits(1 if n <= EXACT_ROWS else None, user_api="blas"):
            return estimator.fit(best.encoder.transform(X), search.show_targets(targets, best.extra)), notes

    # -- checks -------------------------------------------------------------------------------------------------------

    def _check_fit(self, X: Rows, y: ArrayLike) -> Any:
        """Check the table of a fit, and remember its columns."""
        if self.model not in self.models:
            raise ValueError(f"{type(self).__name__}: model must be one of {self.models}, got {self.model!r}")
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = check_table(self, X, reset=True)
        if X.shape[0] < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 rows, got n_samples = {X.shape[0]}")
        check_columns(X)  # before rows are split and lose their places
        return X

    def _encode(self, X: Rows) -> Any:
        """Return new rows encoded."""
        check_is_fitted(self)
        return self.encoder_.transform(check_table(self, X, reset=False))

    def _predict(self, X: Rows) -> np.ndarray:
        """Return values, or probabilities."""
        rows = self._encode(X)
        return self._search.predict(self.model_, self.extra_, rows)

    def _check_test(self) -> float:
        if self.test is None or (isinstance(self.test, numbers.Real) and 0 <= float(self.test) < 1):
            return float(self.test or 0.0)
        raise ValueError(
            f"{type(self).__name__}: test must be the share of rows to hold out, from 0 (none) to below 1; got "
            f"{self.test!r}"
        )

    def _read_loss(self, targets: np.ndarray) -> Loss | None:
        """Return the loss that was asked for, if it is one of the task and of the targets."""
        if self.loss is None:
            return None
        loss, task, name = as_loss(self.loss), self._search.task, type(self).__name__
        if self.model != "auto":
            raise ValueError(f"{name}: a loss makes a model of its own, so leave out model={self.model!r}")
        if loss.task != task:
            kinds = {"regression": "numbers", "classification": "classes"}
            known = [each for each, kind in find_losses().items() if kind.task == task]
            raise ValueError(
                f"{name}: {loss!r} is a loss of {kinds[loss.task]}, and the target holds {kinds[task]}, whose losses "
                f"are {', '.join(known)}"
            )
        if task == "regression":
            loss.check_targets(targets, name)
        return loss

    def _read_kernel(self) -> Kernel | None:
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
        return _split_rows(np.arange(n), targets, self._search.task, seed, test_size=share)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


def _split_rows(
    rows: np.ndarray, targets: np.ndarray, task: Task, seed: int, **sizes: float
) -> tuple[np.ndarray, np.ndarray]:
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


def _name_model(model: Any) -> str:
    """Return the class of a model, and loss, penalty and duality gap if the loss was a choice."""
    name = type(model).__name__
    if not hasattr(model, "loss_"):
        return name
    gap = model.duality_gap_.relative
    return f"{name}: {model.loss_!r}, penalty alpha={model.alpha:.3g}, relative duality gap {gap:.1e}"


def _describe_columns(encoder: TableEncoder, X: Rows) -> tuple[Column, ...]:
    """Return what is done with each column, with the missing and distinct values of all rows."""
    found = []
    for column, everywhere in zip(encoder.columns_, TableEncoder().fit(X).columns_, strict=True):
        way = f", {WAYS[encoder.categories]}" if column.kind == "categorical" else ""
        treatment, missing, distinct = column.treatment + way, everywhere.missing, everywhere.distinct
        found.append(replace(column, treatment=treatment, missing=missing, distinct=distinct))
    return tuple(found)
