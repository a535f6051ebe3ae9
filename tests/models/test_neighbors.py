"""Nearest neighbours in feature space, against brute force, scikit-learn and exact arithmetic."""

import pickle
import warnings
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils.estimator_checks import check_estimator

from mercer import MemoryBudgetError
from mercer.gram.choice import choose_backend
from mercer.kernels import Custom, Gaussian, Laplacian, Linear, Matern, Overlap, Polynomial, RationalQuadratic
from mercer.models.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.solvers.neighbors import search as _neighbors_search
from mercer.solvers.neighbors.distance import ByDistance, fall, ranking
from mercer.solvers.neighbors.search import nearest


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(80, 3)), rng.normal(size=(30, 3))
    return X, rng.integers(0, 3, size=80), np.column_stack([np.sin(X[:, 0]), X[:, 1]]), new


def _brute(kernel, X, Z, k, exclude=False):
    """Sort all distances, ties by index."""
    squared = kernel.distance(X, Z).astype(float)
    if exclude:
        np.fill_diagonal(squared, np.inf)
    order = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return np.sqrt(np.take_along_axis(squared, order, axis=1)), order


# -- the search -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        3.0 * Linear() + 2.0,
        Gaussian(0.7),
        Gaussian([0.5, 1.0, 3.0]),
        2.0 * Gaussian() + 1.0,
        Gaussian() * Matern(1.5, 2.0),
        Laplacian(2.0),
        Matern(0.7),
        RationalQuadratic(1.0, 0.5) ** 2,
        Gaussian().on([0, 2]),
        Polynomial(3, 0.5),
        Gaussian() + Linear(),
        Linear().normalize(),
    ],
    ids=repr,
)
def test_the_search_finds_what_sorting_all_distances_finds(data, kernel, exclude):
    X, _, _, new = data
    queries = X if exclude else new
    distances, indices = nearest(kernel, queries, X, 7, exclude=exclude)
    expected, order = _brute(kernel, queries, X, 7, exclude)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(2.0), Polynomial(2)], ids=repr)
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (96, 256), (96, 300), (5, 1000)])
def test_block_sizes_change_nothing(monkeypatch, kernel, shape):
    rng = np.random.default_rng(1)
    Z, X = rng.integers(-3, 4, size=(400, 2)).astype(float), rng.integers(-3, 4, size=(20, 2)).astype(float)
    before = nearest(kernel, X, Z, 9)
    monkeypatch.setattr(_neighbors_search, "QUERIES", shape[0])
    monkeypatch.setattr(_neighbors_search, "POINTS", shape[1])
    after = nearest(kernel, X, Z, 9)
    np.testing.assert_array_equal(before[0], after[0])
    np.testing.assert_array_equal(before[1], after[1])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=40),
    st.lists(st.integers(-3, 3), min_size=1, max_size=5),
    st.data(),
)
def test_ties_go_to_the_smaller_index(points, queries, draw):
    k = draw.draw(st.integers(1, len(points)))
    Z, X = np.array(points, dtype=float)[:, None], np.array(queries, dtype=float)[:, None]
    for kernel in (Linear(), Gaussian(), Polynomial(2)):
        _, indices = nearest(kernel, X, Z, k)
        for row, x in zip(indices, queries, strict=True):
            if isinstance(kernel, Polynomial):
                by = [(x * x + 1) ** 2 + (z * z + 1) ** 2 - 2 * (x * z + 1) ** 2 for z in points]
            else:
                by = [abs(x - z) for z in points]
            assert row.tolist() == sorted(range(len(points)), key=lambda i: (by[i], i))[:k]


def test_many_neighbours_among_many_ties_come_in_order():
    Z = np.zeros((3000, 2))
    _, indices = nearest(Linear(), np.ones((2, 2)), Z, 400)
    np.testing.assert_array_equal(indices, np.tile(np.arange(400), (2, 1)))
    distances, indices = nearest(Gaussian(), Z[:3], Z, 5, exclude=False)
    np.testing.assert_array_equal(indices, np.tile(np.arange(5), (3, 1)))
    np.testing.assert_array_equal(distances, 0.0)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0), Gaussian(1e4), Matern(1.5, 30.0)], ids=repr)
def test_nearly_equal_points_far_from_the_origin_are_ordered_exactly(kernel):
    rng = np.random.default_rng(2)
    Z = 1e3 + 1e-9 * rng.normal(size=(50, 4))
    X = 1e3 + 1e-9 * rng.normal(size=(6, 4))
    _, indices = nearest(kernel, X, Z, 10)
    for x, row in zip(X, indices, strict=True):
        squared = [sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, z, strict=True)) for z in Z]
        assert row.tolist() == sorted(range(50), key=squared.__getitem__)[:10]


@pytest.mark.parametrize("k", [1, 5, 70])
@pytest.mark.parametrize("kind", ["normal", "outliers", "near", "tiny", "huge", "integers", "equal"])
def test_ranking_in_single_precision_first_changes_nothing(monkeypatch, kind, k):
    rng = np.random.default_rng(7)
    Z, X = rng.normal(size=(900, 6)), rng.normal(size=(20, 6))
    if kind == "outliers":
        Z, X = Z / rng.uniform(1e-4, 1.0, size=(900, 1)), X / rng.uniform(1e-4, 1.0, size=(20, 1))
    Z, X = {
        "near": (5.0 + 1e-7 * Z, 5.0 + 1e-7 * X),
        "tiny": (1e-30 * Z, 1e-30 * X),
        "huge": (1e30 * Z, 1e30 * X),
        "integers": (Z.round(), X.round()),
        "equal": (np.zeros_like(Z), X),
    }.get(kind, (Z, X))
    expected = nearest(Linear(), X, Z, k)
    monkeypatch.setattr(_neighbors_search, "ROUGH", 0)
    for ours, other in zip(nearest(Linear(), X, Z, k), expected, strict=True):
        np.testing.assert_array_equal(ours, other)
    squared = ((X[:, None, :] - Z[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(expected[1], np.argsort(squared, axis=1, kind="stable")[:, :k])


def test_the_error_of_single_precision_is_within_its_bound():
    rng = np.random.default_rng(8)
    for scale, shift in ((1.0, 0.0), (1e-3, 10.0), (100.0, 1e4)):
        X, Z = shift + scale * rng.normal(size=(30, 26)), shift + scale * rng.normal(size=(400, 26))
        rough = ranking(Linear()).rough(X, Z)
        tile = choose_backend(rough.expression, rough.X, rough.Z, "test", "auto", np.float32)
        error = np.abs(tile.tile(slice(0, 30), slice(0, 400)) - ((X[:, None, :] - Z[None]) ** 2).sum(axis=2))
        assert (error <= rough.margin[:, None]).all()


def test_points_where_the_gaussian_vanishes_still_have_an_order():
    Z = np.array([[300.0], [100.0], [200.0]])
    distances, indices = nearest(Gaussian(1.0), np.array([[0.0]]), Z, 3)
    assert indices.tolist() == [[1, 2, 0]]
    np.testing.assert_allclose(distances, np.sqrt(2.0), rtol=1e-15)


@pytest.mark.parametrize("s", [1e-14, 1e-6, 0.3, 5.0])
@pytest.mark.parametrize(
    "kernel", [Gaussian(), Gaussian() ** 3, 2.0 * Gaussian() + 1.0, RationalQuadratic(), Matern(0.5)], ids=repr
)
def test_the_fall_of_a_kernel_keeps_its_digits(kernel, s):
    with localcontext(prec=60):
        x = Decimal(s)
        true = {
            repr(Gaussian()): 1 - (-x / 2).exp(),
            repr(Gaussian() ** 3): 1 - (-3 * x / 2).exp(),
            repr(2.0 * Gaussian() + 1.0): 2 - 2 * (-x / 2).exp(),
            repr(RationalQuadratic()): 1 - 1 / (1 + x / 2),
            repr(Matern(0.5)): 1 - (-x.sqrt()).exp(),
        }[repr(kernel)]
        found = fall(ranking(kernel).kernel, np.array([s]))[0]
        assert abs(Decimal(float(found)) - true) <= Decimal("1e-13") * true


def test_kernels_that_do_not_decrease_with_distance_are_not_ranked_by_it():
    for kernel in (Gaussian() - 2.0 * Gaussian(2.0), -1.0 * Linear(), Gaussian() * Linear(), Gaussian().normalize()):
        assert not isinstance(ranking(kernel), ByDistance)


def test_sparse_and_dense_points_have_the_same_neighbours(data):
    X, _, _, new = data
    for kernel in (Linear(), Gaussian(), Polynomial(2)):
        dense, other = nearest(kernel, new, X, 4), nearest(kernel, sparse.csr_array(new), sparse.csr_array(X), 4)
        np.testing.assert_array_equal(dense[1], other[1])
        np.testing.assert_allclose(dense[0], other[0], rtol=1e-6)


def test_a_small_budget_is_kept_and_one_that_is_too_small_refused(data):
    X, _, _, new = data
    full = nearest(Polynomial(2), new, X, 3)
    np.testing.assert_array_equal(nearest(Polynomial(2), new, X, 3, memory="30KB")[1], full[1])
    with pytest.raises(MemoryBudgetError, match="give more memory"):
        nearest(Polynomial(2), new, X, 3, memory="5KB")


# -- the estimators -----------------------------------------------------------------------------------------------


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
    expected, order = _brute(letters, ["keel", "god"], words, 2)
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


def test_permuting_points_permutes_neighbours(data):
    X, _, _, new = data
    order = np.random.default_rng(3).permutation(80)
    straight, permuted = nearest(Gaussian(), new, X, 6), nearest(Gaussian(), new, X[order], 6)
    np.testing.assert_array_equal(order[permuted[1]], straight[1])
    np.testing.assert_array_equal(permuted[0], straight[0])


def test_clones_and_pickles_give_the_same_answers(data):
    X, labels, _, new = data
    model = KernelNeighborsClassifier(3, kernel=Gaussian()).fit(X, labels)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(new), model.predict_proba(new))
    changed = clone(model).set_params(kernel__length_scale=3.0)
    assert changed.kernel == Gaussian(3.0)
    np.testing.assert_array_equal(changed.fit(X, labels).predict(new), model.predict(new))
