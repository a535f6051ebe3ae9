"""The fit of automatic models: read columns, hold rows out, try candidates, choose, estimate, fit again, report."""

from __future__ import annotations

import math
import numbers
from abc import abstractmethod
from contextlib import ExitStack
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer.arrays.budget import parse_memory
from mercer.arrays.threads import silence_warnings
from mercer.estimators.kernels import KernelLike
from mercer.estimators.progress import with_callbacks
from mercer.estimators.transaction import all_or_nothing
from mercer.features.params import SOMETIMES, KernelParams
from mercer.formula.data import Rows, pick
from mercer.kernels import Kernel
from mercer.kernels.base import show_given
from mercer.losses import Loss, as_loss
from mercer.losses.text import find_losses
from mercer.stored.predict import read_pieces
from mercer.stored.table import as_table, fits_whole, is_stored, read_whole
from mercer.words import parse_seconds

from .fitting import count_members, count_search_rows, default_budget, fit_members
from .judging.advice import Findings, write_advice
from .judging.checks import check_table_has_something
from .judging.judge import TableJudge
from .judging.targets import ReadTargets, read_targets
from .large import LargeTable
from .refining import refine_trials
from .report import Report
from .search.base import TableSearch
from .search.members import TableMember
from .search.time import FitTasks, TimeBudget
from .search.trials import Trial
from .splitting import hold_out, sample_rows
from .tables.encoder import TableEncoder
from .tables.frames import check_columns, check_table

REFINING = 0.6  # of the time left after the search
REFIT = 1.6  # times as long as the fit of the training rows, the fit of all rows takes at most


class AutoModel(KernelParams, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """What both automatic models share; subclasses say what is searched and what is predicted."""

    _search: ClassVar[type[TableSearch]]
    models: ClassVar[tuple[str, ...]]
    members_: list[TableMember]
    model_: Any
    encoder_: TableEncoder
    extra_: dict[str, Any]
    kernel_: Kernel
    report_: Report
    reading_: Annotated[dict[str, Any], SOMETIMES]  # how the command read the table
    _errors: np.ndarray

    def __init__(
        self,
        model: str = "auto",
        *,
        kernel: KernelLike | None = None,
        budget: float | str | None = None,
        memory: float | str | None = None,
        test: Any = 0.2,
        refit: bool = True,
        random_state: Any = None,
        loss: Any = None,
        types: dict[str, str] | None = None,
    ) -> None:
        self.model = model
        self.kernel = kernel
        self.budget = budget
        self.memory = memory
        self.test = test
        self.refit = refit
        self.random_state = random_state
        self.loss = loss
        self.types = types

    @with_callbacks
    def fit(self, X: Rows, y: ArrayLike) -> Self:
        """Find a model for a table; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : frame (pandas, polars), array of shape (n, columns) or path
            The table: numbers, categories, texts and dates, with missing values or without; or the path of a Parquet
            file or folder.  One that does not fit into a quarter of ``memory`` is read a piece at a time: everything is
            chosen on a sample of its rows, and what was chosen is fitted to all of them.
        y : array or series of shape (n,), or str
            The target of each row, or its column in the file.
        """
        context = self._init_callback_context(max_subtasks=None)
        with ExitStack() as ends, all_or_nothing(self):
            large = None
            if is_stored(self, X):
                memory, name = parse_memory(self.memory), type(self).__name__
                if fits_whole(X, y, memory):
                    X, y = read_whole(X, y, memory, name)
                else:
                    large = ends.enter_context(LargeTable(as_table(X), y, self._search.task, memory, name))
            self._fit(X, y, context, ends, large)
        return self

    @abstractmethod
    def _code_targets(self, values: np.ndarray) -> np.ndarray:
        """Return targets as numbers: values, or positions among classes, which are kept."""

    # -- the steps of a fit -------------------------------------------------------------------------------------------

    def _fit(self, X: Rows, y: ArrayLike, context: Any, ends: ExitStack, large: LargeTable | None) -> None:
        share, given, seconds = self._check_test(), self._read_kernel(), parse_seconds(self.budget)
        sample = None
        if large is not None:
            sample = large.take_sample(int(check_random_state(self.random_state).randint(2**31 - 1)))
            X, y = sample.X, sample.y
        name, target = type(self).__name__, str(getattr(y, "name", None) or "y")
        X, read = self._read_table(X, y)
        check_table_has_something(X, read.values, target, name)
        targets = self._code_targets(read.values)
        ends.enter_context(silence_warnings("The number of unique classes"))  # some rows have many for their number
        n, rng = len(targets), check_random_state(self.random_state)
        clock = TimeBudget(seconds if math.isfinite(seconds) else default_budget(n))
        loss, seed = self._read_loss(targets), int(rng.randint(2**31 - 1))
        train, held = hold_out(targets, share, self._search.task, seed)
        encoder = TableEncoder(types=self.types).fit(X)  # all rows, but none of their targets
        searched = count_search_rows(clock.budget, math.inf if large is None else parse_memory(self.memory))
        some = sample_rows(train, targets, searched, self._search.task, seed)
        tasks = FitTasks(self, context)
        search = self._search(
            encoder, pick(X, some), targets[some], getattr(self, "classes_", np.empty(0)), given, clock=clock,
            tasks=tasks, rng=rng, options={"memory": self.memory, "random_state": seed}, loss=loss,
            total=n if large is None else large.n,
        )  # fmt: skip
        recipes = search.list_recipes(self.model)
        context.max_subtasks = len(recipes) + (2 if len(held) == 0 else 3 + bool(self.refit))
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        ends.callback(context.call_on_fit_task_end, estimator=self, X=X, y=y)  # also if the fit fails
        judge = TableJudge(search, encoder, X, targets, train, held, rng)
        if len(held):
            with tasks.begin("baselines"):
                judge.run_baselines(seed)
        begin = clock.elapsed
        trials, skipped = search.run(recipes)
        weights, spent = search.combine(trials, count_members(n * search.functions)), clock.elapsed - begin
        self._calibrate(search, trials, weights)
        with tasks.begin("more rows", None):
            chosen = refine_trials(
                search, trials, weights, encoder, pick(X, train), targets[train], REFINING * clock.left
            )

        def fit_to(rows: np.ndarray, seconds: float) -> list[str]:
            known = X if len(rows) == n else pick(X, rows)
            if large is not None and sample is not None:
                out = np.setdiff1d(sample.positions, sample.positions[read.kept[rows]])
                self.members_, notes = large.fit_members(
                    search, chosen, weights, encoder, known, targets[rows], out, seconds
                )
                return notes
            self.members_, notes = fit_members(search, chosen, weights, encoder, known, targets[rows], seconds)
            return notes

        notes: list[str] = []
        refitted = False
        need, free = 0.0, not math.isfinite(seconds)  # without a budget the last fits take the time they need
        if len(held):
            start = clock.elapsed
            with tasks.begin("fit of the training rows"):
                notes = fit_to(train, math.inf if free else clock.left / (2 if self.refit else 1))
            need = REFIT * (clock.elapsed - start)
            judge.hold(self._predict_rows, clock.elapsed - begin)
        if not len(held) or (self.refit and (free or clock.left >= need)):
            refitted = True
            with tasks.begin("fit of all rows"):
                notes = fit_to(np.arange(n), math.inf if free else clock.left)
        elif self.refit:
            notes.append("The model is that of the training rows: a larger budget would fit it to all rows.")
        first = self.members_[0]
        self.model_, self.encoder_, self.extra_ = first.estimator, first.encoder, first.extra
        self.kernel_ = self.model_.kernel_
        self._keep_judged(judge, trials, weights)
        report = judge.write_report(self.members_, chosen, weights, target, read)
        if large is not None:
            report, said = large.describe(report, len(held), refitted)
            notes.insert(0, said)
        shares = np.bincount(targets) / n if search.task == "classification" else np.empty(0)
        score = search.score_combination(trials, weights)
        findings = Findings(score, self.encoder_, self.kernel_, skipped, spent, shares, notes)
        self.report_ = replace(report, advice=write_advice(report, findings), seconds=clock.elapsed)

    def _calibrate(self, search: Any, trials: list[Trial], weights: np.ndarray) -> None:
        """Keep how sure outputs should be, by the rows that were judged."""

    def _keep_judged(self, judge: TableJudge, trials: list[Trial], weights: np.ndarray) -> None:
        """Keep what intervals or sets are made of: how wrong the model is at rows that it has not seen."""
        self._errors = judge.list_errors(trials, weights)

    def _check_fitted(self) -> None:
        """Raise if the members cannot be asked, about a row without any value for instance; files call this."""
        for member in self.members_:
            outputs = self._search.predict_member(member, member.encoder.encode_nothing())
            self._finish(np.asarray(member.weight * outputs))
        if not self.members_:
            raise ValueError(f"{type(self).__name__}: there is no model")

    def _predict_rows(self, X: Rows) -> np.ndarray:
        """Return the combination of all members at rows of a table: values, or probabilities."""
        seen: dict[int, Any] = {}
        total: Any = 0.0
        for member in self.members_:
            if id(member.encoder) not in seen:
                seen[id(member.encoder)] = member.encoder.transform(X)
            total = total + member.weight * self._search.predict_member(member, seen[id(member.encoder)])
        return self._finish(np.asarray(total))

    def _finish(self, outputs: np.ndarray) -> np.ndarray:
        """Return what a combination is worth: values as they are, and probabilities as sure as they should be."""
        return outputs

    # -- checks -------------------------------------------------------------------------------------------------------

    def _read_table(self, X: Rows, y: ArrayLike) -> tuple[Any, ReadTargets]:
        """Return the rows that have a target, and their targets; columns are remembered."""
        name = type(self).__name__
        if self.model not in self.models:
            raise ValueError(f"{name}: model must be one of {self.models}, got {self.model!r}")
        if y is None:
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        X = check_table(self, X, reset=True)
        check_consistent_length(X, y)
        check_columns(X)  # before rows are left out and others lose their places
        read = read_targets(y, self._search.task, name)
        return (X if len(read.kept) == X.shape[0] else pick(X, read.kept)), read

    def _predict(self, X: Rows) -> np.ndarray:
        """Return values, or probabilities."""
        check_is_fitted(self)
        if is_stored(self, X):
            return np.concatenate([self._predict(points) for points, _ in read_pieces(self, as_table(X))])
        return self._predict_rows(check_table(self, X, reset=False))

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
            f"got {show_given(self.kernel)}"
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags
