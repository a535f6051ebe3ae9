"""An inverse of which some points are eliminated, against the matrix itself."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Laplacian, Linear
from mercer.solvers.base import Problem
from mercer.solvers.ridge.partial.elimination import ACCURATE, COARSE, PRECISE, Elimination, find_pivots

N = 400


def eliminate(kernel, X, shift, count, seed=0, **options):
    rng = np.random.default_rng(seed)
    problem = Problem(kernel, X, np.zeros((len(X), 1)))
    return Elimination(problem, shift, find_pivots(problem, rng), count, rng, **options)


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(N, 3))


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplacian(2.0), 1e8 * Gaussian(0.5), 1e-8 * Gaussian(3.0)])
@pytest.mark.parametrize("count", [1, 100, 399])
@pytest.mark.parametrize("weights", [None, "uneven"])
def test_little_is_left_of_right_hand_sides(kernel, points, count, weights):
    level = float(kernel.diag(points[:1])[0])
    spread = np.ones(N) if weights is None else np.random.default_rng(1).lognormal(0.0, 1.0, N)
    shift = 0.01 * level * spread
    V = np.random.default_rng(2).normal(size=(N, 3)) * [1.0, 1e-100, 1e100]
    X = eliminate(kernel, points, shift, count).solve(V)
    left = V - (kernel(points) + np.diag(shift)) @ X
    roots = shift[:, None] ** -0.5
    assert (np.linalg.norm(roots * left, axis=0) <= 1.5 * ACCURATE * np.linalg.norm(roots * V, axis=0)).all()


def test_more_points_that_are_eliminated_leave_fewer_iterations(points):
    V = np.random.default_rng(2).normal(size=(N, 1))
    steps = []
    for count in (100, 200, 300):
        inverse = eliminate(Laplacian(1.0), points, np.full(N, 1e-2), count)
        inverse.solve(V)
        steps.append(inverse.steps)
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > 2 * steps[-1]


def test_iterations_are_told_and_end_where_they_are_limited(points):
    heard = []
    inverse = eliminate(Laplacian(1.0), points, np.full(N, 1e-3), 50, on_step=lambda *told: heard.append(told))
    V = np.random.default_rng(2).normal(size=(N, 1))
    inverse.solve(V, most=4)
    assert inverse.steps == 4
    assert [steps for steps, _ in heard] == [1, 2, 3, 4]
    assert heard[-1][1] > ACCURATE
    assert inverse.foreseen(1e-6) > inverse.foreseen(1e-2) > 0
    inverse.solve(V, most=0)  # one step is always taken
    assert inverse.steps == 5


@pytest.mark.parametrize(("share", "times"), [(0.5, 1), (2e-2, 1), (1e-3, 2), (1e-6, 4)])
def test_as_few_applications_as_can_be_share_what_is_to_be_done(points, share, times):
    inverse = eliminate(Gaussian(), points, np.full(N, 0.1), 100)
    inverse.aim(share)
    assert inverse.accuracy**times == pytest.approx(min(share, COARSE))


@pytest.mark.parametrize("share", [0.0, np.nan, np.inf, 2.0])
def test_whatever_is_to_be_done_the_accuracy_is_one_that_iterations_reach(points, share):
    inverse = eliminate(Gaussian(), points, np.full(N, 0.1), 100)
    inverse.aim(share)
    assert PRECISE <= inverse.accuracy <= COARSE


def test_columns_of_zeros_stay_so(points):
    V = np.zeros((N, 2))
    V[:, 1] = points[:, 0]
    X = eliminate(Gaussian(), points, np.full(N, 0.1), 100).solve(V)
    assert not X[:, 0].any()
    assert X[:, 1].any()


def test_a_matrix_of_low_rank_has_more_points_than_pivots_eliminated(points):
    V = np.random.default_rng(2).normal(size=(N, 1))
    X = eliminate(Linear(), points, np.full(N, 0.1), 50).solve(V)
    left = V - points @ (points.T @ X) - 0.1 * X
    assert np.linalg.norm(left) <= 1.5 * ACCURATE * np.linalg.norm(V)


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_values_beyond_float32_are_refused_with_a_way_out(points, scale):
    problem = Problem(scale * Gaussian(), points, points)
    with pytest.raises(np.linalg.LinAlgError, match="leave the range of float32; use solver='cholesky'"):
        find_pivots(problem, np.random.default_rng(0))
