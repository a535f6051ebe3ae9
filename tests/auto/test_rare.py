"""Few rows, rare classes, many classes and many rows are no obstacle."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer import AutoClassifier, AutoRegressor
from mercer.auto.search._classification import ClassificationSearch

FEW = np.array([[0.0, 1.0], [1.0, 2.0], [3.0, 1.0]])


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(60, 3))


def label(rows, **rare):
    """Return two classes, and others at the rows that are named."""
    labels = np.where(rows[:, 0] > 0, "many", "more").astype(object)
    for name, places in rare.items():
        labels[places] = name
    return labels


def check(model, X, labels):
    """Check that every class is known, and that chances are chances."""
    assert model.classes_.tolist() == sorted(set(labels))
    chances = model.predict_proba(X)
    assert chances.shape == (len(X), len(model.classes_))
    assert (chances >= 0).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[chances.argmax(axis=1)])


@pytest.mark.parametrize("n", [2, 3])
def test_a_few_rows_are_enough(thresholds_only, n):
    model = AutoRegressor(random_state=0).fit(FEW[:n], FEW[:n, 0])
    assert np.isfinite(model.predict(FEW)).all()
    with pytest.warns(UserWarning, match="coverage 0.9 needs at least 9 points"):
        assert model.predict_interval(FEW).shape == (3, 2)
    assert model.report_.n_test == 0
    check(AutoClassifier(random_state=0).fit(FEW[:n], list("abb"[:n])), FEW, "abb"[:n])


def test_ten_rows_are_enough(thresholds_only, rows):
    model = AutoRegressor(random_state=0).fit(rows[:10], rows[:10, 0])
    assert np.isfinite(model.predict(rows)).all()
    assert (model.report_.n_train, model.report_.n_test) == (8, 2)
    for labels in (label(rows[:10]), list("abcdefghij"), list("aabbccddee"), list("aaaaaaaaab")):
        check(AutoClassifier(random_state=0).fit(rows[:10], labels), rows[:10], labels)


@pytest.mark.parametrize("model", ["svm", "ridge", "neighbors", "parzen", "import_vector"])
def test_two_rows_of_two_classes_are_enough_for_every_model(model):
    check(AutoClassifier(model, random_state=0).fit(FEW[:2], ["a", "b"]), FEW, "ab")


@pytest.mark.parametrize("rare", [{"one": [5]}, {"two": [5, 6]}, {"two": [5, 6], "one": [7], "single": [8]}])
def test_classes_of_one_or_two_rows_are_learned(thresholds_only, rows, rare):
    labels = label(rows, **rare)
    model = AutoClassifier(random_state=0).fit(rows, labels)
    check(model, rows, labels)
    held = set(model.report_.held_out.truth)
    assert not held & {"one", "single"}


@pytest.mark.parametrize("model", ["svm", "ridge", "neighbors", "parzen", "import_vector"])
def test_every_model_takes_rare_classes(thresholds_only, rows, model):
    labels = label(rows, two=[5, 6], one=[7])
    check(AutoClassifier(model, random_state=0).fit(rows, labels), rows, labels)


def test_a_class_may_be_absent_from_the_rows_that_are_judged_together(thresholds_only, rows, monkeypatch):
    labels = label(rows, two=[5, 6])
    absent = []
    judge = ClassificationSearch.judge_learned

    def look(self, name, learned, way):
        absent.extend(set(self.y) - set(self.y[part]) for part in self.parts)
        return judge(self, name, learned, way)

    monkeypatch.setattr(ClassificationSearch, "judge_learned", look)
    check(AutoClassifier(random_state=0).fit(rows, labels), rows, labels)
    assert any(absent)


def test_fifty_classes_with_little_more_than_two_rows_each(thresholds_only):
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.arange(50), rng.integers(0, 50, size=70)])
    centers = rng.normal(size=(50, 3))
    X = centers[codes] + 0.1 * rng.normal(size=(120, 3))
    model = AutoClassifier(budget=0.1, random_state=0).fit(X, codes)
    check(model, X, codes.tolist())
    assert model.score(X, codes) > 0.5


@pytest.mark.slow
def test_a_hundred_thousand_rows_go_the_whole_way_in_a_small_budget():
    rng = np.random.default_rng(0)
    n = 100_000
    X = pd.DataFrame({"size": rng.normal(size=n).round(3), "colour": rng.choice(["red", "green", "blue"], size=n)})
    X.loc[::50, "size"] = np.nan
    value = np.sin(2 * X["size"].fillna(1.0)) + (X["colour"] == "red")
    model = AutoRegressor(budget=2, random_state=0).fit(X, value + 0.1 * rng.normal(size=n))
    assert (model.report_.n_rows, model.report_.n_test) == (n, n // 5)
    assert model.report_.scores[0].values["R²"] > 0.8
    assert len(model.report_.held_out.truth) == 2000
    assert model.predict(X).shape == (n,)
    labels = np.where(value > 0.5, "above", "below").astype(object)
    labels[[3, 40_000, 77_777]] = ["one", "two", "two"]
    chosen = AutoClassifier(budget=2, random_state=0).fit(X, labels)
    check(chosen, X.iloc[::100], labels)
    assert chosen.report_.scores[0].values["accuracy"] > 0.8
