"""What kernels are given, and the little functions that look at it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mercer.kernels.data import (
    Columns,
    View,
    as_matrix,
    as_objects,
    concatenate,
    is_frame,
    length,
    result_dtype,
    same_columns,
    short,
    take,
)
from mercer.kernels.mapping import Mapped

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
    same_columns(X, X)
    same_columns(X, ARRAY)
    same_columns(X, COLLECTIONS["polars"])
    with pytest.raises(ValueError, match="same columns in the same order"):
        same_columns(X, X[["a"]])


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
    view = View().then(Columns((1,), "k")).then(Mapped(np.sqrt, "k"))
    np.testing.assert_allclose(view.apply(ARRAY), np.sqrt(ARRAY[:, [1]]))
    assert view == View((Columns((1,), "k"), Mapped(np.sqrt, "k")))
    assert hash(view) == hash(View((Columns((1,), "k"), Mapped(np.sqrt, "k"))))
    assert Mapped(np.sqrt, "k") != Mapped(np.exp, "k")


def test_the_numeric_part_of_a_mixed_table_is_numeric():
    mixed = [[1, "a", 0.5], [2, "b", 1.5]]
    assert Columns((0, 2), "k").apply(mixed).dtype == np.float64
    assert Columns((0,), "k").apply(np.array(mixed, dtype=object)).dtype == np.int64
    assert Columns((0, 1), "k").apply(mixed).dtype == object


def test_long_texts_are_cut():
    assert short([1, 2]) == "[1, 2]"
    assert len(short(list(range(1000)))) == 80
