"""The posterior in kernel values: k(x, z) less what the training points explain of it."""

from __future__ import annotations

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.expansion import evaluate_expansion
from mercer.formula.data import Rows, concatenate
from mercer.gram import Gram

from ...base import Problem
from .inverse import Inverses, IterativeInverse
from .prior import draw_prior


class KernelForm:
    """k(x, z) − k_xᵀA⁻¹k_z, and (1 − 1ᵀA⁻¹k_x)(1 − 1ᵀA⁻¹k_z)/1ᵀA⁻¹1 more with an intercept.

    Parameters
    ----------
    problem : Problem
        What was fitted, on the host.
    solver : str
        How.
    several : bool
        Whether there are several penalties.
    """

    def __init__(self, problem: Problem, solver: str, *, several: bool) -> None:
        self.problem, self._inverses = problem, Inverses(problem, solver, several=several)

    @property
    def row_bytes(self) -> int:
        """Bytes for each new point."""
        return 8 * self.problem.n * (IterativeInverse.columns if self._inverses.iterates else 3)

    def variance(self, X: Rows, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the variance of f at some points, as it is computed, and what it is a difference of."""
        prior = np.asarray(self.problem.kernel.diag(X), dtype=np.float64)
        return prior - self._inverses.find(alpha).explain(self._values(X)), prior

    def covariance(self, X: Rows, alpha: float) -> np.ndarray:
        """Return the covariances of f between all points."""
        prior = np.asarray(Gram(self.problem.kernel, X, memory=self.problem.memory, dtype=np.float64).dense())
        return prior - self._inverses.find(alpha).explain_pairs(self._values(X))

    def deviate(self, X: Rows, alpha: float, size: int, rng: np.random.RandomState) -> np.ndarray:
        """Return draws of f less its mean, one a column: a draw of the prior less the fit to what would be seen of it.

        This is Matheron's rule.  A draw g of the prior at old and new points and a draw ε of the noise are a world in
        which everything is known: g(x) less the fit to g(xᵢ) + εᵢ is an error that the posterior allows for.
        """
        problem = self.problem
        g = draw_prior(problem.kernel, concatenate(problem.X, X), size, rng, problem.memory)
        seen, new = g[: problem.n], g[problem.n :]
        seen += np.sqrt(alpha * problem.noise)[:, None] * rng.standard_normal(seen.shape)
        coef, b = self._inverses.find(alpha).fit(seen)
        fitted = evaluate_expansion(problem.kernel, X, problem.X, coef, b, problem.memory, dtype=np.float64)
        return np.asarray(new - host_array(fitted))

    def log_determinant(self, alpha: float) -> float:
        """Return log|A|, and log 1ᵀA⁻¹1 more with an intercept."""
        return self._inverses.find(alpha, direct=True).log_determinant

    def quadratic(self, alpha: float, columns: np.ndarray) -> float:
        """Return yᵀA⁻¹y, less the part of an intercept, summed over some targets."""
        y = self.problem.y[:, columns]
        coef, b = self._inverses.find(alpha, direct=True).fit(y)
        return float(np.sum((y - b) * coef))

    def _values(self, X: Rows) -> np.ndarray:
        """Return k(xᵢ, x), a column for each new point."""
        problem = self.problem
        return np.asarray(Gram(problem.kernel, problem.X, X, memory=problem.memory, dtype=np.float64).dense())
