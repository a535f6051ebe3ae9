"""Tables of any columns become arrays or frames that kernels take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.formula.data import Rows, is_frame, refuse_masked

from ..report import Column
from .columns import check_finite, learn_column, read_categories, read_numbers, read_texts, standardize_numbers
from .reading import ColumnValues, read_column

MOST_INDICATORS = 40  # of a column; rarer categories share the origin


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Decide what each column of a table is, and turn it into what kernels take.

    Numbers are standardised by median and quartiles, long tails bent by a logarithm or by ranks first; missing ones
    are filled with the median and flagged in a column of their own.  Dates become days.  Texts that few rows share are
    kept for :class:`~mercer.kernels.Spectrum`, others are categories, and a missing category is one more.  Constants
    and ids are left out.  ``columns_`` tells all of this.

    Parameters
    ----------
    categories : {"overlap", "indicators"}, default="overlap"
        Whether categories stay, for :class:`~mercer.kernels.Overlap`, or become columns of 0 and 1, for kernels on
        numbers.  Either way a category that the fit has not seen is unlike all others.
    output : {"auto", "frame"}, default="auto"
        "auto" gives an array of floats if there are only numbers; "frame" keeps names also then.

    Attributes
    ----------
    columns_ : list of Column
        What each column was taken for, and what is done with it.
    steps_ : list of dict
        What was learned about each column, as plain values.
    container_ : {"pandas", "polars", "array"}
        What tables are made of, as in the fit.
    n_features_in_, feature_names_in_
        Number and names of the columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.auto import TableEncoder
    >>> table = pd.DataFrame({"size": [1.0, 2.0, 5.0, None], "colour": ["red", "blue", "red", None], "one": [1] * 4})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size missing', 'colour']
    >>> [column.treatment for column in encoder.columns_][1:]
    ['3 categories, one of them for 1 missing', 'ignored: always the same value']
    """

    columns_: list[Column]
    steps_: list[Any]
    container_: str

    def __init__(
        self, categories: Literal["overlap", "indicators"] = "overlap", output: Literal["auto", "frame"] = "auto"
    ) -> None:
        self.categories = categories
        self.output = output

    def fit(self, X: Rows, y: ArrayLike | None = None) -> Self:
        """Look at all columns.

        Parameters
        ----------
        X : frame (pandas, polars) or array of shape (n, columns)
            The table.
        y : ignored
        """
        for name, value, allowed in (
            ("categories", self.categories, ("overlap", "indicators")),
            ("output", self.output, ("auto", "frame")),
        ):
            if value not in allowed:
                raise ValueError(f"TableEncoder: {name} must be one of {allowed}, got {value!r}")
        X = check_table(self, X, reset=True)
        self.container_ = type(X).__module__.partition(".")[0] if is_frame(X) else "array"
        found = [learn_column(name, read_column(name, column)) for name, column in name_columns(X)]
        self.columns_: list[Column] = [column for column, _ in found]
        self.steps_: list[dict[str, Any]] = [step for _, step in found]
        return self

    def transform(self, X: Rows) -> Any:
        """Return the table as kernels take it: an array of floats, or a frame if there are categories or texts.

        Parameters
        ----------
        X : frame or array
            New rows; columns of a frame are found by name, in any order, and others are ignored.
        """
        check_is_fitted(self)
        values = self._read_columns(X)
        names = self.get_feature_names_out()
        return self._join_columns(dict(self._encode_columns(values)), names, len(values[0].data))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the output."""
        check_is_fitted(self)
        return np.array(
            [name for kind in ("numeric", "categorical", "text") for name in self.names(kind)], dtype=object
        )

    def names(self, kind: str) -> list[str]:
        """Return the names of the output columns that are numeric, categorical or text."""
        check_is_fitted(self)
        steps = [step for step in self.steps_ if step["kind"] == kind]
        if kind != "numeric":
            return [] if kind == "categorical" and self.categories == "indicators" else [s["name"] for s in steps]
        flags = [f"{step['name']} missing" for step in steps if step["flagged"]]
        indicators: list[str] = []
        if self.categories == "indicators":
            choices = [step for step in self.steps_ if step["kind"] == "categorical"]
            indicators = [f"{step['name']}={category}" for step in choices for category in _list_indicators(step)]
        return [step["name"] for step in steps] + flags + indicators

    def place(self, kind: str) -> list[Any]:
        """Return the output columns of a kind as ``k.on`` takes them: names, or positions if there are no names."""
        names, every = self.names(kind), self.get_feature_names_out().tolist()
        return names if self.container_ != "array" else [every.index(name) for name in names]

    @property
    def is_numeric(self) -> bool:
        """Whether the output is an array of floats."""
        plain = not (self.names("categorical") or self.names("text"))
        return plain and (self.output == "auto" or self.container_ == "array")

    def variant(self, **params: Any) -> TableEncoder:
        """Return an encoder with other parameters that has learned the same."""
        check_is_fitted(self)
        other = TableEncoder(**(self.get_params() | params))
        for name in vars(self).keys() - self.get_params().keys():
            setattr(other, name, getattr(self, name))
        return other

    def plain(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers as they are and categories as codes, NaN for missing ones, and which columns are categories.

        That is what tree-based models take; texts are left out.
        """
        check_is_fitted(self)
        data, choices = [], []
        for step, values in zip(self.steps_, self._read_columns(X), strict=True):
            if step["kind"] == "numeric":
                data.append(read_numbers(step, values))
            elif step["kind"] == "categorical":
                codes = {category: float(code) for code, category in enumerate(step["categories"][:254])}
                data.append(np.array([codes.get(value, np.nan) for value in read_categories(step, values)]))
            else:
                continue
            choices.append(step["kind"] == "categorical")
        n = len(data[0]) if data else len(self._read_columns(X)[0].data)
        return np.column_stack(data) if data else np.zeros((n, 1)), np.array(choices or [False], dtype=bool)

    # -- the steps ----------------------------------------------------------------------------------------------------

    def _encode_columns(self, values: list[ColumnValues]) -> Iterator[tuple[str, np.ndarray]]:
        for step, column in zip(self.steps_, values, strict=True):
            name = step["name"]
            if step["kind"] == "numeric":
                yield name, standardize_numbers(step, column)
                if step["flagged"]:
                    yield f"{name} missing", column.missing.astype(np.float64)
            elif step["kind"] == "categorical":
                texts = read_categories(step, column)
                if self.categories == "overlap":
                    yield name, texts
                    continue
                for category in _list_indicators(step):
                    yield f"{name}={category}", (texts == category).astype(np.float64)
            elif step["kind"] == "text":
                yield name, read_texts(step, column)

    def _join_columns(self, columns: dict[str, np.ndarray], names: np.ndarray, n: int) -> Any:
        """Put columns together."""
        if len(names) == 0:
            return np.zeros((n, 1))  # nothing is known about any row, which a constant says
        if self.is_numeric:
            return np.column_stack([columns[name] for name in names])
        if self.container_ == "array":
            return np.column_stack([columns[name].astype(object) for name in names])
        if self.container_ == "polars":
            import polars as pl

            return pl.DataFrame({name: columns[name].tolist() for name in names})
        import pandas as pd

        return pd.DataFrame({name: pd.Series(columns[name], dtype=columns[name].dtype) for name in names})

    def _read_columns(self, X: Rows) -> list[ColumnValues]:
        """Return the columns of new rows, as they stood at the fit."""
        X = check_table(self, X, reset=False)
        names = [step["name"] for step in self.steps_]
        return [read_column(name, column) for name, column in zip(names, _iterate_columns(X), strict=True)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


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
    return zip(names, _iterate_columns(X), strict=True)


def check_columns(X: Rows) -> None:
    """Raise if a column cannot be read, with the row in the order of the table and not of a part of it."""
    for name, column in name_columns(X):
        values = read_column(name, column)
        if values.kind in ("numbers", "dates"):
            check_finite(name, values.data)


def _iterate_columns(X: Rows) -> Iterator[Any]:
    if not is_frame(X):
        return iter(X.T)
    return (X.iloc[:, j] for j in range(X.shape[1])) if hasattr(X, "iloc") else (X[:, j] for j in range(X.shape[1]))


def _list_indicators(step: dict[str, Any]) -> list[str]:
    """Return the categories that get an indicator: all, or for two only the rarer, whose complement is the other."""
    categories = list(step["categories"])
    return categories[1:] if len(categories) == 2 else categories[:MOST_INDICATORS]
