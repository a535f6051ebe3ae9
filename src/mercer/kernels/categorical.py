"""Kernels on categories: columns whose values are only equal or different, or whose similarities are in a matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows, as_objects, is_frame, is_missing, refuse_masked, short
from mercer.formula.expression import Expression
from mercer.formula.notation.tree import ONE, Indexed, Letter, Listed, Node, Relation, sum_coordinates
from mercer.formula.pair import Pair
from mercer.formula.parameters import freeze
from mercer.formula.statistics import CoordinateSum, Prepared, Statistic

from .base import Domain, Kernel
from .custom import describe_asymmetry, find_asymmetry, read_square
from .prepared import ObjectKernel
from .theorem import RECTANGLE, Definiteness, strictly

ROUNDING = 1e-12  # share of the largest eigenvalue below which one may be 0


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


class EntryKernel(ObjectKernel):
    """A kernel whose values are the entries of a matrix with a row for each of finitely many names."""

    thing: ClassVar[str]  # what has a name

    def entries(self) -> np.ndarray:
        """Return the matrix."""
        raise NotImplementedError

    def list_names(self) -> tuple[Any, ...]:
        """Return the names in the order of the rows."""
        raise NotImplementedError

    def prepare(self, X: Rows, Z: Rows) -> tuple[Prepared, Prepared]:
        """Find the rows."""
        A = self._find_rows(X)
        return A, A if Z is X else self._find_rows(Z)

    def _find_rows(self, X: Rows) -> np.ndarray:
        rows = {name: i for i, name in enumerate(self.list_names())}
        objects = as_objects(X, type(self).__name__)
        found = np.empty(len(objects), dtype=np.int64)
        for i, name in enumerate(_unpack_column(objects)):
            try:
                found[i] = rows[name]
            except (KeyError, TypeError):
                raise ValueError(
                    f"{type(self).__name__}: object {i} is {short(name)}, which is no {self.thing}; there are "
                    f"{short(list(rows))}"
                ) from None
        return found

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Look the values up."""
        return np.asarray(self.entries()[np.ix_(A, B)])

    def block_diag(self, A: Prepared) -> np.ndarray:
        """Look the values up."""
        return np.asarray(self.entries()[A, A])


def _unpack_column(objects: Any) -> Iterator[Any]:
    """Yield names, each out of its row where they are the only column of a table."""
    table = isinstance(objects, np.ndarray) and objects.ndim == 2 and objects.shape[1] == 1
    for thing in objects:
        name = thing[0] if table else thing
        yield name.item() if isinstance(name, np.generic) else name


class Coregionalization(EntryKernel):
    """The covariance of several outputs, k(i, j) = B_ij, for a column that says which output a row is about.

    ``Gaussian().on([0, 1]) * Coregionalization(B).on([2])`` is the kernel of several outputs of a point with two
    features: k((x, i), (z, j)) = B_ij k(x, z).  Outputs with a large B_ij learn from each other, with B = I each is on
    its own.  See Álvarez, Rosasco and Lawrence, Foundations and Trends in Machine Learning 4 (2012).

    Parameters
    ----------
    matrix : array of shape (q, q)
        B, symmetric and positive semi-definite; a matrix with a negative eigenvalue is refused.
    outputs : sequence, optional
        The names of the q outputs; without it they are 0, 1, …, q − 1.

    Examples
    --------
    >>> from mercer.kernels import Coregionalization, Gaussian
    >>> k = Gaussian().on([0]) * Coregionalization([[1.0, 0.5], [0.5, 2.0]]).on([1])
    >>> k([[0.3, 0], [0.3, 1]])
    array([[1. , 0.5],
           [0.5, 2. ]])
    >>> Coregionalization([[1.0, 0.5], [0.5, 2.0]], ["wind", "rain"])(["rain"], ["wind", "rain"])
    array([[0.5, 2. ]])
    """

    matrix: Any
    outputs: Any = None

    domain: ClassVar[Domain] = "categories"
    thing = "output"
    because = "no eigenvalue of B is negative, so Σ aᵢaⱼ B_ij = ‖B^½ Σ aᵢeᵢ‖² ≥ 0"

    def __post_init__(self) -> None:
        values = read_square(self.matrix, "Coregionalization").astype(float)
        worst = find_asymmetry(values)
        if worst is not None:
            raise ValueError(f"Coregionalization: the matrix is not symmetric: {describe_asymmetry(values, worst)}")
        spectrum = np.linalg.eigvalsh(values)
        if spectrum[0] < -ROUNDING * float(np.abs(spectrum).max()):
            raise ValueError(
                f"Coregionalization: the matrix has the eigenvalue {spectrum[0]:.4g}, so that it is no covariance; use "
                "Coregionalization.from_weights(W, kappa), or Precomputed(matrix), whose certificate shows points"
            )
        object.__setattr__(self, "matrix", freeze(values))
        if self.outputs is not None:
            object.__setattr__(self, "outputs", read_names(self.outputs, len(values), "Coregionalization", "outputs"))

    @classmethod
    def from_weights(cls, weights: Any, kappa: Any = 0.0, outputs: Any = None) -> Coregionalization:
        """Return the kernel with B = WWᵀ + diag(κ), which is positive semi-definite for every W.

        Parameters
        ----------
        weights : array of shape (q, r)
            W: how strongly each output follows each of r common functions.
        kappa : float or sequence of q floats, default=0.0
            The variances of what each output does on its own, 0 or more.
        outputs : sequence, optional
            The names of the outputs.

        Examples
        --------
        >>> from mercer.kernels import Coregionalization
        >>> Coregionalization.from_weights([[1.0], [2.0]], kappa=0.5)
        Coregionalization(matrix=[[1.5, 2.0], [2.0, 4.5]], outputs=None)
        """
        W, own = np.asarray(weights, dtype=float), np.asarray(kappa, dtype=float)
        if W.ndim != 2 or W.size == 0 or not np.isfinite(W).all():
            raise ValueError(
                "Coregionalization: the weights are a finite table with a row for each output, got "
                f"{short(weights)} of shape {W.shape}"
            )
        if own.shape not in ((), (len(W),)) or not (np.isfinite(own) & (own >= 0)).all():
            raise ValueError(
                f"Coregionalization: kappa is a number that is not negative, or one for each of {len(W)} outputs, "
                f"got {short(kappa)}"
            )
        return cls(W @ W.T + np.diag(np.broadcast_to(own, len(W))), outputs)

    def entries(self) -> np.ndarray:
        """B."""
        return np.asarray(self.matrix)

    def list_names(self) -> tuple[Any, ...]:
        """The outputs."""
        return tuple(range(len(self.matrix))) if self.outputs is None else tuple(self.outputs)

    def notation(self, x: Node, z: Node) -> Node:
        """An entry of the matrix."""
        return Indexed(Letter("B"), Listed((x, z)), single=True)

    def definiteness(self, d: int | None) -> Definiteness:
        """Strict if B is, for points that are different outputs."""
        values = np.linalg.eigvalsh(self.entries())
        if values[0] > ROUNDING * values[-1]:
            return strictly("B has no eigenvalue 0, and neither have its principal submatrices")
        return Definiteness()


def read_names(given: Any, count: int, owner: str, what: str) -> tuple[Any, ...]:
    """Return names that are as many as they should be, all different."""
    names = tuple(name.item() if isinstance(name, np.generic) else name for name in given)
    if len(names) != count or len(set(names)) != count:
        raise ValueError(f"{owner}: {what} are {count} different names, got {short(given)}")
    return names
