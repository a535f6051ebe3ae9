"""Ridge on explicit features: when there are fewer features than points, the small system is the one to solve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from mercer.features.explicit import ExplicitMap
from mercer.gram.budget import require
from mercer.kernels.data import Rows, take

from .base import Problem, Solution
from .residuals import penalties

MATRICES = 4  # D × D in float64: ΦᵀWΦ kept for residuals, its eigenvectors, and LAPACK's workspace of two
BLOCK_BYTES = 2**22  # of features at a time, so that a block stays in the cache
BLOCK_ROWS = 1024  # at least, if there is memory: adding up D × D matrices must not cost more than they do
COPIES = 3  # of a block: while the map computes it, weighted, and as it is
COLUMNS = 6  # arrays of the size of y that a solution needs


@dataclass(frozen=True)
class Primal:
    """Solve (ΦᵀWΦ + αI)w = ΦᵀW(y − b) for the D weights w of the kernel's explicit features, f(x) = φ(x)ᵀw.

    One pass over blocks of rows sums ΦᵀWΦ and ΦᵀWy (nD² operations) about the weighted means if there is an intercept;
    Φ itself is never stored.  One eigendecomposition of the D × D matrix then serves every α.  A last pass turns w into
    the coefficients c = W(y − Φw − b)/α of the expansion, and gives the leave-one-out residuals
    eᵢ = (yᵢ − ŷᵢ)/(1 − hᵢᵢ).

    The residual of a solution is ‖ΦᵀW(y − b) − (ΦᵀWΦ + αI)w‖ / ‖ΦᵀW(y − b)‖.  Coefficients are residuals divided by α,
    so that for a very small α they carry the rounding of y divided by α: then predict with w, which does not.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Constant, Linear
    >>> from mercer.solvers.base import Problem
    >>> from mercer.solvers.primal import Primal
    >>> X, y = np.array([[1.0], [4.0], [6.0], [9.0]]), np.array([[0.8], [4.1], [6.2], [8.5]])
    >>> solution = Primal().prepare(Problem(Linear() + Constant(1.0), X, y)).solve(1.0)
    >>> solution.w.round(4).ravel().tolist()
    [0.9545, 0.1018]
    >>> solution.feature_map.transform([[2.0]]) @ solution.w
    array([[2.01090909]])
    """

    name = "primal"

    def prepare(self, problem: Problem) -> PrimalPrepared:
        """Sum over all rows."""
        shape = getattr(problem.X, "shape", None) or np.shape(take(problem.X, 0, 1))
        if len(shape) != 2:
            raise ValueError(
                f"Primal needs a table of points with columns, got a {type(problem.X).__name__} of shape {shape}; "
                "use another solver for other objects"
            )
        dimension = problem.kernel.feature_dim(int(shape[1]))
        if not np.isfinite(dimension):
            raise ValueError(
                f"Primal needs a kernel with finitely many features, but {problem.kernel!r} has none that are known; "
                "use another solver, or Nyström features"
            )
        D, q = int(dimension), problem.y.shape[1]
        require(
            MATRICES * D * D * 8 + COPIES * D * 8 + COLUMNS * problem.n * q * 8,
            problem.memory,
            f"the normal equations of {D} features",
            "give more memory, or use the conjugate gradient or the Nyström solver",
        )
        try:
            return PrimalPrepared(problem, problem.kernel.feature_map(int(shape[1])), D)
        except ValueError:
            # Some maps hold near a centre only; fitted on the data it lies there.  Bad data is refused again.
            return PrimalPrepared(problem, ExplicitMap(problem.kernel).fit(problem.X), D)


@dataclass(frozen=True)
class PrimalSolution(Solution):
    """A solution that also has the weights of the explicit features, f(x) = φ(x)ᵀw + b.

    Parameters
    ----------
    w : array of shape (D, q)
        Weights.
    feature_map : FeatureMap
        φ, a transformer.
    """

    w: np.ndarray | None = None
    feature_map: Any = None

    def predict(self, X: Rows) -> np.ndarray:
        """Return φ(x)ᵀw + b for all x, in O(D) for each."""
        assert self.w is not None
        return np.asarray(_features(self.feature_map, X) @ self.w + self.intercept)


class PrimalPrepared:
    """The normal equations of a problem, decomposed.

    Parameters
    ----------
    problem : Problem
        The problem.
    feature_map : FeatureMap
        φ.
    width : int
        D, the number of features.
    """

    def __init__(self, problem: Problem, feature_map: Any, width: int) -> None:
        self.problem = problem
        self.feature_map = feature_map
        n, q = problem.y.shape
        room = problem.memory - MATRICES * width * width * 8 - COLUMNS * n * q * 8
        wanted = max(BLOCK_BYTES // (8 * width), BLOCK_ROWS)
        self._rows = max(1, min(wanted, room // (COPIES * 8 * width)))
        self._y = np.asarray(problem.y, dtype=np.float64)
        self._weights = None if problem.weights is None else np.asarray(problem.weights, dtype=np.float64)
        self._total = float(n) if self._weights is None else float(self._weights.sum())
        self._mean, self._y_mean = np.zeros(width), np.zeros(q)
        self._normal, self._right = np.zeros((width, width)), np.zeros((width, q))
        self._accumulate()
        values, self.eigenvectors = linalg.eigh(self._normal, driver="evd", check_finite=False)
        values[np.abs(values) <= 8 * np.finfo(np.float64).eps * np.trace(self._normal)] = 0.0
        self.eigenvalues = values
        self._inner = self.eigenvectors.T @ self._right

    def solve(self, alpha: Any, *, loo: bool = False) -> PrimalSolution:
        """Solve for one α per output, with leave-one-out residuals if asked."""
        return self.path([penalties(alpha, self._y.shape[1])], loo=loo)[0]

    def path(self, alphas: Any, *, loo: bool = False) -> list[PrimalSolution]:
        """Solve for many penalties, of shape (p,) or (p, q), with one pass over the data for all of them."""
        q = self._y.shape[1]
        steps = np.array([penalties(row, q) for row in alphas])
        if (steps == 0).any():
            raise ValueError(
                "Primal needs alpha > 0, got 0, because the coefficients of the expansion are residuals divided by "
                "alpha. Give a positive alpha, or use the spectral solver"
            )
        alpha, columns = steps.ravel(), np.tile(np.arange(q), len(steps))
        inverse = 1.0 / (self.eigenvalues[:, None] + alpha)
        w = self.eigenvectors @ (inverse * self._inner[:, columns])
        # One step of refinement takes out what the decomposition rounded.
        w += self.eigenvectors @ (inverse * (self.eigenvectors.T @ self._left(w, alpha, columns)))
        residuals = np.linalg.norm(self._left(w, alpha, columns), axis=0)
        scale = np.linalg.norm(self._right, axis=0)[columns]
        residuals = np.divide(residuals, scale, out=np.zeros_like(scale), where=scale > 0)
        b = self._y_mean[columns] - self._mean @ w
        coef, left_out = self._second_pass(w, alpha, columns, loo)
        parts = [slice(i * q, (i + 1) * q) for i in range(len(steps))]
        return [
            PrimalSolution(
                centers=self.problem.X,
                coef=coef[:, part].copy(),
                intercept=b[part] if self.problem.fit_intercept else np.zeros(q),
                alpha=step,
                residual=float(residuals[part].max()),
                loo=None if left_out is None else left_out[:, part].copy(),
                w=w[:, part].copy(),
                feature_map=self.feature_map,
            )
            for step, part in zip(steps, parts, strict=True)
        ]

    def effective_dof(self, alpha: float) -> float:
        """Return the trace of the map from y to the fitted values: Σ λⱼ/(λⱼ + α), and 1 for an intercept."""
        (value,) = penalties(alpha, 1)
        positive = self.eigenvalues[self.eigenvalues > 0]
        return float((positive / (positive + value)).sum()) + float(self.problem.fit_intercept)

    # -- passes over the data -------------------------------------------------------------------------------------

    def _accumulate(self) -> None:
        """Sum ΦᵀWΦ and ΦᵀWy, about the weighted means if there is an intercept."""
        moved, moved_y = np.zeros_like(self._mean), np.zeros_like(self._y_mean)
        for rows, phi in self._blocks():
            target = self._y[rows] - self._y_mean
            if self.problem.fit_intercept:
                if rows.start == 0:
                    # Sums about the means of the first block lose no digits when they are moved to those of all.
                    self._mean, self._y_mean = phi.mean(axis=0), target.mean(axis=0)
                    phi -= self._mean
                    target -= self._y_mean
                moved += self._sum(rows, phi) / self._total
                moved_y += self._sum(rows, target) / self._total
            if self._weights is not None:
                # With the roots of the weights on both sides the product is AᵀA, of which BLAS computes one half.
                roots = np.sqrt(self._weights[rows])[:, None]
                phi *= roots
                target *= roots
            self._normal += phi.T @ phi
            self._right += phi.T @ target
        self._normal -= self._total * np.outer(moved, moved)
        self._right -= self._total * np.outer(moved, moved_y)
        self._mean, self._y_mean = self._mean + moved, self._y_mean + moved_y

    def _left(self, w: np.ndarray, alpha: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.asarray(self._right[:, columns] - self._normal @ w - alpha * w)

    def _second_pass(
        self, w: np.ndarray, alpha: np.ndarray, columns: np.ndarray, loo: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return c = W(y − ŷ)/α and (y − ŷ)/(1 − h)."""
        coef = np.empty((self.problem.n, len(alpha)))
        left_out = np.empty_like(coef) if loo else None
        distinct, where = np.unique(alpha, return_inverse=True)
        # hᵢᵢ = wᵢ Σⱼ (φᵢᵀqⱼ)²/(λⱼ + α), and wᵢ/Σw for the mean.
        leverage = 1.0 / (self.eigenvalues[:, None] + distinct)
        for rows, phi in self._blocks():
            weights = np.ones(len(phi)) if self._weights is None else self._weights[rows]
            error = (self._y[rows] - self._y_mean)[:, columns] - phi @ w
            coef[rows] = weights[:, None] * error / alpha
            if left_out is None:
                continue
            h = (phi @ self.eigenvectors) ** 2 @ leverage
            if self.problem.fit_intercept:
                h += 1.0 / self._total
            with np.errstate(invalid="ignore", divide="ignore"):
                left_out[rows] = error / (1.0 - weights[:, None] * h)[:, where]
        return coef, left_out

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of rows, with their features less the means known so far."""
        n = self.problem.n
        for start in range(0, n, self._rows):
            rows = slice(start, min(start + self._rows, n))
            phi = _features(self.feature_map, take(self.problem.X, rows.start, rows.stop))
            if self.problem.fit_intercept:
                phi -= self._mean
            yield rows, phi

    def _sum(self, rows: slice, values: np.ndarray) -> np.ndarray:
        return np.asarray(values.sum(axis=0) if self._weights is None else self._weights[rows] @ values)


def _features(feature_map: Any, X: Rows) -> np.ndarray:
    """Return the features in float64, in an array of their own that may be overwritten."""
    phi = feature_map.transform(X)
    if sparse.issparse(phi):
        phi = phi.toarray()
    return np.array(phi, dtype=np.float64)
