"""The features of polynomial kernels: every monomial, weighted so that the dot product is (xᵀz + c)^q."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Annotated

import numpy as np
from scipy import sparse

from mercer.arrays.shapes import Inside, Number
from mercer.formula.evaluation import check_overflow
from mercer.formula.parameters import check_integer, check_positive

from .base import FeatureMap, Matrix

MOST_FEATURES = 10_000_000


@dataclass(frozen=True)
class Monomials:
    """All monomials of degree up to q in d inputs (exactly q when c = 0), in order of degree, then lexicographic.

    Every degree is built from the one below: the monomials that start with x_j are x_j times those of one degree
    less that start with x_j or later, and these stand next to each other at the end of the lexicographic order.
    """

    n_inputs: Annotated[int, Number("d")]
    degree: int
    offset: float

    def __post_init__(self) -> None:
        if self.width > MOST_FEATURES:
            raise ValueError(
                f"degree {self.degree} in {self.n_inputs} inputs has {self.width:.3g} monomials, more than "
                f"{MOST_FEATURES}; use the kernel itself, or mercer.features.TensorSketch or Nystroem"
            )

    @property
    def width(self) -> int:
        """The number of monomials."""
        return math.comb(self.n_inputs + self.degree - (0 if self.offset > 0 else 1), self.degree)

    def __call__(self, X: Matrix) -> Matrix:
        """Return the weighted monomials of every row, sparse if X is."""
        if sparse.issparse(X):
            return self._map_sparse(X)
        out = np.empty((X.shape[0], self.width), dtype=X.dtype)
        level = np.ones((X.shape[0], 1), dtype=X.dtype)
        start = 0
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(self.degree + 1):
                previous = level
                keep = self.offset > 0 or k == self.degree
                width = math.comb(self.n_inputs + k - 1, k)
                level = out[:, start : start + width] if keep else np.empty((len(X), width), dtype=X.dtype)
                start += width if keep else 0
                if k == 0:
                    level[:] = 1
                for j, target, source in self._growth(k):
                    np.multiply(previous[:, source], X[:, [j]], out=level[:, target])
            out *= self.weights().astype(X.dtype)
        check_overflow(out, f"the monomials of degree {self.degree}")
        return out

    def weights(self) -> np.ndarray:
        """√(multinomial coefficient · c^(q−|a|)) of each monomial x^a."""
        coefficient, first, run = np.ones(1), np.full(1, -1), np.zeros(1)
        found = []
        for k in range(self.degree + 1):
            if k > 0:
                pieces = []
                for j, _, source in self._growth(k):
                    # One more factor x_j: the multinomial coefficient gains (q−k+1) / (its new exponent).
                    exponent = np.where(first[source] == j, run[source] + 1, 1)
                    grown = coefficient[source] * (self.degree - k + 1) / exponent
                    pieces.append((grown, np.full(len(exponent), j), exponent))
                coefficient, first, run = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
            if self.offset > 0 or k == self.degree:
                with np.errstate(over="ignore"):  # which is noticed in the monomials
                    found.append(np.sqrt(coefficient * np.float64(self.offset) ** (self.degree - k)))
        return np.concatenate(found)

    def names(self, inputs: list[str]) -> list[str]:
        """``1``, ``x0``, ``x0^2``, ``x0 x1`` and so on."""
        inputs = [f"({name})" if set(name) & set(" ^*/") and not name.endswith(")") else name for name in inputs]
        lowest = 0 if self.offset > 0 else self.degree
        return [
            " ".join(
                inputs[j] if (power := chosen.count(j)) == 1 else f"{inputs[j]}^{power}" for j in sorted(set(chosen))
            )
            or "1"
            for k in range(lowest, self.degree + 1)
            for chosen in combinations_with_replacement(range(self.n_inputs), k)
        ]

    def _growth(self, k: int) -> Iterator[tuple[int, slice, slice]]:
        """For each input: where its monomials of degree k stand, and those of degree k − 1 they come from."""
        if k == 0:
            return
        total = math.comb(self.n_inputs + k - 2, k - 1)
        start = 0
        for j in range(self.n_inputs):
            count = math.comb(self.n_inputs - j + k - 2, k - 1)
            yield j, slice(start, start + count), slice(total - count, total)
            start += count

    def _map_sparse(self, X: sparse.csr_array) -> sparse.csr_array:
        from sklearn.preprocessing import PolynomialFeatures  # has the same order and a compiled path for CSR

        lowest = 0 if self.offset > 0 else self.degree
        monomials = PolynomialFeatures((lowest, self.degree), include_bias=lowest == 0).fit_transform(X)
        weighted = sparse.csr_array(monomials @ sparse.diags_array(self.weights().astype(X.dtype)).tocsr())
        check_overflow(weighted.data, f"the monomials of degree {self.degree}")
        return weighted


class Polynomial(FeatureMap):
    """The features of the polynomial kernel (xᵀz + c)^q: all monomials, weighted.

    φ_a(x) = √(q! / (a₁!⋯a_d! (q−s)!) · c^(q−s)) · x₁^a₁ ⋯ x_d^a_d for all exponents a whose sum s is at most q, or
    exactly q when c = 0.  There are C(d+q, q) of them, or C(d+q−1, q).

    Parameters
    ----------
    degree : int, default=2
        The power q, a whole number of at least 1.
    offset : float, default=1.0
        The constant c, zero or more.

    Attributes
    ----------
    monomials_ : Monomials
        The monomials and their weights.

    Examples
    --------
    >>> from mercer.features import Polynomial
    >>> phi = Polynomial(degree=2, offset=1.0).fit([[1.0, 2.0]])
    >>> phi.get_feature_names_out().tolist()
    ['1', 'x0', 'x1', 'x0^2', 'x0 x1', 'x1^2']
    >>> phi.transform([[1.0, 2.0]]).round(3)
    array([[1.   , 1.414, 2.828, 1.   , 2.828, 4.   ]])
    """

    monomials_: Annotated[Monomials, Inside(d="d")]

    _takes_sparse = True
    _node = "monomials_"

    def __init__(self, degree: int = 2, offset: float = 1.0) -> None:
        self.degree = degree
        self.offset = offset

    def _learn(self, X: Matrix) -> None:
        check_integer(self, "degree", 1)
        check_positive(self, "offset", allow_zero=True)
        self.monomials_ = Monomials(X.shape[1], int(self.degree), float(self.offset))
