"""Kernels a user brings along: a function of two objects, a feature map, or a finished matrix."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows, as_objects, short
from mercer.formula.expression import Expression
from mercer.formula.notation.tree import Apply, Indexed, Letter, Listed, Node
from mercer.formula.pair import Pair
from mercer.formula.parameters import freeze
from mercer.formula.statistics import Dot, Prepared

from .base import Domain, Kernel
from .mapping import Mapped, name_function
from .prepared import ObjectKernel, Sliced
from .theorem import UNDECIDED, Definiteness, finitely


class Custom(ObjectKernel):
    """Any Python function of two objects.

    Parameters
    ----------
    function : callable
        ``function(x, z)`` returns a number; with ``vectorized=True`` it takes two collections and returns the matrix.
    vectorized : bool, default=False
        Whether the function takes collections.

    Examples
    --------
    >>> from mercer.kernels import Custom
    >>> common = Custom(lambda x, z: len(set(x) & set(z)))
    >>> common(["abc", "bcd"])
    array([[3., 2.],
           [2., 3.]])
    """

    function: Any
    vectorized: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"Custom: function must be callable, got {self.function!r}")

    def notation(self, x: Node, z: Node) -> Node:
        """f(x, z), by the function's own name if it has one."""
        return Apply(name_function(self.function, "f"), (x, z))

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Call the function for every pair, or once."""
        if self.vectorized:
            return self._evaluate_all(A, B)
        return np.array([[self._evaluate(x, z) for z in B] for x in A], dtype=float).reshape(len(A), len(B))

    def block_diag(self, A: Prepared) -> np.ndarray:
        """Call the function for every object with itself."""
        if self.vectorized:
            return super().block_diag(A)
        return np.array([self._evaluate(x, x) for x in A], dtype=float)

    def _evaluate(self, x: Any, z: Any) -> float:
        try:
            returned = self.function(x, z)
        except Exception as error:
            raise ValueError(
                f"{self!r}: the function raised {type(error).__name__}: {error} for x = {x!r}, z = {z!r}"
            ) from error
        value = np.asarray(returned)
        if value.size != 1 or value.dtype.kind not in "biuf":
            raise ValueError(
                f"{self!r}: the function must return a number, but gave {returned!r} for x = {x!r}, z = {z!r}"
            )
        number = float(value.reshape(()))
        if not math.isfinite(number):
            raise ValueError(f"{self!r}: the function returned {number} for x = {x!r}, z = {z!r}; it must be finite")
        return number

    def _evaluate_all(self, A: Prepared, B: Prepared) -> np.ndarray:
        try:
            returned = self.function(A, B)
        except Exception as error:
            raise ValueError(f"{self!r}: the function raised {type(error).__name__}: {error}") from error
        if sparse.issparse(returned):
            returned = returned.toarray()
        values = np.asarray(returned)
        if values.dtype.kind not in "biuf":
            raise ValueError(f"{self!r}: the function must return a matrix of numbers, but gave {short(returned)}")
        values = values.astype(float)
        if values.shape != (len(A), len(B)):
            raise ValueError(
                f"{self!r}: the vectorised function must return a matrix of shape {(len(A), len(B))}, "
                f"but gave shape {values.shape}"
            )
        if not np.isfinite(values).all():
            i, j = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(
                f"{self!r}: the function returned {values[i, j]} for x = {A[i]!r}, z = {B[j]!r}; it must be finite"
            )
        return values


class FromFeatures(Kernel):
    """The kernel of a feature map, k(x, z) = φ(x)ᵀφ(z).

    Parameters
    ----------
    features : transformer or callable
        A fitted transformer, a function of one object that returns its features, or a function of a whole array
        that treats its rows independently.

    Examples
    --------
    >>> from mercer.kernels import FromFeatures
    >>> FromFeatures(lambda x: [1.0, x[0], x[0] ** 2, x[0] ** 3])([[-1.0], [0.0], [1.0]])
    array([[4., 1., 0.],
           [1., 1., 1.],
           [0., 1., 4.]])
    """

    features: Any
    because = "Σ aᵢaⱼ φ(xᵢ)ᵀφ(xⱼ) = ‖Σ aᵢφ(xᵢ)‖² ≥ 0"

    def __post_init__(self) -> None:
        if not (callable(self.features) or hasattr(self.features, "transform")):
            raise TypeError(f"FromFeatures: expected a function or a fitted transformer, got {self.features!r}")

    def step(self) -> Mapped:
        """Return the map as a step in front of the dot product."""
        return Mapped(self.features, repr(self))

    def formula(self, pair: Pair) -> Expression:
        """φ(x)ᵀφ(z)."""
        return Pair(self, pair.view.then(self.step()), pair.path).statistic(Dot)

    def definiteness(self, d: int | None) -> Definiteness:
        """Finitely many features of vectors; of other objects there may be no more than that."""
        return UNDECIDED if d is None else finitely(separates=None, positive=None)

    def feature_dim(self, d: int) -> float:
        """Return the number of features that d zeros have."""
        images = self.step().apply(np.zeros((2, d)))
        if not hasattr(images, "shape"):
            raise ValueError(f"{self!r} does not map {d} numbers to a fixed number of features")
        return int(images.shape[1])


@dataclass(frozen=True)
class MatrixRows(Sliced):
    """Points outside of a finished Gram matrix, each given by its kernel values with all objects of the matrix.

    Parameters
    ----------
    values : array or sparse matrix of shape (m, n)
        A row for each point.
    """

    along = ("values",)

    values: Any

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """Points and objects of the matrix."""
        return tuple(self.values.shape)

    def columns(self, indices: np.ndarray) -> np.ndarray:
        """Return the values with some objects."""
        found = self.values[:, indices]
        return np.asarray(found.toarray() if sparse.issparse(found) else found, dtype=float)


def read_square(matrix: Any, owner: str) -> np.ndarray:
    """Return a square matrix of finite numbers as an array."""
    if sparse.issparse(matrix):
        raise TypeError(f"{owner}: the matrix is sparse; use matrix.toarray() if it fits")
    try:
        values = np.asarray(matrix)
    except ValueError:
        raise ValueError(f"{owner}: the rows of the matrix have different lengths") from None
    if values.ndim != 2 or values.shape[0] != values.shape[1] or values.size == 0:
        raise ValueError(f"{owner}: the matrix must be square with a row for each object, got shape {values.shape}")
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{owner}: the matrix must hold real numbers, got dtype {values.dtype}")
    if not np.isfinite(values).all():
        raise ValueError(f"{owner}: the matrix holds NaN or infinity")
    return values


def find_asymmetry(matrix: np.ndarray) -> tuple[int, int] | None:
    """Return where a matrix differs most from its transpose, None if that may be rounding."""
    values = matrix.astype(float)
    with np.errstate(over="ignore"):
        gap = np.abs(values - values.T)
    i, j = map(int, np.unravel_index(np.argmax(gap), gap.shape))
    return (i, j) if gap[i, j] > 1e-6 * max(float(np.abs(values).max()), 1e-300) else None


def describe_asymmetry(matrix: np.ndarray, entry: tuple[int, int]) -> str:
    """Return the two entries that differ, and what to do."""
    i, j = entry
    pair = f"entry ({i}, {j}) is {float(matrix[i, j])} but ({j}, {i}) is {float(matrix[j, i])}"
    return f"{pair}; use (K + K.T) / 2 if the difference is noise"


class Precomputed(ObjectKernel):
    """A finished Gram matrix; the objects are its row numbers, or :class:`MatrixRows` for points outside of it.

    Parameters
    ----------
    matrix : array of shape (n, n)
        Symmetric and finite.

    Examples
    --------
    >>> from mercer.kernels import Precomputed
    >>> Precomputed([[2.0, 1.0], [1.0, 3.0]])([1, 0])
    array([[3., 1.],
           [1., 2.]])
    """

    matrix: Any

    domain: ClassVar[Domain] = "indices"

    def __post_init__(self) -> None:
        values = read_square(self.matrix, "Precomputed")
        object.__setattr__(self, "matrix", freeze(values))
        worst = find_asymmetry(values)
        if worst is not None:
            raise ValueError(f"Precomputed: the matrix is not symmetric: {describe_asymmetry(values, worst)}")

    @cached_property
    def _digest(self) -> bytes:
        return hashlib.blake2b(np.ascontiguousarray(self.matrix, dtype=float).tobytes()).digest()

    def _key(self) -> tuple[Any, ...]:
        return (type(self), len(self.matrix), self._digest)  # a list and an array of the same numbers are equal

    def notation(self, x: Node, z: Node) -> Node:
        """An entry of the matrix."""
        return Indexed(Letter("K"), Listed((x, z)), single=True)

    def prepare(self, X: Rows, Z: Rows) -> tuple[Prepared, Prepared]:
        """Check the row numbers."""
        A = self._check_indices(X)
        return A, A if Z is X else self._check_indices(Z)

    def _check_indices(self, X: Rows) -> Prepared:
        if isinstance(X, MatrixRows):
            if X.shape[1] != len(self.matrix):
                raise ValueError(
                    f"Precomputed: a point outside of the matrix is given by its {len(self.matrix)} values with the "
                    f"objects of the matrix; got shape {X.shape}"
                )
            return X
        indices = np.asarray(as_objects(X, repr(self)))
        if indices.ndim == 2 and indices.shape[1] == 1:
            indices = indices[:, 0]
        n = len(self.matrix)
        whole = indices.ndim == 1 and indices.dtype.kind in "biuf" and bool((indices == np.floor(indices)).all())
        if not whole or indices.min() < 0 or indices.max() >= n:
            raise ValueError(
                f"Precomputed: the objects are row numbers from 0 to {n - 1}, for example numpy.arange({n}); "
                f"got an array of shape {indices.shape} and type {indices.dtype}"
                + (f" with values from {indices.min()} to {indices.max()}" if whole else "")
            )
        return indices.astype(np.int64)

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Look the values up."""
        if isinstance(A, MatrixRows) and isinstance(B, MatrixRows):
            raise ValueError("Precomputed: the kernel between two points outside of the matrix is not in it")
        if isinstance(A, MatrixRows):
            return A.columns(B)
        if isinstance(B, MatrixRows):
            return B.columns(A).T
        return np.asarray(self.matrix[np.ix_(A, B)], dtype=float)

    def block_diag(self, A: Prepared) -> np.ndarray:
        """Look the values up."""
        return np.asarray(self.matrix[A, A], dtype=float)
