"""Tables that are given and returned: their columns, found by name, and what cannot be read in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from mercer.formula.data import Rows, is_frame, refuse_masked

from .reading import read_column
from .steps import check_finite


def check_table(estimator: BaseEstimator, X: Rows, *, reset: bool) -> Any:
    """Return a table whose columns are those of the fit of an estimator, or with ``reset`` remember them."""
    if is_frame(X) and not sparse.issparse(X):
        if not reset and hasattr(estimator, "feature_names_in_"):
            X = _order_columns(estimator, X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(
                f"{type(estimator).__name__}: the table needs at least one row and one column, got shape "
                f"{tuple(X.shape)}"
            )
        return X
    refuse_masked(X, type(estimator).__name__)
    return validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)


def _order_columns(estimator: Any, X: Rows) -> Any:
    """Return the columns of a frame that an estimator was fitted to, in the order they had then."""
    wanted, there = list(estimator.feature_names_in_), list(X.columns)
    missing = [name for name in wanted if name not in there]
    if missing:
        raise ValueError(
            f"{type(estimator).__name__}: {len(missing)} of the {len(wanted)} columns of the fit are missing: "
            f"{', '.join(map(repr, missing[:5]))}{' …' * (len(missing) > 5)}; the table has "
            f"{', '.join(map(repr, there[:8]))}{' …' * (len(there) > 8)}"
        )
    return X if there == wanted else X[wanted]


def name_columns(X: Rows) -> Iterator[tuple[str, Any]]:
    """Return the columns of a table with their names."""
    names = [str(name) for name in X.columns] if is_frame(X) else [f"x{j}" for j in range(X.shape[1])]
    return zip(names, iterate_columns(X), strict=True)


def check_columns(X: Rows) -> None:
    """Raise if a column cannot be read, with the row in the order of the table and not of a part of it."""
    for name, column in name_columns(X):
        values = read_column(name, column)
        if values.kind in ("numbers", "dates"):
            check_finite(name, values.data)


def iterate_columns(X: Rows) -> Iterator[Any]:
    """Return the columns of a table."""
    if not is_frame(X):
        return iter(X.T)
    return (X.iloc[:, j] for j in range(X.shape[1])) if hasattr(X, "iloc") else (X[:, j] for j in range(X.shape[1]))


def copy_cells(X: Rows) -> Any:
    """Return a table that :func:`replace_cells` may change while X stays as it is."""
    return X.copy(deep=False) if hasattr(X, "iloc") else X if is_frame(X) else np.array(X)


def replace_cells(X: Any, j: int, source: Rows, rows: np.ndarray) -> Any:
    """Return a table with the cells of column j taken from some rows of another table of the same kind.

    Arrays and frames of pandas are changed in place.
    """
    if hasattr(X, "iloc"):
        X.isetitem(j, source.iloc[rows, j].array)
    elif is_frame(X):
        X = X.with_columns(source[:, j].gather(rows))
    else:
        X[:, j] = source[rows, j]
    return X


def join_columns(container: str, names: list[str], columns: list[np.ndarray]) -> Any:
    """Return columns as a table: of pandas, of polars, or an array of objects."""
    if container == "array":
        return np.column_stack([column.astype(object) for column in columns])
    if container == "polars":
        import polars as pl

        return pl.DataFrame({name: column.tolist() for name, column in zip(names, columns, strict=True)})
    import pandas as pd

    series = [pd.Series(column, dtype=column.dtype) for column in columns]
    return pd.DataFrame(dict(zip(names, series, strict=True)))
