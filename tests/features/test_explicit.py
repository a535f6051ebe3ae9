import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from mercer.features import ExplicitMap, explicit_map
from mercer.kernels import (
    Chi2,
    Constant,
    Cosine,
    Custom,
    Fourier,
    FromFeatures,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Overlap,
    Periodic,
    Polynomial,
    Precomputed,
    Sigmoid,
    Sinc,
    exp,
)

D = 3
MOST = 3000  # features of a random composition that a test may build


def doubled(X):
    return np.hstack([X, 2.0 * X[:, :1]])


LEAVES = st.one_of(
    st.just(Linear()),
    st.builds(Constant, st.sampled_from([0.0, 0.3, 2.0])),
    st.builds(Polynomial, st.integers(1, 3), st.sampled_from([0.0, 0.5, 1.0])),
    st.builds(Cosine, st.floats(0.1, 3)),
    st.builds(Fourier, st.integers(1, 3)),
    st.just(Sinc()),
    st.just(FromFeatures(doubled)),
)


def compositions(inner):
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda w, k: w * k, st.sampled_from([0.0, 0.01, 0.7, 4.0]), inner),
        st.builds(lambda k, p: k**p, inner, st.integers(1, 3)),
        st.builds(lambda k: k.normalize(), inner),
        st.builds(lambda k, c: k.on(c), inner, st.sampled_from([[0, 2, 1], [2, 0, 1]])),
        st.builds(lambda k: k.after(np.tanh), inner),
        st.builds(lambda k, c: k.on(c), LEAVES, st.sampled_from([0, [2, 0], slice(0, 2), [-1, 1], np.array([1])])),
    )


KERNELS = st.recursive(LEAVES, compositions, max_leaves=5).filter(lambda k: k.feature_dim(D) <= MOST)


@given(kernel=KERNELS, seed=st.integers(0, 2**16))
@settings(max_examples=50, deadline=None)
def test_the_dot_product_of_features_is_the_kernel_for_any_composition(kernel, seed):
    rng = np.random.default_rng(seed)
    X, Z = rng.uniform(-1, 1, size=(5, D)), rng.uniform(-1, 1, size=(4, D))
    X[0] = 0
    phi = kernel.feature_map(D)
    A, B = phi.transform(X), phi.transform(Z)
    scale = np.outer(np.sqrt(kernel.diag(X)), np.sqrt(kernel.diag(Z)))
    assert np.all(np.abs(A @ B.T - kernel(X, Z)) <= 1e-12 * scale + 1e-300)
    assert A.shape[1] == kernel.feature_dim(D)
    names = phi.get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == A.shape[1]
    np.testing.assert_allclose(clone(phi).fit(X).transform(X) @ clone(phi).fit(X).transform(Z).T, A @ B.T, atol=1e-9)


def test_a_map_is_ready_without_a_fit_and_still_can_be_fitted():
    kernel = Polynomial(2, 0.5) + 2.0 * Cosine()
    phi = explicit_map(kernel, 2)
    X = np.array([[0.5, 1.0], [2.0, -1.0]])
    before = phi.transform(X)
    assert phi.n_features_in_ == 2
    assert phi.get_feature_names_out(["a", "b"]).tolist()[:3] == ["1", "a", "b"]
    np.testing.assert_array_equal(phi.fit(X).transform(X), before)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(phi)).transform(X), before)
    assert clone(phi).kernel is kernel


def test_a_clone_of_a_ready_map_has_to_be_fitted():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        clone(explicit_map(Linear(), 2)).transform([[1.0, 2.0]])


def test_names_of_a_composition_are_readable():
    def names(kernel):
        return explicit_map(kernel, 2).get_feature_names_out(["a", "b"]).tolist()

    assert names(Linear() + 1) == ["a", "b", "1"]
    assert names((Linear() + 1) ** 2) == ["a^2", "a b", "a 1", "b^2", "b 1", "1^2"]
    assert names(Linear() * (Linear().on(1) + 1)) == ["a * b", "a", "b * b", "b"]
    assert names(Linear() + Linear()) == ["a", "b", "a (2)", "b (2)"]
    assert names(Linear().normalize()) == ["a / norm", "b / norm"]
    assert names(Cosine(2.0).on([1])) == ["cos(2 b)", "sin(2 b)"]
    assert names(FromFeatures(doubled)) == ["doubled[0]", "doubled[1]", "doubled[2]"]
    assert names(FromFeatures(lambda X: X)) == ["g[0]", "g[1]"]


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(), Laplacian(), Matern(), exp(Linear()), Periodic(), Chi2(), Overlap(), Custom(max), Sigmoid(),
        Precomputed([[1.0]]), Linear() + Gaussian(), (Gaussian() * Linear()) ** 2, Gaussian().normalize().on([0]),
        -1.0 * Linear(), Polynomial() - Linear(),
    ],
    ids=repr,
)  # fmt: skip
def test_a_kernel_without_a_finite_map_says_so_and_names_the_approximations(kernel):
    assert kernel.feature_dim(2) == math.inf
    with pytest.raises(ValueError, match=r"Nystroem.*RandomFourier"):
        kernel.feature_map(2)


def test_the_part_of_a_composition_that_has_no_map_is_named():
    with pytest.raises(
        ValueError, match=r"Linear\(\) \+ Gaussian\(length_scale=2.0\) has no finite feature map: Gaussian"
    ):
        (Linear() + Gaussian(2.0)).feature_map(2)
    with pytest.raises(ValueError, match=r"negative weight -3.0"):
        (-3.0 * Linear()).feature_map(2)


def test_columns_by_name_come_from_frames():
    kernel = Linear().on(["b", "c"]) * Polynomial(2).on("a") + Linear().on([0])
    frame = pd.DataFrame({"a": [1.0, 2.0, -1.0], "b": [0.5, 0.0, 3.0], "c": [1.0, 4.0, 2.0], "text": list("xyz")})
    phi = kernel.feature_map(4)
    features = phi.transform(frame)
    np.testing.assert_allclose(features @ features.T, kernel(frame), rtol=1e-14)
    assert phi.get_feature_names_out(frame.columns).tolist() == ["b", "b * a", "b * a^2", "c", "c * a", "c * a^2", "a"]
    np.testing.assert_array_equal(phi.fit(frame).transform(frame), features)
    np.testing.assert_array_equal(phi.transform(pl.DataFrame(frame.to_dict(orient="list"))), features)
    with pytest.raises(TypeError, match="names"):
        kernel.feature_map(4).transform(np.zeros((2, 4)))


def test_frames_of_another_width_are_refused():
    with pytest.raises(ValueError, match=r"X has 2 features, but the feature map was made for 3"):
        Linear().feature_map(3).transform(pd.DataFrame({"a": [1.0], "b": [2.0]}))


def test_objects_go_through_the_users_map():
    words = ["kernel", "trick", "a"]
    kernel = Polynomial(2).after(lambda word: [float(len(word)), float(word.count("e"))])
    features = ExplicitMap(kernel).fit_transform(words)
    np.testing.assert_allclose(features @ features.T, kernel(words), rtol=1e-14)


def test_fitted_transformers_keep_their_own_names():
    X = np.random.default_rng(0).normal(size=(9, 2))
    kernel = Linear().after(StandardScaler().fit(X))
    phi = kernel.feature_map(2)
    assert phi.get_feature_names_out().tolist() == ["x0", "x1"]
    np.testing.assert_allclose(phi.transform(X) @ phi.transform(X).T, kernel(X), atol=1e-14)


def test_sparse_data_keeps_sparse_features():
    X = sparse.random_array((12, 4), density=0.4, random_state=0, format="csr")
    kernel = (2.0 * Polynomial(2) + Linear() * (Linear() + 1)).normalize()
    features = kernel.feature_map(4).transform(X)
    assert sparse.issparse(features)
    np.testing.assert_allclose((features @ features.T).toarray(), kernel(X), atol=1e-13)
    with pytest.raises(TypeError, match="sparse"):
        Cosine().feature_map(4).transform(X)


def test_wide_data_is_refused_by_the_nodes_of_sinc_unless_the_map_is_centred_on_it():
    X = np.array([[100.0], [101.0]])
    phi = Sinc().feature_map(1)
    with pytest.raises(ValueError, match=r"101, 101 from the centre 0; fit the map on your data"):
        phi.transform(X)
    features = (phi.fit(X)).transform(X)
    np.testing.assert_allclose(features @ features.T, Sinc()(X), atol=1e-13)
    assert features.shape[1] == Sinc().feature_dim(1)
    with pytest.raises(ValueError, match=r"mercer\.features\.Sinc"):
        phi.fit([[0.0], [1000.0]]).transform([[1000.0]])


def test_zero_features_stay_zero_when_normalised():
    phi = Polynomial(2, 0.0).normalize().feature_map(2)
    features = phi.transform([[0.0, 0.0], [1e-200, 0.0], [3.0, 4.0]])
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), [0.0, 0.0, 1.0], atol=1e-15)
    large = Linear().normalize().feature_map(1).transform([[1e200], [1e-200]])
    np.testing.assert_array_equal(large, [[1.0], [1.0]])


@pytest.mark.parametrize("d", [0, -1, 1.5, "2", True])
def test_the_number_of_columns_must_be_a_positive_whole_number(d):
    with pytest.raises(ValueError, match="whole number of at least 1"):
        Linear().feature_map(d)


def test_wrong_data_is_refused_with_what_was_expected():
    phi = Polynomial(2).feature_map(2)
    with pytest.raises(ValueError, match="X has 3 features, but ExplicitMap is expecting 2"):
        phi.transform(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="NaN"):
        phi.transform([[1.0, math.nan]])
    with pytest.raises(ValueError, match="there is no column 5; the data has 2 columns"):
        Linear().on([5]).feature_map(2)
    with pytest.raises(TypeError, match="kernel must be a mercer kernel"):
        ExplicitMap(kernel="rbf").fit([[1.0]])
