"""Work on many cells side by side, one thread each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from mercer.arrays.threads import default_threads, share_of_threads

from ..rounds import Progress

Item = TypeVar("Item")
Found = TypeVar("Found")


def share_work(work: Callable[[Item, Progress], Found], items: Sequence[Item], workers: int) -> Iterator[Found]:
    """Do work on items, some at a time with their share of the threads; yield what is found in their order.

    Work is given a function to call now and then, which raises when nobody wants more.

    Examples
    --------
    >>> list(share_work(lambda item, watch: item**2, [1, 2, 3], 2))
    [1, 4, 9]
    """
    if not items:
        return
    workers, stopped = min(workers, len(items)), threading.Event()
    share = default_threads() // workers

    def watch(n_iter: int, violation: float) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt

    def run(item: Item) -> Found:
        watch(0, 0.0)
        with share_of_threads(share):
            return work(item, watch)

    with ThreadPoolExecutor(workers) as pool:
        try:
            yield from pool.map(run, items)
        finally:  # also when the caller is interrupted, or wants no more
            stopped.set()
            pool.shutdown(cancel_futures=True)
