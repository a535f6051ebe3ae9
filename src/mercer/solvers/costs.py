"""What a solver is told about a problem before anything is allocated, and what it says it would take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mercer.arrays.threads import default_threads

from .base import Prepared, Problem

SLOW = 50  # times the operations of a native entry: one that Python computes
TILE = 2**26  # bytes in work at a time, at most
# Iterations of conjugate gradients where the penalty is large, where nothing is known of it, and where it is tiny.
FEW, MANY, ENDLESS = 60, 200, 5000
RANK = 1000  # of a preconditioner


@dataclass(frozen=True)
class Speed:
    """Operations a second and core, by what is done; benchmarks/plan.py prints what they give beside what is measured.

    Parameters
    ----------
    single : float
        Products of kernel values in float32.
    factor : float
        Factors in float32, refined.
    double : float
        Factors and products in float64.
    eigen : float
        All eigenvectors.
    entries : float
        Kernel values and features.
    stream : float
        Numbers read from memory.
    step : float
        Seconds of an iteration beside its product: what waits for the device.
    overhead : float
        Seconds of a fit of nothing.
    patience : float
        Seconds after which an approximation is the better answer.
    """

    single: float
    factor: float
    double: float
    eigen: float
    entries: float
    stream: float
    step: float = 0.0
    overhead: float = 5e-3
    patience: float = 3600.0


HOST = Speed(single=8e10, factor=5.5e10, double=3e10, eigen=5e10, entries=2e10, stream=8e8)
# As seen on an H200; on other devices the ratios are what matters.
DEVICE = Speed(
    single=8e13, factor=1.2e14, double=3e13, eigen=7.5e12, entries=8e13, stream=3e11, step=4e-3, patience=300.0
)


@dataclass(frozen=True)
class Sizes:
    """A problem in numbers.

    Parameters
    ----------
    n, d : int
        Points and columns.
    features : float
        Explicit features of the kernel, infinite where there are none that are known.
    columns : int
        Solutions: outputs times penalties, unless each output has a penalty of its own.
    alphas : int
        Different penalties.
    budget : int
        Bytes.
    loo : bool
        Whether leave-one-out residuals are wanted.
    native : bool
        Whether kernel values are computed by the native core, or by a program on a device.
    easy, hard : bool
        Whether the penalty is known to be a good part of k(x, x), or a tiny one.
    on_host : bool
        Whether it is solved on the host.
    """

    n: int
    d: int
    features: float
    columns: int
    alphas: int
    budget: int
    loo: bool
    native: bool
    easy: bool = False
    hard: bool = False
    on_host: bool = True

    @property
    def speed(self) -> Speed:
        """What work costs there."""
        return HOST if self.on_host else DEVICE

    @property
    def tile(self) -> float:
        """Bytes in work at a time."""
        return min(TILE, self.budget / 4)

    @property
    def vectors(self) -> float:
        """Bytes of targets and solutions."""
        return 8.0 * self.n * (2 * self.columns + 2)

    @property
    def entry(self) -> float:
        """Operations of one kernel value."""
        return (2.0 * self.d + 20.0) * (1 if self.native else SLOW)

    @property
    def rank(self) -> int:
        """What the budget leaves for a preconditioner."""
        return int(max(10, min(RANK, self.n // 2, self.budget / (32.0 * self.n))))

    @property
    def steps(self) -> int:
        """Iterations of conjugate gradients."""
        if self.easy:
            return FEW
        if self.on_host:
            return MANY
        return ENDLESS if self.hard else FEW  # preconditioners of a higher rank cost little on a device


@dataclass(frozen=True)
class Cost:
    """Bytes at the peak beside the data, and operations, each part with its rate.

    Parameters
    ----------
    memory : float
        Bytes.
    work : tuple of pairs
        Operations, and how many of them a second.
    speed : Speed
        For what any fit takes.
    """

    memory: float
    work: tuple[tuple[float, float], ...]
    speed: Speed

    @property
    def flops(self) -> float:
        """All operations."""
        return sum(amount for amount, _ in self.work)

    @property
    def seconds(self) -> float:
        """Time expected, right to a factor of a few."""
        cores = default_threads() if self.speed is HOST else 1
        return self.speed.overhead + sum(amount / rate for amount, rate in self.work) / cores


class PlannedSolver:
    """A solver that a plan may choose: it says itself what it would take."""

    name: ClassVar[str]
    exact: ClassVar[bool] = True  # whether it solves the problem that is asked

    def takes(self, sizes: Sizes) -> bool:
        """Whether it can solve such a problem at all."""
        return True

    def cost(self, sizes: Sizes) -> Cost:
        """Return what a fit would take."""
        raise NotImplementedError

    def explain(self, sizes: Sizes) -> str:
        """Return why this is the quickest, if it is."""
        raise NotImplementedError

    def prepare(self, problem: Problem) -> Prepared:
        """Do what does not depend on α."""
        raise NotImplementedError
