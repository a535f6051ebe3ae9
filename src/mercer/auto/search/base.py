"""What regression and classification share: candidates, the order and the time in which they are tried, and fits."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from mercer.arrays.budget import parse_memory
from mercer.features.validate import takes_vectors
from mercer.formula.data import Rows, pick
from mercer.formula.program import UnsupportedError, lower
from mercer.kernels import Kernel
from mercer.learning.length_scales import is_length_scale
from mercer.losses import Loss
from mercer.solvers.plan import plan

from ..report import HeldOut, Task
from ..tables.encoder import TableEncoder
from .encodings import EncodedRows, Encodings, Folds, leave_out
from .time import FitTasks, TimeBudget
from .tuning import count_steps, is_alike, propose_kernels, stretch, tune_kernel, weigh_parts

TUNING_ROWS = 3000  # rows that candidates are compared on, at most
SEARCH_ROWS = 1000  # rows that a kernel or penalty is chosen on where there are many to try
FOLDS = 5
FIRST_SHARE = 0.5  # of the budget that the tuning of one kernel may take
SCARCE = 20  # rows for each length scale below which there is no point in tuning them
PLENTY = 50  # rows for each length scale from which tuning does not show in validation
FOLD_STEPS = 40  # of tuning without a fold
STRETCHES = (0.5, 1.0, 2.0)  # of the kernel tuned for least squares
PATIENCE = 300.0  # seconds of a last fit from which centres stand for all rows, if no budget is given
LAST_SHARE = 0.25  # of the time left that one of the last fits may take
EXACT_ROWS = 2000  # rows up to which a fit takes no time worth saving
SLOW_ROWS = 8000  # rows from which they do for kernels that the native core does not compute


@dataclass(frozen=True)
class Trial:
    """A candidate that was tuned, what it made of rows left out, and what that scored; ``tie`` decides among equals."""

    name: str
    estimator: BaseEstimator
    encoder: TableEncoder
    kernel: Kernel
    outputs: np.ndarray
    score: float = math.nan
    tie: float = math.nan  # smaller is better
    extra: dict[str, Any] = field(default_factory=dict)  # what predictions need beside the estimator, as plain values
    note: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class CandidateRecipe:
    """A candidate that may be tried, and how."""

    name: str
    make: Callable[[], Trial]
    cost: float = 1.0  # how long it takes, relative to the first recipe
    tunes: str = ""  # the encoding whose kernel it tunes, or uses if that was tuned before


class TableSearch(ABC):
    """The search for a model of a table; subclasses say what is tried for a task, and how outputs are scored.

    ``y`` are values, or positions among the ``classes``; a ``kernel`` that is given is the only one, as it is; and
    ``options`` are ``memory`` and ``random_state`` of the estimators.
    """

    task: ClassVar[Task]
    metric: ClassVar[str]
    tie_metric: ClassVar[str]
    models: ClassVar[tuple[str, ...]]
    neighbor_counts: ClassVar[tuple[int, ...]]
    neighbor_model: ClassVar[type[Any]]
    parzen_model: ClassVar[type[Any]]
    loss_model: ClassVar[type[Any]]  # of any loss
    loss_search: ClassVar[type[Any]]  # that chooses its penalty

    def __init__(
        self, encodings: Encodings, y: np.ndarray, classes: np.ndarray, kernel: Kernel | None, *, clock: TimeBudget,
        tasks: FitTasks, rng: np.random.RandomState, options: dict[str, Any], loss: Loss | None = None,
    ) -> None:  # fmt: skip
        self.encodings, self.y, self.classes, self.given = encodings, y, classes, kernel
        self.clock, self.tasks, self.rng, self.options = clock, tasks, rng, options
        self.loss = loss
        self.memory = parse_memory(options["memory"])
        self.goals = self.scale_targets()
        self.folds = self.split_folds()
        self._kernels: dict[str, Kernel] = {}
        self._starts: dict[str, list[Kernel]] = {}
        self._fold_kernels: dict[str, list[Kernel]] = {}

    # -- what a task decides ------------------------------------------------------------------------------------------

    @abstractmethod
    def scale_targets(self) -> np.ndarray:
        """Return what kernels are tuned to, of shape (n, q) and about unit size."""

    @abstractmethod
    def split_folds(self) -> Folds:
        """Return folds of the rows."""

    @abstractmethod
    def propose(self, model: str) -> list[CandidateRecipe]:
        """Return what is to be tried, in order of promise."""

    @abstractmethod
    def judge(self, name: str, model: Any, view: EncodedRows, kernel: Kernel, tuned: str = "") -> Trial:
        """Score a model by what its fits without each fold make of it; ``tuned`` is the encoding of a tuned kernel."""

    @abstractmethod
    def choose(self, trials: list[Trial]) -> Trial:
        """Return the best."""

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
    def predict(model: Any, extra: dict[str, Any], rows: Rows) -> np.ndarray:
        """Return values or probabilities of a fitted model at encoded rows."""

    # -- kernels ------------------------------------------------------------------------------------------------------

    def encode(self, categories: str = "indicators") -> EncodedRows:
        """Return the rows in the encoding of a recipe, or in the only one that a given kernel takes."""
        if self.given is None:
            return self.encodings.encode(categories)
        return self.encodings.encode() if takes_vectors(self.given) else self.encodings.encode("overlap", "frame")

    def find_kernel(self, categories: str = "indicators", goals: np.ndarray | None = None) -> Kernel:
        """Return the kernel for an encoding: the one given, or one that is tuned the first time it is asked for."""
        if self.given is not None:
            return self.given
        key = categories if goals is None else f"{categories}, other targets"
        if key not in self._kernels:
            view, goals = self.encodings.encode(categories), self.goals if goals is None else goals
            kernels = weigh_parts(propose_kernels(view.encoder, view.rows), view.rows, goals, self.rng, self.memory)
            self._starts[key] = kernels
            deadline = self.clock.elapsed + FIRST_SHARE * self.clock.left

            def on_step() -> bool:
                return self.tasks.step() or self.clock.elapsed > deadline

            self._kernels[key] = tune_kernel(kernels, view.rows, goals, self.rng, self.memory, on_step)
        return self._kernels[key]

    def find_fold_kernels(self, categories: str) -> list[Kernel]:
        """Return a kernel for each fold: that of the encoding, or where rows are few, one tuned without the fold.

        With few rows for each length scale the tuning learns the targets of single rows by heart, and only a kernel
        that has not seen a fold shows what it is worth there.
        """
        view, kernel = self.encode(categories), self.find_kernel(categories)
        free = [name for name in kernel.hyperparameters() if is_length_scale(name)]
        if self.given is not None or len(self.y) >= PLENTY * len(free):
            return [kernel] * len(self.folds)
        if categories not in self._fold_kernels:
            family = [next(start for start in self._starts[categories] if is_alike(start, kernel))]
            self._fold_kernels[categories] = [
                tune_kernel(
                    family, pick(view.rows, fit), self.goals[fit], self.rng, self.memory, lambda: False, FOLD_STEPS
                )
                for fit, _ in self.folds
            ]
        return self._fold_kernels[categories]

    # -- candidates ---------------------------------------------------------------------------------------------------

    def try_neighbors(self) -> Trial:
        """Try the nearest rows, as many as are best."""
        view, kernel, memory = self.encode(), self.find_kernel(), self.options["memory"]
        trials = []
        for k in [k for k in self.neighbor_counts if k < len(self.y) * (1 - 1 / FOLDS)] or [1]:
            model = self.neighbor_model(k, kernel=kernel, weights="distance", memory=memory)
            trials.append(self.judge(f"{k} nearest neighbours", model, view, kernel, "indicators"))
        sign = 1.0 if self.task == "regression" else -1.0
        return min(trials, key=lambda trial: (sign * trial.score, trial.tie))

    def try_parzen(self) -> Trial:
        """Try windows around rows, whose width the model finds."""
        view, model = self.encode(), self.parzen_model(**self.options)
        return self.judge("Parzen windows", model, view, model.fit(view.rows, self.y).kernel_)

    def try_loss(self) -> Trial:
        """Try the loss that was asked for, with the penalty of least loss on rows left out."""
        view, kernel = self.encode(), self.find_kernel()
        some = self.sample_rows()
        found = self.loss_search(self.loss, kernel=kernel, **self.options).fit(pick(view.rows, some), self.y[some])
        model = self.loss_model(self.loss, float(f"{found.alpha_:.4g}"), kernel=kernel, **self.options)
        return self.judge(repr(self.loss), model, view, kernel, "indicators")

    def sample_rows(self) -> np.ndarray:
        """Return rows enough to choose a penalty on."""
        return self.rng.permutation(len(self.y))[:SEARCH_ROWS]

    def make_trial(
        self, name: str, model: BaseEstimator, view: EncodedRows, kernel: Kernel, outputs: np.ndarray,
        extra: dict[str, Any],
    ) -> Trial:  # fmt: skip
        """Return what a candidate scored."""
        scores = self.score(self.y, outputs)
        score, tie = scores[self.metric], scores[self.tie_metric]
        note = "" if self.tie_metric == self.metric else f"{self.tie_metric} {tie:.3f}"
        return Trial(name, model, view.encoder, kernel, outputs, score, tie, dict(extra), note)

    def leave_out(
        self, model: Any, view: EncodedRows, kernel: Kernel, tuned: str, method: str, out: np.ndarray
    ) -> np.ndarray:
        """Fill ``out`` with what fits without each fold make of it, with kernels that have not seen it either."""
        models = [model] * len(self.folds)
        if (
            tuned
            and self.given is None
            and (kernels := self.find_fold_kernels(tuned))[0] is not self.find_kernel(tuned)
        ):
            factor = next(factor for factor in STRETCHES if stretch(self.find_kernel(tuned), factor) == kernel)
            models = [clone(model).set_params(kernel=stretch(k, factor)) for k in kernels]
        return leave_out(models, view.rows, self.y, self.folds, method, out)

    # -- the search ---------------------------------------------------------------------------------------------------

    def list_recipes(self, model: str) -> list[CandidateRecipe]:
        """Return what is to be tried for a kind of model."""
        if self.loss is not None:
            return [CandidateRecipe(repr(self.loss), self.try_loss, 1.0, "indicators")]
        if model == "neighbors":
            return [CandidateRecipe("nearest neighbours", self.try_neighbors, 1.0, "indicators")]
        return [CandidateRecipe("Parzen windows", self.try_parzen)] if model == "parzen" else self.propose(model)

    def run(self, recipes: list[CandidateRecipe]) -> tuple[list[Trial], list[str]]:
        """Try candidates while the budget lasts, at least the first; return the trials and the names of the others."""
        trials: list[Trial] = []
        skipped: list[str] = []
        unit = 0.0
        for recipe in recipes:
            reserve = 0.25 * self.clock.budget if math.isfinite(self.clock.budget) else 0.0
            if trials and self.clock.left - reserve < recipe.cost * unit:
                skipped.append(recipe.name)
                continue
            begin = self.clock.elapsed
            # Matrices this small are done before several threads have met, above all on a busy machine.
            with self.tasks.begin(recipe.name, self._count_steps(recipe)), threadpool_limits(1, user_api="blas"):
                trial = recipe.make()
            seconds = self.clock.elapsed - begin
            unit = max(unit, seconds / recipe.cost)
            trials.append(replace(trial, seconds=seconds))
        return trials, skipped

    def _count_steps(self, recipe: CandidateRecipe) -> int:
        if not recipe.tunes or self.given is not None or recipe.tunes in self._kernels:
            return 0
        view = self.encodings.encode(recipe.tunes)
        return count_steps(propose_kernels(view.encoder, view.rows), len(self.y))


def name_candidate(name: str, categories: str) -> str:
    """Return the name of a candidate in one of two encodings."""
    return name if categories == "indicators" else f"{name}, a sum of kernels for numbers and categories"


@dataclass(frozen=True)
class LastFit:
    """How the chosen candidate is fitted to many rows: the solver, how many rows, and why not all of them exactly."""

    solver: str
    rows: int
    why: str = ""


def plan_last_fit(kernel: Kernel, n: int, columns: int, memory: int, clock: TimeBudget) -> LastFit:
    """Return the most exact fit of n rows that time allows: all pairs, centres, or centres for some of the rows."""
    allowed = min(PATIENCE, LAST_SHARE * clock.left)
    if n <= EXACT_ROWS:
        return LastFit("auto", n)
    exact = plan(kernel, n, columns, memory=memory)
    if exact.seconds <= allowed and (n <= SLOW_ROWS or exact.solver == "nystroem" or _is_native(kernel)):
        return LastFit("auto", n)
    why = f"an exact fit of {n} rows would take about {exact.seconds:.0f} seconds or more"
    rows = n
    while rows > EXACT_ROWS and math.isfinite(clock.budget):
        if plan(kernel, rows, columns, memory=memory, solver="nystroem").seconds <= allowed:
            break
        rows = max(EXACT_ROWS, rows // 2)
    return LastFit("nystroem" if rows > EXACT_ROWS else "auto", rows, why)


def _is_native(kernel: Kernel) -> bool:
    try:
        lower(kernel.traced())
    except UnsupportedError:
        return False
    return True
