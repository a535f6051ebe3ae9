"""Kernels between histograms against scikit-learn, and what they refuse."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import chi2_kernel

from mercer.kernels import Chi2, Intersection

rng = np.random.default_rng(11)
BARS, OTHERS = rng.poisson(2.0, size=(8, 5)).astype(float), rng.poisson(2.0, size=(4, 5)).astype(float)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 5.0])
def test_chi2_is_that_of_scikit_learn(gamma):
    np.testing.assert_allclose(Chi2(gamma)(BARS, OTHERS), chi2_kernel(BARS, OTHERS, gamma=gamma), rtol=1e-12)


def test_intersection_of_a_histogram_with_itself_is_its_total():
    np.testing.assert_array_equal(Intersection().diag(BARS), BARS.sum(axis=1))
    np.testing.assert_array_equal(np.diag(Intersection()(BARS)), BARS.sum(axis=1))


def test_empty_bins_and_empty_histograms_are_fine():
    X = np.array([[0.0, 0.0], [0.0, 2.0], [-0.0, 0.0]])
    np.testing.assert_allclose(Chi2()(X), [[1, math.exp(-2), 1], [math.exp(-2), 1, math.exp(-2)], [1, math.exp(-2), 1]])
    np.testing.assert_array_equal(Intersection()(X), [[0, 0, 0], [0, 2, 0], [0, 0, 0]])


def test_huge_and_tiny_bins_do_not_overflow():
    np.testing.assert_array_equal(Chi2()([[1e200], [2e200], [0.0]]), np.eye(3))
    np.testing.assert_allclose(Chi2()([[1e-320], [0.0]]), 1.0)


@pytest.mark.parametrize("kernel", [Chi2(), Intersection()], ids=repr)
@pytest.mark.parametrize("side", ["left", "right", "both"])
def test_negative_bins_are_refused_on_either_side_with_their_place(kernel, side):
    bad = BARS.copy()
    bad[3, 2] = -0.5
    X, Z = {"left": (bad, OTHERS), "right": (OTHERS, bad), "both": (bad, None)}[side]
    with pytest.raises(ValueError, match=r"entries are not negative, but row 3, column 2 is -0\.5; shift or clip"):
        kernel(X, Z)


def test_negative_bins_of_a_frame_are_refused():
    with pytest.raises(ValueError, match="row 1, column 0 is -1"):
        Chi2()(pd.DataFrame({"a": [1.0, -1.0]}))


@pytest.mark.parametrize("kernel", [Chi2(), Intersection()], ids=repr)
def test_histograms_refuse_sparse_data(kernel):
    with pytest.raises(TypeError, match="does not work on sparse matrices"):
        kernel(sparse.csr_array(BARS))


@pytest.mark.parametrize("gamma", [0, -1.0, math.nan, math.inf, "1"], ids=repr)
def test_gamma_is_positive(gamma):
    with pytest.raises(ValueError, match="Chi2: gamma must be a positive finite number, got"):
        Chi2(gamma)
