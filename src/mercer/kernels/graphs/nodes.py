"""Kernels on the nodes of one graph: how much of something spreads from one node to another.

Both are functions of the Laplacian L = D − W of the graph, with the weights W of edges and the sums D of them at each
node.  Its eigenvectors are the waves of the graph, and its eigenvalues λ ≥ 0 say how fast they oscillate: a kernel
Σ r(λ) u uᵀ with a positive r that falls in λ calls functions simple that change little along edges.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from mercer.formula.notation.tree import Indexed, Letter, Listed, Node
from mercer.formula.parameters import Flag, Positive, freeze
from mercer.linalg.decomposition import decompose

from ..base import Domain
from ..categorical import EntryKernel, read_names
from ..theorem import strictly
from .data import Graph
from .table import as_graph, is_networkx

POSITIVE = strictly("K has the eigenvalues r(λ) > 0, and so have its principal submatrices")


class NodeKernel(EntryKernel):
    """A kernel on the nodes of one graph that is a function of its Laplacian; subclasses say which."""

    thing = "node"
    domain: ClassVar[Domain] = "categories"
    definite = POSITIVE

    if TYPE_CHECKING:  # fields of subclasses, in an order of theirs
        graph: Any
        normalized: bool
        nodes: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.nodes
        if names is None and is_networkx(self.graph):
            names = tuple(name for name, _ in self.graph.nodes(data=True))
        elif names is None and isinstance(self.graph, Mapping):
            names = tuple(self.graph)
        graph = as_graph(self.graph, 0, type(self).__name__)
        if graph.n_nodes == 0:
            raise ValueError(f"{type(self).__name__}: the graph has no nodes, so that there is nothing to compare")
        if graph.is_directed():
            raise ValueError(
                f"{type(self).__name__}: the graph is directed, so that its Laplacian is not symmetric; add the edges "
                "back, as graph.to_undirected() of networkx or matrix + matrix.T do"
            )
        if names is not None:
            names = read_names(names, graph.n_nodes, type(self).__name__, "nodes")
        object.__setattr__(self, "graph", freeze(graph))
        object.__setattr__(self, "nodes", None if names == tuple(range(graph.n_nodes)) else names)

    def spread(self, laplacian: np.ndarray) -> np.ndarray:
        """Return K from L."""
        raise NotImplementedError

    @cached_property
    def _entries(self) -> np.ndarray:
        return self.spread(build_laplacian(self.graph, bool(self.normalized)))

    def entries(self) -> np.ndarray:
        """K, which is computed once."""
        return self._entries

    def list_names(self) -> tuple[Any, ...]:
        """The nodes."""
        return tuple(range(self.graph.n_nodes)) if self.nodes is None else tuple(self.nodes)

    def notation(self, x: Node, z: Node) -> Node:
        """An entry of the matrix."""
        return Indexed(Letter("K"), Listed((x, z)), single=True)


class Diffusion(NodeKernel):
    """The diffusion kernel on the nodes of a graph, K = exp(−βL).

    Entry (u, v) is how much heat is at v some time β after a unit of it was put on u, where it flows along edges,
    faster along those with more weight; nodes in different parts of a graph have 0.  K is a dense matrix of all nodes,
    found once from eigenvectors.  See Kondor and Lafferty, ICML (2002).

    Parameters
    ----------
    graph : Graph, networkx graph, adjacency matrix, lists or mapping
        An undirected graph; edges from a node to itself change nothing.
    beta : float, default=1.0
        The time β.
    normalized : bool, default=False
        Whether L is D^−½(D − W)D^−½ rather than D − W, so that nodes with many edges do not lose more.
    nodes : sequence, optional
        The names of the nodes; without it those of a networkx graph or mapping, and 0, 1, … otherwise.

    See Also
    --------
    RegularizedLaplacian : Falls slower with the distance.

    Examples
    --------
    >>> from mercer.kernels import Diffusion
    >>> k = Diffusion({"a": ["b"], "b": ["a", "c"], "c": ["b"]}, beta=0.5)
    >>> k(["a"], ["a", "b", "c"]).round(3)
    array([[0.674, 0.259, 0.067]])
    """

    graph: Any
    beta: Positive = 1.0
    normalized: Flag = False
    nodes: Any = None
    because = "K = Σ e^(−βλ) u uᵀ over the eigenvectors u of the symmetric Laplacian, with e^(−βλ) > 0"

    def spread(self, laplacian: np.ndarray) -> np.ndarray:
        """By the eigenvectors of L."""
        values, vectors = decompose(laplacian)
        half = vectors * np.exp(-0.5 * float(self.beta) * np.maximum(values, 0.0))
        return np.asarray(half @ half.T)


class RegularizedLaplacian(NodeKernel):
    """The regularised Laplacian kernel on the nodes of a graph, K = (I + sL)⁻¹.

    Its norm is fᵀK⁻¹f = Σ_v f(v)² + s Σ_{edges uv} w_uv (f(u) − f(v))²: functions are simple if they differ little
    along edges.  K is the covariance of a Gaussian Markov random field, a dense matrix of all nodes.  See Smola and
    Kondor, COLT (2003).

    Parameters
    ----------
    graph : Graph, networkx graph, adjacency matrix, lists or mapping
        An undirected graph; edges from a node to itself change nothing.
    strength : float, default=1.0
        How much differences along edges count, s.
    normalized : bool, default=False
        Whether L is D^−½(D − W)D^−½ rather than D − W.
    nodes : sequence, optional
        The names of the nodes; without it those of a networkx graph or mapping, and 0, 1, … otherwise.

    See Also
    --------
    Diffusion : Falls faster with the distance.

    Examples
    --------
    >>> from mercer.kernels import Graph, RegularizedLaplacian
    >>> k = RegularizedLaplacian(Graph([[1], [0, 2], [1]]))
    >>> k([0], [0, 1, 2])
    array([[0.625, 0.25 , 0.125]])
    """

    graph: Any
    strength: Positive = 1.0
    normalized: Flag = False
    nodes: Any = None
    because = "K = Σ (1 + sλ)⁻¹ u uᵀ over the eigenvectors u of the symmetric Laplacian, with λ ≥ 0"

    def spread(self, laplacian: np.ndarray) -> np.ndarray:
        """By the Cholesky factor of I + sL."""
        factor = np.linalg.cholesky(np.eye(len(laplacian)) + float(self.strength) * laplacian)
        half = np.linalg.inv(factor)
        return np.asarray(half.T @ half)


def build_laplacian(graph: Graph, normalized: bool = False) -> np.ndarray:
    """Return D − W of an undirected graph as a dense matrix, or D^−½(D − W)D^−½ with 0 for nodes without edges.

    Examples
    --------
    >>> from mercer.kernels import Graph
    >>> build_laplacian(Graph([[1], [0]], weights=[[3.0], [3.0]]))
    array([[ 3., -3.],
           [-3.,  3.]])
    """
    n = graph.n_nodes
    source = np.repeat(np.arange(n), [len(listed) for listed in graph.neighbours])
    end = np.array([other for listed in graph.neighbours for other in listed], dtype=np.int64)
    rows = graph.weights or [[1.0] * len(listed) for listed in graph.neighbours]
    weight = np.array([value for row in rows for value in row], dtype=float)
    between = source != end
    W = sparse.coo_array((weight[between], (source[between], end[between])), shape=(n, n)).toarray()
    degree = W.sum(axis=1)
    L = np.diag(degree) - W
    if not normalized:
        return L
    scale = np.where(degree > 0, 1.0 / np.sqrt(np.where(degree > 0, degree, 1.0)), 0.0)
    return np.asarray(scale[:, None] * L * scale[None, :])
