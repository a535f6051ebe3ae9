"""The banded solver: many penalties with exact leave-one-out, without eigenvectors."""

import numpy as np
import pytest

from mercer.arrays.budget import MemoryBudgetError
from mercer.kernels import Gaussian, Linear
from mercer.solvers import Banded, Problem, Spectral


@pytest.fixture(autouse=True, params=[32, 3], ids=["wide", "narrow"])
def band(request, monkeypatch):
    """Few points fit into the band as they are: a narrow one is there to be reached."""
    monkeypatch.setattr("mercer.solvers.ridge.banded.NARROW", request.param)


def test_a_path_equals_that_of_the_eigendecomposition(reference, variant):
    problem = reference.problem(**variant)
    alphas = np.logspace(-4, 3, 7)
    ours, theirs = (solver.prepare(problem).path(alphas, loo=True) for solver in (Banded(), Spectral()))
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.coef, other.coef, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(mine.loo, other.loo, atol=1e-8)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_problems_have_their_answers(n):
    X, y = np.arange(float(n)).reshape(-1, 1), np.ones((n, 1))
    problem = Problem(Gaussian(), X, y)
    found = Banded().prepare(problem).solve(0.5, loo=True)
    np.testing.assert_allclose(found.coef, np.linalg.solve(Gaussian()(X) + 0.5 * np.eye(n), y))
    np.testing.assert_allclose(found.loo, Spectral().prepare(problem).solve(0.5, loo=True).loo)


@pytest.mark.parametrize("alpha", [0.0, 1e-18])
def test_a_penalty_lost_in_rounding_is_left_to_the_spectral_solver(alpha):
    X = np.repeat(np.arange(5.0), 2).reshape(-1, 1)
    prepared = Banded().prepare(Problem(Linear(), X, X))
    with pytest.raises(np.linalg.LinAlgError, match="spectral"):
        prepared.solve(alpha)


def test_more_than_the_budget_is_refused_before_anything_is_computed():
    X = np.zeros((1000, 1))
    with pytest.raises(MemoryBudgetError, match="banded"):
        Banded().prepare(Problem(Gaussian(), X, X, memory=10_000_000))
