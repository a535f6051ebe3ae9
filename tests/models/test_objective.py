"""What models have minimised: loss and penalty, as predictions and the norm of the function say."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.models import KernelRidge, KernelRidgeClassifier, KernelRidgeCV
from mercer.solvers.evidence import Objective

RNG = np.random.default_rng(7)
N = 60
X = RNG.uniform(-2.0, 2.0, size=(N, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]) + 0.3 * RNG.normal(size=N), X[:, 1] ** 2 + 0.3 * RNG.normal(size=N)])
LABELS = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=N), [-0.7, 0.7])
WEIGHTS = np.where(np.arange(N) % 7 == 0, 0.0, RNG.uniform(0.2, 3.0, size=N))


def sum_squares(model, given, y, weights, alpha):
    """Return Σ w(y − f − b)² and α‖f‖², from predictions and the norm."""
    function = model.expansion_
    values = model.decision_function(given) if hasattr(model, "decision_function") else model.predict(given)
    weights = np.ones(len(y)) if weights is None else weights
    loss = float(np.sum(weights @ (y - values) ** 2))
    return loss, float(np.sum(alpha * np.asarray(function.norm()) ** 2))


def check_objective(model, loss, penalty, rtol=1e-7):
    found = model.objective_
    assert isinstance(found, Objective)
    np.testing.assert_allclose([found.loss, found.penalty, found], [loss, penalty, loss + penalty], rtol=rtol)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("targets", [Y[:, 0] + 3.0, Y], ids=["one", "two"])
@pytest.mark.parametrize(
    ("solver", "kernel"),
    [
        ("spectral", Gaussian()), ("cholesky", Gaussian()), ("cg", Gaussian()), ("nystroem", Gaussian()),
        ("nystroem", "rbf by hand"), ("primal", Polynomial(2, 1.0)), ("auto", Polynomial(2, 1.0)),
    ],
)  # fmt: skip
def test_ridge_says_what_it_minimised(solver, kernel, targets, intercept, weights):
    alpha = 0.3 if targets.ndim == 1 else np.array([0.3, 2.0])
    if isinstance(kernel, str):  # which no Gram matrix computes quickly

        def kernel(a, b):
            return float(np.exp(-np.sum((a - b) ** 2)))

    centers = {"n_centers": 20} if solver == "nystroem" else {}
    model = KernelRidge(alpha, kernel=kernel, solver=solver, fit_intercept=intercept, random_state=0, **centers)
    model.fit(X, targets, WEIGHTS if weights is not None else None)
    check_objective(model, *sum_squares(model, X, targets, weights, alpha), rtol=1e-5 if solver == "cg" else 1e-7)


def test_mean_and_sum_form_of_ridge_have_the_objective_of_the_sum_form():
    whole = KernelRidge(0.5 * N, kernel=Gaussian()).fit(X, Y)
    mean = KernelRidge(0.5, kernel=Gaussian(), scaling="mean").fit(X, Y)
    assert mean.objective_ == pytest.approx(whole.objective_)


def test_ridge_of_a_matrix_and_without_a_penalty():
    K = Gaussian()(X)
    model = KernelRidge(0.1, kernel="precomputed", fit_intercept=True).fit(K, Y[:, 0], WEIGHTS)
    check_objective(model, *sum_squares(model, K, Y[:, 0], WEIGHTS, 0.1))
    free = KernelRidge(0.0, kernel=Linear(), solver="spectral").fit(X, Y[:, 0])
    left = np.linalg.lstsq(X, Y[:, 0], rcond=None)[1][0]
    np.testing.assert_allclose([free.objective_.loss, free.objective_.penalty], [left, 0.0], rtol=1e-10)


def test_squares_beyond_all_numbers_are_infinite():
    model = KernelRidge(1.0, kernel=Gaussian()).fit(X, 1e200 * Y[:, 0])
    assert model.objective_ == np.inf


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
def test_searches_and_classifiers_by_ridge_say_what_they_minimised(weights):
    search = KernelRidgeCV(kernel=Gaussian(), alphas=[0.1, 1.0]).fit(X, Y, weights)
    check_objective(search, *sum_squares(search, X, Y, weights, search.alpha_))
    assert search.ridge_.objective_ is search.objective_
    model = KernelRidgeClassifier(class_weight={0: 2.0, 1: 1.0, 2: 0.5}).fit(X, LABELS, weights)
    signs = np.where(LABELS[:, None] == model.classes_, 1.0, -1.0)
    factors = np.array([2.0, 1.0, 0.5])[LABELS] * (1.0 if weights is None else weights)
    check_objective(model, *sum_squares(model, X, signs, factors, model.alpha_))


def test_objectives_survive_files_pickles_and_clones(tmp_path):
    model = KernelRidge(0.3, kernel=Gaussian()).fit(X, Y)
    mercer.save(model, tmp_path / "model")
    for again in (mercer.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert isinstance(again.objective_, Objective)
        assert (again.objective_.loss, again.objective_.penalty) == (model.objective_.loss, model.objective_.penalty)
    assert clone(model).fit(X, Y).objective_ == model.objective_
