"""How many threads native code and BLAS may use, and warnings that one of several threads ignores."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from threadpoolctl import threadpool_info

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


def blas_threads() -> int:
    """Return how many threads a call of BLAS takes: the fewest of the libraries that are loaded."""
    return min(
        (int(library["num_threads"]) for library in threadpool_info() if library["user_api"] == "blas"), default=1
    )


@contextmanager
def silence_warnings(message: str = "", category: type[Warning] = Warning) -> Iterator[None]:
    """Ignore warnings that begin with a message inside the block, and no others, whatever other threads do meanwhile.

    Examples
    --------
    >>> import numpy as np
    >>> with silence_warnings("divide by zero"):
    ...     np.array([1.0]) / 0.0
    array([inf])
    """
    if getattr(sys.flags, "context_aware_warnings", False):  # each thread has its own
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message, category)
            yield
        return
    # The list of filters is the whole process's.  Putting back what was found, as catch_warnings does, would put back
    # filters of threads that have long left their blocks.
    own = ("ignore", re.compile(message, re.IGNORECASE) if message else None, category, None, 0)
    found: Any = warnings.filters
    found.insert(0, own)
    try:
        yield
    finally:
        now: Any = warnings.filters
        for filters in [found] if now is found else [found, now]:
            with suppress(ValueError):
                filters.remove(own)
