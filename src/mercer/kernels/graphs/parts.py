"""What a graph is made of, read from the forms it may be given in, with words for what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from mercer.formula.data import refuse_masked, short

Floats = tuple[tuple[float, ...], ...]  # rows of numbers, which can be hashed


def read_adjacency(given: Any) -> tuple[list[Any], list[list[Any]], tuple[tuple[Any, ...], ...] | None]:
    """Return nodes, their neighbours, and the labels of edges if neighbours are mapped to them."""
    if isinstance(given, str | bytes) or not isinstance(given, Mapping | Sequence):
        raise TypeError(
            f"Graph: neighbours must be a list of lists of node numbers or a mapping from nodes to their neighbours, "
            f"got {short(given)}; Graph.from_edges takes a list of edges"
        )
    if not isinstance(given, Mapping) and is_matrix(given):
        raise ValueError(_describe_ambiguity(given))
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
    return nodes, lists, tuple(tuple(check_label(kind, "edge") for kind in listed.values()) for listed in values)


def is_matrix(given: Sequence[Any]) -> bool:
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


def read_node_labels(given: Any, nodes: list[Any], numbers: Mapping[Any, int]) -> tuple[Any, ...] | None:
    """Return the labels of nodes."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        unknown = [node for node in given if node not in numbers]
        missing = [node for node in nodes if node not in given]
        if unknown or missing:
            what = f"{unknown[0]!r} is labelled but is no node" if unknown else f"node {missing[0]!r} has no label"
            raise ValueError(f"Graph: labels must name exactly the {len(nodes)} nodes, but {what}")
        return tuple(check_label(given[node], "node") for node in nodes)
    labels = tuple(check_label(label, "node") for label in given)
    if len(labels) != len(nodes):
        raise ValueError(f"Graph: {len(labels)} labels are given for {len(nodes)} nodes; give one for each node")
    return labels


def read_edges(given: Any, nodes: list[Any], lists: list[list[Any]], what: str) -> list[list[Any]] | None:
    """Return the label or the weight of each neighbour of each node, from pairs of ends or in the form of lists."""
    if given is None:
        return None
    name = "edge_labels" if what == "label" else "weights"
    if isinstance(given, Mapping):
        rows = []
        for node, listed in zip(nodes, lists, strict=True):
            for other in listed:
                if (node, other) not in given and (other, node) not in given:
                    advice = "label all or none" if what == "label" else "give one to all or to none"
                    raise ValueError(f"Graph: the edge between {node!r} and {other!r} has no {what}; {advice}")
            rows.append([given[node, other] if (node, other) in given else given[other, node] for other in listed])
        present = {(node, other) for node, listed in zip(nodes, lists, strict=True) for other in listed}
        for pair in given:
            if pair not in present and tuple(reversed(pair)) not in present:
                raise ValueError(f"Graph: {name} names {pair!r}, but there is no such edge")
    else:
        try:
            rows = [list(row) for row in given]
        except TypeError:
            rows = []
    if [len(row) for row in rows] != [len(listed) for listed in lists]:
        raise ValueError(f"Graph: {name} must have one {what} for each neighbour of each node")
    return rows


def read_edge_labels(given: Any, nodes: list[Any], lists: list[list[Any]]) -> tuple[tuple[Any, ...], ...] | None:
    """Return the labels of edges."""
    rows = read_edges(given, nodes, lists, "label")
    return None if rows is None else tuple(tuple(check_label(label, "edge") for label in row) for row in rows)


def read_weights(given: Any, nodes: list[Any], lists: list[list[Any]]) -> Floats | None:
    """Return the weights of edges; where all of them are 1, there are none."""
    rows = read_edges(given, nodes, lists, "weight")
    if rows is None:
        return None
    weights = tuple(tuple(check_weight(weight) for weight in row) for row in rows)
    return weights if any(weight != 1 for row in weights for weight in row) else None


def check_weight(weight: Any) -> float:
    """Return a weight as a float, or raise."""
    if not isinstance(weight, Real):
        raise TypeError(f"Graph: the weight {weight!r} of an edge is no number; weights are positive finite numbers")
    value = float(weight)
    if not (math.isfinite(value) and value > 0):
        raise ValueError(
            f"Graph: an edge has the weight {value}, but weights are positive finite numbers; leave such edges out, or "
            "the weights, with from_networkx(graph, weight=None) or from_matrix(matrix != 0)"
        )
    return value


def read_attributes(given: Any, nodes: list[Any]) -> Floats | None:
    """Return a row of numbers for each node, from a table with a row for each, one column, or a mapping from nodes."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        missing = [node for node in nodes if node not in given]
        if missing or len(given) != len(nodes):
            what = f"node {missing[0]!r} has none" if missing else f"there are {len(given)} of them"
            raise ValueError(f"Graph: attributes must name exactly the {len(nodes)} nodes, but {what}")
        given = [given[node] for node in nodes]
    refuse_masked(given, "Graph")
    try:
        table = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
    except ValueError:  # rows of different lengths
        table = np.empty(0, dtype=object)
    table = table[:, None] if table.ndim == 1 else table
    if len(nodes) == 0 and table.size == 0:
        return ()
    if table.ndim != 2 or table.dtype.kind not in "biuf" or 0 in table.shape:
        raise ValueError(
            "Graph: attributes are a table of numbers with a row for each node, or one number for each, got "
            f"{short(given)}"
        )
    if len(table) != len(nodes):
        raise ValueError(f"Graph: {len(table)} rows of attributes are given for {len(nodes)} nodes; give one for each")
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise ValueError(
            f"Graph: attribute {column} of node {nodes[row]!r} is {table[row, column]}; fill missing values first"
        )
    return tuple(map(tuple, table.astype(float).tolist()))


def read_matrix(matrix: Any) -> sparse.csr_array:
    """Return an adjacency matrix as sparse rows of positive numbers."""
    refuse_masked(matrix, "Graph")
    try:
        table = matrix if sparse.issparse(matrix) else np.asarray(matrix)
    except ValueError:  # rows of different lengths
        table = np.empty(0)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.dtype.kind not in "biuf":
        shape = f" of shape {np.shape(matrix)}" if hasattr(matrix, "shape") else ""
        raise ValueError(
            f"Graph: an adjacency matrix is a square table of numbers, got {short(matrix)}{shape}; a list of edges is "
            "read by Graph.from_edges"
        )
    rows = sparse.csr_array(table, dtype=float, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    wrong = np.flatnonzero(~(np.isfinite(rows.data) & (rows.data > 0)))
    if len(wrong):
        i = int(np.searchsorted(rows.indptr, wrong[0], side="right")) - 1
        raise ValueError(
            f"Graph: entry ({i}, {rows.indices[wrong[0]]}) of the adjacency matrix is {rows.data[wrong[0]]}, but "
            "weights of edges are positive finite numbers; Graph.from_matrix(matrix != 0) reads the edges without them"
        )
    return rows


def is_table(given: Any) -> bool:
    """Whether nested lists are a square table of numbers, which may be an adjacency matrix."""
    if not isinstance(given, list | tuple) or not all(isinstance(row, list | tuple | np.ndarray) for row in given):
        return False
    square = len(given) > 0 and all(len(row) == len(given) for row in given)
    return square and all(isinstance(entry, Real) for row in given for entry in row)


def is_surely_matrix(table: Sequence[Sequence[Any]]) -> bool:
    """Whether a square table of numbers can only be an adjacency matrix, raising where it may be lists of neighbours.

    Three or more rows of zeros and ones would name neighbours twice, and a symmetric table with numbers that are no
    nodes has no neighbours.
    """
    n = len(table)
    if all(entry in (0, 1) for row in table for entry in row):
        if n > 2:
            return True
    elif any(entry not in range(n) for row in table for entry in row):
        return n > 1 and all(table[i][j] == table[j][i] for i in range(n) for j in range(i))
    raise ValueError(_describe_ambiguity(table))


def _describe_ambiguity(table: Any) -> str:
    return (
        f"Graph: {short(table)} has as many entries in each row as there are rows, which is an adjacency matrix as "
        "well as lists of neighbours; use Graph.from_matrix(…) for a matrix, or the mapping Graph(dict(enumerate(…))) "
        "for neighbours"
    )


def check_label(label: Any, kind: str) -> Any:
    """Return a label that can be hashed and equals itself, or raise."""
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


def check_all_or_none(kind: str, count: int, things: Any, name: str) -> None:
    """Raise if some have an attribute of networkx and others do not."""
    if count not in (0, len(things)):
        raise ValueError(
            f"Graph: {count} of {len(things)} {kind}s have the attribute {name!r}; give it to all of them or to none"
        )
