"""Tasks that hold all that only they need: a partition is read, checked and used in one, and its rows never travel.

Left apart, the scheduler may give the task that reads rows to one worker and the task that uses them to another.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """Several tasks as one.

    Parameters
    ----------
    tasks : dict
        A graph.
    result : key
        What of it is wanted.
    inputs : tuple of keys
        What it takes from outside, in the order in which it is called.
    """

    tasks: dict[Any, Any]
    result: Any
    inputs: tuple[Any, ...]

    def __call__(self, *values: Any) -> Any:
        """Compute one after the other, forgetting what nobody needs any more."""
        from dask.core import get

        return get(self.tasks, [self.result], dict(zip(self.inputs, values, strict=True)))[0]


def fused(tasks: Sequence[Any], combines: Callable[[Any], bool]) -> list[Any]:
    """Return the same tasks, each together with everything that only it depends on.

    Parameters
    ----------
    tasks : sequence of Delayed
        What is wanted.
    combines : callable
        Whether the task of a key puts several others together: those stay tasks of their own, to run side by side.

    Returns
    -------
    list of Delayed
        With the same keys.

    Examples
    --------
    >>> from dask import delayed
    >>> read = [delayed(range)(i) for i in (3, 4)]
    >>> sizes = [delayed(len)(part) for part in read]
    >>> whole = delayed(sum)(sizes, dask_key_name="sum")
    >>> (one,) = fused([whole], lambda key: key == "sum")
    >>> one.compute(), len(dict(whole.dask)), len(dict(one.dask))
    (7, 5, 3)
    """
    from dask.core import reverse_dict, toposort
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph
    from dask.optimization import cull

    whole = HighLevelGraph.merge(*(task.__dask_graph__() for task in tasks))
    if any(layer.annotations for layer in whole.layers.values()):
        return list(tasks)  # which say where or how often single tasks are to run
    graph, _ = cull(whole.to_dict(), [task.key for task in tasks])
    needs = {key: _needed(graph, key) for key in graph}
    within = {key: graph.keys() & known for key, known in needs.items()}
    users = reverse_dict(within)
    apart = {task.key for task in tasks}
    apart |= {key for key, task in graph.items() if combines(key) or _holds_future(task)}
    apart |= {need for key in graph if combines(key) for need in needs[key]}
    home: dict[Any, Any] = {}
    for key in reversed(toposort(graph, dependencies=within)):
        homes = {home[user] for user in users[key]}
        home[key] = key if key in apart or len(homes) != 1 else homes.pop()
    name = f"mercer-fused-{uuid.uuid4().hex}"
    layer = HighLevelGraph.from_collections(name, _joined(graph, home, needs))
    return [Delayed(task.key, layer, layer=name) for task in tasks]


def _needed(graph: dict[Any, Any], key: Any) -> set[Any]:
    """Return what a task depends on, which a cluster may hold already and the graph not have."""
    from dask.core import get_dependencies

    task = graph[key]
    return set(task.dependencies if hasattr(task, "dependencies") else get_dependencies(graph, key)) - {key}


def _joined(graph: dict[Any, Any], home: dict[Any, Any], needs: dict[Any, set[Any]]) -> dict[Any, Any]:
    from dask.core import TaskRef

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
        found[place] = (Recipe({key: graph[key] for key in keys}, place, outside), *map(TaskRef, outside))
    return found


def _holds_future(task: Any) -> bool:
    """Whether a task is, or takes, the result of another that a client has asked for already."""
    if isinstance(task, dict):
        return _any(task.values())
    if isinstance(task, list | tuple | set):
        return _any(task)
    if hasattr(task, "args") and hasattr(task, "kwargs"):
        return _any(task.args) or _any(task.kwargs.values())
    kind = type(getattr(task, "value", task))  # of a node that holds data
    return kind.__name__ == "Future" and kind.__module__.startswith("distributed")


def _any(parts: Iterable[Any]) -> bool:
    return any(_holds_future(part) for part in parts)
