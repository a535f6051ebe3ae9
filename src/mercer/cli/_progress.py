"""A bar with the time left, told by scikit-learn's callbacks."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from ._show import console


class FitProgress:
    """Draws the steps of a fit on stderr, and nothing where that is not a terminal.

    It is a callback of scikit-learn's and a context, so that the bar also goes away when a fit is interrupted.
    """

    def __init__(self, quiet: bool = False) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        out = console(error=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[step]}" if out.width >= 60 else ""),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=out,
            transient=True,
            disable=quiet or not out.is_terminal,
        )
        self._bar = self._progress.add_task("starting", total=1, step="")
        self._done = 0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def setup(self, estimator: Any, context: Any) -> None:
        """Wait for the first task, which knows how many there are."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Learn how many tasks there are, and name the one that begins."""
        depth = _measure_depth(context)
        if depth == 0:
            self._progress.update(self._bar, total=context.max_subtasks or 1)
        elif depth == 1:
            step = f"{self._done + 1} of {context.parent.max_subtasks or 1}"
            self._progress.update(self._bar, description=context.task_name, step=step)

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count the task that ended, or the step of it."""
        if _measure_depth(context) == 1:
            self._done += 1
            self._progress.update(self._bar, completed=self._done)
        elif _measure_depth(context) == 2:
            steps = context.parent.max_subtasks or 1
            self._progress.update(self._bar, completed=self._done + min(context.task_id + 1, steps) / steps)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Leave the bar to the context that this is."""


def _measure_depth(context: Any) -> int:
    depth = 0
    while context.parent is not None:
        context, depth = context.parent, depth + 1
    return depth
