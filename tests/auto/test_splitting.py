"""Rows that are held out or compared on: every class can be learned, and has its share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.auto.splitting import FEWEST, find_common, hold_out, sample_rows, show_rows

CODES = st.lists(st.integers(0, 7), min_size=1, max_size=60).map(lambda found: np.unique(found, return_inverse=True)[1])


@given(CODES, st.floats(0.01, 0.99), st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_rows_held_out_and_the_others_are_all_rows_and_every_class_is_learned_from(codes, share, seed):
    train, held = hold_out(codes, share, "classification", seed)
    assert np.array_equal(np.sort(np.concatenate([train, held])), np.arange(len(codes)))
    assert np.array_equal(train, np.sort(train))
    assert set(codes[train]) == set(codes)
    assert len(held) <= max(1, round(share * len(codes)))


@given(CODES, st.integers(1, 70), st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_samples_keep_every_class_and_are_not_much_larger_than_asked_for(codes, count, seed):
    rows = np.arange(0, 2 * len(codes), 2)  # some of the rows of a table
    targets = np.repeat(codes, 2)
    some = sample_rows(rows, targets, count, "classification", seed)
    assert np.isin(some, rows).all()
    assert len(some) == len(np.unique(some))
    assert set(targets[some]) == set(codes)
    assert len(some) <= max(count, 1) + len(set(codes))


def test_the_only_row_of_a_class_is_never_held_out():
    codes = np.repeat([0, 1, 2], [30, 29, 1])
    assert not any(59 in hold_out(codes, 0.5, "classification", seed)[1] for seed in range(20))


def test_a_class_never_loses_all_its_rows_where_there_are_more_classes_than_rows_held_out():
    codes = np.repeat(np.arange(50), 2)
    for seed in range(10):
        train, held = hold_out(codes, 0.2, "classification", seed)
        assert len(np.unique(codes[train])) == 50
        assert 0 < len(held) <= 20


def test_nothing_is_held_out_where_every_row_is_the_only_one_of_its_class():
    assert len(hold_out(np.arange(30), 0.2, "classification", 0)[1]) == 0


def test_few_rows_are_all_learned_from():
    assert len(hold_out(np.arange(FEWEST - 1.0), 0.2, "regression", 0)[1]) == 0
    assert len(hold_out(np.arange(float(FEWEST)), 0.2, "regression", 0)[1]) == round(0.2 * FEWEST)
    assert len(hold_out(np.arange(100.0), 0.0, "regression", 0)[1]) == 0


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_classes_have_their_share_of_the_rows_held_out_and_of_samples(share):
    codes = np.repeat([0, 1, 2], [100, 60, 40])
    held = hold_out(codes, share, "classification", 0)[1]
    assert np.bincount(codes[held]).tolist() == [100 * share, 60 * share, 40 * share]
    some = sample_rows(np.arange(200), codes, int(200 * share), "classification", 0)
    assert np.bincount(codes[some]).tolist() == [100 * share, 60 * share, 40 * share]


def test_samples_for_a_regression_are_as_many_as_asked_for():
    rows = np.arange(5, 105)
    some = sample_rows(rows, np.arange(200.0), 30, "regression", 0)
    assert len(np.unique(some)) == 30
    assert np.isin(some, rows).all()
    assert sample_rows(rows, np.arange(200.0), 100, "regression", 0) is rows


def test_rows_are_common_if_another_has_their_class():
    assert find_common(np.array([0, 1, 1, 2]), "classification").tolist() == [False, True, True, False]
    assert find_common(np.array([0.0, 1.0]), "regression").all()


@pytest.mark.parametrize("n", [0, 5, 100, 5000])
def test_rows_to_look_at_are_in_order_from_everywhere_and_the_same_every_time(n):
    found = show_rows(n, 100)
    assert len(found) == min(n, 100)
    assert np.array_equal(found, np.unique(found))
    assert np.array_equal(found, show_rows(n, 100))
    if n > 100:
        assert found[0] < n / 10
        assert found[-1] > 9 * n / 10
