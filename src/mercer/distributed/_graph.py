"""Graphs of tasks over partitions: one task for each, and trees that add up what they return."""

from __future__ import annotations

import copy
import functools
import math
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from mercer.arrays.budget import available_memory, parse_memory
from mercer.arrays.threads import share_of_threads

FAN_IN = 8  # results that one task of a tree adds up
SHARE = 0.5  # of a worker's free memory, for the arrays of its tasks
LEAST = 2**22  # bytes a task may use in any case
SUM, JOIN = "mercer-sum-", "mercer-join-"  # how keys of tasks begin that put the results of others together
SMALL = 2**14  # bytes of an array that is copied into the tasks that take it


def constant(value: Any) -> Any:
    """Return a value as one node of a graph, shared by all tasks that take it."""
    from dask import delayed

    return delayed(value, traverse=False, name=f"mercer-constant-{uuid.uuid4().hex}")


def mapped(name: str, function: Callable[..., Any], blocks: Sequence[Any], *shared: Any) -> list[Any]:
    """Return the tasks function(block, *shared), one for each block."""
    from dask import delayed

    token = f"mercer-{name}-{uuid.uuid4().hex}"
    call = delayed(functools.partial(_fair, function), pure=True, traverse=False)
    # A node of its own for what is small would only be one more task to wait for, while blocks pile up behind it.
    constants = [value if _is_small(value) else constant(value) for value in shared]
    return [call(block, *constants, dask_key_name=(token, i)) for i, block in enumerate(blocks)]


def _is_small(value: Any) -> bool:
    """Whether a value may as well stand in every task that takes it."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf" and value.nbytes <= SMALL
    return value is None or isinstance(value, bool | int | float | str)


def tree(name: str, tasks: Sequence[Any]) -> Any:
    """Return the task at the root of a tree that adds up what others return, nothing being None."""
    from dask import delayed

    token, level = f"{SUM}{name}-{uuid.uuid4().hex}", 0
    add = delayed(added, pure=True, traverse=False)
    tasks = list(tasks)
    while len(tasks) > 1:
        groups = [tasks[i : i + FAN_IN] for i in range(0, len(tasks), FAN_IN)]
        tasks = [add(group, dask_key_name=(token, level, i)) for i, group in enumerate(groups)]
        level += 1
    return tasks[0]


def together(name: str, function: Callable[..., Any], tasks: Sequence[Any], *more: Any) -> Any:
    """Return the task function(results of tasks, *more)."""
    from dask import delayed

    call = delayed(function, pure=True, traverse=False)
    return call(list(tasks), *more, dask_key_name=f"{JOIN}{name}-{uuid.uuid4().hex}")


def combines(key: Any) -> bool:
    """Whether a task of this key puts the results of others together.

    Examples
    --------
    >>> combines((SUM + "gram-1f", 0, 3)), combines("mercer-gram-1f")
    (True, False)
    """
    name = key[0] if isinstance(key, tuple) else key
    return isinstance(name, str) and name.startswith((SUM, JOIN))


def added(parts: Sequence[Any]) -> Any:
    """Return the sum of what is there, leaving the parts as they are, because a task may be run again.

    Examples
    --------
    >>> import numpy as np
    >>> added([None, (1, np.ones(2)), (2, np.ones(2))])
    (3, array([2., 2.]))
    """
    present = [part for part in parts if part is not None]
    if not present:
        return None
    if isinstance(present[0], tuple):
        return tuple(added(columns) for columns in zip(*present, strict=True))
    total = copy.deepcopy(present[0])
    for part in present[1:]:
        total += part
    return total


@functools.cache
def tell_sizes() -> None:
    """Let Dask know how large results are, so that it counts what moves, and moves what is small."""
    from dask.sizeof import sizeof

    from mercer.solvers.machines.margins import LineBlock, MarginSums
    from mercer.solvers.ridge.centers import RestrictedSums
    from mercer.solvers.ridge.rows import PrimalErrors, PrimalSums, PrimalTriangle

    from ._block import Block
    from ._survey import size_of

    for kind in (Block, LineBlock, MarginSums, PrimalErrors, PrimalSums, PrimalTriangle, RestrictedSums):
        sizeof.register(kind)(size_of)


def worker_memory() -> int:
    """Return the bytes that a task may use for its arrays: its share of what its worker may still take.

    A power of two, so that a fit that is repeated cuts its rows in the same places, and adds up the same numbers.
    """
    return 2 ** int(math.log2(max(LEAST, _free_memory())))


def _free_memory() -> float:
    worker = _worker()
    if worker is None:
        return parse_memory(None) / tasks_at_a_time()
    limit = worker.memory_manager.memory_limit
    free = available_memory() if limit is None else min(limit - worker.monitor.get_process_memory(), available_memory())
    return float(SHARE * free / tasks_at_a_time())


def tasks_at_a_time() -> int:
    """Return how many tasks may run at once in this process."""
    worker = _worker()
    return (os.cpu_count() or 1) if worker is None else max(1, int(worker.state.nthreads))


def where_am_i() -> str:
    """Return the name of this process in a message."""
    worker = _worker()
    return "this process" if worker is None else f"the worker at {worker.address}"


def _fair(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function with the threads that one of several tasks may use."""
    tell_sizes()
    with _one_of_several():
        return function(*args)


@contextmanager
def _one_of_several() -> Iterator[None]:
    # Dask runs as many tasks at a time as there are cores, unless it was told otherwise by this variable.
    try:
        count = int(os.environ.get("OMP_NUM_THREADS", "1"))
    except ValueError:
        count = 1
    with share_of_threads(count if _worker() is not None else 1):
        yield


def _worker() -> Any:
    import sys

    if "distributed" not in sys.modules:
        return None
    from distributed import get_worker

    try:
        return get_worker()
    except ValueError:
        return None
