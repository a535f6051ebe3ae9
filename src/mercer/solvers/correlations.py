"""Canonical correlations of two kernels: functions of one side of pairs that vary with functions of the other side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import svd_flip

from mercer.arrays.budget import require
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.formula.data import Rows, length
from mercer.gram import Gram
from mercer.kernels import Kernel

from .eigen import CentredGram

ENTRY = 64.0  # bytes for each pair of points: one matrix that is decomposed, eigenvectors of both, and their product


@dataclass(frozen=True)
class Side:
    """One side of the pairs: its kernel, its points, where to compute, and what messages call it."""

    kernel: Kernel
    points: Rows
    place: Place
    name: str


@dataclass(frozen=True)
class Correlations:
    """Correlations in decreasing order, and the functions of each side that have them, one output for each."""

    values: np.ndarray
    functions_x: Expansion
    functions_y: Expansion


def correlate(x: Side, y: Side, count: int, alpha: float) -> Correlations:
    """Return the functions f and g of two spaces whose values at pairs vary together most, at most ``count`` of each.

    With the centred matrix K̃ = UΛUᵀ of each side, the values of f are √n Pa with P = U(Λ/(Λ + α))^{1/2} and ‖a‖ = 1, so
    that the mean of f² with α/n ‖f‖² is 1.  The covariance of f and g is aᵀPₓᵀP_y b: singular vectors have the largest.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> here, X = Place.find(None, None), np.array([[0.0], [1.0], [2.0]])
    >>> found = correlate(Side(Linear(), X, here, "X"), Side(Linear(), -2.0 * X, here, "y"), 2, 0.0)
    >>> found.values.round(6), bool(np.allclose(found.functions_x(X), found.functions_y(-2.0 * X)))
    (array([1.]), True)
    """
    n, place = length(x.points), x.place
    require(
        ENTRY * n * n,
        min(x.place.memory, y.place.memory),
        f"the canonical correlations of {n} pairs",
        "give more memory or fewer pairs",
    )
    one, two = _decompose(x), _decompose(y)
    both = place.put(one.shrink(alpha)).T @ place.put(two.shrink(alpha))
    left, values, right = namespace(both).linalg.svd(both, full_matrices=False)
    first = one.coefficients(alpha) @ host_array(left[:, :count])
    second = two.coefficients(alpha) @ host_array(right[:count]).T
    flipped, _ = svd_flip(u=first.copy(), v=None)
    second = second * np.where((flipped * first).sum(axis=0) < 0, -1.0, 1.0)
    shown = np.clip(np.asarray(host_array(values[:count]), dtype=np.float64), 0.0, 1.0)
    return Correlations(shown, one.expand(flipped), two.expand(second))


@dataclass(frozen=True)
class _Decomposed:
    """The eigenvalues of a centred matrix that are more than rounding, and their eigenvectors."""

    side: Side
    values: np.ndarray
    vectors: np.ndarray
    means: np.ndarray  # of the columns of the matrix, which new points are centred by

    def shrink(self, alpha: float) -> np.ndarray:
        """Return U(Λ/(Λ + α))^{1/2}."""
        return self.vectors * np.sqrt(self.values / (self.values + alpha))

    def coefficients(self, alpha: float) -> np.ndarray:
        """Return √n U(Λ(Λ + α))^{-1/2}: what K̃ takes to √n times the above."""
        root = np.sqrt(self.values) * np.sqrt(self.values + alpha)  # of which the product of both may overflow
        return math.sqrt(len(self.vectors)) * self.vectors / root

    def expand(self, coef: np.ndarray) -> Expansion:
        """Return Σ cᵢ k̃(xᵢ, ·), whose centring is in coefficients of sum 0 and offsets."""
        coef = coef - coef.mean(axis=0)
        return Expansion(self.side.kernel, self.side.points, coef, -(self.means @ coef))


def _decompose(side: Side) -> _Decomposed:
    gram = Gram(side.kernel, side.points, memory=side.place.memory, dtype=np.float64, device=side.place.device)
    n, centred = gram.shape[0], CentredGram(gram, side.place, held=True)
    values, vectors = centred.find_all(n)
    # Values of the kernel are rounded before they are centred: points far from 0 have little left.
    size = max(float(values[-1]), float(np.abs(np.asarray(host_array(gram.diag()), dtype=np.float64)).max()))
    kept = values > n * np.finfo(np.float64).eps * size
    if not kept.any():
        raise ValueError(
            f"KernelCCA: {side.kernel!r} tells no two points of {side.name} apart, so that nothing of them varies; "
            "give points that differ, or another kernel"
        )
    return _Decomposed(side, values[kept], vectors[:, kept], centred.means)
