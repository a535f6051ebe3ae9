"""Advice follows from what was seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mercer.auto import Column, Report, Score, TableEncoder
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
    ],
)
def test_what_stands_out_is_said(report, found, changes, words):
    beside = {name: changes[name] for name in changes if hasattr(found, name)}
    others = {name: changes[name] for name in changes if name not in beside}
    sentences = write_advice(replace(report, **others), replace(found, **beside))
    assert any(words in sentence for sentence in sentences)


def test_nothing_is_said_about_kernels_with_other_length_scales(found):
    assert find_irrelevant(found.encoder, Gaussian(1e6)) == []
