"""How many threads native code may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_SHARE: ContextVar[int | None] = ContextVar("share", default=None)  # of a task that runs beside others


def default_threads() -> int:
    """Return the number of processors this process may use, or the share of them that a task was given."""
    share = _SHARE.get()
    if share is not None:
        return share
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def share_of_threads(count: int) -> Iterator[None]:
    """Give what runs inside the block this many threads, because others run beside it.

    Examples
    --------
    >>> with share_of_threads(1):
    ...     default_threads()
    1
    """
    before = _SHARE.set(max(1, count))
    try:
        yield
    finally:
        _SHARE.reset(before)
