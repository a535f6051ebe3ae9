"""Ridge on explicit features: when there are fewer features than points, the small system is the one to solve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from mercer.features.explicit import ExplicitMap
from mercer.gram.budget import require
from mercer.kernels.data import Rows, take

from ._primal_rows import COLUMNS, COPIES, MATRICES, PrimalRows, PrimalWeights, SecondPass, features_of
from .base import Problem, Solution
from .residuals import penalties


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
            return PrimalPrepared(problem, PrimalRows(problem, problem.kernel.feature_map(int(shape[1])), D))
        except ValueError:
            # Some maps hold near a centre only; fitted on the data it lies there.  Bad data is refused again.
            return PrimalPrepared(problem, PrimalRows(problem, ExplicitMap(problem.kernel).fit(problem.X), D))


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
        return np.asarray(features_of(self.feature_map, X) @ self.w + self.intercept)


class PrimalPrepared:
    """The normal equations of a problem, decomposed.

    Parameters
    ----------
    problem : Problem
        The problem.
    rows : PrimalRows
        The sums over its rows, wherever those are.
    """

    def __init__(self, problem: Problem, rows: PrimalRows) -> None:
        self.problem, self._rows, self.feature_map = problem, rows, rows.feature_map
        # Sums about the means of some rows lose no digits when they are moved to those of all.
        mean, y_mean = rows.reference() if problem.fit_intercept else rows.nothing()
        sums = rows.sums(mean, y_mean)
        self._total = sums.total
        if problem.fit_intercept:
            moved, moved_y = sums.features / sums.total, sums.targets / sums.total
            sums.normal -= sums.total * np.outer(moved, moved)
            sums.right -= sums.total * np.outer(moved, moved_y)
            mean, y_mean = mean + moved, y_mean + moved_y
        self._mean, self._y_mean, self._normal, self._right = mean, y_mean, sums.normal, sums.right
        values, self.eigenvectors = linalg.eigh(self._normal, driver="evd", check_finite=False)
        values[np.abs(values) <= 8 * np.finfo(np.float64).eps * np.trace(self._normal)] = 0.0
        self.eigenvalues = values
        self._inner = self.eigenvectors.T @ self._right

    def solve(self, alpha: Any, *, loo: bool = False) -> PrimalSolution:
        """Solve for one α per output, with leave-one-out residuals if asked."""
        return self.path([penalties(alpha, self._right.shape[1])], loo=loo)[0]

    def path(self, alphas: Any, *, loo: bool = False) -> list[PrimalSolution]:
        """Solve for many penalties, of shape (p,) or (p, q), with one pass over the data for all of them."""
        q = self._right.shape[1]
        found = self.weights(alphas)
        coef, left_out = self._rows.second_pass(self.second_pass(found, loo))
        parts = [slice(i * q, (i + 1) * q) for i in range(len(found.alpha) // q)]
        return [
            PrimalSolution(
                centers=self.problem.X,
                coef=coef[:, part].copy(),
                intercept=found.intercept[part],
                alpha=found.alpha[part],
                residual=float(found.residuals[part].max()),
                loo=None if left_out is None else left_out[:, part].copy(),
                w=found.w[:, part].copy(),
                feature_map=self.feature_map,
            )
            for part in parts
        ]

    def weights(self, alphas: Any) -> PrimalWeights:
        """Return the weights of the features for many penalties, of shape (p,) or (p, q), without a pass."""
        q = self._right.shape[1]
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
        return PrimalWeights(w, b if self.problem.fit_intercept else np.zeros(len(b)), alpha, columns, residuals)

    def second_pass(self, found: PrimalWeights, loo: bool) -> SecondPass:
        """Return what turns rows into coefficients and leave-one-out residuals."""
        return SecondPass(
            found, self._mean, self._y_mean, self.eigenvalues, self.eigenvectors,
            1.0 / self._total if self.problem.fit_intercept else 0.0, loo,
        )  # fmt: skip

    def effective_dof(self, alpha: float) -> float:
        """Return the trace of the map from y to the fitted values: Σ λⱼ/(λⱼ + α), and 1 for an intercept."""
        (value,) = penalties(alpha, 1)
        positive = self.eigenvalues[self.eigenvalues > 0]
        return float((positive / (positive + value)).sum()) + float(self.problem.fit_intercept)

    def _left(self, w: np.ndarray, alpha: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.asarray(self._right[:, columns] - self._normal @ w - alpha * w)
