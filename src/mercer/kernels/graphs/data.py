"""Graphs as values: whatever form a graph is given in, its nodes become numbers and its labels are checked here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.formula.data import short


@dataclass(frozen=True, repr=False)
class Graph:
    """A graph: the neighbours of every node, and labels of nodes and edges if there are any.

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

    Examples
    --------
    >>> from mercer.kernels import Graph
    >>> Graph([[1], [0, 2], [1]], labels=["H", "O", "H"])
    <Graph of 3 nodes and 2 edges, nodes labelled>
    >>> Graph({"a": {"b": "double"}, "b": {"a": "double"}})
    <Graph of 2 nodes and 1 edge, edges labelled>
    """

    neighbours: Any
    labels: Any = None
    edge_labels: Any = None

    def __post_init__(self) -> None:
        nodes, lists, attached = _read_adjacency(self.neighbours)
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
        edges = attached if attached is not None else _read_edge_labels(self.edge_labels, nodes, lists)
        object.__setattr__(self, "neighbours", tuple(coded))
        object.__setattr__(self, "labels", _read_node_labels(self.labels, nodes, numbers))
        object.__setattr__(self, "edge_labels", edges)

    @classmethod
    def from_edges(cls, edges: Iterable[Sequence[Any]], labels: Any = None, *, directed: bool = False) -> Self:
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

        Examples
        --------
        >>> from mercer.kernels import Graph
        >>> Graph.from_edges([("O", "H1"), ("O", "H2")], labels={"O": "O", "H1": "H", "H2": "H"})
        <Graph of 3 nodes and 2 edges, nodes labelled>
        """
        known = () if labels is None else labels if isinstance(labels, Mapping) else range(len(labels))
        neighbours: dict[Any, list[Any]] = {node: [] for node in known}
        kinds: dict[Any, list[Any]] = {node: [] for node in known}
        widths = set()
        for edge in edges:
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
                neighbours.setdefault(node, [])
                kinds.setdefault(node, [])
            for start, end in ((u, v),) if directed or u == v else ((u, v), (v, u)):
                neighbours[start].append(end)
                kinds[start].append(edge[-1])
        if len(widths) > 1:
            raise ValueError("Graph: some edges have labels and some have none; label all of them or none")
        return cls(neighbours, labels, list(kinds.values()) if widths == {3} else None)

    @classmethod
    def from_matrix(cls, matrix: Any, labels: Any = None) -> Self:
        """Return the graph with given adjacency matrix: an edge leads from i to j where entry (i, j) is not 0.

        Parameters
        ----------
        matrix : array of shape (nodes, nodes)
            The adjacency matrix; symmetric for an undirected graph.
        labels : sequence, optional
            A hashable label for each node.

        Examples
        --------
        >>> from mercer.kernels import Graph
        >>> Graph.from_matrix([[0, 1], [1, 0]])
        <Graph of 2 nodes and 1 edge>
        """
        table = np.asarray(matrix)
        if table.ndim != 2 or table.shape[0] != table.shape[1] or table.dtype.kind not in "biuf":
            raise ValueError(f"Graph: an adjacency matrix is a square table of numbers, got {short(matrix)}")
        return cls({i: np.flatnonzero(row).tolist() for i, row in enumerate(table)}, labels)

    @classmethod
    def from_networkx(cls, graph: Any, label: str = "label", edge_label: str = "label") -> Self:
        """Return a networkx graph, with the attributes of nodes and edges to be used as labels, where they have them.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            The graph; in a directed one the neighbours of a node are its successors.
        label : str, default="label"
            The attribute of nodes that is their label.
        edge_label : str, default="label"
            The attribute of edges that is their label.
        """
        attributes = dict(graph.nodes(data=True))
        labels = {node: data[label] for node, data in attributes.items() if label in data}
        _check_all_or_none("node", len(labels), attributes, label)
        neighbours: dict[Any, list[Any]] = {}
        kinds: list[list[Any]] = []
        for node, adjacent in graph.adjacency():
            parallel = [
                (other, data)
                for other, found in adjacent.items()
                for data in (found.values() if graph.is_multigraph() else (found,))
            ]
            neighbours[node] = [other for other, _ in parallel]
            kinds.append([data[edge_label] for _, data in parallel if edge_label in data])
        _check_all_or_none("edge", sum(map(len, kinds)), range(sum(map(len, neighbours.values()))), edge_label)
        return cls(neighbours, labels or None, kinds if any(kinds) else None)

    @property
    def n_nodes(self) -> int:
        """The number of nodes; a graph has no length, which scikit-learn would take for a number of columns."""
        return len(self.neighbours)

    def __repr__(self) -> str:
        arcs = Counter((u, v) for u, listed in enumerate(self.neighbours) for v in listed)
        undirected = all(arcs[v, u] == count for (u, v), count in arcs.items())
        loops = sum(count for (u, v), count in arcs.items() if u == v)
        edges = (arcs.total() + loops) // 2 if undirected else arcs.total()
        kind = "edge" if undirected else "directed edge"
        size = f"{self.n_nodes} node{'s' * (self.n_nodes != 1)} and {edges} {kind}{'s' * (edges != 1)}"
        named = [name for name, given in (("nodes", self.labels), ("edges", self.edge_labels)) if given is not None]
        return f"<Graph of {size}" + (f", {' and '.join(named)} labelled>" if named else ">")


def _read_adjacency(given: Any) -> tuple[list[Any], list[list[Any]], tuple[tuple[Any, ...], ...] | None]:
    """Return nodes, their neighbours, and the labels of edges if neighbours are mapped to them."""
    if isinstance(given, str | bytes) or not isinstance(given, Mapping | Sequence):
        raise TypeError(
            f"Graph: neighbours must be a list of lists of node numbers or a mapping from nodes to their neighbours, "
            f"got {short(given)}; Graph.from_edges takes a list of edges"
        )
    if not isinstance(given, Mapping) and _is_matrix(given):
        raise ValueError(
            f"Graph: {short(given)} has as many entries in each row as there are rows, all of them 0 or 1, which is an "
            "adjacency matrix as well as lists of neighbours; use Graph.from_matrix(…) for a matrix, or the mapping "
            "Graph(dict(enumerate(…))) for neighbours"
        )
    nodes = list(given) if isinstance(given, Mapping) else list(range(len(given)))
    values = list(given.values() if isinstance(given, Mapping) else given)
    for node, listed in zip(nodes, values, strict=True):
        if isinstance(listed, str | bytes) or not isinstance(listed, Iterable):
            raise TypeError(f"Graph: the neighbours of node {node!r} must be a list of nodes, got {listed!r}")
    mapped = [isinstance(listed, Mapping) for listed in values]
    lists = [list(listed) for listed in values]
    if not any(mapped):
        return nodes, lists, None
    if not all(mapped):
        wrong = nodes[mapped.index(False)]
        raise TypeError(f"Graph: some nodes map their neighbours to labels, but node {wrong!r} only lists them")
    return nodes, lists, tuple(tuple(_check_label(kind, "edge") for kind in listed.values()) for listed in values)


def _is_matrix(given: Sequence[Any]) -> bool:
    """Whether rows are as many as each has entries, and these are 0 or 1, with no loops if there are two rows only.

    From three rows on such lists would name a neighbour twice.  Tuples of tuples are how graphs keep their neighbours.
    """
    if isinstance(given, tuple) and all(isinstance(row, tuple) for row in given):
        return False
    rows = [list(row) if isinstance(row, list | tuple | np.ndarray) else [] for row in given]
    if len(rows) < 2 or any(len(row) != len(rows) for row in rows):
        return False
    flags = all(isinstance(entry, int | float | np.generic) and entry in (0, 1) for row in rows for entry in row)
    return flags and (len(rows) > 2 or not any(row[i] for i, row in enumerate(rows)))


def _read_node_labels(given: Any, nodes: list[Any], numbers: Mapping[Any, int]) -> tuple[Any, ...] | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        unknown = [node for node in given if node not in numbers]
        missing = [node for node in nodes if node not in given]
        if unknown or missing:
            what = f"{unknown[0]!r} is labelled but is no node" if unknown else f"node {missing[0]!r} has no label"
            raise ValueError(f"Graph: labels must name exactly the {len(nodes)} nodes, but {what}")
        return tuple(_check_label(given[node], "node") for node in nodes)
    labels = tuple(_check_label(label, "node") for label in given)
    if len(labels) != len(nodes):
        raise ValueError(f"Graph: {len(labels)} labels are given for {len(nodes)} nodes; give one for each node")
    return labels


def _read_edge_labels(given: Any, nodes: list[Any], lists: list[list[Any]]) -> tuple[tuple[Any, ...], ...] | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        rows = []
        for node, listed in zip(nodes, lists, strict=True):
            for other in listed:
                if (node, other) not in given and (other, node) not in given:
                    raise ValueError(f"Graph: the edge between {node!r} and {other!r} has no label; label all or none")
            rows.append([given[node, other] if (node, other) in given else given[other, node] for other in listed])
        present = {(node, other) for node, listed in zip(nodes, lists, strict=True) for other in listed}
        for pair in given:
            if pair not in present and tuple(reversed(pair)) not in present:
                raise ValueError(f"Graph: edge_labels names {pair!r}, but there is no such edge")
    else:
        rows = [list(row) for row in given]
    if [len(row) for row in rows] != [len(listed) for listed in lists]:
        raise ValueError("Graph: edge_labels must have one label for each neighbour of each node")
    return tuple(tuple(_check_label(label, "edge") for label in row) for row in rows)


def _check_label(label: Any, kind: str) -> Any:
    if type(label) in (int, str):
        return label
    label = label.item() if isinstance(label, np.generic) else label
    try:
        hash(label)
    except TypeError:
        raise TypeError(
            f"Graph: the {kind} label {label!r} is not hashable; use a string, a number or a tuple of them"
        ) from None
    if label != label:
        raise ValueError(f"Graph: a {kind} label is {label!r}, which differs from itself; give missing labels a name")
    return label


def _check_all_or_none(kind: str, count: int, things: Any, name: str) -> None:
    if count not in (0, len(things)):
        raise ValueError(
            f"Graph: {count} of {len(things)} {kind}s have the attribute {name!r}; give it to all of them or to none"
        )
