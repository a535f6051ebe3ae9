"""What a solver is told about a problem before anything is allocated, and what it says it would take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from mercer.arrays.threads import default_threads

from .base import Prepared, Problem

SLOW = 50  # times the operations of a native entry: one that Python computes
TILE = 2**26  # bytes in work at a time, at most
# Iterations of conjugate gradients: on a device, where nothing is known of the penalty, and where it is tiny.
FEW, MANY, ENDLESS = 60, 200, 5000
# On the host they grow as the penalty falls, as this times (mean k(x, x)/α) to a power.  Real tables and normal data of
# 10,000 to 36,000 rows take about 30 with a share of 0.1, 70 to 90 with 0.01 and 90 to 220 with 0.001.
STEPS, POWER, LEAST = 10.0, 0.4, 20
TINY = 1e-5  # a share below which they take more than a factor costs, on a device
RANK, GROWN, LARGE = 5.0, 3.0, 0.05  # √n times this is a preconditioner's rank, and so much more with a smaller share
MOST = 3000  # of which more was not seen to pay


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
        Numbers of float32 read from memory.
    step : float
        Seconds of an iteration beside its product: what waits for the device.
    overhead : float
        Seconds of a fit of nothing.
    patience : float
        Seconds after which an approximation is the better answer.
    soon : float
        Seconds up to which a factor is taken, which is as exact as it gets, whatever else there is.
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
    soon: float = 0.0


HOST = Speed(single=8e10, factor=5.5e10, double=3e10, eigen=5e10, entries=2e10, stream=4e9, soon=1.0)
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
    share : float, optional
        The penalty, relative to the mean k(x, x), where it is known.
    on_host : bool
        Whether it is solved on the host.
    saved : bool
        Whether states are to be kept, from which a fit goes on.
    """

    n: int
    d: int
    features: float
    columns: int
    alphas: int
    budget: int
    loo: bool
    native: bool
    share: float | None = None
    on_host: bool = True
    saved: bool = False

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
        """That of a preconditioner, as far as the budget leaves room for it."""
        grows = self.on_host and (self.share is None or self.share < LARGE)
        wanted = RANK * math.sqrt(self.n) * (GROWN if grows else 1.0)
        return int(max(10, min(wanted, MOST, self.n // 2, self.budget / (32.0 * self.n))))

    @property
    def steps(self) -> int:
        """Iterations of conjugate gradients."""
        if not self.on_host:  # preconditioners of a higher rank cost little there
            return ENDLESS if self.share is not None and self.share < TINY else FEW
        if self.share is None:
            return MANY
        return int(max(LEAST, min(ENDLESS, STEPS * max(self.share, 1e-12) ** -POWER)))


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

    def steps(self, sizes: Sizes) -> int:
        """Return how many iterations are expected, 0 of solvers that have none."""
        return 0

    def explain(self, sizes: Sizes) -> str:
        """Return why this is the quickest, if it is."""
        raise NotImplementedError

    def prepare(self, problem: Problem) -> Prepared:
        """Do what does not depend on α."""
        raise NotImplementedError


def check_tolerance(solver: object, value: float) -> None:
    """Raise unless a tolerance of a solver that iterates is between 0 and 1.

    Examples
    --------
    >>> check_tolerance(PlannedSolver(), 2.0)
    Traceback (most recent call last):
    ...
    ValueError: PlannedSolver: tolerance must be between 0 and 1, got 2.0
    """
    if not 0 < value < 1:
        raise ValueError(f"{type(solver).__name__}: tolerance must be between 0 and 1, got {value!r}")
