"""Normalised formulas, k(x, z) / √(k(x, x) k(z, z)), without the large and small numbers that cancel in them.

Positive multiples cancel, products and powers are normalised factor by factor, an exponential exp(f) becomes exp(−d/2)
of the distance d = f(x, x) + f(z, z) − 2 f(x, z), rows have unit length before dot products are formed of them, and
kernels on objects that know the logarithms of their values are divided as differences of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.arrays.namespace import put_beside
from mercer.arrays.tensors import host_array

from .data import Rows, as_matrix
from .expression import Call, Const, Diagonal, Expression, Param, Stat, inverse_norms, power
from .notation.tree import ONE, Node, length, times
from .notation.tree import power as raise_to
from .statistics import BlockStatistic, Dot, Prepared, Statistic, make_dense, square_norms


def normalize_formula(formula: Expression) -> Expression:
    """Return a formula divided by the norms of its features, 0 where they vanish."""
    if isinstance(formula, Const | Param) and formula.value > 0:
        return Call("powi", (formula,), (0.0,))  # 1, and still a function of its hyperparameter
    if isinstance(formula, Stat) and type(formula.statistic) is Dot:
        return Stat(UnitDot(formula.statistic.view, formula.statistic.owner))
    if isinstance(formula, Stat) and _has_logarithms(formula.statistic):
        return Stat(UnitBlock(formula.statistic.view, formula.statistic.owner, formula.statistic.kernel))
    if isinstance(formula, Call):
        first = formula.args[0]
        if formula.op == "exp":
            return np.exp(-0.5 * _spread_apart(first))
        if formula.op == "powi" and _is_not_negative(first):
            return power(normalize_formula(first), formula.constants[0])
        if formula.op == "mul" and all(map(_is_not_negative, formula.args)):
            return normalize_formula(first) * normalize_formula(formula.args[1])
    return formula * inverse_norms(formula)  # in this order the matrix is exactly symmetric


def _is_not_negative(formula: Expression) -> bool:
    """Whether a formula is known to be at least 0 where both points are the same, so that it has a square root."""
    if isinstance(formula, Const | Param):
        return formula.value > 0
    if isinstance(formula, Stat):
        return bool(getattr(formula.statistic, "degree", "")) or _has_logarithms(formula.statistic)
    if isinstance(formula, Call) and formula.op in ("add", "mul", "powi"):
        return all(map(_is_not_negative, formula.args))
    return isinstance(formula, Call) and formula.op in ("exp", "bessel")


def _has_logarithms(statistic: Statistic) -> TypeGuard[BlockStatistic]:
    """Whether the values of a kernel on objects are known by their logarithms."""
    return type(statistic) is BlockStatistic and statistic.kernel.has_logarithms


def _spread_apart(formula: Expression) -> Expression:
    """Return f(x, x) + f(z, z) − 2 f(x, z)."""
    if isinstance(formula, Const | Param):
        return Const(0.0)
    if isinstance(formula, Stat):
        return formula.statistic.apart_formula()
    if isinstance(formula, Call):
        a, b = (*formula.args, *formula.args)[:2]
        if formula.op == "add":
            return _spread_apart(a) + _spread_apart(b)
        if formula.op == "mul" and isinstance(a, Const | Param):
            return a * _spread_apart(b)
        if formula.op == "mul" and isinstance(b, Const | Param):
            return b * _spread_apart(a)
    both: Any = Diagonal("left", formula) + Diagonal("right", formula)
    return both - 2.0 * formula


@dataclass(frozen=True)
class UnitDot(Dot):
    """xᵀz / ‖x‖‖z‖, of rows that have unit length, or are 0."""

    degree = ""

    def notation(self, x: Node, z: Node) -> Node:
        """xᵀz / ‖x‖‖z‖."""
        if x == z:
            return ONE
        return times(super().notation(x, z), raise_to(length(x), -1.0), raise_to(length(z), -1.0))

    def transform(self, A: Any) -> Any:
        """Divide by the largest entry, then by the norm, so that no square leaves the range of numbers."""
        if sparse.issparse(A):
            A = sparse.csr_array(A)
            largest = abs(A).max(axis=1).toarray().ravel()
            A = sparse.csr_array(sparse.diags_array(_invert(largest)) @ A)
            return sparse.csr_array(sparse.diags_array(_invert(np.sqrt(square_norms(A)))) @ A)
        A = A / np.where(largest := np.abs(A).max(axis=1, keepdims=True), largest, 1.0)
        norms = np.sqrt(square_norms(A))[:, None]
        return A / np.where(norms, norms, 1.0)

    def diag(self, A: Prepared) -> np.ndarray:
        """Ones, and zeros for rows of zeros."""
        return (square_norms(A) > 0).astype(A.dtype)

    def direct(self) -> Statistic:
        """The angle between points as they are."""
        return DirectUnitDot(self.view, self.owner)

    def apart_formula(self) -> Expression:
        """As of any statistic."""
        return Statistic.apart_formula(self)

    def rise(self, A: Prepared, B: Prepared) -> np.ndarray | float:
        """1 or 0 each."""
        return Statistic.rise(self, A, B)

    def transform_back(self, G: Array, A: Array, X: Rows) -> Array:
        """The part across x, divided by its norm; 0 where x is 0."""
        rows = make_dense(as_matrix(self.view.apply(host_array(X)), self.owner, allow_sparse=True)).astype(np.float64)
        largest = np.abs(rows).max(axis=1)
        inverse = _invert(largest * np.sqrt(square_norms(rows / np.where(largest, largest, 1.0)[:, None])))
        along = (G * A[:, None, :]).sum(-1)[:, :, None] * A[:, None, :]
        return (G - along) * put_beside(G, inverse)[:, None, None]


@dataclass(frozen=True)
class DirectUnitDot(UnitDot):
    """xᵀz / ‖x‖‖z‖ with distances from differences of the points themselves, where their sizes are alike."""

    def transform(self, A: Any) -> Any:
        """The points as they are."""
        return A

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Dot products of unit rows."""
        return super().block(*(UnitDot.transform(self, side) for side in (A, B)))

    def diag(self, A: Prepared) -> np.ndarray:
        """Ones, and zeros for rows of zeros."""
        return super().diag(UnitDot.transform(self, A))

    def apart(self, A: Prepared, B: Prepared) -> np.ndarray:
        """(‖x − z‖² − (‖x‖ − ‖z‖)²) / ‖x‖‖z‖."""
        units = [UnitDot.transform(self, side) for side in (A, B)]
        unit = super().apart(*units)
        if sparse.issparse(A):
            return unit
        _, exponent = np.frexp(max(np.abs(A).max(), np.abs(B).max()))
        A, B = np.ldexp(A, -exponent), np.ldexp(B, -exponent)  # a power of 2 rounds nothing
        left, right = np.sqrt(square_norms(A))[:, None], np.sqrt(square_norms(B))[None, :]
        gap = Dot.rise(self, A, B) / (left + right)
        apart = (Dot.apart(self, A, B) - gap * gap) / (left * right)
        return np.where(np.minimum(left, right) > 1e-100, apart, unit)


@dataclass(frozen=True)
class UnitBlock(BlockStatistic):
    """k(x, z) / √(k(x, x) k(z, z)) of a kernel on objects, e to a difference of logarithms; 0 where k(x, x) is 0."""

    def notation(self, x: Node, z: Node) -> Node:
        """k(x, z) / √(k(x, x) k(z, z))."""
        norms = [raise_to(self.kernel.notation(point, point), -0.5) for point in (x, z)]
        return times(self.kernel.notation(x, z), *norms)

    def prepare(self, X: Rows, Z: Rows, dtype: Any) -> tuple[SizedObjects, SizedObjects]:
        """Compare every object with itself, once, when the first block is asked for."""
        A, B = super().prepare(X, Z, dtype)
        left = SizedObjects(A, lambda: self.kernel.log_block_diag(A))
        return left, left if B is A else SizedObjects(B, lambda: self.kernel.log_block_diag(B))

    def block(self, A: SizedObjects, B: SizedObjects) -> np.ndarray:
        """Divide."""
        with np.errstate(invalid="ignore"):  # of objects whose value with themselves is 0
            ratio = self.kernel.log_block(A.objects, B.objects) - 0.5 * (A.norms[:, None] + B.norms[None, :])
        ratio[np.isneginf(A.norms)] = -np.inf
        ratio[:, np.isneginf(B.norms)] = -np.inf
        proved = self.kernel.theorem() is not None  # so that only rounding leads above 1
        return np.exp(np.minimum(ratio, 0.0) if proved else ratio)

    def diag(self, A: SizedObjects) -> np.ndarray:
        """Ones, and zeros where k(x, x) is 0."""
        return np.where(np.isneginf(A.norms), 0.0, 1.0)

    def apart(self, A: SizedObjects, B: SizedObjects) -> np.ndarray:
        """As of any statistic."""
        return Statistic.apart(self, A, B)

    def scratch(self, A: SizedObjects, B: SizedObjects) -> int:
        """Return the kernel's own need of memory."""
        return super().scratch(A.objects, B.objects)


class SizedObjects:
    """Objects in prepared form, each with the logarithm of its value with itself, which is computed when it is read."""

    def __init__(self, objects: Prepared, measure: Callable[[], np.ndarray]) -> None:
        self.objects, self._measure = objects, measure

    @cached_property
    def norms(self) -> np.ndarray:
        """Logarithms of k(x, x)."""
        return self._measure()

    @property
    def shape(self) -> tuple[int]:
        """The number of objects."""
        return (len(self),)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return int(getattr(self.objects, "nbytes", 0)) + 8 * len(self)

    def __len__(self) -> int:
        return len(self.objects)

    def __getitem__(self, index: slice | np.ndarray) -> SizedObjects:
        return SizedObjects(self.objects[index], lambda: self.norms[index])


def _invert(sizes: np.ndarray) -> np.ndarray:
    return np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
