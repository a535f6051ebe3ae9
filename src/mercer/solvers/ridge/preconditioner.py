"""A low-rank preconditioner for ridge systems: P = FFᵀ + αW⁻¹ ≈ K + αW⁻¹, for every α from one factorisation.

F comes from randomly pivoted Cholesky.  K − FFᵀ is positive semi-definite, so the eigenvalues of P⁻¹(K + αW⁻¹) lie
between 1 and 1 + trace(W(K − FFᵀ))/α: where the factor explains K down to α, conjugate gradients converge in a few
steps whatever the condition number of K was (Díaz, Epperly, Frangella, Tropp and Webber, 2023).
"""

from __future__ import annotations

import numpy as np

from mercer.formula.data import Rows
from mercer.gram import Gram

from ..growing import GrowingFactor

CACHED = 4  # values of α whose Cholesky factors are kept from one application to the next


class Preconditioner:
    """P = FFᵀ + αW⁻¹, whose inverse is applied in O(n r) by the Woodbury identity.

    P⁻¹v = (W/α) (v − F(αI + FᵀWF)⁻¹FᵀWv).  FᵀWF is computed once; a new α costs one Cholesky factorisation of r × r,
    and each column of v may have its own.

    Parameters
    ----------
    gram : Gram
        K, symmetric; only its diagonal and the pivots' columns are computed.
    X : collection of n objects
        The points K is the matrix of.
    noise : array of shape (n,)
        The diagonal of W⁻¹.
    rank : int
        The number of pivots; 0 gives the diagonal αW⁻¹ alone.
    rng : numpy Generator or RandomState
        Where randomness comes from.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.ridge.preconditioner import Preconditioner
    >>> X = np.linspace(0.0, 4.0, 50).reshape(-1, 1)
    >>> P = Preconditioner(Gram(Gaussian(), X), X, np.ones(50), 12, np.random.default_rng(0))
    >>> P.rank, P.residual_trace < 1e-3
    (12, True)
    >>> A = Gaussian()(X) + 0.1 * np.eye(50)
    >>> V = P.solve(A, np.full(50, 0.1))
    >>> bool(np.abs(V - np.eye(50)).max() < 1e-3)
    True
    """

    def __init__(
        self, gram: Gram, X: Rows, noise: np.ndarray, rank: int, rng: np.random.Generator | np.random.RandomState
    ) -> None:
        self.weights = 1.0 / np.asarray(noise, dtype=np.float64)
        self._factor = GrowingFactor(gram, X, rng)
        self._inner = np.zeros((0, 0))  # FᵀWF
        self._solved: dict[float, np.ndarray] = {}  # the lower Cholesky factor of αI + FᵀWF for each α
        self.grow(rank)

    @property
    def rank(self) -> int:
        """r, the number of columns of F."""
        return len(self._factor.pivots)

    @property
    def pivots(self) -> np.ndarray:
        """The points whose columns F reproduces, in the order they were chosen."""
        return self._factor.pivots

    @property
    def exhausted(self) -> bool:
        """Whether F explains K to rounding, so that growing adds nothing."""
        return self._factor.exhausted

    @property
    def residual_trace(self) -> float:
        """trace(K − FFᵀ)."""
        return float(self._factor.residual.sum())

    @property
    def factor(self) -> np.ndarray:
        """F, of shape (n, r): a copy, since it is kept in parts."""
        return np.hstack([np.zeros((len(self.weights), 0)), *self._factor.parts])

    def condition_bound(self, alpha: float) -> float:
        """Return 1 + trace(W(K − FFᵀ))/α, which the condition number of P⁻¹(K + αW⁻¹) does not exceed."""
        return 1.0 + float(self.weights @ self._factor.residual) / alpha

    def grow(self, rank: int) -> None:
        """Go on pivoting until F has ``rank`` columns, or as many as explain K to rounding."""
        added = self._factor.grow(rank)
        if added.shape[1]:
            self._border(added)

    def solve(self, V: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Return P⁻¹V for V of shape (n, m) and one α for each of its columns."""
        V = V * self.weights[:, None]
        if self.rank:
            inside = self._inner_solve(np.concatenate([F.T @ V for F in self._factor.parts]), alpha)
            start = 0
            for F in self._factor.parts:
                stop = start + F.shape[1]
                V -= self.weights[:, None] * (F @ inside[start:stop])
                start = stop
        V /= alpha
        return V

    def _inner_solve(self, right: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        from scipy.linalg import cho_solve

        if len(self._solved) > CACHED:
            self._solved.clear()
        for one in np.unique(alpha):
            columns = alpha == one
            if one not in self._solved:
                self._solved[one] = self._factorise(one)
            right[:, columns] = cho_solve((self._solved[one], True), right[:, columns], check_finite=False)
        return right

    def _factorise(self, alpha: float) -> np.ndarray:
        from scipy.linalg import cholesky

        shifted = self._inner.copy(order="F")
        # Below the rounding of FᵀWF a shift would be lost; a preconditioner may well have a larger one than the system.
        shift = max(alpha, 8 * float(np.finfo(np.float64).eps) * self.rank * float(self._inner.diagonal().sum()))
        shifted.flat[:: self.rank + 1] += shift
        return np.asarray(cholesky(shifted, lower=True, overwrite_a=True, check_finite=False))

    def _border(self, added: np.ndarray) -> None:
        """Extend FᵀWF by the columns added last."""
        weighted = added if (self.weights == 1.0).all() else added * self.weights[:, None]
        border = np.concatenate([F.T @ weighted for F in self._factor.parts])
        old = len(self._inner)
        inner = np.empty((self.rank, self.rank))
        inner[:old, :old] = self._inner
        inner[:, old:] = border
        inner[old:, :old] = border[:old].T
        self._inner = inner
        self._solved.clear()
