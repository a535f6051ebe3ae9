"""Kernels of compact support: exactly 0 beyond a distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from mercer.formula.data import Rows, as_matrix
from mercer.formula.expression import Expression
from mercer.formula.pair import Pair
from mercer.formula.parameters import LengthScale, Natural
from mercer.formula.statistics import DirectSquaredDistance, SquaredDistance, Statistic

from ..base import Kernel
from ..theorem import Definiteness, strictly

SMOOTHEST = 3


def check_smoothness(kernel: object, name: str) -> None:
    """Raise unless a smoothness is one of those whose polynomial is known."""
    value = getattr(kernel, name)
    if isinstance(value, bool) or value not in range(SMOOTHEST + 1):
        raise ValueError(f"Wendland: {name} must be a whole number from 0 to {SMOOTHEST}, got {value!r}")


Smoothness = Annotated[int, check_smoothness]


def _check_columns(statistic: Any, A: Any) -> None:
    if A.shape[1] > statistic.most:
        raise ValueError(
            f"{statistic.owner} is a kernel for points with up to {statistic.most} features, and the data has "
            f"{A.shape[1]}; take Wendland(dim={A.shape[1]})"
        )


@dataclass(frozen=True)
class NearDistance(SquaredDistance):
    """‖x − z‖² of points with few features."""

    most: int = 1

    def check(self, A: Any) -> None:
        """Raise if there are more features than the kernel is one for."""
        super().check(A)
        _check_columns(self, A)

    def direct(self) -> Statistic:
        """Sums of squared differences."""
        return DirectNearDistance(self.view, self.owner, self.scale, self.column, self.most)


@dataclass(frozen=True)
class DirectNearDistance(DirectSquaredDistance):
    """The same, with differences formed first."""

    most: int = 1

    def check(self, A: Any) -> None:
        """Raise if there are more features than the kernel is one for."""
        super().check(A)
        _check_columns(self, A)


class Wendland(Kernel):
    """Wendland's function of compact support, k(x, z) = (1 − r)₊^m p(r) with r = ‖x − z‖/σ.

    It is 0 from r = 1 on, so that :meth:`sparse_gram` holds only pairs that are near each other.  p is the polynomial
    of lowest degree that makes functions 2k times differentiable and k a kernel for points with up to ``dim`` features;
    it is none for many more, which are therefore refused.  With l = ⌊dim/2⌋ + k + 1:

    - k = 0: (1 − r)₊^l;
    - k = 1: (1 − r)₊^(l+1) ((l + 1)r + 1);
    - k = 2: (1 − r)₊^(l+2) ((l² + 4l + 3)r² + (3l + 6)r + 3)/3;
    - k = 3: (1 − r)₊^(l+3) ((l³ + 9l² + 23l + 15)r³ + (6l² + 36l + 45)r² + (15l + 45)r + 15)/15.

    Parameters
    ----------
    dim : int, default=3
        The largest number of features of the points.
    smoothness : int, default=1
        k, from 0 to 3.
    length_scale : float or sequence of floats, default=1.0
        σ, the distance from which on the kernel is 0, or one for each feature.

    References
    ----------
    H. Wendland, Piecewise polynomial, positive definite and compactly supported radial functions of minimal degree,
    Advances in Computational Mathematics 4 (1995).

    Examples
    --------
    >>> from mercer.kernels import Wendland
    >>> Wendland(dim=3, smoothness=1, length_scale=2.0)([[0.0]], [[0.0], [1.0], [2.0]])
    array([[1.    , 0.1875, 0.    ]])
    """

    dim: Natural = 3
    smoothness: Smoothness = 1
    length_scale: LengthScale = 1.0
    because = (
        "(1 − r)₊^l with l = ⌊dim/2⌋ + k + 1 has a positive Fourier transform on ℝ^(dim + 2k) (Askey), and each of k "
        "integrations φ ↦ ∫_r^∞ t φ(t) dt makes such a function for two features fewer of it (Wendland)"
    )
    definite = strictly("the Fourier transform is positive everywhere (Bochner)")

    def formula(self, pair: Pair) -> Expression:
        """(1 − r)₊^m p(r), where the root of a negative number is 0."""
        r = pair.distance(NearDistance, "length_scale", int(self.dim)) ** 0.5
        k, m = int(self.smoothness), int(self.dim) // 2 + int(self.smoothness) + 1
        bump = ((1.0 - r) ** 0.5) ** (2 * (m + k))
        if k == 0:
            return bump
        if k == 1:
            return bump * (1.0 + (m + 1.0) * r)
        if k == 2:
            return bump * (1.0 + (m + 2.0) * r + (m * m + 4.0 * m + 3.0) / 3.0 * r**2)
        cubic = (m**3 + 9.0 * m**2 + 23.0 * m + 15.0) / 15.0
        return bump * (1.0 + (m + 3.0) * r + (6.0 * m * m + 36.0 * m + 45.0) / 15.0 * r**2 + cubic * r**3)

    def definiteness(self, d: int | None) -> Definiteness:
        """Strict for every number of features that it takes."""
        return self.definite

    def sparse_gram(self, X: Rows, Z: Rows | None = None) -> sparse.csr_array:
        """Return the matrix k(X, Z) as a sparse one, of which only pairs that are near each other are looked at.

        Parameters
        ----------
        X, Z : arrays of shape (n, d) and (m, d)
            The points; Z is X if not given.

        Returns
        -------
        csr_array of shape (n, m)
            The values that are not 0.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Wendland
        >>> Wendland().sparse_gram(np.arange(5.0)[:, None] / 2).toarray()
        array([[1.    , 0.1875, 0.    , 0.    , 0.    ],
               [0.1875, 1.    , 0.1875, 0.    , 0.    ],
               [0.    , 0.1875, 1.    , 0.1875, 0.    ],
               [0.    , 0.    , 0.1875, 1.    , 0.1875],
               [0.    , 0.    , 0.    , 0.1875, 1.    ]])
        """
        A = as_matrix(X, repr(self)).astype(np.float64)
        B = A if Z is None else as_matrix(Z, repr(self)).astype(np.float64)
        self(A[:1], B[:1])  # which says what is wrong with the number of columns
        scale = np.asarray(self.length_scale, dtype=float)
        found = cKDTree(A / scale).query_ball_tree(cKDTree(B / scale), 1.0)
        starts = np.cumsum([0, *map(len, found)])
        columns = np.array([j for row in found for j in sorted(row)], dtype=np.int64)
        rows = np.repeat(np.arange(len(A)), np.diff(starts))
        values = [self._pair_values(A[rows[part]], B[columns[part]]) for part in _cut(len(rows))]
        matrix = sparse.csr_array((np.concatenate([[], *values]), columns, starts), shape=(len(A), len(B)))
        matrix.eliminate_zeros()
        return matrix

    def _pair_values(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return k of each row of A with the row of B beside it: of their difference with 0."""
        return self((A - B), np.zeros((1, A.shape[1])))[:, 0]


PAIRS = 2**18  # at a time


def _cut(count: int) -> list[slice]:
    return [slice(start, start + PAIRS) for start in range(0, count, PAIRS)]
