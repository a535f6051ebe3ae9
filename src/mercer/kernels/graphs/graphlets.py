"""Counts of small induced subgraphs, from a few sums over nodes, edges and pairs of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import combinations
from math import comb

import numpy as np
from scipy import sparse

from mercer.formula.parameters import Flag

from .book import Book
from .counts import sum_squares
from .kernels import CountKernel
from .table import GraphTable

Shape = tuple[int, ...]  # the sorted degrees, which tell all graphs of up to four nodes from each other
CONNECTED: dict[int, tuple[Shape, ...]] = {
    3: ((1, 1, 2), (2, 2, 2)),
    4: ((1, 1, 2, 2), (1, 1, 1, 3), (2, 2, 2, 2), (1, 2, 2, 3), (2, 2, 3, 3), (3, 3, 3, 3)),
}
OTHERS: dict[int, tuple[Shape, ...]] = {
    3: ((0, 0, 0), (0, 1, 1)),
    4: ((0, 0, 0, 0), (0, 0, 1, 1), (1, 1, 1, 1), (0, 1, 1, 2), (0, 2, 2, 2)),
}


class Graphlet(CountKernel):
    """The graphlet kernel: how often each graph of three or four nodes occurs inside of two graphs.

    k(G, H) = Σ_s c_s(G) c_s(H), where c_s counts the sets of ``size`` nodes whose edges among each other make the graph
    s, up to the names of nodes.  Directions, labels, weights, parallel edges and edges from a node to itself are not
    looked at.  Counts are exact, and grow like a power of the number of nodes, so that ``normalize`` is almost always
    wanted.  See Shervashidze et al., AISTATS (2009).

    Parameters
    ----------
    size : {3, 4}, default=4
        The number of nodes.
    connected : bool, default=True
        Whether only connected graphs count: two of three nodes and six of four, rather than four and eleven.
    missing : {"refuse", "own"}, default="refuse"
        Missing graphs (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    Examples
    --------
    >>> from mercer.kernels import Graph, Graphlet
    >>> square = Graph([[1, 3], [0, 2], [1, 3], [2, 0]])
    >>> triangle = Graph([[1, 2], [0, 2], [0, 1]])
    >>> Graphlet(size=3)([square, triangle])
    array([[16.,  0.],
           [ 0.,  1.]])
    """

    size: int = 4
    connected: Flag = True
    because = "k(G, H) = φ(G)ᵀφ(H), where φ counts the occurrences of each small graph, so Σ aᵢaⱼk = ‖Σ aᵢφ‖² ≥ 0"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.size, bool) or self.size not in CONNECTED:
            raise ValueError(f"Graphlet: size must be 3 or 4, got {self.size!r}")

    def counts(self, table: GraphTable, book: Book) -> tuple[sparse.csr_array, np.ndarray]:
        """Counts of the shapes that occur."""
        size = int(self.size)
        shapes = CONNECTED[size] + (() if self.connected else OTHERS[size])
        rows = np.array([count_shapes(_simplify(table.run(g, g + 1)), size, shapes) for g in range(len(table))])
        found = sparse.csr_array(rows.reshape(len(table), len(shapes)))
        return found[:, book.recall("shapes", np.flatnonzero(found.sum(axis=0)))], sum_squares(found)


def _simplify(graph: GraphTable) -> sparse.csr_array:
    """Return the zeros and ones of one graph without directions, and with no edge from a node to itself."""
    n = len(graph.labels)
    ends = graph.node_of_arc(), graph.end
    both = sparse.coo_array((np.ones(len(graph.end)), ends), shape=(n, n)).tocsr()
    both = both + both.T
    both.setdiag(0)
    both.eliminate_zeros()
    both.data[:] = 1.0
    return both


def count_shapes(A: sparse.csr_array, size: int, shapes: tuple[Shape, ...]) -> list[float]:
    """Return the numbers of induced subgraphs of some shapes.

    Subgraphs with these edges, and maybe more among their nodes, are easy to count.  Each induced subgraph holds a
    known number of them, so that the induced ones follow from the shape with the most edges down.
    """
    sums = SUMS[size](A)
    induced: dict[Shape, float] = {}
    for shape in sorted(sums, key=sum, reverse=True):
        inside = sum(count * spanned(other)[shape] for other, count in induced.items())
        induced[shape] = sums[shape] - inside
    return [induced[shape] for shape in shapes]


@cache
def spanned(shape: Shape) -> Counter[Shape]:
    """Return how many subgraphs with all nodes of a shape have each shape."""
    pairs = list(combinations(range(len(shape)), 2))
    choices = (edges for count in range(len(pairs) + 1) for edges in combinations(pairs, count))
    whole = next(edges for edges in choices if _find_shape(edges, len(shape)) == shape)
    parts = (edges for count in range(len(whole) + 1) for edges in combinations(whole, count))
    return Counter(_find_shape(edges, len(shape)) for edges in parts)


def _find_shape(edges: tuple[tuple[int, int], ...], size: int) -> Shape:
    degree = Counter(node for edge in edges for node in edge)
    return tuple(sorted(degree[node] for node in range(size)))


def _sum_threes(A: sparse.csr_array) -> dict[Shape, float]:
    n, degree = A.shape[0], A.sum(axis=1)
    edges, wedges = degree.sum() / 2, (degree * (degree - 1)).sum() / 2
    triangles = A.multiply(A @ A).sum() / 6
    return {(2, 2, 2): triangles, (1, 1, 2): wedges, (0, 1, 1): edges * max(n - 2, 0), (0, 0, 0): comb(n, 3)}


def _sum_fours(A: sparse.csr_array) -> dict[Shape, float]:
    n, degree = A.shape[0], A.sum(axis=1)
    edges, wedges = degree.sum() / 2, (degree * (degree - 1)).sum() / 2
    common = (A @ A).tocsr()  # paths of two edges between nodes
    on_edges = A.multiply(common).tocsr()
    at_node = on_edges.sum(axis=1) / 2  # triangles
    triangles = at_node.sum() / 3
    common.setdiag(0)
    groups = [A.indices[A.indptr[v] : A.indptr[v + 1]] for v in np.flatnonzero(at_node >= 3)]  # around a clique
    cliques = sum(_count_triangles(A[nodes][:, nodes]) for nodes in groups)
    return {
        (3, 3, 3, 3): cliques / 4,
        (2, 2, 3, 3): (on_edges.data * (on_edges.data - 1)).sum() / 4,
        (1, 2, 2, 3): (at_node * (degree - 2)).sum(),
        (2, 2, 2, 2): (common.data * (common.data - 1)).sum() / 8,
        (1, 1, 1, 3): (degree * (degree - 1) * (degree - 2)).sum() / 6,
        (1, 1, 2, 2): ((degree - 1) @ (A @ (degree - 1)) / 2 if n else 0.0) - 3 * triangles,
        (0, 2, 2, 2): triangles * max(n - 3, 0),
        (0, 1, 1, 2): wedges * max(n - 3, 0),
        (1, 1, 1, 1): edges * (edges - 1) / 2 - wedges,
        (0, 0, 1, 1): edges * comb(max(n - 2, 0), 2),
        (0, 0, 0, 0): comb(n, 4),
    }


def _count_triangles(A: sparse.csr_array) -> float:
    return float(A.multiply(A @ A).sum()) / 6


SUMS: dict[int, Callable[[sparse.csr_array], dict[Shape, float]]] = {3: _sum_threes, 4: _sum_fours}
