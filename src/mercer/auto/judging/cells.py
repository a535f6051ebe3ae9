"""Cells as they are, for judgement: which are missing, which are numbers, and in which order they come."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from ..tables.cells import find_numbers, is_mark, parse_numbers
from ..tables.reading import read_column


def as_cells(column: Any) -> np.ndarray:
    """Return a column as an array of one dimension; cells of several types stay what they are.

    Examples
    --------
    >>> as_cells([1, "1", True])
    array([1, '1', True], dtype=object)
    """
    if isinstance(column, list | tuple) and len(set(map(type, column))) > 1 and not any(map(np.ndim, column)):
        cells = np.empty(len(column), dtype=object)
        cells[:] = column
        return cells
    array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    return np.asarray(column_or_1d(array, warn=True))


def parse_cells(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return cells as finite numbers, NaN for others, which are missing, and whether they are numbers as a whole.

    Texts are read as those of a column are, each different one once.

    Examples
    --------
    >>> numbers, missing, mostly = parse_cells(np.array(["$1,234", "$5", "$3", "-"]))
    >>> numbers.tolist(), missing.tolist(), mostly
    ([1234.0, 5.0, 3.0, nan], [False, False, False, True], True)
    """
    if cells.dtype.kind == "b":
        return cells.astype(np.float64), np.zeros(len(cells), dtype=bool), False
    values = read_column("y", cells)
    if values.kind == "numbers":
        return np.where(np.isfinite(values.data), values.data, np.nan), values.missing, True
    if values.kind == "dates":
        return np.full(len(cells), np.nan), values.missing, False
    found = find_numbers(values.levels, values.count_levels())
    numbers = parse_numbers(values.levels, *(found or (".", "")))
    absent = [found is not None and is_mark(level) for level in values.levels]
    return np.append(numbers, np.nan)[values.data], np.array([*absent, True])[values.data], found is not None


def rank_values(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of each cell among the different ones of a column, missing ones last, and which those are.

    Examples
    --------
    >>> places, missing = rank_values(["10", None, "9", "10"])
    >>> places.tolist(), missing.tolist()
    ([1, 2, 0, 1], [False, True, False, False])
    """
    values = read_column("", column)
    keys, missing = values.data, values.missing
    if values.kind in ("strings", "labels"):
        found = find_numbers(values.levels, values.count_levels())
        if found is not None:
            keys = np.append(parse_numbers(values.levels, *found), np.nan)[values.data]
            missing = np.isnan(keys)
        else:
            keys = np.append(np.argsort(np.argsort(values.levels)), -1)[values.data]
    places = np.full(len(keys), -1)
    if not missing.all():
        places[~missing] = np.unique(keys[~missing], return_inverse=True)[1]
    places[missing] = places.max() + 1
    return places, missing
