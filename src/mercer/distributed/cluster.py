"""Where tasks run: the workers of a Dask client, or Dask's scheduler on this machine when there is no client."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from mercer.arrays.budget import show_bytes
from mercer.solvers.plan import Plan

from ._graph import find_worker, fuse

POLL = 2.0  # seconds between two looks at whether there are workers
PATIENCE = 300.0  # seconds without any worker, unless Dask's own no-workers-timeout says otherwise


class ClusterError(RuntimeError):
    """Workers died and did not come back, or a task killed every worker it ran on."""


@dataclass(frozen=True)
class ClusterPlan(Plan):
    """A plan for rows that live in partitions.

    Parameters
    ----------
    partitions : int
        How many partitions there are.
    passes : int
        How many times a computation went over them or asked for some of their rows.
    workers : str
        What ran on the workers.
    client : str
        What ran on the client.
    moved : dict of str to int
        Bytes that left a partition's task, by what they were: at most so many went through the network.
    """

    partitions: int = 1
    passes: int = 0
    workers: str = ""
    client: str = ""
    moved: dict[str, int] = field(default_factory=dict)

    @property
    def bytes_moved(self) -> int:
        """All bytes that moved."""
        return sum(self.moved.values())

    def __str__(self) -> str:
        parts = ", ".join(f"{show_bytes(size)} of {what}" for what, size in self.moved.items()) or "nothing"
        return (
            f"{super().__str__()}. On the workers, over {self.partitions} partitions in {self.passes} passes: "
            f"{self.workers}. On the client: {self.client}. What moves: {parts}."
        )


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


def _any_size() -> Any:
    """Let graphs hold what is the same for all tasks, such as a factor of centres, without a warning of their size."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})


@cache
def _find_libraries() -> Any:
    """Return the control of all BLAS libraries that are loaded; to look for them takes as long as a small pass."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def _one_thread() -> Any:
    return _find_libraries().limit(limits=1, user_api="blas")


ANY_SIZE, SINGLE = SharedSetting(_any_size), SharedSetting(_one_thread)


class Cluster:
    """Computes tasks, and keeps account of what moved."""

    def __init__(self, client: Any = None, on_step: Callable[[int, float], bool] | None = None) -> None:
        self.client, self._on_step = client, on_step
        self.steps = 0
        self.moved: dict[str, int] = {}  # bytes, by what they were

    def __reduce__(self) -> Any:
        raise TypeError("a cluster is not part of a model and is never pickled with it")

    @property
    def where(self) -> str:
        """What the workers are, in a few words."""
        if self.client is None:
            return "threads of this process"
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        return f"{len(workers)} worker{'s' * (len(workers) != 1)}"

    def compute(self, tasks: Sequence[Any]) -> list[Any]:
        """Return the results of tasks; an interruption or a failure cancels all of them."""
        tasks = fuse(tasks)
        if self.client is None:
            import dask

            with SINGLE:  # tasks run side by side, one for each core
                found = list(dask.compute(*tasks, traverse=False))
        else:
            with ANY_SIZE:
                futures = self.client.compute(tasks)
            found = self._gather(futures)
        self.step()
        return found

    def keep(self, tasks: Sequence[Any]) -> list[Any]:
        """Return tasks whose results stay where they are computed, to be used by other tasks."""
        import dask

        tasks = fuse(tasks)
        if self.client is None:
            return list(dask.persist(*tasks, traverse=False))
        with ANY_SIZE:
            return list(self.client.persist(tasks))

    def step(self, number: int = 0, error: float = float("nan")) -> bool:
        """Tell that a step is done, whatever its number is elsewhere, and return False: fits here go on to the end."""
        self.steps += 1
        if self._on_step is not None:
            self._on_step(self.steps, error)
        return False

    def count(self, what: str, size: float) -> None:
        """Add to the account of bytes that moved."""
        self.moved[what] = self.moved.get(what, 0) + int(size)

    def plan(self, chosen: Plan, partitions: int, workers: str, client: str) -> ClusterPlan:
        """Return a plan with what ran where."""
        return ClusterPlan(
            chosen.solver, chosen.reason, chosen.memory, chosen.flops, chosen.seconds, partitions=partitions,
            passes=self.steps, workers=workers, client=client, moved=dict(self.moved),
        )  # fmt: skip

    def _gather(self, futures: list[Any]) -> list[Any]:
        from distributed import KilledWorker

        try:
            self._wait(futures)
            return list(self.client.gather(futures))
        except BaseException as error:
            self.client.cancel(futures)  # what is not done yet would run for nobody
            if not isinstance(error, KilledWorker):
                raise
            raise ClusterError(
                f"workers died again and again while they computed {error.task!r}, the last at "
                f"{getattr(error.last_worker, 'address', error.last_worker)}. The usual cause is memory: rechunk the "
                "data into smaller partitions, ask for fewer centres, or give the workers more memory. Their logs "
                "say more."
            ) from error

    def _wait(self, futures: list[Any]) -> None:
        """Wait for all, as long as there are workers."""
        from dask.config import get
        from dask.utils import parse_timedelta

        limit = parse_timedelta(get("distributed.scheduler.no-workers-timeout", None) or PATIENCE)
        alone_since: float | None = None
        for future in futures:
            while not _is_done(future):
                workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
                if any(worker.get("status") != "paused" for worker in workers):
                    alone_since = None
                    continue
                alone_since = alone_since or time.monotonic()
                if time.monotonic() - alone_since > limit:
                    what = (
                        "all workers have paused, because their memory is nearly full; rechunk the data into smaller "
                        "partitions, or give the workers more memory"
                        if workers
                        else "all of them died or were closed; start workers again and repeat the fit. Their logs say "
                        "why they ended"
                    )
                    raise ClusterError(f"there has been no worker for {limit:.0f} seconds: {what}")


def _is_done(future: Any) -> bool:
    """Wait a little, and say whether a task has ended, well or not."""
    try:
        future.exception(timeout=POLL)
    except TimeoutError:
        return False
    return True


@contextmanager
def connect(client: Any = None, on_step: Callable[[int, float], bool] | None = None) -> Iterator[Cluster]:
    """Yield the cluster of a client, of the current one, or of the worker whose task this is."""
    if client is not None:
        _check_client(client)
        yield Cluster(client, on_step)
    elif "distributed" not in sys.modules:  # nobody can have made a client
        yield Cluster(None, on_step)
    elif find_worker() is not None:
        from distributed import worker_client

        with worker_client() as own:  # leaves its thread to the tasks it waits for
            yield Cluster(own, on_step)
    else:
        yield Cluster(_find_client(), on_step)


def _find_client() -> Any:
    import dask
    from distributed import get_client

    asked = dask.config.get("scheduler", None)
    if asked is not None and asked not in ("dask.distributed", "distributed"):
        return None  # a scheduler of this process was asked for
    try:
        return get_client()
    except ValueError:
        return None


def _check_client(client: Any) -> None:
    from distributed import Client

    if not isinstance(client, Client):
        raise TypeError(f"client must be a distributed.Client, got {client!r}")
    if client.asynchronous:
        raise ValueError("client must not be asynchronous, because fit waits for it; use Client(address) here")
