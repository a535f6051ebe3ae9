"""A ridge problem solved by the solver of the plan, and by others where its evidence says that it failed.

What comes back is a record of everything that a model keeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import numpy as np

from mercer.arrays.budget import MemoryBudgetError
from mercer.arrays.shapes import Axes, Inside
from mercer.expansion import Expansion, evaluate_expansion
from mercer.formula.data import Rows, length, pick, result_dtype, take
from mercer.kernels import Kernel, Precomputed
from mercer.messages import warn_caller

from ..base import Problem, Solution
from ..evidence import SCALE, Objective, is_converged, warn_not_converged
from ..plan import ITERATIVE, SPECTRAL_LIMIT, Plan, make_solver, plan_problem
from ..saves import Saves

LONG = 600.0  # seconds that a second attempt may take

LOOKED_AT = 64  # points whose predictions are compared with more precise ones
LOST = 0.01  # share of the range of targets


@dataclass(frozen=True)
class RidgeFit:
    """A fitted function with its evidence, and what leave-one-out predictions, intervals and diagnosis are made of.

    Parameters
    ----------
    plan : Plan
        The solver that was used, and why.
    expansion : Expansion
        The function, with one output if the targets have one dimension.
    penalty : array of shape (q,)
        α of each output, of the sum form.
    residual, tolerance : float
        The certificate, and up to what it counts as converged.
    n_iter : int
        Iterations, 0 for direct solvers.
    objective : Objective
        Σ wᵢ(yᵢ − f(xᵢ) − b)² and α‖f‖², all outputs together.
    problem : Problem, optional
        What was solved, without points of weight 0; None if the rows stayed on a cluster.
    points : collection of n objects, optional
        All points, also those of weight 0.
    targets : array of shape (n,) or (n, q), optional
        All targets, as they were given.
    kept : int array, optional
        Which points have a weight, if some have none.
    loo_score : float, optional
        R² of leave-one-out predictions, where a cluster summed it up.
    """

    plan: Plan
    expansion: Annotated[Expansion, Inside(q="t")]
    penalty: Annotated[np.ndarray, Axes("q")]
    residual: float
    tolerance: float
    n_iter: int
    objective: Objective
    problem: Annotated[Problem, Inside(n="m", q="q")] | None = None
    points: Annotated[Rows, Axes("n …")] | None = None
    targets: Annotated[np.ndarray, Axes("n t?")] | None = None
    kept: Annotated[np.ndarray, Axes("m", below="n")] | None = None
    loo_score: float | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.penalty).all() and (self.penalty >= 0).all()):
            raise ValueError(f"penalties are numbers of at least 0, got {self.penalty}")
        if self.problem is None:  # the rows stayed where they were
            return
        if self.points is None or self.targets is None:
            raise ValueError("a fit to points keeps them and their targets")
        fitted, given = length(self.problem.X), length(self.points)
        if self.kept is None and fitted != given:
            raise ValueError(f"{fitted} of {given} points were fitted, and nothing says which")

    def __getstate__(self) -> dict[str, Any]:
        """Return what is copied and pickled: the fields, without what was computed from them and is kept beside."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def converged(self) -> bool:
        """Whether the residual is as small as was asked."""
        return is_converged(self.residual, self.tolerance)

    @property
    def positions(self) -> np.ndarray | None:
        """Where the centres are among all points; None if they are all of them, or no longer tell where they were."""
        centers = self.expansion.centers
        if isinstance(self.expansion.kernel, Precomputed):
            return np.asarray(centers)  # which are row numbers
        return self.kept if self.problem is not None and centers is self.problem.X else None

    @property
    def problem_on_host(self) -> Problem:
        """The problem with its points here, wherever they were fitted."""
        assert self.problem is not None  # models look whether rows are here before they ask for more
        return self.problem.on_host


def fit_ridge(
    problem: Problem,
    penalty: np.ndarray,
    solver: str = "auto",
    *,
    random_state: Any = None,
    n_centers: int | None = None,
    name: str = "fit_ridge",
    **watched: Any,
) -> RidgeFit:
    """Solve a problem, warn in the name of a model where the evidence asks for it, and return what a model keeps.

    Parameters
    ----------
    problem : Problem
        Its targets may have one dimension, and some of its weights may be 0: such points are left out.
    penalty : array of shape (q,)
        α of each output.
    solver, random_state, n_centers
        As in :func:`solve_ridge`, and so are further options.
    name : str
        Who warns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Constant, Linear
    >>> X, y = np.array([[1.0], [4.0], [6.0], [9.0]]), np.array([0.8, 4.1, 6.2, 8.5])
    >>> record = fit_ridge(Problem(Linear() + Constant(1.0), X, y), np.ones(1))
    >>> record.expansion([[0.0], [1.0]]).round(4), record.converged
    (array([0.1018, 1.0564]), True)
    """
    y, weights, kept = problem.y, problem.weights, None
    some = replace(problem, y=y.reshape(len(y), -1))
    if weights is not None and (weights == 0).any():
        kept = np.flatnonzero(weights)
        some = pick_points(some, kept)
    plan, solution, prepared = solve_ridge(
        some, penalty, solver, random_state=random_state, n_centers=n_centers, **watched
    )
    rank = int(np.sum(getattr(prepared, "eigenvalues", np.ones(some.n)) != 0.0))
    if solver == "auto" and (penalty == 0).any() and rank < some.n:
        warn_caller(
            f"{name}: alpha=0 and the kernel matrix is singular (rank {rank} of {some.n}), so this is the "
            "least-squares fit of smallest norm; give a positive alpha, or say "
            f"solver={plan.solver!r} to accept it without this warning"
        )
    record = record_fit(plan, solution, some.kernel, flat=y.ndim == 1, name=name)
    if record.converged and some.place.on_host:
        _warn_of_rounding(record, some, name)
    return replace(record, problem=some, points=problem.X, targets=y, kept=kept)


def solve_ridge(
    problem: Problem, alpha: np.ndarray, solver: str = "auto", *, random_state: Any = None,
    n_centers: int | None = None, on_iteration: Callable[[int, float], Any] | None = None, saves: Saves | None = None,
    devices: Sequence[Any] | None = None, tolerance: float | None = None,
) -> tuple[Plan, Solution, Any]:  # fmt: skip
    """Return the plan that was followed in the end, the solution, and the prepared solver.

    With "auto", a solver that finds a matrix singular, or whose residual stays above its tolerance, is followed by
    those that may survive: explicit features, which are never squared, a Cholesky factor, which does not mind uneven
    weights, and eigenvalues, which take any matrix.  The solution of the smallest residual is kept in the end.
    ``on_iteration`` hears of the steps of solvers that iterate, ``saves`` keeps their states, ``devices`` share their
    products, and ``tolerance`` is the certificate up to which they go on; all other solvers have their own.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Polynomial
    >>> X = 1000.0 * np.linspace(-1.0, 1.0, 12).reshape(-1, 2)
    >>> plan, solution, _ = solve_ridge(Problem(Polynomial(4, 1.0), X, np.sin(X[:, :1])), np.ones(1))
    >>> plan.solver, solution.converged
    ('primal', True)
    """
    chosen = _choose_plan(problem, alpha, solver, n_centers, saved=saves is not None)
    kept: tuple[Plan, Solution, Any] | None = None
    failure: np.linalg.LinAlgError | None = None
    attempts: Iterable[Plan] = _list_attempts(problem, alpha, chosen, solver)
    affordable = None
    if chosen.solver in ("cg", "partial"):  # which end where one of the others is quicker
        attempts = list(attempts)
        affordable = _affordable_steps(chosen, attempts)
    for following in attempts:
        if following is not chosen:
            reason = f"{chosen.solver} {_blame(chosen, kept)}, and {following.solver} may survive it"
            following = replace(following, reason=reason)
        options: dict[str, Any] = {"on_iteration": on_iteration, "saves": saves, "devices": devices}
        if following is chosen:
            options["affordable"] = affordable
        if tolerance is not None and following.solver in ITERATIVE:
            options["tolerance"] = tolerance
        try:
            prepared = make_solver(following.solver, random_state, n_centers, **options).prepare(problem)
            # Solvers of other people may only have solve().
            solution: Solution = getattr(prepared, "attempt", prepared.solve)(alpha)
        except np.linalg.LinAlgError as reason:
            failure = reason
            continue
        if kept is None or solution.residual < kept[1].residual:
            kept = following, solution, prepared
        if solution.converged:
            break
    if kept is None:
        assert failure is not None  # nothing else goes on
        raise failure
    return kept


def _choose_plan(problem: Problem, alpha: np.ndarray, solver: str, n_centers: int | None, *, saved: bool) -> Plan:
    if n_centers is None or solver != "auto":
        return plan_problem(problem, alpha, solver, n_centers=n_centers, saved=saved)
    reason = f"{n_centers} centres were asked for"
    return replace(plan_problem(problem, alpha, "nystroem", n_centers=n_centers), reason=reason)


def _list_attempts(problem: Problem, alpha: np.ndarray, chosen: Plan, solver: str) -> Iterator[Plan]:
    """Yield the plan, and then those of solvers that may survive what it does not."""
    yield chosen
    if solver != "auto" or chosen.solver == "nystroem":
        return
    for name in ("primal", "cholesky", "spectral"):
        if name == chosen.solver or (name == "cholesky" and (alpha == 0).any()):
            continue
        try:
            other = plan_problem(problem, alpha, name)
        except (MemoryBudgetError, ValueError):  # too large, or without explicit features
            continue
        if other.seconds <= LONG and (name != "spectral" or problem.n <= SPECTRAL_LIMIT):
            yield other


def _affordable_steps(chosen: Plan, attempts: list[Plan]) -> int | None:
    """Return how many iterations take as long as a factor; None if none is among the attempts."""
    factor = next((plan for plan in attempts if plan.solver == "cholesky"), None)
    return None if factor is None else math.ceil(chosen.steps * factor.seconds / chosen.seconds)


def _blame(chosen: Plan, kept: tuple[Plan, Solution, Any] | None) -> str:
    if kept is None:
        return "found the matrix singular or not positive definite"
    if chosen.steps:
        return f"had not converged after {kept[1].n_iter} iterations"
    return "lost alpha in its rounding"


def record_fit(plan: Plan, solution: Solution, kernel: Kernel, *, flat: bool, name: str) -> RidgeFit:
    """Return the record of a solution, with one output if the targets are flat, and warn if it has not converged."""
    if not solution.converged:
        warn_not_converged(f"{name} ({plan.solver})", solution.residual, solution.tolerance, solution.remedy)
    columns: Any = (slice(None), 0) if flat else slice(None)
    intercept = solution.intercept[0] if flat else solution.intercept
    function = Expansion(kernel, solution.centers, solution.coef[columns], intercept, solution.explicit(columns))
    return RidgeFit(
        plan, function, solution.alpha, solution.residual, solution.tolerance, solution.n_iter, solution.objective
    )


def _warn_of_rounding(record: RidgeFit, problem: Problem, name: str) -> None:
    """Warn if predictions, whose kernel values are as precise as the data, are not those of the function found."""
    f, spread = record.expansion, float(np.ptp(problem.y, axis=0).max())
    if f.explicit is not None or result_dtype(problem.X) == np.float64:
        return
    some = take(problem.X, 0, min(LOOKED_AT, problem.n))
    given, precise = (
        evaluate_expansion(f.kernel, some, f.centers, f.coef, f.intercept, problem.memory, dtype=dtype)
        for dtype in (None, np.float64)
    )
    error = float(np.abs(given - precise).max())
    if error > LOST * spread:
        warn_caller(
            f"{name} ({record.plan.solver}): kernel values in {result_dtype(problem.X)}, as the data has them, lose "
            f"the function in rounding: predictions of training points are off by up to {error:.1e}, where targets "
            f"differ by {spread:.1e}; pass float64 data, or {SCALE}"
        )


def pick_points(problem: Problem, positions: np.ndarray) -> Problem:
    """Return the problem of some of the points.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> pick_points(Problem(Linear(), np.eye(3), np.zeros((3, 1))), np.array([2])).X
    array([[0., 0., 1.]])
    """
    weights = None if problem.weights is None else problem.weights[positions]
    return replace(problem, X=pick(problem.X, positions), y=problem.y[positions], weights=weights)
