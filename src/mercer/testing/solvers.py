"""What every ridge solver must satisfy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.formula.data import Rows, length, pick
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.solvers.base import Problem, Solution, Solver

from .laws import expect


def check_solver(solver: Solver, kernel: Kernel, X: Rows, *, alpha: float = 0.1, rtol: float = 1e-5) -> None:
    """Check the laws of a ridge solver, with and without weights and an intercept, for two targets at once.

    The gradient of Σ wᵢ(yᵢ − f(xᵢ) − b)² + α‖f‖² vanishes over all expansions at the solution's centres, and by b; the
    residual that is claimed is the one there is; the solution is linear in the targets and the same again; and
    leave-one-out residuals, unless the solver declines them with a ValueError, are those of refitting.

    Then the evidence is put to the test, with penalties from 1e-16 to 1e6, weights from 1e-10 to 1e13, targets of
    1e-300 and 1e300, and kernels times 1e-12 and 1e12.  A solution that says it converged has a small duality gap,
    computed anew; and problems that are equal up to scale have solutions that are, after as many iterations.

    Parameters
    ----------
    solver : Solver
        The solver.
    kernel : Kernel
        A kernel, positive semi-definite.
    X : collection
        A few dozen points.
    alpha : float, default=0.1
        The penalty of the first target; the second has twice that.
    rtol : float, default=1e-5
        Allowed error, relative to the size of what is compared.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers import Spectral
    >>> check_solver(Spectral(), Gaussian(), np.random.default_rng(0).normal(size=(30, 2)))
    """
    n = length(X)
    angles = np.arange(n, dtype=np.float64)
    y = np.column_stack([np.sin(angles) + 1.0, np.cos(2.0 * angles)])
    penalty = np.array([alpha, 2.0 * alpha])
    for weights in (None, 1.5 + np.sin(3.0 * angles)):
        for fit_intercept in (False, True):
            problem = Problem(kernel, X, y, weights, fit_intercept)
            case = f"{type(solver).__name__} {'with' if fit_intercept else 'without'} an intercept, "
            case += "unweighted" if weights is None else "weighted"
            _check_solution(case, solver, problem, penalty, rtol)
            _check_left_out(case, solver, problem, penalty, rtol)
            _check_scales(case, solver, problem, penalty, rtol)
    _check_extremes(solver, kernel, X, y)


def _check_solution(case: str, solver: Solver, problem: Problem, alpha: np.ndarray, rtol: float) -> None:
    prepared = solver.prepare(problem)
    found = prepared.solve(alpha)
    coef, b = np.asarray(found.coef), np.asarray(found.intercept)
    m = length(found.centers)
    expect(coef.shape == (m, 2) and b.shape == (2,), case, f"coef and intercept have shapes {coef.shape} and {b.shape}")
    K, inner = problem.kernel(problem.X, found.centers), problem.kernel(found.centers)
    w = np.ones(problem.n) if problem.weights is None else problem.weights
    errors = w[:, None] * (problem.y - b - K @ coef)
    gradient, size = K.T @ errors - alpha * (inner @ coef), np.abs(K.T @ (w[:, None] * problem.y)).max()
    worst = float(np.abs(gradient).max() / size)
    expect(worst <= rtol, case, f"the gradient at its solution is {worst:.1e} of that at 0, above {rtol:.1e}")
    total = np.abs(errors.sum(axis=0) if problem.fit_intercept else b).max()
    expect(
        total <= rtol * np.abs(w @ problem.y).max(), case, f"the intercept {b} leaves weighted errors of {total:.1e}"
    )
    reached = measure_gap(problem, found, alpha)
    honest = reached is None or reached <= 10 * found.residual + rtol
    expect(honest, case, f"it claims a residual of {found.residual:.1e}, but has {reached}")
    expect(bool(found.converged), case, "it says that it did not converge")
    _expect_same(case, "solving twice", prepared.solve(alpha), found, 1.0, rtol)
    doubled = solver.prepare(replace(problem, y=2.0 * problem.y)).solve(alpha)
    _expect_same(case, "twice the targets", doubled, found, 2.0, rtol)


def _expect_same(case: str, what: str, other: Solution, found: Solution, factor: float, rtol: float) -> None:
    if length(other.centers) != length(found.centers):
        return  # centres were drawn anew
    scale = factor * float(np.abs(found.coef).max())
    gap = float(np.abs(np.asarray(other.coef) - factor * np.asarray(found.coef)).max())
    expect(
        gap <= 100 * rtol * scale, case, f"{what} changes the coefficients by {gap:.1e} where they reach {scale:.1e}"
    )


def _check_left_out(case: str, solver: Solver, problem: Problem, alpha: np.ndarray, rtol: float) -> None:
    try:
        found = solver.prepare(problem).solve(alpha, loo=True)
    except ValueError:  # it has none, and says so
        return
    if found.centers is not problem.X:
        return  # with centres held fixed, refitting would have to hold them too
    residuals = found.loo
    assert residuals is not None, f"{case}: it was asked for leave-one-out residuals, and gave none"
    for i in (0, problem.n // 2):
        others = np.delete(np.arange(problem.n), i)
        weights = None if problem.weights is None else problem.weights[others]
        without = replace(problem, X=pick(problem.X, others), y=problem.y[others], weights=weights)
        fit = solver.prepare(without).solve(alpha)
        value = problem.kernel(pick(problem.X, [i]), fit.centers) @ fit.coef + fit.intercept
        gap = float(np.abs(problem.y[i] - value[0] - residuals[i]).max())
        allowed = 100 * rtol * float(np.abs(problem.y).max())
        expect(gap <= allowed, case, f"the leave-one-out residual of point {i} is off by {gap:.1e} from refitting")


def _check_scales(case: str, solver: Solver, problem: Problem, alpha: np.ndarray, rtol: float) -> None:
    """Powers of 2 change nothing but the unit: coefficients and iterations are what they were."""
    found = solver.prepare(problem).solve(alpha)
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    for power in (-990, 990):
        other = solver.prepare(replace(problem, y=np.ldexp(problem.y, power))).solve(alpha)
        unit = replace(other, coef=np.ldexp(other.coef, -power))
        _expect_same_steps(case, f"targets times 2**{power}", unit, found, 1.0, rtol)
    for power in (-40, 40):
        scale = 2.0**power
        other = solver.prepare(replace(problem, kernel=scale * problem.kernel)).solve(scale * alpha)
        _expect_same_steps(case, f"kernel and penalty times 2**{power}", other, found, 1.0 / scale, rtol)
        other = solver.prepare(replace(problem, weights=scale * weights)).solve(scale * alpha)
        _expect_same_steps(case, f"weights and penalty times 2**{power}", other, found, 1.0, rtol)


def _expect_same_steps(case: str, what: str, other: Solution, found: Solution, factor: float, rtol: float) -> None:
    _expect_same(case, what, other, found, factor, rtol)
    if length(other.centers) == length(found.centers):
        equal = other.n_iter == found.n_iter and other.converged == found.converged
        expect(equal, case, f"{what}: {other.n_iter} iterations instead of {found.n_iter}")


def _check_extremes(solver: Solver, kernel: Kernel, X: Rows, y: np.ndarray) -> None:
    """Whatever is asked, what counts as converged has a small gap; a solver may also refuse with an error."""
    n = length(X)
    weights = [None, 10.0 ** np.linspace(-10.0, 13.0, n), np.where(np.arange(n) == n // 2, 1e13, 1.0)]
    for alpha in (1e-16, 1e-8, 1e-3, 1e6):
        for w in weights:
            for scale in (1e-12, 1.0, 1e12) if alpha == 1e-3 else (1.0,):
                problem = Problem(scale * kernel, X, y, w, True)
                case = f"{type(solver).__name__} with alpha={alpha:g}, a kernel times {scale:g}, "
                case += "unweighted" if w is None else f"weights from {w.min():g} to {w.max():g}"
                prepared: Any = solver.prepare(problem)
                try:
                    found = getattr(prepared, "attempt", prepared.solve)(np.full(2, alpha))
                except (np.linalg.LinAlgError, ValueError, OverflowError):
                    continue
                gap = measure_gap(problem, found, np.full(2, alpha))
                honest = not found.converged or gap is None or gap <= 10 * getattr(found, "tolerance", 1e-5)
                expect(honest, case, f"it says that it converged, but the root of its relative duality gap is {gap}")


def measure_gap(problem: Problem, found: Solution, alpha: np.ndarray) -> float | None:
    """Return √(rᵀWr / S) with r = y − b − (K + αW⁻¹)c; None where c is not what stands for f, or has other centres."""
    if found.centers is not problem.X or found.explicit() is not None:
        return None
    # In float64 also for points in float32, and whatever memory the problem has.
    K = Gram(problem.kernel, problem.X, dtype=np.float64).dense().astype(np.longdouble)
    w = (1.0 / problem.noise)[:, None].astype(np.longdouble)
    errors = problem.y - found.intercept - K @ found.coef
    left = errors - alpha * found.coef / w
    objective = (w * errors**2).sum(axis=0) + alpha * np.abs((found.coef * (K @ found.coef)).sum(axis=0))
    centre = (w * problem.y).sum(axis=0) / w.sum() if problem.fit_intercept else 0.0
    ordinary = np.minimum(w, np.sort(w, axis=0)[(len(w) - 1) // 2])
    scale = objective + 1e-6 * (ordinary * (problem.y - centre) ** 2).sum(axis=0)
    return float(np.sqrt((w * left**2).sum(axis=0) / scale).max())
