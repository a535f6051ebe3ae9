"""Laws that every kernel obeys, and the kernel as a value: parameters, equality, pickling, immutability."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import mercer.kernels
from mercer.kernels import (
    Chi2,
    Constant,
    Cosine,
    Custom,
    Fourier,
    FromFeatures,
    Gaussian,
    Intersection,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    ObjectKernel,
    Overlap,
    Periodic,
    Polynomial,
    PowerExponential,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Sinc,
    exp,
    fingerprints,
    processes,
)

from ..zoo import ZOO

TABLES = ("Hellinger", "Diffusion", "RegularizedLaplacian", "Coregionalization")


def test_the_zoo_holds_every_public_kernel():
    shipped = {getattr(mercer.kernels, name) for name in mercer.kernels.__all__} - {Kernel, ObjectKernel, exp}
    # Kernels on structured objects have tests of their own, and so have families that are one table.
    tables = {getattr(mercer.kernels, name) for name in [*fingerprints.__all__, *processes.__all__, *TABLES]}
    shipped = {kind for kind in shipped if issubclass(kind, Kernel) and not getattr(kind, "structured", False)}
    assert shipped <= {type(entry.kernel) for entry in ZOO} | tables


# -- laws ----------------------------------------------------------------------------------------------------------


def test_values_are_those_of_the_formula(entry):
    np.testing.assert_allclose(entry.kernel(entry.X, entry.Z), entry.loops(entry.X, entry.Z), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(entry.kernel(entry.X), entry.loops(entry.X, entry.X), rtol=1e-10, atol=1e-11)


def test_the_gram_matrix_is_exactly_symmetric(entry):
    K = entry.kernel(entry.X)
    np.testing.assert_array_equal(K, K.T)


def test_swapping_the_arguments_transposes(entry):
    K = entry.kernel(entry.X, entry.Z)
    np.testing.assert_allclose(K, entry.kernel(entry.Z, entry.X).T, rtol=1e-12, atol=1e-12)


def test_one_argument_means_the_same_twice(entry):
    K = entry.kernel(entry.X)
    np.testing.assert_allclose(K, entry.kernel(entry.X, copy.copy(entry.X)), rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(K, entry.kernel(entry.X, entry.X))


def test_the_diagonal_is_that_of_the_matrix(entry):
    np.testing.assert_allclose(entry.kernel.diag(entry.X), np.diag(entry.kernel(entry.X)), rtol=1e-12)
    assert entry.kernel.diag(entry.X).shape == (len(entry.X),)


def test_the_gram_matrix_is_positive_semi_definite(psd):
    eigenvalues = np.linalg.eigvalsh(psd.kernel(psd.X))
    assert eigenvalues.min() >= -1e-12 * eigenvalues.max()


def test_distances_are_not_negative_and_vanish_between_identical_objects(psd):
    D = psd.kernel.distance(psd.X)
    assert (D >= 0).all()
    np.testing.assert_array_equal(np.diag(D), 0)
    across = psd.kernel.distance(psd.X, copy.copy(psd.X))
    np.testing.assert_allclose(np.diag(across), 0, atol=1e-12 * max(1, psd.kernel.diag(psd.X).max()))
    np.testing.assert_allclose(across, D, atol=1e-12 * max(1, psd.kernel.diag(psd.X).max()))


def test_distances_are_those_of_the_features(psd):
    K, left, right = (psd.loops(*pair) for pair in ((psd.X, psd.Z), (psd.X, psd.X), (psd.Z, psd.Z)))
    expected = np.diag(left)[:, None] + np.diag(right)[None, :] - 2 * K
    np.testing.assert_allclose(psd.kernel.distance(psd.X, psd.Z), expected, rtol=1e-8, atol=1e-9)


def test_a_batch_is_its_objects_one_by_one(entry):
    K = entry.kernel(entry.X, entry.Z)
    for i in range(len(entry.X)):
        for j in range(len(entry.Z)):
            one = entry.kernel(entry.X[i : i + 1], entry.Z[j : j + 1])
            np.testing.assert_allclose(one, K[i : i + 1, j : j + 1], rtol=1e-11, atol=1e-12)


def test_float32_in_gives_float32_out(numeric):
    X, Z = numeric.X.astype(np.float32), numeric.Z.astype(np.float32)
    K = numeric.kernel(X, Z)
    assert K.dtype == numeric.kernel(X).dtype == numeric.kernel.diag(X).dtype == np.float32
    assert numeric.kernel.distance(X, Z).dtype == np.float32
    np.testing.assert_allclose(K, numeric.kernel(numeric.X, numeric.Z), rtol=1e-5, atol=1e-6)


def test_float64_on_one_side_gives_float64(numeric):
    assert numeric.kernel(numeric.X.astype(np.float32), numeric.Z).dtype == np.float64
    assert numeric.kernel(numeric.X).dtype == np.float64


def test_a_large_common_shift_changes_nothing(shifts):
    K = shifts.kernel(shifts.X, shifts.Z)
    np.testing.assert_allclose(shifts.kernel(shifts.X + 1e6, shifts.Z + 1e6), K, rtol=1e-9, atol=1e-9)
    shifted = shifts.kernel((shifts.X + 1e6).astype(np.float32), (shifts.Z + 1e6).astype(np.float32))
    np.testing.assert_allclose(shifted, K, rtol=1e-5, atol=1e-6)


def test_a_point_is_exactly_like_itself(unit):
    np.testing.assert_array_equal(np.diag(unit.kernel(unit.X)), 1)
    np.testing.assert_array_equal(unit.kernel.diag(unit.X), 1)
    np.testing.assert_array_equal(np.diag(unit.kernel(unit.X * 1e3 + 12345.678)), 1)


def test_a_point_that_occurs_on_both_sides_is_exactly_like_itself(unit):
    X = np.concatenate([unit.X, unit.X[:2]]) + 1234.5
    assert unit.kernel(X)[0, -2] == 1
    np.testing.assert_array_equal(np.diag(unit.kernel(X, X[::-1].copy()[::-1])), 1)
    np.testing.assert_array_equal(np.diag(unit.kernel(X, X + 0.0)), 1)


def test_similarity_lies_between_zero_and_one(unit):
    K = unit.kernel(unit.X, unit.Z)
    assert (K >= 0).all()
    assert (K <= 1).all()


# -- gradients -----------------------------------------------------------------------------------------------------


def finite_differences(kernel, X, Z, name, step=1e-5):
    value = kernel.hyperparameters()[name]
    up = kernel.with_hyperparameters({name: value * math.exp(step)})
    down = kernel.with_hyperparameters({name: value * math.exp(-step)})
    return (up(X, Z) - down(X, Z)) / (2 * step)


def check_gradient(kernel, X, Z):
    gradient = kernel.gradient(X, Z)
    assert list(gradient) == list(kernel.hyperparameters())
    for name, values in gradient.items():
        np.testing.assert_allclose(values, finite_differences(kernel, X, Z, name), rtol=1e-6, atol=1e-8, err_msg=name)


def test_gradients_are_finite_differences_also_at_duplicated_points(entry):
    check_gradient(entry.kernel, entry.X, entry.Z)  # the collections share points
    check_gradient(entry.kernel, entry.X, None)


@pytest.mark.parametrize(
    "kernel",
    [
        (2.0 * Gaussian(1.5) + 0.5) * Polynomial(3, 0.7) ** 2,
        exp(0.2 * Linear() + Matern(3.2, [0.5, 2.0, 1.0])).normalize(),
        (Matern(0.5) - 0.5 * Matern(0.5, 2.0)) * Periodic([1.0, 2.0, 3.0], 1.7),
        (Gaussian([0.3, 0.4]).on([0, 2]) + RationalQuadratic(alpha=0.3).on(1)).normalize() ** 3,
        Sigmoid(0.2, 0.1) * Cosine(0.3) + 3 * Laplacian([1.0, 2.0, 3.0]).after(np.tanh),
        exp(exp(Cosine(0.5) / 10)) / 2,
        -Gaussian() / 3,
    ],
    ids=repr,
)
def test_gradients_of_compositions_are_finite_differences(kernel, points, others):
    assert kernel.hyperparameters()
    check_gradient(kernel, points, others)


def test_gradients_come_in_the_type_of_the_data(points):
    gradient = Matern(0.5).gradient(points.astype(np.float32))["length_scale"]
    assert gradient.dtype == np.float32


def test_a_kernel_without_hyperparameters_has_no_gradients(points):
    assert Linear().gradient(points) == {}
    assert Polynomial(2, 1.0).gradient(points).keys() == {"offset"}


def test_the_gradient_by_an_offset_of_zero_is_zero(points):
    np.testing.assert_array_equal(Polynomial(2, 0.0).gradient(points)["offset"], 0)


WITHOUT_SLOPES = {"FromFeatures", "Custom, vectorised", "on and after"}


def test_slopes_in_x_are_finite_differences_of_the_formula_also_at_duplicated_points(numeric):
    if numeric.name in WITHOUT_SLOPES:
        with pytest.raises(ValueError, match="has no slope in x"):
            numeric.kernel.gradient_x(numeric.X)
        return
    step, shift = 2.0**-9, 0.25 * (numeric.kernel.domain == "nonnegative")  # so that no entry falls below 0
    X, Z = numeric.X + shift, numeric.Z + shift
    expected = np.empty((len(X), len(Z), 3))
    for d, direction in enumerate(np.eye(3)):
        at = {s: numeric.loops(X + s * step * direction, Z) for s in (-3, -2, -1, 1, 2, 3)}
        total = 45 * (at[1] - at[-1]) - 9 * (at[2] - at[-2]) + (at[3] - at[-3])
        expected[:, :, d] = total / (60 * step)  # at a kink, the mean of both sides
    np.testing.assert_allclose(numeric.kernel.gradient_x(X, Z), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.5, 1.0, 1.5, 2.0, 2.5, 7.3, 60.5, 300.0])
def test_matern_gradients_are_finite_for_points_close_and_far(nu):
    X = np.array([[0.0], [0.0], [1e-300], [1e-160], [1e-12], [1e-3], [1.0], [1e3], [1e9]])
    gradient = Matern(nu).gradient(X)["length_scale"]
    assert np.isfinite(gradient).all()
    assert (gradient >= 0).all()
    np.testing.assert_array_equal(np.diag(gradient), 0)


# -- parameters ----------------------------------------------------------------------------------------------------


def test_parameters_have_nested_names():
    k = 2.0 * Gaussian(1.5) + exp(Polynomial(3)).normalize()
    params = k.get_params()
    assert params["k1__kernel__length_scale"] == 1.5
    assert params["k2__kernel__kernel__degree"] == 3
    assert params["k1"] == 2.0 * Gaussian(1.5)
    assert set(k.get_params(deep=False)) == {"k1", "k2"}


def test_changing_parameters_gives_another_kernel_and_keeps_the_old():
    k = 2.0 * Gaussian(1.5) + Polynomial(3)
    changed = k.with_params(k1__kernel__length_scale=9.0, k2__degree=4)
    assert changed == 2.0 * Gaussian(9.0) + Polynomial(4)
    assert k == 2.0 * Gaussian(1.5) + Polynomial(3)
    assert k.with_params() == k
    assert k.with_params(k1=Linear()) == Linear() + Polynomial(3)
    assert k.with_params(k1=Linear() + 1, k1__k2__value=5.0) == Linear() + 5.0 + Polynomial(3)


def test_changed_parameters_are_checked():
    with pytest.raises(ValueError, match="length_scale must be a positive"):
        (Gaussian() + 1).with_params(k1__length_scale=-1)


def test_unknown_parameters_are_named_together_with_the_known():
    with pytest.raises(ValueError, match=r"Gaussian has no parameter 'gamma'; it has \['length_scale'\]"):
        Gaussian().with_params(gamma=1.0)
    with pytest.raises(ValueError, match="Linear has no parameter 'degree'; it has none"):
        (Linear() + 1).with_params(k1__degree=2)
    with pytest.raises(ValueError, match=r"length_scale is 1\.0, which has no parameters of its own"):
        Gaussian().with_params(length_scale__x=1.0)


def test_hyperparameters_are_the_continuous_numbers_one_for_each_feature():
    k = 2 * Gaussian([1.0, 3.0]) + Polynomial(2, 0.5)
    assert k.hyperparameters() == {
        "k1__weight": 2.0, "k1__kernel__length_scale[0]": 1.0, "k1__kernel__length_scale[1]": 3.0, "k2__offset": 0.5,
    }  # fmt: skip
    changed = k.with_hyperparameters({"k1__kernel__length_scale[1]": 5.0, "k2__offset": 0.25})
    assert changed == 2 * Gaussian([1.0, 5.0]) + Polynomial(2, 0.25)


def test_every_hyperparameter_can_be_set(entry):
    values = entry.kernel.hyperparameters()
    changed = entry.kernel.with_hyperparameters({name: 1.25 * value for name, value in values.items()})
    assert changed.hyperparameters() == {name: 1.25 * value for name, value in values.items()}


def test_kernels_cannot_be_changed(entry):
    for name in entry.kernel.get_params(deep=False):
        with pytest.raises(AttributeError):
            setattr(entry.kernel, name, 1.0)
        with pytest.raises(AttributeError):
            delattr(entry.kernel, name)
    with pytest.raises(AttributeError):
        entry.kernel.anything = 1


def test_set_params_says_what_to_do_instead():
    with pytest.raises(TypeError, match=r"immutable; k\.with_params\(length_scale=…\)"):
        Gaussian().set_params(length_scale=2.0)
    assert Gaussian().set_params() == Gaussian()


# -- equality, copies, text ----------------------------------------------------------------------------------------


def test_equal_parameters_make_equal_kernels_with_equal_hashes():
    same = [Gaussian([1, 2]), Gaussian((1.0, 2.0)), Gaussian(np.array([1.0, 2.0])), Gaussian(np.array([1, 2]))]
    assert all(k == same[0] and hash(k) == hash(same[0]) for k in same)
    assert len(set(same)) == 1
    assert Polynomial(2) == Polynomial(2.0) == Polynomial(np.int64(2))
    assert hash(Gaussian(np.float64(2.0))) == hash(Gaussian(2))


def test_other_parameters_types_or_orders_make_other_kernels():
    kernels = [
        Gaussian(), Gaussian(2.0), Gaussian([1.0, 1.0]), Laplacian(), Matern(), Linear() + Gaussian(),
        Gaussian() + Linear(), Gaussian() * Linear(), 2 * Gaussian(), Gaussian() ** 2, exp(Gaussian()),
        Gaussian().normalize(), Gaussian().on(0), Gaussian().on([0, 1]), Gaussian().on("a"), Precomputed(np.eye(2)),
        Precomputed(2 * np.eye(2)), Custom(max), Custom(max, vectorized=True), Custom(min),
    ]  # fmt: skip
    assert len(set(kernels)) == len(kernels)
    assert Gaussian() != 1.0
    assert (Gaussian() == np.ones(2)) is False
    assert (np.ones(2) == Gaussian()) is False


def test_copies_are_equal(entry):
    for other in (copy.copy(entry.kernel), copy.deepcopy(entry.kernel), clone(entry.kernel)):
        assert other == entry.kernel
        assert hash(other) == hash(entry.kernel)
        np.testing.assert_array_equal(other(entry.X), entry.kernel(entry.X))


def test_pickled_kernels_are_equal(picklable):
    other = pickle.loads(pickle.dumps(picklable.kernel))
    assert other == picklable.kernel
    np.testing.assert_array_equal(other(picklable.X), picklable.kernel(picklable.X))


NAMES = {name: getattr(mercer.kernels, name) for name in mercer.kernels.__all__}


def test_the_text_of_a_kernel_rebuilds_it(entry):
    functions = {"tanh": np.tanh} | {
        f.__name__: f for f in entry.kernel.get_params().values() if callable(f) and hasattr(f, "__name__")
    }
    assert eval(repr(entry.kernel), NAMES | functions) == entry.kernel


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (Gaussian(np.float64(2)), "Gaussian(length_scale=2.0)"),
        (Gaussian(np.array([1.0, 2.0])), "Gaussian(length_scale=[1.0, 2.0])"),
        (Gaussian(tuple(np.array([1.0, 2.0]))), "Gaussian(length_scale=[1.0, 2.0])"),
        (Gaussian((np.float32(1),)), "Gaussian(length_scale=[1.0])"),
        (Matern(math.inf), "Matern(nu=float('inf'), length_scale=1.0)"),
        (Linear().on((np.int64(1), 0)), "Linear().on([1, 0])"),
        (Linear().on(np.array(["a", "b"])), "Linear().on(['a', 'b'])"),
        (Linear().on(slice(1, 3)), "Linear().on(slice(1, 3, None))"),
        (Precomputed(np.eye(2)), "Precomputed(matrix=[[1.0, 0.0], [0.0, 1.0]])"),
        (Fourier(3) + Constant(2) + Sinc(), "Fourier(order=3) + Constant(value=2) + Sinc()"),
    ],
)
def test_the_text_has_plain_numbers(kernel, text):
    assert repr(kernel) == text
    assert eval(text, dict(NAMES)) == kernel


def test_the_text_of_many_length_scales_rebuilds_the_kernel():
    k = Gaussian(np.arange(1.0, 40.0) / 7)
    assert eval(repr(k), dict(NAMES)) == k


def test_the_text_of_a_large_matrix_is_short():
    assert repr(Precomputed(np.eye(30))) == "Precomputed(matrix=<array of shape (30, 30)>)"


# -- inputs --------------------------------------------------------------------------------------------------------


def test_lists_integers_strided_and_fortran_arrays_are_all_the_same(numeric):
    X = np.round(2 * numeric.X)
    K = numeric.kernel(X)
    wide = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    assert not wide.flags.c_contiguous
    for other in (X.astype(int), X.astype(np.int32), X.astype(object), X.tolist(), wide, np.asfortranarray(X)):
        objects = isinstance(other, list) or other.dtype == object
        if objects and ("Custom" in repr(numeric.kernel) or "after" in repr(numeric.kernel)):
            continue  # a function is given the objects as they are
        np.testing.assert_allclose(numeric.kernel(other), K, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_are_the_same_as_arrays(numeric, frame):
    names = ["a", "b", "c"]
    X, Z = (frame(dict(zip(names, data.T, strict=True))) for data in (numeric.X, numeric.Z))
    np.testing.assert_allclose(numeric.kernel(X, Z), numeric.kernel(numeric.X, numeric.Z), rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(numeric.kernel.diag(X), numeric.kernel.diag(numeric.X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_float32_frames_give_float32(points, frame):
    X = frame({f"x{d}": points[:, d].astype(np.float32) for d in range(3)})
    assert Gaussian()(X).dtype == np.float32
    mixed = frame({"a": points[:, 0].astype(np.float32), "b": points[:, 1]})
    assert Gaussian()(mixed).dtype == np.float64


def test_one_point_and_one_feature_are_enough(numeric):
    if "Custom" in repr(numeric.kernel) or numeric.name in ("FromFeatures", "on and after"):
        width = 3
    else:
        width = 1 if "many" not in numeric.name else 3
    X = numeric.X[:1, :width]
    K = numeric.kernel(X)
    assert K.shape == (1, 1)
    np.testing.assert_allclose(K[0, 0], numeric.kernel.diag(X)[0], rtol=1e-13)


def test_results_are_new_arrays_and_data_is_left_alone(numeric):
    X, Z = numeric.X.copy(), numeric.Z.copy()
    X.setflags(write=False)
    K = numeric.kernel(X, Z)
    K[:] = 0
    numeric.kernel.diag(X)[:] = 0
    np.testing.assert_array_equal(Z, numeric.Z)


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused_with_their_place(checks_numbers, bad):
    kernel, X = checks_numbers.kernel, checks_numbers.X.copy()
    X[2, 1] = bad
    with pytest.raises(ValueError, match=r"needs finite numbers, but row 2, column .* is .*(nan|inf)"):
        kernel(X)
    with pytest.raises(ValueError, match="needs finite numbers"):
        kernel(checks_numbers.X, X)


@pytest.mark.parametrize(
    "kernel", [Linear(), Gaussian(), Laplacian(), Chi2(), Cosine(), Sinc(), Periodic(), Intersection()], ids=repr
)
def test_one_dimensional_data_is_refused_with_a_remedy(kernel):
    with pytest.raises(ValueError, match=r"two-dimensional.*got shape \(3,\).*reshape\(-1, 1\)"):
        kernel(np.ones(3))
    with pytest.raises(ValueError, match=r"got shape \(2, 2, 2\)"):
        kernel(np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match=r"two-dimensional"):
        kernel(pd.Series([1.0, 2.0]))


@pytest.mark.parametrize("empty", [[], np.empty((0, 3)), pd.DataFrame({"a": []})], ids=["list", "array", "frame"])
def test_empty_data_is_refused(entry, empty):
    with pytest.raises(ValueError, match="needs at least one object on each side, got 0 and 0"):
        entry.kernel(empty)
    with pytest.raises(ValueError, match="at least one"):
        entry.kernel(entry.X, empty)


def test_data_without_features_is_refused():
    with pytest.raises(ValueError, match=r"at least one point and one feature, got shape \(3, 0\)"):
        Gaussian()(np.empty((3, 0)))


@pytest.mark.parametrize("thing", [None, 3.0, (x for x in [1.0])], ids=["None", "number", "generator"])
def test_data_that_is_no_collection_is_refused(thing):
    with pytest.raises(TypeError, match="expected a collection of objects with a length"):
        Gaussian()(thing)


def test_a_single_value_is_refused():
    with pytest.raises(ValueError, match="single value"):
        Gaussian()(np.array(3.0))


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match=r"rows of equal length.*\[\[1\.0, 2\.0\], \[3\.0\]\]"):
        Gaussian()([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(), Gaussian(), Laplacian(), Matern(), Cosine(), Periodic(), Chi2(), Intersection()],
    ids=repr,
)
def test_different_numbers_of_features_are_refused(kernel):
    with pytest.raises(ValueError, match="X has 3 features but Z has 2; both need the same columns"):
        kernel(np.ones((4, 3)), np.ones((4, 2)))


def test_frames_with_other_columns_or_another_order_are_refused():
    X = pd.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(ValueError, match=r"\['a', 'b'\] but Z has columns \['b', 'a'\].*same order"):
        Gaussian()(X, X[["b", "a"]])
    with pytest.raises(ValueError, match="same columns"):
        Gaussian().on("a")(pl.DataFrame({"a": [1.0], "b": [2.0]}), pl.DataFrame({"a": [1.0], "c": [2.0]}))


@pytest.mark.parametrize(
    "data",
    [
        [["1.5", "2.5"]],
        np.array([["a", "b"]]),
        np.array([["1.5", 2.0]], dtype=object),
        ["one", "two"],
        np.array([["2020-01-01"]], dtype="datetime64[D]"),
    ],
    ids=["list", "array", "objects", "words", "dates"],
)
def test_strings_and_dates_are_refused_by_numeric_kernels(data):
    with pytest.raises(TypeError, match=r"Gaussian.* needs numbers, but row 0, column 0 is .*k\.on\(columns\)"):
        Gaussian()(data)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_the_text_column_of_a_frame_is_named(frame):
    with pytest.raises(TypeError, match="row 0, column 'city' is 'Rome'"):
        Gaussian()(frame({"age": [1.0, 2.0], "city": ["Rome", "Oslo"]}))


def test_complex_numbers_are_refused():
    with pytest.raises(TypeError, match="real numbers, got complex"):
        Gaussian()([[1j]])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_missing_values_in_frames_are_refused(frame):
    with pytest.raises(ValueError, match=r"row 1, column .a. is nan.*SimpleImputer"):
        Linear()(frame({"a": [1.0, None]}))


def test_values_too_large_for_float32_raise_and_name_the_remedy():
    X = np.array([[1e30], [1.0]], dtype=np.float32)
    with pytest.raises(OverflowError, match=r"Linear\(\) overflows float32 on this data; pass float64"):
        Linear()(X)
    with pytest.raises(OverflowError, match=r"Polynomial.*overflows float32"):
        Polynomial(4).diag(X)
    assert Linear()(X.astype(float))[0, 0] > 1e59


def test_distances_too_large_for_float32_raise():
    X = np.array([[1.6e19], [-1.6e19]], dtype=np.float32)
    assert np.isfinite(Linear()(X)).all()
    with pytest.raises(OverflowError, match="overflows float32"):
        Linear().distance(X)


def test_values_too_large_for_float64_raise_and_name_the_remedy():
    with pytest.raises(OverflowError, match=r"exp\(Linear\(\)\) overflows float64 on this data; scale the data down"):
        exp(Linear())([[30.0]])
    with pytest.raises(OverflowError, match="overflows float64"):
        Linear()([[1e200], [-1e200]])
    with pytest.raises(OverflowError, match="overflows float64"):
        Polynomial(3).gradient([[1e120]])


def test_radial_kernels_survive_huge_values():
    X = [[1e200, 0.0], [-1e200, 1.0], [1e200, 0.0], [0.0, 0.0]]
    expected = np.eye(4)
    expected[0, 2] = expected[2, 0] = 1
    for kernel in (
        Gaussian(),
        Laplacian(),
        Matern(0.5),
        Matern(1.5),
        Matern(3.2),
        Matern(0.3),
        RationalQuadratic(),
        PowerExponential(),
        PowerExponential(1.7, 1.2),
        PowerExponential(0.5, 0.1),
    ):
        np.testing.assert_allclose(kernel(X), expected, atol=1e-290)


def test_an_outlier_does_not_spoil_the_others(points):
    X = np.concatenate([points + 1e6, [[1e12, -1e12, 0.0]]])
    K = Gaussian(0.01)(X)
    np.testing.assert_allclose(K[:-1, :-1], Gaussian(0.01)(points), rtol=1e-6, atol=1e-300)


def test_close_points_far_from_the_origin_keep_their_distances():
    X = np.array([[1e8, 0.0], [1e8 + 2.0**-20, 0.0], [-1e8, 3.0]])
    expected = math.exp(-(2.0**-40) / (2 * 2.0**-40))
    np.testing.assert_allclose(Gaussian(2.0**-20)(X)[0, 1], expected, rtol=1e-12)


def test_constant_columns_are_fine(shifts):
    X = np.full((4, 3), 3.25)
    K = shifts.kernel(X)
    assert np.isfinite(K).all()
    np.testing.assert_allclose(K, K[0, 0], rtol=1e-14)


def test_a_kernel_without_a_formula_says_so():
    class Nothing(Kernel):
        def expression(self):
            return "Nothing()"

    with pytest.raises(NotImplementedError, match="Nothing defines no formula"):
        Nothing()([[1.0]])


def test_features_are_counted():
    assert Linear().feature_dim(3) == 3
    assert Polynomial(2, 1.0).feature_dim(3) == 10
    assert Polynomial(2, 0.0).feature_dim(3) == 6
    assert Constant().feature_dim(3) == 1
    assert Cosine().feature_dim(3) == 6
    assert Fourier(4).feature_dim(3) == 30
    assert FromFeatures(lambda x: [x[0], 1.0]).feature_dim(3) == 2
    assert (Linear() + 1).feature_dim(3) == 4
    assert ((Linear() + 1) ** 2).feature_dim(3) == 10
    assert (Linear() * Cosine()).feature_dim(3) == 18
    assert (2 * Linear()).normalize().feature_dim(3) == 3
    assert Polynomial(2, 1.0).on([0, 2]).feature_dim(3) == 6
    assert Linear().after(lambda x: [x[0], x[1], 1.0, 2.0]).feature_dim(2) == 4
    for kernel in (Gaussian(), exp(Linear()), Linear() - Gaussian(), -1 * Linear(), Chi2(), Overlap(), Custom(max)):
        assert kernel.feature_dim(3) == math.inf
