"""Random ridge problems, and their answers by brute force."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from mercer.formula.data import pick
from mercer.kernels import Polynomial
from mercer.solvers.base import Problem
from mercer.testing.solvers import measure_gap


def brute_force(problem, alpha):
    """Return (c, b) from one dense system [[K + αW⁻¹, 1], [1ᵀ, 0]] for each output."""
    n, q = problem.y.shape
    K = problem.kernel(np.asarray(problem.X, dtype=np.float64))
    alpha = np.broadcast_to(alpha, (q,))
    coef, intercept = np.zeros((n, q)), np.zeros(q)
    for j in range(q):
        A = K + alpha[j] * np.diag(problem.noise)
        if problem.fit_intercept:
            bordered = np.block([[A, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
            both = np.linalg.solve(bordered, np.append(problem.y[:, j], 0.0))
            coef[:, j], intercept[j] = both[:n], both[n]
        else:
            coef[:, j] = np.linalg.solve(A, problem.y[:, j])
    return coef, intercept


def refit_without_each(problem, alpha):
    """Return yᵢ − f₋ᵢ(xᵢ) by n fits."""
    left_out = np.zeros_like(problem.y)
    for i in range(problem.n):
        rest = np.delete(np.arange(problem.n), i)
        weights = None if problem.weights is None else problem.weights[rest]
        smaller = replace(problem, X=pick(problem.X, rest), y=problem.y[rest], weights=weights)
        coef, intercept = brute_force(smaller, alpha)
        left_out[i] = problem.y[i] - problem.kernel(problem.X[i : i + 1], smaller.X)[0] @ coef - intercept
    return left_out


def true_residual(problem, solution):
    """Return the largest √(rᵀWr / S), from a dense K in extended precision."""
    return measure_gap(problem, solution, solution.alpha)


def make_problem(
    n=30, d=3, q=2, *, fit_intercept=False, weighted=False, kernel=None, seed=0, dtype=np.float64, device=None
):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    y = np.sin(X.sum(axis=1, dtype=np.float64))[:, None] + 0.3 * rng.standard_normal((n, q)) + 2.0
    weights = rng.uniform(0.2, 3.0, n) if weighted else None
    kernel = Polynomial(degree=2, offset=1.0) if kernel is None else kernel
    return Problem(kernel, X, y, weights, fit_intercept, memory=2**28, device=device)


def places():
    """Return the host, and torch on the processor in place of all devices."""
    return [pytest.param(None, id="host"), pytest.param("cpu", marks=pytest.mark.torch, id="device")]


@pytest.fixture(params=places())
def device(request):
    """Where a problem is to be solved: laws hold on the host and on devices alike."""
    return None if request.param is None else pytest.importorskip("torch").device(request.param)


@pytest.fixture(params=list(product([False, True], [False, True])), ids=lambda p: f"intercept={p[0]}-weighted={p[1]}")
def variant(request, device):
    """The options of a problem: with and without an intercept and weights, on the host and on a device."""
    return {"fit_intercept": request.param[0], "weighted": request.param[1], "device": device}


@pytest.fixture
def reference():
    """The functions above, since test modules do not import each other."""

    class Reference:
        solve = staticmethod(brute_force)
        loo = staticmethod(refit_without_each)
        residual = staticmethod(true_residual)
        problem = staticmethod(make_problem)

    return Reference
