"""Samples that are too small, unequal, identical or missing something: every function answers or says what to do."""

import numpy as np
import pytest

from mercer import HSICTest, MMDTest
from mercer.embeddings import (
    ConditionalTest,
    SteinTest,
    herd,
    hsic,
    mmd,
    quadrature_weights,
    stein_discrepancy,
    thin,
    witness,
)
from mercer.kernels import Constant, Gaussian, GlobalAlignment, Graph, MinMax, WeisfeilerLehman

RNG = np.random.default_rng(0)
X, Y, WIDE = RNG.normal(size=(12, 2)), RNG.normal(size=(12, 2)), RNG.normal(size=(12, 3))
ONE, EQUAL = X[:1], np.ones((12, 2))
HOLE = np.where(np.arange(24).reshape(12, 2) == 7, np.nan, X)


def compare_two(X, Y, kernel=None):
    return MMDTest(kernel, n_permutations=19, random_state=0).test(X, Y)


def compare_pairs(X, Y, kernel=None):
    return HSICTest(kernel, kernel, n_permutations=19, random_state=0).test(X, Y)


def compare_given(X, Y, kernel=None):
    return ConditionalTest(kernel, kernel, kernel, n_draws=19, random_state=0).test(X, Y, Y)


@pytest.mark.parametrize(
    ("function", "least"), [(mmd, 2), (compare_two, 2), (hsic, 4), (compare_pairs, 4), (compare_given, 4)]
)
def test_a_sample_of_one_point_is_refused_with_how_many_are_needed(function, least):
    with pytest.raises(ValueError, match=f"at least {least} points in X, got 1; draw a larger sample"):
        function(ONE, ONE)


def test_one_point_has_a_witness_a_subset_and_a_weight():
    assert witness(ONE, X)(ONE)[0] > 0
    assert witness(ONE, ONE).norm() == 0
    assert herd(ONE).tolist() == thin(ONE).tolist() == [0]
    np.testing.assert_allclose(quadrature_weights(ONE, ONE), [1.0])
    assert hsic(ONE, ONE, estimator="biased") == 0.0
    assert stein_discrepancy(ONE, -ONE, Gaussian(), estimator="biased") > 0


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (mmd, "X has 2 features and Y has 3"),
        (compare_two, "X has 2 features and Y has 3"),
        (witness, "X has 2 features and Y has 3"),
        (quadrature_weights, "nodes has 2 features and sample has 3; give both the same columns$"),
    ],
)
def test_samples_of_other_features_are_no_points_of_one_space(function, names):
    with pytest.raises(ValueError, match=names):
        function(X, WIDE)


def test_pairs_may_have_other_features_on_each_side():
    assert np.isfinite(hsic(X, WIDE))
    for compare in (compare_pairs, compare_given):
        assert 0 < compare(X, WIDE).p_value <= 1


def test_identical_samples_have_defined_answers():
    assert compare_two(X, X).p_value > 0.5
    assert witness(X, X).norm() == pytest.approx(0.0, abs=1e-7)
    np.testing.assert_allclose(quadrature_weights(X, X, Gaussian(0.1)), 1 / 12, atol=1e-8)
    assert compare_pairs(X, X).rejected  # each tells everything about itself


@pytest.mark.parametrize("compare", [compare_two, compare_pairs, compare_given])
def test_points_that_are_all_equal_say_nothing(compare):
    outcome = compare(EQUAL, EQUAL)
    assert outcome.p_value == 1.0
    assert outcome.statistic == pytest.approx(0.0, abs=1e-12)


def test_of_equal_points_any_stand_for_all():
    assert herd(EQUAL, 3).tolist() == thin(EQUAL, 3).tolist() == [0, 1, 2]
    assert quadrature_weights(EQUAL, EQUAL).sum() == pytest.approx(1.0, abs=1e-6)
    assert mmd(EQUAL, EQUAL) == pytest.approx(0.0, abs=1e-12)
    assert hsic(EQUAL, EQUAL) == pytest.approx(0.0, abs=1e-12)
    u = 2.0 + 2.0  # s(x)ᵀs(x) + d/σ² at one point
    assert stein_discrepancy(EQUAL, -EQUAL, Gaussian()) == pytest.approx(u)
    assert 0 < SteinTest(Gaussian(), n_draws=19, random_state=0).test(EQUAL, -EQUAL).p_value <= 1


@pytest.mark.parametrize("compare", [compare_two, compare_pairs, compare_given])
def test_a_constant_kernel_tells_nothing(compare):
    assert compare(X, Y, Constant(2.0)).p_value == 1.0


def test_other_constant_kernels_are_answered_or_refused():
    assert mmd(X, Y, Constant(2.0)) == pytest.approx(0.0, abs=1e-12)
    assert witness(X, Y, Constant(2.0)).norm() == pytest.approx(0.0, abs=1e-7)
    assert hsic(X, Y, Constant(2.0), Constant(2.0)) == pytest.approx(0.0, abs=1e-12)
    assert quadrature_weights(X, Y, Constant(2.0)).sum() == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(ValueError, match=r"use Gaussian\(\)"):
        stein_discrepancy(X, -X, Constant(2.0))


@pytest.mark.parametrize(
    "call",
    [
        lambda: mmd(HOLE, X),
        lambda: compare_two(HOLE, X),
        lambda: witness(HOLE, X),
        lambda: quadrature_weights(HOLE, X),
        lambda: hsic(HOLE, X),
        lambda: compare_pairs(HOLE, X),
        lambda: compare_given(HOLE, X),
        lambda: herd(HOLE),
        lambda: thin(HOLE),
        lambda: stein_discrepancy(HOLE, -X),
        lambda: SteinTest().test(HOLE, -X),
    ],
)
def test_a_missing_number_is_named_with_its_place_and_no_kernel_is_advised(call):
    with pytest.raises(ValueError, match="row 3, column 1 is nan") as caught:
        call()
    assert "kernel" not in str(caught.value)


def test_objects_at_the_edge_are_compared_or_refused():
    empty = [Graph([])] * 4
    assert mmd(empty, empty, WeisfeilerLehman()) == 0.0
    assert compare_two(empty, empty, WeisfeilerLehman()).p_value == 1.0
    short = [[1.0], [2.0], [1.5, 2.0]] * 2
    assert compare_two(short, short, GlobalAlignment()).p_value > 0.5
    with pytest.raises(ValueError, match="sequence 1 holds NaN or infinity"):
        compare_two([[1.0], [np.nan]], short, GlobalAlignment())
    with pytest.raises(ValueError, match="not negative, but row 0, column 1 is -1"):
        compare_two([[1.0, -1.0], [0.0, 2.0]], [[1.0, 1.0], [0.0, 2.0]], MinMax())
