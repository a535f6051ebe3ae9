"""Kernels between histograms: vectors without negative entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.formula.data import Rows
from mercer.formula.expression import Expression
from mercer.formula.notation.tree import Apply, Node, minus, plus, power, sum_coordinates, times
from mercer.formula.pair import Pair
from mercer.formula.parameters import Positive
from mercer.formula.statistics import CoordinateSum, Dot, Prepared, Statistic, sum_of_terms

from .base import Kernel
from .theorem import SCHOENBERG, Theorem, finitely, otherwise, strictly


def check_histogram(A: Any, owner: str) -> None:
    """Raise on negative entries."""
    if A.min() < 0:
        row, column = np.argwhere(A < 0)[0]
        raise ValueError(
            f"{owner} compares histograms, whose entries are not negative, but row {row}, column {column} "
            f"is {A[row, column]}; shift or clip the data, or use a kernel for real vectors such as Gaussian"
        )


@dataclass(frozen=True)
class Histogram(CoordinateSum):
    """A coordinate sum defined for non-negative data only."""

    def check(self, A: Any) -> None:
        """Raise on negative entries."""
        check_histogram(A, self.owner)


@dataclass(frozen=True)
class ChiSquare(Histogram):
    """Σ_d (x_d − z_d)² / (x_d + z_d)."""

    native = "chi2"
    degree = 1.0

    def notation(self, x: Node, z: Node) -> Node:
        """Σ (x − z)² / (x + z)."""
        return sum_coordinates(lambda a, b, d: times(power(minus(a, b), 2.0), power(plus(a, b), -1.0)), x, z)

    def term(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(a − b)² / (a + b), 0 where both are 0."""
        total = a + b
        return np.divide((a - b) ** 2, total, out=np.zeros_like(total), where=total > 0)

    def slope(self, a: Array, b: Array) -> Array:
        """(a − b)(a + 3b) / (a + b)², 0 where both are 0."""
        total = a + b
        total = namespace(total).where(total > 0, total, 1.0)
        return (a - b) / total * ((a + 3.0 * b) / total)


@dataclass(frozen=True)
class MinimumSum(Histogram):
    """Σ_d min(x_d, z_d)."""

    native = "min"
    degree = 1.0

    def notation(self, x: Node, z: Node) -> Node:
        """Σ min(x, z)."""
        return sum_coordinates(lambda a, b, d: a if a == b else Apply("min", (a, b)), x, z)

    def term(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """min(a, b)."""
        return np.minimum(a, b)

    def slope(self, a: Array, b: Array) -> Array:
        """1 below b, 0 above, and ½ at the kink."""
        return 0.5 - 0.5 * namespace(a).sign(a - b)

    def apart(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Σ |x − z|."""
        return sum_of_terms(lambda a, b: np.abs(a - b), A, B)

    def rise(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Σ (x − z)."""
        return sum_of_terms(np.subtract, A, B)


@dataclass(frozen=True)
class RootDot(Dot):
    """Σ_d √(x_d z_d)."""

    degree = ""
    takes_sparse = False

    def notation(self, x: Node, z: Node) -> Node:
        """Σ √(x z)."""
        return sum_coordinates(lambda a, b, d: a if a == b else power(times(a, b), 0.5), x, z)

    def check(self, A: Any) -> None:
        """Raise on negative entries."""
        check_histogram(A, self.owner)

    def transform(self, A: Any) -> Any:
        """The roots."""
        return np.sqrt(A)

    apart_formula = Statistic.apart_formula  # not the distance of the points, but that of their roots

    def transform_back(self, G: Array, A: Array, X: Rows) -> Array:
        """Divided by twice the roots; 0 where these are 0."""
        xp = namespace(A)
        return G * xp.where(A > 0, 0.5 / xp.where(A > 0, A, 1.0), 0.0)[:, None, :]


class Chi2(Kernel):
    """The exponential χ² kernel between histograms.

    k(x, z) = exp(−γ Σ_d (x_d − z_d)² / (x_d + z_d)), for vectors without negative entries.

    Parameters
    ----------
    gamma : float, default=1.0
        How fast similarity falls with the distance.

    Examples
    --------
    >>> from mercer.kernels import Chi2
    >>> Chi2(gamma=0.5)([[1.0, 0.0], [0.0, 1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    gamma: Positive = 1.0

    domain = "nonnegative"
    because = SCHOENBERG
    lemmas = (
        Theorem(
            "Σ (x−z)²/(x+z) is conditionally negative definite on non-negative vectors",
            "(x−z)²/(x+z) = x + z − 4xz/(x+z), and xz/(x+z) = ∫₀^∞ (x e^(−xt))(z e^(−zt)) dt is an inner product",
        ),
    )
    definite = strictly("it is a Gaussian of points of a Hilbert space, which differ where x and z do (Schoenberg)")

    def formula(self, pair: Pair) -> Expression:
        """exp(−γ χ²)."""
        return np.exp(-pair.param("gamma") * pair.statistic(ChiSquare))


class Intersection(Kernel):
    """The histogram intersection kernel.

    k(x, z) = Σ_d min(x_d, z_d), for vectors without negative entries.

    Examples
    --------
    >>> from mercer.kernels import Intersection
    >>> Intersection()([[1.0, 3.0], [2.0, 1.0]])
    array([[4., 2.],
           [2., 3.]])
    """

    domain = "nonnegative"
    because = "min(x, z) = ∫₀^∞ 1[t ≤ x] 1[t ≤ z] dt is an inner product of functions of t"
    definite = otherwise(True, False, finite=False)

    def formula(self, pair: Pair) -> Expression:
        """Σ min(x, z)."""
        return pair.statistic(MinimumSum)


class Hellinger(Kernel):
    """Hellinger's kernel between histograms, also called Bhattacharyya's.

    k(x, z) = Σ_d √(x_d z_d), for vectors without negative entries; 1 − k is half the squared Hellinger distance of
    histograms that sum to 1.

    Examples
    --------
    >>> from mercer.kernels import Hellinger
    >>> Hellinger()([[0.25, 0.75]], [[0.25, 0.75], [1.0, 0.0]])
    array([[1. , 0.5]])
    """

    domain = "nonnegative"
    because = "pull-back: the linear kernel of √x_d"
    definite = finitely(separates=True, positive=False)

    def formula(self, pair: Pair) -> Expression:
        """Σ √(x z)."""
        return pair.statistic(RootDot)
