"""Many graphs as a few arrays of integers.

All graphs of both collections are put side by side into one :class:`GraphTable`, in which equal labels have equal
numbers, so that kernels work on all nodes at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from mercer.formula.data import Rows, as_objects, short
from mercer.messages import name_kernels

from ..base import ObjectKernel
from ..prepared import HeldArrays
from .book import Book
from .data import Graph


class GraphKernel(ObjectKernel):
    """A kernel on graphs."""

    structured: ClassVar[bool] = True

    def is_object(self, thing: Any) -> bool:
        """Whether it is a graph of networkx, whose length is the number of nodes."""
        return is_networkx(thing)


def is_networkx(thing: Any) -> bool:
    """Whether something has the nodes and edges of a graph of networkx."""
    return hasattr(thing, "nodes") and hasattr(thing, "adjacency")


def as_graph(thing: Any, position: int, owner: str) -> Graph:
    """Return an object as a graph, whichever form it has."""
    if isinstance(thing, Graph):
        return thing
    try:
        if is_networkx(thing):
            return Graph.from_networkx(thing)
        if isinstance(thing, Mapping | list | tuple):
            return Graph(thing)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{owner}: object {position} is not a graph. {error}") from error
    raise TypeError(
        f"{owner} needs graphs, but object {position} is {short(thing)} of type {type(thing).__name__}; give "
        f"mercer.kernels.Graph objects, networkx graphs or adjacency lists such as [[1], [0]]. {name_kernels(thing)}"
    )


@dataclass(frozen=True, eq=False)
class GraphTable(HeldArrays):
    """Many graphs side by side: nodes numbered through, labels as numbers, arcs in the order of nodes they leave."""

    first: np.ndarray  # graph g has the nodes from first[g] up to first[g + 1]
    labels: np.ndarray  # the number of each node's label
    start: np.ndarray  # node v has the arcs from start[v] up to start[v + 1]
    end: np.ndarray  # the node each arc leads to
    kind: np.ndarray  # the number of each arc's label

    def __len__(self) -> int:
        return len(self.first) - 1

    def graph_of_node(self) -> np.ndarray:
        """Return the number of the graph each node belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))

    def node_of_arc(self) -> np.ndarray:
        """Return the node each arc leaves."""
        return np.repeat(np.arange(len(self.labels)), np.diff(self.start))

    def run(self, begin: int, end: int) -> GraphTable:
        """Return the graphs from ``begin`` up to ``end``."""
        nodes = slice(self.first[begin], self.first[end])
        arcs = slice(self.start[nodes.start], self.start[nodes.stop])
        return GraphTable(
            self.first[begin : end + 1] - nodes.start,
            self.labels[nodes],
            self.start[nodes.start : nodes.stop + 1] - arcs.start,
            self.end[arcs] - nodes.start,
            self.kind[arcs],
        )


def read_graphs(X: Rows, Z: Rows | None, owner: str, book: Book | None = None) -> tuple[GraphTable, int]:
    """Return the graphs of X followed by those of Z as one table, and how many are of X.

    Labels are numbered in the order in which they occur, so that those of X have the same numbers with and without Z;
    those that a book has keep their numbers, and others are added to it.
    """
    book = Book() if book is None else book
    left = as_objects(X, owner)
    right = [] if Z is None else as_objects(Z, owner)
    graphs = [as_graph(thing, i, owner) for i, thing in enumerate(left)]
    graphs += [as_graph(thing, i, owner) for i, thing in enumerate(right)]
    sizes = np.array([graph.n_nodes for graph in graphs])
    first = np.concatenate([[0], np.cumsum(sizes)])
    degrees = np.fromiter(chain.from_iterable(map(len, graph.neighbours) for graph in graphs), np.int64, first[-1])
    start = np.concatenate([[0], np.cumsum(degrees)])
    ends = chain.from_iterable(chain.from_iterable(graph.neighbours for graph in graphs))
    arcs = np.fromiter(ends, np.int64, start[-1])
    per_graph = np.diff(start[first])
    labels = book.nodes.number([graph.labels for graph in graphs], sizes, owner)
    listed = [None if graph.edge_labels is None else tuple(chain(*graph.edge_labels)) for graph in graphs]
    kind = book.edges.number(listed, per_graph, owner)
    return GraphTable(first, labels, start, arcs + np.repeat(first[:-1], per_graph), kind), len(left)
