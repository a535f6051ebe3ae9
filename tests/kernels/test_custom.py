"""Kernels a user brings along: functions, feature maps and finished matrices, and how their mistakes are reported."""

import math
from collections import deque

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures

from mercer.kernels import Custom, FromFeatures, Gaussian, Linear, Precomputed

WORDS = ["abc", "bcd", "xyz"]
COMMON = [[3, 2, 0], [2, 3, 0], [0, 0, 3]]


def common(x, z):
    return len(set(x) & set(z))


# -- functions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "collection",
    [list, tuple, np.array, lambda w: np.array(w, dtype=object)[:, None], pd.Series, pl.Series, deque],
    ids=["list", "tuple", "array", "column", "pandas", "polars", "deque"],
)
def test_any_collection_of_objects_will_do(collection):
    np.testing.assert_array_equal(Custom(common)(collection(WORDS)), COMMON)
    np.testing.assert_array_equal(Custom(common)(collection(WORDS), collection(WORDS[1:])), np.array(COMMON)[:, 1:])
    np.testing.assert_array_equal(Custom(common).diag(collection(WORDS)), 3)


def test_objects_may_be_sets_and_dictionaries():
    sets = [{1, 2}, {2, 3}, set()]
    np.testing.assert_array_equal(Custom(lambda x, z: len(x & z))(sets), [[2, 1, 0], [1, 2, 0], [0, 0, 0]])
    bags = [{"a": 2.0}, {"a": 1.0, "b": 3.0}]
    dot = Custom(lambda x, z: sum(value * z.get(key, 0.0) for key, value in x.items()))
    np.testing.assert_array_equal(dot(bags), [[4, 2], [2, 10]])


def test_rows_of_an_array_are_the_objects(points):
    np.testing.assert_allclose(Custom(np.dot)(points), Linear()(points), rtol=1e-13)
    np.testing.assert_allclose(Custom(np.dot)(pd.DataFrame(points)), Linear()(points), rtol=1e-13)


def test_functions_compose_with_other_kernels():
    k = 2 * Custom(common).normalize() + Gaussian().after(len)
    np.testing.assert_allclose(k(WORDS), 2 * np.array(COMMON) / 3 + 1, rtol=1e-15)


def test_a_vectorised_function_is_called_on_collections(points, others):
    k = Custom(lambda A, B: A @ B.T, vectorized=True)
    np.testing.assert_allclose(k(points, others), points @ others.T, rtol=1e-15)
    np.testing.assert_allclose(k.diag(points), (points**2).sum(axis=1), rtol=1e-14)
    as_sparse = Custom(lambda A, B: sparse.csr_array(A @ B.T), vectorized=True)
    np.testing.assert_allclose(as_sparse(points, others), points @ others.T, rtol=1e-15)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan")], ids=repr)
def test_a_function_that_returns_nan_is_named_with_its_arguments(value):
    with pytest.raises(ValueError, match=r"Custom.*the function returned -?(nan|inf) for x = 'abc', z = 'abc'"):
        Custom(lambda x, z: value)(WORDS)
    with pytest.raises(ValueError, match=r"the function returned -?(nan|inf) for x = 'abc'"):
        Custom(lambda A, B: np.full((len(A), len(B)), value), vectorized=True)(WORDS)


def test_a_function_that_raises_is_named_with_its_arguments():
    with pytest.raises(ValueError, match="the function raised KeyError: 'b' for x = 'b', z = 'a'") as raised:
        Custom(lambda x, z: {"a": 1.0}[x] * {"a": 1.0}[z])(["b"], ["a"])
    assert isinstance(raised.value.__cause__, KeyError)
    with pytest.raises(ValueError, match="the function raised ZeroDivisionError: division by zero"):
        Custom(lambda A, B: 1 / 0, vectorized=True)(WORDS)


@pytest.mark.parametrize("value", [None, "1", [1.0, 2.0], 1j, np.ones((2, 2)), {}], ids=repr)
def test_a_function_that_returns_no_number_is_refused(value):
    with pytest.raises(ValueError, match=r"must return a number, but gave (.|\n)* for x = 'abc'"):
        Custom(lambda x, z: value)(WORDS)


@pytest.mark.parametrize("value", [1, True, 1.5, np.float32(2), np.int8(3), np.array(1.0), np.array([[2.0]])], ids=repr)
def test_numbers_of_any_kind_may_be_returned(value):
    np.testing.assert_array_equal(Custom(lambda x, z: value)(WORDS), float(np.asarray(value).reshape(())))


@pytest.mark.parametrize("value", [[["a"]], [[1j]], None, "text"], ids=repr)
def test_a_vectorised_function_must_return_numbers(value):
    with pytest.raises(ValueError, match="the function must return a matrix of numbers, but gave"):
        Custom(lambda A, B: value, vectorized=True)(["x"])


@pytest.mark.parametrize("value", [1.0, [1.0, 2.0, 3.0], np.ones((2, 3)), np.ones((3, 3, 1))], ids=np.shape)
def test_a_vectorised_function_must_return_the_whole_matrix(value):
    with pytest.raises(ValueError, match=r"must return a matrix of shape \(3, 3\), but gave shape"):
        Custom(lambda A, B: value, vectorized=True)(WORDS)


@pytest.mark.parametrize("thing", [3, "f", None], ids=repr)
def test_only_functions_are_taken(thing):
    with pytest.raises(TypeError, match="Custom: function must be callable, got"):
        Custom(thing)


def test_a_string_is_no_collection_of_objects():
    with pytest.raises(TypeError, match="needs a collection of objects such as a list, got str"):
        Custom(common)("abc")


def test_sparse_data_is_refused():
    with pytest.raises(TypeError, match="does not work on sparse matrices"):
        Custom(common)(sparse.csr_array(np.eye(2)))


# -- features ------------------------------------------------------------------------------------------------------


def test_a_transformer_gives_the_features(points, others):
    expansion = PolynomialFeatures(2).fit(points)
    expected = expansion.transform(points) @ expansion.transform(others).T
    np.testing.assert_allclose(FromFeatures(expansion)(points, others), expected, rtol=1e-13)
    assert FromFeatures(expansion).feature_dim(3) == 10


def test_features_of_strings():
    k = FromFeatures(lambda word: [word.count("a"), len(word)])
    np.testing.assert_array_equal(k(["aa", "b"]), [[8, 2], [2, 1]])


def test_features_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match=r"FromFeatures.*needs finite numbers, but row 0, column 0 is nan"):
        FromFeatures(lambda x: [math.nan])([[1.0]])


def test_a_feature_map_that_raises_is_named_with_the_object():
    with pytest.raises(ValueError, match=r"FromFeatures.*the function raised IndexError: .* on object 0, \[1\.0\]"):
        FromFeatures(lambda x: x[5])([[1.0]])


@pytest.mark.parametrize("thing", [3, "f", None], ids=repr)
def test_only_functions_and_transformers_give_features(thing):
    with pytest.raises(TypeError, match="FromFeatures: expected a function or a fitted transformer, got"):
        FromFeatures(thing)


# -- finished matrices ---------------------------------------------------------------------------------------------

MATRIX = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 1.0]])


@pytest.mark.parametrize(
    "indices", [[2, 0], (2, 0), np.array([2, 0]), [2.0, 0.0], [[2], [0]], np.uint8([2, 0])], ids=repr
)
def test_objects_are_row_numbers(indices):
    np.testing.assert_array_equal(Precomputed(MATRIX)(indices), MATRIX[np.ix_([2, 0], [2, 0])])
    np.testing.assert_array_equal(Precomputed(MATRIX)(indices, [1]), MATRIX[[2, 0]][:, [1]])
    np.testing.assert_array_equal(Precomputed(MATRIX).diag(indices), [1, 2])


def test_finished_matrices_compose():
    i = np.arange(3)
    np.testing.assert_allclose((2 * Precomputed(MATRIX) + 1)(i), 2 * MATRIX + 1)
    d = np.sqrt(np.diag(MATRIX))
    np.testing.assert_allclose(Precomputed(MATRIX).normalize()(i), MATRIX / np.outer(d, d), rtol=1e-15)


def test_matrices_of_any_numbers_are_taken():
    for matrix in (MATRIX.tolist(), np.eye(3, dtype=bool), np.eye(3, dtype=np.uint8), MATRIX.astype(np.float32)):
        np.testing.assert_array_equal(Precomputed(matrix)([0, 1, 2]), np.asarray(matrix, dtype=float))


def test_the_same_numbers_make_equal_kernels():
    same = [Precomputed(MATRIX), Precomputed(MATRIX.copy()), Precomputed(MATRIX.tolist()), Precomputed(MATRIX.T)]
    assert len(set(same)) == 1
    assert Precomputed(np.eye(2, dtype=int)) == Precomputed(np.eye(2))


@pytest.mark.parametrize("matrix", [np.ones((2, 3)), np.ones(3), np.ones((2, 2, 2)), [], 1.0], ids=np.shape)
def test_a_matrix_that_is_not_square_is_refused(matrix):
    with pytest.raises(ValueError, match="the matrix must be square with a row for each object, got shape"):
        Precomputed(matrix)


def test_a_ragged_matrix_is_refused():
    with pytest.raises(ValueError, match="rows of the matrix have different lengths"):
        Precomputed([[1.0, 2.0], [1.0]])


@pytest.mark.parametrize("dtype", [float, np.uint8])
def test_an_asymmetric_matrix_is_refused_with_the_entry(dtype):
    matrix = np.eye(3, dtype=dtype)
    matrix[0, 2] = 7
    with pytest.raises(
        ValueError, match=r"not symmetric: entry \(0, 2\) is 7.0 but \(2, 0\) is 0.0; use \(K \+ K\.T\) / 2"
    ):
        Precomputed(matrix)


def test_asymmetry_by_rounding_is_fine():
    matrix = MATRIX.copy()
    matrix[0, 1] *= 1 + 1e-14
    assert Precomputed(matrix)([0, 1]).shape == (2, 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_matrix_that_is_not_finite_is_refused(bad):
    with pytest.raises(ValueError, match="the matrix holds NaN or infinity"):
        Precomputed([[1.0, bad], [bad, 1.0]])


@pytest.mark.parametrize("matrix", [[["a"]], [[1j]], [[None]]], ids=repr)
def test_a_matrix_of_something_else_is_refused(matrix):
    with pytest.raises(TypeError, match="the matrix must hold real numbers, got dtype"):
        Precomputed(matrix)


def test_a_sparse_matrix_is_refused():
    with pytest.raises(TypeError, match=r"the matrix is sparse; use matrix\.toarray\(\) if it fits"):
        Precomputed(sparse.eye_array(3))


@pytest.mark.parametrize("indices", [[3], [-1], [0.5], ["a"], [math.nan], [math.inf], MATRIX], ids=repr)
def test_anything_but_row_numbers_is_refused(indices):
    with pytest.raises(
        ValueError, match=r"the objects are row numbers from 0 to 2, for example numpy\.arange\(3\); got"
    ):
        Precomputed(MATRIX)(indices)
    with pytest.raises(ValueError, match="the objects are row numbers"):
        Precomputed(MATRIX)([0], indices)
