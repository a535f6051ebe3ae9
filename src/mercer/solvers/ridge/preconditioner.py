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
from mercer.arrays.tensors import is_tensor
from mercer.linalg.cholesky import make_inverse
from mercer.linalg.long_rows import LongRows
from mercer.linalg.pivoting import PivotedCholesky, Random, SymmetricGram

CACHED = 4  # values of α whose Cholesky factors are kept from one application to the next
UNIT = 2.0**-24  # the rounding of float32
LONG = 4096  # points from which on the host reads F in float32, which takes half as long
SAFE = 1e-40, 1e60  # the largest k(x, x) between which roots of kernel values are numbers of float32
COARSE = 0.5  # what rounding to float32 may do to P⁻¹ at the very worst, relative to it in the norm of P
POWERS = 10  # products that tell the largest eigenvalue of FᵀWF, about


class Preconditioner:
    """P = FFᵀ + αW⁻¹, whose inverse is applied in O(n r) by the Woodbury identity.

    P⁻¹v = (W/α) (v − F(αI + FᵀWF)⁻¹FᵀWv).  FᵀWF is computed once; a new α costs one Cholesky factorisation of r × r,
    and each column of v may have its own.  Many points have F in float32, as long as α allows.

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
        self._xp = namespace(noise)
        self._least_single = np.inf  # α from which on float32 will do, once it is known
        long = not is_tensor(noise) and len(noise) >= LONG
        single = long and SAFE[0] < float(self.pivoted.residual.max(initial=0.0)) < SAFE[1]
        self._rows = LongRows(len(noise), noise, single=single)  # Fᵀ
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
        self._rows.append(self.pivoted.parts[-1])
        self._inverses.clear()
        self._least_single = np.inf

    def solve(self, V: Array, alpha: np.ndarray) -> Array:
        """Return P⁻¹V for V of shape (n, m) and one α for each of its columns."""
        self._choose_precision(float(alpha.min()))
        V = V * self.weights[:, None]
        if self.rank:
            V -= self.weights[:, None] * self._rows.combine(self._solve_inner(self._rows.multiply(V), alpha))
        V /= self._xp.asarray(alpha, device=V.device)
        return V

    def _choose_precision(self, alpha: float) -> None:
        """Go over to F in float64 if α is so small that P⁻¹ would be lost in float32.

        Rounding F(αI + FᵀWF)⁻¹FᵀWv in float32 adds up to ε₃₂v/α to P⁻¹v, in directions of their own.  In the norm of P
        that is up to ε₃₂λ/α of it, where λ is the largest eigenvalue, and much less for most v.
        """
        if not self._rows.single or not self.rank or alpha >= self._least_single:
            return
        inner = self._rows.square(self.weights)
        vector = np.ones(self.rank)
        for _ in range(POWERS):
            vector = inner @ (vector / np.linalg.norm(vector))
        self._least_single = UNIT * float(np.linalg.norm(vector)) / COARSE
        if alpha >= self._least_single:
            return
        self._rows = LongRows(self._rows.n, self.weights)
        for part in self.pivoted.parts:
            self._rows.append(part)
        self._inverses.clear()

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
        inner = self._rows.square(self.weights)
        trace = float(self._xp.linalg.trace(inner))
        shift = max(alpha, 8 * float(np.finfo(np.float64).eps) * self.rank * trace)
        eye = self._xp.eye(self.rank, dtype=self._xp.float64, device=inner.device)
        return make_inverse(inner + shift * eye)
