"""A low-rank preconditioner for ridge systems: P = FFᵀ + αW⁻¹ ≈ K + αW⁻¹, for every α from one factorisation.

F comes from randomly pivoted Cholesky.  K − FFᵀ is positive semi-definite, so the eigenvalues of P⁻¹(K + αW⁻¹) lie
between 1 and 1 + trace(W(K − FFᵀ))/α: where the factor explains K down to α, conjugate gradients converge in a few
steps whatever the condition number of K was (Díaz, Epperly, Frangella, Tropp and Webber, 2023).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.linalg.cholesky import make_inverse
from mercer.linalg.pivoting import PivotedCholesky, Random, SymmetricGram
from mercer.linalg.sums import multiply_thin

CACHED = 4  # values of α whose Cholesky factors are kept from one application to the next


class Preconditioner:
    """P = FFᵀ + αW⁻¹, whose inverse is applied in O(n r) by the Woodbury identity.

    P⁻¹v = (W/α) (v − F(αI + FᵀWF)⁻¹FᵀWv).  FᵀWF is computed once; a new α costs one Cholesky factorisation of r × r,
    and each column of v may have its own.

    Parameters
    ----------
    gram : Gram
        K, symmetric; only its diagonal and the pivots' rows are computed.
    noise : array of shape (n,)
        The diagonal of W⁻¹, where the Gram matrix is.
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
    >>> P = Preconditioner(Gram(Gaussian(), X), np.ones(50), 12, np.random.default_rng(0))
    >>> P.rank, P.pivoted.residual_trace < 1e-3
    (12, True)
    >>> A = Gaussian()(X) + 0.1 * np.eye(50)
    >>> V = P.solve(A, np.full(50, 0.1))
    >>> bool(np.abs(V - np.eye(50)).max() < 1e-3)
    True
    """

    def __init__(self, gram: SymmetricGram, noise: Array, rank: int, rng: Random) -> None:
        self.weights = 1.0 / noise
        self.pivoted = PivotedCholesky.of(gram, rng)
        xp = self._xp = namespace(noise)
        self._inner = xp.zeros((0, 0), dtype=xp.float64, device=noise.device)  # FᵀWF
        self._inverses: dict[float, Callable[[Array], Array]] = {}  # of αI + FᵀWF for each α
        self.ranks: list[int] = []  # asked for so far: the same ones, one by one, lead to the same pivots
        self.grow(rank)

    @property
    def rank(self) -> int:
        """r, the number of columns of F."""
        return len(self.pivoted.pivots)

    @property
    def exhausted(self) -> bool:
        """Whether F explains K to rounding, so that growing adds nothing."""
        return self.pivoted.exhausted

    def condition_bound(self, alpha: float) -> float:
        """Return 1 + trace(W(K − FFᵀ))/α, which the condition number of P⁻¹(K + αW⁻¹) does not exceed."""
        return 1.0 + float((self.weights * self.pivoted.residual).sum()) / alpha

    def grow(self, rank: int) -> None:
        """Go on pivoting until F has ``rank`` columns, or as many as explain K to rounding."""
        if not self.pivoted.grow(rank):
            return
        self.ranks.append(rank)
        xp, parts = self._xp, self.pivoted.parts
        weighted = parts[-1] if bool((self.weights == 1.0).all()) else parts[-1] * self.weights
        border = xp.concat([F @ weighted.T for F in parts])
        old = len(self._inner)
        inner = xp.empty((self.rank, self.rank), dtype=xp.float64, device=border.device)
        inner[:old, :old] = self._inner
        inner[:, old:] = border
        inner[old:, :old] = border[:old].T
        self._inner = inner
        self._inverses.clear()

    def solve(self, V: Array, alpha: np.ndarray) -> Array:
        """Return P⁻¹V for V of shape (n, m) and one α for each of its columns."""
        V = V * self.weights[:, None]
        if self.rank:
            inside = self._solve_inner(self._xp.concat([multiply_thin(F, V) for F in self.pivoted.parts]), alpha)
            start = 0
            for F in self.pivoted.parts:
                V -= self.weights[:, None] * multiply_thin(F.T, inside[start : start + len(F)])
                start += len(F)
        V /= self._xp.asarray(alpha, device=V.device)
        return V

    def _solve_inner(self, right: Array, alpha: np.ndarray) -> Array:
        if len(self._inverses) > CACHED:
            self._inverses.clear()
        for one in np.unique(alpha):
            columns = np.flatnonzero(alpha == one) if (alpha != one).any() else slice(None)
            if one not in self._inverses:
                self._inverses[one] = self._invert(one)
            right[:, columns] = self._inverses[one](right[:, columns])
        return right

    def _invert(self, alpha: float) -> Callable[[Array], Array]:
        # Below the rounding of FᵀWF a shift would be lost; a preconditioner may well have a larger one than the system.
        trace = float(self._xp.linalg.trace(self._inner))
        shift = max(alpha, 8 * float(np.finfo(np.float64).eps) * self.rank * trace)
        eye = self._xp.eye(self.rank, dtype=self._xp.float64, device=self._inner.device)
        return make_inverse(self._inner + shift * eye)
