"""Kernels on graphs that compare shortest paths by other kernels: their lengths, or the attributes of their nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from mercer.formula.data import Rows
from mercer.formula.parameters import Flag
from mercer.formula.statistics import Prepared

from ..base import Inner
from ..categorical import Overlap
from ..dot import Linear
from ..prepared import Sliced
from ..radial import Gaussian
from ..sets import PairSum
from .hashing import require_attributes
from .lengths import find_paths
from .table import GraphKernel, GraphTable, read_graphs

ENTRIES = 2**20  # of the matrix of lengths that are compared at a time


class ShortestPathLengths(GraphKernel):
    """The shortest-path kernel with a kernel of lengths.

    k(G, H) = Σ_{u≠v∈G} Σ_{s≠t∈H} 1[ℓ(u) = ℓ(s)] 1[ℓ(v) = ℓ(t)] κ(d(u, v), d(s, t)) over ordered pairs of nodes of which
    the first reaches the second, where d is the least sum of the weights of edges, or the least number of edges.

    Parameters
    ----------
    lengths : Kernel, default=Gaussian(1.0)
        The kernel κ of two lengths, points with one feature.
    weighted : bool, default=True
        Whether d is a sum of weights rather than a number of edges.
    missing : {"refuse", "own"}, default="refuse"
        Missing graphs (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    See Also
    --------
    ShortestPath : Compares distances by equality, and has sparse features.

    Notes
    -----
    Lengths are compared once for each pair of labels, so that the cost is the square of the number of different
    lengths there are with the same labels.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Graph, ShortestPathLengths
    >>> short, long = (Graph.from_edges([(0, 1)], weights=[length]) for length in (1.5, 2.5))
    >>> ShortestPathLengths(Gaussian(1.0))([short, long]).round(3)
    array([[4.   , 2.426],
           [2.426, 4.   ]])
    """

    lengths: Inner = Gaussian(1.0)
    weighted: Flag = True
    because = (
        "k(G, H) = Σ κ(d, d′) over pairs of paths whose ends have the same labels: a sum over labels of kernels of "
        "sets of lengths, Φ(G)ᵀΦ(H) with Φ(G) = Σ φ(d)"
    )

    def prepare(self, X: Rows, Z: Rows) -> tuple[PathRows, PathRows]:
        """Find the paths of all graphs."""
        table, n = read_graphs(X, None if Z is X else Z, repr(self))
        paths = find_paths(table, bool(self.weighted))
        known, place = np.unique(paths.lengths, return_inverse=True)
        few = 0 < len(known) ** 2 <= ENTRIES
        values = self.lengths(known[:, None]) if few else None
        rows = PathRows(paths.counts, paths.ends, known, place, values)
        return (rows, rows) if Z is X else (rows[slice(0, n)], rows[slice(n, len(rows))])

    def block(self, A: PathRows, B: PathRows) -> np.ndarray:
        """Compare the lengths of paths with the same labels at their ends."""
        out = np.zeros((len(A), len(B)))
        left, right = A.counts.tocsc(), B.counts.tocsc()
        mine, other = (np.flatnonzero(np.diff(side.indptr)) for side in (left, right))
        for ends in np.intersect1d(A.ends[mine], A.ends[other]):
            rows, columns = mine[A.ends[mine] == ends], other[A.ends[other] == ends]
            step = max(1, ENTRIES // len(columns))
            for begin in range(0, len(rows), step):
                some = rows[begin : begin + step]
                out += (left[:, some] @ self._compare(A, some, columns)) @ right[:, columns].toarray().T
        return out

    def _compare(self, rows: PathRows, some: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return κ between the lengths of some kinds of paths and of others."""
        if rows.values is not None:
            return np.asarray(rows.values[np.ix_(rows.place[some], rows.place[others])])
        left, right = (rows.known[rows.place[kinds]][:, None] for kinds in (some, others))
        return np.asarray(self.lengths(left, right))


@dataclass(frozen=True, eq=False)
class PathRows(Sliced):
    """How many paths of each kind graphs have."""

    counts: sparse.csr_array
    ends: np.ndarray  # the number of the pair of labels of each kind
    known: np.ndarray  # the different lengths
    place: np.ndarray  # which of them each kind has
    values: np.ndarray | None  # the kernel of all pairs of lengths, if they are few
    along = ("counts",)


class GraphHopper(GraphKernel):
    """The GraphHopper kernel: shortest paths with as many edges are compared node by node.

    k(G, H) = Σ_π Σ_π′ Σ_j 1[ℓ(π_j) = ℓ(π′_j)] base(a(π_j), a(π′_j)) over all shortest paths π of G and π′ of H with the
    same number of edges, single nodes included, where a are the attributes of nodes and ℓ their labels, if there are
    any.  Weights and labels of edges are not looked at.  See Feragen et al., Advances in Neural Information Processing
    Systems 26 (2013).

    Parameters
    ----------
    base : Kernel, default=Gaussian(1.0)
        The kernel of two rows of attributes.
    missing : {"refuse", "own"}, default="refuse"
        Missing graphs (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    Notes
    -----
    With M_jl(v), how often v is node j of a shortest path of l edges, the kernel is Σ_{u∈G} Σ_{v∈H} ⟨M(u), M(v)⟩
    base(u, v): its cost is that of the base kernel on all pairs of nodes, after the cube of the number of nodes of each
    graph.  Each node keeps (l + 1)² numbers, with l the number of edges of the longest shortest path of all graphs.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Graph, GraphHopper
    >>> pair = Graph([[1], [0]], attributes=[[0.0], [1.0]])
    >>> GraphHopper(Gaussian(1.0))([pair, Graph([[]], attributes=[[0.0]])]).round(3)
    array([[9.639, 1.607],
           [1.607, 1.   ]])
    """

    base: Inner = Gaussian(1.0)
    because = (
        "k(G, H) = Σ ⟨M(u), M(v)⟩ 1[ℓ(u) = ℓ(v)] base(u, v) over pairs of nodes: products of kernels, summed over all "
        "pairs of two sets"
    )

    def prepare(self, X: Rows, Z: Rows) -> tuple[Prepared, Prepared]:
        """Make a bag of nodes of every graph, with the columns that the kernel of two nodes looks at."""
        table, n = read_graphs(X, None if Z is X else Z, repr(self))
        bags = build_bags(table, repr(self))
        compare = self._compare(table, bags[0].shape[1])
        left = bags[:n]
        return compare.prepare(left, left if Z is X else bags[n:])

    def _compare(self, table: GraphTable, columns: int) -> PairSum:
        width = table.attributes.shape[1]
        alike = Linear().on(list(range(1 + width, columns))) * Overlap().on([0])
        # Without attributes there are no nodes at all, so that nothing is left to compare.
        return PairSum(alike * self.base.on(list(range(1, 1 + width))) if width else alike)

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Sum over pairs of nodes."""
        return SUM.block(A, B)

    def block_diag(self, A: Prepared) -> np.ndarray:
        """Sum over pairs of nodes of the same graph."""
        return SUM.block_diag(A)

    def block_distance(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Sum over pairs of nodes, in the form that cancels less."""
        return SUM.block_distance(A, B)


SUM = PairSum(Linear())  # what is summed is in the bags


def build_bags(table: GraphTable, owner: str) -> list[np.ndarray]:
    """Return a row for each node of each graph: the number of its label, its attributes, and its visits M."""
    attributes = require_attributes(table, owner)
    parts = [count_visits(table.run(g, g + 1)) for g in range(len(table))]
    longest = max(part.shape[1] for part in parts)
    bags = []
    for g, visits in enumerate(parts):
        nodes = slice(table.first[g], table.first[g + 1])
        n = len(visits)
        wide = np.zeros((max(n, 1), longest, longest))  # a graph without nodes has one that no path visits
        wide[:n, : visits.shape[1], : visits.shape[1]] = visits
        bag = np.zeros((max(n, 1), 1 + attributes.shape[1]))
        bag[:n, 0], bag[:n, 1:] = table.labels[nodes], attributes[nodes]
        bags.append(np.column_stack([bag, wide.reshape(len(wide), -1)]))
    return bags


def count_visits(graph: GraphTable) -> np.ndarray:
    """Return how often each node is node j of a shortest path of l edges, of shape (nodes, longest + 1, longest + 1).

    Examples
    --------
    >>> from mercer.kernels import Graph
    >>> from mercer.kernels.graphs.table import read_graphs
    >>> path, _ = read_graphs([Graph([[1], [0, 2], [1]])], None, "a path")
    >>> count_visits(path)[1]  # the node in the middle
    array([[1., 2., 0.],
           [0., 2., 2.],
           [0., 0., 0.]])
    """
    n = len(graph.labels)
    if n == 0:
        return np.zeros((0, 1, 1))
    steps = sparse.csr_array((np.ones(len(graph.end)), graph.end, graph.start), shape=(n, n)).toarray()
    distance = csgraph.shortest_path(steps, unweighted=True) if n > 1 else np.zeros((1, 1))
    longest = int(distance[np.isfinite(distance)].max())
    number = np.eye(n)  # of shortest paths between nodes: those of one edge less, and an edge
    np.fill_diagonal(steps, 0.0)
    for length in range(1, longest + 1):
        further = np.where(distance == length - 1, number, 0.0) @ steps
        number = np.where(distance == length, further, number)
    number = np.where(np.isfinite(distance), number, 0.0)
    visits = np.zeros((n, longest + 1, longest + 1))
    for v in range(n):
        on_path = distance[:, v, None] + distance[None, v, :] == distance
        u, w = np.nonzero(on_path & np.isfinite(distance))
        places = distance[u, v].astype(int), distance[u, w].astype(int)
        np.add.at(visits[v], places, number[u, v] * number[v, w])
    return visits
