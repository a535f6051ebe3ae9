"""The values of a column, read from whatever holds them: arrays, series of pandas or polars, lists of objects."""

from __future__ import annotations

import datetime
import itertools
import math
import numbers
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .cells import ABSENT
from .dates import count_days


@dataclass(frozen=True)
class ColumnValues:
    """The values of a column, of one kind; ``labels`` are strings declared to be categories, or truth values.

    Parameters
    ----------
    kind : {"numbers", "dates", "strings", "labels"}
        What holds them, before anybody looks into the strings.
    data : array of shape (n,)
        Floats with NaN for missing ones; of strings and labels, positions among the levels with −1 for missing ones.
    levels : list of str
        The different strings or labels.
    """

    kind: Literal["numbers", "dates", "strings", "labels"]
    data: np.ndarray
    levels: list[str] = field(default_factory=list)

    @property
    def missing(self) -> np.ndarray:
        """Which rows have no value."""
        return self.data < 0 if self.data.dtype.kind == "i" else np.isnan(self.data)

    def count_levels(self) -> np.ndarray:
        """Return how many rows each level has."""
        return np.bincount(self.data[self.data >= 0], minlength=len(self.levels))

    def write_levels(self) -> ColumnValues:
        """Return numbers and dates as strings too, as :func:`write_label` writes them."""
        if self.kind in ("strings", "labels"):
            return self
        different, codes = np.unique(self.data, return_inverse=True)  # NaN comes last, once
        levels = [write_label("", value) for value in different[~np.isnan(different)].tolist()]
        return ColumnValues("strings", np.where(codes < len(levels), codes, -1).astype(np.int64), levels)


def read_column(name: str, column: Any) -> ColumnValues:
    """Return the values of a column of a table, whatever holds them.

    Blank strings and marks such as "?" and "NA" are missing.

    Examples
    --------
    >>> import numpy as np
    >>> columns = {"size": np.array([1, 2]), "colour": ["red", None], "new": [True, False]}
    >>> tuple(read_column(name, column).kind for name, column in columns.items())
    ('numbers', 'strings', 'labels')
    >>> read_column("colour", ["red", "?", "blue", "red"])
    ColumnValues(kind='strings', data=array([ 0, -1,  1,  0]), levels=['red', 'blue'])
    """
    dtype = str(getattr(column, "dtype", "")).lower()
    if dtype.startswith("str") and hasattr(column, "factorize"):  # of pandas, and faster than a dict
        codes, different = column.factorize()
        return _join_strings(codes, different.tolist())
    array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    declared = dtype.startswith(("category", "categorical", "enum")) or array.dtype.kind == "b"
    if array.dtype.kind == "c":
        raise TypeError(f"column {name!r}: complex numbers are not supported; give real and imaginary parts as columns")
    if not declared and array.dtype.kind in "iuf":
        return ColumnValues("numbers", array.astype(np.float64))
    if not declared and array.dtype.kind in "mM":
        return ColumnValues("dates" if array.dtype.kind == "M" else "numbers", count_days(array))
    return _read_objects(name, array, declared)


def _join_strings(codes: np.ndarray, strings: list[str]) -> ColumnValues:
    """Return strings without those that mean nothing."""
    kept = np.array([string.strip() not in ABSENT for string in strings], dtype=bool)
    if not kept.any():
        return ColumnValues("numbers", np.full(len(codes), np.nan))
    places = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return ColumnValues("strings", places[codes], list(itertools.compress(strings, kept)))


def _read_objects(name: str, array: np.ndarray, declared: bool) -> ColumnValues:
    """Read objects, each different one once."""
    values = array.tolist()
    kinds = set(map(type, values))
    if kinds & {bool, np.bool_} and kinds & {int, float}:  # 1 and True would be the same key
        values = [str(value) if isinstance(value, bool | np.bool_) else value for value in values]
    try:
        different = list(dict.fromkeys(values))
    except TypeError:  # what cannot be a key is nothing that a cell holds either
        different = [write_label(name, value) for value in values if not _is_missing(value)]
    places = {value: place for place, value in enumerate(different)}
    codes = np.fromiter(map(places.__getitem__, values), dtype=np.int64, count=len(values))
    if not declared and all(type(value) is str or _is_missing(value) for value in different):
        return _join_strings(codes, [value if type(value) is str else "" for value in different])
    kept = np.array([not _is_missing(value) for value in different], dtype=bool)
    codes = np.where(kept, np.cumsum(kept) - 1, -1)[codes]
    different = list(itertools.compress(different, kept))

    def holds(*types: Any) -> bool:
        return not declared and all(isinstance(value, types) for value in different)

    if holds(datetime.date, np.datetime64):
        days = count_days(np.array([_drop_zone(value) for value in different], "datetime64[us]"))
        return ColumnValues("dates", np.append(days, np.nan)[codes])
    if not holds(bool, np.bool_) and not declared and all(map(_is_number, different)):
        return ColumnValues("numbers", np.array([*map(_to_float, different), np.nan])[codes])
    labels: dict[str, int] = {}
    merged = [labels.setdefault(write_label(name, value), len(labels)) for value in different]
    kind: Literal["strings", "labels"] = "labels" if declared or holds(bool, np.bool_) else "strings"
    return ColumnValues(kind, np.array([*merged, -1], dtype=np.int64)[codes], list(labels))


def write_label(name: str, value: Any) -> str:
    """Return the text that stands for a category; 2, 2.0 and "2" are the same one.

    Examples
    --------
    >>> write_label("size", 2.0), write_label("size", True), write_label("size", "small")
    ('2', 'True', 'small')
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_ | datetime.date | datetime.time | np.datetime64) or _is_decimal(value):
        return str(value)
    if isinstance(value, numbers.Real):
        number = _to_float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    raise TypeError(
        f"column {name!r}: expected numbers, texts, truth values or dates, but got {type(value).__name__} "
        f"{value!r}; take such objects apart into columns first"
    )


def _is_missing(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return value is None or value.strip() in ABSENT
    try:
        return bool(value != value)  # NaN and NaT differ from themselves
    except (TypeError, ValueError):  # pandas.NA does not say
        return type(value).__name__ == "NAType"


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) or _is_decimal(value)


def _to_float(value: Any) -> float:
    """Return a number as a float; one beyond all of them is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _is_decimal(value: Any) -> bool:
    return type(value).__name__ in ("Decimal", "Fraction")


def _drop_zone(value: Any) -> Any:
    zone = getattr(value, "tzinfo", None)
    return value if zone is None else value.astimezone(datetime.UTC).replace(tzinfo=None)
