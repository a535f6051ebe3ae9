"""Classification by ridge regression on labels."""

import pickle
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer.kernels import Constant, Custom, Gaussian, Linear, Sigmoid
from mercer.learning import class_penalty
from mercer.learning.class_penalty import PenaltyChoice
from mercer.models.ridge import KernelRidge
from mercer.models.ridge_classifier import KernelRidgeClassifier


@pytest.fixture
def moons():
    return make_moons(80, noise=0.2, random_state=0)


def test_two_classes_are_a_regression_on_plus_and_minus_one(moons):
    X, y = moons
    model = KernelRidgeClassifier(alpha=0.1, kernel=Gaussian()).fit(X, y)
    regression = KernelRidge(0.1, kernel=Gaussian(), fit_intercept=True).fit(X, 2.0 * y - 1)
    np.testing.assert_allclose(model.decision_function(X), regression.predict(X))
    np.testing.assert_array_equal(model.predict(X), regression.predict(X) > 0)
    assert model.decision_function(X).shape == (80,)


def test_several_classes_have_a_function_each_and_keep_their_names():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = KernelRidgeClassifier().fit(X, names)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, names) > 0.96
    np.testing.assert_allclose(
        model.decision_function(X), KernelRidge(
            model.alpha_, kernel=model.kernel_, fit_intercept=True
        ).fit(X, 2.0 * (names[:, None] == model.classes_) - 1).predict(X), atol=1e-8,
    )  # fmt: skip


@pytest.mark.parametrize("kernel", [Gaussian(), Linear() + Constant(1)], ids=str)
def test_the_penalty_chosen_has_the_least_error_of_all_refits(moons, kernel):
    X, y = moons[0][:20], moons[1][:20]
    targets = 2.0 * y - 1
    model = KernelRidgeClassifier(alphas=[1e-3, 0.1, 1.0, 100.0], kernel=kernel).fit(X, y)
    errors, correct = [], []
    for alpha in model.alphas_:
        left_out = []
        for i in range(20):
            rest = np.arange(20) != i
            without = KernelRidge(alpha, kernel=kernel, fit_intercept=True).fit(X[rest], targets[rest])
            left_out.append(without.predict(X[i : i + 1])[0])
        errors.append(np.mean((targets - left_out) ** 2))
        correct.append(np.mean(targets * left_out > 0))
    np.testing.assert_allclose(model.loo_errors_, errors, rtol=1e-6)
    assert model.alpha_ == model.alphas_[np.argmin(errors)]
    assert model.loo_accuracy_ == pytest.approx(correct[np.argmin(errors)])


def test_penalties_that_are_rounding_are_not_chosen_and_of_equal_ones_the_largest(moons):
    X, y = moons
    alphas = 10.0 ** np.arange(-18.0, 3.0, 2.0)
    model = KernelRidgeClassifier(alphas=alphas, kernel=Gaussian(3.0)).fit(X, y)
    assert model.loo_errors_[0] == np.inf
    assert np.isfinite(model.loo_errors_[alphas == model.alpha_]).all()
    assert PenaltyChoice.of(np.array([1.0, 3.0, 2.0]), np.array([[0.5, 1.0]] * 3)).alpha == 3.0


def test_the_default_does_well_without_help(moons):
    X, y = moons
    scaled = 1000 * X + 5  # units do not matter
    assert cross_val_score(KernelRidgeClassifier(), X, y, cv=4).mean() > 0.9
    assert cross_val_score(KernelRidgeClassifier(), scaled, y, cv=4).mean() > 0.9


def test_many_points_choose_the_penalty_on_a_sample(moons, monkeypatch):
    X, y = moons
    monkeypatch.setattr(class_penalty, "SPECTRAL_LIMIT", 40)
    monkeypatch.setattr(import_module("mercer.solvers.plan"), "SPECTRAL_LIMIT", 40)
    model = KernelRidgeClassifier(random_state=0).fit(X, y)
    assert model.alpha_ == clone(model).fit(X, y).alpha_
    assert model.score(X, y) > 0.9


def test_classes_can_have_weights(moons):
    X, y = moons
    rare = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:5]]
    plain = KernelRidgeClassifier(alpha=5.0, kernel=Gaussian()).fit(X[rare], y[rare])
    fair = KernelRidgeClassifier(alpha=5.0, kernel=Gaussian(), class_weight="balanced").fit(X[rare], y[rare])
    assert (fair.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()


def test_weights_of_zero_leave_points_out(moons):
    X, y = moons
    weights = np.r_[np.zeros(30), np.ones(50)]
    model = KernelRidgeClassifier().fit(X, y, weights)
    without = KernelRidgeClassifier().fit(X[30:], y[30:])
    np.testing.assert_allclose(model.decision_function(X), without.decision_function(X), rtol=1e-7)


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({}, [0, 0, 0], "only one class, "),
        ({}, [0, 1], "X has 3 points, so y must have 3 labels; got 2"),
        ({}, [0.1, 0.2, 0.3], "Unknown label type"),
        ({}, None, "requires y"),
        ({"alpha": "cv"}, [0, 1, 0], "alpha must be a number or 'loo'"),
        ({"alpha": -1.0}, [0, 1, 0], "not negative"),
        ({"alphas": [0.0, 1.0]}, [0, 1, 0], "alphas must be a list of positive penalties"),
        ({"kernel": Sigmoid(1.0, -1.0)}, [0, 1, 0], "assume_psd=True"),
        ({"kernel": "precomputed"}, [0, 1, 0], "a square matrix"),
    ],
)
def test_bad_input_is_refused(options, y, message):
    with pytest.raises(ValueError, match=message):
        KernelRidgeClassifier(**options).fit([[0.0], [1.0], [2.0]], y)


def test_a_fit_that_fails_leaves_the_model_as_it_was(moons):
    X, y = moons
    model = KernelRidgeClassifier().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="one class"):
        model.fit(X[:, :1], np.zeros(80))
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_two_points_one_of_each_class_are_enough():
    model = KernelRidgeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    assert model.predict([[0.1], [0.9]]).tolist() == ["no", "yes"]


def test_precomputed_matrices_and_objects_work(moons):
    X, y = moons
    k = Gaussian()
    by_matrix = KernelRidgeClassifier(kernel="precomputed").fit(k(X), y)
    by_kernel = KernelRidgeClassifier(kernel=k).fit(X, y)
    np.testing.assert_allclose(by_matrix.decision_function(k(X)), by_kernel.decision_function(X), rtol=1e-6)
    words = KernelRidgeClassifier(kernel=Custom(lambda x, z: len(set(x) & set(z)))).fit(
        ["aab", "ab", "cd", "cdd"], [0, 0, 1, 1]
    )
    assert words.predict(["a", "d"]).tolist() == [0, 1]


def test_it_keeps_good_company(moons):
    X, y = moons
    frame = pd.DataFrame(X, columns=["a", "b"])
    pipe = make_pipeline(StandardScaler(), KernelRidgeClassifier(kernel=Gaussian()))
    search = GridSearchCV(pipe, {"kernelridgeclassifier__kernel__length_scale": [0.5, 2.0]}, cv=3).fit(frame, y)
    assert search.best_score_ > 0.85
    model = KernelRidgeClassifier(kernel="rbf").fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(frame), model.predict(frame))
    assert "variance explained" in str(model.regressor_.diagnose())
