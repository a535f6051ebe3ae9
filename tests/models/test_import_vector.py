"""The import vector machine."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from mercer.kernels import Custom, Gaussian
from mercer.models.import_vector import ImportVectorMachine
from mercer.models.logistic import KernelLogisticRegression


@pytest.fixture
def moons():
    return make_moons(120, noise=0.25, random_state=0)


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


def test_import_vectors_are_training_points_and_carry_the_function(moons, iris):
    for X, y in (moons, iris):
        model = ImportVectorMachine(kernel=Gaussian()).fit(X, y)
        assert model.n_import_vectors_ == len(model.import_indices_) == len(model.dual_coef_)
        np.testing.assert_array_equal(model.import_vectors_, X[model.import_indices_])
        by_hand = Gaussian()(X, model.import_vectors_) @ model.dual_coef_ + model.intercept_
        np.testing.assert_allclose(model.decision_function(X), by_hand, atol=1e-9)
        assert (np.diff(model.objective_history_) <= 0).all()
        assert model.objective_ <= model.objective_history_[-1] * (1 + 1e-12)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("scaling", ["sum", "mean"])
def test_with_all_points_allowed_it_is_kernel_logistic_regression(iris, scaling):
    X, y = iris
    X, y = X[::3], y[::3]
    options = {"alpha": 0.02, "kernel": Gaussian(), "scaling": scaling, "tol": 1e-12}
    full = KernelLogisticRegression(**options).fit(X, y)
    model = ImportVectorMachine(**options, min_drop=0.0).fit(X, y)
    assert model.objective_ == pytest.approx(full.objective_, rel=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), full.predict_proba(X), atol=1e-5)


def test_no_choice_of_vectors_beats_all_of_them(moons):
    X, y = moons
    full = KernelLogisticRegression(kernel=Gaussian(0.5)).fit(X, y)
    model = ImportVectorMachine(kernel=Gaussian(0.5)).fit(X, y)
    assert full.objective_ <= model.objective_ <= 1.05 * full.objective_


def test_far_fewer_vectors_than_a_support_vector_machine_at_equal_error():
    X, y = make_moons(600, noise=0.25, random_state=2)
    ours = ImportVectorMachine(0.5, kernel=Gaussian(0.5)).fit(X[:300], y[:300])
    theirs = SVC(C=1.0, gamma=2.0).fit(X[:300], y[:300])
    assert ours.n_import_vectors_ <= theirs.n_support_.sum() / 3
    assert ours.score(X[300:], y[300:]) >= theirs.score(X[300:], y[300:]) - 0.02


def test_weights_are_repeated_points_and_zero_is_absence(moons):
    X, y = moons
    weights = np.arange(len(y)) % 3
    weighed = ImportVectorMachine(kernel=Gaussian()).fit(X, y, weights)
    repeated = ImportVectorMachine(kernel=Gaussian()).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighed.predict_proba(X), repeated.predict_proba(X), atol=1e-6)
    assert (weights[weighed.import_indices_] > 0).all()


def test_candidates_and_blocks_are_reproducible_and_end(moons):
    X, y = moons
    model = ImportVectorMachine(kernel=Gaussian(0.5), candidates=20, block_size=3, random_state=0)
    one, other = clone(model).fit(X, y), clone(model).fit(X, y)
    np.testing.assert_array_equal(one.import_indices_, other.import_indices_)
    assert one.n_import_vectors_ > len(one.objective_history_) - 1  # several in a round
    few = clone(model).set_params(max_vectors=4).fit(X, y)
    assert few.n_import_vectors_ == 4


def test_deletion_leaves_a_smaller_model(moons):
    X, y = moons
    plain = ImportVectorMachine(kernel=Gaussian(0.5)).fit(X, y)
    pruned = ImportVectorMachine(kernel=Gaussian(0.5), deletion=True).fit(X, y)
    assert pruned.n_import_vectors_ < plain.n_import_vectors_
    assert pruned.objective_ < 1.05 * plain.objective_


@pytest.mark.parametrize("classes", [2, 3])
def test_any_objects_and_labels_will_do(classes):
    words = ["ab", "abc", "abd", "xy", "xyz", "wxy", "pq", "pqr", "opq"][: 3 * classes]
    labels = np.repeat(["first", "second", "third"][:classes], 3)
    kernel = Custom(lambda x, z: float(len(set(x) & set(z))))
    model = ImportVectorMachine(kernel=kernel).fit(words, labels)
    np.testing.assert_array_equal(model.predict(["abe", "xyv", "pqs"][:classes]), labels[::3])
    assert set(model.import_vectors_) <= set(words)
    given = ImportVectorMachine(kernel="precomputed").fit(kernel(words), labels)
    np.testing.assert_array_equal(given.import_indices_, model.import_indices_)
    np.testing.assert_allclose(given.predict_proba(kernel(words)), model.predict_proba(words), atol=1e-8)


def test_it_can_be_pickled(moons):
    X, y = moons
    model = ImportVectorMachine().fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1.0}, "alpha must be a positive number"),
        ({"candidates": 0}, "candidates must be a whole number"),
        ({"block_size": 0}, "block_size must be a whole number"),
        ({"look_back": 1.5}, "look_back must be a whole number"),
        ({"min_drop": -0.1}, "min_drop must be"),
        ({"max_vectors": 0}, "max_vectors must be a whole number"),
    ],
    ids=str,
)
def test_bad_options_are_named_and_leave_the_object_unfitted(moons, options, message):
    model = ImportVectorMachine(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(*moons)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_bad_data_is_named_and_keeps_what_was_fitted(moons):
    X, y = moons
    model = ImportVectorMachine().fit(X, y)
    before = model.predict_proba(X)
    broken = X.copy()
    broken[3, 1] = np.nan
    for args, message in (((broken, y), "NaN"), ((X, 0 * y), "only one class"), ((X[:1], y[:1]), "only one class")):
        with pytest.raises(ValueError, match=message):
            model.fit(*args)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.slow
def test_the_checks_of_scikit_learn_pass():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # the array API is not enabled
        check_estimator(ImportVectorMachine(max_vectors=8))


@pytest.mark.parametrize("kernel", [Gaussian(), 0.0 * Gaussian()])
@pytest.mark.parametrize("classes", [2, 3])
def test_without_import_vectors_the_model_is_its_intercept(kernel, classes):
    X, y = np.zeros((12, 2)), np.arange(12) % classes
    model = ImportVectorMachine(kernel=kernel).fit(X, y)
    assert len(model.import_vectors_) == 0
    np.testing.assert_allclose(model.predict_proba(np.ones((5, 2))), 1.0 / classes, atol=1e-6)
    np.testing.assert_array_equal(model.expansion_.norm(), 0.0)
