"""Ridge on explicit features: when there are fewer features than points, the small system is the one to solve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.columns import units
from mercer.expansion import ExplicitFunction
from mercer.features.explicit import ExplicitMap
from mercer.formula.data import Rows, take

from ...base import PreparedRidge, Problem, Solution
from ...costs import HOST, Cost, PlannedSolver, Sizes
from ...evidence import RESIDUAL, SCALE, is_converged
from ...residuals import ROUNDING, gap_ratios, in_squares, ordinary_weight, penalties, ratios
from .reduction import Eigen, Triangular
from .rows import COLUMNS, COPIES, MATRICES, ErrorRule, PrimalErrors, PrimalRows, PrimalWeights, SecondPass, features_of

PASSES = 3  # over the features of all rows: sums, errors, coefficients
FEATURE = 200.0  # operations of one feature of one row, as kernel values are counted
CORRECTIONS = 2  # of a solution by its true gradient
SAME = 1e-5  # of f: up to which two forms of it count as the same function
REMEDY = f"the features differ too much in size for float64: raise alpha, or {SCALE}"


@dataclass(frozen=True)
class Primal(PlannedSolver):
    """Solve (ΦᵀWΦ + αI)w = ΦᵀW(y − b) for the D weights w of the kernel's explicit features, f(x) = φ(x)ᵀw.

    One pass over blocks of rows sums ΦᵀWΦ and ΦᵀWy (nD² operations) about the weighted means if there is an intercept;
    Φ itself is never stored.  One eigendecomposition of the D × D matrix then serves every α.  A second pass looks at
    the errors e that the rows themselves have: with the gradient g = ΦᵀWe − αw the objective P is above its minimum by
    gᵀ(ΦᵀWΦ + αI)⁻¹g, which makes the residual.  Where α is not far above the rounding of the sums, or the
    residual is not small, the rows are reduced once more to a triangle that never squares the features (2nD²
    operations), which survives features of very different size.  A last pass gives the coefficients
    c = W(y − Φw − b)/α of the expansion, and the leave-one-out residuals eᵢ = (yᵢ − ŷᵢ)/(1 − hᵢᵢ).

    For a very small α those coefficients would be the rounding of y divided by α.  Then, and at α = 0, c is the
    smallest one with the same f.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Constant, Linear
    >>> from mercer.solvers.base import Problem
    >>> from mercer.solvers.ridge.primal.solver import Primal
    >>> X, y = np.array([[1.0], [4.0], [6.0], [9.0]]), np.array([[0.8], [4.1], [6.2], [8.5]])
    >>> solution = Primal().prepare(Problem(Linear() + Constant(1.0), X, y)).solve(1.0)
    >>> solution.w.round(4).ravel().tolist()
    [0.9545, 0.1018]
    >>> solution.feature_map.transform([[2.0]]) @ solution.w
    array([[2.01090909]])
    """

    name = "primal"

    def takes(self, sizes: Sizes) -> bool:
        """Whether there are finitely many features."""
        return math.isfinite(sizes.features)

    def cost(self, sizes: Sizes) -> Cost:
        """Return what a fit would take; features are computed on the host."""
        n, D, q = float(sizes.n), sizes.features, sizes.columns
        memory = 32.0 * D * D + min(24.0 * n * D, sizes.tile) + 24.0 * D + 48.0 * n * q
        solving = n * D * (D + 2 * q * (PASSES - 1) + (D * sizes.alphas if sizes.loo else 0))
        work = (
            (PASSES * FEATURE * n * D, HOST.entries),
            (solving, HOST.double),
            (9 * D**3 + q * 4 * D * D, HOST.eigen),
        )
        return Cost(memory, work, HOST)

    def explain(self, sizes: Sizes) -> str:
        """Return why this is the quickest."""
        few = "fewer than" if sizes.features < sizes.n else "not many more than"
        where = "" if sizes.on_host else "; it runs on the host"
        return f"the kernel has {int(sizes.features)} explicit features, {few} the {sizes.n} points{where}"

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

    def explicit(self, columns: Any = slice(None)) -> ExplicitFunction | None:
        """Return some outputs as a function of the explicit features."""
        assert self.w is not None
        intercept = self.intercept if columns == slice(None) else self.intercept[0]
        return ExplicitFunction(self.feature_map, self.w[columns], intercept)

    def predict(self, X: Rows) -> np.ndarray:
        """Return φ(x)ᵀw + b for all x, in O(D) for each."""
        assert self.w is not None
        return np.asarray(features_of(self.feature_map, X) @ self.w + self.intercept)


class PrimalPrepared(PreparedRidge):
    """The normal equations of a problem, decomposed.

    Parameters
    ----------
    problem : Problem
        The problem.
    rows : PrimalRows
        The sums over its rows, wherever those are.
    """

    name = "Primal"

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
        self._mean, self._y_mean, self._outputs = mean, y_mean, sums.right.shape[1]
        self._unit = units(sums.largest[None])
        self._eigen = Eigen(sums.normal, sums.right)
        self._triangular: Triangular | None = None
        given = problem.weights
        # Weights on a cluster stay there.
        self._ordinary = ordinary_weight(given) if isinstance(given, np.ndarray) else np.inf

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of ΦᵀWΦ in ascending order, those that are rounding set to 0."""
        return self._eigen.values

    def attempt(self, alpha: Any, *, loo: bool = False) -> PrimalSolution:
        """Solve for one α per output, with leave-one-out residuals if asked."""
        return self.path([penalties(alpha, self._outputs)], loo=loo)[0]

    def path(self, alphas: Any, *, loo: bool = False) -> list[PrimalSolution]:
        """Solve for many penalties, of shape (p,) or (p, q), with the same passes over the data for all of them."""
        q = self._outputs
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
                remedy=REMEDY,
                w=found.w[:, part].copy(),
                feature_map=self.feature_map,
                parts=found.parts[:, part],
            )
            for part in parts
        ]

    def weights(self, alphas: Any) -> PrimalWeights:
        """Return the weights of the features for many penalties, of shape (p,) or (p, q), with their certificates."""
        q = self._outputs
        steps = np.array([penalties(row, q) for row in alphas])
        alpha, columns = steps.ravel(), np.tile(np.arange(q), len(steps))
        if self._triangular is None and self._eigen.suits(alpha):
            found = self._judge(self._eigen, alpha, columns)
            if is_converged(found.residuals.max(), RESIDUAL):
                return found
        if self._triangular is None:
            reduced = self._rows.triangle(self._mean, self._y_mean)
            self._triangular = Triangular(reduced.triangle, len(self._mean))
        return self._judge(self._triangular, alpha, columns)

    def second_pass(self, found: PrimalWeights, loo: bool) -> SecondPass:
        """Return what turns rows into coefficients and leave-one-out residuals."""
        constant = 1.0 / self._total if self.problem.fit_intercept else 0.0
        return SecondPass(found, self._mean, self._y_mean, constant, loo)

    def effective_dof(self, alpha: float) -> float:
        """Return the trace of the map from y to the fitted values: Σ λⱼ/(λⱼ + α), and 1 for an intercept."""
        (value,) = penalties(alpha, 1)
        positive = self.eigenvalues[self.eigenvalues > 0]
        return float((positive / (positive + value)).sum()) + float(self.problem.fit_intercept)

    def _judge(self, factor: Eigen | Triangular, alpha: np.ndarray, columns: np.ndarray) -> PrimalWeights:
        """Solve, look at the errors that the rows themselves have, and correct the solution by them while that helps.

        With the gradient g = ΦᵀWe − αw of half the objective, this is above its minimum by gᵀH⁻¹g exactly.
        """
        unit = self._unit[columns]
        w = factor.weights(alpha, columns) / unit
        best, parts = np.full(len(alpha), np.inf), np.zeros((2, len(alpha)))
        kept, gradient, level = w, np.zeros_like(w), np.zeros(len(alpha))
        for _ in range(1 + CORRECTIONS):
            sums = self._rows.errors(ErrorRule(w, columns, unit, self._mean, self._y_mean, self._ordinary))
            left = sums.gradient - alpha * w
            step = factor.inverse(alpha, left)
            taken = sums.level**2 / self._total if self.problem.fit_intercept else 0.0
            judged = np.array([sums.squares - taken, alpha * np.einsum("ij,ij->j", w, w)])
            residuals = self._residuals(factor, alpha, sums, judged, left, step)
            better = residuals < best
            kept, gradient = np.where(better, w, kept), np.where(better, left, gradient)
            level, parts = np.where(better, sums.level, level), np.where(better, judged, parts)
            best = np.where(better, residuals, best)
            if is_converged(best.max(), RESIDUAL) or not better.any():
                break
            w = w + step
        b = np.zeros(len(alpha))
        if self.problem.fit_intercept:
            b = self._y_mean[columns] - self._mean @ kept * unit + level / self._total * unit
        preimage = self._preimage(factor, alpha, kept, gradient) * unit
        return PrimalWeights(kept * unit, b, alpha, columns, best, preimage, factor, in_squares(parts, unit))

    def _residuals(
        self, factor: Eigen | Triangular, alpha: np.ndarray, sums: PrimalErrors, parts: np.ndarray, left: np.ndarray,
        step: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Return √(gᵀH⁻¹g / S) of each column; at α = 0, where P may be 0, relative to y in place of √S."""
        gap = np.maximum(np.einsum("ij,ij->j", left, step), 0.0)
        objective = parts.sum(axis=0)
        root, spread, floor = np.sqrt(gap), np.sqrt(sums.spread), ROUNDING * np.sqrt(sums.size)
        residuals = np.where(alpha > 0, gap_ratios(root, objective, spread, floor), ratios(root, spread, floor))
        known = np.array([factor.is_known(float(one)) for one in alpha])
        return np.where(known, residuals, np.inf)

    def _preimage(
        self, factor: Eigen | Triangular, alpha: np.ndarray, w: np.ndarray, gradient: np.ndarray
    ) -> np.ndarray:
        """Return u with c = WΦu for columns whose c = W(y − ŷ)/α would give another function than w does, else NaN.

        Φᵀc differs from w by g/α, and the values of the two functions by Φg/α.
        """
        u = np.full_like(w, np.nan)
        noisy = (alpha == 0) | (factor.lengths(gradient) > SAME * alpha * factor.lengths(w))
        if noisy.any():
            u[:, noisy] = factor.preimage(w[:, noisy])
        return u
