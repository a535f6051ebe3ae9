"""Ridge by a factor of some of the points and conjugate gradients for the others, certified in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import require
from mercer.checks import check_count, is_whole
from mercer.linalg.iteration import bound_iterations

from ...base import PreparedRidge, Problem, Solution
from ...costs import Cost, PlannedSolver, Sizes, check_tolerance
from ...evidence import SCALE
from ...products import width
from ...residuals import penalties
from ..cg import ConjugateGradient
from ..refinement import Refined, System, refine
from .elimination import RANK, Elimination, Pivots, find_pivots

SHARES = np.linspace(0.1, 0.6, 26)  # of the points, that may be eliminated
# Iterations, in units of those of conjugate gradients with a preconditioner of low rank: this times a power of the
# share.  Normal data and pol with penalties of 0.1 to 0.001 and shares of 0.15 to 0.5 were within a third of it.
FEWER, POWER = 0.1, -1.5
SURE = 0.5  # of the tolerance, that iterations aim at
CHECKS = 5  # products in float64 that a fit takes
OUTER: dict[str, Any] = {"patience": 8, "max_iter": 60}  # of refinement


@dataclass(frozen=True)
class PartialCholesky(PlannedSolver):
    """Eliminate some of the points by a Cholesky factor in float32, and iterate with what is left of the others.

    A factor of θn points takes θ³ of the time of the whole one, and makes the equations of the others so well
    conditioned that some dozen iterations solve them (:mod:`mercer.solvers.ridge.partial.elimination`).  Together they
    are an inverse to two digits, and conjugate gradients on the true matrix in float64 take it to the certificate, with
    a product for every two digits or so.  Half of the matrix is stored, in float32.  Where a few points explain all
    others, conjugate gradients that are preconditioned by these are quicker, and are taken.

    Parameters
    ----------
    tolerance : float, default=1e-6
        Stop when the certificate is at most this for every output.
    max_iter : int, default=1000
        Iterations with the equations of the points that are left; beyond, each correction has one.
    eliminated : int or "auto", default="auto"
        How many points have a factor, of 1 to n − 1; "auto" weighs a factor against the iterations that it saves.
    affordable : int, optional
        Iterations that cost as much as another solver: where twice as many are foreseen, the fit ends unconverged.
    random_state : int, RandomState or None, default=None
        The seed of the choice of points.
    on_iteration : callable, optional
        Called as ``on_iteration(iteration, relative_residual)`` after each iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.base import Problem
    >>> from mercer.solvers.ridge.partial.solver import PartialCholesky
    >>> X = np.linspace(0.0, 6.0, 200).reshape(-1, 1)
    >>> problem = Problem(Gaussian(), X, np.sin(X))
    >>> solution = PartialCholesky(random_state=0).prepare(problem).solve(np.array([0.1]))
    >>> solution.converged, solution.residual <= 1e-6
    (True, True)
    """

    tolerance: float = 1e-6
    max_iter: int = 1000
    eliminated: int | Literal["auto"] = "auto"
    affordable: int | None = None
    random_state: Any = None
    on_iteration: Callable[[int, float], None] | None = None

    name = "partial"

    def takes(self, sizes: Sizes) -> bool:
        """Whether the core computes kernel values here, and neither leave-one-out residuals nor states are wanted."""
        return sizes.on_host and sizes.native and not sizes.loo and not sizes.saved

    def cost(self, sizes: Sizes) -> Cost:
        """Return what a fit would take."""
        share = best_share(sizes)
        n, speed, steps = float(sizes.n), sizes.speed, self.steps(sizes)
        rank = min(RANK * n**0.5, share * n)
        work = [
            (sizes.entry * n * n / 2, speed.entries),
            (CHECKS * sizes.entry * n * n / 2 * sizes.columns, speed.entries),
            (sizes.alphas * (share * n) ** 3 / 3, speed.factor),
            (sizes.alphas * n * rank**2, speed.double),
            (steps * _numbers(share) * n * n * sizes.columns, speed.stream),
        ]
        memory = 2.0 * n * n + 8.0 * n * rank + 4 * sizes.vectors
        return Cost(memory, tuple(work), speed)

    def steps(self, sizes: Sizes) -> int:
        """Return how many iterations are expected."""
        return max(1, int(_steps(sizes, best_share(sizes))))

    def explain(self, sizes: Sizes) -> str:
        """Return why this is the quickest."""
        share = best_share(sizes)
        return (
            f"a factor of {int(share * sizes.n)} points leaves about {self.steps(sizes)} iterations for the others, "
            "and nothing is quicker"
        )

    def __post_init__(self) -> None:
        check_tolerance(self, self.tolerance)
        check_count("PartialCholesky", "max_iter", self.max_iter)
        if self.eliminated != "auto" and not is_whole(self.eliminated, 1):
            raise ValueError(
                f"PartialCholesky: eliminated must be 'auto' or a whole number of at least 1, got {self.eliminated!r}"
            )

    def prepare(self, problem: Problem) -> PreparedPartial:
        """Look whether half of the matrix fits into the budget."""
        if not problem.place.on_host:
            raise ValueError(f"PartialCholesky computes on the host, got a problem on {problem.place}; use solver='cg'")
        return PreparedPartial(self, problem)


class PreparedPartial(PreparedRidge):
    """A problem whose matrix is evaluated, and eliminated in part, for each penalty anew."""

    name = "PartialCholesky"

    def __init__(self, solver: PartialCholesky, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        n = problem.n
        require(
            int(2.0 * n * n), problem.memory, f"half of a {n} × {n} matrix in float32",
            "give more memory, or use the conjugate gradient or the Nyström solver",
        )  # fmt: skip

    def attempt(self, alpha: Any, *, loo: bool = False) -> Solution:
        """Solve for one α per output; leave-one-out residuals need the diagonal of A⁻¹, which this does not have."""
        if loo:
            raise ValueError(
                "PartialCholesky cannot give leave-one-out residuals, which need the diagonal of the inverse; use the "
                "spectral, Cholesky or Nyström solver"
            )
        problem, solver = self.problem, self.solver
        y = np.asarray(problem.y, dtype=np.float64)
        alpha = penalties(alpha, y.shape[1])
        if (alpha == 0).any():
            raise ValueError("PartialCholesky needs alpha > 0, got 0: use the spectral solver, which takes the limit")
        rng = check_random_state(solver.random_state)
        pivots = find_pivots(problem, rng)
        if problem.n == 1 or self._explains(pivots, alpha.min() * problem.noise):
            return self._iterate(alpha)
        coef, intercept, parts = np.zeros_like(y), y.mean(axis=0) * problem.fit_intercept, np.zeros((2, y.shape[1]))
        residual, steps = 0.0, 0
        for value in np.unique(alpha):
            columns = np.flatnonzero(alpha == value)
            shift = value * problem.noise
            inverse = Elimination(problem, shift, pivots, self._count(shift), rng, self._tell)
            try:
                found = self._refine(inverse, float(value), y[:, columns])
            except _TooSlowError:
                residual = np.inf
            else:
                coef[:, columns], intercept[columns] = found.coef, found.intercept
                with np.errstate(over="ignore"):
                    parts[:, columns] = value * found.parts
                residual = max(residual, float(found.residuals.max()))
            steps = max(steps, inverse.steps)
        return Solution(
            centers=problem.X, coef=coef, intercept=intercept, alpha=alpha, residual=residual,
            tolerance=solver.tolerance, n_iter=steps, remedy=f"it stopped after {steps} iterations: use the Cholesky "
            f"solver, raise alpha, max_iter or the number of points that are eliminated, or {SCALE}", parts=parts,
        )  # fmt: skip

    def _iterate(self, alpha: np.ndarray) -> Solution:
        solver = self.solver
        other = ConjugateGradient(
            solver.tolerance, solver.max_iter, affordable=solver.affordable, random_state=solver.random_state,
            on_iteration=solver.on_iteration,
        )  # fmt: skip
        return other.prepare(self.problem).attempt(alpha)

    def _refine(self, inverse: Elimination, alpha: float, y: np.ndarray) -> Refined:
        problem, solver = self.problem, self.solver
        shift, diagonal = alpha * problem.noise[:, None], abs(problem.diagonal[:, None])
        system = System(problem.gram(dtype=np.float64), shift, problem.fit_intercept, diagonal)

        def solve(V: np.ndarray) -> np.ndarray:
            X = inverse.solve(V, solver.max_iter - inverse.steps)
            if solver.affordable is not None and inverse.foreseen(solver.tolerance) > 2 * solver.affordable:
                raise _TooSlowError
            return X

        def aim(certificate: float) -> None:
            inverse.aim(SURE * solver.tolerance / certificate)

        return refine(system, y, solve, solver.tolerance, by_certificate=True, on_judgement=aim, **OUTER)

    def _count(self, shift: np.ndarray) -> int:
        """Return how many points to eliminate."""
        n, solver = self.problem.n, self.solver
        share = best_share(self._sizes(shift)) if solver.eliminated == "auto" else float(solver.eliminated) / n
        return max(1, min(n - 1, round(share * n)))

    def _explains(self, pivots: Pivots, shift: np.ndarray) -> bool:
        """Whether so little is left by the pivots that, preconditioned by them, iterations with K are soon done."""
        if self.solver.eliminated != "auto":
            return False
        sizes = self._sizes(shift)
        share = best_share(sizes)
        condition = 1.0 + float((pivots.left / shift).sum())
        most = bound_iterations(condition, self.solver.tolerance)
        return bool(_seconds(sizes, 0.0, most) <= _seconds(sizes, share, _steps(sizes, share)))

    def _sizes(self, shift: np.ndarray) -> Sizes:
        problem = self.problem
        share = float(shift.min() / problem.diagonal.mean())
        return Sizes(problem.n, width(problem.X), np.inf, 1, 1, problem.memory, False, True, share)

    def _tell(self, steps: int, left: float) -> None:
        if self.solver.on_iteration is not None:
            self.solver.on_iteration(steps, left)


class _TooSlowError(Exception):
    """More iterations are foreseen than another solver costs."""


def best_share(sizes: Sizes) -> float:
    """Return the share of the points whose factor takes the least time together with the iterations that it leaves.

    Examples
    --------
    >>> cases = [(10**4, 0.1), (10**4, 1e-3), (10**5, 1e-3)]
    >>> sizes = [Sizes(n, 10, np.inf, 1, 1, 10**10, False, True, share=alpha) for n, alpha in cases]
    >>> [round(best_share(each), 2) for each in sizes]
    [0.26, 0.4, 0.24]
    """
    return float(SHARES[np.argmin(_seconds(sizes, SHARES, _steps(sizes, SHARES)))])


def _seconds(sizes: Sizes, share: Any, steps: Any) -> Any:
    """Return the time of the factor and of the iterations with one column, of one core."""
    n, speed = float(sizes.n), sizes.speed
    return (share * n) ** 3 / 3 / speed.factor + steps * _numbers(share) * n * n / speed.stream


def _steps(sizes: Sizes, share: Any) -> Any:
    return sizes.steps * FEWER * share**POWER


def _numbers(share: Any) -> Any:
    """Return what an iteration reads, relative to n²: half of what is left, the side, and twice half a factor."""
    return (1 - share) ** 2 / 2 + share * (1 - share) + share**2
