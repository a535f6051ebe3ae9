"""Randomised block descent: all n coefficients, from the systems of a few thousand points at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import require, show_bytes
from mercer.arrays.tensors import host_array
from mercer.checks import is_whole

from ...base import PreparedRidge, Problem, Solution
from ...costs import Cost, PlannedSolver, Sizes, check_tolerance
from ...evidence import SCALE
from ...products import RATES, Rates, width
from ...saves import Saves, name_state, resume, save_if_due
from ...shared import make_products, put_points
from .descent import Descent
from .estimate import Pass, estimate_remaining

LEAST = 500  # points of a block, below which a step costs more than it gains
SHARE = 0.25  # of the budget, for the matrix of a block and its factor
HELD = 32  # bytes of a block for each pair of its points: the matrix, its factor, and a copy of each in the making
PASSES = 2  # for each iteration of conjugate gradients with their preconditioner: no fewer were seen


@dataclass(frozen=True)
class BlockDescent(PlannedSolver):
    """Accelerated block descent for (K + αW⁻¹)c = y − b, all outputs at once, in memory for a few vectors and a block.

    Each step draws a block B of rows at random, computes the residual there, one product of K_B with the iterate,
    solves the system of the block, and goes on with Nesterov's momentum.  Steps of a pass compute as many kernel values
    as K has.  The rows of a fresh block also tell the residual of all rows, with a standard error; what is certified in
    the end is the residual of all rows in float64.  Products have float32 kernel values where that is faster, in rounds
    that each start from such a residual.

    Where the preconditioner of conjugate gradients has its memory, these need fewer passes; a block does without it.

    Parameters
    ----------
    tolerance : float, default=1e-6
        Stop when the certificate is at most this for every output.
    max_iter : int, default=1000
        The most passes.
    block : int, optional
        Points of a block.  If not given, as many as make a factor of the block cost what a product with its rows does.
    rank : int, optional
        Rank of a Nyström approximation that stands for the matrix of the block, for blocks too large to be factorised;
        if not given they are factorised.
    random_state : int, RandomState or None, default=None
        The seed of the blocks.
    on_iteration : callable, optional
        Called as ``on_iteration(passes, relative_residual)`` after each pass; the residual is the estimated one.  The
        ``trace`` of the prepared problem then ends in a :class:`~mercer.solvers.ridge.blocks.estimate.Pass`, with the
        error of that estimate and the time to go.
    saves : Saves, optional
        Where the state is kept now and then, and taken up from.
    devices : sequence of str or torch.device, optional
        Devices that share the rows of products, the first being that of the problem; that alone if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers import BlockDescent, Problem
    >>> X = np.linspace(0.0, 6.0, 200).reshape(-1, 1)
    >>> prepared = BlockDescent(block=50, random_state=0).prepare(Problem(Gaussian(), X, np.sin(X)))
    >>> solution = prepared.solve(np.array([0.1]))
    >>> solution.converged, solution.residual <= 1e-6, len(prepared.trace) == solution.n_iter
    (True, True, True)
    """

    tolerance: float = 1e-6
    max_iter: int = 1000
    block: int | None = None
    rank: int | None = None
    random_state: Any = None
    on_iteration: Callable[[int, float], Any] | None = None
    saves: Saves | None = None
    devices: Sequence[Any] | None = None

    name = "blocks"

    def takes(self, sizes: Sizes) -> bool:
        """Whether no leave-one-out residuals are wanted, for which there is no diagonal of the inverse."""
        return not sizes.loo

    def cost(self, sizes: Sizes) -> Cost:
        """Return what a fit would take."""
        n, q, speed = float(sizes.n), sizes.columns, sizes.speed
        passes = PASSES * sizes.steps
        block = choose_block(sizes.n, sizes.d, sizes.budget, RATES["host" if sizes.on_host else "cuda"])
        entries = passes * sizes.entry * n * (n + block)
        rest = passes * (2 * n * n * q + n * block**2 * (1.0 / 3.0 if self.rank is None else 0.0))
        waiting = passes * n / block * speed.step  # for each block
        work = (entries, speed.single if sizes.native else speed.entries), (rest, speed.double), (waiting, 1.0)
        return Cost(HELD * float(block) ** 2 + 4 * sizes.vectors + 16.0 * n, work, speed)

    def steps(self, sizes: Sizes) -> int:
        """Return how many iterations are expected."""
        return sizes.steps

    def explain(self, sizes: Sizes) -> str:
        """Return why this is the quickest."""
        return (
            f"blocks of the {sizes.n} points fit into the budget of {show_bytes(sizes.budget)}, and nothing else does"
        )

    def __post_init__(self) -> None:
        check_tolerance(self, self.tolerance)
        for option, value in (("max_iter", self.max_iter), ("block", self.block), ("rank", self.rank)):
            if not is_whole(value, 1) and (value is not None or option == "max_iter"):
                raise ValueError(f"BlockDescent: {option} must be a whole number of at least 1, got {value!r}")

    def prepare(self, problem: Problem) -> PreparedBlockDescent:
        """Choose how to multiply by rows of K, and the size of blocks."""
        return PreparedBlockDescent(self, problem)


def choose_block(n: int, d: int, memory: int, rates: Rates) -> int:
    """Return how many points a block has: a factor of it, b³/3 operations, takes as long as its b rows of K.

    Examples
    --------
    >>> from mercer.solvers.products import RATES
    >>> [choose_block(n, 9, 4 * 10**9, RATES["host"]) for n in (300, 20_000, 200_000)]
    [300, 670, 2121]
    """
    balanced = math.sqrt(3.0 * n * (rates.entry + d * rates.feature) * rates.flops)
    affordable = math.sqrt(SHARE * memory / HELD)
    return max(1, min(n, int(max(LEAST, balanced)), int(affordable)))


class PreparedBlockDescent(PreparedRidge):
    """A problem with its products, and the trace of its last solution."""

    name = "BlockDescent"

    def __init__(self, solver: BlockDescent, problem: Problem) -> None:
        self.solver, self.problem = solver, problem
        X = problem.X
        problem = replace(problem, X=put_points(X, problem.place))
        self.products = make_products(problem, solver.devices)
        n, memory = problem.n, problem.memory
        chosen = choose_block(n, width(X), memory, self.products.rates)
        self.block = chosen if solver.block is None else min(int(solver.block), n)
        what = f"a block of {self.block} points"
        require(HELD * float(self.block) ** 2, memory, what, "give a smaller block, or more memory")
        self.trace: list[Pass] = []

    def attempt(self, alpha: np.ndarray, *, loo: bool = False) -> Solution:
        """Solve for one α per output; leave-one-out residuals need the diagonal of A⁻¹, which this does not have."""
        problem, solver = self.problem, self.solver
        if loo:
            raise ValueError(
                "BlockDescent cannot give leave-one-out residuals, which need the diagonal of the inverse; use the "
                "spectral, Cholesky or Nyström solver"
            )
        y = np.asarray(problem.y, dtype=np.float64)
        alpha = np.asarray(alpha, dtype=np.float64)
        if alpha.shape != (y.shape[1],) or not (np.isfinite(alpha).all() and (alpha > 0).all()):
            raise ValueError(
                f"BlockDescent needs one positive alpha for each of the {y.shape[1]} outputs, got {alpha}; for "
                "alpha = 0 use the spectral solver"
            )
        put = self.products.put
        rng = np.random.default_rng(check_random_state(solver.random_state).randint(2**31 - 1))
        state = Descent(
            self.products, put(y), put(problem.noise), alpha, problem.fit_intercept, solver.tolerance, self.block,
            solver.rank, rng,
        )  # fmt: skip
        passes = self._run(state, name_state("blocks", y, alpha))
        return Solution(
            centers=problem.X,
            coef=np.asarray(host_array(state.coef)),
            intercept=state.intercept,
            alpha=alpha,
            residual=state.residual,
            tolerance=solver.tolerance,
            n_iter=passes,
            remedy=_remedy(state, passes),
            parts=state.parts,
        )

    def _run(self, state: Descent, key: str) -> int:
        """Go on until there is nothing left to do, and return the number of passes."""
        solver, begun = self.solver, time.perf_counter()
        self.trace = []
        resume(solver.saves, key, state)
        per_pass = math.ceil(self.problem.n / state.block)
        most = solver.max_iter * per_pass
        while not state.finished and state.steps < most:
            residual, error = state.step()
            ended = state.reached(residual, error) or state.indefinite
            if state.steps % per_pass == 0 or ended:
                ended = state.watch(residual) or ended
                self._tell(math.ceil(state.steps / per_pass), residual, error, time.perf_counter() - begun)
            if ended or state.steps >= most:
                state.certify()
            save_if_due(solver.saves, key, state.steps, state)
        return math.ceil(state.steps / per_pass)

    def _tell(self, number: int, residual: float, error: float, seconds: float) -> None:
        if self.trace and self.trace[-1].number == number:
            self.trace.pop()
        self.trace.append(Pass(number, residual, error, seconds, math.nan))
        self.trace[-1] = replace(self.trace[-1], remaining=estimate_remaining(self.trace, self.solver.tolerance))
        if self.solver.on_iteration is not None:
            self.solver.on_iteration(number, residual)


def _remedy(state: Descent, passes: int) -> str:
    stopped = f"it stopped after {passes} passes"
    if state.indefinite:
        return (
            f"{stopped}, because the kernel matrix is not positive semi-definite: check the kernel with "
            f"k.certificate(); if it is proved, this is rounding: raise alpha, or {SCALE}"
        )
    if state.stalled:
        return (
            f"{stopped}, because rounding allows no more, or the kernel is not positive semi-definite: raise alpha, "
            f"use the Cholesky solver, or {SCALE}"
        )
    return f"{stopped}: raise max_iter, the block or alpha, use conjugate gradients, or {SCALE}"
