"""Where tasks run: the workers of a Dask client, or Dask's scheduler on this machine when there is no client."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from mercer.arrays.budget import show_bytes
from mercer.arrays.threads import SINGLE_BLAS, SharedSetting
from mercer.markup import Cell
from mercer.solvers.plan import Plan

from ._graph import find_worker, fuse, join_tasks, map_blocks, share, sum_tasks
from ._intake import align
from .executor import Executor, Pieces

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

    def facts(self) -> list[tuple[str, Cell]]:
        """Return what is expected, and what was done where."""
        own = [
            ("on the workers", f"{self.workers}, over {self.partitions} partitions in {self.passes} passes"),
            ("on the client", self.client),
            *((f"moved: {what}", show_bytes(size)) for what, size in self.moved.items()),
        ]
        return [*super().facts(), *own]

    def __str__(self) -> str:
        parts = ", ".join(f"{show_bytes(size)} of {what}" for what, size in self.moved.items()) or "nothing"
        return (
            f"{super().__str__()}. On the workers, over {self.partitions} partitions in {self.passes} passes: "
            f"{self.workers}. On the client: {self.client}. What moves: {parts}."
        )


def _find_patience() -> float:
    """Return the seconds that a fit waits without any worker."""
    from dask.config import get
    from dask.utils import parse_timedelta

    return float(parse_timedelta(get("distributed.scheduler.no-workers-timeout", None) or PATIENCE))


def _fit_settings() -> Any:
    """Let graphs be large without a warning, and let LocalCluster wait for a worker that died as long as a fit does.

    Graphs hold what is the same for all tasks, such as a factor of centres.  LocalCluster closes the place of a worker
    that is not back in time, 15 seconds if nobody says otherwise; on a busy machine it takes longer to start one, and
    a fit whose last worker is closed so would wait for nobody.
    """
    import dask
    from dask.utils import parse_timedelta

    given = parse_timedelta(dask.config.get("distributed.deploy.lost-worker-timeout"))
    return dask.config.set(
        {
            "distributed.admin.large-graph-warning-threshold": "1TB",
            "distributed.deploy.lost-worker-timeout": max(given, _find_patience()),
        }
    )


FITTING = SharedSetting(_fit_settings)


class Cluster(Executor):
    """Computes tasks on Dask's workers, and keeps account of what moved."""

    def __init__(self, client: Any = None, on_step: Callable[[int, float], bool] | None = None) -> None:
        super().__init__(on_step)
        self.client = client

    @property
    def where(self) -> str:
        """What the workers are, in a few words."""
        if self.client is None:
            return "threads of this process"
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        return f"{len(workers)} worker{'s' * (len(workers) != 1)}"

    def align(self, X: Any, y: Any, sample_weight: Any, owner: str) -> tuple[Pieces, Pieces | None, Any]:
        """Return the partitions of all that a fit is given, row by row."""
        return align(X, y, sample_weight, owner)

    def map(self, name: str, function: Callable[..., Any], blocks: Sequence[Any], *shared: Any) -> list[Any]:
        """Return the tasks function(block, *shared), one for each block, which may be a list of results."""
        return map_blocks(name, function, blocks, *shared)

    def sum(self, name: str, tasks: Sequence[Any]) -> Any:
        """Return the task at the root of a tree that adds up what others return."""
        return sum_tasks(name, tasks)

    def join(self, name: str, function: Callable[..., Any], tasks: Sequence[Any], *more: Any) -> Any:
        """Return the task function(results of tasks, *more)."""
        return join_tasks(name, function, tasks, *more)

    def share(self, value: Any) -> Any:
        """Return a value as one node of a graph."""
        return share(value)

    def compute(self, tasks: Sequence[Any]) -> list[Any]:
        """Return the results of tasks; an interruption or a failure cancels all of them."""
        tasks = fuse(tasks)
        if self.client is None:
            import dask

            with SINGLE_BLAS:  # tasks run side by side, one for each core
                found = list(dask.compute(*tasks, traverse=False))
        else:
            found = self._gather(self.client.compute(tasks))
        self.step()
        return found

    def keep(self, tasks: Sequence[Any]) -> list[Any]:
        """Return tasks whose results stay where they are computed, to be used by other tasks."""
        import dask

        tasks = fuse(tasks)
        if self.client is None:
            return list(dask.persist(*tasks, traverse=False))
        return list(self.client.persist(tasks))

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
        limit = _find_patience()
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
    with _choose_client(client) as chosen, nullcontext() if chosen is None else FITTING:
        yield Cluster(chosen, on_step)


@contextmanager
def _choose_client(client: Any) -> Iterator[Any]:
    """Yield the client that was given, or the one there is; None if there is none."""
    if client is not None:
        _check_client(client)
        yield client
    elif "distributed" not in sys.modules:  # nobody can have made a client
        yield None
    elif find_worker() is not None:
        from distributed import worker_client

        with worker_client() as own:  # leaves its thread to the tasks it waits for
            yield own
    else:
        yield _find_client()


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
