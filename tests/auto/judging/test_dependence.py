"""Partial dependence: the mean prediction if all rows have one value in a column."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.inspection import partial_dependence

from mercer import KernelRidge
from mercer.auto import TableEncoder
from mercer.auto.judging import dependence
from mercer.auto.judging.dependence import (
    MOST_PREDICTIONS,
    choose_outputs,
    measure_dependence,
    measure_joint_dependence,
)
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
X[:, 2] = rng.integers(0, 4, 150)
ENCODER = TableEncoder().fit(X)


def test_an_additive_model_has_the_true_slope_and_the_mean_of_the_rest():
    def predict(rows):
        return 2.0 * rows[:, 0] - 5.0 * rows[:, 1] ** 2 + 1.0

    (found,) = measure_dependence(predict, X, ENCODER, ["x0"])
    rest = np.mean(-5.0 * X[:, 1] ** 2 + 1.0)
    np.testing.assert_allclose(found.values[0], 2.0 * np.array(found.grid) + rest, rtol=1e-12)


@pytest.mark.parametrize("j", [0, 2])
def test_it_is_what_scikit_learn_computes_by_brute_force(j):
    model = KernelRidge(0.1, kernel=Gaussian(1.5)).fit(X, np.sin(X[:, 0]) * X[:, 1] + X[:, 2])
    (found,) = measure_dependence(model.predict, X, ENCODER, [f"x{j}"])
    grid = np.array(found.grid)
    known = partial_dependence(model, X, [j], custom_values={j: grid}, method="brute")
    np.testing.assert_allclose(found.values[0], known.average[0], rtol=1e-10)
    assert found.rows == len(X)


def test_chances_of_the_classes_that_are_asked_for_are_averaged():
    def predict(rows):
        chances = np.exp(rows)
        return chances / chances.sum(axis=1, keepdims=True)

    (found,) = measure_dependence(predict, X, ENCODER, ["x1"], outputs=[(2, "c"), (0, "a")])
    assert found.outputs == ("c", "a")
    for at, chance, other in zip(found.grid, *found.values, strict=True):
        means = predict(np.column_stack([X[:, 0], np.full(150, at), X[:, 2]])).mean(axis=0)
        assert (chance, other) == pytest.approx((means[2], means[0]))


def test_grids_are_quantiles_of_numbers_or_all_of_few_and_never_missing():
    Z = X.copy()
    Z[::3, :] = np.nan
    first, second = measure_dependence(lambda rows: rows[:, 0], Z, TableEncoder().fit(Z), ["x0", "x2"])
    present = np.sort(Z[~np.isnan(Z[:, 0]), 0])
    assert first.grid == tuple(present[np.ceil((np.arange(20) + 0.5) / 20 * 100).astype(int) - 1])
    assert second.grid == (0.0, 1.0, 2.0, 3.0)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_cells_are_put_in_as_they_stand_in_the_table(kind):
    cells = {
        "price": [f"${i % 40},500" for i in range(1, 121)],
        "town": ["Ulm", "Bonn", "Ulm", None] * 30,
        "flag": [True, False] * 60,
        "sold": pd.date_range("2020-01-01", periods=120).strftime("%d.%m.%Y").tolist(),
    }
    table = pd.DataFrame(cells) if kind == "pandas" else pl.DataFrame(cells)
    before, seen = [str(cell) for cell in table["town"].to_list()], []

    def look(rows):
        seen.append(rows)
        return np.arange(len(rows), dtype=float)

    found = measure_dependence(look, table, TableEncoder().fit(table), list(cells))
    assert [each.name for each in found] == list(cells)
    assert found[1].grid == ("Ulm", "(missing)", "Bonn")
    assert found[2].grid == ("False", "True")
    assert [each.dates for each in found] == [False, False, False, True]
    for name, rows in zip(cells, seen, strict=True):
        assert [str(dtype) for dtype in rows.dtypes] == [str(dtype) for dtype in table.dtypes]
        assert {str(cell) for cell in rows[name].to_list()} <= {str(cell) for cell in table[name].to_list()}
        for other in set(cells) - {name}:
            assert [str(c) for c in rows[other].to_list()][:120] == [str(c) for c in table[other].to_list()]
    assert [str(cell) for cell in table["town"].to_list()] == before


def test_at_most_six_columns_and_twenty_thousand_predictions_are_made_and_always_the_same():
    wide = np.random.default_rng(1).normal(size=(3000, 9))
    made = []

    def predict(rows):
        made.append(len(rows))
        return rows.sum(axis=1)

    names = [f"x{j}" for j in range(9)]
    found = measure_dependence(predict, wide, TableEncoder().fit(wide), names)
    assert [each.name for each in found] == names[:6]
    assert 0.9 * MOST_PREDICTIONS < sum(made) <= MOST_PREDICTIONS
    assert measure_dependence(predict, wide, TableEncoder().fit(wide), names) == found


def test_values_may_come_from_a_larger_table():
    few = X[:5]
    (found,) = measure_dependence(lambda rows: rows[:, 2], few, ENCODER, ["x2"], source=X)
    assert found.grid == found.values[0] == (0.0, 1.0, 2.0, 3.0)
    assert found.rows == 5


def test_texts_are_passed_over_and_columns_without_time_left_out(monkeypatch):
    notes = [f"some words about row {i} and more" for i in range(25)]
    table = pd.DataFrame({"a": X[:25, 0], "note": notes, "b": X[:25, 1]})
    now = [0.0]
    monkeypatch.setattr(dependence.time, "perf_counter", lambda: now[0])

    def slow(rows):
        now[0] += 1.0
        return np.zeros(len(rows))

    encoder = TableEncoder().fit(table)
    for seconds, names in ((5.0, ["b", "a"]), (1.5, ["b"])):
        found = measure_dependence(slow, table, encoder, ["note", "b", "a"], seconds=seconds)
        assert [each.name for each in found] == names
    assert measure_dependence(slow, table, encoder, ["note"]) == ()


def test_of_many_classes_the_most_frequent_are_shown():
    assert choose_outputs(np.array([3, 3, 1, 1, 1, 0]), np.array(list("abcd"))) == [(1, "b"), (3, "d"), (0, "a")]
    assert choose_outputs(np.array([1.5, 2.5]), np.empty(0)) == []


def test_two_columns_that_are_added_have_the_sum_of_what_each_does():
    table = np.random.default_rng(0).normal(size=(40, 3))

    def predict(rows):
        return np.column_stack([np.sin(rows[:, 0]) + rows[:, 2] ** 2, rows[:, 1]])

    encoder = TableEncoder().fit(table)
    first, second, means = measure_joint_dependence(predict, table, encoder, ("x0", "x2"))
    assert means.shape == (2, 20, 20)
    expected = np.sin(first.grid)[:, None] + np.square(second.grid)
    np.testing.assert_allclose(means[0], expected, atol=1e-12)
    np.testing.assert_allclose(means[1], table[:, 1].mean())
    one, other = measure_dependence(lambda rows: predict(rows)[:, 0], table, encoder, ["x0", "x2"])
    assert (one.grid, other.grid) == (first.grid, second.grid)
