"""Cells as they are, for judgement: which are missing, which are numbers, and in which order they come."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

ABSENT = frozenset({"", "?", "n/a", "na", "#n/a", "nan", "null", "<na>"})
MOSTLY = 0.9  # share of numbers among texts from which they have the order of numbers
NUMBER = re.compile(
    r"\(?[-+−]?\s*[$€£¥]?\s*(?=[\d.])(\d{1,3}(,\d{3})+|\d*)(\.\d*)?(e[-+]?\d+)?\s*[€%]?\)?", re.IGNORECASE
)


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


def is_missing(value: Any) -> bool:
    """Return whether a cell says that there is no value."""
    if isinstance(value, str):
        return value.strip().lower() in ABSENT
    try:
        return value is None or bool(value != value)  # NaN and NaT differ from themselves
    except (TypeError, ValueError):  # pandas.NA does not say
        return True


def find_missing(cells: np.ndarray) -> np.ndarray:
    """Return which cells are missing."""
    if cells.dtype.kind in "biu":
        return np.zeros(len(cells), dtype=bool)
    if cells.dtype.kind in "fmM":
        return np.isnat(cells) if cells.dtype.kind in "mM" else np.isnan(cells)
    return np.fromiter(map(is_missing, cells.tolist()), dtype=bool, count=len(cells))


def parse_numbers(cells: np.ndarray) -> np.ndarray:
    """Return cells as finite numbers, NaN for those that are none; each different text is read once.

    Examples
    --------
    >>> parse_numbers(np.array(["$1,234", "5 %", "(3)", "many", "1,2"])).tolist()
    [1234.0, 5.0, -3.0, nan, nan]
    """
    if cells.dtype.kind in "biuf":
        numbers = cells.astype(np.float64)
    else:
        known: dict[Any, float] = {}
        for value in set(cells.tolist()) if cells.dtype.kind not in "mM" else ():
            known[value] = _parse_number(value)
        numbers = np.array([known.get(value, math.nan) for value in cells.tolist()], dtype=np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def rank_values(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the place of each cell among the different ones of a column, missing ones last, and which those are.

    Examples
    --------
    >>> places, missing = rank_values(["10", None, "9", "10"])
    >>> places.tolist(), missing.tolist()
    ([1, 2, 0, 1], [False, True, False, False])
    """
    cells = as_cells(column)
    missing = find_missing(cells)
    keys = cells
    if cells.dtype.kind not in "biufmM":
        numbers = parse_numbers(cells)
        if np.isfinite(numbers).sum() >= MOSTLY * (~missing).sum():
            keys, missing = numbers, np.isnan(numbers)
        else:
            keys = cells.astype(str)
    places = np.full(len(cells), -1)
    if not missing.all():
        places[~missing] = np.unique(keys[~missing], return_inverse=True)[1]
    places[missing] = places.max() + 1
    return places, missing


def _parse_number(value: Any) -> float:
    if not isinstance(value, str):
        try:
            return float(value)
        except (TypeError, ValueError):
            return math.nan
    text = value.strip()
    if not NUMBER.fullmatch(text) or text.startswith("(") != text.endswith(")"):
        return math.nan
    try:
        number = float(re.sub(r"[^0-9.eE+-]", "", text.replace("−", "-").strip("()€%")))
    except ValueError:  # a point alone
        return math.nan
    return -number if text.startswith("(") else number
