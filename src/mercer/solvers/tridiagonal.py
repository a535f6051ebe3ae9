"""Ridge from a tridiagonal form of K: many penalties and their leave-one-out residuals without any eigenvector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Problem, Solution
from .residuals import Product, penalties, relative_residuals
from .spectral import scaled_matrix

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


class TridiagonalPrepared:
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
        self.problem = problem
        self._diagonal, self._beside, self._Q, self._roots, self._gram = diagonal, beside, rotation, roots, gram
        self._targets = np.asarray(problem.y, dtype=np.float64)
        self._y = rotation.T @ (roots[:, None] * self._targets)  # y and 1 in the coordinates of Q
        self._one = rotation.T @ roots

    def solve(self, alpha: Any, *, loo: bool = False) -> Solution:
        """Solve for one α per output, with leave-one-out residuals if asked."""
        return self.path([penalties(alpha, self._y.shape[1])], loo=loo)[0]

    def path(self, alphas: Any, *, loo: bool = False) -> list[Solution]:
        """Solve for many penalties, one for all outputs (shape (p,)) or one for each (shape (p, q))."""
        steps = self._steps(alphas)
        found = [self._inner(alpha) for alpha in steps]
        coef = self._roots[:, None] * (self._Q @ np.hstack([inner for inner, _, _ in found]))
        b = np.concatenate([intercept for _, intercept, _ in found])
        flat, q = steps.ravel(), steps.shape[1]
        columns = np.tile(np.arange(q), len(steps))
        residuals = relative_residuals(self.problem, self._gram, self._targets[:, columns], coef, b, flat)
        left_out = self.loo(steps) if loo else None
        return [
            Solution(
                centers=self.problem.X,
                coef=coef[:, i * q : (i + 1) * q].copy(),
                intercept=b[i * q : (i + 1) * q],
                alpha=alpha,
                residual=float(residuals[i * q : (i + 1) * q].max()),
                loo=None if left_out is None else left_out[i],
            )
            for i, alpha in enumerate(steps)
        ]

    def loo(self, alphas: Any) -> np.ndarray:
        """Return the leave-one-out residuals yᵢ − f₋ᵢ(xᵢ) of many penalties, shape (p, n, q), exactly.

        NaN where nothing is left to fit an intercept to.
        """
        steps = self._steps(alphas)
        distinct, where = np.unique(steps, return_inverse=True)
        where = where.reshape(steps.shape)
        diagonals = self._inverse_diagonals(distinct)
        out = np.empty((len(steps), self.problem.n, steps.shape[1]))
        for i, alpha in enumerate(steps):
            inner, _, eta = self._inner(alpha)
            diagonal = diagonals[where[i]].T
            if eta is not None:
                diagonal = diagonal - (self._Q @ eta) ** 2 / (self._one @ eta)
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = (self._Q @ inner) / diagonal / self._roots[:, None]
            out[i] = np.where(np.isfinite(ratio), ratio, np.nan)
        return out

    # -- in the coordinates of Q ----------------------------------------------------------------------------------

    def _steps(self, alphas: Any) -> np.ndarray:
        values = np.asarray(alphas, dtype=np.float64)
        if values.ndim not in (1, 2) or values.size == 0:
            raise ValueError(f"alphas must have shape (p,) or (p, q) with p of at least 1, got shape {values.shape}")
        return np.array([penalties(row, self._y.shape[1]) for row in values])

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

    def _inner(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return (T + α)⁻¹QᵀW^½(y − b), b, and (T + α)⁻¹QᵀW^½1 if there is an intercept, a column for each output."""
        from scipy.linalg import lapack

        inner, eta = np.empty_like(self._y), np.empty_like(self._y)
        for one in np.unique(alpha):
            columns = alpha == one
            right = np.column_stack([self._y[:, columns], self._one])
            pivots, multipliers = self._factor(one)
            solved = lapack.dpttrs(pivots, multipliers, right)[0] if len(multipliers) else right / pivots[:, None]
            inner[:, columns], eta[:, columns] = solved[:, :-1], solved[:, -1:]
        if not self.problem.fit_intercept:
            return inner, np.zeros(len(alpha)), None
        b = (self._one @ inner) / (self._one @ eta)
        return inner - b * eta, b, eta

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
