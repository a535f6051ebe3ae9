"""The search for import vectors."""

import numpy as np
import pytest

from mercer.kernels import Custom, Gaussian
from mercer.solvers.base import Problem
from mercer.solvers.newton.gains import ChosenFeatures, Judge, measure_rises
from mercer.solvers.newton.import_vectors import ImportVectorSearch
from mercer.solvers.newton.prepared import PreparedNewton
from mercer.solvers.newton.sums import label_loss


def _data(classes, n=50, seed=0, fit_intercept=True, kernel=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=n)
    codes = np.digitize(score, np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]))
    loss = label_loss(codes, classes, rng.uniform(0.5, 2.0, n))
    return Problem(kernel or Gaussian(), X, np.zeros((n, loss.outputs)), loss.weights, fit_intercept), loss


def _search(problem, loss, alpha=0.1, **options):
    return ImportVectorSearch(**options).search(problem, loss, alpha, np.random.RandomState(0))


OPTIONS = [{}, {"block_size": 4}, {"candidates": 10}, {"block_size": 3, "candidates": 12}, {"max_vectors": 5}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_objective_falls_in_every_round(classes, options):
    found = _search(*_data(classes), **options)
    assert len(found.history) > 2
    assert (np.diff(found.history) <= 0).all()
    assert found.objective <= found.history[-1] * (1 + 1e-12)
    assert len(set(found.positions.tolist())) == len(found.positions)
    assert len(found.positions) <= options.get("max_vectors", 50)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_with_all_points_allowed_it_reaches_kernel_logistic_regression(classes, fit_intercept):
    problem, loss = _data(classes, n=30, fit_intercept=fit_intercept)
    full = PreparedNewton(problem, loss, "newton").solve(0.1, tol=1e-10)
    found = _search(problem, loss, min_drop=0.0, tol=1e-10)
    assert found.objective == pytest.approx(full.objective, rel=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_gains_are_those_of_a_newton_step_computed_one_by_one(classes, fit_intercept):
    problem, loss = _data(classes, n=25, fit_intercept=fit_intercept)
    K, alpha, q = Gaussian()(problem.X), 0.1, loss.outputs
    features = ChosenFeatures(problem)
    features.add(np.array([3, 11, 19]))
    search = ImportVectorSearch()
    state = search._fit(problem, loss, alpha, features, None, 1e-13).state
    positions = np.setdiff1d(np.arange(25), features.indices)
    gains = Judge(problem, loss, alpha).gains(features, state, positions)
    R = loss.residuals(state.outputs)
    W = np.einsum("nqq->nq", loss.curvature(state.outputs).blocks())
    coef = features.coefficients(state.coef)
    for j, position in enumerate(positions):
        chosen = [*features.indices, int(position)]
        expected = 0.0
        for c in range(q):
            design = np.column_stack([K[:, chosen], np.ones(25)]) if fit_intercept else K[:, chosen]
            penalty = np.zeros((design.shape[1], design.shape[1]))
            penalty[: len(chosen), : len(chosen)] = 2 * alpha * K[np.ix_(chosen, chosen)]
            old = np.zeros(design.shape[1])
            old[: len(chosen) - 1] = coef[:, c]
            gradient = -design.T @ R[:, c] + penalty @ old
            hessian = design.T @ (W[:, c, None] * design) + penalty
            expected += 0.5 * gradient @ np.linalg.solve(hessian, gradient)
        assert gains[j] == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_the_first_vector_is_the_best_single_one():
    problem, loss = _data(2, n=30)
    first = _search(problem, loss, max_vectors=1)
    drops = []
    for i in range(30):
        features = ChosenFeatures(problem)
        features.add(np.array([i]))
        drops.append(ImportVectorSearch()._fit(problem, loss, 0.1, features, None, 1e-8).objective)
    # One Newton step is not the whole way, so that the choice may be slightly beaten.
    assert first.objective <= np.quantile(drops, 0.1)


def test_features_of_chosen_points_reproduce_the_kernel_at_them():
    problem, _ = _data(2)
    features = ChosenFeatures(problem)
    assert features.add(np.arange(0, 40, 2)) == 20  # more than there is room for at first
    K = Gaussian()(problem.X)
    np.testing.assert_allclose(features.matrix @ features.matrix[features.indices].T, K[:, features.indices], atol=1e-9)
    assert features.add(np.array([0, 2])) == 0  # these are explained


def test_a_rise_is_what_removing_a_vector_costs():
    problem, loss = _data(2, n=40)
    features = ChosenFeatures(problem)
    features.add(np.array([1, 8, 15, 22, 29]))
    search = ImportVectorSearch()
    fit = search._fit(problem, loss, 1.0, features, None, 1e-12)
    estimated = measure_rises(loss, 1.0, features, fit.state, True)
    exact = []
    for j in range(5):
        fewer = ChosenFeatures(problem)
        fewer.add(np.delete(np.array(features.indices), j))
        exact.append(search._fit(problem, loss, 1.0, fewer, None, 1e-12).objective - fit.objective)
    np.testing.assert_allclose(estimated, exact, rtol=0.3)


def test_deletion_leaves_fewer_vectors_and_hardly_raises_the_objective():
    problem, loss = _data(2, n=60)
    plain, pruned = _search(problem, loss), _search(problem, loss, deletion=True)
    removed = len(plain.positions) - len(pruned.positions)
    assert removed > 0
    assert set(pruned.positions) < set(plain.positions)
    assert pruned.objective <= plain.objective * (1 + 1e-3) ** removed * (1 + 1e-6)


def test_it_ends_when_the_drop_over_the_window_is_small():
    problem, loss = _data(2, n=60)
    found = _search(problem, loss, look_back=2, min_drop=0.01)
    drops = np.array(found.history[:-2]) - np.array(found.history[2:])
    small = drops < 0.01 * np.array(found.history[2:])
    assert found.settled
    assert small[-1]
    assert not small[:-1].any()


def test_a_kernel_evaluated_in_python_gives_the_same_vectors():
    problem, loss = _data(3, n=25)
    slow = Custom(lambda x, z: float(np.exp(-0.5 * np.sum((x - z) ** 2))))
    same, _ = _data(3, n=25, kernel=slow)
    ours, theirs = _search(problem, loss), _search(same, loss)
    np.testing.assert_array_equal(ours.positions, theirs.positions)
    np.testing.assert_allclose(ours.coef, theirs.coef, rtol=1e-6, atol=1e-8)
