"""Kernels of the dot product against scikit-learn, and their parameters."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, sigmoid_kernel

from mercer.kernels import Linear, Polynomial, Sigmoid


def test_linear_is_that_of_scikit_learn(points, others):
    np.testing.assert_allclose(Linear()(points, others), linear_kernel(points, others), rtol=1e-14)


@pytest.mark.parametrize("degree", [1, 2, 3, 7])
@pytest.mark.parametrize("offset", [0.0, 0.5, 3.0])
def test_polynomial_is_that_of_scikit_learn(points, others, degree, offset):
    expected = polynomial_kernel(points, others, degree=degree, gamma=1.0, coef0=offset)
    np.testing.assert_allclose(Polynomial(degree, offset)(points, others), expected, rtol=1e-12)


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 1.0), (0.2, -3.0), (0.5, 0.0)])
def test_sigmoid_is_that_of_scikit_learn(points, others, scale, offset):
    expected = sigmoid_kernel(points, others, gamma=scale, coef0=offset)
    np.testing.assert_allclose(Sigmoid(scale, offset)(points, others), expected, rtol=1e-13)


def test_sigmoid_is_not_positive_semi_definite():
    assert np.linalg.eigvalsh(Sigmoid()([[0.5], [2.0]])).min() < -0.01


def test_odd_powers_of_negative_numbers_stay_negative():
    assert Polynomial(3, 0.0)([[2.0]], [[-1.0]])[0, 0] == -8.0


def test_small_integers_do_not_wrap_around():
    X = np.array([[200, 100]], dtype=np.uint8)
    assert Linear()(X)[0, 0] == 50000.0


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, 0.5), Sigmoid(0.1)], ids=repr)
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
def test_sparse_data_gives_the_dense_result(points, others, kernel, form):
    X, Z = points * (points > 0), others * (others < 0.5)
    expected = kernel(X, Z)
    for result in (kernel(form(X), form(Z)), kernel(form(X), Z), kernel(X, form(Z))):
        assert isinstance(result, np.ndarray)
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(kernel(form(X)), kernel(X), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(form(X)), kernel.diag(X), rtol=1e-13, atol=1e-14)
    assert kernel(form(X.astype(np.float32))).dtype == np.float32
    np.testing.assert_allclose(kernel(form(np.round(X).astype(int))), kernel(np.round(X)), rtol=1e-13)


@pytest.mark.parametrize("degree", [1.5, 0, -2, math.nan, math.inf, True, "2", None], ids=repr)
def test_the_degree_is_a_whole_number(degree):
    with pytest.raises(ValueError, match="Polynomial: degree must be a whole number of at least 1, got"):
        Polynomial(degree=degree)


@pytest.mark.parametrize("offset", [-1e-9, -1, math.nan, math.inf, "1", None], ids=repr)
def test_the_offset_is_not_negative(offset):
    with pytest.raises(ValueError, match="Polynomial: offset must be a finite number that is not negative, got"):
        Polynomial(offset=offset)


@pytest.mark.parametrize("name", ["scale", "offset"])
def test_sigmoid_takes_finite_numbers(name):
    with pytest.raises(ValueError, match=f"Sigmoid: {name} must be a finite number, got nan"):
        Sigmoid(**{name: math.nan})
