"""Work in the background: each picture has a lane of its own, in which only the latest wish counts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

Stop: TypeAlias = Callable[[], bool]
Work: TypeAlias = Callable[[Stop], Any]
Show: TypeAlias = Callable[[Any], None]


class Lane:
    """A queue of one: a wish that comes while another is worked on waits, and replaces the one that waited.

    Parameters
    ----------
    pool : ThreadPoolExecutor
        Who works.
    deliver : function of a function
        Calls its argument where results may be shown.
    fail : function of an exception
        Is delivered what went wrong.
    """

    def __init__(self, pool: ThreadPoolExecutor, deliver: Callable[[Callable[[], None]], None], fail: Show) -> None:
        self._pool, self._deliver, self._fail = pool, deliver, fail
        self._lock = threading.Lock()
        self._waiting: tuple[Work, Show] | None = None
        self._busy = self._closed = False

    @property
    def busy(self) -> bool:
        """Whether something is worked on."""
        return self._busy

    def ask(self, work: Work, show: Show) -> None:
        """Have something done soon, and shown, unless something newer is asked for before it began.

        ``work`` is given a function that says whether to stop because nobody waits for the result any more.
        """
        with self._lock:
            if self._closed:
                return
            self._waiting = (work, show)
            if self._busy:
                return
            self._busy = True
        self._pool.submit(self._run)

    def close(self) -> None:
        """Ask running work to stop, and begin nothing."""
        with self._lock:
            self._closed, self._waiting = True, None

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._waiting is None:
                    self._busy = False
                    return
                (work, show), self._waiting = self._waiting, None
            try:
                result = work(self._is_stale)
            except BaseException as error:  # whatever it is, somebody is told
                self._send(self._fail, error)
            else:
                self._send(show, result)

    def _is_stale(self) -> bool:
        return self._closed or self._waiting is not None

    def _send(self, show: Show, value: Any) -> None:
        if not self._closed:
            self._deliver(lambda: None if self._closed else show(value))
