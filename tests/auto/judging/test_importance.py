"""Importances are what permutations of rows held out cost."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer.auto import Importance
from mercer.auto.judging import importance
from mercer.auto.judging.importance import find_clear, measure_importance

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
Y = 2.0 * X[:, 0] + 0.5 * X[:, 2] + 0.1 * rng.normal(size=300)


def rmse(y, outputs):
    return float(np.sqrt(np.mean((y - outputs) ** 2)))


def mse(y, outputs):
    return float(np.mean((y - outputs) ** 2))


def predict(rows):
    return 2.0 * np.asarray(rows)[:, 0] + 0.5 * np.asarray(rows)[:, 2]


def test_a_column_that_is_not_used_costs_exactly_nothing():
    found = {each.name: each for each in measure_importance(predict, X, Y, rmse, np.random.default_rng(0))}
    assert (found["x1"].value, found["x1"].error) == (0.0, 0.0)
    assert found["x0"].value > found["x2"].value > 0.0


def test_the_most_important_comes_first():
    found = measure_importance(predict, X, Y, rmse, np.random.default_rng(0))
    assert [each.name for each in found] == ["x0", "x2", "x1"]


def test_the_mean_over_permutations_is_twice_the_variance_of_a_linear_term():
    found = measure_importance(predict, X, Y, mse, np.random.default_rng(0), repeats=200)
    for each, slope, j in zip(found, (2.0, 0.5), (0, 2), strict=False):
        # E (slope (x - x'))² = 2 slope² var x, and x' of another row is free of the errors
        noise = Y - predict(X)
        expected = 2 * slope**2 * X[:, j].var() + 2 * slope * np.mean((X[:, j] - X[:, j].mean()) * noise)
        assert each.value == pytest.approx(expected, rel=0.02)


def test_the_standard_error_is_that_of_other_rows():
    values, errors = [], []
    for seed in range(60):
        draw = np.random.default_rng(seed)
        Z = draw.normal(size=(200, 2))
        y = Z[:, 0] + draw.normal(size=200)
        (found, _) = measure_importance(lambda rows: rows[:, 0], Z, y, mse, draw)
        values.append(found.value)
        errors.append(found.error)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.3)


@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_every_kind_of_table_gives_the_same(kind):
    table = {"pandas": pd.DataFrame, "polars": lambda rows: pl.DataFrame(rows, schema=["0", "1", "2"])}.get(
        kind, np.array
    )(X)
    found = measure_importance(predict, table, Y, rmse, np.random.default_rng(3))
    alone = measure_importance(predict, X, Y, rmse, np.random.default_rng(3))
    assert [each.value for each in found] == [each.value for each in alone]


def test_categories_and_words_are_permuted_as_they_are():
    frame = pd.DataFrame({"n": X[:, 0], "word": rng.choice(["a", "b"], 300), "kind": pd.Categorical(["u", "v"] * 150)})
    kinds = []

    def look(rows):
        counts = rows["word"].value_counts(normalize=True)
        kinds.append((str(rows["word"].dtype), str(rows["kind"].dtype), sorted(counts.round(12))))
        return (rows["word"] == "a").to_numpy() * 1.0

    found = measure_importance(look, frame, (frame["word"] == "a").to_numpy() * 1.0, mse, np.random.default_rng(0))
    assert found[0].name == "word"
    assert len(set(map(str, kinds))) == 1  # a permutation changes no type and no count
    assert frame["n"].equals(pd.Series(X[:, 0]))


def test_at_most_a_thousand_rows_are_taken():
    seen = []

    def look(rows):
        seen.append(len(rows))
        return rows[:, 0]

    many = np.random.default_rng(0).normal(size=(5000, 2))
    measure_importance(look, many, many[:, 0], mse, np.random.default_rng(0), repeats=2)
    assert seen == [2000, 4000]  # all as they are, then both columns


def test_columns_without_time_are_left_out(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(importance.time, "perf_counter", lambda: now[0])

    def slow(rows):
        now[0] += 0.001 * len(rows)
        return rows[:, 0]

    wide = np.random.default_rng(0).normal(size=(60, 40))
    found = measure_importance(slow, wide, wide[:, 0], mse, np.random.default_rng(0), seconds=1.0)
    assert {each.name for each in found} == {f"x{j}" for j in range(15)}  # 0.18 s as they are, then 0.05 s each
    assert now[0] <= 1.0
    assert len(measure_importance(slow, wide, wide[:, 0], mse, np.random.default_rng(0), seconds=20.0)) == 40


def test_one_row_says_nothing():
    assert measure_importance(predict, X[:1], Y[:1], mse, np.random.default_rng(0)) == ()


def test_noise_matters_clearly_in_one_case_of_twenty_and_few_rows_show_nothing():
    clear = []
    for seed in range(100):
        draw = np.random.default_rng(seed)
        Z, y = draw.normal(size=(60, 2)), draw.normal(size=60)
        found = measure_importance(lambda rows: 0.3 * rows[:, 0], Z, y, mse, draw, repeats=1)
        noise = [each for each in found if each.name == "x0"]
        rise = Importance("x0", noise[0].value - 2 * 0.09 * Z[:, 0].var(), noise[0].error)  # less what it costs anyway
        clear.append(len(find_clear([rise], 60)))
    assert np.mean(clear) <= 0.15
    sure = (Importance("size", 1.0, 0.01),)
    assert find_clear(sure, importance.ENOUGH) == sure
    assert find_clear(sure, importance.ENOUGH - 1) == ()
