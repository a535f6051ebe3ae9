"""Integer features of graphs: how often each label, refined label or path occurs, as sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from ..prepared import Sliced
from .table import GraphTable

FREQUENT = 0.1  # share of rows above which a column costs less in a dense product than in a sparse one
SOURCES = 2**20  # entries of the distance matrix of one graph that are computed at a time


@dataclass(frozen=True, eq=False)
class CountRows(Sliced):
    """Rows of a feature matrix, ready for products: columns that occur in many rows are stored densely."""

    frequent: np.ndarray
    rare: sparse.csr_array
    along = ("frequent", "rare")

    @classmethod
    def of(cls, features: sparse.csr_array) -> CountRows:
        """Split a feature matrix."""
        occurs = np.bincount(features.indices, minlength=features.shape[1])
        often = occurs > FREQUENT * features.shape[0]
        columns = features.tocsc()
        return cls(columns[:, np.flatnonzero(often)].toarray(order="C"), columns[:, np.flatnonzero(~often)].tocsr())

    def product(self, other: CountRows) -> np.ndarray:
        """Return the dot products of all rows with all rows of the other."""
        values = self.frequent @ other.frequent.T
        values += (self.rare @ other.rare.T).toarray()
        return np.asarray(values)

    def squares(self) -> np.ndarray:
        """Return the dot product of every row with itself."""
        return np.asarray((self.frequent**2).sum(axis=1) + (self.rare**2).sum(axis=1)).ravel()


def refine_labels(table: GraphTable, iterations: int) -> Iterator[np.ndarray]:
    """Yield the labels of all nodes after 0, 1, … rounds of Weisfeiler–Lehman refinement, as numbers.

    A round replaces a node's label by the pair of it and the multiset of (edge label, label) of its neighbours.  The
    multiset is sorted and read into the new number one element after the other: a pair of numbers is numbered again
    by sorting all pairs that occur, which is exact and keeps numbers below the count of nodes.
    """
    labels = np.unique(table.labels, return_inverse=True)[1]
    kinds = np.unique(table.kind, return_inverse=True)[1]
    source, degree = table.node_of_arc(), np.diff(table.start)
    order = np.argsort(degree, kind="stable")
    active = [order[np.searchsorted(degree[order], p, side="right") :] for p in range(degree.max(initial=0))]
    yield labels
    for _ in range(iterations):
        size = labels.max(initial=0) + 1
        seen = np.unique(kinds * size + labels[table.end], return_inverse=True)[1]
        seen = seen[np.lexsort((seen, source))]  # each node's neighbours are now in sorted order
        width, used = seen.max(initial=0) + 1, size
        codes = labels.copy()
        for place, nodes in enumerate(active):
            pairs = codes[nodes] * width + seen[table.start[nodes] + place]
            found, number = np.unique(pairs, return_inverse=True)
            codes[nodes] = used + number  # numbers of shorter prefixes stay different
            used += len(found)
        labels = np.unique(codes, return_inverse=True)[1]
        yield labels


def count_labels(table: GraphTable, iterations: int) -> sparse.csr_array:
    """Return how often each refined label of each round occurs in each graph."""
    graph = table.graph_of_node()
    parts = []
    for labels in refine_labels(table, iterations):
        shape = (len(table), int(labels.max(initial=-1)) + 1)
        parts.append(sparse.coo_array((np.ones(len(graph)), (graph, labels)), shape=shape).tocsr())
    return sparse.hstack(parts, format="csr")


def write_unary(counts: sparse.csr_array) -> sparse.csr_array:
    """Write every count c as c ones, so that dot products of rows become sums of minima."""
    most = counts.max(axis=0).toarray().ravel().astype(np.int64)
    repeats = counts.data.astype(np.int64)
    before = np.cumsum(repeats) - repeats  # ones in front of each count
    step = np.arange(repeats.sum()) - np.repeat(before, repeats)
    columns = np.repeat((np.cumsum(most) - most)[counts.indices], repeats) + step
    pointers = np.concatenate([[0], np.cumsum(repeats)])[counts.indptr]
    return sparse.csr_array((np.ones(len(columns)), columns, pointers), shape=(counts.shape[0], int(most.sum())))


def count_paths(table: GraphTable) -> sparse.csr_array:
    """Return how many ordered pairs of different nodes have each triple (label, label, distance), for each graph."""
    labels = np.unique(table.labels, return_inverse=True)[1]
    width = labels.max(initial=0) + 1
    longest = np.diff(table.first).max(initial=0) + 1  # no distance is as long as the number of nodes
    rows, keys, counts = [], [], []
    for g in range(len(table)):
        own = labels[table.first[g] : table.first[g + 1]]
        for key, count in _find_paths(table.run(g, g + 1), own, width, longest):
            rows.append(np.full(len(key), g))
            keys.append(key)
            counts.append(count)
    found, column = np.unique(np.concatenate([*keys, np.empty(0, np.int64)]), return_inverse=True)
    values, row = np.concatenate([*counts, np.empty(0)]), np.concatenate([*rows, np.empty(0, np.int64)])
    shape = (len(table), len(found))
    return sparse.coo_array((values.astype(float), (row, column)), shape=shape).tocsr()


def _find_paths(graph: GraphTable, labels: np.ndarray, width: int, longest: int) -> Iterator[tuple[Any, Any]]:
    """Yield triples as numbers and how often they occur, for some nodes of one graph at a time."""
    n = len(labels)
    if len(graph.end) == 0:
        return
    adjacency = sparse.csr_array((np.ones(len(graph.end)), graph.end, graph.start), shape=(n, n))
    step = max(1, SOURCES // n)
    for begin in range(0, n, step):
        sources = np.arange(begin, min(begin + step, n))
        distance = csgraph.dijkstra(adjacency, indices=sources, unweighted=True)
        u, v = np.nonzero(np.isfinite(distance) & (distance > 0))
        triples = (labels[sources[u]] * width + labels[v]) * longest + distance[u, v].astype(np.int64)
        yield np.unique(triples, return_counts=True)
