"""What every decomposition that serves many penalties must do."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.solvers import Banded, Spectral

ALPHA = np.array([0.3, 2.0])


@pytest.fixture(params=["spectral", "banded", "narrow band"])
def solver(request, monkeypatch):
    """Few points fit into the usual band as they are, a narrow one must be reached."""
    if request.param == "narrow band":
        monkeypatch.setattr("mercer.solvers.ridge.banded.NARROW", 3)
    return Spectral() if request.param == "spectral" else Banded()


def test_it_equals_brute_force_with_a_penalty_for_each_target(solver, reference, variant):
    problem = reference.problem(**variant, kernel=Gaussian(1.5))
    solution = solver.prepare(problem).solve(ALPHA)
    coef, intercept = reference.solve(problem, ALPHA)
    np.testing.assert_allclose(solution.coef, coef, atol=1e-10)
    np.testing.assert_allclose(solution.intercept, intercept, atol=1e-10)
    assert solution.converged
    assert solution.n_iter == 0
    assert solution.residual < 1e-10


def test_leave_one_out_equals_fitting_without_each_point(solver, reference, variant):
    problem = reference.problem(**variant)
    solution = solver.prepare(problem).solve(ALPHA, loo=True)
    np.testing.assert_allclose(solution.loo, reference.loo(problem, ALPHA), atol=1e-8)
