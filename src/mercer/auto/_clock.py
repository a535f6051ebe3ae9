"""Time: how much there is, and how much is left of it."""

from __future__ import annotations

import math
import numbers
import re
import time
from typing import Any

UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def parse_seconds(budget: Any) -> float:
    """Return a time in seconds, from a number or a text such as "90s", "5m" or "1h"; infinity for None.

    Examples
    --------
    >>> from mercer.auto._clock import parse_seconds
    >>> parse_seconds("5m"), parse_seconds(1.5), parse_seconds(None)
    (300.0, 1.5, inf)
    """
    if budget is None:
        return math.inf
    seconds = math.nan
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", budget.lower())
        if found and found.group(2) in UNITS:
            seconds = float(found.group(1)) * UNITS[found.group(2)]
    elif isinstance(budget, numbers.Real):
        seconds = float(budget)
    if not seconds > 0:
        raise ValueError(
            f"budget must be a positive number of seconds or a text such as '90s', '5m' or '1h'; got {budget!r}"
        )
    return seconds


def show_seconds(seconds: float) -> str:
    """Return a time as people write it.

    Examples
    --------
    >>> from mercer.auto._clock import show_seconds
    >>> show_seconds(0.42), show_seconds(75), show_seconds(7200)
    ('0.42 s', '75 s', '120 min')
    """
    if seconds < 10:
        return f"{seconds:.2g} s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


class Clock:
    """A clock that knows a budget.

    Parameters
    ----------
    budget : float
        Seconds, or infinity.
    """

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self._start = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @property
    def left(self) -> float:
        """Seconds of the budget that are left; never below 0."""
        return max(0.0, self.budget - self.elapsed)
