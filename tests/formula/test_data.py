"""What kernels are given, and the little functions that look at it."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mercer import Gram, KernelRidge
from mercer.certify import Proved
from mercer.features import Nystroem, Trigonometric
from mercer.formula.data import (
    Columns,
    Steps,
    as_matrix,
    as_objects,
    check_same_columns,
    concatenate,
    is_frame,
    length,
    result_dtype,
    short,
    take,
)
from mercer.kernels import Custom, Gaussian, GlobalAlignment, Linear, MeanEmbedding, Overlap, Polynomial
from mercer.kernels.mapping import Mapped
from mercer.kernels.text import parse_kernel

ARRAY = np.arange(6.0).reshape(3, 2)
COLLECTIONS = {
    "array": ARRAY,
    "list": ARRAY.tolist(),
    "pandas": pd.DataFrame(ARRAY, columns=["a", "b"], index=[7, 8, 9]),
    "polars": pl.DataFrame(ARRAY, schema=["a", "b"]),
    "csr": sparse.csr_array(ARRAY),
}


@pytest.fixture(params=COLLECTIONS.values(), ids=COLLECTIONS.keys())
def collection(request):
    return request.param


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def test_every_collection_has_a_length_and_parts(collection):
    assert length(collection) == 3
    np.testing.assert_array_equal(dense(take(collection, 1, 3)), ARRAY[1:])


def test_every_collection_becomes_a_matrix(collection):
    matrix = as_matrix(collection, "k", allow_sparse=True)
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(dense(matrix), ARRAY)


def test_collections_are_put_one_after_the_other(collection):
    both = concatenate(collection, take(collection, 0, 1))
    assert type(both) is type(collection)
    np.testing.assert_array_equal(dense(both), ARRAY[[0, 1, 2, 0]])


def test_frames_are_told_from_other_collections():
    assert [name for name, X in COLLECTIONS.items() if is_frame(X)] == ["pandas", "polars"]
    assert not is_frame(pd.Series([1.0]))


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint64, bool, np.longdouble, object])
def test_numbers_of_every_other_kind_become_float64(dtype):
    matrix = as_matrix(np.array([[0, 1]], dtype=dtype), "k")
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, [[0, 1]])


def test_float32_is_kept():
    assert as_matrix(ARRAY.astype(np.float32), "k").dtype == np.float32
    assert as_matrix(sparse.csc_array(ARRAY.astype(np.float32)), "k", allow_sparse=True).dtype == np.float32


def test_matrices_are_contiguous_whatever_came_in():
    assert as_matrix(ARRAY.T, "k").flags.c_contiguous
    assert as_matrix(np.asfortranarray(ARRAY)[::2], "k").flags.c_contiguous


def test_the_result_is_float32_only_if_everything_is():
    single = ARRAY.astype(np.float32)
    assert result_dtype(single, single) == np.float32
    assert result_dtype(single, ARRAY) == np.float64
    assert result_dtype(single, single.tolist()) == np.float64
    assert result_dtype(pd.DataFrame(single), pl.DataFrame(single)) == np.float32
    assert result_dtype(sparse.csr_array(single)) == np.float32
    assert result_dtype(pd.DataFrame({"a": single[:, 0], "b": ["x", "y", "z"]})) == np.float64


def test_columns_are_compared_between_frames_only():
    X = COLLECTIONS["pandas"]
    check_same_columns(X, X)
    check_same_columns(X, ARRAY)
    check_same_columns(X, COLLECTIONS["polars"])
    with pytest.raises(ValueError, match="same columns in the same order"):
        check_same_columns(X, X[["a"]])


def test_pandas_extension_types_are_numbers_too():
    X = pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "b": pd.array([0.5, 1.5], dtype="Float64")})
    np.testing.assert_array_equal(as_matrix(X, "k"), [[1, 0.5], [2, 1.5]])
    np.testing.assert_array_equal(as_matrix(pd.DataFrame({"a": [True, False], "b": [1.0, 2.0]}), "k"), [[1, 1], [0, 2]])


def test_missing_extension_values_are_refused():
    X = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [1.0, 2.0]})
    with pytest.raises((ValueError, TypeError), match=r"k needs (finite )?numbers, but row 1, column .* is"):
        as_matrix(X, "k")


def test_sparse_matrices_are_refused_unless_allowed():
    with pytest.raises(TypeError, match=r"k does not work on sparse matrices.*toarray"):
        as_matrix(COLLECTIONS["csr"], "k")
    with pytest.raises(ValueError, match="at least one point and one feature"):
        as_matrix(sparse.csr_array((0, 3)), "k", allow_sparse=True)


def test_objects_are_rows_values_or_the_list_itself():
    words = ["a", "b"]
    assert as_objects(words, "k") is words
    assert list(as_objects(pd.Series(words), "k")) == words
    assert list(as_objects(pd.DataFrame({"w": words}), "k")) == words
    assert list(as_objects(np.array(words)[:, None], "k")) == words
    assert as_objects({"only": 1}.keys(), "k") == ["only"]
    np.testing.assert_array_equal(as_objects(ARRAY, "k")[1], ARRAY[1])


@pytest.mark.parametrize("thing", ["abc", b"abc", 3, None, np.array(3)], ids=repr)
def test_objects_need_a_collection(thing):
    with pytest.raises(TypeError, match="k needs a collection of objects"):
        as_objects(thing, "k")


def test_a_view_applies_its_steps_in_order():
    view = Steps().then(Columns((1,), "k")).then(Mapped(np.sqrt, "k"))
    np.testing.assert_allclose(view.apply(ARRAY), np.sqrt(ARRAY[:, [1]]))
    assert view == Steps((Columns((1,), "k"), Mapped(np.sqrt, "k")))
    assert hash(view) == hash(Steps((Columns((1,), "k"), Mapped(np.sqrt, "k"))))
    assert Mapped(np.sqrt, "k") != Mapped(np.exp, "k")


def test_the_numeric_part_of_a_mixed_table_is_numeric():
    mixed = [[1, "a", 0.5], [2, "b", 1.5]]
    assert Columns((0, 2), "k").apply(mixed).dtype == np.float64
    assert Columns((0,), "k").apply(np.array(mixed, dtype=object)).dtype == np.int64
    assert Columns((0, 1), "k").apply(mixed).dtype == object


def test_long_texts_are_cut():
    assert short([1, 2]) == "[1, 2]"
    assert len(short(list(range(1000)))) == 80


MASKED = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])


@pytest.mark.parametrize(
    "read",
    [
        lambda X: Linear()(X),
        lambda X: Linear()(np.ones((2, 2)), X),
        lambda X: Gaussian().distance(X),
        lambda X: Linear().diag(X),
        lambda X: Gram(Linear(), X),
        lambda X: Overlap()(X),
        lambda X: Linear().on([0])(X),
        lambda X: Linear().after(lambda x: x)(X),
        lambda X: Linear()(list(X)),
        lambda X: MeanEmbedding(Linear())([X]),
        lambda X: GlobalAlignment()([X, X]),
        lambda X: Linear().feature_map(2).transform(X),
        lambda X: Trigonometric().fit(X),
        lambda X: Nystroem(Gaussian(), n_components=1).fit(X),
        lambda X: Custom(lambda x, z: 1.0)(X),
        lambda X: KernelRidge().fit(X, [0.0, 1.0]),
    ],
)
def test_masked_entries_are_refused_wherever_rows_are_read(read):
    with pytest.raises(ValueError, match=r"some of the array are masked; fill them with X\.filled"):
        read(MASKED)


def test_a_masked_array_without_masked_entries_is_an_array():
    X = np.ma.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(Linear()(X), Linear()(np.asarray(X)))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [(slice(1, None), [1, 2, 3]), (slice(None), [0, 1, 2, 3]), (slice(None, -1), [0, 1, 2]), (slice(-2, None), [2, 3]),
     (slice(None, None, 2), [0, 2]), (slice(None, None, -1), [3, 2, 1, 0]), (slice(1, 3), [1, 2])],
    ids=repr,
)  # fmt: skip
def test_slices_of_columns_may_be_open(columns, expected):
    X = np.random.default_rng(0).normal(size=(5, 4))
    kernel, same = Polynomial(2).on(columns), Polynomial(2).on(expected)
    np.testing.assert_array_equal(kernel(X), same(X))
    np.testing.assert_array_equal(Gram(kernel, X).dense(), Gram(same, X).dense())
    np.testing.assert_array_equal(kernel(pd.DataFrame(X, columns=list("abcd"))), same(X))
    np.testing.assert_array_equal(kernel(sparse.csr_array(X)), same(sparse.csr_array(X)))
    assert kernel.feature_dim(4) == same.feature_dim(4)
    np.testing.assert_array_equal(kernel.feature_map(4).transform(X), same.feature_map(4).transform(X))
    assert parse_kernel(repr(kernel)) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert hash(kernel) == hash(Polynomial(2).on(columns))
    assert isinstance(kernel.certificate(), Proved)
    assert isinstance(kernel.certificate(dim=4), Proved)


def test_an_open_slice_that_leaves_no_column_says_so():
    with pytest.raises(ValueError, match="the slice leaves none of the 2 columns"):
        Linear().on(slice(2, None))(np.eye(2))
    with pytest.raises(TypeError, match="columns must be positions or names"):
        Linear().on(slice(0, 3, 0))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x - x[0],
        lambda x: x - x.mean(axis=0),
        lambda x: x - np.median(x, axis=0),
        lambda x: np.sort(x, axis=0),
        lambda x: np.cumsum(x, axis=0),
        lambda x: x / np.abs(x).max(),
        lambda x: x - x[-1],
        lambda x: np.roll(x, 1, axis=0),
        lambda x: sparse.csr_array(x - x.mean(axis=0)) if x.ndim == 2 else x - x.mean(),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_functions_of_a_whole_collection_are_called_object_by_object(function, seed):
    X = np.random.default_rng(seed).normal(size=(9, 2))
    X[-1], X[4] = X[0], X[0]  # the ends agree
    expected = np.stack([np.ravel(function(x)) for x in X])
    np.testing.assert_allclose(Linear().after(function)(X), expected @ expected.T, atol=1e-12)


def test_functions_of_rows_are_still_called_once_on_all_of_them():
    calls = []

    def squares(x):
        calls.append(np.shape(x))
        return np.atleast_2d(x) ** 2 if np.ndim(x) == 1 else x**2

    X = np.random.default_rng(0).normal(size=(500, 2))
    np.testing.assert_allclose(Linear().after(squares)(X), X**2 @ (X**2).T)
    assert len(calls) < 50
