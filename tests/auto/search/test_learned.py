"""Families of kernels for tables, and what is learned of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer.auto import TableEncoder
from mercer.auto.search.learned import FEW, learn_kernel, list_families
from mercer.auto.search.leaving import leave_out_ridge
from mercer.kernels import Gaussian

MEMORY = 2**30
FOLDS = [np.arange(i, 120, 3) for i in range(3)]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(120, 5))
    y = np.sin(2 * numbers[:, :1]) * numbers[:, 1:2]  # the other columns say nothing
    return numbers, y - y.mean()


def learn(name, rows, goals, folds=FOLDS, on_step=lambda: False):
    family = list_families(rows)[name]
    blocks = [[j] for j in range(rows.shape[1])]
    return learn_kernel(family, rows, goals, blocks, folds, np.random.RandomState(0), MEMORY, on_step)


def test_thresholds_are_exponentials_of_sums_of_absolute_differences():
    rng = np.random.default_rng(0)
    rows = np.column_stack(
        [rng.normal(size=(40, 2)), rng.integers(0, 2, size=(40, 3)), np.where(rng.random(40) < 0.5, -1.5, 4.0)]
    )
    kernel = list_families(rows)["thresholds"].kernels[0]
    distances = np.abs(rows[:, None] - rows[None])
    # |x − z| of two values is (x − z)² in units of their distance; the unit of numbers is 1.
    numbers = distances[:, :, :2].sum(axis=2)
    pairs = (distances[:, :, 2:5].sum(axis=2) + distances[:, :, 5] * 5.5) / 2
    np.testing.assert_allclose(kernel(rows), np.exp(-numbers - pairs), rtol=1e-10)


def test_learned_thresholds_are_exponentials_of_scaled_absolute_differences(table):
    rows = np.column_stack([table[0], np.arange(120) % 2])
    kernel = learn("thresholds", rows, table[1], FOLDS[:1]).kernel
    K = np.asarray(kernel(rows))
    scales = [-np.log(np.asarray(kernel(np.zeros((1, 6)), np.eye(6)[j : j + 1]))[0, 0]) for j in range(6)]
    distances = np.abs(rows[:, None] - rows[None])
    np.testing.assert_allclose(K, np.exp(-distances @ scales), rtol=1e-8, atol=1e-12)


def test_families_depend_on_whether_there_are_numbers_and_pairs():
    rng = np.random.default_rng(0)
    numbers, pairs = rng.normal(size=(30, 2)), rng.integers(0, 2, size=(30, 2)).astype(float)
    assert "sum over categories" not in list_families(numbers)
    assert "sum over categories" not in list_families(pairs)
    mixed = list_families(np.hstack([numbers, pairs]))
    assert "sum over categories" in mixed
    assert next(iter(mixed)) == "thresholds"  # is tried first
    (thresholds,) = list_families(numbers)["thresholds"].kernels
    np.testing.assert_allclose(thresholds(numbers), np.exp(-np.abs(numbers[:, None] - numbers[None]).sum(axis=2)))
    assert list_families(pairs)["thresholds"].kernels == (Gaussian(),)


def test_a_column_of_one_value_is_no_obstacle(table):
    rows = np.column_stack([table[0], np.ones(120)])
    found = learn("thresholds", rows, table[1], FOLDS[:1])
    assert np.isfinite(np.asarray(found.kernel(rows))).all()


def test_many_columns_are_mixed_within_those_of_the_table_alone():
    rng = np.random.default_rng(0)
    assert list_families(rng.normal(size=(20, 5)))["mixed columns"].metric == "full"
    assert list_families(rng.normal(size=(20, 200)))["mixed columns"].metric == "blocks"


@pytest.mark.parametrize("name", ["thresholds", "smooth", "mixed columns"])
def test_a_learned_kernel_is_better_than_one_scale_where_a_column_says_nothing(table, name):
    rows, goals = table
    errors = []
    for each in (name, "one scale"):
        learned = learn(each, rows, goals)
        found = leave_out_ridge(learned.fair, rows, goals, FOLDS, MEMORY)
        errors.append(np.mean((found.outputs - goals[np.concatenate(FOLDS)]) ** 2))
    assert errors[0] < 0.8 * errors[1]


def test_fair_kernels_do_not_know_the_rows_they_are_judged_by(table):
    rows, goals = table
    found = learn("thresholds", rows, goals)
    changed = goals.copy()
    changed[FOLDS[1]] += 1e-4 * np.random.default_rng(1).normal(size=(40, 1))  # too little to choose otherwise
    again = learn("thresholds", rows, changed)
    same = [np.array_equal(one(rows), other(rows)) for one, other in zip(found.fair, again.fair, strict=True)]
    assert same == [False, True, False]
    assert not np.array_equal(found.kernel(rows), again.kernel(rows))


def test_learning_stops_when_it_is_told_to(table):
    patient, hasty = [], []
    learn("smooth", *table, on_step=lambda: bool(patient.append(1)))
    found = learn("smooth", *table, on_step=lambda: hasty.append(1) or True)
    assert len(hasty) == 3 < len(patient)  # one step for each fold
    assert all(np.isfinite(np.asarray(kernel(table[0]))).all() for kernel in (found.kernel, *found.fair))


def test_nothing_but_a_scale_is_learned_from_few_rows(table):
    rows, goals = table[0][: FEW - 1], table[1][: FEW - 1]
    found = learn("thresholds", rows, goals, [np.arange(5)])
    spread = rows.std(axis=0)
    near = np.asarray(found.kernel(np.zeros((1, 5)), np.diag(spread)))[0]
    np.testing.assert_allclose(near, near[0], rtol=1e-6)


def test_every_family_takes_an_encoded_table_of_all_kinds():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=60), "colour": rng.choice(["red", "green", "blue"], size=60)})
    encoder = TableEncoder().fit(table)
    rows, goals = encoder.transform(table), rng.normal(size=(60, 2))
    for family in list_families(rows).values():
        found = learn_kernel(
            family, rows, goals, encoder.blocks(), [np.arange(20)], np.random.RandomState(0), MEMORY, lambda: False
        )
        K = np.asarray(found.kernel(rows))
        assert np.linalg.eigvalsh(K).min() > -1e-8 * np.abs(K).max()
        assert found.kernel.theorem() is not None
