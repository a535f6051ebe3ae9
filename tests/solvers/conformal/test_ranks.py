"""Ranks of ends: laws of order statistics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.solvers.conformal.jackknife import cv_plus, jackknife_plus
from mercer.solvers.conformal.quantiles import measure_excess, quantiles_plus, split_quantiles
from mercer.solvers.conformal.ranks import count_needed, find_ranks
from mercer.solvers.conformal.split import split_conformal


@given(st.integers(1, 500), st.floats(0.01, 0.99))
def test_ends_are_finite_from_as_many_points_on_as_are_said_to_be_needed(n, coverage):
    below, above = find_ranks(n, coverage)
    assert (below >= 1 and above <= n) == (n >= count_needed(coverage))
    assert above + below >= n  # and no more is left out than asked for


@pytest.mark.parametrize("n", [5, 9, 30])
@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_split_covers_as_often_as_the_rank_of_a_new_error_says(n, coverage):
    """A new error is equally likely at each of n + 1 places, so the coverage of a rank is that rank over n + 1."""
    rng = np.random.default_rng(n)
    errors = rng.exponential(size=(4000, n + 1))
    ends = np.array([split_conformal(np.zeros(1), row[:n], coverage)[0, 1] for row in errors])
    exact = min(1.0, find_ranks(n, coverage)[1] / (n + 1))
    assert exact >= coverage - 1e-9
    assert np.mean(errors[:, n] <= ends) == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 4000))


def test_wider_scales_widen_intervals_in_proportion():
    narrow = split_conformal(np.zeros(2), np.arange(1.0, 11.0), 0.8, np.array([1.0, 3.0]))
    np.testing.assert_allclose(narrow[1], 3.0 * narrow[0])


@given(st.integers(2, 12), st.integers(0, 1000))
def test_as_many_folds_as_points_are_the_jackknife_whatever_their_order(n, seed):
    rng = np.random.default_rng(seed)
    left_out, errors, order = rng.normal(size=(3, n)), rng.exponential(size=n), rng.permutation(n)
    expected = jackknife_plus(left_out, errors, 0.7)
    np.testing.assert_array_equal(cv_plus(left_out, np.arange(n), errors, 0.7), expected)
    np.testing.assert_array_equal(jackknife_plus(left_out[:, order], errors[order], 0.7), expected)


def test_small_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    given = rng.normal(size=(7, 3, 2)), np.arange(12) % 3, rng.exponential(size=(12, 2)), 0.8
    whole = cv_plus(*given)
    monkeypatch.setattr("mercer.solvers.conformal.jackknife.BLOCK_BYTES", 1)
    np.testing.assert_array_equal(cv_plus(*given), whole)


def test_bands_that_hold_too_much_are_made_narrower():
    bands, targets = np.tile([-10.0, 10.0], (20, 1)), np.linspace(-1.0, 1.0, 20)
    excess = measure_excess(bands, targets)
    assert (excess < 0).all()
    lower, upper = split_quantiles(bands[:1], excess, 0.9)[0]
    assert -1.1 < lower < -0.8 < 0.8 < upper < 1.1
    np.testing.assert_allclose(
        quantiles_plus(bands[:1, None], np.zeros(20, dtype=int), excess, 0.9), [[lower, upper]], atol=0.2
    )
