"""The values of a column, read from whatever holds them: arrays, series of pandas or polars, lists of objects."""

from __future__ import annotations

import datetime
import math
import numbers
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?$")
DAY = 86400.0


@dataclass(frozen=True)
class Values:
    """The values of a column, of one kind.

    Parameters
    ----------
    kind : {"numbers", "dates", "strings", "labels"}
        ``labels`` are strings that were declared to be categories, or stand for truth values.
    data : array
        Floats with NaN for missing ones, or strings with None.
    """

    kind: str
    data: np.ndarray

    @property
    def missing(self) -> np.ndarray:
        """Which rows have no value."""
        if self.data.dtype == object:
            return np.array([value is None for value in self.data], dtype=bool)
        return np.isnan(self.data)


def read(name: str, column: Any) -> Values:
    """Return the values of a column of a table, whatever holds them.

    Examples
    --------
    >>> import numpy as np
    >>> read("size", np.array([1, 2])).kind, read("colour", ["red", None]).kind, read("day", ["2024-05-01"]).kind
    ('numbers', 'strings', 'dates')
    """
    dtype = str(getattr(column, "dtype", "")).lower()
    array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if dtype.startswith(("category", "categorical", "enum")):
        return Values("labels", _labels(name, array))
    if array.dtype.kind in "iuf":
        return Values("numbers", array.astype(np.float64))
    if array.dtype.kind == "b":
        return Values("labels", _labels(name, array))
    if array.dtype.kind == "M":
        return Values("dates", _days(array))
    if array.dtype.kind == "m":
        return Values("numbers", _days(array))
    if array.dtype.kind == "c":
        raise TypeError(f"column {name!r}: complex numbers are not supported; give real and imaginary parts as columns")
    return _from_objects(name, array.astype(object))


def _from_objects(name: str, array: np.ndarray) -> Values:
    present = [value for value in array if not _is_missing(value)]
    if all(isinstance(value, str) for value in present) and present:
        return _from_strings(name, array)
    if all(isinstance(value, bool | np.bool_) for value in present) and present:
        return Values("labels", _labels(name, array))
    if all(isinstance(value, numbers.Real) or _is_decimal(value) for value in present):
        return Values("numbers", np.array([math.nan if _is_missing(value) else float(value) for value in array]))
    if all(isinstance(value, datetime.date | np.datetime64) for value in present):
        return Values(
            "dates", _days(np.array([None if _is_missing(v) else _naive(v) for v in array], "datetime64[us]"))
        )
    return Values("strings", _labels(name, array))


def _from_strings(name: str, array: np.ndarray) -> Values:
    strings = _labels(name, array)
    present = [value for value in strings if value is not None]
    if present and ISO_DATE.match(present[0]):
        try:
            return Values("dates", _days(np.array(["NaT" if v is None else v for v in strings], "datetime64[us]")))
        except ValueError:
            pass
    try:
        parsed = np.array([math.nan if value is None else float(value) for value in strings])
    except ValueError:
        return Values("strings", strings)
    return Values("numbers", parsed)


def _labels(name: str, array: np.ndarray) -> np.ndarray:
    out = np.empty(len(array), dtype=object)
    out[:] = [None if _is_missing(value) else label(name, value) for value in array.tolist()]
    return out


def label(name: str, value: Any) -> str:
    """Return the text that stands for a category; 2, 2.0 and "2" are the same one.

    Examples
    --------
    >>> label("size", 2.0), label("size", True), label("size", "small")
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


def _naive(value: Any) -> Any:
    zone = getattr(value, "tzinfo", None)
    return value if zone is None else value.astimezone(datetime.UTC).replace(tzinfo=None)


def _days(array: np.ndarray) -> np.ndarray:
    """Return times as days, NaN for missing ones."""
    unit = "timedelta64[us]" if array.dtype.kind == "m" else "datetime64[us]"
    precise = array.astype(unit)
    days = precise.astype(np.int64) / 1e6 / DAY
    return np.where(np.isnat(precise), np.nan, days)
