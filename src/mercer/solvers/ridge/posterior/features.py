"""The posterior in features: α φ(x)ᵀ(ΦᵀWΦ + αI)⁻¹φ(z), and what the features leave of the kernel.

Explicit features leave nothing but words and other features that no training point has, Nyström centres what they do
not explain.  That part of f is as the prior has it: data says nothing about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import solve_triangular

from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.formula.data import Rows, concatenate, length, pick, take
from mercer.gram import Gram
from mercer.linalg.cholesky import pick_independent
from mercer.linalg.decomposition import decompose, decompose_singular

from ...base import Problem
from ..primal.reduction import SAFE, triangle_of
from .prior import draw_normal, draw_prior

Features = Callable[[Rows], np.ndarray]  # of a block of points, a row each, in an array that may be overwritten
BLOCK_ROWS = 1024  # of features at a time, at least
BLOCK_BYTES = 2**26
MATRICES = 5  # D × D at the worst moment
EXPLAINED = 1e-10  # of k(x, x): what features leave below that is rounding
SMALL = 2000  # points whose covariances are drawn from exactly


class FeatureForm:
    """The posterior of w in f(x) = φ(x)ᵀw + b, from the eigenvalues of ΦᵀWΦ, which serve every α.

    With an intercept features are those about their weighted means; then w and b + φ̄ᵀw are independent.

    Parameters
    ----------
    problem : Problem
        What was fitted, on the host.
    function : Expansion
        The fit.
    features : callable
        φ.
    penalties : array
        All α that are asked for.
    """

    def __init__(self, problem: Problem, function: Expansion, features: Features, penalties: np.ndarray) -> None:
        self.problem, self._function, self._features = problem, function, features
        width = features(take(problem.X, 0, 1)).shape[1]
        require(
            8.0 * MATRICES * width * width, problem.memory, f"the posterior of {width} features",
            "give more memory, or fit with fewer centres",
        )  # fmt: skip
        self._row_bytes = 8 * 4 * width
        weights = np.ones(problem.n) if problem.weights is None else problem.weights
        self._total = float(weights.sum())
        self._mean = np.zeros(width)
        if problem.fit_intercept:
            self._mean = sum((weights[rows] @ phi for rows, phi in self._blocks()), self._mean) / self._total
        self._roots = np.sqrt(weights)[:, None]
        self.eigenvalues, self._vectors = self._decompose(width, float(penalties.min()))

    def row_bytes(self, count: int) -> int:
        """Return the bytes for each of so many new points."""
        return self._row_bytes

    def variance(self, X: Rows, alpha: float, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the variance of f at some of so many points, as it is computed, and what it is a difference of."""
        phi, prior = self._features(X), np.asarray(self.problem.kernel.diag(X), dtype=np.float64)
        rest = prior - np.einsum("ij,ij->i", phi, phi)
        rest[np.abs(rest) <= EXPLAINED * prior] = 0.0
        known = self._halve(phi, alpha)
        return rest + np.einsum("ij,ij->i", known, known) + self._constant(alpha), prior

    def covariance(self, X: Rows, alpha: float) -> np.ndarray:
        """Return the covariances of f between all points."""
        phi = self._features(X)
        rest = self._rest(X, phi)
        known = self._halve(phi, alpha)
        found = known @ known.T + self._constant(alpha)
        return found if rest is None else found + rest

    def deviate(self, X: Rows, alpha: float, size: int, rng: np.random.RandomState) -> np.ndarray:
        """Return draws of f less its mean, one a column: of the weights, of the intercept, and of what is left."""
        noise = rng.standard_normal((len(self.eigenvalues), size))
        level = np.sqrt(self._constant(alpha)) * rng.standard_normal(size)
        m, step = length(X), max(1, BLOCK_BYTES // self._row_bytes)
        parts = [self._halve(self._features(take(X, i, min(i + step, m))), alpha) @ noise for i in range(0, m, step)]
        return np.concatenate(parts) + level + self._draw_rest(X, size, rng)

    def log_determinant(self, alpha: float) -> float:
        """Return log|ΦΦᵀ + αW⁻¹|, and log 1ᵀ(…)⁻¹1 more with an intercept."""
        noise = float(np.log(alpha * self.problem.noise).sum())
        found = noise + float(np.log1p(self.eigenvalues / alpha).sum())
        return found + float(np.log(self._total / alpha)) if self.problem.fit_intercept else found

    def quadratic(self, alpha: float, columns: np.ndarray) -> float:
        """Return yᵀA⁻¹y, less the part of an intercept, summed over some targets: the objective over α."""
        problem, q = self.problem, self.problem.y.shape[1]
        fitted = np.asarray(host_array(self._function(problem.X, memory=problem.memory))).reshape(-1, q)
        errors = self._roots * (problem.y - fitted)[:, columns]
        norms = np.atleast_1d(self._function.norm())[columns]
        return float(np.sum(errors**2) / alpha + np.sum(norms**2))

    # -- the parts -----------------------------------------------------------------------------------------------------

    def _halve(self, phi: np.ndarray, alpha: float) -> np.ndarray:
        """Return rows whose inner products are α φᵀ(ΦᵀWΦ + αI)⁻¹φ; a direction that no data has is as before it."""
        phi -= self._mean
        share = np.ones_like(self.eigenvalues)
        np.divide(alpha, self.eigenvalues + alpha, out=share, where=self.eigenvalues + alpha > 0)
        return np.asarray(phi @ self._vectors) * np.sqrt(share)

    def _constant(self, alpha: float) -> float:
        """Return the variance of the intercept at the means."""
        return alpha / self._total if self.problem.fit_intercept else 0.0

    def _rest(self, X: Rows, phi: np.ndarray) -> np.ndarray | None:
        """Return k(x, z) − φ(x)ᵀφ(z), None where that is nothing."""
        prior = np.asarray(self.problem.kernel.diag(X), dtype=np.float64)
        if (np.abs(prior - np.einsum("ij,ij->i", phi, phi)) <= EXPLAINED * prior).all():
            return None
        values = np.asarray(Gram(self.problem.kernel, X, memory=self.problem.memory, dtype=np.float64).dense())
        return values - phi @ phi.T

    def _draw_rest(self, X: Rows, size: int, rng: np.random.RandomState) -> np.ndarray | float:
        """Return draws of what the features leave of f."""
        m = length(X)
        require(
            8.0 * (2.0 * m * m + m * len(self._mean)), self.problem.memory, f"the covariances of {m} points",
            "give more memory, or draw at fewer points",
        )  # fmt: skip
        rest = self._rest(X, self._features(X))
        return 0.0 if rest is None else draw_normal(rest, size, rng)

    # -- the decomposition ---------------------------------------------------------------------------------------------

    def _decompose(self, width: int, least: float) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues and eigenvectors of ΦᵀWΦ: of the sum, or of a triangle where the sum would lose α."""
        normal = np.zeros((width, width))
        for rows, phi in self._blocks():
            phi -= self._mean
            phi *= self._roots[rows]
            normal += phi.T @ phi
        if least > SAFE * float(np.trace(normal)):
            values, vectors = decompose(normal, overwrite=True)
            return np.maximum(values, 0.0), vectors
        triangle = np.zeros((0, width))
        for rows, phi in self._blocks():
            phi -= self._mean
            phi *= self._roots[rows]
            triangle = triangle_of(np.concatenate([triangle, phi]))
        whole = np.zeros((width, width))
        whole[: len(triangle)] = triangle
        _, roots, vectors = decompose_singular(whole)
        roots[roots <= width * np.finfo(np.float64).eps * roots[0]] = 0.0
        return roots**2, vectors.T

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        problem = self.problem
        step = max(BLOCK_ROWS, BLOCK_BYTES // self._row_bytes)
        step = max(1, min(step, problem.memory // (2 * self._row_bytes)))
        for start in range(0, problem.n, step):
            rows = slice(start, min(start + step, problem.n))
            yield rows, self._features(take(problem.X, rows.start, rows.stop))


class CenterForm(FeatureForm):
    """The posterior in the features of centres, φ(x) = L⁻¹(k(z₁, x), …, k(z_m, x)) with K_zz = LLᵀ.

    What the centres explain of f is known from the data as those features are; the rest, of variance
    k(x, x) − φ(x)ᵀφ(x), is not.
    """

    def __init__(self, problem: Problem, function: Expansion, penalties: np.ndarray) -> None:
        centers = host_array(function.centers)
        kept, self._triangle = pick_independent(
            np.asarray(Gram(problem.kernel, centers, memory=problem.memory, dtype=np.float64).dense())
        )
        self._centers = pick(centers, kept)
        super().__init__(problem, function, self._transform, penalties)

    def _transform(self, X: Rows) -> np.ndarray:
        kernel, memory = self.problem.kernel, self.problem.memory
        values = np.asarray(Gram(kernel, X, self._centers, memory=memory, dtype=np.float64).dense())
        return np.asarray(solve_triangular(self._triangle, values.T, lower=True, check_finite=False)).T

    def _draw_rest(self, X: Rows, size: int, rng: np.random.RandomState) -> np.ndarray | float:
        """Return draws of the prior, less what the centres explain of them, where points are too many for a matrix."""
        m = length(X)
        if m <= SMALL:
            return super()._draw_rest(X, size, rng)
        g = draw_prior(self.problem.kernel, concatenate(X, self._centers), size, rng, self.problem.memory)
        inner = solve_triangular(self._triangle, g[m:], lower=True, check_finite=False)
        step = max(1, BLOCK_BYTES // self._row_bytes)
        for start in range(0, m, step):
            g[start : min(start + step, m)] -= self._features(take(X, start, min(start + step, m))) @ inner
        return g[:m]
