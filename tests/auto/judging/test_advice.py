"""Advice follows from what was seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mercer.auto import Column, Importance, Report, RivalComparison, Score, TableEncoder
from mercer.auto.judging.advice import Findings, find_irrelevant, write_advice
from mercer.kernels import Gaussian


@pytest.fixture
def found():
    X = np.random.default_rng(0).normal(size=(300, 2))
    return Findings(1.0, TableEncoder().fit(X), Gaussian([1.0, 2.0]), [], 5.0, np.empty(0), [])


def values(*errors):
    names = ("ours", "mean", "boosting")
    return tuple(Score(name, {"RMSE": e}, 0.0) for name, e in zip(names, errors, strict=True))


@pytest.fixture
def report():
    columns = (Column("x0", "numeric", "", 0, 300), Column("x1", "numeric", "", 0, 300))
    scores = values(1.0, 3.0, 1.2)
    return Report("regression", "y", 300, 240, 60, columns, (), "RMSE", scores, "", "", "", "", (), 5.0, None)


def test_there_is_always_something_to_say(report, found):
    assert write_advice(report, found) == (
        "Nothing stands out. More rows, or columns that say more about the target, are what would help most.",
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scores": values(1.0, 3.0, 0.8)}, "HistGradientBoosting is better here"),
        ({"scores": values(2.99, 3.0, 2.99)}, "hardly better than the mean"),
        ({"scores": values(2.0, 3.0, 2.0)}, "is there a time, a place or a group"),
        ({"scores": []}, "No rows were held out"),
        ({"skipped": ["support vectors"]}, "Not tried for want of time: support vectors"),
        ({"n_train": 40}, "Only 40 rows"),
        ({"kernel": Gaussian([1.0, 500.0])}, "hardly matter and could be left out: x1"),
        ({"columns": [Column("x0", "numeric", "", 200, 9)]}, "half of the values are missing in: x0"),
        ({"shares": np.array([0.02, 0.98])}, "rarest class has 2.0% of the rows"),
        ({"notes": ["Nyström centres"]}, "Nyström"),
        ({"warnings": ("A leak.",)}, "Look at the warnings before anything else"),
        ({"n_test": 19}, "Only 19 rows were held out, too few to judge"),
        ({"comparison": RivalComparison("HistGradientBoosting", -0.12, -0.24, -0.02, 60)}, "by 10 % in RMSE (90 % int"),
        ({"importances": (Importance("x1", 0.0, 0.0001),), "n_test": 200}, "hardly matter and could be left out: x1"),
    ],
)
def test_what_stands_out_is_said(report, found, changes, words):
    beside = {name: changes[name] for name in changes if hasattr(found, name)}
    others = {name: changes[name] for name in changes if name not in beside}
    sentences = write_advice(replace(report, **others), replace(found, **beside))
    assert any(words in sentence for sentence in sentences)


def test_nothing_is_said_about_kernels_with_other_length_scales(found):
    assert find_irrelevant(found.encoder, Gaussian(1e6)) == []


def test_few_rows_held_out_are_no_reason_for_advice(report, found):
    few = replace(report, n_test=19, scores=values(2.99, 3.0, 0.1))
    assert write_advice(few, found) == (
        "Only 19 rows were held out, too few to judge the model by: more rows would help most.",
    )


def test_rows_held_out_are_worse_only_where_their_spread_shows_it(report, found):
    for error, said in ((0.1, True), (0.4, False)):
        scores = tuple(replace(score, error=error) for score in values(2.0, 3.0, 2.0))
        sentences = write_advice(replace(report, scores=scores), found)
        assert any("is there a time, a place or a group" in each for each in sentences) is said


def test_two_rows_held_out_give_one_reason_and_no_advice(report, found):
    compared = RivalComparison("HistGradientBoosting", -2.0, -2.5, -1.5, 2)
    two = replace(report, n_rows=10, n_train=8, n_test=2, scores=values(2.99, 3.0, 0.1), comparison=compared)
    dull = (Importance("x1", 0.0, 0.0),)
    assert write_advice(replace(two, importances=dull), found) == (
        "Only 2 rows were held out, too few to judge the model by: more rows would help most.",
    )


def test_boosting_is_better_only_where_the_rows_show_it(report, found):
    worse = replace(report, scores=values(1.0, 3.0, 0.8))
    unsure = RivalComparison("HistGradientBoosting", -0.2, -0.5, 0.1, 60)
    assert not any("is better here" in each for each in write_advice(replace(worse, comparison=unsure), found))
    sure = replace(unsure, high=-0.1)
    assert any("is better here" in each for each in write_advice(replace(worse, comparison=sure), found))


def test_the_log_loss_of_classes_is_an_error_as_it_is(report, found):
    names = ("ours", "majority", "boosting")
    scores = tuple(Score(name, {"log-loss": v}, 0.0) for name, v in zip(names, (0.69, 0.7, 0.5), strict=True))
    sentences = write_advice(replace(report, task="classification", metric="log-loss", scores=scores), found)
    assert any("hardly better than the majority" in each for each in sentences)
    assert any("is better here" in each for each in sentences)


def test_a_long_list_of_columns_is_cut(report, found):
    dull = tuple(Importance(f"c{j}", 0.0, 0.0) for j in range(11))
    sentences = write_advice(replace(report, importances=dull, n_test=200), found)
    assert any(each.endswith("c6, c7 and 3 others.") for each in sentences)
