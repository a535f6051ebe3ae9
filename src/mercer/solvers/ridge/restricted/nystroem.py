"""Ridge restricted to a few centres, streaming over the rows: a small model, or one of more points than fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import require
from mercer.arrays.columns import units
from mercer.checks import is_whole
from mercer.formula.data import Rows

from ...base import Prepared, PreparedRidge, Problem, Solution
from ...centers import Candidates, draw_rows
from ...costs import Cost, PlannedSolver, Sizes
from ...evidence import SCALE
from ...residuals import in_squares
from .falkon import PER_CENTER, PreparedFalkon
from .falkon import STEPS as FALKON_STEPS
from .rows import RestrictedRows
from .system import RestrictedRidge

CUBES = 20  # times m³: choosing m centres, factors of their matrix and of the sums
FIRST = 256  # centres to begin with
JUDGES = 5000  # rows whose leave-one-out errors decide whether more centres pay
IMPROVEMENT = 0.01


@dataclass(frozen=True)
class Nystroem(PlannedSolver):
    """f = Σⱼ cⱼ k(zⱼ, ·) + b over m centres: min Σ wᵢ(yᵢ − f(xᵢ) − b)² + α cᵀK_mm c, in O(n m²) time and O(m²) memory.

    With K_mm = LLᵀ this is ordinary ridge on the features L⁻¹(k(z₁, x), …, k(z_m, x)), which are computed a block of
    rows at a time, so that the n × m matrix is never held.  With all points as centres it is the exact solution.

    Parameters
    ----------
    n_centers : int, optional
        How many centres.  If not given, 256 are doubled, for each α asked for, until the leave-one-out error falls by
        less than 1 % or ``max_centers`` is reached; centres are kept when others are added.
    selection : {"rpcholesky", "uniform"}, default="rpcholesky"
        Centres by randomly pivoted Cholesky (among 4 random points for each centre wanted, or all if there are fewer),
        which looks for what is not explained yet, or uniformly at random.
    max_centers : int, default=4096
        The most centres it may grow to.
    random_state : int, RandomState or None, default=None
        The seed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.base import Problem
    >>> from mercer.solvers.ridge.restricted.nystroem import Nystroem
    >>> X = np.linspace(0.0, 6.0, 5000).reshape(-1, 1)
    >>> prepared = Nystroem(n_centers=20, random_state=0).prepare(Problem(Gaussian(), X, np.sin(X)))
    >>> solution = prepared.solve(np.array([1e-3]), loo=True)
    >>> solution.centers.shape, bool(np.abs(solution.loo).max() < 1e-3)
    ((20, 1), True)
    """

    n_centers: int | None = None
    selection: Literal["rpcholesky", "uniform"] = "rpcholesky"
    max_centers: int = 4096
    random_state: Any = None

    name = "nystroem"
    exact = False  # fewer centres than points change the problem

    def count(self, sizes: Sizes) -> int:
        """Return how many centres a model of so many points would have at most."""
        if self.n_centers is not None:
            return min(self.n_centers, sizes.n)
        return int(max(1, min(self.max_centers, sizes.n, math.sqrt(sizes.budget / 96.0))))

    def cost(self, sizes: Sizes) -> Cost:
        """Return what a fit would take."""
        n, m, speed = float(sizes.n), float(self.count(sizes)), sizes.speed
        # A number that was not given doubles until it is enough, which costs a third more than the last time alone.
        growing = 1.0 if self.n_centers is not None else 4 / 3
        memory = 24.0 * m**2 + min(8.0 * n * m, sizes.tile) + sizes.vectors
        entries = growing * n * m * sizes.entry
        if sizes.on_host:
            work = (entries, speed.entries), (growing * (n * m * m + CUBES * m**3), speed.double)
        else:  # products with the n × m matrix that are never stored, twice an iteration
            work = (2 * FALKON_STEPS * n * m * sizes.entry, speed.single), (CUBES * m**3, speed.double)
        return Cost(memory, work, speed)

    def explain(self, sizes: Sizes) -> str:
        """Return what stands for what."""
        return f"up to {self.count(sizes)} centres stand for all points"

    def __post_init__(self) -> None:
        for name in ("n_centers", "max_centers"):
            value = getattr(self, name)
            if not is_whole(value, 1) and not (name == "n_centers" and value is None):
                raise ValueError(f"Nystroem: {name} must be a whole number of at least 1, got {value!r}")
        if self.selection not in ("rpcholesky", "uniform"):
            raise ValueError(f"Nystroem: selection must be 'rpcholesky' or 'uniform', got {self.selection!r}")

    def prepare(self, problem: Problem) -> Prepared:
        """Choose centres; if their number is given, sum up the rows too."""
        return PreparedNystroem(self, problem) if problem.place.on_host else PreparedFalkon(self, problem)


class PreparedNystroem(PreparedRidge):
    """Centres, and the sums over all rows that every α shares."""

    name = "Nystroem"

    def __init__(
        self,
        solver: Nystroem,
        problem: Problem,
        rows: Callable[[Problem, Rows], RestrictedRows] = RestrictedRows,
    ) -> None:
        self.solver, self.problem, self._rows = solver, problem, rows
        self._rng = check_random_state(solver.random_state)
        wanted = solver.max_centers if solver.n_centers is None else solver.n_centers
        # K_mm, its factor, the sums and their decomposition: eight m × m matrices at the worst moment.
        affordable = max(1, int((problem.memory / 2 / 64) ** 0.5))
        self._limit = min(wanted, problem.n)
        if solver.n_centers is None:
            self._limit = min(self._limit, affordable)
        require(
            64.0 * self._limit**2,
            problem.memory // 2,
            f"a Nyström model of {self._limit} centres",
            f"ask for at most {affordable} centres, or give more memory",
        )
        self._candidates = Candidates(problem, self._limit, self._rng, solver.selection, PER_CENTER)
        first = self._limit if solver.n_centers is not None else min(FIRST, self._limit)
        self.system = self._with_centers(first)
        self._judges = np.sort(draw_rows(self._rng, problem.n, JUDGES))
        self.history: list[tuple[int, float]] = []  # centres, and the leave-one-out error that they gave

    @property
    def centers(self) -> Rows:
        """The centres in use."""
        return self.system.centers

    def attempt(self, alpha: np.ndarray, *, loo: bool = False) -> Solution:
        """Solve for one α per output, with more centres first if their number was left open and they pay."""
        outputs = self.problem.y.shape[1]
        alpha = np.asarray(alpha, dtype=np.float64)
        if alpha.shape != (outputs,) or not (np.isfinite(alpha).all() and (alpha > 0).all()):
            raise ValueError(f"Nystroem needs one positive alpha for each of the {outputs} outputs, got {alpha}")
        if self.solver.n_centers is None:
            self._grow(alpha)
        ridge = self.system
        found = ridge.solve(alpha)
        unit = units(found.beta)
        return Solution(
            centers=ridge.centers,
            coef=ridge.coefficients(found.beta),
            intercept=ridge.intercept(found.beta),
            alpha=alpha,
            residual=found.error,
            loo=ridge.loo(alpha, found.beta) if loo else None,
            remedy=f"alpha is too small for float64: raise alpha, or take fewer centres, or {SCALE}",
            parts=np.array([found.loss, alpha * in_squares(np.sum((found.beta / unit) ** 2, axis=0), unit)]),
        )

    def _grow(self, alpha: np.ndarray) -> None:
        """Double the centres until the leave-one-out error of no output falls by a hundredth."""
        self.history = []
        errors = self._judge(alpha)
        while self._count < self._limit:
            before = self.system.rank
            self.system = self._with_centers(2 * self._count)
            if self.system.rank <= before:  # all that is left is explained to rounding
                return
            better = self._judge(alpha)
            if (better > (1 - IMPROVEMENT) * errors).all():
                return
            errors = better

    def _judge(self, alpha: np.ndarray) -> np.ndarray:
        left_out = self.system.loo(alpha, self.system.solve(alpha).beta, self._judges)
        weights = None if self.problem.weights is None else self.problem.weights[self._judges]
        unit = units(left_out)
        errors = unit * np.sqrt(np.average((left_out / unit) ** 2, axis=0, weights=weights))
        largest = float(unit.max())
        self.history.append((self.system.rank, largest * float(np.sqrt(np.mean((errors / largest) ** 2)))))
        return errors

    def _with_centers(self, count: int) -> RestrictedRidge:
        self._count = min(count, self._limit)
        return RestrictedRidge(self.problem, *self._candidates.take(self._count), self._rows)
