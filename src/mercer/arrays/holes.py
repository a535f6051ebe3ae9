"""Where a table holds numbers that are missing or infinite, in the words of whoever gave it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from mercer.words import count_things

MOST_COLUMNS = 5  # that a message names
IMPUTE = (
    "Impute or drop missing values first, for example with sklearn.impute.SimpleImputer, or give the table to "
    "mercer.AutoRegressor or AutoClassifier, which take it as it is."
)


def name_column(column: int, names: Sequence[Any] | None = None) -> str:
    """Return the name of a column, or its position if it has none."""
    return str(column) if names is None else repr(names[column])


def name_holes(table: Any, names: Sequence[Any] | None = None) -> str:
    """Return where a matrix is not finite: the first place, and how often each column is, if there are several.

    Examples
    --------
    >>> name_holes(np.array([[0.0, np.nan], [np.inf, np.nan]]), ["age", "height"])
    "row 0, column 'height' is nan; columns 'age' (1 row) and 'height' (2 rows) have such values"
    """
    if sparse.issparse(table):
        table = table.tocoo()
        bad = ~np.isfinite(table.data)
        order = np.lexsort((table.coords[1][bad], table.coords[0][bad]))
        rows, columns, values = (part[bad][order] for part in (*table.coords, table.data))
    else:
        rows, columns = np.nonzero(~np.isfinite(table))
        values = table[rows[:1], columns[:1]]
    place = f"row {rows[0]}, column {name_column(int(columns[0]), names)} is {values[0]}"
    if len(rows) == 1:
        return place
    found, counts = np.unique(columns, return_counts=True)
    every = [
        f"{name_column(int(column), names)} ({count_things(n, 'row')})" for column, n in zip(found, counts, strict=True)
    ]
    if len(every) == 1:
        return f"{place}; column {every[0]} has such values"
    if len(every) > MOST_COLUMNS:
        every = [*every[: MOST_COLUMNS - 1], f"{len(every) - MOST_COLUMNS + 1} others"]
    return f"{place}; columns {', '.join(every[:-1])} and {every[-1]} have such values"
