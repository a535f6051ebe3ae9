"""How many threads native code and BLAS may use, and warnings that one of several threads ignores."""

from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import Any

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


class SharedSetting:
    """A setting of the whole process that several fits may want at a time, and that is as it was when none does.

    Fits may run side by side in threads.  Each would restore what it found, which another may have changed already,
    and so leave its own change behind; here the first changes a setting and the last restores it.

    Examples
    --------
    >>> from contextlib import contextmanager
    >>> @contextmanager
    ... def loud():
    ...     print("on")
    ...     yield
    ...     print("off")
    >>> setting = SharedSetting(loud)
    >>> with setting, setting:
    ...     print("work")
    on
    work
    off
    """

    def __init__(self, change: Callable[[], AbstractContextManager[Any]]) -> None:
        self._change, self._lock, self._count = change, threading.Lock(), 0
        self._active: AbstractContextManager[Any] | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._count == 0:
                self._active = self._change()
                self._active.__enter__()
            self._count += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0 and self._active is not None:
                self._active.__exit__(None, None, None)
                self._active = None


@cache
def _find_blas() -> Any:
    """Return the control of the BLAS libraries that are loaded; to look for them takes as long as a small pass."""
    import scipy.linalg  # noqa: F401  (its library is one of them)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def name_blas_kernels() -> str:
    """Return for which processors the BLAS libraries that are loaded multiply matrices, as in "SkylakeX"."""
    return " and ".join(sorted({str(library.get("architecture", "unknown")) for library in _find_blas().info()}))


SINGLE_BLAS = SharedSetting(lambda: _find_blas().limit(limits=1))  # one thread a call, where several call side by side


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
