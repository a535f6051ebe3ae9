"""Kernels on categories: columns whose values are only equal or different."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows, is_frame, is_missing, refuse_masked
from mercer.formula.expression import Expression
from mercer.formula.notation.tree import ONE, Node, Relation, sum_coordinates
from mercer.formula.pair import Pair
from mercer.formula.statistics import CoordinateSum, Prepared, Statistic

from .base import Kernel
from .theorem import RECTANGLE, Definiteness, strictly


def encode(X: Rows, Z: Rows | None, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """Number the values of each column, the same value alike in X and Z."""
    A = _as_table(X, owner)
    B = A if Z is None else _as_table(Z, owner)
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"{owner}: X has {A.shape[1]} columns but Z has {B.shape[1]}; both need the same columns")
    left, right = np.empty(A.shape), np.empty(B.shape)
    for d in range(A.shape[1]):
        codes: dict[Any, int] = {}
        for table, out in ((A, left), (B, right)):
            for row, value in enumerate(table[:, d]):
                if is_missing(value):
                    raise ValueError(
                        f"{owner}: row {row}, column {d} is missing; fill missing values first, "
                        "for example with a category of their own such as 'missing'"
                    )
                try:
                    out[row, d] = codes.setdefault(value, len(codes))
                except TypeError:
                    raise TypeError(
                        f"{owner}: row {row}, column {d} is {value!r}, which is not hashable; use categories such as "
                        "strings, numbers or tuples"
                    ) from None
    return left, right


def _as_table(X: Rows, owner: str) -> np.ndarray:
    if sparse.issparse(X):
        raise TypeError(f"{owner} does not work on sparse matrices; use X.toarray() if it fits")
    refuse_masked(X, owner)
    # Column by column: a frame as a whole would turn whole numbers next to fractions into floats, which merges some.
    table = _read_columns(X) if is_frame(X) else np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X, dtype=object)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[0] == 0 or table.shape[1] == 0:
        raise ValueError(f"{owner} needs a table of shape (points, columns), got shape {table.shape}")
    return table


def _read_columns(X: Rows) -> np.ndarray:
    names = range(len(X.columns))
    columns = [X.iloc[:, i] for i in names] if hasattr(X, "iloc") else X.get_columns()
    table = np.empty((len(X), len(columns)), dtype=object)
    for i, column in enumerate(columns):
        table[:, i] = np.asarray(column.to_numpy(), dtype=object)
    return table


@dataclass(frozen=True)
class Match(CoordinateSum):
    """The number of columns in which two rows of categories agree."""

    native = "match"
    reads_rows = False  # categories may be given as a flat list, one for each point

    def notation(self, x: Node, z: Node) -> Node:
        """Σ 1[x = z]."""
        return sum_coordinates(lambda a, b, d: ONE if a == b else Relation(a, "=", b, indicator=True), x, z)

    def prepare(self, X: Rows, Z: Rows, dtype: Any) -> tuple[Prepared, Prepared]:
        """Number the categories of both collections together, column by column."""
        A, B = encode(self.view.apply(X), None if Z is X else self.view.apply(Z), self.owner)
        left = A.astype(dtype)
        return left, left if Z is X else B.astype(dtype)

    def term(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """1 where the categories agree."""
        return (a == b).astype(a.dtype)

    check_slopes = Statistic.check_slopes  # categories do not change a little


class Overlap(Kernel):
    """The number of categorical columns in which two rows agree.

    k(x, z) = Σ_d 1[x_d = z_d].  Values may be of any hashable type; pick the columns with ``on``, and get the share
    of agreeing columns with ``normalize``.

    Examples
    --------
    >>> from mercer.kernels import Overlap
    >>> Overlap()([["red", "round"], ["red", "square"], ["blue", "round"]])
    array([[2., 1., 1.],
           [1., 2., 0.],
           [1., 0., 2.]])
    """

    domain = "categories"
    because = "1[x = z] = Σ_c 1[x = c] 1[z = c] is an inner product of indicators of categories"

    def definiteness(self, d: int | None) -> Definiteness:
        """Strict for one column only."""
        if d == 1:
            return strictly("K is the identity")
        return Definiteness(False, RECTANGLE, separates=True, positive=True)

    def formula(self, pair: Pair) -> Expression:
        """Σ 1[x = z]."""
        return pair.statistic(Match)
