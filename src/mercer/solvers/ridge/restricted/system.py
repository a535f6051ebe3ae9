"""Ridge on the functions that a few centres span, from sums over blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.arrays.columns import units
from mercer.formula.data import Rows, pick
from mercer.gram import Gram
from mercer.linalg.decomposition import decompose

from ...base import Problem
from ...residuals import ratios
from .rows import RestrictedRows

FEW = 4  # values of α for which Cholesky factors are cheaper than one eigendecomposition
REFINEMENTS = 8  # corrections of a solution by its true residual
REFINED = 1e-9  # of a solution: the correction at which they stop
SHRINKING = 0.5  # a correction that is not smaller than the one before by this factor tells that digits are lost


@dataclass(frozen=True)
class RestrictedSolution:
    """A solution, and how good it is.

    Parameters
    ----------
    beta : array of shape (m, q)
        β.
    error : float
        The largest relative error of β as estimated, ‖(H + αI)⁻¹(g − (H + αI)β)‖ / ‖β‖.
    loss : array of shape (q,)
        Σ w(y − f − b)².
    """

    beta: np.ndarray
    error: float
    loss: np.ndarray


class RestrictedRidge:
    """min Σ wᵢ(yᵢ − φᵢᵀβ − b)² + α‖β‖² with φᵢ = L⁻¹(k(z₁, xᵢ), …, k(z_m, xᵢ)) and K_mm = LLᵀ.

    Rows pass by in blocks, once to sum up H = Σ wᵢφᵢφᵢᵀ and once more for leave-one-out residuals, all in float64.
    Where kernel values are quick to compute again, H is first taken as L⁻¹(Σ wᵢkᵢkᵢᵀ)L⁻ᵀ, half the work of summing up
    the features themselves but with rounding enlarged by the condition number of K_mm; for a few α that product is not
    formed, as Σ wᵢkᵢkᵢᵀ + αK_mm has a factor too.  Solutions are corrected by
    their true residual, and if they do not reach a small one that way, the features are summed up after all.

    Parameters
    ----------
    problem : Problem
        The data and targets.
    indices : int array of shape (m,)
        Which points are centres.
    triangle : array of shape (m, m)
        L.
    rows : callable
        Makes the sums over the rows from a problem and its centres, wherever the rows are.
    """

    def __init__(
        self,
        problem: Problem,
        indices: np.ndarray,
        triangle: np.ndarray,
        rows: Callable[[Problem, Rows], RestrictedRows] = RestrictedRows,
    ) -> None:
        self._problem, self.indices, self._triangle = problem, indices, triangle
        self.centers = pick(problem.X, indices)
        self.rows = rows(problem, self.centers)
        self._decomposed: tuple[np.ndarray, np.ndarray] | None = None
        self._triangles: dict[float, np.ndarray] = {}  # of what is shifted, until many α are asked for
        self._last: tuple[np.ndarray, RestrictedSolution] | None = None
        self._total, mean, squares = self.rows.moments()
        self._target_mean = mean if problem.fit_intercept else 0.0 * mean
        with np.errstate(over="ignore"):
            self._squares = squares if problem.fit_intercept else squares + self._total * mean**2
        self._sum_up(raw=self.rows.quick)

    @property
    def rank(self) -> int:
        """m, the number of centres."""
        return len(self.indices)

    def solve(self, alpha: np.ndarray) -> RestrictedSolution:
        """Solve for one α per output; the solution for the last α is kept."""
        if self._last is None or not np.array_equal(self._last[0], alpha):
            found = self._refine(alpha)
            if self._raw and found.error > REFINED:
                self._sum_up(raw=False)
                found = self._refine(alpha)
            self._last = alpha.copy(), found
        return self._last[1]

    def coefficients(self, beta: np.ndarray) -> np.ndarray:
        """Return c = L⁻ᵀβ."""
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self._triangle, beta, lower=True, trans="T", check_finite=False))

    def intercept(self, beta: np.ndarray) -> np.ndarray:
        """Return b, which makes the weighted residuals sum to 0."""
        return np.asarray(self._target_mean - self._mean @ beta)

    def loo(self, alpha: np.ndarray, beta: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return yᵢ − f₋ᵢ(xᵢ) = (yᵢ − ŷᵢ)/(1 − hᵢᵢ) of all rows or some, with the centres held fixed."""
        left_out = self.left_out(alpha, beta)
        out = np.empty((self._problem.n if rows is None else len(rows), len(alpha)))
        for part, values, y, weights in self.rows.pieces(rows):
            out[part] = left_out(values, y, weights)
        return out

    def left_out(self, alpha: np.ndarray, beta: np.ndarray) -> LeftOut:
        """Return the function from kernel values of rows to their leave-one-out residuals."""
        self._factorise(alpha)
        constant = 1.0 / self._total if self._problem.fit_intercept else 0.0
        factors = [] if self._decomposed is not None else [self._white_factor(one) for one in alpha.tolist()]
        return LeftOut(
            self._triangle, self._mean, constant, alpha, beta, self.intercept(beta), self._decomposed, factors
        )

    def _white_factor(self, alpha: float) -> np.ndarray:
        """Return the Cholesky factor of H + αI: L⁻¹R for a factor R of L(H + αI)Lᵀ."""
        from scipy.linalg import solve_triangular

        factor = self._triangles[alpha]
        return solve_triangular(self._triangle, factor, lower=True, check_finite=False) if self._raw else factor

    def _refine(self, alpha: np.ndarray) -> RestrictedSolution:
        """Solve, and correct as long as corrections shrink; what is returned is as good as its residual says."""
        beta, step = np.zeros_like(self._right), self._inverse(alpha, self._right)
        best = RestrictedSolution(beta, np.inf, self._squares)
        for _ in range(1 + REFINEMENTS):
            beta = beta + step
            left, loss = self._left_over(alpha, beta)
            step = self._inverse(alpha, left)
            found = RestrictedSolution(beta, _largest(step, beta), loss)
            if found.error <= REFINED:
                return found
            if not found.error < SHRINKING * best.error:
                return min(best, found, key=lambda one: one.error)
            best = found
        return best

    def _sum_up(self, raw: bool) -> None:
        from scipy.linalg import blas, solve_triangular

        sums = self.rows.sums(None if raw else self._triangle, self._target_mean)
        inner, right, total = sums.inner, sums.right, sums.total  # of the inner products only the lower half is used
        if raw:
            right = solve_triangular(self._triangle, right, lower=True, check_finite=False)
            total = solve_triangular(self._triangle, total, lower=True, check_finite=False)
        self._mean = np.zeros(self.rank)
        if self._problem.fit_intercept:
            # Σ w(φ − φ̄)(φ − φ̄)ᵀ; the targets are centred already, so that the right-hand side stays as it is.
            inner = blas.dsyr(-1.0 / self._total, sums.total, lower=1, a=inner, overwrite_a=1)
            self._mean = total / self._total
        self._inner, self._right, self._raw = inner, right, raw
        self._triangles.clear()
        self._decomposed = None

    def _factorise(self, alpha: np.ndarray) -> None:
        """Make H + αI ready to be inverted: by Cholesky for a few α, by eigenvalues once for all others."""
        from scipy.linalg import LinAlgError, cholesky, lapack

        missing = set(alpha.tolist()) - self._triangles.keys()
        if self._decomposed is not None or not missing:
            return
        if len(self._triangles) + len(missing) <= FEW:
            try:
                for one in missing:
                    shifted = self._shift(one)
                    self._triangles[one] = cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
                return
            except LinAlgError:
                pass  # α is below the rounding of H; eigenvalues can be clamped at 0
        self._triangles.clear()
        inner = self._inner
        if self._raw:
            inner, _ = lapack.dsygst(inner, self._triangle, itype=1, lower=1)
        eigenvalues, vectors = decompose(inner)
        self._decomposed = np.maximum(eigenvalues, 0.0), vectors

    def _shift(self, alpha: float) -> np.ndarray:
        """Return H + αI, or L(H + αI)Lᵀ where values and not features were summed up: Σ wkkᵀ + αK_mm."""
        shifted = self._inner.copy(order="F")
        if self._raw:
            corner = np.asarray(Gram(self._problem.kernel, self.centers, dtype=np.float64).dense())
            corner *= alpha
            shifted += corner.T
        else:
            shifted.flat[:: self.rank + 1] += alpha
        return shifted

    def _inverse(self, alpha: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(H + αI)⁻¹ times each column of ``right``, with that column's α."""
        from scipy.linalg import cho_solve
        from scipy.linalg.blas import dtrmm

        self._factorise(alpha)
        if self._decomposed is not None:
            eigenvalues, vectors = self._decomposed
            return np.asarray(vectors @ ((vectors.T @ right) / (eigenvalues[:, None] + alpha)))
        out = dtrmm(1.0, self._triangle, right, lower=1) if self._raw else right.copy()
        for one in np.unique(alpha):
            columns = alpha == one
            out[:, columns] = cho_solve((self._triangles[one], True), out[:, columns], check_finite=False)
        return np.asarray(dtrmm(1.0, self._triangle, out, lower=1, trans_a=1) if self._raw else out)

    def _left_over(self, alpha: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What β leaves of the right-hand side, and the loss: from H, or from the data where H may have lost digits."""
        from scipy.linalg import blas, solve_triangular

        if not self.rows.quick:
            image = blas.dsymm(1.0, self._inner, beta, lower=1)
            with np.errstate(over="ignore", invalid="ignore"):
                loss = self._squares - np.einsum("ij,ij->j", beta, 2 * self._right - image)
            return np.asarray(self._right - image - alpha * beta), np.maximum(loss, 0.0)
        values, total, loss = self.rows.image(self.coefficients(beta), self.intercept(beta))
        image = solve_triangular(self._triangle, values, lower=True, check_finite=False)
        return np.asarray(image - np.outer(self._mean, total) - alpha * beta), loss


@dataclass(frozen=True)
class LeftOut:
    """Leave-one-out residuals (yᵢ − ŷᵢ)/(1 − hᵢᵢ) of rows, from what was summed up over all of them.

    Parameters
    ----------
    triangle : array of shape (m, m)
        L.
    mean : array of shape (m,)
        The mean of the features, 0 without an intercept.
    constant : float
        What an intercept adds to the leverage of a row of weight 1.
    alpha, beta, intercept : array
        The penalty of each output, and its solution.
    decomposed : pair of arrays, optional
        Eigenvalues and eigenvectors of H.
    factors : list of arrays
        Otherwise the Cholesky factor of H + αI for each α.
    """

    triangle: np.ndarray
    mean: np.ndarray
    constant: float
    alpha: np.ndarray
    beta: np.ndarray
    intercept: np.ndarray
    decomposed: tuple[np.ndarray, np.ndarray] | None
    factors: list[np.ndarray]

    def __call__(self, values: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the residuals of rows, from their kernel values (one column each), which are overwritten."""
        from scipy.linalg import solve_triangular

        features = solve_triangular(self.triangle, values, lower=True, overwrite_b=True, check_finite=False)
        fitted = features.T @ self.beta + self.intercept
        features -= self.mean[:, None]
        leverage = weights[:, None] * (self.constant + self._squared_norms(features))
        return np.asarray((y - fitted) / np.maximum(1.0 - leverage, np.finfo(np.float64).eps))

    def _squared_norms(self, features: np.ndarray) -> np.ndarray:
        """φᵀ(H + αI)⁻¹φ for each column φ of ``features`` (rows of the result) and each α."""
        from scipy.linalg import solve_triangular

        if self.decomposed is not None:
            eigenvalues, vectors = self.decomposed
            return np.asarray(((vectors.T @ features) ** 2).T @ (1.0 / (eigenvalues[:, None] + self.alpha)))
        out = np.empty((features.shape[1], len(self.alpha)))
        for one in np.unique(self.alpha):
            columns = np.flatnonzero(self.alpha == one)
            solved = solve_triangular(self.factors[columns[0]], features, lower=True, check_finite=False)
            out[:, columns] = np.einsum("ij,ij->j", solved, solved)[:, None]
        return out


def _largest(columns: np.ndarray, against: np.ndarray) -> float:
    """Return the largest norm of a column as a multiple of the norm of another."""
    unit = units(against)
    sizes, scales = (np.linalg.norm(one / unit, axis=0) for one in (columns, against))
    return float(ratios(sizes, scales, np.zeros(len(unit))).max())
