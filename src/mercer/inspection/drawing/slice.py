"""Points that vary in one or two features while the others stay where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.formula.data import Rows, is_frame
from mercer.words import shorten

MOST_NAMED = 3  # columns that stay where they are and are named with their values; more are counted


class Slice:
    """A view of a table along ``count`` of its columns; the others stay at ``fixed`` values, or in their middle.

    ``names`` and ``positions`` are those of the columns, ``values`` what the data has in them, ``width`` how many
    columns there are in all.  ``owner`` asks, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> view = Slice("example", np.array([[0.0, 5.0], [1.0, 7.0], [2.0, 6.0]]), 1, [0], None)
    >>> view.names, view.points(np.array([[0.5]])).tolist()
    (['x0'], [[0.5, 6.0]])
    """

    def __init__(
        self, owner: str, X: Rows, count: int, features: Sequence[Any] | None, fixed: Mapping[Any, Any] | None
    ) -> None:
        self.owner = owner
        self._kind = type(X) if is_frame(X) else None
        self._columns = self._read(X)
        self._chosen = self._choose(count, features)
        self._fixed = {self._find_column(key): value for key, value in (fixed or {}).items()}
        self.names = [_name(name) for name in self._chosen]
        self.positions = [list(self._columns).index(name) for name in self._chosen]
        self.width = len(self._columns)
        self.values = np.column_stack([self._read_numbers(name) for name in self._chosen])

    def points(self, at: np.ndarray) -> Rows:
        """Return whole rows, of the kind the data was, for values of shape (m, count) in the columns of the view."""
        columns: dict[Any, np.ndarray] = {}
        for name, values in self._columns.items():
            if name in self._chosen:
                columns[name] = at[:, self._chosen.index(name)]
            else:
                columns[name] = np.full(len(at), self._fixed[name] if name in self._fixed else find_middle(values))
        return np.column_stack(list(columns.values())) if self._kind is None else self._kind(columns)

    def describe_rest(self) -> str:
        """Return which columns stay where, for a line in the picture; nothing if there are no others.

        Examples
        --------
        >>> import numpy as np
        >>> Slice("example", np.arange(12.0).reshape(2, 6), 1, [0], {2: 0.5}).describe_rest()
        'slice: x2 = 0.5, 4 others at their medians'
        """
        rest = [name for name in self._columns if name not in self._chosen]
        told = [name for name in rest if name in self._fixed]
        others = [name for name in rest if name not in self._fixed]
        if len(rest) <= MOST_NAMED or len(others) == 1:
            told, others = rest, []
        words = [f"{_name(name)} = {self._show(name)}" for name in told]
        if others:
            numbers = all(self._columns[name].dtype.kind in "iuf" for name in others)
            middles = "medians" if numbers else "medians or most frequent values"
            words.append(f"{len(others)} others at their {middles}")
        return "slice: " + ", ".join(words) if words else ""

    def _show(self, name: Any) -> str:
        value = self._fixed[name] if name in self._fixed else find_middle(self._columns[name])
        return f"{value:.3g}" if isinstance(value, float | np.floating) else shorten(str(value), 24)

    def ticks(self, resolution: int, margin: float) -> list[np.ndarray]:
        """Return evenly spaced values for each column, from a little below the data to a little above."""
        found = []
        for column in self.values.T:
            low, high = float(column.min()), float(column.max())
            beyond = margin * (high - low) if high > low else 1.0
            found.append(np.linspace(low - beyond, high + beyond, resolution))
        return found

    def _read(self, X: Rows) -> dict[Any, np.ndarray]:
        if is_frame(X):
            return {name: np.asarray(X[name]) for name in X.columns}
        try:
            array = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.ndim != 2 or array.size == 0:
            raise ValueError(
                f"{self.owner} draws points that are rows of numbers: X must be an array of shape (n, d) or a frame"
            )
        return dict(enumerate(array.T))

    def _choose(self, count: int, features: Sequence[Any] | None) -> list[Any]:
        names, what = list(self._columns), "one feature" if count == 1 else "two features"
        if features is None:
            if len(names) == count:
                return names
            example = names[0] if count == 1 else tuple(names[:2]) if len(names) > 1 else (0, 1)
            option = "feature" if count == 1 else "features"
            more = len(names) > count
            remedy = f"say which by {option}={example!r}, and the others stay at their medians" if more else "add one"
            raise ValueError(f"{self.owner} draws along {what}, and X has {len(names)}: {remedy}")
        chosen = [self._find_column(name) for name in features]
        if len(set(chosen)) != count:
            raise ValueError(f"{self.owner} draws along {what}, got {list(features)!r}")
        return chosen

    def _find_column(self, name: Any) -> Any:
        names = list(self._columns)
        if name in self._columns:
            return name
        if isinstance(name, int | np.integer) and -len(names) <= name < len(names):
            return names[name]
        raise ValueError(f"{self.owner}: there is no column {name!r}; there are {names}")

    def _read_numbers(self, name: Any) -> np.ndarray:
        try:
            return np.asarray(self._columns[name], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{self.owner} draws along columns of numbers, but column {name!r} holds others") from None


def _name(column: Any) -> str:
    return column if isinstance(column, str) else f"x{column}"


def find_middle(values: np.ndarray) -> Any:
    """Return the median of numbers, or the most frequent of other values, the first of equals.

    Examples
    --------
    >>> import numpy as np
    >>> find_middle(np.array([1.0, np.nan, 3.0])), find_middle(np.array(["b", "a", "b"]))
    (2.0, 'b')
    """
    if values.dtype.kind in "iuf":
        return float(np.nanmedian(values))
    found, counts = np.unique(values.astype(str), return_counts=True)
    most = found[np.argmax(counts)]
    return next(value for value in values.tolist() if str(value) == most)
