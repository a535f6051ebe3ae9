"""The judgement of a fit: baselines, rows held out, what matters, and the report of it all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from mercer.formula.data import Rows, pick

from ..figures import Dependence
from ..report import Candidate, Column, HeldOut, Importance, Report, RivalComparison, Score
from ..search.base import TableSearch
from ..search.members import TableMember
from ..search.trials import Trial
from ..splitting import show_rows
from ..tables.encoder import TableEncoder
from .alarms import write_warnings
from .baselines import BOOSTING, run_baselines
from .comparison import compare, measure_error
from .dependence import choose_outputs, measure_dependence
from .distributions import describe_distributions, describe_target
from .importance import find_clear, measure_importance
from .leaks import find_leaks
from .targets import ReadTargets

SHOWN = 2000  # rows held out that the report keeps
LOOKED_AT = 10_000  # rows that tell how columns are spread
LEAK_SECONDS, IMPORTANCE_SECONDS, DEPENDENCE_SECONDS = 2.0, 3.0, 2.0  # at most
SHARE = 0.05  # of the budget that each of these may take
AVERAGES = "as indicators, and by average targets"
WAYS = {"overlap": "compared as equal or not", "indicators": "as indicators", "statistics": "as indicators"}


class TableJudge:
    """What a fit is worth, found step by step: ``run_baselines``, ``hold`` and ``write_report``."""

    def __init__(
        self, search: TableSearch, encoder: TableEncoder, X: Rows, targets: np.ndarray, train: np.ndarray,
        held: np.ndarray, rng: np.random.RandomState,
    ) -> None:  # fmt: skip
        self._search, self._encoder, self._X, self._targets = search, encoder, X, targets
        self._train, self._held, self._rng = train, held, rng
        self._begin = datetime.now(UTC)
        self.scores: list[Score] = []
        self.held_out: HeldOut | None = None
        self.importances: tuple[Importance, ...] = ()
        self.dependences: tuple[Dependence, ...] = ()
        self.comparison: RivalComparison | None = None
        self._rival: np.ndarray | None = None

    def run_baselines(self, seed: int) -> None:
        """Fit a constant and boosting, and keep what they make of the rows held out."""
        X, y = pick(self._X, self._train), self._targets[self._train]
        found = run_baselines(
            self._search, self._encoder, X, y, pick(self._X, self._held), self._targets[self._held], seed
        )
        y, metric = self._targets[self._held], self._search.metric
        self.scores = [replace(score, error=measure_error(metric, y, outputs)) for score, outputs in found]
        self._rival = found[-1][1] if found[-1][0].name == BOOSTING else None

    def hold(self, predict: Callable[[Any], np.ndarray], seconds: float) -> None:
        """Score the model at the rows held out, compare it with boosting, and measure which columns matter."""
        search, X, y = self._search, pick(self._X, self._held), self._targets[self._held]
        outputs = predict(X)
        error = measure_error(search.metric, y, outputs)
        self.scores.insert(0, Score("mercer", search.score(y, outputs), seconds, error))
        shown = show_rows(len(y), SHOWN)
        self.held_out = search.hold_out(y[shown], outputs[shown])
        if self._rival is not None:
            self.comparison = compare(search.metric, y, outputs, self._rival, self._rng, BOOSTING)
        found = measure_importance(
            predict, X, y, lambda truth, made: search.score(truth, made)[search.metric], self._rng,
            min(IMPORTANCE_SECONDS, SHARE * search.clock.budget),
        )  # fmt: skip
        ignored = {column.name for column in self._encoder.columns_ if column.kind == "ignored"}
        self.importances = tuple(each for each in found if each.name not in ignored)
        self.dependences = measure_dependence(
            predict, X, self._encoder, [each.name for each in find_clear(self.importances, len(y))], self._look(),
            choose_outputs(y, search.classes), min(DEPENDENCE_SECONDS, SHARE * search.clock.budget),
        )  # fmt: skip

    def _look(self) -> Any:
        """Return some rows of the table, enough to see how its columns are spread."""
        return pick(self._X, show_rows(len(self._targets), LOOKED_AT))

    def list_errors(self, trials: Sequence[Trial], weights: np.ndarray) -> np.ndarray:
        """Return the errors of a regression at rows held out, or at rows left out if none were; none for classes."""
        if self._search.task == "classification":
            return np.empty(0)
        if self.held_out is not None:
            return np.abs(self.held_out.truth - self.held_out.prediction)
        return np.abs(self._search.y[self._search.judged] - self._search.mix(trials, weights))

    def list_chances(
        self, trials: Sequence[Trial], weights: np.ndarray, finish: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return classes, as positions, and chances at rows held out, or at rows left out if none were."""
        held, search = self.held_out, self._search
        if held is not None and held.probabilities is not None:
            return np.searchsorted(search.classes, held.truth), held.probabilities
        return search.y[search.judged], finish(search.mix(trials, weights))

    def write_report(
        self, members: Sequence[TableMember], trials: Sequence[Trial], weights: np.ndarray, target: str,
        read: ReadTargets,
    ) -> Report:  # fmt: skip
        """Return everything that was found but advice and the time."""
        search, kernel, model = self._search, members[0].estimator.kernel_, members[0].estimator
        order = np.argsort([trial.score for trial in trials], kind="stable")
        candidates = [
            Candidate(
                trials[i].name, repr(trials[i].kernel), trials[i].score, trials[i].seconds, bool(weights[i] > 0),
                weight=float(weights[i]),
            )
            for i in order
        ]  # fmt: skip
        proof = kernel.certificate().explain() if kernel.theorem() is not None else "No proof is known for this kernel."
        report = Report(
            task=search.task, target=target, n_rows=len(self._targets), n_train=len(self._train),
            n_test=len(self._held), columns=_describe_columns(members), candidates=tuple(candidates),
            metric=search.metric, scores=tuple(self.scores), model=_name_model(members), kernel=repr(kernel),
            plan=_explain_plan(model), certificate=proof,
            advice=(), seconds=0.0, held_out=self.held_out, importances=self.importances, comparison=self.comparison,
            dependences=self.dependences,
            distributions=describe_distributions(self._look(), self._encoder, {d.name for d in self.dependences}),
            target_distribution=describe_target(target, self._targets, search.classes),
            when=f"{self._begin:%Y-%m-%d %H:%M} UTC",
        )  # fmt: skip
        seconds = min(LEAK_SECONDS, SHARE * search.clock.budget)
        leaks = find_leaks(self._X, self._targets, search.task, self._rng, seconds)
        return replace(report, warnings=write_warnings(report, leaks, read))


def _name_model(members: Sequence[TableMember]) -> str:
    """Return the class of a model, or of the parts of a combination; loss, penalty and gap if the loss was a choice."""
    if len(members) > 1:
        families = ((member, member.name.split(", ", 1)[-1]) for member in members)
        return " + ".join(f"{part.weight:.0%} {type(part.estimator).__name__} ({name})" for part, name in families)
    model = members[0].estimator
    name = type(model).__name__
    if not hasattr(model, "loss_"):
        return name
    gap = model.duality_gap_.relative
    return f"{name}: {model.loss_!r}, penalty alpha={model.alpha:.3g}, relative duality gap {gap:.1e}"


def _explain_plan(model: Any) -> str:
    """Return how a model was solved, and why so; it was not the user who asked for a solver."""
    plan = getattr(model, "plan_", None)
    if plan is None:
        return "nothing is solved: the training rows are the model"
    if plan.solver == "nystroem" and model.n_centers is not None:
        plan = replace(plan, reason=f"features of {model.n_centers:,} centres make its steps cheap")
    return str(plan)


def _describe_columns(members: Sequence[TableMember]) -> tuple[Column, ...]:
    """Return what is done with each column."""
    first, averaged = members[0].encoder, set[str]()
    way = WAYS[first.categories]
    for member in members:
        if member.encoder.categories == "statistics":
            averaged |= {step["name"] for step in member.encoder.steps_ if "statistics" in step}
    return tuple(
        replace(column, treatment=f"{column.treatment}, {AVERAGES if column.name in averaged else way}")
        if column.kind == "categorical"
        else column
        for column in first.columns_
    )
