"""The plan's estimates beside what the solvers take: seconds expected, seconds measured, and the solver it chooses."""

import warnings
from contextlib import suppress

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays.budget import MemoryBudgetError
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.solvers.base import Problem
from mercer.solvers.plan import EXACT, make_solver, plan_problem

from .measure import table, timed

LONG = 60.0  # seconds; what is expected to take longer is not run
CASES = [
    # kernel, points, columns, outputs with a penalty each
    (Gaussian(3.0), 1_000, 8, 1),
    (Gaussian(3.0), 4_000, 8, 1),
    (Gaussian(3.0), 4_000, 8, 20),
    (Gaussian(3.0), 12_000, 8, 1),
    (Linear(), 200_000, 30, 1),
    (Polynomial(2, 1.0), 50_000, 20, 1),
    (Polynomial(3, 1.0), 6_000, 17, 1),
    (Polynomial(3, 1.0), 1_500, 17, 1),
]


def rows():
    rng = np.random.default_rng(0)
    for kernel, n, d, outputs in CASES:
        X = rng.normal(size=(n, d)) / (1.0 if isinstance(kernel, Gaussian) else np.sqrt(d))
        y = np.sin(X[:, :3].sum(axis=1))[:, None] + 0.1 * rng.normal(size=(n, outputs))
        alpha = np.geomspace(0.01, 0.02, outputs) if outputs > 1 else np.array([0.01])
        problem = Problem(kernel, X, y)
        chosen = plan_problem(problem, alpha)
        best, found = np.inf, []
        for name in EXACT:
            with suppress(MemoryBudgetError, ValueError):
                expected = plan_problem(problem, alpha, name).seconds
                if expected > LONG:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    _, seconds = timed(lambda name=name: make_solver(name, 0).prepare(problem).solve(alpha))  # noqa: B023
                best = min(best, seconds)
                found.append((name, expected, seconds))
        for name, expected, seconds in found:
            place = f"{seconds / best:.1f}× the quickest" + (" (chosen)" if name == chosen.solver else "")
            problem_text = f"{kernel!r}, {n:,} × {d}, {outputs} penalties"
            yield [problem_text, name, f"{expected:.3f} s", f"{seconds:.3f} s", f"{expected / seconds:.2f}", place]


def main() -> None:
    header = ["problem", "solver", "expected", "measured", "expected / measured", ""]
    table("The plan: estimates beside measured times", header, list(rows()))
