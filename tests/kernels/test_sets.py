"""Kernels on bags against loops over pairs of elements, on elements of any kind."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.model_selection import GridSearchCV, cross_val_score

import mercer
from mercer import Gram
from mercer.kernels import (
    Custom,
    Gaussian,
    GlobalAlignment,
    Laplacian,
    Linear,
    MeanEmbedding,
    Overlap,
    PairSum,
    Polynomial,
    Sigmoid,
)
from mercer.testing import check_kernel

RNG = np.random.default_rng(4)
BAGS = [RNG.normal(size=(m, 2)) for m in (1, 5, 3, 2, 8, 4)]
OTHERS = [RNG.normal(size=(m, 2)) for m in (2, 6, 1)]


def common_letters(x, z):
    return len(set(x) & set(z))


def sums(base, X, Z):
    """Sum over pairs of elements, each evaluated by itself."""
    return np.array([[sum(base([x], [z])[0, 0] for x in A for z in B) for B in Z] for A in X])


bag = hnp.arrays(float, st.tuples(st.integers(1, 4), st.just(2)), elements=st.floats(-3, 3))


@settings(max_examples=20, deadline=None)
@given(st.lists(bag, min_size=1, max_size=3), st.lists(bag, min_size=1, max_size=3))
def test_the_sum_runs_over_all_pairs(X, Z):
    base = Gaussian(1.5) + Polynomial(2)
    expected = sums(base, X, Z)
    np.testing.assert_allclose(PairSum(base)(X, Z), expected, rtol=1e-11, atol=1e-11)
    sizes = np.outer([len(x) for x in X], [len(z) for z in Z])
    np.testing.assert_allclose(MeanEmbedding(base)(X, Z), expected / sizes, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kind", [PairSum, MeanEmbedding])
@pytest.mark.parametrize(
    "base", [Linear(), Gaussian(0.7), Laplacian() * Linear() + 1.0, Gaussian().normalize()], ids=repr
)
def test_the_laws_of_kernels_hold(kind, base):
    check_kernel(kind(base), BAGS)
    check_kernel(kind(base).normalize(), BAGS)
    assert type(kind(base).certificate()).__name__ == "Proved"


def test_the_certificate_rests_on_that_of_the_base():
    assert "Gaussian(length_scale=1.0)\n" in MeanEmbedding(Gaussian()).certificate().explain()
    assert MeanEmbedding(Sigmoid(1.0, -1.0)).theorem() is None
    single = [np.array([[x]]) for x in (0.0, 0.1, 1.0, 2.0)]
    assert type(MeanEmbedding(Sigmoid(1.0, -1.0)).certificate(sample=single)).__name__ == "Refuted"
    # A difference that is a kernel once it is multiplied out proves the kernel between bags too.
    assert type(PairSum((Linear() + 1.0) ** 2 - 1.0).certificate()).__name__ == "Proved"


def test_the_linear_base_compares_means():
    means = np.array([x.mean(axis=0) for x in BAGS])
    np.testing.assert_allclose(MeanEmbedding(Linear())(BAGS), means @ means.T, rtol=1e-12, atol=1e-14)
    distances = ((means[:, None] - means[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(MeanEmbedding(Linear()).distance(BAGS), distances, atol=1e-13)


def test_the_distance_is_the_maximum_mean_discrepancy():
    x, z = BAGS[4], OTHERS[1]
    k = Gaussian()
    expected = k(x).mean() + k(z).mean() - 2 * k(x, z).mean()
    np.testing.assert_allclose(MeanEmbedding(k).distance([x], [z]), [[expected]], rtol=1e-12)


def test_bags_of_one_element_are_their_elements():
    x = RNG.normal(size=(6, 3))
    for kind in (PairSum, MeanEmbedding):
        np.testing.assert_allclose(kind(Gaussian())([row[None] for row in x]), Gaussian()(x), rtol=1e-13)


def test_repeating_every_element_changes_no_mean():
    kernel = MeanEmbedding(Gaussian())
    np.testing.assert_allclose(kernel([np.repeat(x, 3, axis=0) for x in BAGS]), kernel(BAGS), rtol=1e-13)


def test_the_order_of_elements_changes_nothing():
    kernel = PairSum(Laplacian())
    np.testing.assert_allclose(kernel([x[::-1] for x in BAGS]), kernel(BAGS), rtol=1e-13)


@pytest.mark.parametrize("kernel", [PairSum(Gaussian()), MeanEmbedding(Gaussian()).normalize()], ids=repr)
def test_rows_and_tiles_agree_with_the_whole(kernel, monkeypatch):
    K = kernel(BAGS)
    gram = Gram(kernel, BAGS)
    np.testing.assert_allclose(gram.rows([4, 0, 0]), K[[4, 0, 0]], rtol=1e-13)
    np.testing.assert_allclose(gram.part([5, 1, 2]).dense(), K[np.ix_([5, 1, 2], [5, 1, 2])], rtol=1e-13)
    cross = kernel(BAGS, OTHERS)
    monkeypatch.setattr("mercer.kernels.sets.kernels.TILE_ENTRIES", 7)
    np.testing.assert_allclose(kernel(BAGS), K, rtol=1e-13)
    np.testing.assert_allclose(kernel(BAGS, OTHERS), cross, rtol=1e-13)


def test_columns_may_be_taken_in_any_order():
    kernel = PairSum(Gaussian())
    A, B = kernel.prepare(BAGS, OTHERS)
    np.testing.assert_allclose(kernel.block(A, B[np.array([2, 0])]), kernel(BAGS, OTHERS)[:, [2, 0]], rtol=1e-13)


# -- elements of any kind ------------------------------------------------------------------------------------------


def test_elements_may_be_strings_rows_and_series():
    words = [["kernel", "ridge"], ["eigen"], ("gram", "mercer", "tile")]
    expected = [[sum(common_letters(x, z) for x in A for z in B) for B in words] for A in words]
    np.testing.assert_array_equal(PairSum(Custom(common_letters))(words), expected)
    np.testing.assert_array_equal(PairSum(Custom(common_letters))([set(w) for w in words]), expected)
    colours = [[["red", 1], ["blue", 2]], [["red", 2]]]
    np.testing.assert_array_equal(PairSum(Overlap())(colours), [[4, 2], [2, 2]])
    series = [[[0.0, 1.0], [1.0]], [[2.0, 0.0, 1.0]]]
    K = GlobalAlignment()([[0.0, 1.0], [1.0], [2.0, 0.0, 1.0]])
    np.testing.assert_allclose(PairSum(GlobalAlignment())(series)[0, 1], K[:2, 2].sum(), rtol=1e-13)


def test_bags_may_be_frames_and_sparse_matrices():
    expected = MeanEmbedding(Gaussian().on([1]))(BAGS)
    frames = [pd.DataFrame(x, columns=["a", "b"]) for x in BAGS]
    np.testing.assert_allclose(MeanEmbedding(Gaussian().on("b"))(frames), expected, rtol=1e-13)
    as_sparse = [sparse.csr_array(x) for x in BAGS]
    np.testing.assert_allclose(MeanEmbedding(Gaussian())(as_sparse), MeanEmbedding(Gaussian())(BAGS), rtol=1e-12)


def test_bags_of_bags_are_objects_too():
    nested = [BAGS[:2], BAGS[2:]]
    K = MeanEmbedding(Linear())(BAGS)
    np.testing.assert_allclose(
        PairSum(MeanEmbedding(Linear()))(nested),
        [[K[:2, :2].sum(), K[:2, 2:].sum()], [K[2:, :2].sum(), K[2:, 2:].sum()]],
    )


# -- learners ------------------------------------------------------------------------------------------------------


def wide_and_narrow(n=12):
    """Return bags drawn around 0 with a small or a large spread."""
    rng = np.random.default_rng(0)
    y = np.arange(2 * n) % 2
    X = np.empty(2 * n, dtype=object)
    for i, wide in enumerate(y):
        X[i] = (1 + 2 * wide) * rng.normal(size=(rng.integers(10, 25), 2))
    return X, y


@pytest.mark.parametrize(
    "name", ["SVC", "KernelRidgeClassifier", "KernelLogisticRegression", "KernelNeighborsClassifier"]
)
def test_learners_tell_distributions_apart(name):
    X, y = wide_and_narrow()
    model = getattr(mercer, name)(kernel=MeanEmbedding(Gaussian()).normalize())
    assert cross_val_score(model, X, y, cv=3).min() >= 0.8
    fitted = model.fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


def test_components_and_searches_take_bags():
    X, y = wide_and_narrow(6)
    assert mercer.KernelPCA(n_components=2, kernel=MeanEmbedding(Gaussian())).fit_transform(X).shape == (12, 2)
    search = GridSearchCV(
        mercer.SVC(kernel=MeanEmbedding(Gaussian())), {"kernel__base__length_scale": [1e-3, 1.0]}, cv=2
    )
    assert search.fit(X, y).best_params_ == {"kernel__base__length_scale": 1.0}


# -- mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "error", "message"),
    [
        ([np.zeros((1, 2)), np.zeros((0, 2))], ValueError, "bag 1 is empty"),
        (["abc"], TypeError, "object 0 is 'abc' of type str; put its elements into a list"),
        ([[[1.0]], 3.0], TypeError, "object 1 is 3.0 of type float"),
        ([{"a": 1}], TypeError, "object 0 is {'a': 1} of type dict"),
        ([np.zeros((1, 2)), np.zeros((1, 3))], ValueError, "bag 0 have 2 features, but those of bag 1 have 3"),
        ([[[np.nan]]], ValueError, "needs finite numbers"),
    ],
)
def test_mistakes_in_bags_are_named(sample, error, message):
    for kind in (PairSum, MeanEmbedding):
        with pytest.raises(error, match=message):
            kind(Gaussian())(sample)


def test_the_base_must_be_a_kernel():
    with pytest.raises(TypeError, match="MeanEmbedding: base must be a kernel, got 'rbf'"):
        MeanEmbedding("rbf")
