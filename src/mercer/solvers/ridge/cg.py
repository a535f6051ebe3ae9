"""Conjugate gradients on the lazy Gram matrix: ridge beyond what memory holds, with a certificate in float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import show_bytes
from mercer.arrays.tensors import host_array
from mercer.checks import check_count, is_whole
from mercer.linalg.iteration import bound_iterations

from ..base import PreparedRidge, Problem, Solution
from ..costs import Cost, PlannedSolver, Sizes, check_tolerance
from ..evidence import SCALE
from ..products import RATES, Products
from ..saves import Saves, name_state, resume, save_if_due
from ..shared import make_products
from .iteration import Iteration
from .preconditioner import Preconditioner

SMALL = 2000  # ranks up to this are cheap, so that they may even reach n
LARGEST = 2.0**36  # bytes of a budget that a plan counts on for a stored matrix, where it is told of no limit
GROWTH = (1.5, 2.0, 3.0)  # times the rank of the preconditioner, that are weighed against what they cost
# Iterations fall with about this power of the rank: with α = 1e-3 pol was seen to need 328, 231, 104 and 62 at ranks
# 580, 1160, 1740 and 2320, which is between 0.5 and 2 from one to the next.
GAIN = 1.25
CHECK = 10  # iterations between two looks at whether a larger preconditioner would pay


@dataclass(frozen=True)
class ConjugateGradient(PlannedSolver):
    """Preconditioned conjugate gradients for (K + αW⁻¹)c = y − b, all outputs at once, never storing more than fits.

    Iterations multiply by float32 kernel values where that is faster; the residual is recomputed in float64 now and
    then and put in place of the updated one, so that what is certified is the problem in float64.  An intercept is
    found by iterating in the subspace 1ᵀc = 0, which holds at the solution, and costs nothing.

    Parameters
    ----------
    tolerance : float, default=1e-6
        Stop when the certificate is at most this for every output, about when ‖y − b − Ac‖ ≤ tolerance · ‖αW⁻¹c‖ in
        the norm of W, which is the relative error of y − f.
    max_iter : int, default=1000
        The most products with K, not counting those that certify.
    rank : int or "auto", default="auto"
        Rank of the preconditioner; "auto" starts with about 5√n (4√n on a device) and grows whenever that costs
        less than the iterations it is expected to save.  0 leaves only the diagonal.
    affordable : int, optional
        Iterations that cost as much as another solver: where twice as many are foreseen, the fit ends unconverged.
    random_state : int, RandomState or None, default=None
        The seed of the preconditioner's pivots.
    on_iteration : callable, optional
        Called as ``on_iteration(iteration, relative_residual)`` after each iteration.
    saves : Saves, optional
        Where the state is kept every few seconds, and taken up from.
    devices : sequence of str or torch.device, optional
        Devices that share the rows of products; that of the problem if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.base import Problem
    >>> from mercer.solvers.ridge.cg import ConjugateGradient
    >>> X = np.linspace(0.0, 6.0, 200).reshape(-1, 1)
    >>> problem = Problem(Gaussian(), X, np.sin(X))
    >>> solution = ConjugateGradient(random_state=0).prepare(problem).solve(np.array([0.1]))
    >>> solution.converged, solution.residual <= 1e-6
    (True, True)
    """

    tolerance: float = 1e-6
    max_iter: int = 1000
    rank: int | Literal["auto"] = "auto"
    affordable: int | None = None
    random_state: Any = None
    on_iteration: Callable[[int, float], None] | None = None
    saves: Saves | None = None
    devices: Sequence[Any] | None = None

    name = "cg"

    def takes(self, sizes: Sizes) -> bool:
        """Whether no leave-one-out residuals are wanted, for which there is no diagonal of the inverse."""
        return not sizes.loo

    def cost(self, sizes: Sizes) -> Cost:
        """Return what a fit would take."""
        n, q, speed, steps = float(sizes.n), sizes.columns, sizes.speed, sizes.steps
        rates = RATES["host" if sizes.on_host else "cuda"]
        wide = sizes.native and sizes.on_host and sizes.d >= rates.wide
        half = min(sizes.budget, LARGEST) / 2 if wide else sizes.budget / 2
        kept = (wide and 4 * n * n <= half) or (not sizes.native and 8 * n * n <= half)
        entries = sizes.entry * n * n * (0.5 if kept else steps)
        multiplying = speed.double if sizes.on_host else speed.single
        columns = q - 1 if wide and kept else q  # the first while the numbers are read
        work = [
            (entries, speed.entries if kept or not sizes.native else speed.single),
            (2 * n * sizes.rank**2 + steps * 2 * n * n * columns, multiplying),
            (steps * 2 * n * sizes.rank, speed.stream),
            (steps * speed.step, 1.0),
        ]
        if kept:
            work.append((steps * n * n * (0.5 if wide else 2.0), speed.stream))
        memory = rates.held * n * sizes.rank + 3 * sizes.vectors + 16.0 * n + (2.0 * n * n if wide and kept else 0.0)
        return Cost(memory, tuple(work), speed)

    def steps(self, sizes: Sizes) -> int:
        """Return how many iterations are expected."""
        return sizes.steps

    def explain(self, sizes: Sizes) -> str:
        """Return why this is the quickest."""
        n, limit = sizes.n, show_bytes(sizes.budget)
        fits = 4.0 * n * n <= sizes.budget
        if sizes.share is not None and fits:
            return f"conjugate gradients should take about {sizes.steps} iterations, and no factor is needed"
        size = "would take long to factorise" if fits else f"does not fit into the budget of {limit}"
        return f"the {n} × {n} matrix {size}, so only products with it are used"

    def __post_init__(self) -> None:
        check_tolerance(self, self.tolerance)
        check_count("ConjugateGradient", "max_iter", self.max_iter)
        if self.rank != "auto" and not is_whole(self.rank, 0):
            raise ValueError(f"ConjugateGradient: rank must be 'auto' or a whole number ≥ 0, got {self.rank!r}")

    def prepare(self, problem: Problem) -> PreparedConjugateGradient:
        """Choose how to multiply by K, and factorise the preconditioner."""
        return PreparedConjugateGradient(self, problem)


class PreparedConjugateGradient(PreparedRidge):
    """A problem with its products and its preconditioner, which every α shares."""

    name = "ConjugateGradient"

    def __init__(self, solver: ConjugateGradient, problem: Problem, products: Products | None = None) -> None:
        self.solver, self.problem = solver, problem
        self.products = make_products(problem, solver.devices) if products is None else products
        n = problem.n
        # A share of the budget for the factor, its Gram matrix and the Cholesky factors of a few α.
        rates = self.products.rates
        affordable = int(rates.share * problem.memory / (rates.held * n + 64 * math.sqrt(n)))
        self.max_rank = max(1, min(max(n // 4, min(n, SMALL)), affordable))
        rank = (
            min(int(rates.first_rank * math.sqrt(n)), self.max_rank)
            if solver.rank == "auto"
            else min(int(solver.rank), n)
        )
        rng = check_random_state(solver.random_state)
        self.preconditioner = Preconditioner(self.products.gram, self.products.put(problem.noise), rank, rng)

    def attempt(self, alpha: np.ndarray, *, loo: bool = False) -> Solution:
        """Solve for one α per output; leave-one-out residuals need the diagonal of A⁻¹, which this does not have."""
        if loo:
            raise ValueError(
                "ConjugateGradient cannot give leave-one-out residuals, which need the diagonal of the inverse; "
                "use the spectral, Cholesky or Nyström solver"
            )
        return self.solve_targets(self.problem.y, alpha, fit_intercept=self.problem.fit_intercept)

    def solve_targets(self, targets: np.ndarray, alpha: np.ndarray, *, fit_intercept: bool) -> Solution:
        """Solve for targets of the same points, one positive α for each column, with or without an intercept."""
        problem, solver = self.problem, self.solver
        y = np.asarray(targets, dtype=np.float64)
        alpha = np.asarray(alpha, dtype=np.float64)
        if alpha.shape != (y.shape[1],) or not (np.isfinite(alpha).all() and (alpha > 0).all()):
            raise ValueError(
                f"ConjugateGradient needs one positive alpha for each of the {y.shape[1]} outputs, got {alpha}; "
                "for alpha = 0 use the spectral solver"
            )
        put = self.products.put
        state = Iteration(
            self.products, self.preconditioner, put(y), put(problem.noise), alpha, fit_intercept,
            solver.tolerance,
        )  # fmt: skip
        key = name_state("cg-2", y, alpha, np.array([fit_intercept]))
        resume(solver.saves, key, state)
        while not state.finished and state.n_iter < solver.max_iter and not self._foresees_too_many(state):
            while state.active and state.n_iter < solver.max_iter and not self._foresees_too_many(state):
                worst = state.step()
                if solver.on_iteration is not None:
                    solver.on_iteration(state.n_iter, worst)
                if state.active and state.since_start and state.since_start % CHECK == 0:
                    self._grow_if_it_pays(state)
                save_if_due(solver.saves, key, state.n_iter, state)  # with the growth, which is not decided again
            state.certify()
        return Solution(
            centers=problem.X,
            coef=np.asarray(host_array(state.coef)),
            intercept=state.intercept,
            alpha=alpha,
            residual=state.residual,
            tolerance=solver.tolerance,
            n_iter=state.n_iter,
            remedy=_remedy(state),
            parts=state.parts,
        )

    def _foresees_too_many(self, state: Iteration) -> bool:
        """Whether the rate of convergence, which rises at first, still promises more iterations than are affordable."""
        limit = self.solver.affordable
        if limit is None or 2 * state.n_iter < limit or not state.since_start:
            return False
        return state.n_iter + state.remaining() > 2 * limit

    def _grow_if_it_pays(self, state: Iteration) -> None:
        """Let the preconditioner have a higher rank if that is cheaper than the iterations it should save."""
        P = self.preconditioner
        if self.solver.rank != "auto" or P.exhausted or P.rank == 0:
            return
        bound = bound_iterations(P.condition_bound(float(state.alpha.min())), self.solver.tolerance)
        remaining = min(state.remaining(), bound, self.solver.max_iter - state.n_iter)
        ranks = [P.rank, *(min(int(times * P.rank), self.max_rank) for times in GROWTH)]
        best = min(ranks, key=lambda rank: self._seconds_left(remaining, rank))
        if best > P.rank:
            P.grow(best)
            state.restart()

    def _seconds_left(self, remaining: float, rank: int) -> float:
        """A rough time of what is left if the preconditioner first grows to a rank, from its square to its inverse."""
        n, known, rates = self.problem.n, self.preconditioner.rank, self.products.rates
        read = 2.0 * rates.applied * n * rank / rates.read
        growing = (2 * n * (rank**2 - known**2) + rank**3) / rates.flops if rank > known else 0.0
        return growing + remaining * (known / rank) ** GAIN * (self.products.seconds + read)


def _remedy(state: Iteration) -> str:
    stopped = f"it stopped after {state.n_iter} iterations"
    if state.indefinite:
        return (
            f"{stopped}, because the kernel matrix is not positive semi-definite: check the kernel with "
            f"k.certificate(); if it is proved, this is rounding: raise alpha, or {SCALE}"
        )
    if state.stalled:
        return (
            f"{stopped}, because rounding in float64 allows no more: raise alpha, use the Cholesky solver, or {SCALE}"
        )
    return f"{stopped}: raise max_iter, the rank of the preconditioner or alpha, or {SCALE}"
