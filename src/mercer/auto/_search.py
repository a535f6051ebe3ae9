"""What regression and classification share: recipes, trials, and the order and time in which they are made."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from mercer.features.validate import takes_vectors
from mercer.formula.data import pick
from mercer.formula.program import UnsupportedError, lower
from mercer.kernels import Kernel
from mercer.learning.length_scales import is_length_scale
from mercer.solvers.plan import plan

from ._clock import Clock
from ._progress import Progress
from ._tables import Folds, Tables, View
from ._tuning import alike, starts, steps_of, tuned, weighted
from .encoder import TableEncoder

TUNING_ROWS = 3000  # rows that candidates are compared on, at most
SEARCH_ROWS = 1000  # rows that a kernel or penalty is chosen on where there are many to try
FOLDS = 5
FIRST_SHARE = 0.5  # of the budget that the tuning of one kernel may take
SCARCE = 20  # rows for each length scale below which there is no point in tuning them
PLENTY = 50  # rows for each length scale from which tuning does not show in validation
FOLD_STEPS = 40  # of tuning without a fold
PATIENCE = 300.0  # seconds of a last fit from which centres stand for all rows, if no budget is given
LAST_SHARE = 0.25  # of the time left that one of the last fits may take
EXACT_ROWS = 2000  # rows up to which a fit takes no time worth saving
SLOW_ROWS = 8000  # rows from which they do for kernels that the native core does not compute


@dataclass(frozen=True)
class Trial:
    """A candidate that was tuned and scored on rows left out.

    Parameters
    ----------
    name : str
        What it is.
    estimator : estimator
        With its parameters, not fitted.
    encoder : TableEncoder
        How its rows are encoded.
    kernel : Kernel
        Its kernel.
    outputs : array
        What it made of rows that were left out: values, or probabilities.
    score : float
        Of these, in the main metric.
    tie : float
        What decides between candidates of about the same score; smaller is better.
    extra : dict
        What predictions need beside the estimator, as plain values.
    note : str
        Anything worth knowing.
    seconds : float
        How long it took.
    """

    name: str
    estimator: Any
    encoder: TableEncoder
    kernel: Kernel
    outputs: np.ndarray
    score: float = math.nan
    tie: float = math.nan
    extra: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Recipe:
    """A candidate that may be tried.

    Parameters
    ----------
    name : str
        What it is.
    make : callable
        Tunes it and returns a trial.
    cost : float
        How long that takes, relative to the first recipe.
    tunes : str
        The encoding whose kernel it tunes, or uses if that was tuned before; "" for none.
    """

    name: str
    make: Callable[[], Trial]
    cost: float = 1.0
    tunes: str = ""


class Search:
    """Tuning rows, time and memory, and the kernels tuned so far.

    Parameters
    ----------
    tables : Tables
        The rows that candidates are compared on.
    targets : array of shape (n, q)
        Targets of about unit size that kernels are tuned to.
    kernel : Kernel, optional
        The only kernel to use, as it is.
    clock, progress, rng, memory
        Time, progress, random numbers and bytes.
    """

    def __init__(
        self, tables: Tables, targets: np.ndarray, kernel: Kernel | None, *, clock: Clock, progress: Progress, rng: Any,
        memory: int,
    ) -> None:  # fmt: skip
        self.tables, self.targets, self.given = tables, targets, kernel
        self.clock, self.progress, self.rng, self.memory = clock, progress, rng, memory
        self._kernels: dict[str, Kernel] = {}
        self._starts: dict[str, list[Kernel]] = {}
        self._fold_kernels: dict[str, list[Kernel]] = {}

    def view(self, categories: str) -> View:
        """Return the rows in the encoding of a recipe, or in the only one that a given kernel takes."""
        if self.given is None:
            return self.tables.view(categories)
        return self.tables.view() if takes_vectors(self.given) else self.tables.view("overlap", "frame")

    def kernel(self, categories: str, targets: np.ndarray | None = None) -> Kernel:
        """Return the kernel for an encoding: the one given, or one that is tuned the first time it is asked for."""
        if self.given is not None:
            return self.given
        key = categories if targets is None else f"{categories}, other targets"
        if key not in self._kernels:
            view, goals = self.tables.view(categories), self.targets if targets is None else targets
            kernels = weighted(starts(view.encoder, view.rows), view.rows, goals, self.rng, self.memory)
            self._starts[key] = kernels
            deadline = self.clock.elapsed + FIRST_SHARE * self.clock.left

            def on_step() -> bool:
                return self.progress.step() or self.clock.elapsed > deadline

            self._kernels[key] = tuned(kernels, view.rows, goals, self.rng, self.memory, on_step)
        return self._kernels[key]

    def fold_kernels(self, categories: str, kernel: Kernel, folds: Folds) -> list[Kernel]:
        """Return a kernel for each fold: the kernel itself, or where rows are few, one tuned without the fold.

        With few rows for each length scale the tuning learns the targets of single rows by heart, and only a kernel
        that has not seen a fold shows what it is worth there.
        """
        view = self.view(categories)
        free = [name for name in kernel.hyperparameters() if is_length_scale(name)]
        if self.given is not None or len(self.targets) >= PLENTY * len(free):
            return [kernel] * len(folds)
        if categories not in self._fold_kernels:
            family = next(start for start in self._starts[categories] if alike(start, self._kernels[categories]))
            self._fold_kernels[categories] = [
                tuned(
                    [family], pick(view.rows, fit), self.targets[fit], self.rng, self.memory, lambda: False, FOLD_STEPS
                )
                for fit, _ in folds
            ]
        return self._fold_kernels[categories]

    def run(self, recipes: list[Recipe]) -> tuple[list[Trial], list[str]]:
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
            with self.progress.task(recipe.name, self._steps(recipe)), threadpool_limits(1, user_api="blas"):
                trial = recipe.make()
            seconds = self.clock.elapsed - begin
            unit = max(unit, seconds / recipe.cost)
            trials.append(replace(trial, seconds=seconds))
        return trials, skipped

    def _steps(self, recipe: Recipe) -> int:
        if not recipe.tunes or self.given is not None or recipe.tunes in self._kernels:
            return 0
        view = self.tables.view(recipe.tunes)
        return steps_of(starts(view.encoder, view.rows), len(self.targets))


@dataclass(frozen=True)
class LastFit:
    """How the chosen candidate is fitted to many rows.

    Parameters
    ----------
    solver : str
        Of ridge and logistic regression: "auto" or "nystroem".
    rows : int
        How many rows are used.
    why : str
        The reason, if it is not an exact fit of all of them.
    """

    solver: str
    rows: int
    why: str = ""


def affordable(kernel: Kernel, n: int, columns: int, memory: int, clock: Clock) -> LastFit:
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
