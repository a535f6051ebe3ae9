"""The span rule is what refits give where no other point comes to the margin or leaves it."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from mercer import SVC, SVCCV
from mercer.arrays.budget import MemoryBudgetError
from mercer.kernels import Gaussian, Linear
from mercer.solvers.machines.dual import DualProblem
from mercer.solvers.machines.span import estimate_left_out

N = 40
FINE = {"tol": 1e-9}


def points():
    X, y = make_blobs(N, centers=2, cluster_std=2.5, random_state=3)
    return X, y


def name_sets(model, places):
    """Return which points are margin vectors, and which are at their bound."""
    margin = set(places[model.margin_set_].tolist())
    return margin, set(places[model.support_].tolist()) - margin


@pytest.mark.parametrize(("length_scale", "C", "least"), [(1.0, 1.0, 10), (1.0, 3.0, 10), (2.0, 0.3, 3)])
def test_it_is_exact_where_the_others_stay_where_they_are(length_scale, C, least):
    X, y = points()
    machine = {"C": C, "kernel": Gaussian(length_scale), **FINE}
    model = SVC(**machine).fit(X, y)
    found, here = model.leave_one_out("span"), model.decision_function(X)
    margin, bound = name_sets(model, np.arange(N))
    checked = 0
    for i in [*margin, *bound]:
        rest = np.delete(np.arange(N), i)
        without = SVC(**machine).fit(X[rest], y[rest])
        if name_sets(without, rest) == (margin - {i}, bound - {i}):
            checked += 1
            assert found[i] == pytest.approx(without.decision_function(X[[i]])[0], abs=1e-6)
            assert abs(found[i] - here[i]) > 1e-3
    assert checked >= least
    unchanged = np.setdiff1d(np.arange(N), model.support_)
    np.testing.assert_allclose(found[unchanged], here[unchanged])


def test_it_is_the_inverse_of_the_bordered_matrix_and_the_distance_from_the_affine_span():
    X, y = points()
    model = SVC(C=1.0, kernel=Gaussian(3.0), **FINE).fit(X, y)
    found, here = model.leave_one_out("span"), model.decision_function(X)
    margin, signs = model.margin_set_, np.where(y == 1, 1.0, -1.0)
    bordered = np.ones((len(margin) + 1,) * 2)
    bordered[:-1, :-1], bordered[-1, -1] = Gaussian(3.0)(X[margin]), 0.0
    spans = 1.0 / np.diag(np.linalg.inv(bordered))[:-1]
    changes = signs[margin] * model.alpha_[margin] * spans
    np.testing.assert_allclose(found[margin], here[margin] - changes, rtol=1e-5, atol=1e-6)
    (first, *_) = np.setdiff1d(model.support_, margin)
    k = Gaussian(3.0)
    lead, others = margin[0], margin[1:]  # min over sums of 1 of ‖φ(x) − Σ aⱼφ(xⱼ)‖², with a₀ = 1 − Σ of the others
    gap = k(X[others]) - k(X[others], X[[lead]]) - k(X[[lead]], X[others]) + 1.0
    pull = k(X[others], X[[first]])[:, 0] - k(X[[first]], X[[lead]])[0, 0] - k(X[others], X[[lead]])[:, 0] + 1.0
    distance = 2.0 - 2.0 * k(X[[first]], X[[lead]])[0, 0] - pull @ np.linalg.solve(gap, pull)
    assert found[first] == pytest.approx(here[first] - signs[first] * distance, abs=1e-5)  # β is ±C = ±1 there


def test_several_classes_have_the_shape_of_their_decisions_and_searches_pass_it_on():
    X, y = make_blobs(60, centers=3, cluster_std=2.5, random_state=0)
    for shape, columns in (("ovr", 3), ("ovo", 3)):
        model = SVC(kernel=Gaussian(3.0), decision_function_shape=shape).fit(X, y)
        found = model.leave_one_out("span")
        assert found.shape == (60, columns)
    refit = np.mean(np.argmax(SVC(kernel=Gaussian(3.0)).fit(X, y).leave_one_out(), axis=1) == y)
    span = np.mean(np.argmax(SVC(kernel=Gaussian(3.0)).fit(X, y).leave_one_out("span"), axis=1) == y)
    assert abs(refit - span) < 0.1
    search = SVCCV(Cs=[1.0], kernel=Gaussian(3.0), cv=3).fit(X, y)
    np.testing.assert_array_equal(search.leave_one_out("span"), search.best_estimator_.leave_one_out("span"))
    matrix = SVC(kernel="precomputed", **FINE).fit(Gaussian(3.0)(X), y).leave_one_out("span")
    np.testing.assert_allclose(matrix, SVC(kernel=Gaussian(3.0), **FINE).fit(X, y).leave_one_out("span"), atol=1e-5)


def test_points_that_others_stand_for_change_nothing():
    """Twice the same points: what is left out is still there."""
    X, y = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0]]), np.array([-1.0, -1.0, 1.0])
    X, y, beta = np.tile(X, (2, 1)), np.tile(y, 2), np.tile([-0.5, -0.5, 1.0], 2)
    part = np.arange(6), DualProblem(y, np.minimum(0, 10 * y), np.maximum(0, 10 * y), np.zeros(6))
    np.testing.assert_allclose(estimate_left_out(Linear(), X, part, beta, y, 10**6), y, atol=1e-6)


def test_without_two_margin_vectors_machines_are_refitted():
    X, y = points()
    model = SVC(C=1e-3, kernel=Gaussian(3.0), **FINE).fit(X, y)  # all at their bound but what the balance leaves
    assert len(model.margin_set_) < 2
    np.testing.assert_array_equal(model.leave_one_out("span"), model.leave_one_out())


def test_what_cannot_be_is_refused_with_a_reason():
    X, y = points()
    with pytest.raises(ValueError, match=r"SVC\.leave_one_out: method must be 'refit' or 'span', got 'spam'"):
        SVC().fit(X, y).leave_one_out("spam")
    part = np.arange(N), DualProblem(np.ones(N), np.zeros(N), np.ones(N), np.zeros(N))
    with pytest.raises(MemoryBudgetError, match=r"the matrix of 40 margin vectors.*method='refit'"):
        estimate_left_out(Linear(), X, part, np.full(N, 0.5), np.ones(N), 1000)
