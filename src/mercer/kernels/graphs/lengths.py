"""Shortest paths of graphs by the labels of their ends and their lengths, which may be sums of weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from .counts import SOURCES
from .table import GraphTable


@dataclass(frozen=True, eq=False)
class Paths:
    """Triples (label, label, distance) in their order, and how many ordered pairs of nodes of each graph have each."""

    counts: sparse.csr_array  # a row for each graph
    ends: np.ndarray  # the number of the pair of labels of each triple
    lengths: np.ndarray  # the distance of each triple


def find_paths(table: GraphTable, weighted: bool = False) -> Paths:
    """Return the shortest paths of all graphs, by numbers of edges or by sums of weights."""
    labels = np.unique(table.labels, return_inverse=True)[1]
    width = labels.max(initial=0) + 1
    rows, ends, lengths, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)], [np.empty(0)]
    for g in range(len(table)):
        own = labels[table.first[g] : table.first[g + 1]]
        for u, v, distance in _find_distances(table.run(g, g + 1), weighted):
            pairs, known, _, count = _count_triples(own[u] * width + own[v], distance)
            rows.append(np.full(len(pairs), g))
            ends.append(pairs)
            lengths.append(known)
            counts.append(count)
    pairs, known, column, _ = _count_triples(np.concatenate(ends), np.concatenate(lengths))
    entries, shape = (np.concatenate(counts), (np.concatenate(rows), column)), (len(table), len(pairs))
    return Paths(sparse.coo_array(entries, shape=shape).tocsr(), pairs, known)


def _count_triples(ends: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the different pairs of ends and lengths, which of them each one is, and how often each occurs."""
    known, place = np.unique(lengths, return_inverse=True)
    width = max(len(known), 1)
    found, column, count = np.unique(ends * width + place, return_inverse=True, return_counts=True)
    return found // width, known[found % width], column, count.astype(float)


def round_lengths(lengths: np.ndarray) -> np.ndarray:
    """Return positive numbers to ten digits, so that sums of the same weights in another order are equal.

    Examples
    --------
    >>> round_lengths(np.array([0.1 + 0.2, 1234.5])).tolist()
    [0.3, 1234.5]
    """
    scale = 10.0 ** np.clip(9 - np.floor(np.log10(lengths)), -290, 290)
    rounded = np.round(lengths * scale) / scale
    return np.where(rounded > 0, rounded, lengths)  # where a number is as small as numbers get


def _find_distances(graph: GraphTable, weighted: bool) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield pairs of different nodes of one graph and their distances, for some first nodes at a time."""
    n = len(graph.labels)
    if len(graph.end) == 0:
        return
    adjacency = sparse.csr_array((graph.weight, graph.end, graph.start), shape=(n, n))
    step = max(1, SOURCES // n)
    for begin in range(0, n, step):
        sources = np.arange(begin, min(begin + step, n))
        distance = csgraph.dijkstra(adjacency, indices=sources, unweighted=not weighted)
        u, v = np.nonzero(np.isfinite(distance) & (distance > 0))
        found = distance[u, v]
        yield sources[u], v, round_lengths(found) if weighted else found
