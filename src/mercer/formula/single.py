"""Two single points in place of two collections, as lectures write k(x, z)."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .data import Rows
from .expression import Expression, Stat, nodes
from .statistics import BlockStatistic, Statistic


def read_points(formula: Expression, x: Any, z: Any, owner: str) -> tuple[Rows, Rows] | None:
    """Return two single points as two collections of one, or None if they are collections themselves.

    Single are two strings, two numbers, and two objects of any other kind without a length.  Two flat arrays or lists
    of numbers are single where the numbers in them could not be points: for kernels on vectors, and for kernels on
    objects with parts, such as sequences.  Elsewhere their entries are the objects, as they are for ``Custom``.
    """
    if len(getattr(x, "shape", ())) > 1:
        return None
    blocks = (stat for stat in _list_statistics(formula) if isinstance(stat, BlockStatistic) and not stat.view.steps)
    if any(block.kernel.is_object(x) and block.kernel.is_object(z) for block in blocks):
        return [x], [z]
    if _has_no_length(x) and _has_no_length(z):
        boxed = _reads_rows(formula) and isinstance(unwrap(x), numbers.Real)
        return ([[unwrap(x)]], [[unwrap(z)]]) if boxed else ([unwrap(x)], [unwrap(z)])
    if not (_is_flat(x) and _is_flat(z) and any(map(_refuses_numbers, _list_statistics(formula)))):
        return None
    if not _reads_rows(formula):
        return [x], [z]
    if len(x) != len(z):
        raise ValueError(
            f"{owner}: x has {len(x)} entries but z has {len(z)}; two points need the same features, and a "
            "collection of points is a two-dimensional array with a row for each"
        )
    return _as_row(x), _as_row(z)


def _list_statistics(formula: Expression) -> list[Statistic]:
    return [node.statistic for node in nodes(formula) if isinstance(node, Stat)]


def _refuses_numbers(statistic: Statistic) -> bool:
    """Whether a plain number is no point for a statistic, so that a flat array of them is no collection."""
    if statistic.view.steps:
        return statistic.view.steps[0].reads_rows
    return statistic.kernel.structured if isinstance(statistic, BlockStatistic) else statistic.reads_rows


def _reads_rows(formula: Expression) -> bool:
    """Whether points are rows of a table to at least one statistic."""
    found = [statistic for statistic in _list_statistics(formula) if _refuses_numbers(statistic)]
    return any(statistic.view.steps or not isinstance(statistic, BlockStatistic) for statistic in found)


def _has_no_length(value: Any) -> bool:
    shape = getattr(value, "shape", None)
    return isinstance(value, str | bytes) or shape == () or (shape is None and not hasattr(value, "__len__"))


def unwrap(value: Any) -> Any:
    """Return a single value of NumPy as one of Python, and anything else as it is."""
    return value.item() if getattr(value, "shape", None) == () else value


def _is_flat(value: Any) -> bool:
    """Whether this is a sequence of numbers, or of numbers and texts as a row of a table may be."""
    if isinstance(value, list | tuple):
        return _holds_numbers(value)
    if len(getattr(value, "shape", ())) != 1:
        return False
    kind = getattr(getattr(value, "dtype", None), "kind", "O")
    return kind in "biuf" or (kind == "O" and _holds_numbers(value))


def _holds_numbers(value: Any) -> bool:
    found = texts = False
    for entry in value:
        if not isinstance(entry, numbers.Real | str):
            return False
        texts = texts or isinstance(entry, str)
        found = found or not (isinstance(entry, str) or entry != entry)  # NaN among texts is a text that is missing
    return found or (len(value) > 0 and not texts)


def _as_row(value: Any) -> Rows:
    array = value.to_numpy() if hasattr(value, "to_numpy") else value
    return array[None, :] if isinstance(array, np.ndarray) and array.dtype.kind != "O" else [list(array)]
