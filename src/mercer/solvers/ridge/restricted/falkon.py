"""Ridge restricted to many centres, by conjugate gradients on products that are never stored.

With K_mm = LLᵀ and β = Lᵀc the problem is (L⁻¹K_mn W K_nm L⁻ᵀ + αI)β = L⁻¹K_mn W y.  A sample of the rows as large as
the centres stands for all of them in the preconditioner (n/m)LᵀL + αI (Rudi, Carratino and Rosasco, "FALKON", 2017), so
that ten or twenty iterations of two fused products each are enough, and no matrix is larger than m × m.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays import Array
from mercer.arrays.budget import require
from mercer.arrays.columns import like, norms, sums
from mercer.arrays.tensors import host_array
from mercer.formula.data import pick
from mercer.gram.torch.stream import CrossProducts
from mercer.linalg.cholesky import factorize_shifted, solve_factorized, solve_triangle
from mercer.linalg.iteration import ConjugateGradients

from ...base import PreparedRidge, Problem, Solution
from ...centers import JITTER, Candidates
from ...residuals import penalties

if TYPE_CHECKING:
    from .nystroem import Nystroem

STEPS = 30
TOLERANCE = 1e-4  # of the residual in the norm of the preconditioner, relative to that of the right-hand side
PIVOTED = 4096  # centres up to which they are chosen by pivoting
DEFAULT = 4096
PER_CENTER = 4  # points among which pivoting looks for each centre, so that it costs less than the fit


class PreparedFalkon(PreparedRidge):
    """Centres chosen, K_mm factorised; every α shares them.

    Parameters
    ----------
    solver : Nystroem
        How many centres, and how to choose them.
    problem : Problem
        The problem.
    """

    name = "Nystroem"

    def __init__(self, solver: Nystroem, problem: Problem) -> None:
        self.problem = problem
        count = min(problem.n, solver.n_centers or min(solver.max_centers, DEFAULT))
        require(
            24.0 * count**2,
            problem.memory,
            f"a Nyström model of {count} centres on {problem.place}",
            f"ask for at most {int((problem.memory / 24) ** 0.5)} centres",
        )
        selection = "uniform" if count > PIVOTED or count == problem.n else solver.selection
        candidates = Candidates(problem, count, check_random_state(solver.random_state), selection, PER_CENTER)
        self.indices, self._triangle = candidates.take(count)
        self.centers = pick(problem.X, self.indices)
        self._products = CrossProducts(problem.kernel, problem.X, self.centers, problem.device, problem.memory)
        self._y = problem.place.put(problem.y)
        self._weights = problem.place.put(1.0 / problem.noise)[:, None]
        self._total = float(self._weights.sum())
        self._inner = self._triangle.T @ self._triangle

    def attempt(self, alpha: Any, *, loo: bool = False) -> Solution:
        """Solve for one α per output."""
        if loo:
            raise ValueError(
                "leave-one-out residuals of Nyström models are computed on the host; fit without a device for them"
            )
        alpha = penalties(alpha, self._y.shape[1])
        if not (alpha > 0).all():
            raise ValueError(f"Nystroem needs one positive alpha for each of the outputs, got {alpha}")
        mean = self._mean(self._y)
        right = self._whiten(self._up(self._y - like(self._y, mean)))
        beta, worst, steps = right * 0.0, 0.0, 0
        for one in np.unique(alpha):
            columns = np.flatnonzero(alpha == one)
            found, relative, count = self._iterate(right[:, columns], float(one))
            beta[:, columns] = found
            worst, steps = max(worst, relative), max(steps, count)
        coef = solve_triangle(self._triangle, beta, transposed=True)
        errors = self._y - self._products.down(coef)
        intercept = self._mean(errors)
        errors = errors - like(errors, intercept)
        return Solution(
            centers=self.centers,
            coef=np.asarray(host_array(coef)),
            intercept=intercept,
            alpha=alpha,
            residual=worst,
            tolerance=TOLERANCE,
            n_iter=steps,
            remedy=f"it stopped after {steps} iterations: raise alpha, or take fewer centres",
            parts=np.array([norms(self._weights**0.5 * errors) ** 2, alpha * norms(beta) ** 2]),
        )

    def _iterate(self, right: Array, alpha: float) -> tuple[Array, float, int]:
        """Solve for one α; the preconditioned residual is what is measured."""
        share = self.problem.n / len(right)
        factor, _ = factorize_shifted(share * self._inner, alpha, JITTER * share * float(self._inner.trace()))

        def apply(P: Array, _: object) -> Array:
            values = self._products.down(solve_triangle(self._triangle, P, transposed=True))
            return self._whiten(self._up(values - like(values, self._mean(values)))) + alpha * P

        def precondition(R: Array, _: object) -> Array:
            return solve_factorized(factor, R)

        state = ConjugateGradients(right + 0.0)
        first = energy = state.turn(precondition)
        floor = np.where(first > 0, first, 1.0)
        count = 0
        while count < STEPS and (energy / floor > TOLERANCE**2).any():
            state.advance(apply)
            energy, count = state.turn(precondition), count + 1
        return state.x, float(np.sqrt(np.maximum(energy / floor, 0.0).max())), count

    def _mean(self, V: Array) -> np.ndarray:
        """Return the weighted mean of each column, which an intercept takes off; 0 without one."""
        if not self.problem.fit_intercept:
            return np.zeros(V.shape[1])
        return sums(self._weights * V) / self._total

    def _up(self, V: Array) -> Array:
        """K_mn W V."""
        return self._products.across(self._weights * V)

    def _whiten(self, V: Array) -> Array:
        return solve_triangle(self._triangle, V)
