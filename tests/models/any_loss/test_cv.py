"""Penalties chosen by the loss on points left out: one Newton step against real refits, and the whole path."""

import numpy as np
import pytest

import mercer
from mercer import KernelClassifier, KernelClassifierCV, KernelRegressor, KernelRegressorCV, losses
from mercer.kernels import Gaussian
from mercer.losses.text import parse_loss
from mercer.solvers.base import Problem
from mercer.solvers.newton.sums import WeightedLoss
from mercer.solvers.representer.scores import approximate_loo, find_level

K = Gaussian(1.3)


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (70, 2))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.3 * rng.normal(size=70), rng.uniform(0.3, 2.0, 70)


REGRESSION = ["Squared", "Expectile(.8)", "Huber(.3)", "LogCosh", "SquaredEpsilonInsensitive(.1)", "Poisson", "Gamma"]


def _targets(loss, y):
    return np.floor(3 * np.exp(y)) + (loss == "Gamma") if loss in ("Poisson", "Gamma") else y


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", REGRESSION)
def test_one_newton_step_leaves_out_a_point(points, loss, fit_intercept):
    X, y, w = points
    y = _targets(loss, y)
    alpha = 3.0 if loss in ("Poisson", "Gamma") else 0.5
    options = {"kernel": K, "fit_intercept": fit_intercept, "tol": 1e-11}
    whole = KernelRegressor(loss, alpha, **options).fit(X, y, w)
    summed = WeightedLoss(parse_loss(loss), y[:, None], w, 1)
    outputs = whole.expansion_(X)
    close = approximate_loo(K(X), outputs[:, None], summed, alpha, fit_intercept)[:, 0]
    off = []
    for i in range(0, 70, 7):
        rest = np.delete(np.arange(70), i)
        exact = KernelRegressor(loss, alpha, **options).fit(X[rest], y[rest], w[rest]).expansion_(X[i : i + 1])[0]
        off.append((abs(close[i] - exact), abs(exact - outputs[i])))
    off, moved = np.array(off).T
    assert off.sum() <= (1e-6 if loss == "Squared" else 0.15) * moved.sum()


@pytest.mark.parametrize("loss", ["SquaredHinge", "Logistic", "Exponential"])
def test_one_newton_step_leaves_out_a_labelled_point(points, loss):
    X, y, w = points
    labels = y > 0
    whole = KernelClassifier(loss, 1.0, kernel=K, tol=1e-11).fit(X, labels, w)
    outputs = whole.decision_function(X)
    summed = WeightedLoss(parse_loss(loss), np.where(labels, 1.0, -1.0)[:, None], w, 1)
    close = approximate_loo(K(X), outputs[:, None], summed, 1.0, True)[:, 0]
    off = []
    for i in range(0, 70, 7):
        rest = np.delete(np.arange(70), i)
        exact = KernelClassifier(loss, 1.0, kernel=K, tol=1e-11).fit(X[rest], labels[rest], w[rest])
        exact = exact.decision_function(X[i : i + 1])[0]
        off.append((abs(close[i] - exact), abs(exact - outputs[i])))
    off, moved = np.array(off).T
    assert off.sum() <= 0.1 * moved.sum()


def test_the_squared_loss_chooses_what_ridge_chooses(points):
    X, y, _ = points
    alphas = np.logspace(-3, 2, 11)
    ours = KernelRegressorCV("Squared", alphas, kernel=K).fit(X, y)
    ridge = mercer.KernelRidgeCV(alphas, kernel=K).fit(X, y)
    assert ours.path_["by"] == "leave-one-out"
    assert ours.alpha_ == pytest.approx(ridge.alpha_)
    np.testing.assert_allclose(ours.predict(X), ridge.predict(X), atol=1e-3)
    exact = [
        np.mean((mercer.KernelRidge(a, kernel=K, fit_intercept=True).fit(X, y).leave_one_out() - y) ** 2)
        for a in alphas
    ]
    np.testing.assert_allclose(ours.path_["losses"][0], exact, rtol=1e-3)
    assert ours.best_score_ == -ours.path_["losses"].min()


@pytest.mark.parametrize("loss", ["Huber(.2)", "Quantile(.8)", "Poisson"])
def test_the_model_is_that_of_the_best_penalty(points, loss):
    X, y, w = points
    y = _targets(loss, y)
    model = KernelRegressorCV(loss, [0.01, 0.3, 10.0], kernel=K, tol=1e-7).fit(X, y, w)
    assert model.path_["by"] == ("folds" if loss.startswith("Quantile") else "leave-one-out")
    again = KernelRegressor(loss, model.alpha_, kernel=K, tol=1e-7).fit(X, y, w)
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), model.regressor_.predict(X))
    assert model.alpha_ == model.path_["alphas"][model.path_["losses"].min(axis=0).argmin()]
    assert model.converged_


def test_folds_are_judged_by_real_fits(points):
    X, y, w = points
    folds = [(np.arange(0, 50), np.arange(50, 70)), (np.arange(20, 70), np.arange(20))]
    model = KernelRegressorCV("Quantile(.7)", [0.1, 1.0], kernel=K, cv=folds).fit(X, y, w)
    total = np.zeros(2)
    for fit, held in folds:
        for j, alpha in enumerate([0.1, 1.0]):
            one = KernelRegressor("Quantile(.7)", alpha, kernel=K).fit(X[fit], y[fit], w[fit])
            total[j] += w[held] @ losses.Quantile(0.7).value(y[held], one.predict(X[held]))
    np.testing.assert_allclose(model.path_["losses"][0], total / sum(w[held].sum() for _, held in folds), rtol=1e-3)


@pytest.mark.parametrize("loss", ["SquaredHinge", "Hinge", "Softmax", "Logistic"])
def test_classes_are_chosen_for(points, loss):
    X, y, w = points
    labels = np.digitize(y, [-0.6, 0.6])
    model = KernelClassifierCV(loss, [0.01, 0.1, 1.0], kernel=K).fit(X, labels, w)
    again = KernelClassifier(loss, model.alpha_, kernel=K).fit(X, labels, w)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    assert model.score(X, labels) > 0.7
    if loss != "Hinge":
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_default_penalties_do_not_depend_on_units(points, unit):
    X, y, _ = points
    for loss, scaled in (("Squared", "Squared"), ("Quantile(.7)", "Quantile(.7)"), ("Huber(1)", f"Huber({unit})")):
        plain = KernelRegressorCV(loss, kernel=K, cv=2).fit(X[:40], y[:40])
        other = KernelRegressorCV(scaled, kernel=K, cv=2).fit(X[:40], unit * y[:40])
        np.testing.assert_allclose(other.predict(X) / unit, plain.predict(X), rtol=2e-2, atol=2e-2)


def test_the_level_of_squares_is_twice_the_kernel(points):
    X, y, w = points
    for loss, level in ((losses.Squared(), 2.0), (losses.Huber(1e6), 1.0)):
        problem = Problem(3.0 * K, X, y[:, None], w, True)
        assert find_level(problem, WeightedLoss(loss, y[:, None], w, 1)) == pytest.approx(3.0 * level, rel=1e-6)


def test_several_kernels_and_length_scales(points):
    X, y, _ = points
    model = KernelRegressorCV("LogCosh", [0.1, 1.0], kernel=K, length_scales=[0.1, 1.0, 30.0]).fit(X, y)
    assert model.path_["losses"].shape == (3, 2)
    assert model.path_["length_scales"] == [0.1, 1.0, 30.0]
    assert model.kernel_ == Gaussian(1.0)
    model = KernelRegressorCV("LogCosh", [0.1, 1.0], kernel=[Gaussian(30.0), K]).fit(X, y)
    assert model.kernel_ == K
