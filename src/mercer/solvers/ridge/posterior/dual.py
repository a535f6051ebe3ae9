"""The posterior in kernel values: k(x, z) less what the training points explain of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.budget import parse_memory
from mercer.arrays.tensors import host_array
from mercer.expansion import evaluate_expansion
from mercer.formula.data import Rows, concatenate, length, pick
from mercer.gram import Gram

from ...base import Problem
from .halves import CholeskyInverse, Inverse
from .inverse import Inverses, IterativeInverse
from .prior import draw_prior

PROBES = 8  # points whose variance is computed again without the rounding of float32
MOVED = 1e-4  # of a deviation: by so much rounding may move it


class KernelForm:
    """k(x, z) − k_xᵀA⁻¹k_z, and (1 − 1ᵀA⁻¹k_x)(1 − 1ᵀA⁻¹k_z)/1ᵀA⁻¹1 more with an intercept.

    Parameters
    ----------
    problem : Problem
        What was fitted, and where.
    solver : str
        How.
    several : bool
        Whether there are several penalties.
    """

    def __init__(self, problem: Problem, solver: str, *, several: bool) -> None:
        self.problem, self._inverses = problem, Inverses(problem, solver, several=several)
        self._trusted = False  # whether float32 was seen to be precise enough

    def row_bytes(self, count: int) -> int:
        """Return the bytes for each of so many new points."""
        size = 4 if self._inverses.trusts_single else 8
        return size * self.problem.n * (IterativeInverse if self._inverses.iterates(count) else Inverse).columns

    def variance(self, X: Rows, alpha: float, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the variance of f at some of so many points, as it is computed, and what it is a difference of.

        A factor in float32 is tried first where it saves time.  The points where least is left of the prior show what
        its rounding does: if it moves one of their deviations by more than a ten-thousandth, float64 takes over.
        """
        prior = self._prior(X)
        inverse = self._inverses.find(alpha, columns=count, single=True)
        found = prior - inverse.explain(self._values(X, inverse.dtype))
        if inverse.dtype == np.float32 and not self._trusted:
            assert isinstance(inverse, CholeskyInverse)
            least = np.argsort(found)[:PROBES]
            values = np.asarray(host_array(self._values(pick(X, least), np.float64)))
            moved = np.abs(found[least] - (prior[least] - inverse.explain_closely(values)))
            self._trusted = bool((moved <= 2.0 * MOVED * np.abs(found[least])).all())
            if not self._trusted:
                self._inverses.trusts_single = False
                return self.variance(X, alpha, count)
        return found, prior

    def covariance(self, X: Rows, alpha: float) -> np.ndarray:
        """Return the covariances of f between all points."""
        problem = self.problem
        prior = Gram(problem.kernel, X, memory=problem.memory, dtype=np.float64, device=problem.device).dense()
        inverse = self._inverses.find(alpha, columns=length(X))
        return np.asarray(host_array(prior)) - inverse.explain_pairs(self._values(X, np.float64))

    def deviate(self, X: Rows, alpha: float, size: int, rng: np.random.RandomState) -> np.ndarray:
        """Return draws of f less its mean, one a column: a draw of the prior less the fit to what would be seen of it.

        This is Matheron's rule.  A draw g of the prior at old and new points and a draw ε of the noise are a world in
        which everything is known: g(x) less the fit to g(xᵢ) + εᵢ is an error that the posterior allows for.
        """
        problem = self.problem
        g = draw_prior(problem.kernel, concatenate(host_array(problem.X), host_array(X)), size, rng, self._room)
        seen, new = g[: problem.n], g[problem.n :]
        seen += np.sqrt(alpha * problem.noise)[:, None] * rng.standard_normal(seen.shape)
        coef, b = self._inverses.find(alpha, columns=size).fit(seen)
        where = problem.memory, problem.device
        fitted = evaluate_expansion(problem.kernel, X, problem.X, coef, b, *where, dtype=np.float64)
        return np.asarray(new - host_array(fitted))

    def log_determinant(self, alpha: float) -> float:
        """Return log|A|, and log 1ᵀA⁻¹1 more with an intercept."""
        return self._inverses.find(alpha).log_determinant

    def quadratic(self, alpha: float, columns: np.ndarray) -> float:
        """Return yᵀA⁻¹y, less the part of an intercept, summed over some targets."""
        y = self.problem.y[:, columns]
        coef, b = self._inverses.find(alpha).fit(y)
        return float(np.sum((y - b) * coef))

    @property
    def _room(self) -> int:
        """The budget on the host, where draws are made."""
        return self.problem.memory if self.problem.place.on_host else parse_memory(None)

    def _prior(self, X: Rows) -> np.ndarray:
        return np.asarray(self.problem.kernel.diag(host_array(X)), dtype=np.float64)

    def _values(self, X: Rows, dtype: Any) -> Array:
        """Return k(xᵢ, x), a column for each new point."""
        problem = self.problem
        where = {"memory": problem.memory, "device": problem.device}
        return Gram(problem.kernel, X, problem.X, dtype=dtype, **where).dense().T  # columns that lie together
