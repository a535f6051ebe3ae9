"""Linear maps in front of kernels: the metric they stand for, as values, and on every kind of data."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.base import clone

import mercer
from mercer import SVC, Gram, KernelRidge
from mercer.certify.verdict import Proved
from mercer.features.validate import takes_sparse, takes_vectors
from mercer.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    LinearMap,
    Matern,
    Overlap,
    Periodic,
    Polynomial,
    PowerExponential,
)
from mercer.kernels.text import parse_kernel
from mercer.testing import check_kernel

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(9, 3)), RNG.normal(size=(5, 3))
WIDE, NARROW, SQUARE = RNG.normal(size=(3, 5)), RNG.normal(size=(3, 2)), RNG.normal(size=(3, 3))
KERNELS = [Gaussian(1.5), Laplacian(2.0), Matern(0.5), PowerExponential(1.5, 0.7), Polynomial(2, 1.0), Linear()]
MATRICES = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=4), elements=st.floats(-1e9, 1e9))


# -- what it is ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "matrix", [WIDE, NARROW, SQUARE, np.zeros((3, 2)), np.ones((3, 1))], ids=["w", "n", "s", "0", "1"]
)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_kernel_after_a_linear_map_is_that_of_the_images(kernel, matrix):
    mapped = kernel.after(LinearMap(matrix))
    np.testing.assert_allclose(mapped(X, Z), kernel(X @ matrix, Z @ matrix), rtol=1e-12)
    np.testing.assert_allclose(mapped.diag(X), kernel.diag(X @ matrix), rtol=1e-12)
    check_kernel(mapped, X)


@pytest.mark.parametrize("matrix", [WIDE, NARROW, SQUARE])
def test_a_kernel_of_a_distance_measures_it_in_the_metric(matrix):
    difference = X[:, None] - Z[None]
    squares = np.einsum("ijk,kl,ijl->ij", difference, matrix @ matrix.T, difference)
    np.testing.assert_allclose(Gaussian().after(LinearMap(matrix))(X, Z), np.exp(-squares / 2), rtol=1e-12)
    np.testing.assert_allclose(Matern(0.5).after(LinearMap(matrix))(X, Z), np.exp(-np.sqrt(squares)), rtol=1e-12)


def test_length_scales_are_a_diagonal_map():
    scales = np.array([0.5, 2.0, 1.3])
    for kind in (Gaussian, Laplacian, PowerExponential):
        mapped = kind().after(LinearMap(np.diag(1 / scales)))
        np.testing.assert_allclose(mapped(X, Z), kind(length_scale=scales)(X, Z), rtol=1e-12)


def test_linear_maps_follow_each_other_and_choices_of_columns():
    twice = Gaussian().after(LinearMap(NARROW)).after(LinearMap(SQUARE))
    np.testing.assert_allclose(twice(X, Z), Gaussian().after(LinearMap(SQUARE @ NARROW))(X, Z), rtol=1e-10)
    some = Gaussian().after(LinearMap(NARROW[:2])).on([2, 0])
    np.testing.assert_allclose(some(X, Z), Gaussian()(X[:, [2, 0]] @ NARROW[:2], Z[:, [2, 0]] @ NARROW[:2]), rtol=1e-12)
    one = Gaussian().on(1).after(LinearMap(NARROW))
    np.testing.assert_allclose(one(X, Z), Gaussian()(X @ NARROW[:, [1]], Z @ NARROW[:, [1]]), rtol=1e-12)


def test_slopes_by_length_scales_are_those_of_the_images():
    kernel = PowerExponential(1.5, 0.7, [1.0, 3.0])
    slopes = kernel.after(LinearMap(NARROW)).gradient(X, Z)
    for name, values in kernel.gradient(X @ NARROW, Z @ NARROW).items():
        np.testing.assert_allclose(slopes[f"kernel__{name}"], values, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("matrix", [WIDE, NARROW, SQUARE, np.zeros((3, 2))])
def test_slopes_in_x_are_those_by_the_images_times_the_transpose(kernel, matrix):
    mapped = kernel.after(LinearMap(matrix))
    expected = kernel.gradient_x(X @ matrix, Z @ matrix) @ matrix.T
    np.testing.assert_allclose(mapped.gradient_x(X, Z), expected, rtol=1e-11, atol=1e-13)
    few = mapped.on([2, 0, 1]).gradient_x(X, Z)
    np.testing.assert_allclose(few, mapped.gradient_x(X[:, [2, 0, 1]], Z[:, [2, 0, 1]])[:, :, [1, 2, 0]], atol=1e-13)
    for form in (sparse.csr_array, pd.DataFrame):
        np.testing.assert_allclose(mapped.gradient_x(form(X), form(Z)), expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(mapped.gradient_x(X[0], Z[0]), expected[0, 0], rtol=1e-11, atol=1e-13)


def test_two_flat_arrays_are_two_points():
    mapped = Gaussian().after(LinearMap(NARROW))
    assert mapped(X[0], Z[0]) == pytest.approx(mapped(X[:1], Z[:1])[0, 0])


# -- data ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), PowerExponential(1.5, 0.7)], ids=repr)
def test_frames_lists_and_sparse_matrices_give_the_dense_result(kernel):
    mapped, some = kernel.after(LinearMap(NARROW)), X * (X > 0)
    expected = mapped(some)
    forms = [pd.DataFrame(some), pl.DataFrame(some, schema=["a", "b", "c"]), some.tolist(), sparse.csr_array(some)]
    for form in [*forms, sparse.coo_matrix(some)]:
        np.testing.assert_allclose(mapped(form), expected, rtol=1e-12)
        np.testing.assert_allclose(LinearMap(NARROW)(form), some @ NARROW, rtol=1e-12)
    assert mapped(some.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(mapped(some.astype(np.float32)), expected, rtol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS[:3], ids=repr)
def test_the_native_backend_still_computes_the_matrix(kernel):
    gram = Gram(kernel.after(LinearMap(NARROW)), X, Z)
    assert gram.backend_name == "native"
    np.testing.assert_allclose(gram @ np.ones(5), kernel(X @ NARROW, Z @ NARROW).sum(axis=1), rtol=1e-12)
    assert Gram(kernel.after(LinearMap(NARROW)), sparse.csr_array(X)).backend_name == "native"


def test_estimators_check_the_data_as_vectors():
    mapped, y = Gaussian().after(LinearMap(NARROW)), X[:, 0]
    assert takes_vectors(2.0 * mapped + Linear())
    assert not takes_vectors(Overlap().after(LinearMap(NARROW)))
    assert takes_sparse(Laplacian().after(LinearMap(NARROW)))
    model = KernelRidge(kernel=mapped, alpha=1e-3).fit(X, y)
    np.testing.assert_allclose(
        model.predict(Z), KernelRidge(kernel=Gaussian(), alpha=1e-3).fit(X @ NARROW, y).predict(Z @ NARROW)
    )
    with pytest.raises(ValueError, match="NaN"):
        KernelRidge(kernel=mapped).fit(np.full((4, 3), np.nan), np.arange(4.0))
    assert SVC(kernel=mapped).fit(sparse.csr_array(X), y > 0).score(sparse.csr_array(X), y > 0) > 0.5


def test_a_wrong_number_of_columns_is_named_with_the_right_one():
    mapped = Gaussian().after(LinearMap(NARROW))
    for data in (X[:, :2], sparse.csr_array(X[:, :2]), pd.DataFrame(X[:, :2])):
        with pytest.raises(ValueError, match=r"Gaussian.*takes rows of 3 numbers, but the data has 2 columns.*the 3 c"):
            mapped(data)
    with pytest.raises(ValueError, match="takes rows of 3 numbers, but the data has 4 columns"):
        LinearMap(NARROW)(np.ones((2, 4)))
    with pytest.raises(ValueError, match="rows of 3 numbers, but the data has 7 columns"):
        mapped.feature_dim(7)
    with pytest.raises(TypeError, match="needs numbers, but row 0, column 1 is 'a'"):
        mapped(np.array([[1.0, "a", 2.0]], dtype=object))


@pytest.mark.parametrize(
    "matrix",
    [[1.0, 2.0], [], [[]], np.ones((2, 2, 2)), 3.0, "a", [["a"]], [[1.0], [1.0, 2.0]], [[1j]], None, np.ones((0, 3))],
    ids=repr,
)
def test_what_is_no_matrix_is_refused(matrix):
    with pytest.raises(ValueError, match=r"LinearMap: the matrix must be a two-dimensional array of numbers .*, got"):
        LinearMap(matrix)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_matrices_are_finite(bad):
    with pytest.raises(ValueError, match="the matrix must be finite, but row 1, column 0 is"):
        LinearMap([[1.0, 2.0], [bad, 1.0]])


def test_images_that_overflow_are_named():
    with pytest.raises(ValueError, match="needs finite numbers, but row 0, column 0 is inf"):
        Gaussian().after(LinearMap([[1e300]]))([[1e300], [1.0]])


# -- values ----------------------------------------------------------------------------------------------------------


@given(MATRICES)
def test_text_pickles_and_copies_of_a_map_are_equal_maps(matrix):
    linear = LinearMap(matrix)
    again = eval(repr(linear), {"LinearMap": LinearMap})
    for other in (again, pickle.loads(pickle.dumps(linear)), clone(linear, safe=False), LinearMap(matrix.tolist())):
        assert other == linear
        assert hash(other) == hash(linear)
        np.testing.assert_array_equal(other.matrix, matrix)
    kernel = 2.0 * Gaussian(0.3).after(linear) + Linear()
    assert parse_kernel(repr(kernel)) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert clone(KernelRidge(kernel=kernel)).kernel == kernel


def test_maps_of_other_numbers_differ():
    kernel = Gaussian().after(LinearMap(NARROW))
    assert kernel != Gaussian().after(LinearMap(NARROW.T))
    assert kernel != Gaussian().after(LinearMap(np.nextafter(NARROW, 9)))
    assert kernel.with_params(map__matrix=SQUARE) == Gaussian().after(LinearMap(SQUARE))
    assert LinearMap(np.eye(2, dtype=int)) == LinearMap(np.eye(2, dtype=np.float32))


def test_a_map_keeps_its_own_numbers():
    matrix = NARROW.copy()
    linear = LinearMap(matrix)
    matrix[:] = 0
    np.testing.assert_array_equal(linear.matrix, NARROW)
    with pytest.raises(ValueError, match="read-only"):
        linear.matrix[0, 0] = 1.0


def test_the_text_of_a_kernel_leaves_out_a_large_matrix_and_that_of_the_map_does_not():
    linear = LinearMap(RNG.normal(size=(50, 50)))
    assert "after(LinearMap(<array of shape (50, 50)>))" in repr(Gaussian().after(linear))
    assert eval(repr(linear), {"LinearMap": LinearMap}) == linear


def test_other_maps_are_no_text():
    with pytest.raises(ValueError, match=r"after takes a Python function.* a linear map is written LinearMap"):
        parse_kernel("Gaussian().after(tanh)")
    with pytest.raises(ValueError, match="LinearMap needs matrix, as in LinearMap"):
        parse_kernel("Gaussian().after(LinearMap())")
    with pytest.raises(ValueError, match=r"LinearMap is no kernel; write k\.after"):
        parse_kernel("LinearMap([[1]])")
    with pytest.raises(ValueError, match="the matrix must be a two-dimensional array"):
        parse_kernel("Gaussian().after(LinearMap([1, 2]))")


def test_models_come_back_from_files_with_the_same_numbers(tmp_path):
    data = RNG.normal(size=(20, 50))
    kernel = PowerExponential(1.3, 0.9, 5.0).after(LinearMap(RNG.normal(size=(50, 50)) / 7))
    model = KernelRidge(kernel=kernel, alpha=0.1).fit(data, data[:, 0])
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert again.kernel == kernel
    np.testing.assert_array_equal(again.kernel.map.matrix, kernel.map.matrix)
    np.testing.assert_array_equal(again.predict(data), model.predict(data))


def test_explicit_features_are_those_of_the_images(tmp_path):
    kernel = Polynomial(2, 1.0).after(LinearMap(NARROW))
    assert kernel.feature_dim(3) == Polynomial(2, 1.0).feature_dim(2) == 6
    features = kernel.features().fit(X)
    np.testing.assert_allclose(features.transform(X) @ features.transform(Z).T, kernel(X, Z), rtol=1e-12)
    mercer.save(features, tmp_path / "features.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "features.mercer").transform(Z), features.transform(Z))


# -- proofs ----------------------------------------------------------------------------------------------------------


def strictness(kernel: Kernel, dim: int | None = None) -> bool | None:
    verdict = kernel.certificate(dim=dim)
    assert isinstance(verdict, Proved)
    return verdict.strict


@pytest.mark.parametrize("matrix", [WIDE, SQUARE, np.diag([1.0, 1e-20, 1e20]), [[1.0, 0, 0], [1, 1e-9, 0], [0, 0, 1]]])
@pytest.mark.parametrize("kernel", KERNELS[:4], ids=repr)
def test_strict_kernels_stay_so_if_the_rows_are_independent(kernel, matrix):
    assert strictness(kernel.after(LinearMap(matrix))) is True
    assert strictness(kernel.after(LinearMap(matrix)), dim=3) is True


@pytest.mark.parametrize("matrix", [NARROW, np.zeros((3, 3)), np.diag([1.0, 0.0, 1.0]), np.ones((3, 1))])
@pytest.mark.parametrize("kernel", KERNELS[:4], ids=repr)
def test_points_that_fall_together_make_singular_matrices(kernel, matrix):
    mapped = kernel.after(LinearMap(matrix))
    verdict = mapped.certificate()
    assert verdict.strict is False
    assert "linear map takes to 0" in " ".join(str(verdict).split())
    _, _, directions = np.linalg.svd(np.asarray(matrix).T)
    K = mapped(np.stack([X[0], X[0] + directions[-1]]))
    np.testing.assert_allclose(K, 1.0, rtol=1e-7)


def test_what_rounding_leaves_open_is_not_claimed():
    nearly = np.array([[1.0, 2.0], [1.0, 2.0 + 1e-16 * 5]])
    assert strictness(Gaussian().after(LinearMap(nearly))) is None
    assert strictness(Periodic().after(LinearMap(WIDE))) is None  # no two images need be a period apart
    assert strictness(Periodic().after(LinearMap(SQUARE))) is False
    assert strictness(Linear().after(LinearMap(SQUARE)), dim=3) is False


def test_differences_after_a_linear_map_are_refuted_where_they_are_no_kernels():
    assert (Gaussian(1.0) - Gaussian(2.0)).after(LinearMap(RNG.normal(size=(4, 4)))).certificate().value < 0
