"""The values of a column, read from whatever holds them: arrays, series of pandas or polars, lists of objects."""

from __future__ import annotations

import datetime
import math
import numbers
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?$")
DAY = 86400.0


@dataclass(frozen=True)
class ColumnValues:
    """The values of a column, of one kind; ``labels`` are strings declared to be categories, or truth values."""

    kind: Literal["numbers", "dates", "strings", "labels"]
    data: np.ndarray  # floats with NaN for missing ones, or strings with None

    @property
    def missing(self) -> np.ndarray:
        """Which rows have no value."""
        if self.data.dtype == object:
            return np.array([value is None for value in self.data], dtype=bool)
        return np.isnan(self.data)


def read_column(name: str, column: Any) -> ColumnValues:
    """Return the values of a column of a table, whatever holds them.

    Examples
    --------
    >>> import numpy as np
    >>> columns = {"size": np.array([1, 2]), "colour": ["red", None], "day": ["2024-05-01"]}
    >>> tuple(read_column(name, column).kind for name, column in columns.items())
    ('numbers', 'strings', 'dates')
    """
    dtype = str(getattr(column, "dtype", "")).lower()
    array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if dtype.startswith(("category", "categorical", "enum")) or array.dtype.kind == "b":
        return ColumnValues("labels", _write_labels(name, array))
    if array.dtype.kind in "iuf":
        return ColumnValues("numbers", array.astype(np.float64))
    if array.dtype.kind in "mM":
        return ColumnValues("dates" if array.dtype.kind == "M" else "numbers", _count_days(array))
    if array.dtype.kind == "c":
        raise TypeError(f"column {name!r}: complex numbers are not supported; give real and imaginary parts as columns")
    return _read_objects(name, array.astype(object))


def _read_objects(name: str, array: np.ndarray) -> ColumnValues:
    present = [value for value in array if not _is_missing(value)]
    if all(isinstance(value, str) for value in present) and present:
        return _read_strings(name, array)
    if all(isinstance(value, bool | np.bool_) for value in present) and present:
        return ColumnValues("labels", _write_labels(name, array))
    if all(isinstance(value, numbers.Real) or _is_decimal(value) for value in present):
        return ColumnValues("numbers", np.array([math.nan if _is_missing(value) else float(value) for value in array]))
    if all(isinstance(value, datetime.date | np.datetime64) for value in present):
        return ColumnValues(
            "dates", _count_days(np.array([None if _is_missing(v) else _drop_zone(v) for v in array], "datetime64[us]"))
        )
    return ColumnValues("strings", _write_labels(name, array))


def _read_strings(name: str, array: np.ndarray) -> ColumnValues:
    strings = _write_labels(name, array)
    present = [value for value in strings if value is not None]
    if present and ISO_DATE.match(present[0]):
        try:
            return ColumnValues(
                "dates", _count_days(np.array(["NaT" if v is None else v for v in strings], "datetime64[us]"))
            )
        except ValueError:
            pass
    try:
        parsed = np.array([math.nan if value is None else float(value) for value in strings])
    except ValueError:
        return ColumnValues("strings", strings)
    return ColumnValues("numbers", parsed)


def _write_labels(name: str, array: np.ndarray) -> np.ndarray:
    out = np.empty(len(array), dtype=object)
    out[:] = [None if _is_missing(value) else write_label(name, value) for value in array.tolist()]
    return out


def write_label(name: str, value: Any) -> str:
    """Return the text that stands for a category; 2, 2.0 and "2" are the same one.

    Examples
    --------
    >>> write_label("size", 2.0), write_label("size", True), write_label("size", "small")
    ('2', 'True', 'small')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_ | datetime.date | np.datetime64) or _is_decimal(value):
        return str(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    raise TypeError(
        f"column {name!r}: expected numbers, texts, truth values or dates, but got {type(value).__name__} "
        f"{value!r}; take such objects apart into columns first"
    )


def _is_missing(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return value is None or not value.strip()
    try:
        return bool(value != value)  # NaN and NaT differ from themselves
    except (TypeError, ValueError):  # pandas.NA does not say
        return type(value).__name__ == "NAType"


def _is_decimal(value: Any) -> bool:
    return type(value).__name__ in ("Decimal", "Fraction")


def _drop_zone(value: Any) -> Any:
    zone = getattr(value, "tzinfo", None)
    return value if zone is None else value.astimezone(datetime.UTC).replace(tzinfo=None)


def _count_days(array: np.ndarray) -> np.ndarray:
    """Return times as days, NaN for missing ones."""
    unit = "timedelta64[us]" if array.dtype.kind == "m" else "datetime64[us]"
    precise = array.astype(unit)
    days = precise.astype(np.int64) / 1e6 / DAY
    return np.where(np.isnat(precise), np.nan, days)
