"""SimpleMKL and its relatives: derivatives of J, the gap as a certificate, and the laws of weights."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.kernels import Gaussian, Linear
from mercer.learning.several.mixture import stack_kernels
from mercer.learning.several.simple import Machines, machine_weights
from mercer.losses import Hinge
from mercer.solvers.machines.problems import MachineProblems, Priced

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
TWO = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * RNG.normal(size=60) > 0.4).astype(int)
THREE = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=60), [-0.5, 0.5])
KERNELS = [Gaussian().on([0]), Gaussian().on([1]), Linear(), Gaussian(0.3).on([2])]
STACK = stack_kernels(KERNELS, X).matrices


def make_parts(codes, C=1.0, weights=None):
    classes = np.unique(codes)
    weights = np.ones(len(codes)) if weights is None else weights
    return MachineProblems(Priced(Hinge(), C), codes, weights, classes).parts()


def value(w, parts, tol=1e-10):
    """J and what belongs to it."""
    return Machines(STACK, parts, tol).solve(np.asarray(w, dtype=float))


@pytest.mark.parametrize("codes", [TWO, THREE])
def test_the_slope_and_curvature_of_the_objective_are_its_differences(codes):
    parts, w, h = make_parts(codes), np.array([0.4, 0.3, 0.2, 0.1]), 1e-5
    here = value(w, parts)
    for k, e in enumerate(np.eye(4)):
        up, down = value(w + h * e, parts), value(w - h * e, parts)
        assert (up.value - down.value) / (2 * h) == pytest.approx(-0.5 * here.squares[k], rel=1e-4)
        change = -0.5 * (up.squares - down.squares) / (2 * h)
        np.testing.assert_allclose(change, here.curvature[k], rtol=0.02, atol=0.02 * np.abs(here.curvature).max())


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("codes", [TWO, THREE])
def test_the_gap_is_a_certificate(codes, C):
    parts = make_parts(codes, C)
    found, best = (machine_weights(STACK, parts, tol=tol) for tol in (1e-2, 1e-6))
    assert found.converged
    assert found.gap <= 1e-2
    assert best.objective <= found.objective * (1 + 1e-6)
    assert found.objective * (1 - found.gap) <= best.objective * (1 + 1e-6)
    assert found.weights.sum() == pytest.approx(1.0)
    assert (found.weights >= 0).all()
    # Where a weight is not 0 the square of its part is the largest of all.
    squares = value(best.weights, parts).squares
    np.testing.assert_allclose(squares[best.weights > 1e-3], squares.max(), rtol=1e-3)


@pytest.mark.parametrize("p", [1.0, 1.3, 2.0, 4.0])
def test_no_other_solver_finds_less(p):
    parts = make_parts(TWO)
    found = machine_weights(STACK, parts, p=p, tol=1e-4)
    assert found.converged
    assert np.linalg.norm(found.weights, p) == pytest.approx(1.0)
    other = minimize(
        lambda v: value(v ** (1 / p), parts, 1e-8).value, np.full(4, 0.25), method="SLSQP", bounds=[(1e-9, 1)] * 4,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1}, options={"ftol": 1e-9},
    )  # fmt: skip
    assert found.objective <= other.fun * (1 + 2e-4)
    assert other.fun >= found.objective * (1 - found.gap) * (1 - 1e-6)


def test_every_step_makes_the_objective_smaller_from_equal_weights_on():
    for p in (1.0, 2.0):
        found = machine_weights(STACK, make_parts(THREE), p=p, tol=1e-5)
        assert found.path[0] == pytest.approx(value(np.full(4, 4.0 ** (-1 / p)), make_parts(THREE)).value, rel=1e-5)
        assert (np.diff(found.path) < 0).all()
        assert len(found.path) == found.n_iter + 1


def test_norms_close_to_1_have_weights_close_to_the_sparse_ones():
    parts = make_parts(TWO)
    sparse, dense = (machine_weights(STACK, parts, p=p, tol=1e-5) for p in (1.0, 1.01))
    np.testing.assert_allclose(dense.weights, sparse.weights, atol=0.03)
    assert dense.objective == pytest.approx(sparse.objective, rel=0.02)


def test_infinity_is_the_sum_and_one_kernel_has_nothing_to_learn():
    np.testing.assert_array_equal(machine_weights(STACK, make_parts(TWO), p=np.inf).weights, np.ones(4))
    alone = machine_weights(STACK[:1], make_parts(TWO))
    np.testing.assert_array_equal(alone.weights, [1.0])
    assert alone.converged


def test_a_kernel_given_twice_shares_its_weight():
    parts = make_parts(TWO)
    once, twice = (machine_weights(STACK[which], parts, tol=1e-6) for which in ([0, 1, 2], [0, 0, 1, 2]))
    assert twice.weights[0] == pytest.approx(twice.weights[1], abs=1e-3)
    np.testing.assert_allclose([twice.weights[:2].sum(), *twice.weights[2:]], once.weights, atol=5e-3)
    assert twice.objective == pytest.approx(once.objective, rel=1e-5)


def test_kernels_of_noise_are_left_out():
    clear = (X[:, 0] > 0).astype(int)
    noise = stack_kernels([Gaussian(0.5)] * 2, RNG.normal(size=(60, 6))).matrices
    found = machine_weights(np.concatenate([STACK[:1], 0.05 * noise]), make_parts(clear, 0.1))
    assert found.weights[0] > 0.99


def test_kernels_that_say_nothing_have_equal_weights_and_no_gap():
    found = machine_weights(np.zeros((3, 60, 60)), make_parts(TWO))
    np.testing.assert_allclose(found.weights, 1 / 3)
    assert found.converged
    beside = machine_weights(np.concatenate([STACK[:1], np.zeros((1, 60, 60))]), make_parts(TWO))
    np.testing.assert_allclose(beside.weights, [1.0, 0.0], atol=1e-6)


def test_a_weight_counts_as_so_many_equal_points():
    counts = RNG.integers(1, 4, size=len(X))
    again = np.repeat(np.arange(len(X)), counts)
    a = machine_weights(STACK, make_parts(TWO, weights=counts.astype(float)), tol=1e-6)
    b = machine_weights(np.ascontiguousarray(STACK[:, again][:, :, again]), make_parts(TWO[again]), tol=1e-6)
    assert a.objective == pytest.approx(b.objective, rel=1e-5)
    np.testing.assert_allclose(a.weights, b.weights, atol=5e-3)


def test_steps_may_be_limited():
    found = machine_weights(STACK, make_parts(TWO), tol=1e-8, max_iter=1)
    assert found.n_iter == 1
    assert not found.converged
    assert found.gap > 1e-8


def test_problems_stay_as_they_were_given():
    parts = make_parts(THREE)
    before = [replace(problem) for _, problem in parts]
    machine_weights(STACK, parts)
    for (_, problem), old in zip(parts, before, strict=True):
        np.testing.assert_array_equal(problem.start, old.start)
