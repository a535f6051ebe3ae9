"""Graphs as values: whatever form a graph is given in, its nodes become numbers and its labels are checked here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

from mercer.formula.data import short

from .parts import (
    check_all_or_none,
    read_adjacency,
    read_attributes,
    read_edge_labels,
    read_matrix,
    read_node_labels,
    read_weights,
)


@dataclass(frozen=True, repr=False)
class Graph:
    """A graph: the neighbours of every node; labels of nodes and edges, weights and attributes if there are any.

    Nodes are numbered from 0.  An edge is undirected if each of its ends lists the other; where only one does, it
    leads from that node to the other one.  A square table of zeros and ones is refused: as an adjacency matrix it means
    another graph than as lists of neighbours, so say which with ``Graph.from_matrix`` or a mapping.  (Of two rows only
    those with a diagonal of zeros are; ``[[1, 1], [0, 0]]`` lists the parallel edges of two nodes.)

    Parameters
    ----------
    neighbours : sequence of sequences of int, or mapping
        The neighbours of node 0, of node 1, and so on; or a mapping from each node, of any hashable type, to its
        neighbours.  A mapping from each node to a mapping from its neighbours to labels gives the labels of edges too.
    labels : sequence or mapping, optional
        A hashable label for each node; without labels all nodes look the same.
    edge_labels : mapping or sequence of sequences, optional
        A hashable label for each edge: by the pair of its ends, in either order, or in the form of ``neighbours``.
    weights : mapping or sequence of sequences, optional
        A positive number for each edge, in the forms of ``edge_labels``; without weights all edges weigh 1.  A graph
        whose edges all weigh 1 has none.
    attributes : array of shape (nodes, p), sequence or mapping, optional
        A row of numbers, or one number, for each node.

    Examples
    --------
    >>> from mercer.kernels import Graph
    >>> Graph([[1], [0, 2], [1]], labels=["H", "O", "H"])
    <Graph of 3 nodes and 2 edges, nodes labelled>
    >>> Graph({"a": {"b": "double"}, "b": {"a": "double"}})
    <Graph of 2 nodes and 1 edge, edges labelled>
    >>> Graph([[1], [0]], weights={(0, 1): 2.5}, attributes=[[0.0, 1.0], [2.0, 1.0]])
    <Graph of 2 nodes and 1 edge, edges weighted, nodes with 2 attributes>
    """

    neighbours: Any
    labels: Any = None
    edge_labels: Any = None
    weights: Any = None
    attributes: Any = None

    def __post_init__(self) -> None:
        nodes, lists, attached = read_adjacency(self.neighbours)
        numbers = {node: i for i, node in enumerate(nodes)}
        coded = []
        for node, listed in zip(nodes, lists, strict=True):
            try:
                coded.append(tuple([numbers[other] for other in listed]))
            except (KeyError, TypeError):
                unknown = next(other for other in listed if not (isinstance(other, Hashable) and other in numbers))
                raise ValueError(
                    f"Graph: node {node!r} has the neighbour {unknown!r}, which is not a node; the nodes are "
                    f"{short(list(nodes))}. Give every node an entry in neighbours, an empty one if it has none."
                ) from None
        if attached is not None and self.edge_labels is not None:
            raise ValueError("Graph: edge labels are given twice, inside neighbours and as edge_labels; give them once")
        edges = attached if attached is not None else read_edge_labels(self.edge_labels, nodes, lists)
        object.__setattr__(self, "neighbours", tuple(coded))
        object.__setattr__(self, "labels", read_node_labels(self.labels, nodes, numbers))
        object.__setattr__(self, "edge_labels", edges)
        object.__setattr__(self, "weights", read_weights(self.weights, nodes, lists))
        object.__setattr__(self, "attributes", read_attributes(self.attributes, nodes))

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[Sequence[Any]],
        labels: Any = None,
        *,
        directed: bool = False,
        weights: Sequence[float] | None = None,
        attributes: Any = None,
    ) -> Self:
        """Return the graph with given edges.

        Parameters
        ----------
        edges : iterable of (node, node) or (node, node, label)
            The edges; all have a label or none has.
        labels : sequence or mapping, optional
            Labels of the nodes, which then also says which nodes there are; without it the nodes are the ends of
            the edges, in the order in which they occur.
        directed : bool, default=False
            Whether edges lead from the first node to the second one only.
        weights : sequence of float, optional
            A positive number for each edge.
        attributes : array of shape (nodes, p), sequence or mapping, optional
            A row of numbers, or one number, for each node.

        Examples
        --------
        >>> from mercer.kernels import Graph
        >>> Graph.from_edges([("O", "H1"), ("O", "H2")], labels={"O": "O", "H1": "H", "H2": "H"})
        <Graph of 3 nodes and 2 edges, nodes labelled>
        >>> Graph.from_edges([("a", "b"), ("b", "c")], weights=[0.5, 2.0])
        <Graph of 3 nodes and 2 edges, edges weighted>
        """
        known = () if labels is None else labels if isinstance(labels, Mapping) else range(len(labels))
        neighbours: dict[Any, list[Any]] = {node: [] for node in known}
        kinds: dict[Any, list[Any]] = {node: [] for node in known}
        heavy: dict[Any, list[Any]] = {node: [] for node in known}
        edges, widths = list(edges), set()
        if weights is not None and len(weights) != len(edges):
            raise ValueError(f"Graph: {len(weights)} weights are given for {len(edges)} edges; give one for each")
        for number, edge in enumerate(edges):
            if not hasattr(edge, "__len__") or len(edge) not in (2, 3):
                raise ValueError(f"Graph: an edge is (node, node) or (node, node, label), got {edge!r}")
            widths.add(len(edge))
            u, v = edge[0], edge[1]
            for node in (u, v):
                if labels is not None and node not in neighbours:
                    raise ValueError(
                        f"Graph: the edge {tuple(edge)!r} ends at {node!r}, which has no label; labels must name every "
                        "node"
                    )
                for lists in (neighbours, kinds, heavy):
                    lists.setdefault(node, [])
            for start, end in ((u, v),) if directed or u == v else ((u, v), (v, u)):
                neighbours[start].append(end)
                kinds[start].append(edge[-1])
                heavy[start].append(1.0 if weights is None else weights[number])
        if len(widths) > 1:
            raise ValueError("Graph: some edges have labels and some have none; label all of them or none")
        return cls(
            neighbours, labels, list(kinds.values()) if widths == {3} else None, list(heavy.values()), attributes
        )

    @classmethod
    def from_matrix(cls, matrix: Any, labels: Any = None, *, attributes: Any = None) -> Self:
        """Return the graph with given adjacency matrix: an edge leads from i to j where entry (i, j) is not 0.

        Entries other than 0 and 1 are the weights of edges; an entry on the diagonal is an edge from a node to itself.
        Where entry (i, j) is not 0 and (j, i) is, the edge leads one way.

        Parameters
        ----------
        matrix : array or SciPy sparse matrix of shape (nodes, nodes)
            The adjacency matrix; symmetric for an undirected graph.  Negative numbers, infinity and NaN are refused.
        labels : sequence, optional
            A hashable label for each node.
        attributes : array of shape (nodes, p) or sequence, optional
            A row of numbers, or one number, for each node.

        Examples
        --------
        >>> from mercer.kernels import Graph
        >>> Graph.from_matrix([[0, 1], [1, 0]])
        <Graph of 2 nodes and 1 edge>
        >>> Graph.from_matrix([[0, 0.5], [0.5, 0]])
        <Graph of 2 nodes and 1 edge, edges weighted>
        """
        rows = read_matrix(matrix)
        ends, weights, bounds = rows.indices.tolist(), rows.data.tolist(), rows.indptr.tolist()
        parts = [slice(begin, end) for begin, end in pairwise(bounds)]
        neighbours = {i: ends[part] for i, part in enumerate(parts)}
        return cls(neighbours, labels, weights=[weights[part] for part in parts], attributes=attributes)

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        label: str = "label",
        edge_label: str = "label",
        *,
        weight: str | None = "weight",
        attributes: str | Sequence[str] | None = None,
    ) -> Self:
        """Return a networkx graph, with what its nodes and edges carry under some names, where they have it.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            The graph; in a directed one the neighbours of a node are its successors.
        label : str, default="label"
            The attribute of nodes that is their label.
        edge_label : str, default="label"
            The attribute of edges that is their label.
        weight : str or None, default="weight"
            The attribute of edges that is their weight; edges without it weigh 1, as in networkx.  None leaves
            weights out.
        attributes : str or sequence of str, optional
            The attribute of nodes that is their row of numbers, or several that are one number each.
        """
        carried = dict(graph.nodes(data=True))
        labels = {node: data[label] for node, data in carried.items() if label in data}
        check_all_or_none("node", len(labels), carried, label)
        neighbours: dict[Any, list[Any]] = {}
        kinds: list[list[Any]] = []
        weights: list[list[Any]] = []
        for node, adjacent in graph.adjacency():
            parallel = [
                (other, data)
                for other, found in adjacent.items()
                for data in (found.values() if graph.is_multigraph() else (found,))
            ]
            neighbours[node] = [other for other, _ in parallel]
            kinds.append([data[edge_label] for _, data in parallel if edge_label in data])
            weights.append([data.get(weight, 1.0) for _, data in parallel])
        check_all_or_none("edge", sum(map(len, kinds)), range(sum(map(len, neighbours.values()))), edge_label)
        rows = None if attributes is None else _collect_attributes(carried, attributes)
        return cls(neighbours, labels or None, kinds if any(kinds) else None, weights, rows)

    @property
    def n_nodes(self) -> int:
        """The number of nodes; a graph has no length, which scikit-learn would take for a number of columns."""
        return len(self.neighbours)

    def is_directed(self) -> bool:
        """Whether an edge leads one way, or weighs otherwise on the way back.

        Examples
        --------
        >>> from mercer.kernels import Graph
        >>> Graph([[1], [0]]).is_directed(), Graph([[1], []]).is_directed()
        (False, True)
        """
        arcs = self._count_arcs()
        return any(arcs[v, u, weight] != count for (u, v, weight), count in arcs.items())

    def _count_arcs(self) -> Counter[tuple[int, int, float]]:
        weights = self.weights or [[1.0] * len(listed) for listed in self.neighbours]
        rows = zip(self.neighbours, weights, strict=True)
        return Counter((u, v, w) for u, (listed, row) in enumerate(rows) for v, w in zip(listed, row, strict=True))

    def __repr__(self) -> str:
        arcs, directed = self._count_arcs(), self.is_directed()
        loops = sum(count for (u, v, _), count in arcs.items() if u == v)
        edges = arcs.total() if directed else (arcs.total() + loops) // 2
        kind = "directed edge" if directed else "edge"
        said = [f"<Graph of {self.n_nodes} node{'s' * (self.n_nodes != 1)} and {edges} {kind}{'s' * (edges != 1)}"]
        named = [name for name, given in (("nodes", self.labels), ("edges", self.edge_labels)) if given is not None]
        said += [f"{' and '.join(named)} labelled"] * bool(named) + ["edges weighted"] * (self.weights is not None)
        if self.attributes:
            width = len(self.attributes[0])
            said.append(f"nodes with {width} attribute{'s' * (width != 1)}")
        return ", ".join(said) + ">"


def _collect_attributes(carried: Mapping[Any, Mapping[str, Any]], names: str | Sequence[str]) -> dict[Any, Any]:
    """Return the row of numbers of each node of networkx."""
    several = [names] if isinstance(names, str) else list(names)
    for node, data in carried.items():
        missing = [name for name in several if name not in data]
        if missing:
            raise ValueError(f"Graph: node {node!r} has no attribute {missing[0]!r}; give it to all nodes")
    if isinstance(names, str):
        return {node: data[names] for node, data in carried.items()}
    return {node: [data[name] for name in several] for node, data in carried.items()}
