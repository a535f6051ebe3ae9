"""Dot products, distances and sums over coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.arrays.namespace import namespace, put_beside
from mercer.arrays.tensors import is_tensor

from ..data import Rows
from ..expression import Const, Expression, Param, Stat
from ..notation.tree import (
    ONE,
    ZERO,
    Absolute,
    Inner,
    Node,
    Norm,
    is_single,
    length,
    minus,
    power,
    scale_at,
    sum_coordinates,
    times,
)
from .base import Prepared, Statistic, VectorStatistic

COLUMNS = 256  # that a block is multiplied by at a time
FURTHEST = 1e300  # a squared distance that overflows; finite, so that it times a vanishing exponential is 0


@dataclass(frozen=True)
class Dot(VectorStatistic):
    """xᵀz."""

    native = "dot"
    degree = "product"
    takes_sparse = True

    def notation(self, x: Node, z: Node) -> Node:
        """xᵀz, or ‖x‖²."""
        if x == z:
            return power(length(x), 2.0)
        return times(x, z) if is_single(x) else Inner(x, z)

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Matrix of dot products."""
        return make_dense(A @ B.T)

    def diag(self, A: Prepared) -> np.ndarray:
        """Squared norms."""
        return square_norms(A)

    def apart(self, A: Prepared, B: Prepared) -> np.ndarray:
        """‖x − z‖²."""
        return _square_differences(A, B)

    def apart_formula(self) -> Expression:
        """‖x − z‖²."""
        return Stat(SquaredDistance(self.view, self.owner))

    def rise(self, A: Prepared, B: Prepared) -> np.ndarray | float:
        """(x − z)ᵀ(x + z)."""
        return super().rise(A, B) if sparse.issparse(A) else sum_of_terms(lambda a, b: (a - b) * (a + b), A, B)

    def slope(self, a: Array, b: Array) -> Array:
        """The other point."""
        return b

    def weigh_slopes(self, E: Array, A: Array, B: Prepared, C: Array) -> Array:
        """E (c ∘ B), a matrix product."""
        return _weigh_points(E, B, C)


@dataclass(frozen=True)
class ScaledDistance(VectorStatistic):
    """A distance whose coordinates are first divided by a length scale each.

    An empty ``scale`` means no division: a kernel with one length scale divides the statistic instead, so that
    several kernels can share it.
    """

    scale: tuple[Param, ...] = ()
    column: int | None = None  # keep one coordinate: what the derivative by one length scale needs

    @property
    def order(self) -> float:
        """The degree of which the statistic is homogeneous."""
        return 1

    def notation(self, x: Node, z: Node) -> Node:
        """‖x − z‖ to its power, or the sum over coordinates where each has a length scale."""
        if x == z:
            return ZERO
        if not self.scale:
            return power(self.norm(minus(x, z)) if not is_single(x) else Absolute(minus(x, z)), self.order)
        scales = tuple(param.value for param in self.scale)

        def term(a: Node, b: Node, d: Node | None) -> Node:
            apart = minus(a, b) if self.order == 2 else Absolute(minus(a, b))
            return times(power(apart, self.order), power(scale_at(scales, d), -self.order))

        return sum_coordinates(term, x, z)

    def norm(self, inside: Node) -> Node:
        """Return the norm that distances are measured in."""
        return Norm(inside)

    def check(self, A: Any) -> None:
        """Raise if there is not one length scale for each feature."""
        if self.scale and len(self.scale) != A.shape[1]:
            raise ValueError(
                f"{self.owner} has {len(self.scale)} length scales but the data has {A.shape[1]} features; "
                "give one length scale, or one for each feature"
            )

    def transform(self, A: Any) -> Any:
        """Divide by the length scales and keep the one coordinate asked for."""
        if self.scale:
            inverse = self._inverse_scales()
            if hasattr(A, "new_tensor"):  # points on a device
                inverse = A.new_tensor(inverse)
            A = A @ sparse.diags_array(inverse).tocsr() if sparse.issparse(A) else A * inverse
        return A if self.column is None else A[:, [self.column]]

    def transform_back(self, G: Array, A: Array, X: Rows) -> Array:
        """Divide by the length scales again."""
        return G * put_beside(G, self._inverse_scales()) if self.scale else G

    def _inverse_scales(self) -> np.ndarray:
        return 1.0 / np.array([param.value for param in self.scale])

    def parameters(self) -> tuple[Param, ...]:
        """Return the length scales."""
        return self.scale

    def log_derivative(self, name: str) -> Expression:
        """−order times the share of the coordinate that the length scale divides."""
        for position, param in enumerate(self.scale):
            if param.name == name and self.column in (None, position):
                return -float(self.order) * Stat(replace(self, column=position))
        return Const(0.0)


@dataclass(frozen=True)
class SquaredDistance(ScaledDistance):
    """‖x − z‖²."""

    native = "sqdist"
    takes_sparse = True
    centred = True
    order = 2
    degree = 2.0

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """‖a‖² + ‖b‖² − 2aᵀb, with pairs so close that this cancels computed again by differences."""
        return _square_distances(A, B)

    def diag(self, A: Prepared) -> np.ndarray:
        """Zeros."""
        return np.zeros(A.shape[0], dtype=A.dtype)

    def direct(self) -> Statistic:
        """Sums of squared differences."""
        return DirectSquaredDistance(self.view, self.owner, self.scale, self.column)

    def slope(self, a: Array, b: Array) -> Array:
        """2(a − b)."""
        return 2.0 * (a - b)

    def weigh_slopes(self, E: Array, A: Array, B: Prepared, C: Array) -> Array:
        """2(a · Ec − E (c ∘ B)), two matrix products."""
        return 2.0 * ((E @ C)[:, :, None] * A[:, None, :] - _weigh_points(E, B, C))


@dataclass(frozen=True)
class DirectSquaredDistance(SquaredDistance):
    """‖x − z‖², with differences formed first."""

    direct_form = True

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Σ (x − z)²."""
        return np.minimum(_square_differences(A, B), FURTHEST)

    def direct(self) -> Statistic:
        """Itself."""
        return self


@dataclass(frozen=True)
class CoordinateSum(VectorStatistic):
    """Σ_d term(x_d, z_d)."""

    def term(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the share of one coordinate; a and b broadcast."""
        raise NotImplementedError

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Sum the terms of all coordinates."""
        return sum_of_terms(self.term, A, B)

    def diag(self, A: Prepared) -> np.ndarray:
        """Sum the terms of all coordinates at x = z."""
        return self.term(A, A).sum(axis=1)


@dataclass(frozen=True)
class AbsoluteDistance(CoordinateSum, ScaledDistance):
    """‖x − z‖₁."""

    native = "absdist"
    degree = 1.0
    centred = True
    direct_form = True

    def norm(self, inside: Node) -> Node:
        """‖·‖₁."""
        return Norm(inside, ONE)

    def term(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """|a − b|."""
        return np.abs(a - b)

    def slope(self, a: Array, b: Array) -> Array:
        """The sign of a − b, 0 at the kink."""
        difference = a - b
        return namespace(a).sign(difference) if is_tensor(a) else np.sign(difference)  # the other looks for NaN first


def _square_distances(A: Prepared, B: Prepared) -> np.ndarray:
    sizes = square_norms(A)[:, None] + square_norms(B)[None, :]
    values = sizes - 2.0 * make_dense(A @ B.T)
    rows, columns = np.nonzero(~(values > 1e-3 * sizes))
    step = max(1, 2**20 // A.shape[1])
    for start in range(0, len(rows), step):
        i, j = rows[start : start + step], columns[start : start + step]
        values[i, j] = np.minimum(square_norms(A[i] - B[j]), FURTHEST)
    return values


def _weigh_points(E: Array, B: Prepared, C: Array) -> Array:
    """Return Σ_b E_ab C_bj b for all rows a of E and columns j of C, some columns at a time."""
    if sparse.issparse(B):
        return np.stack([E @ sparse.csr_array(B.multiply(c[:, None])) for c in C.T], axis=1)
    (m, d), step = B.shape, max(1, COLUMNS // B.shape[1])
    parts = [
        (E @ (C[:, j : j + step, None] * B[:, None, :]).reshape(m, -1)).reshape(len(E), -1, d)
        for j in range(0, C.shape[1], step)
    ]
    return parts[0] if len(parts) == 1 else namespace(E).concat(parts, axis=1)


def sum_of_terms(term: Callable[[Any, Any], np.ndarray], A: Prepared, B: Prepared) -> np.ndarray:
    """Return Σ_d term(x_d, z_d) for every pair."""
    total = term(A[:, :1], B[None, :, 0])
    for d in range(1, A.shape[1]):
        total = total + term(A[:, d, None], B[None, :, d])
    return total


def _square_differences(A: Prepared, B: Prepared) -> np.ndarray:
    """Return ‖a − b‖² for every pair, right to rounding wherever the points lie."""
    if sparse.issparse(A):
        return _square_distances(A, B)
    with np.errstate(over="ignore"):
        return sum_of_terms(lambda a, b: (a - b) ** 2, A, B)


def make_dense(values: Any) -> Any:
    """Return a sparse matrix as an array, and anything else as it is."""
    return values.toarray() if sparse.issparse(values) else values


def square_norms(A: Any) -> np.ndarray:
    """Return ‖a‖² for every row."""
    if sparse.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", A, A))
