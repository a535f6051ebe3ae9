"""The search for a model of a table: what is tried in which order, what it is worth, and what is made of all of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from mercer.arrays.budget import parse_memory
from mercer.features.validate import takes_vectors
from mercer.formula.data import Rows, pick
from mercer.kernels import Kernel, Linear
from mercer.losses import Loss

from ..report import HeldOut, Task
from ..tables.encoder import TableEncoder
from .combination import GAIN, prune
from .encodings import EncodedRows, Encodings, Folds, leave_out
from .learned import Family, LearnedKernel, learn_kernel, list_families
from .members import TableMember
from .time import FitTasks, TimeBudget
from .trials import CandidateRecipe, Trial

SEARCH_ROWS = 1000  # rows that a penalty is chosen on where there are many to try
FOLDS = 5  # of models that are fitted again without some rows
FAIR_FOLDS, FEW = 3, 1200  # folds of which each has a kernel of its own, up to so many rows
JUDGED = 1000  # rows that are judged where there are more
STATISTICS = "statistics of categories"
COSTS = {"smooth": 0.8, "mixed columns": 0.8, "sum over categories": 0.8, "one scale": 0.3, "linear": 0.3}
STEPS = 8 * (FAIR_FOLDS + 1)  # of a candidate at most: those of a kernel for each fold, and of its penalty
RESERVE, MANY = (0.1, 0.45), 8000  # of the time, for the last fits: of few rows, and of so many or more


class TableSearch(ABC):
    """The search for a model of a table; subclasses say what is tried for a task, and how outputs are scored.

    ``y`` are values, or positions among the ``classes``; a ``kernel`` that is given is the only one, as it is; and
    ``options`` are ``memory`` and ``random_state`` of the estimators; ``total`` rows are fitted in the end.
    """

    task: ClassVar[Task]
    metric: ClassVar[str]
    models: ClassVar[tuple[str, ...]]
    noun: ClassVar[str]  # what is fitted with learned kernels
    neighbor_counts: ClassVar[tuple[int, ...]]
    neighbor_model: ClassVar[type[Any]]
    parzen_model: ClassVar[type[Any]]
    loss_model: ClassVar[type[Any]]  # of any loss
    loss_search: ClassVar[type[Any]]  # that chooses its penalty

    def __init__(
        self, encoder: TableEncoder, X: Rows, y: np.ndarray, classes: np.ndarray, kernel: Kernel | None, *,
        clock: TimeBudget, tasks: FitTasks, rng: np.random.RandomState, options: dict[str, Any],
        loss: Loss | None = None, total: int = 0,
    ) -> None:  # fmt: skip
        self.y, self.classes, self.given = y, classes, kernel
        self.encodings = Encodings(encoder, X, self.make_goals(y))
        self.clock, self.tasks, self.rng, self.options = clock, tasks, rng, options
        self.loss, self.total = loss, max(total, len(y))
        self.memory = parse_memory(options["memory"])
        order, n = rng.permutation(len(y)), len(y)
        self.parts = [order[i::FAIR_FOLDS] for i in range(FAIR_FOLDS)] if n <= FEW else [order[: min(JUDGED, n // 3)]]
        self.parts = [part for part in self.parts if len(part)]
        self.judged = np.concatenate(self.parts)
        self._learned: dict[tuple[str, str, str], LearnedKernel] = {}
        self._scores: dict[str, float] = {}  # of families
        self.way = "indicators"  # the encoding that has been best so far

    # -- what a task decides ------------------------------------------------------------------------------------------

    @abstractmethod
    def scale_targets(self, y: np.ndarray) -> np.ndarray:
        """Return what kernels are learned from, of shape (n, q), centred and about unit size."""

    @abstractmethod
    def make_goals(self, y: np.ndarray) -> np.ndarray:
        """Return targets as numbers, of shape (n, q): values, or indicators of classes."""

    @property
    @abstractmethod
    def functions(self) -> int:
        """How many functions a model has."""

    @abstractmethod
    def split_folds(self) -> Folds:
        """Return folds of the rows, for models that are fitted again."""

    @abstractmethod
    def propose(self, model: str) -> list[CandidateRecipe]:
        """Return what is to be tried, in order of promise."""

    @abstractmethod
    def judge_learned(self, name: str, learned: LearnedKernel, way: str) -> Trial:
        """Score a learned kernel by rows left out, each judged with a kernel that has not learned from it."""

    @abstractmethod
    def judge(self, name: str, model: Any, view: EncodedRows, kernel: Kernel) -> Trial:
        """Score a model by what its fits without each fold make of it."""

    @abstractmethod
    def weigh(self, outputs: Sequence[np.ndarray], y: np.ndarray) -> np.ndarray:
        """Return the weights of the best convex combination."""

    @abstractmethod
    def score(self, y: np.ndarray, outputs: np.ndarray) -> dict[str, float]:
        """Return scores by metric."""

    @abstractmethod
    def read_baseline(self, model: Any, rows: np.ndarray) -> np.ndarray:
        """Return the outputs of a fitted baseline."""

    @abstractmethod
    def show_targets(self, y: np.ndarray, extra: dict[str, Any]) -> np.ndarray:
        """Return targets as the last model is to see them."""

    @abstractmethod
    def hold_out(self, y: np.ndarray, outputs: np.ndarray) -> HeldOut:
        """Return rows held out for plots."""

    @staticmethod
    @abstractmethod
    def predict_member(member: TableMember, rows: Rows) -> np.ndarray:
        """Return values or probabilities of a fitted member at encoded rows."""

    # -- kernels ------------------------------------------------------------------------------------------------------

    def encode(self, way: str = "indicators") -> EncodedRows:
        """Return the rows in an encoding, or in the only one that a given kernel takes."""
        if self.given is None:
            return self.encodings.encode(way)
        return self.encodings.encode("indicators" if takes_vectors(self.given) else "frame")

    def families(self, way: str = "indicators") -> dict[str, Family]:
        """Return the families of kernels for an encoding."""
        return list_families(self.encode(way).rows)

    def learn(self, family: str, way: str = "indicators", goals: np.ndarray | None = None) -> LearnedKernel:
        """Return the kernel of a family, learned the first time it is asked for, or the one that was given."""
        if self.given is not None:
            return LearnedKernel(self.given, (self.given,) * len(self.parts))
        key = family, way, "" if goals is None else "other targets"
        if key not in self._learned:
            goals = self.scale_targets(self.y) if goals is None else goals
            self._learned[key] = self.learn_from(self.encode(way), family, goals, self.parts, self.step)
        return self._learned[key]

    def learn_from(
        self, view: EncodedRows, family: str, goals: np.ndarray, parts: list[np.ndarray], on_step: Callable[[], bool]
    ) -> LearnedKernel:
        """Learn the kernel of a family from encoded rows."""
        found, blocks = list_families(view.rows)[family], view.encoder.blocks()
        return learn_kernel(found, view.rows, goals, blocks, parts, self.rng, self.memory, on_step)

    def step(self) -> bool:
        """Tell of a step; True if it is time to end."""
        return self.tasks.step() or self.clock.left <= self.reserve

    @property
    def reserve(self) -> float:
        """Seconds that are kept for the last fits: the more of the time the more rows there are."""
        least, most = RESERVE
        return (least + (most - least) * min(1.0, self.total / MANY)) * self.clock.budget

    # -- candidates ---------------------------------------------------------------------------------------------------

    def propose_learned(self) -> list[CandidateRecipe]:
        """Return what is tried with learned kernels, in order of promise."""
        if self.given is not None:
            return [CandidateRecipe(self.noun, partial(self.try_family, ""))]
        found = [CandidateRecipe(f"{self.noun}, thresholds", partial(self.try_family, "thresholds"))]
        if self.encodings.encoder.has_statistics:
            found.append(CandidateRecipe(f"{self.noun}, {STATISTICS}", self.try_statistics))
        found += [
            CandidateRecipe(f"{self.noun}, {family}", partial(self.try_family, family), COSTS[family])
            for family in self.families()
            if family != "thresholds"
        ]
        return [*found, CandidateRecipe(f"{self.noun}, linear", self.try_linear, COSTS["linear"])]

    def try_family(self, family: str) -> Trial:
        """Try the kernel of a family, in the encoding that has been best so far."""
        name = f"{self.noun}, {family}" if family else self.noun
        trial = self.judge_learned(name, self.learn(family, self.way), self.way)
        self._scores[family] = trial.score
        return replace(trial, family=family)

    def try_statistics(self) -> Trial:
        """Try the average targets of categories; other families have them as well if that is better."""
        learned = self.learn("thresholds", "statistics")
        trial = self.judge_learned(f"{self.noun}, {STATISTICS}", learned, "statistics")
        if trial.score < self._scores["thresholds"]:
            self.way = "statistics"
        return replace(trial, family="thresholds")

    def try_linear(self) -> Trial:
        """Try a linear kernel."""
        learned = LearnedKernel(Linear(), (Linear(),) * len(self.parts))
        return self.judge_learned(f"{self.noun}, linear", learned, self.way)

    def try_neighbors(self) -> Trial:
        """Try the nearest rows, as many as are best."""
        view, kernel, memory = self.encode(), self.learn("thresholds").kernel, self.options["memory"]
        trials, fewest = [], min((len(fit) for fit, _ in self.split_folds()), default=1)
        for k in [k for k in self.neighbor_counts if k < fewest] or [1]:
            model = self.neighbor_model(k, kernel=kernel, weights="distance", memory=memory)
            trials.append(self.judge(f"{k} nearest neighbours", model, view, kernel))
        return min(trials, key=lambda trial: trial.score)

    def try_parzen(self) -> Trial:
        """Try windows around rows, whose width the model finds."""
        view, model = self.encode(), self.parzen_model(**self.options)
        return self.judge("Parzen windows", model, view, model.fit(view.rows, self.y).kernel_)

    def try_loss(self) -> Trial:
        """Try the loss that was asked for, with the penalty of least loss on rows left out."""
        view, kernel = self.encode(), self.learn("thresholds").kernel
        some = self.sample_rows()
        found = self.loss_search(self.loss, kernel=kernel, **self.options).fit(pick(view.rows, some), self.y[some])
        model = self.loss_model(self.loss, float(f"{found.alpha_:.4g}"), kernel=kernel, **self.options)
        return self.judge(repr(self.loss), model, view, kernel)

    def sample_rows(self) -> np.ndarray:
        """Return rows enough to choose a penalty on."""
        return self.rng.permutation(len(self.y))[:SEARCH_ROWS]

    def leave_out(self, model: Any, view: EncodedRows, method: str, out: np.ndarray) -> np.ndarray:
        """Return what fits without each fold make of the rows that are judged, in a copy of ``out``."""
        return leave_out(model, view.rows, self.y, self.split_folds(), method, out)[self.judged]

    def make_trial(
        self, name: str, model: BaseEstimator, view: EncodedRows, kernel: Kernel, outputs: np.ndarray,
        extra: dict[str, Any],
    ) -> Trial:  # fmt: skip
        """Return what a candidate scored on the rows that are judged."""
        score = self.score(self.y[self.judged], outputs)[self.metric]
        return Trial(name, model, view.encoder, kernel, outputs, score, view.way, extra=dict(extra))

    # -- the search ---------------------------------------------------------------------------------------------------

    def list_recipes(self, model: str) -> list[CandidateRecipe]:
        """Return what is to be tried for a kind of model."""
        if self.loss is not None:
            return [CandidateRecipe(repr(self.loss), self.try_loss)]
        if model == "neighbors":
            return [CandidateRecipe("nearest neighbours", self.try_neighbors)]
        return [CandidateRecipe("Parzen windows", self.try_parzen)] if model == "parzen" else self.propose(model)

    def run(self, recipes: list[CandidateRecipe]) -> tuple[list[Trial], list[str]]:
        """Try candidates while the budget lasts, at least the first; return the trials and the names of the others."""
        trials: list[Trial] = []
        skipped: list[str] = []
        unit = 0.0
        for recipe in recipes:
            if trials and self.clock.left - self.reserve < recipe.cost * unit:
                skipped.append(recipe.name)
                continue
            begin = self.clock.elapsed
            # Small matrices are done before several threads have met, above all on a busy machine.
            threads = 1 if len(self.y) <= FEW else None
            with self.tasks.begin(recipe.name, STEPS), threadpool_limits(threads, user_api="blas"):
                trial = recipe.make()
            seconds = self.clock.elapsed - begin
            unit = max(unit, seconds / recipe.cost)
            trials.append(replace(trial, seconds=seconds))
        return trials, skipped

    def combine(self, trials: Sequence[Trial], most: int) -> np.ndarray:
        """Return the weight of each trial: all of it for the best one, unless a combination of some is better."""
        scores, y = np.array([trial.score for trial in trials]), self.y[self.judged]
        best = np.zeros(len(trials))
        best[int(scores.argmin())] = 1.0
        if len(trials) == 1:
            return best
        weights = prune(self.weigh, [trial.outputs for trial in trials], y, most)
        return weights if self.score_combination(trials, weights) < (1 - GAIN) * scores.min() else best

    def mix(self, trials: Sequence[Trial], weights: np.ndarray) -> np.ndarray:
        """Return what the combination says of the rows that are judged."""
        return np.asarray(sum(weight * trial.outputs for trial, weight in zip(trials, weights, strict=True)))

    def score_combination(self, trials: Sequence[Trial], weights: np.ndarray) -> float:
        """Return what the combination scores on them."""
        return self.score(self.y[self.judged], self.mix(trials, weights))[self.metric]
