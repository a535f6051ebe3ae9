"""Tasks that hold all that only they need: a partition is read, checked and used in one, and its rows never travel.

Left apart, the scheduler may give the task that reads rows to one worker and the task that uses them to another.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._graph import combines


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


def fused(tasks: Sequence[Any]) -> list[Any]:
    """Return the same tasks, each together with everything that only it depends on.

    Tasks that put several others together, such as sums, and those others stay tasks of their own, to run side by side.

    Parameters
    ----------
    tasks : sequence of Delayed
        What is wanted.

    Returns
    -------
    list of Delayed
        With the same keys.

    Examples
    --------
    >>> from dask import delayed
    >>> from mercer.distributed._graph import tree
    >>> sizes = [delayed(len)(delayed(range)(i)) for i in (3, 4)]
    >>> whole = tree("sizes", sizes)
    >>> (one,) = fused([whole])
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
    for key in filter(combines, graph):
        apart |= {key, *needs[key]}
    home: dict[Any, Any] = {}
    for key in reversed(toposort(graph, dependencies=within)):
        homes = {home[user] for user in users[key]}
        home[key] = key if key in apart or len(homes) != 1 else homes.pop()
    name = f"mercer-fused-{uuid.uuid4().hex}"
    layer = HighLevelGraph.from_collections(name, _joined(nodes | there, home, needs))
    return [Delayed(task.key, layer, layer=name) for task in tasks]


def _joined(graph: dict[Any, Any], home: dict[Any, Any], needs: dict[Any, set[Any]]) -> dict[Any, Any]:
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
        found[place] = (Recipe({key: graph[key] for key in keys}, place, outside), *map(TaskRef, outside))
    return found
