"""The random walk kernel on graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from mercer.formula.data import Rows
from mercer.formula.parameters import Positive

from ..prepared import Sliced
from .table import GraphKernel, GraphTable, read_graphs

PAIRS = 2**20  # pairs of nodes that walks are counted on at a time


class RandomWalk(GraphKernel):
    """The geometric random walk kernel, for small graphs.

    k(G, H) = Σ_{l=0}^∞ λˡ · #{pairs of walks of length l in G and H with the same labels}, where nodes and edges along
    both walks must have the same labels in the same order.  See Gärtner, Flach and Wrobel, COLT (2003).

    Parameters
    ----------
    decay : float, default=0.1
        The factor λ for each further step.  The sum converges if λ < 1/ρ², where ρ is the largest eigenvalue of the
        adjacency matrix of any of the graphs, at most their largest degree; a larger λ is refused.
    missing : {"refuse", "own"}, default="refuse"
        Missing graphs (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    Notes
    -----
    Walks are counted on all pairs of nodes, by one graph against many others at a time: the cost of a value is the
    number of nodes of one graph times the number of edges of the other, for each of about log ε / log λρ² steps, half
    as many if all edges are undirected.  The sum ends where a bound on all further walks is below rounding.

    Examples
    --------
    >>> from mercer.kernels import Graph, RandomWalk
    >>> pair, triangle = Graph([[1], [0]]), Graph([[1, 2], [0, 2], [0, 1]])
    >>> RandomWalk(decay=0.125)([pair, triangle])
    array([[ 4.57142857,  8.        ],
           [ 8.        , 18.        ]])
    """

    decay: Positive = 0.1
    because = (
        "k(G, H) = Σ λˡ c_w(G) c_w(H) over sequences w of labels of any length l, where c_w counts the walks with "
        "labels w: an inner product of the features λ^(l/2) c_w, wherever it converges"
    )

    def prepare(self, X: Rows, Z: Rows) -> tuple[WalkRows, WalkRows]:
        """Read the graphs and make sure that sums over their walks converge."""
        table, n = read_graphs(X, None if Z is X else Z, repr(self))
        radius = max(_find_spectral_radius(table.run(g, g + 1)) for g in range(len(table)))
        rate = float(self.decay) * radius**2
        if rate >= 1 - 1e-9:
            raise ValueError(
                f"{self!r}: the sum over walks does not converge on these graphs, whose adjacency matrices have "
                f"eigenvalues up to {radius:.4g}; use a decay below 1/{radius:.4g}² = {radius**-2:.4g}, or "
                "WeisfeilerLehman, which has no such bound"
            )
        undirected = all((step != step.T).nnz == 0 for step in _build_adjacency(table).values())
        rows = WalkRows(table, np.arange(len(table)), rate, undirected)
        return (rows, rows) if Z is X else (rows[slice(0, n)], rows[slice(n, len(table))])

    def block(self, A: WalkRows, B: WalkRows) -> np.ndarray:
        """Walks of every graph of A against many of B at a time, and of each pair once where B begins with A."""
        out = np.empty((len(A), len(B)))
        twice = A.table is B.table and np.array_equal(A.which, B.which[: len(A)])
        for i in range(len(A)):
            first = i if twice else 0
            graph = A[i : i + 1].graphs()
            for columns, some in B[first:].pieces(PAIRS // max(len(graph.labels), 1)):
                out[i, first + columns.start : first + columns.stop] = self._sum_walks(graph, some, A)
            if twice:
                out[i + 1 : len(A), i] = out[i, i + 1 : len(A)]
        return out

    def block_diag(self, A: WalkRows) -> np.ndarray:
        """Walks of every graph against itself."""
        graphs = (A[i : i + 1].graphs() for i in range(len(A)))
        return np.array([self._sum_walks(graph, graph, A)[0] for graph in graphs])

    def _sum_walks(self, graph: GraphTable, others: GraphTable, rows: WalkRows) -> np.ndarray:
        """Return the sum over walks of one graph against each of the others."""
        same = (others.labels[:, None] == graph.labels[None, :]).astype(float)
        own = {kind: step.toarray().T for kind, step in _build_adjacency(graph).items()}
        shared = [(step, own[kind]) for kind, step in _build_adjacency(others).items() if kind in own]
        owner, weight = others.graph_of_node(), float(self.decay) * same
        rate = rows.rate**2
        walks, total = same, np.zeros(len(others))  # from each pair of nodes on, times the decay for each step
        tail = Tail(same, owner, len(others))
        while True:
            further = weight * sum(((step @ walks) @ back for step, back in shared), start=0.0)
            # Where walks can be reversed, those of 2t and 2t + 1 steps are two walks of t or t + 1 that meet.
            pairs = walks * (walks + further) if rows.undirected else walks
            added = np.bincount(owner, pairs.sum(axis=1), minlength=len(others))
            total += added
            # Walks to and fro fade at the rate of the largest eigenvalue, at most; others may grow for long before.
            left = added * rate / (1 - rate) if rows.undirected else tail.bound(further)
            if not (left > 1e-16 * total).any():
                return total
            walks = further


class Tail:
    """A bound on what all further steps add, for walks that cannot be reversed.

    If walks of p more steps are at most r < 1 times as many, from each pair of nodes on, then so are those of 2p more
    steps of these, and so on: all further ones are at most r/(1 − r) times the last p steps' together.  For one step
    that is a norm of the adjacency matrix; its powers come closer to the largest eigenvalue, so p grows.
    """

    def __init__(self, walks: np.ndarray, owner: np.ndarray, n: int) -> None:
        self.owner, self.n = owner, n
        self.mark, self.block = walks, np.zeros(n)
        self.steps, self.stride = 0, 1

    def bound(self, walks: np.ndarray) -> np.ndarray:
        """Return a bound for each graph on the sum over walks of one more step and of all further ones."""
        ratio = np.zeros(self.n)
        added = np.bincount(self.owner, walks.sum(axis=1), minlength=self.n)
        self.block = self.block + added
        with np.errstate(all="ignore"):  # overflow is reported once, on the result, in words
            grown = np.divide(walks, self.mark, out=np.zeros_like(walks), where=self.mark > 0)
            np.maximum.at(ratio, self.owner, grown.max(axis=1, initial=0.0))
            left = np.where(ratio < 1, added + self.block * ratio / (1 - ratio), np.inf)
        self.steps += 1
        if self.steps == self.stride:
            self.mark, self.block, self.steps, self.stride = walks, np.zeros(self.n), 0, 2 * self.stride
        return left


@dataclass(frozen=True, eq=False)
class WalkRows(Sliced):
    """Some graphs of a table, the ratio at which sums over their walks converge, and whether walks can be reversed."""

    table: GraphTable
    which: np.ndarray
    rate: float
    undirected: bool
    along = ("which",)

    def graphs(self) -> GraphTable:
        """Return the graphs, which must follow each other in the table."""
        return self.table.run(self.which[0], self.which[-1] + 1)

    def pieces(self, nodes: int) -> Iterator[tuple[slice, GraphTable]]:
        """Yield runs of graphs that follow each other in the table, of about so many nodes in all, and their place."""
        sizes = np.diff(self.table.first)[self.which]
        full = np.diff(np.cumsum(sizes) // max(nodes, 1)) > 0
        bounds = [0, *(np.flatnonzero((np.diff(self.which) != 1) | full) + 1).tolist(), len(self.which)]
        for begin, end in pairwise(bounds):
            yield slice(begin, end), self[begin:end].graphs()


def _build_adjacency(table: GraphTable) -> dict[int, sparse.csr_array]:
    """Return the adjacency matrix of the arcs with each label; parallel arcs are counted."""
    source, n = table.node_of_arc(), len(table.labels)
    matrices = {}
    for kind in np.unique(table.kind):
        arcs = table.kind == kind
        ends = source[arcs], table.end[arcs]
        matrices[int(kind)] = sparse.coo_array((np.ones(len(ends[0])), ends), shape=(n, n)).tocsr()
    return matrices


def _find_spectral_radius(graph: GraphTable) -> float:
    """Return the largest eigenvalue of the adjacency matrix of one graph."""
    if len(graph.end) == 0:
        return 0.0
    n = len(graph.labels)
    matrix = sparse.coo_array((np.ones(len(graph.end)), (graph.node_of_arc(), graph.end)), shape=(n, n)).tocsr()
    if (matrix != matrix.T).nnz == 0:
        return float(np.linalg.eigvalsh(matrix.toarray())[-1])
    # Walks that never come back have no eigenvalue, but rounding would give them one.
    count, component = connected_components(matrix, connection="strong")
    groups = np.split(np.argsort(component, kind="stable"), np.cumsum(np.bincount(component, minlength=count))[:-1])
    blocks = (matrix[nodes][:, nodes].toarray() for nodes in groups)
    return max(float(np.abs(np.linalg.eigvals(block)).max()) for block in blocks)
