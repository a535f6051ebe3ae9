"""Ridge of points that come and go equals ridge of the points that are there."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays.budget import MemoryBudgetError
from mercer.kernels import Custom, Gaussian
from mercer.solvers.base import Problem
from mercer.solvers.ridge.fit import fit_ridge
from mercer.solvers.ridge.online import OnlineRidge

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.column_stack([np.sin(3.0 * X[:, 0]) + 2.0, X[:, 1] ** 2])
W = RNG.uniform(0.2, 3.0, 60)
MEMORY = 2**30


def _start(there, kernel=Gaussian(), alpha=0.1, scale=1.0, **options):  # noqa: B008
    online = OnlineRidge(kernel, alpha, memory=MEMORY, **options)
    if len(there):
        online.add(X[there], scale * Y[there], W[there])
    return online


def _check(online, there, kernel=Gaussian(), alpha=0.1, scale=1.0, rtol=1e-10):  # noqa: B008
    """Compare with a fit to the points that are there, and with leaving each of them out in turn."""
    penalty = np.full(2, alpha * (W[there].sum() if online.averaged else 1.0))
    problem = Problem(kernel, X[there], scale * Y[there], W[there], online.fit_intercept)
    refit, found = fit_ridge(problem, penalty, "cholesky"), online.finish(flat=False)
    f, g = found.expansion(X), refit.expansion(X)
    np.testing.assert_allclose(f, g, rtol=0, atol=rtol * np.abs(g).max())
    np.testing.assert_allclose(
        found.objective, refit.objective, atol=rtol * scale**2 * (W[there] @ Y[there] ** 2).sum()
    )
    assert found.converged


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_sequence_of_points_that_come_and_go_equals_a_refit_over_scales(data):
    size, scale = (10.0 ** data.draw(st.integers(-6, 6)) for _ in range(2))
    kernel, alpha = size * Gaussian(), size * 10.0 ** data.draw(st.integers(-3, 2))
    options = {"averaged": data.draw(st.booleans()), "fit_intercept": data.draw(st.booleans())}
    online, there = _start([], kernel, alpha, **options), np.empty(0, dtype=int)
    for _ in range(data.draw(st.integers(1, 5))):
        new = np.array(data.draw(st.lists(st.integers(0, 59), min_size=1, max_size=15)))  # some come twice
        online.add(X[new], scale * Y[new], W[new])
        there = np.concatenate([there, new])
        gone = sorted(data.draw(st.sets(st.integers(0, len(there) - 1), max_size=len(there) - 1)))
        online.remove(gone)
        there = np.delete(there, gone)
        if data.draw(st.booleans()):
            online.finish(flat=False)
    _check(online, there, kernel, alpha, scale)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_one_by_one_is_all_at_once_in_any_order(fit_intercept):
    whole = _start(np.arange(60), fit_intercept=fit_intercept).finish(flat=False).expansion(X)
    for order in (np.arange(60), RNG.permutation(60)):
        online = _start([], fit_intercept=fit_intercept)
        for i in order:
            online.add(X[[i]], Y[[i]], W[[i]])
        np.testing.assert_allclose(online.finish(flat=False).expansion(X), whole, rtol=1e-11, atol=1e-11)


def test_points_that_come_and_go_again_leave_nothing():
    online = _start(np.arange(40), fit_intercept=True)
    before = online.finish(flat=False)
    online.add(X[40:], Y[40:], W[40:])
    online.finish(flat=False)
    online.remove(np.arange(40, 60))
    after = online.finish(flat=False)
    np.testing.assert_allclose(after.expansion.coef, before.expansion.coef, rtol=1e-13)
    assert after.points is not before.points
    assert len(before.points) == 40


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_leave_one_out_is_that_of_refits(fit_intercept):
    online = _start(np.arange(25), fit_intercept=fit_intercept)
    online.remove([3, 11])
    there = np.delete(np.arange(25), [3, 11])
    found = online.leave_one_out()
    for place, i in enumerate(there):
        others = np.delete(there, place)
        problem = Problem(Gaussian(), X[others], Y[others], W[others], fit_intercept)
        expected = fit_ridge(problem, np.full(2, 0.1), "cholesky").expansion(X[[i]])[0]
        np.testing.assert_allclose(found[place], expected, rtol=1e-9)


def test_leave_one_out_of_a_single_point_with_an_intercept_is_unknown():
    assert np.isnan(_start(np.arange(1), fit_intercept=True).leave_one_out()).all()


def test_a_window_keeps_the_latest_points():
    for pieces in ([60], [10] * 6, [1] * 60, [25, 35]):
        online, start = _start([]), 0
        for size in pieces:
            part = slice(start, start + size)
            online.learn(X[part], Y[part], W[part], window=20)
            start += size
        np.testing.assert_array_equal(online.points, X[40:])
        _check(online, np.arange(40, 60))


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_point_that_leaves_for_a_budget_is_the_one_without_which_f_changes_least(fit_intercept):
    online, alpha = _start(np.arange(12), fit_intercept=fit_intercept), 0.1
    f, changes = online.finish(flat=False).expansion, []
    for i in range(12):
        others = np.delete(np.arange(12), i)
        g = _start(others, fit_intercept=fit_intercept).finish(flat=False).expansion
        difference = f - g
        inside = replace_intercept(difference)
        rise = (W[:12, None] * difference(X[:12]) ** 2).sum(axis=0) + alpha * np.asarray(inside.norm()) ** 2
        changes.append((rise / online._unit.max() ** 2).sum())
    assert online.find_least() == int(np.argmin(changes))


def replace_intercept(f):
    """Return f without its constant, which has no norm."""
    return type(f)(f.kernel, f.centers, f.coef, 0.0 * f.intercept)


def test_a_budget_gives_the_same_one_by_one_and_all_at_once():
    whole, single = _start([], fit_intercept=True), _start([], fit_intercept=True)
    whole.learn(X, Y, W, budget=15)
    for i in range(60):
        single.learn(X[[i]], Y[[i]], W[[i]], budget=15)
    np.testing.assert_array_equal(whole.points, single.points)
    assert len(whole) == 15
    whole.learn(X[:1], Y[:1], W[:1], budget=10)
    assert len(whole) == 10


def test_forgetting_multiplies_weights_and_lets_go_of_what_weighs_nothing():
    online = _start(np.arange(30))
    online.learn(X[30:40], Y[30:40], W[30:40], forgetting=0.5)
    weights = np.concatenate([0.5 * W[:30], W[30:40]])
    refit = fit_ridge(Problem(Gaussian(), X[:40], Y[:40], weights), np.full(2, 0.1), "cholesky")
    np.testing.assert_allclose(online.finish(flat=False).expansion(X), refit.expansion(X), rtol=1e-10, atol=1e-12)
    for _ in range(8):
        online.learn(X[50:52], Y[50:52], W[50:52], forgetting=1e-8)
    assert len(online) == 8  # the last four calls


def test_a_factor_that_is_worn_out_is_made_anew():
    online = _start(np.arange(40), fit_intercept=True)
    online._factor._both[30:40, :10] *= 1.0 + 1e-6
    _check(online, np.arange(40))
    online._factor._both[5, 3] += 1.0
    online._known = 0
    _check(online, np.arange(40))


def test_a_penalty_at_the_edge_of_rounding_is_not_called_converged_if_it_is_not():
    kernel, alpha = 1e6 * Gaussian(50.0), 1e-6
    online = OnlineRidge(kernel, alpha, memory=MEMORY)
    try:
        online.add(X, Y)
    except np.linalg.LinAlgError:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = online.finish(flat=False)
    K = kernel(X).astype(np.longdouble)
    left = Y - (K + alpha * np.eye(60)) @ found.expansion.coef
    objective = float(found.objective)
    assert not found.converged or float((left**2).sum()) <= 1e-8 * objective


def _turn_negative(x, z):
    """Return xᵀz, but less than 0 for a point far out with itself."""
    return float(x @ z) * (-1.0 if x[0] > 5 and z[0] > 5 else 1.0)


def test_kernels_that_are_none_are_refused_and_leave_what_was_there():
    online = OnlineRidge(Custom(_turn_negative), 1.0, memory=MEMORY)
    online.add(X, Y)
    before = online.finish(flat=False).expansion.coef
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        online.add(np.array([[0.5, 0.5], [9.0, 0.0]]), Y[:2])
    after = online.finish(flat=False)
    assert len(after.points) == 60
    np.testing.assert_array_equal(after.expansion.coef, before)


def test_a_factor_beyond_the_budget_is_refused_with_the_number_and_the_remedy():
    online = OnlineRidge(Gaussian(), 0.1, memory=300_000)
    online.add(X, Y)
    with pytest.raises(MemoryBudgetError, match=r"factor of 360 points.* needs .*window= or budget="):
        online.add(np.repeat(X, 5, axis=0), np.repeat(Y, 5, axis=0))
    assert len(online) == 60


def test_copies_do_without_the_factor():
    assert pickle.loads(pickle.dumps(_start(np.arange(5)))) is None


def test_the_record_is_of_the_problem_that_was_solved():
    online = _start(np.arange(20))
    record = online.finish(flat=False)
    assert online.record is record
    assert replace(record).problem.n == 20
    online.remove([0])
    assert online.record is None
