"""Columns that give the target away are named, and strong columns that do not are left in peace."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer.auto import Importance
from mercer.auto.judging.leaks import find_leaks, judge_perfection, warn_of_leaks

N = 400
rng = np.random.default_rng(0)
PRICE = rng.lognormal(size=N)
KIND = rng.integers(0, 4, N)
HONEST = {
    "noise": rng.normal(size=N),
    "strong": PRICE + 0.2 * PRICE.std() * rng.normal(size=N),  # R² of 0.96
    "town": rng.choice(["Aachen", "Bonn", "Celle"], N),
    "same": np.ones(N),
}
PLANTED = {
    "copy": PRICE,
    "scaled": 100.0 - 3.0 * PRICE,
    "rounded": PRICE.round(1),
    "monotone": np.log(PRICE),
    "noisy copy": PRICE * (1 + 0.01 * rng.normal(size=N)),
    "row": np.argsort(np.argsort(PRICE)),
    "code": [f"A{place:05d}" for place in np.argsort(np.argsort(PRICE))],
    "gaps": np.where(rng.random(N) < 0.3, np.nan, PRICE),
}
GIVEN = {
    "copy": KIND,
    "renamed": np.array(["low", "high", "none", "some"])[KIND],
    "groups": KIND * 10 + rng.integers(0, 10, N),  # several values for each class
    "zones": np.array([f"{(7 * code) % 40}-{code}" for code in range(40)])[KIND * 10 + rng.integers(0, 10, N)],
    "row": np.argsort(np.argsort(KIND, kind="stable")),
    "shifted": KIND + 0.2 * rng.random(N),
}


@pytest.mark.parametrize("leak", PLANTED)
def test_a_planted_column_is_named_for_numbers(leak):
    frame = pd.DataFrame({**HONEST, leak: PLANTED[leak]})
    assert find_leaks(frame, PRICE, "regression", np.random.default_rng(0)) == (leak,)


@pytest.mark.parametrize("leak", GIVEN)
def test_a_planted_column_is_named_for_classes(leak):
    frame = pd.DataFrame({**HONEST, leak: GIVEN[leak]})
    assert find_leaks(frame, KIND, "classification", np.random.default_rng(0)) == (leak,)


@pytest.mark.parametrize("order", ["as it comes", "sorted by the target"])
def test_strong_columns_are_not_named(order):
    rows = np.arange(N) if order == "as it comes" else np.argsort(PRICE)
    frame = pd.DataFrame(HONEST).iloc[rows]
    assert find_leaks(frame, PRICE[rows], "regression", np.random.default_rng(0)) == ()
    frame = frame.assign(good=np.where(rng.random(N) < 0.95, KIND, rng.permutation(KIND))[rows])  # right for 96 %
    assert find_leaks(frame, KIND[rows], "classification", np.random.default_rng(0)) == ()


def test_a_column_that_is_missing_for_one_class_only_gives_it_away():
    died = (rng.random(N) < 0.3).astype(int)
    frame = pd.DataFrame({**HONEST, "cause": np.where(died == 1, "fever", None)})
    assert find_leaks(frame, died, "classification", np.random.default_rng(0)) == ("cause",)


def test_rare_classes_hide_no_leak():
    kinds = KIND.copy()
    kinds[0] = 6  # one row, and a class 5 without any
    frame = pd.DataFrame({**HONEST, "copy": kinds})
    assert find_leaks(frame, kinds, "classification", np.random.default_rng(0)) == ("copy",)


def test_twenty_rows_are_enough_for_a_copy_and_fewer_say_nothing():
    X = rng.normal(size=(20, 3))
    assert find_leaks(X, X[:, 1] ** 3, "regression", np.random.default_rng(0)) == ("x1",)
    assert find_leaks(X[:19], X[:19, 1], "regression", np.random.default_rng(0)) == ()


def test_a_simple_target_is_no_leak():
    x = np.linspace(0, 1, N)
    assert find_leaks(x[:, None], np.sin(x), "regression", np.random.default_rng(0)) == ()
    every = np.column_stack([x, x**2, np.exp(x), rng.normal(size=N)])
    assert find_leaks(every, x, "regression", np.random.default_rng(0)) == ()


def test_every_kind_of_table_says_the_same():
    data = {"noise": HONEST["noise"], "town": HONEST["town"], "copy": PRICE}
    for table in (pd.DataFrame(data), pl.DataFrame(data)):
        assert find_leaks(table, PRICE, "regression", np.random.default_rng(0)) == ("copy",)


def test_many_rows_are_sampled_and_no_time_finds_nothing():
    X = rng.normal(size=(20_000, 3))
    assert find_leaks(X, X[:, 2], "regression", np.random.default_rng(0)) == ("x2",)
    assert find_leaks(X, X[:, 2], "regression", np.random.default_rng(0), seconds=0.0) == ()


def test_the_sentence_names_column_and_target():
    (sentence,) = warn_of_leaks(["paid"], "price")
    assert "'paid' alone gives 'price' away" in sentence


@pytest.mark.parametrize(
    ("metric", "ours", "constant", "rows", "named"),
    [
        ("RMSE", 0.01, 1.0, 50, True),
        ("RMSE", 0.1, 1.0, 50, False),
        ("RMSE", 0.01, 1.0, 19, False),
        ("RMSE", 0.0, 0.0, 50, False),
        ("log-loss", 0.01, 0.7, 50, True),
        ("log-loss", 0.05, 0.7, 50, False),
        ("accuracy", 1.0, 0.5, 50, True),
        ("accuracy", 0.98, 0.5, 50, False),
        ("R²", 1.0, 0.0, 50, False),
    ],
)
def test_scores_that_are_too_good_are_asked_about(metric, ours, constant, rows, named):
    matter = (Importance("paid", 1.0, 0.1), Importance("town", 0.1, 0.1))
    sentence = judge_perfection(metric, ours, constant, rows, matter, "price")
    assert (sentence is not None) == named
    assert sentence is None or ("'paid'" in sentence and "'town'" not in sentence)


def test_a_row_taken_for_one_of_a_rare_class_is_no_reason_to_warn_whoever_asks():
    codes = np.concatenate([np.arange(60) // 30, [2, 2, 2, 2]])
    column = np.concatenate([[9], codes[1:60], [9, 9, 9, 9]])  # the first row looks like those of the rare class
    X = np.column_stack([column, np.random.default_rng(0).normal(size=64)])
    assert find_leaks(X, codes, "classification", np.random.default_rng(0)) == ()
