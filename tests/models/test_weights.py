"""A point of weight 0 is as if it were not there, in every estimator that takes weights."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, ShuffleSplit

from mercer import models
from mercer.kernels import Gaussian

N, EXTRA = 48, 30
CLASSIFIERS = {
    "SVC": models.SVC(tol=1e-8),
    "SVC balanced": models.SVC(class_weight="balanced", tol=1e-8),
    "SVC auto": models.SVC(gamma="auto", kernel="poly", tol=1e-8),
    "hard margin": models.SVC(C=np.inf, kernel="linear", tol=1e-6),
    "NuSVC": models.NuSVC(nu=0.2, tol=1e-8),
    "SVCCV": models.SVCCV(Cs=[1.0, 10.0], cv=3, class_weight="balanced", tol=1e-6),
    "SVCCV splitter": models.SVCCV(Cs=[1.0], cv=ShuffleSplit(2, random_state=0), tol=1e-6),
    "logistic": models.KernelLogisticRegression(class_weight="balanced"),
    "logistic mean": models.KernelLogisticRegression(scaling="mean", class_weight={0: 2.0}),
    "logistic CV": models.KernelLogisticRegressionCV(class_weight="balanced"),
    "logistic folds": models.KernelLogisticRegressionCV([0.1, 1.0], cv=3, class_weight="balanced"),
    "logistic splitter": models.KernelLogisticRegressionCV([0.1, 1.0], cv=KFold(3)),
    "import vectors": models.ImportVectorMachine(class_weight="balanced"),
    "ridge classifier": models.KernelRidgeClassifier(class_weight="balanced"),
    "ridge classifier loo": models.KernelRidgeClassifier("loo", class_weight="balanced"),
    "perceptron": models.KernelPerceptron(max_iter=3, random_state=0),
    "Parzen": models.ParzenClassifier(),
}
REGRESSORS = {
    "SVR": models.SVR(tol=1e-8),
    "NuSVR": models.NuSVR(tol=1e-8),
    "SVRCV": models.SVRCV(cv=3, tol=1e-6),
    "SVRCV splitter": models.SVRCV(cv=KFold(3), tol=1e-6),
    "ridge": models.KernelRidge(0.1, kernel=Gaussian()),
    "ridge folds": models.KernelRidgeCV(kernel=Gaussian(), cv=3),
    "Parzen": models.ParzenRegressor(),
    "one class": models.OneClassSVM(tol=1e-8),
}


def _data(seed=0):
    """Points, targets and weights of which some are 0, at points far away that are mostly of the first class."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(N, 3)), 5 + 3 * rng.normal(size=(EXTRA, 3))])
    codes = (X[:, 0] + 0.3 * rng.normal(size=N + EXTRA) > 0).astype(int)
    codes[N:] = rng.uniform(size=EXTRA) < 0.1
    weights = np.concatenate([rng.uniform(0.5, 2.0, N), np.zeros(EXTRA)])
    order = rng.permutation(N + EXTRA)
    return X[order], codes[order], weights[order]


def _fit(model, X, y, weights):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_rows_of_weight_zero_are_as_if_left_out_of_classifiers(name):
    X, y, weights = _data()
    if name == "hard margin":
        X[:, 0] += 5.0 * np.where(y == 1, 1, -1)
    y = y.copy()
    y[np.flatnonzero(weights == 0)[:3]] = 7  # a label that occurs nowhere else
    kept = weights > 0
    model, alone = CLASSIFIERS[name], clone(CLASSIFIERS[name])
    _fit(model, X, y, weights)
    _fit(alone, X[kept], y[kept], weights[kept])
    assert model.classes_.tolist() == alone.classes_.tolist() == [0, 1]
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            np.testing.assert_allclose(getattr(model, method)(X), getattr(alone, method)(X), rtol=1e-5, atol=1e-6)
    if hasattr(model, "best_params_"):
        assert model.best_params_ == pytest.approx(alone.best_params_)
        assert model.best_score_ == pytest.approx(alone.best_score_, abs=1e-9)


@pytest.mark.parametrize("name", REGRESSORS)
def test_rows_of_weight_zero_are_as_if_left_out_of_regressors(name):
    X, _, weights = _data()
    kept = weights > 0
    y = np.where(kept, np.sin(X[:, 0]), 1e3)
    model, alone = REGRESSORS[name], clone(REGRESSORS[name])
    _fit(model, X, y, weights)
    _fit(alone, X[kept], y[kept], weights[kept])
    ask = getattr(model, "decision_function", model.predict), getattr(alone, "decision_function", alone.predict)
    np.testing.assert_allclose(ask[0](X), ask[1](X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("precomputed", [False, True])
def test_a_class_without_weight_is_no_class(precomputed):
    X, y, weights = _data()
    y = np.where(weights == 0, "far", np.where(y == 1, "yes", "no"))
    K, kernel = (Gaussian()(X), "precomputed") if precomputed else (X, Gaussian())
    for model in (
        models.SVC(kernel=kernel, class_weight="balanced"),
        models.NuSVC(nu=0.2, kernel=kernel),
        models.SVCCV([1.0], kernel=kernel),
        models.KernelLogisticRegression(kernel=kernel, class_weight="balanced"),
        models.KernelRidgeClassifier(kernel=kernel, class_weight="balanced"),
    ):
        assert model.fit(K, y, weights).classes_.tolist() == ["no", "yes"]
        assert set(model.predict(K)) == {"no", "yes"}


def test_weights_that_leave_one_class_are_refused():
    X, y, weights = _data()
    weights[y == 1] = 0.0
    for model in (models.SVC(), models.NuSVC(), models.SVCCV(), models.KernelLogisticRegression()):
        with pytest.raises(ValueError, match="class"):
            model.fit(X, y, weights)
