"""Ridge on the functions that a few centres span, from sums over blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.gram import Gram
from mercer.kernels.data import pick

from .base import Problem

BLOCK_BYTES = 2**28  # of features at a time, with copies
FEW = 4  # values of α for which Cholesky factors are cheaper than one eigendecomposition
REFINEMENTS = 4  # corrections of a solution by its true residual
REFINED = 1e-7  # the relative residual at which they stop


class RestrictedRidge:
    """min Σ wᵢ(yᵢ − φᵢᵀβ − b)² + α‖β‖² with φᵢ = L⁻¹(k(z₁, xᵢ), …, k(z_m, xᵢ)) and K_mm = LLᵀ.

    Rows pass by in blocks, once to sum up H = Σ wᵢφᵢφᵢᵀ and once more for leave-one-out residuals, all in float64.
    Where kernel values are quick to compute again, H is first taken as L⁻¹(Σ wᵢkᵢkᵢᵀ)L⁻ᵀ, half the work of summing up
    the features themselves but with rounding enlarged by the condition number of K_mm.  Solutions are corrected by
    their true residual, and if they do not reach a small one that way, the features are summed up after all.

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
        self._reverse = self._gram.T if self._gram.backend_name == "native" else None
        self._sum_up(raw=self._reverse is not None)

    @property
    def rank(self) -> int:
        """m, the number of centres."""
        return len(self.indices)

    def solve(self, alpha: np.ndarray) -> tuple[np.ndarray, float]:
        """Return β for one α per output, and the largest ‖g − (H + αI)β‖ / ‖αβ‖."""
        beta, relative = self._refined(alpha)
        if self._raw and relative > REFINED:
            self._sum_up(raw=False)
            beta, relative = self._refined(alpha)
        return beta, relative

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

    def _refined(self, alpha: np.ndarray) -> tuple[np.ndarray, float]:
        beta, best = np.zeros_like(self._right), np.inf
        step = self._inverse(alpha, self._right)
        for _ in range(REFINEMENTS):
            left = self._left_over(alpha, beta + step)
            size = np.linalg.norm(alpha * (beta + step), axis=0)
            each = np.divide(np.linalg.norm(left, axis=0), size, out=np.zeros_like(size), where=size > 0)
            relative = float(each.max())
            if not relative < best:  # no more digits to gain
                break
            beta, best = beta + step, relative
            if best <= REFINED:
                break
            step = self._inverse(alpha, left)
        return beta, best

    def _sum_up(self, raw: bool) -> None:
        from scipy.linalg import blas, solve_triangular

        m, rows = self.rank, np.arange(self._problem.n)
        inner = np.zeros((m, m), order="F")  # its lower triangle
        right, total = np.zeros((m, self._y.shape[1])), np.zeros(m)
        for part, features in self._kernel_blocks(rows) if raw else self._blocks(rows):
            weights = self._weights[part]
            right += features @ (weights[:, None] * (self._y[part] - self._target_mean))
            total += features @ weights
            if self._problem.weights is not None:
                features *= np.sqrt(weights)
            inner = blas.dsyrk(1.0, features, beta=1.0, c=inner, lower=1, overwrite_c=1)
        inner = np.tril(inner) + np.tril(inner, -1).T
        if raw:
            half = solve_triangular(self._triangle, inner, lower=True, overwrite_b=True, check_finite=False)
            inner = solve_triangular(self._triangle, half.T, lower=True, check_finite=False)
            inner = (inner + inner.T) / 2
            right = solve_triangular(self._triangle, right, lower=True, check_finite=False)
            total = solve_triangular(self._triangle, total, lower=True, check_finite=False)
        self._mean = np.zeros(m)
        if self._problem.fit_intercept:
            self._mean = total / self._total
            # Σ w(φ − φ̄)(φ − φ̄)ᵀ; the targets are centred already, so that the right-hand side stays as it is.
            inner -= np.outer(total, self._mean)
        self._inner, self._right, self._raw = inner, right, raw
        self._triangles.clear()
        self._decomposed = None

    def _blocks(self, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Positions in ``rows`` and the features of these rows, one column each."""
        from scipy.linalg import solve_triangular

        for part, values in self._kernel_blocks(rows):
            yield part, solve_triangular(self._triangle, values, lower=True, overwrite_b=True, check_finite=False)

    def _kernel_blocks(self, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Positions in ``rows`` and k(z, x) of these rows x, one column each, in Fortran order."""
        budget = min(BLOCK_BYTES, self._problem.memory // 4)
        step = max(1, budget // (24 * self.rank))
        for start in range(0, len(rows), step):
            part = slice(start, min(start + step, len(rows)))
            yield part, self._gram.rows(rows[part]).T

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
        """What β leaves of the right-hand side: from H, or from the data where H may have lost digits."""
        if self._reverse is None:
            return np.asarray(self._right - self._inner @ beta - alpha * beta)
        from scipy.linalg import solve_triangular

        fitted = self._gram @ self.coefficients(beta) + self.intercept(beta)
        errors = self._weights[:, None] * (self._y - fitted)
        image = solve_triangular(self._triangle, self._reverse @ errors, lower=True, check_finite=False)
        return np.asarray(image - np.outer(self._mean, errors.sum(axis=0)) - alpha * beta)
