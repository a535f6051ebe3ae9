import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer import kernels
from mercer.features import Polynomial
from mercer.features.polynomial import Monomials


def as_columns(features):
    """Columns in an order that does not depend on how the map sorts them."""
    return np.array(sorted(features.T.tolist()))


def test_the_square_of_xz_plus_one_on_three_points_is_the_gram_matrix_of_its_features():
    X = np.array([[-1.0], [0.0], [1.0]])
    K = np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 4.0]])
    features = Polynomial(degree=2, offset=1.0).fit_transform(X)
    by_hand = np.hstack([X**2, math.sqrt(2) * X, np.ones((3, 1))])
    np.testing.assert_array_equal(as_columns(features), as_columns(by_hand))
    np.testing.assert_array_equal(kernels.Polynomial(degree=2, offset=1.0)(X), K)
    np.testing.assert_allclose(features @ features.T, K, atol=1e-15)


def test_the_squared_dot_product_in_two_dimensions_has_three_features():
    X = np.array([[1.0, 1.0], [1.0, 0.0]])
    features = Polynomial(degree=2, offset=0.0).fit_transform(X)
    by_hand = np.column_stack([X[:, 0] ** 2, X[:, 1] ** 2, math.sqrt(2) * X[:, 0] * X[:, 1]])
    np.testing.assert_array_equal(as_columns(features), as_columns(by_hand))
    K = np.array([[4.0, 1.0], [1.0, 1.0]])
    np.testing.assert_array_equal(kernels.Polynomial(degree=2, offset=0.0)(X), K)
    np.testing.assert_allclose(features @ features.T, K, rtol=1e-15)


def test_the_square_of_the_dot_product_plus_one_in_two_dimensions_has_six_features():
    X = np.array([[0.5, -2.0], [3.0, 0.25], [1.0, 1.0], [0.0, 0.0]])
    root, x, y = math.sqrt(2), X[:, 0], X[:, 1]
    by_hand = np.column_stack([np.ones(4), root * x, root * y, root * x * y, x**2, y**2])
    transformer = Polynomial(degree=2, offset=1.0)
    features = transformer.fit_transform(X)
    np.testing.assert_allclose(as_columns(features), as_columns(by_hand), rtol=1e-15)
    np.testing.assert_allclose(features @ features.T, (X @ X.T + 1) ** 2, rtol=1e-14)
    assert transformer.get_feature_names_out().tolist() == ["1", "x0", "x1", "x0^2", "x0 x1", "x1^2"]


@given(
    d=st.integers(1, 5),
    degree=st.integers(1, 6),
    offset=st.sampled_from([0.0, 0.3, 1.0, 2.5]),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=30, deadline=None)
def test_the_dot_product_of_features_is_the_kernel_and_their_number_a_binomial(d, degree, offset, seed):
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(7, d)), rng.normal(size=(4, d))
    phi = Polynomial(degree, offset).fit(X)
    kernel = kernels.Polynomial(degree, offset)
    scale = np.sqrt(np.outer(kernel.diag(X), kernel.diag(Z)))
    assert np.all(np.abs(phi.transform(X) @ phi.transform(Z).T - kernel(X, Z)) <= 1e-13 * scale)
    assert phi.transform(X).shape[1] == len(phi.get_feature_names_out()) == kernel.feature_dim(d)
    assert phi.transform(X).shape[1] == math.comb(d + degree - (offset == 0), degree)


@given(d=st.integers(1, 4), degree=st.integers(1, 5))
def test_weights_are_roots_of_multinomial_coefficients(d, degree):
    monomials = Monomials(d, degree, 2.0)
    inputs = [f"x{i}" for i in range(d)]
    for name, weight in zip(monomials.names(inputs), monomials.weights(), strict=True):
        powers = [int((factor + "^1").split("^")[1]) for factor in name.split() if factor != "1"]
        left = degree - sum(powers)
        ways = math.factorial(degree) // math.prod(math.factorial(p) for p in [*powers, left])
        assert weight == math.sqrt(ways * 2.0**left)


@pytest.mark.parametrize(("degree", "offset"), [(1, 1.0), (2, 0.0), (2, 1.5), (3, 0.5), (4, 0.0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_data_has_the_same_features_in_the_same_order(degree, offset, dtype):
    X = sparse.random_array((20, 6), density=0.3, random_state=0, format="csr", dtype=np.float64).astype(dtype)
    phi = Polynomial(degree, offset).fit(X)
    features = phi.transform(X)
    assert sparse.issparse(features)
    assert features.dtype == dtype
    np.testing.assert_allclose(features.toarray(), phi.transform(X.toarray()), rtol=1e-6)


def test_float32_data_has_float32_features():
    assert Polynomial().fit_transform(np.ones((2, 3), dtype=np.float32)).dtype == np.float32


def test_names_are_made_of_the_names_of_the_columns():
    frame = pd.DataFrame({"age": [1.0, 2.0], "body mass": [3.0, 4.0]})
    phi = Polynomial(degree=2, offset=0.0).set_output(transform="pandas")
    assert phi.fit_transform(frame).columns.tolist() == ["age^2", "age (body mass)", "(body mass)^2"]


def test_more_monomials_than_any_memory_holds_are_refused_with_an_alternative():
    with pytest.raises(ValueError, match=r"degree 6 in 300 inputs has 1\.\d+e\+12 monomials.*TensorSketch"):
        Polynomial(degree=6).fit(np.zeros((2, 300)))


def test_overflow_is_an_error_and_not_an_infinity():
    with pytest.raises(OverflowError, match="monomials of degree 3 overflows"):
        Polynomial(degree=3).fit_transform([[1e200]])


@pytest.mark.parametrize("params", [{"degree": 0}, {"degree": 1.5}, {"offset": -1.0}, {"offset": math.nan}])
def test_wrong_parameters_are_named(params):
    with pytest.raises(ValueError, match=f"Polynomial: {next(iter(params))} must be"):
        Polynomial(**params).fit([[1.0]])
