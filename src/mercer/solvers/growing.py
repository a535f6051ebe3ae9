"""A randomly pivoted Cholesky factor that can be continued."""

from __future__ import annotations

import numpy as np

from mercer.formula.data import Rows, pick
from mercer.gram import Gram
from mercer.linalg.pivoting import randomly_pivoted_cholesky

ENTRIES_PER_CALL = 2**22  # of K computed at a time, so that the copies stay small next to the factor


class GrowingFactor:
    """F with FFᵀ ≈ K, to which pivots can be added: the factor of what is left, K − FFᵀ, continues the factor of K.

    Parameters
    ----------
    gram : Gram
        K, symmetric; only its diagonal and the pivots' columns are computed.
    X : collection of n objects
        The points K is the matrix of.
    rng : numpy Generator or RandomState
        Where randomness comes from.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gram
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 4.0, 50).reshape(-1, 1)
    >>> F = GrowingFactor(Gram(Gaussian(), X), X, np.random.default_rng(0))
    >>> _ = F.grow(4), F.grow(9)
    >>> len(F.pivots), bool(F.residual.sum() < 0.1)
    (9, True)
    >>> bool(np.allclose(F.triangle @ F.triangle.T, Gram(Gaussian(), X[F.pivots]).dense()))
    True
    """

    def __init__(self, gram: Gram, X: Rows, rng: np.random.Generator | np.random.RandomState) -> None:
        self.gram, self._X, self._rng = gram, X, rng
        self.residual = np.array(gram.diag(), dtype=np.float64)  # the diagonal of K − FFᵀ
        # What is left of the diagonal below this is rounding of the kernel values.
        self._floor = 32 * float(np.finfo(gram.dtype).eps) * np.abs(self.residual)
        self.parts: list[np.ndarray] = []  # the columns of F, in the parts they were computed in
        self.pivots = np.empty(0, dtype=np.intp)
        self.exhausted = False

    def grow(self, rank: int) -> np.ndarray:
        """Go on until there are ``rank`` pivots, or as many as explain K to rounding; return the new columns of F."""
        wanted = rank - len(self.pivots)
        if not self.exhausted:
            self.residual[self.residual <= self._floor] = 0.0
            self.exhausted = not self.residual.any()
        if wanted <= 0 or self.exhausted:
            return np.zeros((len(self.residual), 0))
        pivots, added, _ = randomly_pivoted_cholesky(
            self._columns, self.residual, wanted, self._rng, entries=self._entries
        )
        self.exhausted = len(pivots) < wanted
        self.residual = np.maximum(self.residual - np.einsum("ij,ij->i", added, added), 0.0)
        self.residual[pivots] = 0.0
        self.parts.append(added)
        self.pivots = np.concatenate([self.pivots, pivots])
        return added

    @property
    def triangle(self) -> np.ndarray:
        """The rows of F at the pivots: the lower Cholesky factor of K there."""
        return np.tril(np.concatenate([part[self.pivots] for part in self.parts], axis=1))

    def _columns(self, indices: np.ndarray) -> np.ndarray:
        """Columns of K − FFᵀ."""
        n = len(self.residual)
        columns = np.empty((n, len(indices)), order="F")
        step = max(1, ENTRIES_PER_CALL // n)
        for start in range(0, len(indices), step):
            columns[:, start : start + step] = self.gram.rows(indices[start : start + step]).T
        for part in self.parts:
            columns -= part @ part[indices].T
        return columns

    def _entries(self, indices: np.ndarray) -> np.ndarray:
        """Entries of K − FFᵀ where the rows and columns of some points meet."""
        gram = self.gram
        corner = Gram(gram.kernel, pick(self._X, indices), memory=gram.memory, dtype=gram.dtype).dense(np.float64)
        for part in self.parts:
            rows = part[indices]
            corner -= rows @ rows.T
        return corner
