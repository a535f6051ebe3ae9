"""Settings of the whole process, changed while any fit needs it and as they were as soon as none does.

Fits may run side by side in threads.  Each would restore what it found, which another may have changed already, and
so leave its own change behind; here the first changes a setting and the last restores it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any


class SharedSetting:
    """A setting that several may want at a time.

    Parameters
    ----------
    change : callable
        Returns the context that changes it.

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


def _any_size() -> Any:
    """Let graphs hold what is the same for all tasks, such as a factor of centres, without a warning of their size."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})


def _one_thread() -> Any:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    return threadpool_limits(limits=1, user_api="blas")


ANY_SIZE, SINGLE = SharedSetting(_any_size), SharedSetting(_one_thread)
