"""Graphs of tasks over partitions: one task for each, trees that add up what they return, and tasks fused to one.

A task holds all that only it needs: a partition is read, checked and used in one, and its rows never travel.  Left
apart, the scheduler may give the task that reads rows to one worker and the task that uses them to another.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays.budget import available_memory, parse_memory
from mercer.arrays.place import Place
from mercer.arrays.tensors import DeviceError, device_memory
from mercer.arrays.threads import share_of_threads

from .executor import add_up, size_of

FAN_IN = 8  # results that one task of a tree adds up
SHARE = 0.5  # of a worker's free memory, for the arrays of its tasks
LEAST = 2**22  # bytes a task may use in any case
SUM, JOIN = "mercer-sum-", "mercer-join-"  # how keys of tasks begin that put the results of others together
SMALL = 2**14  # bytes of an array that is copied into the tasks that take it
SIZED: set[type] = set()  # types that Dask is still to be told the sizes of


def share(value: Any) -> Any:
    """Return a value as one node of a graph, shared by all tasks that take it."""
    from dask import delayed

    return delayed(value, traverse=False, name=f"mercer-constant-{uuid.uuid4().hex}")


def map_blocks(name: str, function: Callable[..., Any], blocks: Sequence[Any], *shared: Any) -> list[Any]:
    """Return the tasks function(block, *shared), one for each block, which may be a list of results."""
    from dask import delayed

    token = f"mercer-{name}-{uuid.uuid4().hex}"
    call = delayed(functools.partial(_call_fairly, function), pure=True, traverse=False)
    # A node of its own for what is small would only be one more task to wait for, while blocks pile up behind it.
    constants = [value if _is_small(value) else share(value) for value in shared]
    # Dask takes apart every list that it is given, which is most of the time of a small pass.
    parts = [(len(block), *block) if isinstance(block, list) else (None, block) for block in blocks]
    return [call(*given, *constants, dask_key_name=(token, i)) for i, given in enumerate(parts)]


def _is_small(value: Any) -> bool:
    """Whether a value may as well stand in every task that takes it."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf" and value.nbytes <= SMALL
    return value is None or isinstance(value, bool | int | float | str)


def sum_tasks(name: str, tasks: Sequence[Any]) -> Any:
    """Return the task at the root of a tree that adds up what others return, nothing being None."""
    from dask import delayed

    token, level = f"{SUM}{name}-{uuid.uuid4().hex}", 0
    add = delayed(_add_all, pure=True, traverse=False)
    tasks = list(tasks)
    while len(tasks) > 1:
        groups = [tasks[i : i + FAN_IN] for i in range(0, len(tasks), FAN_IN)]
        tasks = [add(*group, dask_key_name=(token, level, i)) for i, group in enumerate(groups)]
        level += 1
    return tasks[0]


def join_tasks(name: str, function: Callable[..., Any], tasks: Sequence[Any], *more: Any) -> Any:
    """Return the task function(results of tasks, *more)."""
    from dask import delayed

    call = delayed(function, pure=True, traverse=False)
    return call(list(tasks), *more, dask_key_name=f"{JOIN}{name}-{uuid.uuid4().hex}")


def is_combining(key: Any) -> bool:
    """Whether a task of this key puts the results of others together.

    Examples
    --------
    >>> is_combining((SUM + "gram-1f", 0, 3)), is_combining("mercer-gram-1f")
    (True, False)
    """
    name = key[0] if isinstance(key, tuple) else key
    return isinstance(name, str) and name.startswith((SUM, JOIN))


def _add_all(*parts: Any) -> Any:
    return add_up(parts)


@dataclass(frozen=True)
class FusedTask:
    """Several tasks as one."""

    tasks: dict[Any, Any]  # a graph
    result: Any  # what of it is wanted
    inputs: tuple[Any, ...]  # what it takes from outside, in the order in which it is called

    def __call__(self, *values: Any) -> Any:
        """Compute one after the other, forgetting what nobody needs any more."""
        from dask.core import get

        return get(self.tasks, [self.result], dict(zip(self.inputs, values, strict=True)))[0]


def fuse(tasks: Sequence[Any]) -> list[Any]:
    """Return the same tasks under the same keys, each together with everything that only it depends on.

    Tasks that put several others together, such as sums, and those others stay tasks of their own, to run side by side.

    Examples
    --------
    >>> from dask import delayed
    >>> sizes = [delayed(len)(delayed(range)(i)) for i in (3, 4)]
    >>> whole = sum_tasks("sizes", sizes)
    >>> (one,) = fuse([whole])
    >>> one.compute(), len(dict(whole.dask)), len(dict(one.dask))
    (7, 5, 3)
    """
    from dask._task_spec import TaskRef, convert_legacy_graph
    from dask.core import reverse_dict, toposort
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph
    from dask.optimization import cull

    whole = HighLevelGraph.merge(*(task.__dask_graph__() for task in tasks))
    if any(layer.annotations for layer in whole.layers.values()):
        return list(tasks)  # which say where or how often single tasks are to run
    graph, _ = cull(whole.to_dict(), [task.key for task in tasks])
    there = {key: task for key, task in graph.items() if isinstance(task, TaskRef)}  # results that a cluster holds
    nodes = convert_legacy_graph({key: graph[key] for key in graph.keys() - there.keys()}, all_keys=set(graph))
    needs = {key: set(node.dependencies) for key, node in nodes.items()} | {key: set() for key in there}
    within = {key: graph.keys() & known for key, known in needs.items()}
    users = reverse_dict(within)
    apart = {task.key for task in tasks} | there.keys()
    for key in filter(is_combining, graph):
        apart |= {key, *needs[key]}
    home: dict[Any, Any] = {}
    for key in reversed(toposort(graph, dependencies=within)):
        homes = {home[user] for user in users[key]}
        home[key] = key if key in apart or len(homes) != 1 else homes.pop()
    name = f"mercer-fused-{uuid.uuid4().hex}"
    layer = HighLevelGraph.from_collections(name, _fuse_graph(nodes | there, home, needs))
    return [Delayed(task.key, layer, layer=name) for task in tasks]


def _fuse_graph(graph: dict[Any, Any], home: dict[Any, Any], needs: dict[Any, set[Any]]) -> dict[Any, Any]:
    from dask._task_spec import TaskRef

    members: dict[Any, list[Any]] = {}
    for key, place in home.items():
        members.setdefault(place, []).append(key)
    found = {}
    for place, keys in members.items():
        if len(keys) == 1:
            found[place] = graph[place]
            continue
        inside = set(keys)
        outside = tuple(dict.fromkeys(need for key in keys for need in needs[key] if need not in inside))
        found[place] = (FusedTask({key: graph[key] for key in keys}, place, outside), *map(TaskRef, outside))
    return found


def declare_sized(*kinds: type) -> None:
    """Remember types of results that are their arrays, for :func:`tell_sizes`."""
    SIZED.update(kinds)


def tell_sizes() -> None:
    """Let Dask know how large results are, so that it counts what moves, and moves what is small."""
    from dask.sizeof import sizeof

    for kind in list(SIZED):
        sizeof.register(kind)(size_of)
        SIZED.discard(kind)


def find_memory() -> int:
    """Return the bytes that a task may use for its arrays: its share of what its worker may still take.

    A power of two, so that a fit that is repeated cuts its rows in the same places, and adds up the same numbers.
    """
    return 2 ** int(math.log2(max(LEAST, _free_memory())))


def _free_memory() -> float:
    worker = find_worker()
    if worker is None:
        return parse_memory(None) / count_slots()
    limit = worker.memory_manager.memory_limit
    free = available_memory() if limit is None else min(limit - worker.monitor.get_process_memory(), available_memory())
    return float(SHARE * free / count_slots())


def count_slots() -> int:
    """Return how many tasks may run at once in this process."""
    worker = find_worker()
    return (os.cpu_count() or 1) if worker is None else max(1, int(worker.state.nthreads))


def _call_fairly(function: Callable[..., Any], count: int | None, *args: Any) -> Any:
    """Call a function with the threads that one of several tasks may use; its block is a list of ``count`` parts."""
    if count is not None:
        args = (list(args[:count]), *args[count:])
    tell_sizes()
    # Dask runs as many tasks at a time as there are cores, unless it was told otherwise by this variable.
    given = os.environ.get("OMP_NUM_THREADS", "1")
    threads = int(given) if given.strip().isdecimal() and find_worker() is not None else 1
    with share_of_threads(threads):
        return function(*args)


def find_worker() -> Any:
    """Return the worker that this process is, None if it is none."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_worker

    try:
        return get_worker()
    except ValueError:
        return None


def find_place(device: Any, memory: int) -> Place:
    """Return the device of this worker that was asked for, or the host, with what a task may use there.

    Examples
    --------
    >>> find_place(None, 1000)
    Place(device=None, memory=1000)
    """
    try:
        place = Place.find(device, memory)
    except (DeviceError, ImportError) as error:
        worker = find_worker()
        who = "this process" if worker is None else f"the worker at {worker.address}"
        error.add_note(f"This was found by {who}; the device has to be there on every worker.")
        raise
    if place.kind != "cuda":
        return place
    return replace(place, memory=device_memory(place.device, None) // count_slots())
