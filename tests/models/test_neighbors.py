"""Classes and means of nearest neighbours in feature space, against scikit-learn."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils.estimator_checks import check_estimator

from mercer.kernels import Custom, Gaussian, Overlap, Polynomial
from mercer.models.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(30, 3))
    return X, rng.integers(0, 3, size=80), np.column_stack([np.sin(X[:, 0]), X[:, 1]]), new


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)], ids=["uniform", "distance", "exp"])
@pytest.mark.parametrize("k", [1, 5])
def test_the_linear_kernel_is_scikit_learns_neighbours(data, algorithm, weights, k):
    X, labels, targets, new = data
    options = {"n_neighbors": k, "weights": weights}
    ours, theirs = KernelNeighborsClassifier(**options), KNeighborsClassifier(**options, algorithm=algorithm)
    ours.fit(X, labels), theirs.fit(X, labels)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), rtol=1e-12, atol=1e-14)
    for queries in (new, None):
        for mine, other in zip(ours.kneighbors(queries), theirs.kneighbors(queries), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-14)
    np.testing.assert_array_equal(
        ours.kneighbors(new, 3, return_distance=False), theirs.kneighbors(new, 3, return_distance=False)
    )
    regression = KNeighborsRegressor(**options, algorithm=algorithm).fit(X, targets).predict(new)
    np.testing.assert_allclose(KernelNeighborsRegressor(**options).fit(X, targets).predict(new), regression, rtol=1e-12)
    np.testing.assert_allclose(
        KernelNeighborsRegressor(**options).fit(X, targets[:, 0]).predict(new), regression[:, 0], rtol=1e-12
    )


def test_several_outputs_are_classified_as_one_by_one(data):
    X, labels, _, new = data
    both = np.column_stack([labels, labels % 2])
    model = KernelNeighborsClassifier(5).fit(X, both)
    alone = [KernelNeighborsClassifier(5).fit(X, column) for column in both.T]
    np.testing.assert_array_equal(model.predict(new), np.column_stack([one.predict(new) for one in alone]))
    for shares, one in zip(model.predict_proba(new), alone, strict=True):
        np.testing.assert_array_equal(shares, one.predict_proba(new))


@pytest.mark.parametrize(
    "model",
    [
        KernelNeighborsClassifier(),
        KernelNeighborsClassifier(3, kernel=Polynomial(2), weights="distance"),
        KernelNeighborsRegressor(),
        KernelNeighborsRegressor(3, kernel=Gaussian(), weights="distance"),
    ],
    ids=["classifier", "classifier-polynomial", "regressor", "regressor-gaussian"],
)
def test_the_checks_of_scikit_learn_pass(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # the array API is not enabled
        check_estimator(model)


def test_words_are_classified_by_common_letters():
    letters = Custom(lambda a, b: float(len(set(a) & set(b))))
    words, kinds = ["kernel", "eigen", "dog", "frog"], ["maths", "maths", "pet", "pet"]
    model = KernelNeighborsClassifier(2, kernel=letters).fit(words, kinds)
    squared = letters.distance(["keel", "god"], words)
    order = np.argsort(squared, axis=1, kind="stable")[:, :2]
    expected = np.sqrt(np.take_along_axis(squared, order, axis=1))
    distances, indices = model.kneighbors(["keel", "god"])
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, expected)
    assert model.predict(["keel", "god"]).tolist() == ["maths", "pet"]
    assert KernelNeighborsRegressor(kernel=letters).fit(words, [1.0, 2.0, 3.0, 4.0]).predict(["dog"]) == 3.0


def test_categories_are_points_too():
    rows = [["red", "round"], ["green", "round"], ["red", "long"]]
    model = KernelNeighborsClassifier(kernel=Overlap()).fit(np.array(rows, dtype=object), ["cherry", "pea", "chilli"])
    assert model.predict(np.array([["red", "long"]], dtype=object)) == ["chilli"]


def test_one_point_and_one_class_have_an_answer():
    model = KernelNeighborsClassifier().fit([[1.0]], ["only"])
    assert model.predict([[5.0]]).tolist() == ["only"]
    np.testing.assert_array_equal(model.predict_proba([[5.0]]), [[1.0]])
    with pytest.raises(ValueError, match="n_neighbors = 1 and there are 0"):
        model.kneighbors()
    assert KernelNeighborsRegressor().fit([[1.0]], [7.0]).predict([[5.0]]) == 7.0


@pytest.mark.parametrize(
    ("labels", "kind"),
    [([True, False, True], bool), (["a", "b", "a"], str), ([2, 7, 2], int), ([-1.0, 1.0, -1.0], float)],
)
def test_labels_may_be_of_any_type(labels, kind):
    predicted = KernelNeighborsClassifier().fit([[0.0], [1.0], [2.0]], labels).predict([[0.1], [0.9]])
    assert predicted.tolist() == labels[:2]
    assert all(isinstance(label, kind) for label in predicted.tolist())


def test_weights_by_distance_leave_the_vote_to_points_at_distance_zero():
    model = KernelNeighborsRegressor(3, weights="distance").fit([[0.0], [0.0], [1.0]], [1.0, 3.0, 100.0])
    np.testing.assert_allclose(model.predict([[0.0]]), [2.0])
    np.testing.assert_allclose(model.predict([[1e-320]]), [2.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, "at least 1"),
        ({"weights": "heavy"}, "weights must be"),
        ({"kernel": "precomputed"}, "not possible"),
        ({"kernel": "rgb"}, "kernel must be"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(data, options, message):
    X, labels, _, new = data
    model = KernelNeighborsClassifier().fit(X, labels)
    before = model.predict(new)
    given = model.get_params()
    with pytest.raises(ValueError, match=message):
        model.set_params(**options).fit(-X, labels)
    np.testing.assert_array_equal(model.set_params(**given).predict(new), before)


def test_bad_queries_and_weights_are_refused(data):
    X, labels, targets, new = data
    with pytest.raises(TypeError, match="whole number"):
        KernelNeighborsClassifier(1.5).fit(X, labels)
    with pytest.raises(ValueError, match="n_neighbors <= n_samples_fit"):
        KernelNeighborsClassifier(81).fit(X, labels).predict(new)
    with pytest.raises(ValueError, match="zero weight"):
        KernelNeighborsRegressor(weights=np.zeros_like).fit(X, targets).predict(new)
    with pytest.raises(ValueError, match="must return finite"):
        KernelNeighborsRegressor(weights=lambda d: -d).fit(X, targets).predict(new)
    with pytest.raises(ValueError, match="NaN"):
        KernelNeighborsClassifier().fit(np.where(X > 2, np.nan, X), labels)
    with pytest.raises(ValueError, match="NaN"):
        KernelNeighborsRegressor().fit(X, np.where(X[:, 0] > 1, np.nan, 0.0))
    with pytest.raises(ValueError, match="must have 80 labels"):
        KernelNeighborsClassifier().fit(X, labels[:-1])
    with pytest.raises(NotFittedError):
        KernelNeighborsClassifier().predict(new)


def test_clones_and_pickles_give_the_same_answers(data):
    X, labels, _, new = data
    model = KernelNeighborsClassifier(3, kernel=Gaussian()).fit(X, labels)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(new), model.predict_proba(new))
    changed = clone(model).set_params(kernel__length_scale=3.0)
    assert changed.kernel == Gaussian(3.0)
    np.testing.assert_array_equal(changed.fit(X, labels).predict(new), model.predict(new))
