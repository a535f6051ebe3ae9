"""Many graphs as a few arrays of integers.

All graphs of both collections are put side by side into one :class:`GraphTable`, in which equal labels have equal
numbers, so that kernels work on all nodes at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows, advise_on, number_objects, short

from ..prepared import HeldArrays, StructuredKernel
from .book import Book
from .data import Graph
from .parts import is_surely_matrix, is_table


class GraphKernel(StructuredKernel):
    """A kernel on graphs."""

    def is_object(self, thing: Any) -> bool:
        """Whether it is a graph of networkx, whose length is the number of nodes."""
        return is_networkx(thing)


def is_networkx(thing: Any) -> bool:
    """Whether something has the nodes and edges of a graph of networkx."""
    return hasattr(thing, "nodes") and hasattr(thing, "adjacency")


def as_graph(thing: Any, position: int, owner: str) -> Graph:
    """Return an object as a graph, whichever form it has.

    Arrays are adjacency matrices.  Nested lists are neighbours, or a matrix where they cannot be neighbours; if they
    may be either, they are refused.
    """
    if isinstance(thing, Graph):
        return thing
    try:
        if is_networkx(thing):
            return Graph.from_networkx(thing)
        if sparse.issparse(thing) or (isinstance(thing, np.ndarray) and thing.ndim == 2):
            return Graph.from_matrix(thing)
        if is_table(thing) and is_surely_matrix(thing):
            return Graph.from_matrix(thing)
        if isinstance(thing, Mapping | list | tuple):
            return Graph(thing)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{owner}: object {position} is not a graph. {error}") from error
    raise TypeError(
        f"{owner} needs graphs, but object {position} is {short(thing)} of type {type(thing).__name__}; give "
        f"mercer.kernels.Graph objects, networkx graphs, adjacency matrices in a list or adjacency lists such as [[1], "
        f"[0]]. {advise_on(thing)}"
    )


@dataclass(frozen=True, eq=False)
class GraphTable(HeldArrays):
    """Many graphs side by side: nodes numbered through, labels as numbers, arcs in the order of nodes they leave."""

    first: np.ndarray  # graph g has the nodes from first[g] up to first[g + 1]
    labels: np.ndarray  # the number of each node's label
    start: np.ndarray  # node v has the arcs from start[v] up to start[v + 1]
    end: np.ndarray  # the node each arc leads to
    kind: np.ndarray  # the number of each arc's label
    weight: np.ndarray  # of each arc
    attributes: np.ndarray  # a row for each node, without columns if there are none
    names: tuple[Any, ...]  # the labels of nodes by their numbers, none if there are none

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
            self.weight[arcs],
            self.attributes[nodes],
            self.names,
        )


def read_graphs(X: Rows, Z: Rows | None, owner: str, book: Book | None = None) -> tuple[GraphTable, int]:
    """Return the graphs of X followed by those of Z as one table, and how many are of X.

    Labels are numbered in the order in which they occur, so that those of X have the same numbers with and without Z;
    those that a book has keep their numbers, and others are added to it.
    """
    book = Book() if book is None else book
    left = list_graphs(X, owner)
    graphs = left + ([] if Z is None else list_graphs(Z, owner))
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
    table = GraphTable(
        first, labels, start, arcs + np.repeat(first[:-1], per_graph), kind,
        _join_weights(graphs, per_graph), _join_attributes(graphs, sizes, book, owner), book.nodes.names,
    )  # fmt: skip
    return table, len(left)


def list_graphs(X: Rows, owner: str) -> list[Graph]:
    """Return a collection of graphs in any form as graphs."""
    if sparse.issparse(X) or is_networkx(X) or isinstance(X, Graph):
        raise TypeError(f"{owner} needs a collection of graphs, got {short(X)}; put a single graph in a list, [graph]")
    return [as_graph(thing, row, owner) for row, thing in number_objects(X, owner)]


def _join_weights(graphs: list[Graph], per_graph: np.ndarray) -> np.ndarray:
    """Return the weights of all arcs, 1 where a graph has none."""
    weights = np.ones(per_graph.sum())
    bounds = np.concatenate([[0], np.cumsum(per_graph)])
    for g, graph in enumerate(graphs):
        if graph.weights is not None:
            weights[bounds[g] : bounds[g + 1]] = list(chain(*graph.weights))
    return weights


def _join_attributes(graphs: list[Graph], sizes: np.ndarray, book: Book, owner: str) -> np.ndarray:
    """Return the attributes of all nodes, a table without columns if there are none."""
    widths = [len(graph.attributes[0]) if graph.attributes else 0 for graph in graphs]
    filled = [g for g in range(len(graphs)) if sizes[g]]
    for g in filled:
        if widths[g] != widths[filled[0]]:
            raise ValueError(
                f"{owner}: nodes of graph {filled[0]} have {widths[filled[0]]} attributes, but those of graph {g} "
                f"(counted through all graphs given) have {widths[g]}; all need the same"
            )
    if filled:
        book.check_width(widths[filled[0]], owner)
    rows = list(chain.from_iterable(graph.attributes or () for graph in graphs))
    return np.array(rows, dtype=float).reshape(int(sizes.sum()), widths[filled[0]] if filled else 0)
