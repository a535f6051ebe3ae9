"""Ridge by the solver of the plan, and by others where its answer is not what its own evidence says it should be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays.budget import MemoryBudgetError

from ..base import Problem, Solution
from ..plan import SPECTRAL_LIMIT, Plan, make_solver, plan_problem

LONG = 600.0  # seconds that a second attempt may take


def solve_ridge(
    problem: Problem, alpha: np.ndarray, solver: str = "auto", *, random_state: Any = None, n_centers: int | None = None
) -> tuple[Plan, Solution, Any]:
    """Return the plan that was followed in the end, the solution, and the prepared solver.

    With "auto", a solver that finds a matrix singular, or whose residual stays above its tolerance, is followed by
    those that may survive: explicit features, which are never squared, a Cholesky factor, which does not mind uneven
    weights, and eigenvalues, which take any matrix.  The solution of the smallest residual is kept in the end.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Polynomial
    >>> X = 1000.0 * np.linspace(-1.0, 1.0, 12).reshape(-1, 2)
    >>> plan, solution, _ = solve_ridge(Problem(Polynomial(4, 1.0), X, np.sin(X[:, :1])), np.ones(1))
    >>> plan.solver, solution.converged
    ('primal', True)
    """
    chosen = _plan(problem, alpha, solver, n_centers)
    kept: tuple[Plan, Solution, Any] | None = None
    failure: np.linalg.LinAlgError | None = None
    for following in _attempts(problem, alpha, chosen, solver):
        if following is not chosen:
            why = "found the matrix singular or not positive definite" if kept is None else "lost alpha in its rounding"
            following = replace(following, reason=f"{chosen.solver} {why}, and {following.solver} may survive it")
        try:
            prepared = make_solver(following.solver, random_state, n_centers).prepare(problem)
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


def _plan(problem: Problem, alpha: np.ndarray, solver: str, n_centers: int | None) -> Plan:
    if n_centers is None or solver != "auto":
        return plan_problem(problem, alpha, solver, n_centers=n_centers)
    reason = f"{n_centers} centres were asked for"
    return replace(plan_problem(problem, alpha, "nystroem", n_centers=n_centers), reason=reason)


def _attempts(problem: Problem, alpha: np.ndarray, chosen: Plan, solver: str) -> Iterator[Plan]:
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
