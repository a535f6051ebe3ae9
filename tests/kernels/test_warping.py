"""Dynamic time warping against its definition, and the series at which it is no kernel."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

import mercer
from mercer import Gram
from mercer.certify.verdict import Refuted
from mercer.kernels import DTW, GlobalAlignment, SoftDTW
from mercer.testing import check_kernel

RNG = np.random.default_rng(4)
SERIES = [RNG.normal(size=(m, 2)).cumsum(axis=0) for m in (1, 4, 7, 3, 12, 5, 9, 30, 2, 6)]


def fill_table(x, z, combine, window=None, zero=0.0):
    """Return what is in the last corner of the table of a dynamic programme."""
    D = np.full((len(x) + 1, len(z) + 1), np.inf, dtype=object if isinstance(zero, Fraction) else float)
    D[0, 0] = zero
    band = len(x) + len(z) if window is None else max(window, abs(len(x) - len(z)))
    for i in range(len(x)):
        for j in range(len(z)):
            if abs(i - j) <= band:
                D[i + 1, j + 1] = ((x[i] - z[j]) ** 2).sum() + combine([D[i, j], D[i, j + 1], D[i + 1, j]])
    return D[-1, -1]


@pytest.mark.parametrize("window", [None, 0, 1, 3, 100])
def test_the_cheapest_alignment_is_found(window):
    expected = [[fill_table(x, z, min, window) for z in SERIES] for x in SERIES]
    np.testing.assert_allclose(-8 * np.log(DTW(2.0, window)(SERIES)), expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 5.0])
def test_the_soft_minimum_is_that_of_the_recursion(gamma):
    def soft(costs):
        return -gamma * logsumexp(-np.array(costs) / gamma)

    expected = [[fill_table(x, z, soft) for z in SERIES[:7]] for x in SERIES[:7]]
    np.testing.assert_allclose(-200 * np.log(SoftDTW(10.0, gamma)(SERIES[:7])), expected, rtol=1e-11, atol=1e-12)


def test_the_soft_minimum_falls_to_the_minimum():
    np.testing.assert_allclose(SoftDTW(2.0, 1e-6)(SERIES), DTW(2.0)(SERIES), rtol=1e-4)


@pytest.mark.parametrize("kernel", [DTW(2.0), DTW([1.0, 3.0], 2), SoftDTW(4.0, 0.5)], ids=repr)
def test_all_laws_of_kernels_hold_but_one(kernel, monkeypatch):
    check_kernel(kernel, SERIES, psd=False)
    K = kernel(SERIES)
    np.testing.assert_allclose(Gram(kernel, SERIES).rows([5, 2, 2]), K[[5, 2, 2]], rtol=1e-12)
    np.testing.assert_allclose(kernel(SERIES[3:], SERIES[:6]), K[3:, :6], rtol=1e-12)
    monkeypatch.setattr("mercer.kernels.sequences.lanes.CELLS", 100.0)
    monkeypatch.setattr("mercer.kernels.sequences.lanes.KEPT", 1000)
    np.testing.assert_allclose(kernel(SERIES), K, rtol=1e-12)


# -- certificates --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("scale", [1.0, 1e-3, [1.0, 8.0]], ids=str)
def test_warping_is_refuted_with_series_that_can_be_checked(window, scale):
    verdict = DTW(scale, window).certificate()
    assert isinstance(verdict, Refuted)
    units = [np.array(x, dtype=object) / scale for x in verdict.points]
    exact = [np.array([[Fraction(float(v)) for v in row] for row in x], dtype=object) for x in units]
    costs = [[fill_table(x, z, min, window, Fraction(0)) for z in exact] for x in exact]
    K = np.exp(-np.array(costs, dtype=float).astype(np.longdouble) / 2)
    a = np.asarray(verdict.coefficients, dtype=np.longdouble)
    assert a @ K @ a < -1e-3 * (a @ a)


@pytest.mark.parametrize("gamma", [1e-4, 0.01, 1.0])
def test_soft_warping_is_refuted_with_series_that_can_be_checked(gamma):
    verdict = SoftDTW(1.0, gamma).certificate()
    assert isinstance(verdict, Refuted)

    def soft(costs):
        return -gamma * logsumexp(-np.array(costs) / gamma)

    K = np.exp([[-fill_table(x, z, soft) / 2 for z in verdict.points] for x in verdict.points])
    assert verdict.coefficients @ K @ verdict.coefficients < -1e-5


def test_a_machine_that_needs_a_kernel_refuses_warping_and_names_what_is_one():
    X, y = list(DTW().certificate().points) * 2, [0, 1, 0, 1, 0, 1]
    with pytest.raises(
        ValueError, match=r"(?s)needs a positive semi-definite kernel.*Use GlobalAlignment\(length_scale\)"
    ):
        mercer.KernelRidgeClassifier(kernel=DTW()).fit(X, y)
    mercer.KernelRidgeClassifier(kernel=GlobalAlignment().normalize()).fit(X, y)
    assert mercer.KernelNeighborsClassifier(1, kernel=DTW()).fit(X, y).predict(X).shape == (6,)


# -- mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [DTW(), SoftDTW()], ids=repr)
def test_mistakes_in_series_are_named(kernel):
    for sample, error, message in (
        ([[1.0], []], ValueError, "sequence 1 is empty"),
        ([[1.0, np.nan]], ValueError, "sequence 0 holds NaN or infinity"),
        (["abc"], TypeError, "object 0 is 'abc' of type str"),
        ([[1.0], [[1.0, 2.0]]], ValueError, "sequence 0 have 1 features, but those of sequence 1 have 2"),
    ):
        with pytest.raises(error, match=message):
            kernel(sample)


def test_mistakes_in_parameters_are_named():
    with pytest.raises(ValueError, match="window must be a whole number of at least 0"):
        DTW(window=-1)
    with pytest.raises(ValueError, match="length_scale must be"):
        DTW(0.0)
    with pytest.raises(ValueError, match="has 3 length scales but elements have 2 features"):
        DTW([1.0, 2.0, 3.0])(SERIES)
    with pytest.raises(ValueError, match="gamma must be a positive finite number"):
        SoftDTW(gamma=0.0)
    with pytest.raises(OverflowError, match=r"overflows float64.*smaller gamma"):
        SoftDTW(0.1, 10.0)([np.zeros(50)])


def test_distant_series_are_not_similar_and_single_elements_are_points():
    np.testing.assert_array_equal(DTW()([[0.0], [1e200]]), np.eye(2))
    np.testing.assert_allclose(DTW()([[0.0]], [[2.0]]), [[np.exp(-2.0)]], rtol=1e-15)
    np.testing.assert_allclose(SoftDTW()([[0.0]], [[2.0]]), [[np.exp(-2.0)]], rtol=1e-15)
