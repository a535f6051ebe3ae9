"""Integer features of graphs: how often each label, refined label or path occurs, as sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..prepared import Sliced
from .book import Book, Numbers, join
from .table import GraphTable

FREQUENT = 0.1  # share of rows above which a column costs less in a dense product than in a sparse one
Counted = tuple[sparse.csr_array, sparse.csr_array]  # features that a book has, and others

SOURCES = 2**20  # pairs of nodes of the same graph that are looked at together


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
        return np.asarray((self.frequent**2).sum(axis=1) + sum_squares(self.rare))


def refine_labels(table: GraphTable, iterations: int, book: Book) -> Iterator[Numbers]:
    """Yield the labels of all nodes after 0, 1, … rounds of Weisfeiler–Lehman refinement, as numbers.

    A round replaces a node's label by the pair of it and the multiset of (edge label, label) of its neighbours.  The
    multiset is sorted and read into the new number one element after the other: a pair of numbers is numbered again
    by sorting all pairs that occur, which is exact and keeps numbers below the count of nodes.  A closed book has the
    pairs of earlier graphs.
    """
    labels = book.number("labels", table.labels)
    kinds = book.number("kinds", table.kind)
    source, degree = table.node_of_arc(), np.diff(table.start)
    order = np.argsort(degree, kind="stable")
    active = [order[np.searchsorted(degree[order], p, side="right") :] for p in range(degree.max(initial=0))]
    yield labels
    for turn in range(iterations):
        ends = join(kinds.codes, labels.codes[table.end], labels.known, labels.fresh)
        seen, width, others = book.number((turn, "neighbours"), ends)
        # Arcs are in the order of the nodes they leave: those of each node are sorted by what is at their other ends.
        places = source * (width + others)
        seen = np.sort(places + (seen + others)) - places - others
        codes, known, fresh = labels.codes.copy(), labels.known, labels.fresh
        for place, nodes in enumerate(active):
            pairs = join(codes[nodes], seen[table.start[nodes] + place], width, others)
            found = book.number((turn, place), pairs)
            # Numbers of shorter prefixes stay different.
            codes[nodes] = np.where(found.codes < 0, found.codes - fresh, found.codes + known)
            known, fresh = known + found.known, fresh + found.fresh
        labels = book.number((turn, "labels"), codes)
        yield labels


def count_labels(table: GraphTable, iterations: int, book: Book) -> Counted:
    """Return how often each refined label of each round occurs in each graph."""
    graph, weights = table.graph_of_node(), np.ones(len(table.labels))
    rounds = [count_columns(graph, weights, labels, len(table)) for labels in refine_labels(table, iterations, book)]
    return join_counts(rounds)


def join_counts(parts: list[Counted]) -> Counted:
    """Return counts of several kinds side by side."""
    known, fresh = (sparse.hstack(some, format="csr") for some in zip(*parts, strict=True))
    return known, fresh


def count_columns(rows: np.ndarray, values: np.ndarray, columns: Numbers, count: int) -> Counted:
    """Return what a book has of counts of a kind, and the rest."""
    total = columns.known + columns.fresh
    places = np.where(columns.codes < 0, columns.known - 1 - columns.codes, columns.codes)
    both = sparse.coo_array((values, (rows, places)), shape=(count, total)).tocsr()
    if columns.fresh == 0:
        return both, sparse.csr_array((count, 0))
    return both[:, : columns.known], both[:, columns.known :]


def sum_squares(counts: sparse.csr_array) -> np.ndarray:
    """Return the dot product of every row with itself."""
    return np.asarray((counts**2).sum(axis=1)).ravel()


def write_unary(counts: sparse.csr_array, book: Book) -> sparse.csr_array:
    """Write every count c as c ones, so that dot products of rows become sums of minima; no more than a book takes."""
    most = book.recall("most", counts.max(axis=0).toarray().ravel().astype(np.int64))
    repeats = np.minimum(counts.data.astype(np.int64), most[counts.indices])
    before = np.cumsum(repeats) - repeats  # ones in front of each count
    step = np.arange(repeats.sum()) - np.repeat(before, repeats)
    columns = np.repeat((np.cumsum(most) - most)[counts.indices], repeats) + step
    pointers = np.concatenate([[0], np.cumsum(repeats)])[counts.indptr]
    return sparse.csr_array((np.ones(len(columns)), columns, pointers), shape=(counts.shape[0], int(most.sum())))


def count_paths(table: GraphTable, book: Book) -> Counted:
    """Return how many ordered pairs of different nodes have each triple (label, label, distance), for each graph."""
    labels = book.number("labels", table.labels)
    most = int(np.diff(table.first).max(initial=0)) + 1  # no distance is as long as the number of nodes
    longest = int(book.recall("longest", np.array([most]))[0])
    most = max(most, longest)
    width, graph, rows, keys, counts = labels.known + labels.fresh, table.graph_of_node(), [], [], []
    for u, v, distance in _find_paths(table):
        first, second = labels.codes[u], labels.codes[v]
        every = (first + labels.fresh) * width + second + labels.fresh
        known = (first >= 0) & (second >= 0) & (distance < longest)
        key = (first * labels.known + second) * longest + distance
        found, number = np.unique(np.where(known, key, -1 - every * most - distance), return_inverse=True)
        pairs, count = np.unique(number * len(table) + graph[u], return_counts=True)
        rows.append(pairs % len(table))
        keys.append(found[pairs // len(table)])
        counts.append(count)
    columns = book.number("paths", np.concatenate([*keys, np.empty(0, np.int64)]))
    values, row = np.concatenate([*counts, np.empty(0)]), np.concatenate([*rows, np.empty(0, np.int64)])
    return count_columns(row, values.astype(float), columns, len(table))


def _find_paths(table: GraphTable) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield ordered pairs of different nodes and their distance, from some nodes of any graphs at a time.

    From all of these nodes at once, arcs are followed to nodes that were not reached from there before.
    """
    graph, degree = table.graph_of_node(), np.diff(table.start)
    room = np.diff(table.first)[graph]  # a node has a cell for each node of its graph
    ends = np.cumsum(room)
    begin = 0
    while begin < len(graph):
        before = int(ends[begin] - room[begin])
        stop = max(begin + 1, int(np.searchsorted(ends, before + SOURCES, side="right")))
        sources = np.arange(begin, stop)
        offset = (ends[sources] - room[sources]) - before - table.first[graph[sources]]
        reached = np.zeros(int(ends[stop - 1]) - before, dtype=bool)
        reached[offset + sources] = True
        place = np.empty(len(reached), dtype=np.int64)
        u, v, level = sources, sources, 0
        found = []
        while len(u):
            level += 1
            counts = degree[v]
            skipped = np.repeat(table.start[v] - (np.cumsum(counts) - counts), counts)
            u, v = np.repeat(u, counts), table.end[np.arange(len(skipped)) + skipped]
            cells = offset[u - begin] + v
            fresh = np.flatnonzero(~reached[cells])
            cells = cells[fresh]
            place[cells] = fresh  # of several arcs to the same node the last
            fresh = fresh[place[cells] == fresh]
            u, v = u[fresh], v[fresh]
            reached[offset[u - begin] + v] = True
            found.append((u, v, np.full(len(u), level)))
        first, second, distance = (np.concatenate(parts) for parts in zip(*found, strict=True))
        yield first, second, distance
        begin = stop
