"""The overlap of categories, of any hashable kind in tables of any kind, and several outputs as one kernel."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import mercer
from mercer.gram import Gram
from mercer.kernels import Coregionalization, Gaussian, Overlap
from mercer.models import KernelRidge
from mercer.testing import check_kernel

ROWS = [["red", "round", 1], ["red", "square", 2], ["blue", "round", 2]]
OTHERS = [["blue", "flat", 1], ["red", "square", 2]]
EXPECTED = [[1, 1], [0, 3], [1, 1]]


@pytest.mark.parametrize(
    "table",
    [
        list,
        lambda rows: np.array(rows, dtype=object),
        lambda rows: np.array(rows),
        lambda rows: [tuple(row) for row in rows],
        lambda rows: pd.DataFrame(rows, columns=list("abc")),
        lambda rows: pd.DataFrame(rows, columns=list("abc")).astype("category"),
        lambda rows: pl.DataFrame(rows, schema=list("abc"), orient="row", strict=False),
    ],
    ids=["list", "objects", "strings", "tuples", "pandas", "categories", "polars"],
)
def test_the_columns_that_agree_are_counted(table):
    np.testing.assert_array_equal(Overlap()(table(ROWS), table(OTHERS)), EXPECTED)
    np.testing.assert_array_equal(Overlap().diag(table(ROWS)), 3)


def test_categories_unknown_on_the_other_side_agree_with_none():
    np.testing.assert_array_equal(Overlap()([["a"], ["b"]], [["c"], ["b"]]), [[0, 0], [0, 1]])


def test_the_same_value_in_another_column_is_another_category():
    np.testing.assert_array_equal(Overlap()([["a", "b"]], [["b", "a"]]), [[0]])


def test_values_may_be_numbers_tuples_and_booleans():
    X = np.empty((2, 2), dtype=object)
    X[0], X[1] = [(1, 2), True], [(1, 2), False]
    np.testing.assert_array_equal(Overlap()(X), [[2, 1], [1, 2]])
    np.testing.assert_array_equal(Overlap()([[1], [1.0], [2]]), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])


def test_a_single_column_may_come_as_a_list():
    np.testing.assert_array_equal(Overlap()(["a", "b", "a"]), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    np.testing.assert_array_equal(Overlap()(pd.Series(["a", "b"])), np.eye(2))


def test_the_share_of_agreeing_columns_comes_by_normalising():
    np.testing.assert_allclose(Overlap().normalize()(ROWS, OTHERS), np.array(EXPECTED) / 3, rtol=1e-15)


def test_categories_and_numbers_of_one_frame_combine():
    X = pd.DataFrame({"colour": ["red", "blue"], "size": [1.0, 2.0]})
    K = (Overlap().on("colour") + Gaussian().on("size"))(X)
    np.testing.assert_allclose(K, [[2, np.exp(-0.5)], [np.exp(-0.5), 2]], rtol=1e-15)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT])
def test_missing_values_are_refused_with_a_remedy(missing):
    with pytest.raises(ValueError, match="row 1, column 0 is missing; fill missing values first"):
        Overlap()([["a", "b"], [missing, "c"]])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
        pd.DataFrame({"a": ["x", None]}),
        pl.DataFrame({"a": ["x", None]}),
    ],
    ids=["Int64", "str", "polars"],
)
def test_missing_values_of_frames_are_refused(frame):
    with pytest.raises(ValueError, match="row 1, column 0 is missing"):
        Overlap()(frame)


def test_missing_values_of_mixed_frames_are_refused():
    X = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": ["x", "y"]})
    with pytest.raises(ValueError, match="row 1, column 0 is missing"):
        Overlap()(X)


def test_values_that_cannot_be_compared_are_refused():
    X = np.empty((1, 1), dtype=object)
    X[0, 0] = {"a": 1}
    with pytest.raises(TypeError, match=r"row 0, column 0 is .*hashable"):
        Overlap()(X)


def test_different_numbers_of_columns_are_refused():
    with pytest.raises(ValueError, match="X has 2 columns but Z has 1; both need the same columns"):
        Overlap()([["a", "b"]], [["a"]])


def test_data_that_is_no_table_is_refused():
    with pytest.raises(TypeError, match="does not work on sparse matrices"):
        Overlap()(sparse.csr_array(np.eye(2)))
    with pytest.raises(ValueError, match=r"needs a table of shape \(points, columns\), got shape \(2, 2, 2\)"):
        Overlap()(np.ones((2, 2, 2)))


@pytest.mark.parametrize("kind", [np.array, list, pd.DataFrame, lambda X: pd.DataFrame(X).assign(share=0.5)])
def test_large_whole_numbers_are_told_apart(kind):
    X = kind([[2**53], [2**53 + 1], [2**53]])
    agreeing = Overlap()(X)
    assert agreeing[0, 0] == agreeing[0, 2] == agreeing[0, 1] + 1
    np.testing.assert_array_equal(Gram(Overlap(), X).dense(), agreeing)


# -- several outputs -----------------------------------------------------------------------------------------------


B = np.array([[1.0, 0.4, 0.0], [0.4, 2.0, -0.5], [0.0, -0.5, 1.5]])


def test_several_outputs_at_the_same_points_have_the_kronecker_product():
    X = np.random.default_rng(0).normal(size=(5, 2))
    rows = np.array([[*x, i] for i in range(3) for x in X])
    kernel = Gaussian(1.0).on([0, 1]) * Coregionalization(B).on([2])
    np.testing.assert_allclose(kernel(rows), np.kron(B, Gaussian(1.0)(X)), rtol=1e-14)
    assert type(kernel.certificate()).__name__ == "Proved"
    check_kernel(kernel, rows)


def test_outputs_without_covariance_are_learnt_each_on_its_own():
    rng = np.random.default_rng(1)
    X, Y, new = rng.normal(size=(8, 1)), rng.normal(size=(8, 2)), rng.normal(size=(4, 1))
    rows = np.array([[*x, i] for i in range(2) for x in X])
    together = KernelRidge(0.1, kernel=Gaussian().on([0]) * Coregionalization(np.eye(2)).on([1])).fit(rows, Y.T.ravel())
    alone = KernelRidge(0.1, kernel=Gaussian()).fit(X, Y).predict(new)
    for i in range(2):
        found = together.predict(np.column_stack([new, np.full(4, i)]))
        np.testing.assert_allclose(found, alone[:, i], rtol=1e-9)


def test_weights_and_variances_make_a_covariance_and_outputs_have_names(tmp_path):
    W, kappa = np.array([[1.0, 0.5], [2.0, -1.0], [0.0, 0.3]]), [0.1, 0.0, 2.0]
    kernel = Coregionalization.from_weights(W, kappa, ["wind", "rain", "sun"])
    np.testing.assert_allclose(kernel.matrix, W @ W.T + np.diag(kappa), rtol=1e-15)
    np.testing.assert_allclose(kernel(["sun", "wind"], ["rain"]), kernel.matrix[[2, 0]][:, [1]], rtol=1e-15)
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0], "what": ["rain", "sun", "rain"]})
    model = KernelRidge(kernel=Gaussian().on(["x"]) * kernel.on(["what"])).fit(frame, [1.0, 2.0, 3.0])
    mercer.save(model, tmp_path / "outputs")
    np.testing.assert_array_equal(mercer.load(tmp_path / "outputs").predict(frame), model.predict(frame))
    assert eval(repr(Coregionalization(B))) == Coregionalization(B.tolist())
    assert not Coregionalization.from_weights([[1.0], [2.0]]).certificate().strict
    assert Coregionalization(B).certificate().strict


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Coregionalization([[1.0, 2.0], [2.0, 1.0]]), r"has the eigenvalue -1, .*from_weights.*Precomputed"),
        (lambda: Coregionalization([[1.0, 2.0], [0.0, 5.0]]), "the matrix is not symmetric"),
        (lambda: Coregionalization([[1.0, np.nan], [np.nan, 5.0]]), "NaN or infinity"),
        (lambda: Coregionalization(np.eye(2), "aa"), "outputs are 2 different names, got 'aa'"),
        (lambda: Coregionalization(np.eye(2))([0, 2]), r"object 1 is 2, which is no output; there are \[0, 1\]"),
        (lambda: Coregionalization.from_weights([1.0, 2.0]), "a finite table with a row for each output"),
        (lambda: Coregionalization.from_weights([[1.0], [2.0]], -1.0), "kappa is a number that is not negative"),
        (lambda: Coregionalization.from_weights([[1.0], [2.0]], [1.0] * 3), "one for each of 2 outputs"),
    ],
)
def test_mistakes_in_several_outputs_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
