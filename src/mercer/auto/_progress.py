"""Progress of an automatic fit, told to scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Progress:
    """The tasks of a fit: reading columns, baselines, each candidate with its steps, and the last fits.

    Parameters
    ----------
    estimator : AutoRegressor or AutoClassifier
        Whose fit it is.
    context : CallbackContext
        The whole fit, as scikit-learn sees it.
    """

    def __init__(self, estimator: Any, context: Any) -> None:
        self.estimator = estimator
        self._context = context
        self._task: Any = None

    @contextmanager
    def task(self, name: str, steps: int = 0) -> Iterator[None]:
        """Tell of a task that begins, and ends with the block; it has at most so many steps."""
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
