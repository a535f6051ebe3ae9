"""Tables of any columns become arrays or frames that kernels take."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mercer.formula.data import Rows, is_frame

from ..report import Column
from .columns import cast_values, check_types, learn_column
from .frames import check_table, iterate_columns, join_columns, name_columns
from .reading import ColumnValues, read_column
from .statistics import check_goals, cross_fit, learn_statistics
from .steps import (
    MANY_LEVELS,
    Step,
    encode_block,
    locate_categories,
    name_block,
    read_categories,
    read_numbers,
    read_texts,
)

MOST_CODES = 254  # categories that trees tell apart
PARAMS = {
    "categories": ("indicators", "statistics", "overlap"),
    "output": ("auto", "frame"),
    "texts": ("words", "strings"),
}


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Decide what each column of a table is, and turn it into what kernels take: one matrix of floats, or a frame.

    **Numbers** are standardised by median and quartiles, long tails bent by a logarithm or by ranks first.  Cells of
    text are numbers if 90 % of a column are, with currencies, units, percent signs, thousands and either decimal mark;
    others are stray: they are named in ``columns_`` and count as missing, at the fit and for new rows.  Missing ones
    are filled with the median, and flagged in a column of their own if they are more than 1 in 200.
    **Dates**, in the usual spellings, become days, and season, weekday and hour where these vary, as points on circles.
    **Texts** that few rows share become at most 24 directions of their hashed words and runs of letters.
    **Categories** are all other strings, and truth values; a missing one is one more.  Constants and ids are left out.

    Parameters
    ----------
    categories : {"indicators", "statistics", "overlap"}, default="indicators"
        "indicators" makes columns of 0 and 1 of the 40 most frequent categories of a column; where there are more, also
        of how often each occurs and, if they are words, of at most 8 directions of their letters.  "statistics" adds
        the average target of each category to columns of more than 8, which needs ``y``; those of training rows come
        from other rows.  "overlap" keeps categories, for :class:`~mercer.kernels.Overlap`, in a frame.  A category that
        the fit has not seen is unlike all others.
    output : {"auto", "frame"}, default="auto"
        "auto" gives an array of floats if there are only numbers; "frame" keeps names also then.
    texts : {"words", "strings"}, default="words"
        Whether texts become numbers, or stay for :class:`~mercer.kernels.Spectrum`, in a frame.
    types : dict, optional
        What columns hold, by name: "number", "category", "date" or "text".  It is found out for all others.

    Attributes
    ----------
    columns_ : list of Column
        What each column was taken for, and what is done with it.
    steps_ : list of dict
        What was learned about each column, as plain values and arrays.
    container_ : {"pandas", "polars", "array"}
        What tables are made of, as in the fit.
    n_features_in_, feature_names_in_
        Number and names of the columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.auto import TableEncoder
    >>> table = pd.DataFrame({"size": ["$1", "$2", "$5", "-"], "colour": ["red", "blue", "red", None], "one": [1] * 4})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size missing', 'colour=red', 'colour=(missing)', 'colour=blue']
    >>> encoder.transform(table)[:, 1].tolist()
    [0.0, 0.0, 0.0, 1.0]
    >>> [column.treatment for column in encoder.columns_][1:]
    ['3 categories, one of them for 1 missing', 'ignored: always the same value']
    """

    columns_: list[Column]
    steps_: list[Any]
    container_: str

    def __init__(
        self,
        categories: Literal["indicators", "statistics", "overlap"] = "indicators",
        output: Literal["auto", "frame"] = "auto",
        texts: Literal["words", "strings"] = "words",
        types: dict[str, str] | None = None,
    ) -> None:
        self.categories = categories
        self.output = output
        self.texts = texts
        self.types = types

    def fit(self, X: Rows, y: ArrayLike | None = None) -> Self:
        """Look at all columns.

        Parameters
        ----------
        X : frame (pandas, polars) or array of shape (n, columns)
            The table.
        y : array of shape (n,) or (n, q), optional
            Targets as numbers, classes as columns of 0 and 1.  Only the statistics of categories need them.
        """
        self._learn_columns(X, y)
        return self

    def fit_transform(self, X: Rows, y: ArrayLike | None = None, **fit_params: Any) -> Any:
        """Look at all columns, and return the table; statistics of a row do not know its own target.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.
        """
        values, goals = self._learn_columns(X, y)
        return self._join(values, self._cross_fit(values, goals))

    def relearn(self, X: Rows, y: ArrayLike) -> tuple[TableEncoder, Any]:
        """Return an encoder with the same columns and the statistics of other rows, and these rows encoded.

        Parameters
        ----------
        X, y
            As in :meth:`fit`; ``categories`` must be "statistics", see :meth:`variant`.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from mercer.auto import TableEncoder
        >>> table = pd.DataFrame({"town": [f"t{i % 9}" for i in range(90)]})
        >>> encoder = TableEncoder("indicators").fit(table).variant(categories="statistics")
        >>> encoder, rows = encoder.relearn(table[:60], np.arange(60) % 9 > 4)
        >>> rows.shape, encoder.get_feature_names_out()[-1]
        ((60, 10), 'town: mean')
        """
        other = self.variant()
        values = other._read_columns(X)
        goals = other._learn_goals(values, y)
        return other, other._join(values, other._cross_fit(values, goals))

    def transform(self, X: Rows) -> Any:
        """Return the table as kernels take it: an array of floats, or a frame if there are categories or texts.

        Parameters
        ----------
        X : frame or array
            New rows; columns of a frame are found by name, in any order, and others are ignored.
        """
        check_is_fitted(self)
        return self._join(self._read_columns(X), {})

    # -- what comes out -----------------------------------------------------------------------------------------------

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the output."""
        check_is_fitted(self)
        return np.array(
            [name for kind in ("numeric", "categorical", "text") for name in self.names(kind)], dtype=object
        )

    def names(self, kind: str) -> list[str]:
        """Return the names of the output columns that are numeric, categorical or text."""
        check_is_fitted(self)
        if kind == "numeric":
            blocks = [(places, self._name_block(j)) for j, places in self._place_blocks().items()]
            named = {place: name for places, names in blocks for place, name in zip(places, names, strict=True)}
            return [named[place] for place in range(len(named))]
        return [step["name"] for step in self.steps_ if step["kind"] == kind and self._stays(step)]

    def place(self, kind: str) -> list[Any]:
        """Return the output columns of a kind as ``k.on`` takes them: names, or positions if there are no names."""
        names, every = self.names(kind), self.get_feature_names_out().tolist()
        return names if self.container_ != "array" else [every.index(name) for name in names]

    def blocks(self) -> list[list[int]]:
        """Return the positions of the numeric outputs that come from one column of the table, for each that has some.

        Examples
        --------
        >>> import pandas as pd
        >>> from mercer.auto import TableEncoder
        >>> table = pd.DataFrame({"size": [1.0, 2.0, None], "colour": ["red", "blue", "green"], "age": [3, 5, 9]})
        >>> TableEncoder().fit(table).blocks()
        [[0, 2], [3, 4, 5], [1]]
        """
        check_is_fitted(self)
        return list(self._place_blocks().values())

    @property
    def is_numeric(self) -> bool:
        """Whether the output is an array of floats."""
        plain = not (self.names("categorical") or self.names("text"))
        return plain and (self.output == "auto" or self.container_ == "array")

    @property
    def has_statistics(self) -> bool:
        """Whether a column has categories enough for statistics of targets."""
        check_is_fitted(self)
        return any(_has_statistics(step) for step in self.steps_)

    def variant(self, **params: Any) -> TableEncoder:
        """Return an encoder with other parameters that has learned the same."""
        check_is_fitted(self)
        other = TableEncoder(**(self.get_params() | params))
        other._check_params()
        for name in vars(self).keys() - self.get_params().keys():
            setattr(other, name, getattr(self, name))
        return other

    def plain(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers as they are and categories as codes, NaN for missing ones, and which columns are categories.

        That is what tree-based models take; dates are days, texts are left out, and of many categories the 254 most
        frequent have codes.
        """
        check_is_fitted(self)
        values = self._read_columns(X)
        data, choices = [], []
        for step, column in zip(self.steps_, values, strict=True):
            if step["kind"] == "numeric":
                data.append(read_numbers(step, column))
            elif step["kind"] == "categorical":
                codes = locate_categories(step, column)
                data.append(np.where((codes < 0) | (codes >= MOST_CODES), np.nan, codes))
            else:
                continue
            choices.append(step["kind"] == "categorical")
        n = len(values[0].data)
        return np.column_stack(data) if data else np.zeros((n, 1)), np.array(choices or [False], dtype=bool)

    # -- learning -----------------------------------------------------------------------------------------------------

    def _learn_columns(self, X: Rows, y: ArrayLike | None) -> tuple[list[ColumnValues], np.ndarray | None]:
        """Look at all columns, and return their values and the targets if they are needed."""
        self._check_params()
        X = check_table(self, X, reset=True)
        self.container_ = type(X).__module__.partition(".")[0] if is_frame(X) else "array"
        names, types = [name for name, _ in name_columns(X)], self.types or {}
        check_types(types, names)
        values = [self._read(name, column) for name, column in name_columns(X)]
        found = [learn_column(name, column, types.get(name)) for name, column in zip(names, values, strict=True)]
        self.columns_ = [column for column, _ in found]
        self.steps_ = [step for _, step in found]
        return values, self._learn_goals(values, y) if self.categories == "statistics" else None

    def _learn_goals(self, values: list[ColumnValues], y: ArrayLike | None) -> np.ndarray:
        """Learn the statistics of targets, in steps of this encoder alone, and return the targets."""
        if self.categories != "statistics":
            raise ValueError(
                f'only categories="statistics" learns from targets, and this encoder has {self.categories!r}; take '
                'encoder.variant(categories="statistics")'
            )
        goals, steps = check_goals(y, len(values[0].data)), list(self.steps_)
        for j, (codes, levels) in self._locate(values).items():
            steps[j] = steps[j] | {"statistics": learn_statistics(codes, levels, goals)}
        self.steps_ = steps
        return goals

    def _cross_fit(self, values: list[ColumnValues], goals: np.ndarray | None) -> dict[int, np.ndarray]:
        """Return the statistics of training rows, by the position of their column."""
        if goals is None:
            return {}
        return {j: cross_fit(codes, levels, goals) for j, (codes, levels) in self._locate(values).items()}

    def _locate(self, values: list[ColumnValues]) -> dict[int, tuple[np.ndarray, int]]:
        """Return the categories of rows and how many there are, by the position of each column with statistics."""
        return {
            j: (locate_categories(step, values[j]), len(step["categories"]))
            for j, step in enumerate(self.steps_)
            if _has_statistics(step)
        }

    def _check_params(self) -> None:
        for name, allowed in PARAMS.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"TableEncoder: {name} must be one of {allowed}, got {getattr(self, name)!r}")

    # -- columns of the output ----------------------------------------------------------------------------------------

    def encode_nothing(self) -> Any:
        """Return the output for one row in which every value is missing."""
        return self._join([read_column(step["name"], [None]) for step in self.steps_], {})

    def _check_fitted(self) -> None:
        """Raise if a row cannot be encoded; files call this."""
        if len(self.columns_) != len(self.steps_) or getattr(self, "n_features_in_", None) != len(self.steps_):
            raise ValueError("TableEncoder: there is not one step for each column")
        check_types(self.types or {}, [column.name for column in self.columns_])
        self.encode_nothing()
        self.get_feature_names_out()

    def _stays(self, step: Step) -> bool:
        """Return whether a column is no number in the output either."""
        return (step["kind"] == "categorical" and self.categories == "overlap") or (
            step["kind"] == "text" and self.texts == "strings"
        )

    def _name_block(self, j: int) -> list[str]:
        return name_block(self.steps_[j], self.categories == "statistics")

    def _place_blocks(self) -> dict[int, list[int]]:
        """Return the positions of the numeric outputs of each column: numbers first, then their flags, then others."""
        owners: list[int] = []
        ranks: list[int] = []
        for j, step in enumerate(self.steps_):
            if step["kind"] != "ignored" and not self._stays(step):
                names = self._name_block(j)
                owners += [j] * len(names)
                first = [0, 1][: 1 + step["flagged"]] if step["kind"] == "numeric" else []
                ranks += first + [2] * (len(names) - len(first))
        places = np.empty(len(owners), dtype=np.int64)
        places[np.argsort(ranks, kind="stable")] = np.arange(len(owners))
        return {j: places[np.array(owners) == j].tolist() for j in dict.fromkeys(owners)}

    def _join(self, values: list[ColumnValues], known: dict[int, np.ndarray]) -> Any:
        """Return the output: a matrix of all numbers, and beside it in a frame what stays."""
        statistics, blocks, n = self.categories == "statistics", self._place_blocks(), len(values[0].data)
        if statistics and any(_has_statistics(step) and "statistics" not in step for step in self.steps_):
            check_goals(None, n)
        matrix = np.empty((n, sum(map(len, blocks.values()))))
        for j, places in blocks.items():
            together = places[-1] - places[0] == len(places) - 1  # then a slice, which is copied much faster
            where = slice(places[0], places[-1] + 1) if together else places
            matrix[:, where] = encode_block(self.steps_[j], values[j], statistics, known.get(j))
        names = self.get_feature_names_out().tolist()
        if not names:
            return np.zeros((n, 1))  # nothing is known about any row, which a constant says
        if self.is_numeric:
            return matrix
        pairs = list(zip(self.steps_, values, strict=True))
        kept = [
            read_categories(column) for step, column in pairs if step["kind"] == "categorical" and self._stays(step)
        ]
        kept += [read_texts(column) for step, column in pairs if step["kind"] == "text" and self._stays(step)]
        return join_columns(self.container_, names, [*matrix.T, *kept])

    def _read_columns(self, X: Rows) -> list[ColumnValues]:
        """Return the columns of new rows, as they stood at the fit."""
        X = check_table(self, X, reset=False)
        names = [step["name"] for step in self.steps_]
        return [self._read(name, column) for name, column in zip(names, iterate_columns(X), strict=True)]

    def _read(self, name: str, column: Any) -> ColumnValues:
        return cast_values(read_column(name, column), (self.types or {}).get(name))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = self.categories == "statistics"
        return tags


def _has_statistics(step: Step) -> bool:
    return step["kind"] == "categorical" and len(step["categories"]) > MANY_LEVELS
