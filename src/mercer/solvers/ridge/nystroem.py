"""Ridge restricted to a few centres, streaming over the rows: a small model, or one of more points than fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import require
from mercer.arrays.columns import units
from mercer.features.nystroem import independent
from mercer.formula.data import Rows, pick
from mercer.gram import Gram

from ..base import Prepared, PreparedRidge, Problem, Solution
from ..growing import GrowingFactor
from ..sampling import some_rows
from .centers import RestrictedRows
from .restricted import RestrictedRidge

FIRST = 256  # centres to begin with
POINTS_PER_CENTRE = 4  # among which pivoting looks for centres, so that it costs less than the fit
JUDGES = 5000  # rows whose leave-one-out errors decide whether more centres pay
IMPROVEMENT = 0.01


@dataclass(frozen=True)
class Nystroem:
    """f = Σⱼ cⱼ k(zⱼ, ·) + b over m centres: min Σ wᵢ(yᵢ − f(xᵢ) − b)² + α cᵀK_mm c, in O(n m²) time and O(m²) memory.

    With K_mm = LLᵀ this is ordinary ridge on the features L⁻¹(k(z₁, x), …, k(z_m, x)), which are computed a block of
    rows at a time, so that the n × m matrix is never held.  With all points as centres it is the exact solution.

    Parameters
    ----------
    n_centers : int, optional
        How many centres.  If not given, 256 are doubled, for each α asked for, until the leave-one-out error falls by
        less than 1 % or ``max_centers`` is reached; centres are kept when others are added.
    selection : {"rpcholesky", "uniform"}, default="rpcholesky"
        Centres by randomly pivoted Cholesky (among 8 random points for each centre wanted, or all if there are fewer),
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
    >>> from mercer.solvers.ridge.nystroem import Nystroem
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

    def __post_init__(self) -> None:
        for name in ("n_centers", "max_centers"):
            value = getattr(self, name)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1
            if not whole and not (name == "n_centers" and value is None):
                raise ValueError(f"Nystroem: {name} must be a whole number of at least 1, got {value!r}")
        if self.selection not in ("rpcholesky", "uniform"):
            raise ValueError(f"Nystroem: selection must be 'rpcholesky' or 'uniform', got {self.selection!r}")

    def prepare(self, problem: Problem) -> Prepared:
        """Choose centres; if their number is given, sum up the rows too."""
        if problem.device is not None:
            from .device.nystroem import DeviceNystroem

            return DeviceNystroem(self, problem)
        return PreparedNystroem(self, problem)


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
        self._candidates, self._factor = self._choose_candidates()
        first = self._limit if solver.n_centers is not None else min(FIRST, self._limit)
        self._ridge = self._with_centers(first)
        self._judges = np.sort(some_rows(self._rng, problem.n, JUDGES))
        self.history: list[tuple[int, float]] = []  # centres, and the leave-one-out error that they gave

    @property
    def centers(self) -> Rows:
        """The centres in use."""
        return self._ridge.centers

    def attempt(self, alpha: np.ndarray, *, loo: bool = False) -> Solution:
        """Solve for one α per output, with more centres first if their number was left open and they pay."""
        outputs = self.problem.y.shape[1]
        alpha = np.asarray(alpha, dtype=np.float64)
        if alpha.shape != (outputs,) or not (np.isfinite(alpha).all() and (alpha > 0).all()):
            raise ValueError(f"Nystroem needs one positive alpha for each of the {outputs} outputs, got {alpha}")
        if self.solver.n_centers is None:
            self._grow(alpha)
        ridge = self._ridge
        found = ridge.solve(alpha)
        return Solution(
            centers=ridge.centers,
            coef=ridge.coefficients(found.beta),
            intercept=ridge.intercept(found.beta),
            alpha=alpha,
            residual=found.error,
            loo=ridge.loo(alpha, found.beta) if loo else None,
            remedy="alpha is too small for float64: raise alpha, or take fewer centres",
        )

    def _grow(self, alpha: np.ndarray) -> None:
        """Double the centres until the leave-one-out error of no output falls by a hundredth."""
        self.history = []
        errors = self._judge(alpha)
        while self._count < self._limit:
            before = self._ridge.rank
            self._ridge = self._with_centers(2 * self._count)
            if self._ridge.rank <= before:  # all that is left is explained to rounding
                return
            better = self._judge(alpha)
            if (better > (1 - IMPROVEMENT) * errors).all():
                return
            errors = better

    def _judge(self, alpha: np.ndarray) -> np.ndarray:
        left_out = self._ridge.loo(alpha, self._ridge.solve(alpha).beta, self._judges)
        weights = None if self.problem.weights is None else self.problem.weights[self._judges]
        unit = units(left_out)
        errors = unit * np.sqrt(np.average((left_out / unit) ** 2, axis=0, weights=weights))
        largest = float(unit.max())
        self.history.append((self._ridge.rank, largest * float(np.sqrt(np.mean((errors / largest) ** 2)))))
        return errors

    def _choose_candidates(self) -> tuple[np.ndarray, GrowingFactor | None]:
        problem = self.problem
        if self.solver.selection == "uniform":
            return some_rows(self._rng, problem.n, self._limit), None
        # The factor that finds the pivots may take a quarter of the budget.
        affordable = int(problem.memory / 4 / (8 * self._limit))
        count = min(problem.n, max(POINTS_PER_CENTRE * self._limit, 1000), max(affordable, self._limit))
        candidates = some_rows(self._rng, problem.n, count)
        points = pick(problem.X, candidates)
        gram = Gram(problem.kernel, points, memory=problem.memory, dtype=np.float64)
        return candidates, GrowingFactor(gram, points, self._rng)

    def _with_centers(self, count: int) -> RestrictedRidge:
        self._count = count = min(count, self._limit)
        problem = self.problem
        if self._factor is None:
            indices = self._candidates[:count]
            K = Gram(problem.kernel, pick(problem.X, indices), memory=problem.memory, dtype=np.float64).dense()
            kept, triangle = independent(K)
            return RestrictedRidge(problem, indices[kept], triangle, self._rows)
        self._factor.grow(count)
        indices = self._candidates[self._factor.pivots]
        if len(indices) == 0:
            raise ValueError(f"Nystroem: {problem.kernel!r} is 0 on all of the data; no centre explains any")
        return RestrictedRidge(problem, indices, self._factor.triangle, self._rows)
