"""Where the predicted class changes: outlines of regions, exact on the lines of a grid and straight between them.

On every line of the grid whose ends have different classes the change is found by bisection, and inside a cell changes
are joined by straight lines.  No score is needed, so that a vote of neighbours has as clean a boundary as a machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

HALVINGS = 10  # of a step of the grid: a thousandth of it is less than any picture shows
OUTSIDE = -1  # the class beyond the frame, so that all regions are closed

Ask = Callable[[np.ndarray], np.ndarray]  # points, shape (m, d), to codes of classes, shape (m,)


@dataclass(frozen=True)
class Outlines:
    """The class at each point of a grid, the outlines of each class, and the lines between classes."""

    predicted: np.ndarray  # shape (rows, columns)
    loops: list[list[np.ndarray]]  # for each class, closed and counter-clockwise, holes clockwise
    boundary: list[np.ndarray]  # curves of shape (m, 2)


def trace_outlines(ask: Ask, xx0: np.ndarray, xx1: np.ndarray, count: int) -> Outlines:
    """Return the outlines of ``count`` classes on a grid.

    Examples
    --------
    >>> import numpy as np
    >>> ticks = np.linspace(-1.0, 1.0, 4)
    >>> found = trace_outlines(lambda p: (p[:, 0] > 0.1).astype(int), ticks, ticks, 2)
    >>> (line,) = found.boundary
    >>> bool(np.allclose(line[:, 0], 0.1, atol=1e-3)), len(found.loops[1])
    (True, 1)
    """
    predicted = ask(np.stack(np.meshgrid(xx0, xx1), axis=-1).reshape(-1, 2)).reshape(len(xx1), len(xx0))
    return _Tracer(ask, predicted, xx0, xx1).trace(count)


def find_changes(ask: Ask, xx: np.ndarray) -> np.ndarray:
    """Return where the class changes along a line, shape (m, 1), by bisection between the points of a grid.

    Examples
    --------
    >>> import numpy as np
    >>> find_changes(lambda p: (np.abs(p[:, 0]) < 0.5).astype(int), np.linspace(-1.0, 1.0, 8)).round(3).ravel().tolist()
    [-0.5, 0.5]
    """
    predicted = ask(xx[:, None])
    at = np.flatnonzero(predicted[1:] != predicted[:-1])
    return halve(ask, xx[at, None], xx[at + 1, None], predicted[at])


def halve(ask: Ask, low: np.ndarray, high: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return where the class stops to be the first one between points, shape (m, d)."""
    if len(low):
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            same = (ask(middle) == first)[:, None]
            low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.asarray((low + high) / 2)


class _Tracer:
    """Cells, their changes of class, and how those are joined.

    A node is a change on a line of the grid, or the middle of a cell in which three or four regions meet.  The grid has
    a frame of points outside at no distance, so that a region ends there like anywhere else.
    """

    def __init__(self, ask: Ask, predicted: np.ndarray, xx0: np.ndarray, xx1: np.ndarray) -> None:
        self._ask, self._predicted = ask, predicted
        self._labels = np.pad(predicted, 1, constant_values=OUTSIDE)
        self._x, self._y = np.pad(xx0, 1, mode="edge"), np.pad(xx1, 1, mode="edge")
        self._size = self._labels.size
        self._places: dict[int, np.ndarray] = {}

    def trace(self, count: int) -> Outlines:
        self._find_changes()
        chains: dict[tuple[int, int], list[int]] = {}  # from a node with a class inside to the next nodes
        neighbours: dict[int, list[int]] = defaultdict(list)
        for classes, path, inner in self._join_cells():
            for label, nodes in zip(classes, (path, path[::-1]), strict=True):
                if label != OUTSIDE:
                    chains[nodes[0], label] = nodes
            if inner:
                for a, b in pairwise(path):
                    if b not in neighbours[a]:
                        neighbours[a].append(b)
                        neighbours[b].append(a)
        loops: list[list[np.ndarray]] = [[] for _ in range(count)]
        for label, nodes in _close_loops(chains):
            loops[label].append(self._locate(nodes))
        return Outlines(self._predicted, loops, [self._locate(nodes) for nodes in _walk_lines(neighbours)])

    def _locate(self, nodes: Sequence[int]) -> np.ndarray:
        return np.array([self._places[node] for node in nodes])

    def _find_changes(self) -> None:
        """Find where the class changes on each line of the grid, all of them at once."""
        labels, starts, ends, keys, known = self._labels, [], [], [], []
        for number, (di, dj) in enumerate(((0, 1), (1, 0))):
            rows, columns = np.nonzero(labels[: labels.shape[0] - di, : labels.shape[1] - dj] != labels[di:, dj:])
            starts.append(np.column_stack([self._x[columns], self._y[rows]]))
            ends.append(np.column_stack([self._x[columns + dj], self._y[rows + di]]))
            keys.append(number * self._size + rows * labels.shape[1] + columns)
            known.append(labels[rows, columns])
        low, high, names = np.concatenate(starts), np.concatenate(ends), np.concatenate(keys)
        apart = np.flatnonzero((low != high).any(axis=1))  # not on the frame
        low[apart] = halve(self._ask, low[apart], high[apart], np.concatenate(known)[apart])
        self._places = dict(zip(names.tolist(), low, strict=True))

    def _join_cells(self) -> Iterator[tuple[tuple[int, int], list[int], bool]]:
        """Yield how changes are joined in each cell: the classes left and right of a path of nodes, and if inside."""
        labels, width, size = self._labels, self._labels.shape[1], self._size
        corners = np.stack([labels[:-1, :-1], labels[:-1, 1:], labels[1:, 1:], labels[1:, :-1]], axis=-1)
        rows, columns = np.nonzero((corners != corners[..., :1]).any(axis=-1))
        around = corners[rows, columns]
        at = rows * width + columns
        sides = np.column_stack([at, size + at + 1, at + width, size + at])  # counter-clockwise from below
        middles = np.column_stack([self._x[columns] + self._x[columns + 1], self._y[rows] + self._y[rows + 1]]) / 2
        crossed = around != np.roll(around, -1, axis=1)
        open_ = np.flatnonzero(crossed.all(axis=1) & (around >= 0).all(axis=1))
        central = np.full(len(around), OUTSIDE)
        if len(open_):
            central[open_] = self._ask(middles[open_])
        for cell, (own, nodes, cuts) in enumerate(zip(around.tolist(), sides.tolist(), crossed.tolist(), strict=True)):
            runs = [m for m in range(4) if cuts[m]]  # a run of equal corners ends at each of these sides
            inner = min(own) >= 0
            if len(runs) == 2:
                p, q = runs
                yield (own[q], own[p]), [nodes[q], nodes[p]], inner
                continue
            through = next((c for c in (0, 1) if own[c] == own[c + 2] == central[cell]), None)
            if len(runs) == 4 and through is not None:  # two corners are one region, which cuts the others off
                for m in (1 - through, 3 - through):
                    yield (own[m], own[through]), [nodes[m], nodes[m - 1]], inner
                continue
            key = 2 * size + int(at[cell])
            self._places[key] = np.mean([self._places[nodes[m]] for m in runs], axis=0)
            for p, q in zip((runs[-1], *runs[:-1]), runs, strict=True):
                yield (own[q], OUTSIDE), [nodes[q], key, nodes[p]], inner


def _close_loops(chains: dict[tuple[int, int], list[int]]) -> Iterator[tuple[int, list[int]]]:
    """Yield closed sequences of nodes with their classes."""
    while chains:
        (_, label), path = chains.popitem()
        loop = list(path)
        while loop[-1] != loop[0]:
            loop.extend(chains.pop((loop[-1], label))[1:])
        yield label, loop


def _walk_lines(neighbours: dict[int, list[int]]) -> Iterator[list[int]]:
    """Yield sequences of nodes that use every connection once; from ends and junctions first, then closed ones."""
    for start in [node for node, others in neighbours.items() if len(others) != 2] + list(neighbours):
        while neighbours[start]:
            line = [start]
            while True:
                here = line[-1]
                following = neighbours[here].pop()
                neighbours[following].remove(here)
                line.append(following)
                if len(neighbours[following]) != 1 or following == start:
                    break
            yield line
