"""Where tasks run: the workers of a Dask client, or Dask's scheduler on this machine when there is no client."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ._fusion import fused
from ._shared import ANY_SIZE, SINGLE
from .errors import ClusterError

POLL = 2.0  # seconds between two looks at whether there are workers
PATIENCE = 300.0  # seconds without any worker, unless Dask's own no-workers-timeout says otherwise


class Cluster:
    """Computes tasks, and keeps account of what moved.

    Parameters
    ----------
    client : distributed.Client or None
        Whose workers do the work; Dask's own scheduler in this process if None.
    on_step : callable, optional
        Told the number of each step that is done.
    """

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
        tasks = fused(tasks)
        if self.client is None:
            import dask

            with SINGLE:  # tasks run side by side, one for each core
                found = list(dask.compute(*tasks, traverse=False))
        else:
            with ANY_SIZE:
                futures = self.client.compute(tasks)
            found = self._gathered(futures)
        self.step()
        return found

    def keep(self, tasks: Sequence[Any]) -> list[Any]:
        """Return tasks whose results stay where they are computed, to be used by other tasks."""
        import dask

        tasks = fused(tasks)
        if self.client is None:
            return list(dask.persist(*tasks, traverse=False))
        with ANY_SIZE:
            return list(self.client.persist(tasks))

    def step(self, error: float = float("nan")) -> None:
        """Tell that a step is done."""
        self.steps += 1
        if self._on_step is not None:
            self._on_step(self.steps, error)

    def count(self, what: str, size: float) -> None:
        """Add to the account of bytes that moved."""
        self.moved[what] = self.moved.get(what, 0) + int(size)

    def _gathered(self, futures: list[Any]) -> list[Any]:
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
def connected(client: Any = None, on_step: Callable[[int, float], bool] | None = None) -> Iterator[Cluster]:
    """Yield the cluster of a client, of the current one, or of the worker whose task this is."""
    if client is not None:
        _check(client)
        yield Cluster(client, on_step)
    elif "distributed" not in sys.modules:  # nobody can have made a client
        yield Cluster(None, on_step)
    elif _inside_a_task():
        from distributed import worker_client

        with worker_client() as own:  # leaves its thread to the tasks it waits for
            yield Cluster(own, on_step)
    else:
        yield Cluster(_current(), on_step)


def _current() -> Any:
    import dask
    from distributed import get_client

    asked = dask.config.get("scheduler", None)
    if asked is not None and asked not in ("dask.distributed", "distributed"):
        return None  # a scheduler of this process was asked for
    try:
        return get_client()
    except ValueError:
        return None


def _inside_a_task() -> bool:
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


def _check(client: Any) -> None:
    from distributed import Client

    if not isinstance(client, Client):
        raise TypeError(f"client must be a distributed.Client, got {client!r}")
    if client.asynchronous:
        raise ValueError("client must not be asynchronous, because fit waits for it; use Client(address) here")
