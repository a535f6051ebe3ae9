"""Slopes in x: what one sweep over a formula gives, at kinks, at (x, x), in any unit, and of kernels that have none."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from mercer.formula.expression import Call, Const, Diagonal, Stat, evaluate
from mercer.formula.pair import WHOLE, Pair
from mercer.formula.slopes import partial, partials, slope_at_itself, slopes_of_pairs
from mercer.formula.statistics import CoordinateSum, Dot, SquaredDistance
from mercer.kernels import (
    Chi2,
    Custom,
    FromFeatures,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Overlap,
    Periodic,
    Polynomial,
    PowerExponential,
    Precomputed,
    RationalQuadratic,
    Spectrum,
    exp,
)
from mercer.kernels.trigonometric import WAVES, WaveSum

from ..zoo import choose

s, t = Stat(SquaredDistance(WHOLE, "k")), Stat(Dot(WHOLE, "k"))
left, right = Diagonal("left", t), Diagonal("right", t)
AT = {s: 0.7, t: 1.3, left: 2.1, right: 0.9}


def value(expression, at):
    known = {leaf.statistic: number for leaf, number in at.items() if isinstance(leaf, Stat)}
    return float(evaluate(expression, lambda stat: np.float64(known[stat]), lambda node: np.float64(at[node])))


@pytest.mark.parametrize(
    "formula",
    [
        s * t + t**3,
        np.exp(-0.5 * s) * np.exp(-0.5 * s),
        t / np.sqrt(left * right),
        np.log(1 + s) * np.tanh(t) + np.log1p(s) ** 1.5,
        (s**0.5 + left) ** 2 / (1 + right),
        Call("bessel", (s**0.5,), (1.7, 1.7)) * t,
    ],
    ids=lambda formula: str(len(str(formula))),
)
def test_one_sweep_gives_the_derivatives_by_all_leaves(formula):
    found, step = partials(formula), 1e-5
    for leaf, number in AT.items():
        up, down = (value(formula, AT | {leaf: number + h}) for h in (step, -step))
        slope = value(found[leaf], AT) if leaf in found else 0.0
        assert slope == pytest.approx((up - down) / (2 * step), rel=1e-8, abs=1e-9)


def test_leaves_that_a_formula_does_not_depend_on_are_left_out():
    assert partials(2.0 * s).keys() == {s}
    assert partial(2.0 * s, t.statistic) == Const(0.0)
    assert partials(Const(3.0)) == {}


def test_a_sweep_over_a_deep_formula_takes_no_deep_calls():
    formula = s
    for _ in range(3000):
        formula = np.tanh(formula)
    assert partials(formula).keys() == {s}


@pytest.mark.parametrize("wave", sorted(WAVES))
def test_slopes_of_waves_are_finite_differences_near_and_far(wave):
    statistic = WaveSum(WHOLE, "k", wave, (1.0, 2.5))
    a, b, step = np.linspace(-3, 3, 41).astype(np.longdouble), np.longdouble(0.0), 1e-4
    numeric = (8 * (statistic.term(a + step, b) - statistic.term(a - step, b)) - (
        statistic.term(a + 2 * step, b) - statistic.term(a - 2 * step, b)
    )) / (12 * step)  # fmt: skip
    np.testing.assert_allclose(statistic.slope(a, b).astype(float), numeric.astype(float), atol=1e-11, rtol=0)


# -- kinks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [
        Laplacian(),
        Matern(0.5),
        Matern(0.3),
        Matern(0.5, [1.0, 2.0]),
        PowerExponential(1.5, 0.7),
        PowerExponential(0.5, 0.5),
        Matern(0.5) * Laplacian(),
        Chi2(),
        exp(Matern(0.5)),
    ],
    ids=repr,
)
def test_at_a_kink_the_slope_is_zero(kernel):
    X = np.array([[1.0, 2.0], [0.5, 3.0]])
    np.testing.assert_array_equal(kernel.gradient_x(X)[[0, 1], [0, 1]], 0.0)


def test_at_a_kink_with_two_slopes_it_is_their_mean():
    np.testing.assert_array_equal(Intersection().gradient_x([1.0, 2.0, 3.0], [1.0, 5.0, 2.0]), [0.5, 1.0, 0.0])


def test_where_a_normalised_kernel_vanishes_the_slope_is_zero():
    for kernel in (Linear().normalize(), Polynomial(3, 0.0).normalize(), (Linear() * Gaussian()).normalize()):
        slopes = kernel.gradient_x([[0.0, 0.0]], [[1.0, 2.0], [0.0, 0.0]])
        np.testing.assert_array_equal(slopes, 0.0)


# -- laws ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", choose("shifts"))
def test_of_a_function_of_differences_the_slope_in_x_is_minus_that_in_z(entry, points, others):
    kernel = entry.kernel
    by_x, by_z = kernel.gradient_x(points, others), kernel.gradient_x(others, points)
    np.testing.assert_allclose(by_x, -by_z.swapaxes(0, 1), rtol=0, atol=1e-12 * np.abs(by_x).max())


@pytest.mark.parametrize("kernel", [Linear().normalize(), exp(Linear().normalize()), Polynomial(2, 0.0).normalize()])
def test_a_kernel_of_directions_has_no_slope_along_x(kernel, points, others):
    slopes = kernel.gradient_x(points, others)
    along = np.einsum("nmd,nd->nm", slopes, points)
    np.testing.assert_allclose(along, 0.0, atol=1e-13)
    assert np.abs(slopes).max() > 0.1


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_a_homogeneous_kernel_grows_along_x_by_its_degree(degree, points, others):
    kernel = Polynomial(degree, 0.0)
    along = np.einsum("nmd,nd->nm", kernel.gradient_x(points, others), points)
    np.testing.assert_allclose(along, degree * kernel(points, others), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(3, 0.5), exp(0.1 * Linear()), (Linear() + Gaussian()).normalize() * Polynomial(2, 1.0),
     ((Linear() + 1.0).normalize() * Linear() + Gaussian()).normalize() * Linear().on([2, 0])],
    ids=repr,
)  # fmt: skip
def test_the_slope_of_the_diagonal_is_twice_that_of_one_point(kernel, points):
    expected = kernel.gradient_x(points)[np.arange(len(points)), np.arange(len(points))]
    found = slope_at_itself(kernel.traced(), points, repr(kernel))
    np.testing.assert_allclose(0.5 * found, expected, rtol=0, atol=1e-12 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("unit", [1e-8, 1e-3, 1e4, 1e8])
@pytest.mark.parametrize(
    "make",
    [
        lambda unit: Gaussian([unit, 2 * unit, unit]),
        lambda unit: Matern(0.5, unit),
        lambda unit: Matern(1.2, unit),
        lambda unit: Laplacian(unit),
        lambda unit: PowerExponential(1.4, 0.9, unit),
        lambda unit: RationalQuadratic(unit),
        lambda unit: Periodic(1.0, 2 * unit),
        lambda unit: exp(Linear() / unit**2).normalize(),
        lambda unit: Linear().normalize(),
    ],
)
def test_in_another_unit_slopes_are_the_same_numbers_in_that_unit(make, unit, points, others):
    expected = make(1.0).gradient_x(points, others)
    found = unit * make(unit).gradient_x(unit * points, unit * others)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_a_large_common_shift_changes_no_slope(points, others):
    for kernel in (Gaussian(), Matern(0.5), Laplacian(), PowerExponential(1.5, 0.7), Periodic(1.0, 2.0)):
        shifted = kernel.gradient_x(points + 1e6, others + 1e6)
        np.testing.assert_allclose(shifted, kernel.gradient_x(points, others), rtol=0, atol=1e-12)


# -- data ----------------------------------------------------------------------------------------------------------


def test_columns_that_are_not_looked_at_have_slope_zero(points, others):
    kernel = Gaussian().on([2, 0]).on([0, 2, 1]) + Linear().on(slice(-1, None))
    slopes = kernel.gradient_x(points, others)
    inner = Gaussian().gradient_x(points[:, [1, 0]], others[:, [1, 0]])
    np.testing.assert_array_equal(slopes[:, :, 1], inner[:, :, 0])
    np.testing.assert_array_equal(slopes[:, :, 0], inner[:, :, 1])
    np.testing.assert_array_equal(slopes[:, :, 2], np.broadcast_to(others[:, 2], (7, 5)))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_slopes_by_a_frame_are_those_by_its_columns(frame, points, others):
    X, Z = (frame({"word": ["a"] * len(D), "b": D[:, 0], "c": D[:, 1]}) for D in (points, others))
    slopes = (Gaussian().on(["c", "b"]) * Linear().on("c")).gradient_x(X, Z)
    expected = (Gaussian() * Linear().on(1)).gradient_x(points[:, :2], others[:, :2])
    np.testing.assert_array_equal(slopes[:, :, 0], 0.0)
    np.testing.assert_allclose(slopes[:, :, 1:], expected, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.coo_matrix])
def test_slopes_of_sparse_points_are_those_of_dense_ones(form, points, others):
    X, Z = points * (points > 0), others * (others < 1)
    for kernel in (Gaussian([1.0, 2.0, 3.0]), Linear() * Matern(0.5), Linear().normalize(), Gaussian().on([0, 2])):
        found = kernel.gradient_x(form(X), form(Z))
        np.testing.assert_allclose(found, kernel.gradient_x(X, Z), rtol=1e-13, atol=1e-15)


def test_float32_in_gives_float32_slopes(points, others):
    kernel = Gaussian([0.5, 2.0, 1.3]) + Linear().normalize()
    found = kernel.gradient_x(points.astype(np.float32), others.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, kernel.gradient_x(points, others), rtol=0, atol=3e-6)


def test_two_single_points_give_one_slope():
    np.testing.assert_allclose(Gaussian().gradient_x([1.0, 0.0], [0.0, 0.0]), [-np.exp(-0.5), 0.0])
    assert Gaussian().gradient_x(1.0, 0.0).shape == (1,)


def test_a_slope_that_overflows_says_so():
    with pytest.raises(OverflowError, match="scale the data down"):
        Polynomial(3, 0.0).gradient_x([[1e150]], [[1e150]])


# -- kernels without slopes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "X", "said"),
    [
        (Overlap(), [["red"], ["blue"]], r"Overlap\(\) has no slope in x.*OneHotEncoder"),
        (Gaussian().on(0) * Overlap().on(1), [[1.0, "red"], [2.0, "blue"]], r"Overlap\(\) has no slope in x"),
        (Spectrum(2), ["abab", "ba"], r"Spectrum\(.*\) has no slope in x"),
        (Custom(lambda x, z: float(x @ z)), np.eye(2), r"Custom\(.*\) has no slope.*Add a kernel"),
        (Precomputed(np.eye(2)), [0, 1], r"Precomputed\(.*\) has no slope"),
        (FromFeatures(np.tanh), np.eye(2), r"FromFeatures\(.*\) has no slope.*to the data first"),
        (Gaussian().after(np.tanh), np.eye(2), r"Gaussian\(.*\) has no slope.*to the data first"),
        ((Linear() + Linear().after(np.tanh)).normalize(), np.eye(2), r"Linear\(\) has no slope.*to the data first"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_kernels_without_slopes_say_so_and_what_to_do(kernel, X, said):
    with pytest.raises(ValueError, match=said):
        kernel.gradient_x(X)


def test_a_statistic_of_ones_own_without_a_slope_says_so():
    class Product(CoordinateSum):
        def term(self, a, b):
            return a * b

    formula = Pair(Linear()).statistic(Product)
    with pytest.raises(ValueError, match="no slope in x"):
        slopes_of_pairs(formula, np.eye(2), None, "own")


def test_points_that_are_no_table_are_refused_as_for_values():
    with pytest.raises(ValueError, match="two-dimensional"):
        Gaussian().gradient_x(np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match="X has 2 features but Z has 3"):
        Gaussian().gradient_x(np.ones((2, 2)), np.ones((2, 3)))
