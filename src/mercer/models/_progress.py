"""Progress of a fit, told to scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def reporter(estimator: Any, context: Any) -> Callable[[int, float], bool]:
    """Return the function that tells scikit-learn's callbacks of each step."""

    def on_step(step: int, error: float) -> bool:
        task = context.subcontext(task_name="step")
        task.call_on_fit_task_begin(estimator=estimator)
        return bool(task.call_on_fit_task_end(estimator=estimator))

    return on_step
