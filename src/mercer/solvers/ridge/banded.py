"""Ridge from a banded form of K: many penalties and their leave-one-out residuals without any eigenvector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mercer._native as _native
from mercer.arrays.tensors import host_array
from mercer.arrays.threads import default_threads
from mercer.linalg.band import band_form

from ..base import Problem
from ..residuals import Multiplier
from .cholesky import Cholesky
from .loo_gradient import judge_matrix
from .path import LOST, PreparedPath, scaled_matrix
from .spectral import Spectral, SpectralPrepared

MATRICES = 2  # n × n in float64: the matrix, which becomes the rotation, and its reflections, half of one
NARROW, WIDE, MANY = 32, 96, 3000  # widths of the band up to and beyond so many points: a wider one is quicker to
# reach, which counts for more the more points there are, and takes more time for each penalty
SMALL = 4096  # points up to which a device inverts a matrix for each penalty, and asks for no evidence
TOGETHER = 10  # factors for different penalties that are kept at once


@dataclass(frozen=True)
class Banded:
    """Solve by an orthogonal similarity W^½KW^½ = QBQᵀ with a band matrix B.

    The inverse of B + α costs O(n) for each α, the diagonal of Q(B + α)⁻¹Qᵀ, which leave-one-out needs, O(n²).  B and
    Q take 8n³/3 operations, all of them in products of matrices, which is much less time than all eigenvectors or a
    tridiagonal form take; what they cannot do is an α that is lost in the rounding of K, for which there is
    :class:`~mercer.solvers.Spectral`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Constant, Linear
    >>> from mercer.solvers.base import Problem
    >>> from mercer.solvers.ridge.banded import Banded
    >>> X, y = np.array([[1.0], [4.0], [6.0], [9.0]]), np.array([[0.8], [4.1], [6.2], [8.5]])
    >>> prepared = Banded().prepare(Problem(Linear() + Constant(1.0), X, y))
    >>> prepared.loo([1.0, 10.0]).round(2).tolist()
    [[[-0.4], [0.23], [0.51], [-0.56]], [[-0.24], [0.47], [0.97], [0.81]]]
    """

    name = "banded"

    def prepare(self, problem: Problem) -> BandedPrepared:
        """Reduce the matrix."""
        K, roots, product = scaled_matrix(problem, MATRICES, "banded form")
        width = NARROW if problem.n <= MANY else WIDE
        band, Q = band_form(K.T, max(1, min(width, problem.n - 1)))
        return BandedPrepared(problem, band, Q, roots, product)


class BandedPrepared(PreparedPath):
    """A problem in banded form.

    Parameters
    ----------
    problem : Problem
        The problem.
    band : array of shape (w + 1, n)
        B, in LAPACK's storage of its lower half.
    rotation : array of shape (n, n)
        Q, in Fortran order.
    roots : array of shape (n,)
        The diagonal of W^½.
    gram : Gram or array
        The matrix K, for residuals.
    """

    name = "Banded"

    def __init__(
        self, problem: Problem, band: np.ndarray, rotation: np.ndarray, roots: np.ndarray, gram: Multiplier
    ) -> None:
        super().__init__(problem, rotation, roots, gram)
        self._band = band

    def _factor(self, alpha: float) -> np.ndarray:
        """Return L of B + α = LLᵀ, in B's storage."""
        from scipy.linalg import lapack

        shifted = self._band.copy(order="F")
        shifted[0] += alpha
        lost = alpha <= LOST * np.abs(self._band[0]).sum()
        if not lost:
            shifted, lost = lapack.dpbtrf(shifted, lower=1, overwrite_ab=1)
        if lost:
            raise np.linalg.LinAlgError(
                f"alpha={alpha:g} is lost in the rounding of the kernel matrix, or the matrix is not positive "
                "semi-definite; raise alpha, or use the spectral solver, which takes any"
            )
        return shifted

    def _inner(self, alpha: np.ndarray, rotated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (B + α)⁻¹QᵀW^½(y − b) and b for each α and its column of QᵀW^½y."""
        inner, b, _ = self._solve_columns(alpha, rotated)
        return inner, b

    def _leave_one_out(self, alpha: np.ndarray, columns: np.ndarray) -> np.ndarray:
        inner, _, diagonal = self._solve_columns(alpha, self._y[:, columns], with_diagonal=True)
        return self._ratio(self._Q @ inner, diagonal)

    def _solve_columns(
        self, alpha: np.ndarray, y: np.ndarray, *, with_diagonal: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (B + α)⁻¹QᵀW^½(y − b), b, and if asked the diagonal of G, a column for each α and y."""
        from scipy.linalg import lapack

        solved, eta, diagonal = np.empty_like(y), np.empty_like(y), np.zeros_like(y)
        penalties = np.unique(alpha)
        for some in np.array_split(penalties, -(-len(penalties) // TOGETHER)):
            # Threads of LAPACK go on for a while and would be in the way of the diagonals: all factors of some first.
            factors = [(alpha == one, self._factor(one)) for one in some]
            for its, L in factors:
                both = lapack.dpbtrs(L, np.column_stack([y[:, its], self._one]), lower=1)[0]
                solved[:, its], eta[:, its] = both[:, :-1], both[:, -1:]
            for its, L in factors if with_diagonal else []:
                diagonal[:, its] = self._inverse_diagonal(L)[:, None]
        if not self.problem.fit_intercept:
            return solved, np.zeros(len(alpha)), diagonal
        total = self._one @ eta
        b = (self._one @ solved) / total
        if with_diagonal:
            diagonal -= (self._Q @ eta) ** 2 / total
        return solved - b * eta, b, diagonal

    def _inverse_diagonal(self, L: np.ndarray) -> np.ndarray:
        """Return the diagonal of Q(LLᵀ)⁻¹Qᵀ: with LX = Qᵀ it is the sum of X² over the rows of X."""
        out = np.empty(self.problem.n)
        _native.band_squares(L.T, self._Q.T, out, default_threads())
        return out


class Inverses:
    """The inverse of K + αW⁻¹ for each α, without the evidence that solvers give: quick where matrices are small."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._K = problem.gram(dtype=np.float64).dense()

    def loo(self, alphas: np.ndarray) -> np.ndarray:
        """Return the leave-one-out residuals of each α, or of each and its output, of shape (p, n, q)."""
        place, noise, q = self.problem.place, self.problem.noise, self.problem.y.shape[1]
        y, W_inverse, ones = (place.put(values) for values in (self.problem.y, noise, np.ones((len(noise), 1))))
        steps = np.asarray(alphas, dtype=np.float64).reshape(len(alphas), -1)
        steps = np.broadcast_to(steps, (len(steps), q))
        out = np.empty((len(steps), len(noise), q))
        for alpha in np.unique(steps):
            found = judge_matrix(
                self._K.clone(), y, float(alpha), W_inverse, ones, fit_intercept=self.problem.fit_intercept,
                gradient=False,
            )  # fmt: skip
            at, columns = np.nonzero(steps == alpha)
            out[at, :, columns] = host_array(found.residuals).T[columns]
        return out


def loo_path(problem: Problem) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from penalties to leave-one-out residuals of shape (p, n, q), by the quickest exact way.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0], [2.0], [4.0]])
    >>> residuals = loo_path(Problem(Linear(), X, X))
    >>> residuals(np.array([1.0])).round(3).ravel().tolist()
    [0.048, 0.111, 0.667]
    >>> bool(np.abs(residuals(np.array([0.0]))).max() < 1e-12)  # by eigenvalues
    True
    """
    # A factor and its inverse take about n³ operations for each α; on a device at nearly the speed of matrix products,
    # so that a hundred of them are there before a band or eigenvectors would be.
    solver: Any = Banded() if problem.place.on_host else Cholesky("double")
    small = problem.n <= SMALL and not problem.place.on_host
    prepared: Any = Inverses(problem) if small else solver.prepare(problem)

    def residuals(alphas: np.ndarray) -> np.ndarray:
        nonlocal prepared
        if (np.asarray(alphas) > 0).all():
            try:
                return np.asarray(prepared.loo(alphas))
            except np.linalg.LinAlgError:  # a penalty that only eigenvalues can tell from 0
                pass
        if not isinstance(prepared, SpectralPrepared):
            prepared = None  # before memory is needed again
            prepared = Spectral().prepare(problem)
        return np.asarray(prepared.loo(alphas))

    return residuals
