"""Kernel logistic regression."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError, SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from mercer.expansion import Expansion
from mercer.kernels import Custom, Gaussian, Linear, Sigmoid
from mercer.models.import_vector import ImportVectorMachine
from mercer.models.logistic import KernelLogisticRegression
from mercer.models.logistic_cv import KernelLogisticRegressionCV

SOLVERS = ["newton", "newton-cg", "nystroem"]


@pytest.fixture
def moons():
    return make_moons(60, noise=0.25, random_state=0)


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_with_the_linear_kernel_it_is_logistic_regression(iris, classes, solver, fit_intercept):
    X, y = iris
    y = y if classes == 3 else (y == 1).astype(int)
    weights = np.linspace(0.5, 2.0, len(y))
    alpha = 0.4
    options = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
    theirs = LogisticRegression(C=1 / (2 * alpha), fit_intercept=fit_intercept, **options).fit(X, y, weights)
    ours = KernelLogisticRegression(
        alpha, kernel=Linear(), solver=solver, fit_intercept=fit_intercept, tol=1e-14, random_state=0
    ).fit(X, y, weights)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    slope = ours.dual_coef_.T @ (X if len(ours.dual_coef_) == len(X) else ours.expansion_.centers)
    np.testing.assert_allclose(np.atleast_2d(slope), theirs.coef_, atol=2e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_sum_to_one_and_functions_of_all_classes_to_zero(iris, classes, solver):
    X, y = iris
    y = y if classes == 3 else (y == 1).astype(int)
    model = KernelLogisticRegression(0.1, kernel=Gaussian(2.0), solver=solver, random_state=0).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (150, classes)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X), rtol=1e-10)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    assert len(model.expansions_) == (1 if classes == 2 else 3)
    if classes == 3:
        np.testing.assert_allclose(model.decision_function(X).sum(axis=1), 0, atol=1e-7)
        for q, f in enumerate(model.expansions_):
            np.testing.assert_allclose(f(X), model.decision_function(X)[:, q], atol=1e-12)
    # Probabilities are right on average, by construction of the intercept.
    np.testing.assert_allclose(p.mean(axis=0), np.bincount(y) / len(y), atol=1e-6)


@pytest.mark.parametrize("size", [1e4, -1e4])
def test_probabilities_survive_huge_outputs(moons, iris, size):
    for X, y in (moons, iris):
        model = KernelLogisticRegression().fit(X, y)
        f = model.expansion_
        model.expansion_ = Expansion(f.kernel, f.centers, f.coef, np.broadcast_to(0.0, f.coef.shape[1:]) + size)
        if f.coef.ndim == 2:
            model.expansion_.intercept[1] = 0.0
        p, logs = model.predict_proba(X), model.predict_log_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
        assert np.isfinite(logs).all()
        assert logs.min() < -0.9e4


def test_the_certificate_is_met_and_reported(moons):
    model = KernelLogisticRegression(0.01, tol=1e-9).fit(*moons)
    assert model.converged_
    assert 0 <= model.duality_gap_.absolute <= 1e-9 * model.objective_
    assert model.n_iter_ > 1
    assert model.plan_.solver == "newton"
    assert "cheap" in model.plan_.reason


def test_the_gap_is_one_to_the_true_minimum_and_the_flag_follows_the_gap_of_what_was_solved(moons):
    best = KernelLogisticRegression(0.001, kernel=Gaussian(0.3), tol=1e-10).fit(*moons)
    assert best.restricted_gap_ == best.duality_gap_.absolute
    for model in (
        KernelLogisticRegression(0.001, kernel=Gaussian(0.3), n_centers=3, random_state=0),
        KernelLogisticRegressionCV([0.001], kernel=Gaussian(0.3), n_centers=3, random_state=0),
        ImportVectorMachine(0.001, kernel=Gaussian(0.3), max_vectors=3),
    ):
        model.fit(*moons)
        assert model.converged_
        assert model.restricted_gap_ <= 1e-8 * model.objective_
        excess = model.objective_ - best.objective_
        assert model.duality_gap_.absolute >= excess - 1e-8 * model.objective_
        assert excess > model.restricted_gap_  # which would be no bound


def test_too_few_steps_are_reported_with_the_remedy(moons):
    with pytest.warns(ConvergenceWarning, match="raise max_iter, which is 1"):
        model = KernelLogisticRegression(0.01, max_iter=1).fit(*moons)
    assert not model.converged_
    assert model.duality_gap_.relative > 1e-8


def test_the_mean_form_is_the_sum_form_with_a_scaled_penalty(moons):
    X, y = moons
    weights = np.linspace(0.5, 2.0, len(y))
    mean = KernelLogisticRegression(0.01, scaling="mean").fit(X, y, weights)
    total = KernelLogisticRegression(0.01 * weights.sum()).fit(X, y, weights)
    np.testing.assert_allclose(mean.decision_function(X), total.decision_function(X), rtol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_are_repeated_points_and_zero_is_absence(iris, classes):
    X, y = iris
    X, y = X[::3], (y if classes == 3 else (y == 1).astype(int))[::3]
    weights = np.arange(len(y)) % 3
    model = KernelLogisticRegression(0.1, kernel=Gaussian(2.0), tol=1e-12)
    weighed = clone(model).fit(X, y, weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighed.predict_proba(X), repeated.predict_proba(X), atol=1e-7)
    assert not weighed.dual_coef_[weights == 0].any()
    assert weighed.dual_coef_.shape[0] == len(y)


def test_a_class_without_weight_is_not_there(iris):
    X, y = iris
    model = KernelLogisticRegression().fit(X, y, (y != 1).astype(float))
    np.testing.assert_array_equal(model.classes_, [0, 2])


def test_class_weights_multiply_sample_weights(iris):
    X, y = iris
    given, weights = {0: 1.0, 1: 3.0, 2: 0.5}, np.linspace(1.0, 2.0, len(y))
    one = KernelLogisticRegression(class_weight=given).fit(X, y, weights)
    other = KernelLogisticRegression().fit(X, y, weights * np.array([given[label] for label in y]))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-6)


def test_permuting_rows_changes_nothing(moons):
    X, y = moons
    order = np.random.default_rng(0).permutation(len(y))
    one, other = (
        KernelLogisticRegression(tol=1e-12).fit(X, y),
        KernelLogisticRegression(tol=1e-12).fit(X[order], y[order]),
    )
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-7)


def test_swapping_two_classes_changes_the_sign(moons):
    X, y = moons
    one, other = KernelLogisticRegression(tol=1e-12).fit(X, y), KernelLogisticRegression(tol=1e-12).fit(X, 1 - y)
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), rtol=1e-7)


@pytest.mark.parametrize("labels", [["no", "yes"], [-1, 1], [True, False], [2.0, 3.0]], ids=str)
def test_labels_may_be_anything(moons, labels):
    X, y = moons
    named = np.array(labels)[y]
    model = KernelLogisticRegression().fit(X, named)
    assert set(model.predict(X)) <= set(named)
    assert model.score(X, named) > 0.9


@pytest.mark.parametrize("classes", [2, 3])
def test_any_objects_will_do(classes):
    words = ["ab", "abc", "abd", "xy", "xyz", "wxy", "pq", "pqr", "opq"][: 3 * classes]
    labels = np.repeat(["first", "second", "third"][:classes], 3)
    kernel = Custom(lambda x, z: float(len(set(x) & set(z))))
    model = KernelLogisticRegression(0.1, kernel=kernel).fit(words, labels)
    np.testing.assert_array_equal(model.predict(["abe", "xyv", "pqs"][:classes]), labels[::3])
    few = KernelLogisticRegression(0.1, kernel=kernel, n_centers=4, random_state=0).fit(words, labels)
    assert few.plan_.solver == "nystroem"
    assert few.predict_proba(words).shape == (len(words), classes)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_precomputed_matrix_gives_the_same_model(iris, solver):
    X, y = iris
    K = Gaussian(2.0)(X)
    weights = (np.arange(150) % 4).astype(float)
    options = {"solver": solver, "random_state": 0, "n_centers": 40}
    direct = KernelLogisticRegression(kernel=Gaussian(2.0), **options).fit(X, y, weights)
    given = KernelLogisticRegression(kernel="precomputed", **options).fit(K, y, weights)
    np.testing.assert_allclose(given.predict_proba(K), direct.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("kernel", [None, "rbf", Gaussian(1.0)])
def test_sparse_data_and_frames_give_the_same_as_arrays(iris, kernel):
    X, y = iris
    model = KernelLogisticRegression(kernel=kernel)
    dense = clone(model).fit(X, y).predict_proba(X)
    rows = sparse.csr_array(X)
    np.testing.assert_allclose(clone(model).fit(rows, y).predict_proba(rows), dense, atol=1e-7)
    frame = pd.DataFrame(X, columns=list("abcd"))
    framed = clone(model).fit(frame, y)
    np.testing.assert_allclose(framed.predict_proba(frame), dense, atol=1e-7)
    np.testing.assert_array_equal(framed.feature_names_in_, list("abcd"))


def test_it_works_in_pipelines_searches_and_pickles(moons):
    X, y = moons
    grid = {"kernellogisticregression__alpha": [0.1, 1.0], "kernellogisticregression__kernel__length_scale": [0.5, 1.0]}
    pipe = make_pipeline(StandardScaler(), KernelLogisticRegression(kernel=Gaussian()))
    search = GridSearchCV(pipe, grid, cv=3, scoring="neg_log_loss").fit(X, y)
    assert search.score(X, y) > -0.4
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict_proba(X), search.best_estimator_.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alpha": 0.0}, ValueError, "alpha must be a positive number"),
        ({"alpha": "best"}, ValueError, "alpha must be a positive number"),
        ({"scaling": "median"}, ValueError, "scaling must be"),
        ({"tol": -1.0}, ValueError, "tol must be a positive number"),
        ({"max_iter": 0}, ValueError, "max_iter must be a whole number"),
        ({"n_centers": 2.5}, ValueError, "n_centers must be a whole number"),
        ({"solver": "magic"}, ValueError, "solver must be"),
        ({"kernel": "gauss"}, ValueError, "kernel must be"),
        ({"kernel": Sigmoid(scale=-1.0)}, ValueError, "positive semi-definite"),
        ({"memory": 1000}, MemoryError, "memory budget"),
    ],
    ids=str,
)
def test_bad_options_are_named_and_leave_the_object_unfitted(moons, options, error, message):
    model = KernelLogisticRegression(**options)
    with pytest.raises(error, match=message):
        model.fit(*moons)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_bad_data_is_named(moons):
    X, y = moons
    broken = X.copy()
    broken[3, 1] = np.nan
    model = KernelLogisticRegression().fit(X, y)
    before = model.predict_proba(X)
    for args, message in (
        ((broken, y), "NaN"),
        ((X, y[:5]), "X has 60 points, so y must have 60 labels; got 5"),
        ((X, np.zeros(60)), "only one class"),
        ((X[:1], y[:1]), "only one class"),
        ((X, y, np.zeros(60)), "all sample weights are zero"),
        ((X, y, -np.ones(60)), "not negative"),
        ((X, y, (y == 0).astype(float)), "only one class"),
        ((X, None), "requires y"),
        ((X, np.linspace(0.0, 1.0, 60)), "Unknown label type"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(*args)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(ValueError, match="square"):
        KernelLogisticRegression(kernel="precomputed").fit(X, y)


def test_the_checks_of_scikit_learn_pass():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # the array API is not enabled
        check_estimator(KernelLogisticRegression())
