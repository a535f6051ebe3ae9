"""Ridge from a tridiagonal form of K: many penalties and their leave-one-out residuals without any eigenvector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ._path import PreparedPath, scaled_matrix
from .base import Problem
from .residuals import Product
from .spectral import Spectral

MATRICES = 3  # n × n in float64: the matrix, the reflections that take its place, and the rotation they form
TOGETHER = 2**17  # numbers a step of the recurrence works on, so that they stay in the cache


@dataclass(frozen=True)
class Tridiagonal:
    """Solve by an orthogonal similarity W^½KW^½ = QTQᵀ with tridiagonal T.

    The inverse of T + α costs O(n) for each α, the diagonal of Q(T + α)⁻¹Qᵀ, which leave-one-out needs, O(n²).  T and
    Q take 8n³/3 operations, much less time than all eigenvectors; what they cannot do is an α that is lost in the
    rounding of K, for which there is :class:`~mercer.solvers.Spectral`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Constant, Linear
    >>> from mercer.solvers.base import Problem
    >>> from mercer.solvers.tridiagonal import Tridiagonal
    >>> X, y = np.array([[1.0], [4.0], [6.0], [9.0]]), np.array([[0.8], [4.1], [6.2], [8.5]])
    >>> prepared = Tridiagonal().prepare(Problem(Linear() + Constant(1.0), X, y))
    >>> prepared.loo([1.0, 10.0]).round(2).tolist()
    [[[-0.4], [0.23], [0.51], [-0.56]], [[-0.24], [0.47], [0.97], [0.81]]]
    """

    name = "tridiagonal"

    def prepare(self, problem: Problem) -> TridiagonalPrepared:
        """Reduce the matrix."""
        from scipy.linalg import lapack

        K, roots, product = scaled_matrix(problem, MATRICES, "tridiagonal form")
        n = problem.n
        Q = np.ones((1, 1))
        diagonal, beside = np.diagonal(K).copy(), np.empty(0)
        if n > 1:
            size, _ = lapack.dsytrd_lwork(n, lower=1)
            reduced, diagonal, beside, tau, _ = lapack.dsytrd(K.T, lower=1, lwork=int(size), overwrite_a=1)
            del K
            # The reflections lie below the first subdiagonal, as those of a QR decomposition of n − 1 columns.
            Q = np.zeros((n, n), order="F")
            Q[0, 0] = 1.0
            size = lapack.dorgqr(reduced[1:, :-1], tau, lwork=-1)[1][0]
            Q[1:, 1:] = lapack.dorgqr(reduced[1:, :-1], tau, lwork=int(size))[0]
        return TridiagonalPrepared(problem, diagonal, beside, Q, roots, product)


class TridiagonalPrepared(PreparedPath):
    """A problem in tridiagonal form.

    Parameters
    ----------
    problem : Problem
        The problem.
    diagonal, beside : arrays of shape (n,) and (n − 1,)
        T.
    rotation : array of shape (n, n)
        Q, in Fortran order.
    roots : array of shape (n,)
        The diagonal of W^½.
    gram : Gram or array
        The matrix K, for residuals.
    """

    def __init__(
        self,
        problem: Problem,
        diagonal: np.ndarray,
        beside: np.ndarray,
        rotation: np.ndarray,
        roots: np.ndarray,
        gram: Product,
    ) -> None:
        super().__init__(problem, rotation, roots, gram)
        self._diagonal, self._beside = diagonal, beside

    def _factor(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Return D and L's subdiagonal of T + α = LDLᵀ."""
        from scipy.linalg import lapack

        shifted = self._diagonal + alpha
        lost = alpha <= 8 * np.finfo(np.float64).eps * np.abs(self._diagonal).sum() or shifted[0] <= 0
        if not lost and len(shifted) > 1:
            shifted, multipliers, lost = lapack.dpttrf(shifted, self._beside, overwrite_d=1)
        if lost:
            raise np.linalg.LinAlgError(
                f"alpha={alpha:g} is lost in the rounding of the kernel matrix, or the matrix is not positive "
                "semi-definite; raise alpha, or use the spectral solver, which takes any"
            )
        return shifted, multipliers if len(shifted) > 1 else self._beside

    def _inner(self, alpha: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (T + α)⁻¹QᵀW^½(y − b) and b for each α and the output of its column."""
        solved, eta = self._solved(alpha, self._y[:, columns])
        if eta is None:
            return solved, np.zeros(len(alpha))
        b = (self._one @ solved) / (self._one @ eta)
        return solved - b * eta, b

    def _solved(self, alpha: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return (T + α)⁻¹ times each column of ``right``, and times QᵀW^½1 if there is an intercept."""
        from scipy.linalg import lapack

        solved, eta = np.empty_like(right), np.empty_like(right)
        for one in np.unique(alpha):
            columns = alpha == one
            both = np.column_stack([right[:, columns], self._one])
            pivots, multipliers = self._factor(one)
            both = lapack.dpttrs(pivots, multipliers, both)[0] if len(multipliers) else both / pivots[:, None]
            solved[:, columns], eta[:, columns] = both[:, :-1], both[:, -1:]
        return solved, eta if self.problem.fit_intercept else None

    def _leave_one_out(self, alpha: np.ndarray, columns: np.ndarray) -> np.ndarray:
        distinct, where = np.unique(alpha, return_inverse=True)
        diagonal = self._inverse_diagonals(distinct)[where].T
        solved, eta = self._solved(alpha, self._y[:, columns])
        coef = self._Q @ solved
        if eta is not None:
            total, image = self._one @ eta, self._Q @ eta
            coef -= (self._one @ solved) / total * image
            diagonal = diagonal - image**2 / total
        return self._ratio(coef, diagonal)

    def _inverse_diagonals(self, alphas: np.ndarray) -> np.ndarray:
        """Return the diagonal of Q(T + α)⁻¹Qᵀ for each α: with LX = Qᵀ it is the sum of X² / D over the rows of X."""
        factors = [self._factor(alpha) for alpha in alphas]
        scales = np.array([1.0 / pivots for pivots, _ in factors])
        multipliers = np.array([np.append(lower, 0.0) for _, lower in factors])
        n = self.problem.n
        out = np.zeros((len(alphas), n))
        step = max(1, TOGETHER // len(alphas))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            total = out[:, rows]
            X = np.zeros_like(total)
            square = np.empty_like(total)
            for j in range(n):
                np.subtract(self._Q[rows, j], X, out=X)  # X holds L's entry times the row before
                np.multiply(X, X, out=square)
                square *= scales[:, j, None]
                total += square
                X *= multipliers[:, j, None]
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
    if problem.device is not None:
        from .device.path import DeviceLooPath

        return DeviceLooPath(problem)
    prepared: PreparedPath = Tridiagonal().prepare(problem)

    def residuals(alphas: np.ndarray) -> np.ndarray:
        nonlocal prepared
        try:
            return prepared.loo(alphas)
        except np.linalg.LinAlgError:  # an α of 0, or one that only eigenvalues can tell from it
            prepared = Spectral().prepare(problem)
            return prepared.loo(alphas)

    return residuals
