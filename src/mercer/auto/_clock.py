"""Time: how much there is, and how much is left of it."""

from __future__ import annotations

import time


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
