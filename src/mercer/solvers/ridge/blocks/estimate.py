"""What a few random rows tell of the residual of all of them, and what passes tell of the time to go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.arrays.columns import sums
from mercer.words import show_duration

FLAT = 1e-6  # of a logarithm: what is lost in so many passes is nothing
LOOKED_BACK = 10  # passes whose rate of convergence is that of the next ones


@dataclass(frozen=True)
class Pass:
    """Where an iteration is after a pass, which is as many kernel values as the matrix has.

    Parameters
    ----------
    number : int
        How many passes there have been.
    residual : float
        The certificate as estimated from the rows of one fresh block, the largest of all outputs.
    error : float
        The standard error of that estimate.
    seconds : float
        Since the solver began, not counting what was done before a fit was taken up again.
    remaining : float
        Seconds to go at the rate of the last passes; NaN while that is not known, and infinity where there is no rate.

    Examples
    --------
    >>> print(Pass(12, 3.2e-4, 1e-5, 80.0, 95.0))
    pass 12: residual 3.2e-04 ± 1.0e-05 after 1 min 20 s, about 1 min 35 s to go
    """

    number: int
    residual: float
    error: float
    seconds: float
    remaining: float

    def __str__(self) -> str:
        to_go = (
            f"about {show_duration(self.remaining)} to go" if math.isfinite(self.remaining) else "no end in sight yet"
        )
        said = f"residual {self.residual:.1e} ± {self.error:.1e} after {show_duration(self.seconds)}"
        return f"pass {self.number}: {said}, {to_go}"


def estimate_squares(rows: Array, n: int, *, centred: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return an estimate of Σr² over n rows from some that were drawn at random, and its standard error, by column.

    It is unbiased, and the error is that of sampling without replacement.  If the residual of all rows is that about
    its mean, which ``rows`` are centred by only as well as they know it, the missing degree of freedom is put back.

    Parameters
    ----------
    rows : array of shape (b, q)
        Residuals of the rows that were drawn.
    n : int
        Number of all rows.
    centred : bool
        Whether the mean of the rows was taken off.

    Examples
    --------
    >>> import numpy as np
    >>> r = np.random.default_rng(0).normal(size=(10_000, 1))
    >>> value, error = estimate_squares(r[:500], 10_000)
    >>> bool(abs(value - np.sum(r**2)) < 3 * error), bool(error < 0.1 * value)
    (True, True)
    >>> [float(part[0]) for part in estimate_squares(np.ones((4, 1)), 4)]
    [4.0, 0.0]
    """
    b = len(rows)
    squares = rows**2
    mean = sums(squares) / b
    spread = np.maximum(sums(squares**2) / b - mean**2, 0.0)
    freed = b / (b - 1) if centred and b > 1 else 1.0
    error = np.sqrt(spread / max(b - 1, 1) * max(1.0 - b / n, 0.0))
    return n * freed * mean, n * freed * error


def estimate_remaining(passes: Sequence[Pass], goal: float) -> float:
    """Return the seconds until the residual is at its goal, at the rate of the last passes.

    Examples
    --------
    >>> estimate_remaining([Pass(1, 1e-2, 0.0, 10.0, 0.0), Pass(2, 1e-3, 0.0, 20.0, 0.0)], 1e-5)
    20.0
    >>> estimate_remaining([Pass(1, 1e-2, 0.0, 10.0, 0.0)], 1e-5)
    nan
    """
    recent = passes[-LOOKED_BACK:]
    if len(recent) < 2:
        return math.nan
    if recent[-1].residual <= goal:
        return 0.0
    # A line through the logarithms: momentum swings, and each residual is an estimate.
    times = np.array([one.seconds for one in recent])
    logs = np.log([max(one.residual, goal) for one in recent])
    away = times - times.mean()
    slope = float(away @ logs / (away @ away)) if away.any() else math.nan
    if not slope * float(np.ptp(times)) < -FLAT or not np.isfinite(logs).all():
        return math.inf
    now = float(logs.mean() + slope * away[-1])
    return round(max(now - math.log(goal), 0.0) / -slope, 6)
