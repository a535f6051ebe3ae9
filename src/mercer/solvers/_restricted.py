"""Ridge on the functions that a few centres span, from sums over blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.gram import Gram
from mercer.kernels.data import pick

from .base import Problem

BLOCK_BYTES = 2**26  # of features at a time
FEW = 4  # values of α for which Cholesky factors are cheaper than one eigendecomposition


class RestrictedRidge:
    """min Σ wᵢ(yᵢ − φᵢᵀβ − b)² + α‖β‖² with φᵢ = L⁻¹(k(z₁, xᵢ), …, k(z_m, xᵢ)) and K_mm = LLᵀ.

    Rows pass by in blocks, once to sum up H = Σ wᵢφᵢφᵢᵀ and once more for leave-one-out residuals.  Features and sums
    are float64: L⁻¹ enlarges rounding of the kernel values by its condition number, which leaves no room for float32.

    Parameters
    ----------
    problem : Problem
        The data and targets.
    indices : int array of shape (m,)
        Which points are centres.
    triangle : array of shape (m, m)
        L.
    """

    def __init__(self, problem: Problem, indices: np.ndarray, triangle: np.ndarray) -> None:
        self._problem, self.indices, self._triangle = problem, indices, triangle
        self.centers = pick(problem.X, indices)
        self._gram = Gram(problem.kernel, problem.X, self.centers, memory=problem.memory, dtype=np.float64)
        self._y = np.asarray(problem.y, dtype=np.float64)
        self._weights = np.ones(problem.n) if problem.weights is None else np.asarray(problem.weights, dtype=np.float64)
        self._decomposed: tuple[np.ndarray, np.ndarray] | None = None
        self._triangles: dict[float, np.ndarray] = {}  # of H + αI, until many α are asked for
        self._total = self._weights.sum()
        self._target_mean = np.zeros(self._y.shape[1])
        if problem.fit_intercept:
            self._target_mean = self._weights @ self._y / self._total
        self._sum_up()

    @property
    def rank(self) -> int:
        """m, the number of centres."""
        return len(self.indices)

    def solve(self, alpha: np.ndarray) -> tuple[np.ndarray, float]:
        """Return β for one α per output, and the largest ‖g − (H + αI)β‖ / ‖αβ‖."""
        beta = self._inverse(alpha, self._right)
        beta += self._inverse(alpha, self._left_over(alpha, beta))
        left, size = np.linalg.norm(self._left_over(alpha, beta), axis=0), np.linalg.norm(alpha * beta, axis=0)
        relative = np.divide(left, size, out=np.zeros_like(left), where=size > 0)
        return beta, float(relative.max())

    def coefficients(self, beta: np.ndarray) -> np.ndarray:
        """Return c = L⁻ᵀβ."""
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self._triangle, beta, lower=True, trans="T", check_finite=False))

    def intercept(self, beta: np.ndarray) -> np.ndarray:
        """Return b, which makes the weighted residuals sum to 0."""
        return np.asarray(self._target_mean - self._mean @ beta)

    def loo(self, alpha: np.ndarray, beta: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return yᵢ − f₋ᵢ(xᵢ) = (yᵢ − ŷᵢ)/(1 − hᵢᵢ) of all rows or some, with the centres held fixed."""
        self._factorise(alpha)
        rows = np.arange(self._problem.n) if rows is None else rows
        out = np.empty((len(rows), len(alpha)))
        b = self.intercept(beta)
        constant = 1.0 / self._total if self._problem.fit_intercept else 0.0
        for part, features in self._blocks(rows):
            chosen = rows[part]
            fitted = features.T @ beta + b
            features -= self._mean[:, None]
            leverage = self._weights[chosen, None] * (constant + self._squared_norms(alpha, features))
            out[part] = (self._y[chosen] - fitted) / np.maximum(1.0 - leverage, np.finfo(np.float64).eps)
        return out

    def _sum_up(self) -> None:
        m = self.rank
        inner, right, total = np.zeros((m, m)), np.zeros((m, self._y.shape[1])), np.zeros(m)
        rows = np.arange(self._problem.n)
        for part, features in self._blocks(rows):
            roots = np.sqrt(self._weights[part])
            features *= roots
            inner += features @ features.T
            right += features @ (roots[:, None] * (self._y[part] - self._target_mean))
            total += features @ roots
        self._mean = np.zeros(m)
        if self._problem.fit_intercept:
            self._mean = total / self._total
            # Σ w(φ − φ̄)(φ − φ̄)ᵀ; the targets are centred already, so that the right-hand side stays as it is.
            inner -= np.outer(total, self._mean)
        self._inner, self._right = inner, right

    def _blocks(self, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Positions in ``rows`` and the features of these rows, one column each."""
        from scipy.linalg import solve_triangular

        budget = min(BLOCK_BYTES, self._problem.memory // 4)
        step = max(1, budget // (24 * self.rank))
        for start in range(0, len(rows), step):
            part = slice(start, min(start + step, len(rows)))
            values = self._gram.rows(rows[part]).T  # Fortran order, so that it is solved in place
            yield part, solve_triangular(self._triangle, values, lower=True, overwrite_b=True, check_finite=False)

    def _factorise(self, alpha: np.ndarray) -> None:
        """Make H + αI ready to be inverted: by Cholesky for a few α, by eigenvalues once for all others."""
        from scipy.linalg import LinAlgError, cholesky, eigh

        missing = set(alpha.tolist()) - self._triangles.keys()
        if self._decomposed is not None or not missing:
            return
        if len(self._triangles) + len(missing) <= FEW:
            try:
                for one in missing:
                    shifted = self._inner.copy(order="F")
                    shifted.flat[:: self.rank + 1] += one
                    self._triangles[one] = cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
                return
            except LinAlgError:
                pass  # α is below the rounding of H; eigenvalues can be clamped at 0
        self._triangles.clear()
        eigenvalues, vectors = eigh(self._inner, driver="evd", check_finite=False)
        self._decomposed = np.maximum(eigenvalues, 0.0), vectors

    def _inverse(self, alpha: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(H + αI)⁻¹ times each column of ``right``, with that column's α."""
        from scipy.linalg import cho_solve

        self._factorise(alpha)
        if self._decomposed is not None:
            eigenvalues, vectors = self._decomposed
            return np.asarray(vectors @ ((vectors.T @ right) / (eigenvalues[:, None] + alpha)))
        out = np.empty_like(right)
        for one in np.unique(alpha):
            columns = alpha == one
            out[:, columns] = cho_solve((self._triangles[one], True), right[:, columns], check_finite=False)
        return out

    def _squared_norms(self, alpha: np.ndarray, features: np.ndarray) -> np.ndarray:
        """φᵀ(H + αI)⁻¹φ for each column φ of ``features`` (rows of the result) and each α."""
        from scipy.linalg import solve_triangular

        if self._decomposed is not None:
            eigenvalues, vectors = self._decomposed
            return np.asarray(((vectors.T @ features) ** 2).T @ (1.0 / (eigenvalues[:, None] + alpha)))
        out = np.empty((features.shape[1], len(alpha)))
        for one in np.unique(alpha):
            solved = solve_triangular(self._triangles[one], features, lower=True, check_finite=False)
            out[:, alpha == one] = np.einsum("ij,ij->j", solved, solved)[:, None]
        return out

    def _left_over(self, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
        return np.asarray(self._right - self._inner @ beta - alpha * beta)
