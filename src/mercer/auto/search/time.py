"""The time of an automatic fit: how much is left, and what it is spent on, told to scikit-learn's callbacks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator


class TimeBudget:
    """A clock that knows how many seconds there are, infinitely many perhaps."""

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


class FitTasks:
    """The tasks of a fit: baselines, each candidate with its steps, and the last fits; ``context`` is the whole."""

    def __init__(self, estimator: BaseEstimator, context: Any) -> None:
        self.estimator = estimator
        self._context = context
        self._task: Any = None

    @contextmanager
    def begin(self, name: str, steps: int | None = 0) -> Iterator[None]:
        """Tell of a task that begins, and ends with the block; it has at most so many steps, None if nobody knows."""
        self._task = self._context.subcontext(task_name=name, max_subtasks=steps)
        self._task.call_on_fit_task_begin(estimator=self.estimator)
        try:
            yield
        finally:
            self._task.call_on_fit_task_end(estimator=self.estimator)
            self._task = None

    def step(self) -> bool:
        """Tell of a step of the task; True means that a callback asks to stop."""
        if self._task is None or self._task.max_subtasks == 0:
            return False
        step = self._task.subcontext(task_name="step")
        step.call_on_fit_task_begin(estimator=self.estimator)
        return bool(step.call_on_fit_task_end(estimator=self.estimator))
