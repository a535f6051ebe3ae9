"""Progress of a fit, told to scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import sklearn.callback

Fit = TypeVar("Fit", bound=Callable[..., Any])


def with_callbacks(fit: Fit) -> Fit:
    """Let scikit-learn's callbacks hear of a fit, whose type stays what it is."""
    return sklearn.callback.with_callbacks(fit)


def reporter(estimator: Any, context: Any) -> Callable[[int, float], bool]:
    """Return the function that tells scikit-learn's callbacks of each step."""

    def on_step(step: int, error: float) -> bool:
        task = context.subcontext(task_name="step")
        task.call_on_fit_task_begin(estimator=estimator)
        return bool(task.call_on_fit_task_end(estimator=estimator))

    return on_step


@contextmanager
def fit_task(estimator: Any, X: Any = None, y: Any = None) -> Iterator[Any]:
    """Tell scikit-learn's callbacks that a fit begins and, also if it fails, that it ends; yield its context."""
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    try:
        yield context
    finally:
        context.call_on_fit_task_end(estimator=estimator, X=X, y=y)


@contextmanager
def report_progress(estimator: Any, X: Any = None, y: Any = None) -> Iterator[Callable[[int, float], bool]]:
    """Tell scikit-learn's callbacks that a fit begins and that it ends; steps in between go to what this yields."""
    with fit_task(estimator, X, y) as context:
        yield reporter(estimator, context)
