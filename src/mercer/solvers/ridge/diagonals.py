"""The diagonal of the inverse of a matrix in banded form, for one penalty after another."""

from __future__ import annotations

from typing import Any

import numpy as np

import mercer._native as _native
from mercer.arrays.threads import default_threads
from mercer.linalg.band import Rotation

SINGLE = 1000  # points from which on float32 saves time that somebody would notice
CHECKED = 16  # rows that are computed in float64 as well, half of them those with least left
CLOSE = 1e-5  # relative difference of the checked rows up to which float32 is taken; 3e-6 at most was seen


class InverseDiagonals:
    """The diagonals of Q(B + α)⁻¹Qᵀ for a band matrix B.

    With B + α = LLᵀ and LX = Qᵀ they are sums of squares over columns of X.  Nothing cancels in them, so that those of
    many points are summed up in float32, from a Q that is multiplied out in float32 too.  A few rows of each penalty
    are computed in float64 beside that; from the first penalty on where they disagree, all of it is done in float64.

    Parameters
    ----------
    rotation : Rotation
        Q.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.band import band_form
    >>> B, Q = band_form(np.array([[3.0, 1.0], [1.0, 3.0]]), 1)
    >>> L = np.linalg.cholesky([[4.0, 1.0], [1.0, 4.0]])
    >>> InverseDiagonals(Q).find(np.array([np.diag(L), [L[1, 0], 0.0]], order="F"), 1.0).round(4).tolist()
    [0.2667, 0.2667]
    """

    def __init__(self, rotation: Rotation) -> None:
        self._rotation = rotation
        self._dtype: type[np.floating[Any]] = np.float64 if rotation.n < SINGLE else np.float32
        self._image: np.ndarray | None = None
        self._checked: tuple[np.ndarray, np.ndarray] | None = None  # rows, and the columns of Qᵀ for them

    def find(self, L: np.ndarray, alpha: float) -> np.ndarray:
        """Return the diagonal for a factor L of B + α, in LAPACK's storage of a lower band."""
        # 1 is the largest that a sum over squares can be where B is positive semi-definite and α = 1.
        scaled = L / np.sqrt(alpha)
        found = self._square(scaled)
        if self._dtype is np.float32 and not self._agrees(scaled, found):
            self._dtype, self._image = np.float64, None
            found = self._square(scaled)
        return found / alpha

    def find_rows(self, L: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return some entries of the diagonal, in float64."""
        return _square_columns(L, self._turned_units(rows))

    def _square(self, L: np.ndarray) -> np.ndarray:
        if self._image is None:
            self._image = self._rotation.image(self._dtype)
        out = np.empty(len(self._image))
        _native.band_squares(L.T, self._image.T, out, default_threads())
        return out

    def _agrees(self, L: np.ndarray, found: np.ndarray) -> bool:
        """Whether some entries are what float64 says."""
        if self._checked is None:  # those with least left for one penalty have little left for others
            rows = np.append(
                np.argsort(found)[: CHECKED // 2], np.linspace(0, len(found) - 1, CHECKED // 2).astype(int)
            )
            self._checked = rows, self._turned_units(rows)
        rows, units = self._checked
        return np.allclose(found[rows], _square_columns(L, units), rtol=CLOSE, atol=0.0)

    def _turned_units(self, rows: np.ndarray) -> np.ndarray:
        """Return some columns of Qᵀ."""
        units = np.zeros((self._rotation.n, len(rows)), order="F")
        units[rows, np.arange(len(rows))] = 1.0
        return self._rotation.turn_back(units)


def _square_columns(L: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the sums of squares of the columns of L⁻¹ times a matrix."""
    from scipy.linalg import lapack

    solved, _ = lapack.dtbtrs(L, right, uplo="L")
    return np.asarray((solved**2).sum(axis=0))
