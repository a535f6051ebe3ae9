"""AutoClassifier understands tables, gives probabilities and keeps scikit-learn's conventions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import AutoClassifier
from mercer.auto.search._classification import calibrate, fit_calibration
from mercer.kernels import Gaussian

REORDERED = {"check_dataframe_column_names_consistency": "columns are found by name, whatever their order"}


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(160, noise=0.2, random_state=0)
    return pd.DataFrame(X, columns=["left", "right"]), pd.Series(np.where(y == 1, "moon", "star"), name="thing")


@pytest.fixture(scope="module")
def fitted(moons):
    return AutoClassifier(random_state=0).fit(*moons)


@parametrize_with_checks(
    [AutoClassifier("logistic", kernel=Gaussian(), test=None)],
    expected_failed_checks=lambda estimator: REORDERED,
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_moons_are_told_apart_better_than_by_the_majority(fitted):
    report = fitted.report_
    ours, majority, boosting = report.scores
    assert [score.name for score in report.scores[1:]] == ["majority", "HistGradientBoosting"]
    assert ours.values["accuracy"] > 0.9 > majority.values["accuracy"]
    assert ours.values["log-loss"] < boosting.values["log-loss"]
    assert (report.target, report.metric) == ("thing", "log-loss")


def test_predictions_are_the_classes_of_largest_probability(fitted, moons):
    X, _ = moons
    chances = fitted.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert fitted.classes_.tolist() == ["moon", "star"]
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[chances.argmax(axis=1)])


def test_scores_are_those_of_the_predictions_held_out(fitted):
    held, values = fitted.report_.held_out, fitted.report_.scores[0].values
    assert values["accuracy"] == accuracy_score(held.truth, held.prediction)
    assert values["Brier score"] == pytest.approx(brier_score_loss(held.truth == "star", held.probabilities[:, 1]))
    assert values["log-loss"] == pytest.approx(log_loss(held.truth, held.probabilities), rel=1e-3)


def test_rows_held_out_have_their_share_of_each_class(moons):
    X, _ = moons
    rare = pd.Series(np.where(np.arange(160) < 20, "rare", "common"))
    held = AutoClassifier("svm", kernel=Gaussian(), random_state=0).fit(X, rare).report_.held_out
    assert (held.truth == "rare").sum() == 4


@pytest.mark.parametrize("model", ["ridge", "svm", "logistic", "import_vector", "neighbors", "parzen"])
def test_every_model_gives_probabilities_for_three_classes(model):
    iris = load_iris(as_frame=True)
    found = AutoClassifier(model, kernel=Gaussian(2.0) if model != "parzen" else None, random_state=0)
    found.fit(iris.data, iris.target)
    assert found.predict_proba(iris.data).shape == (150, 3)
    assert found.score(iris.data, iris.target) > 0.9
    assert found.report_.scores[0].values["log-loss"] < np.log(3)


def test_mixed_tables_are_classified():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=90), "colour": rng.choice(["red", "green", "blue"], size=90)})
    y = (X["size"] > 0) ^ (X["colour"] == "red")
    model = AutoClassifier("logistic", random_state=0).fit(X, y)
    assert model.report_.scores[0].values["accuracy"] > 0.75
    names = [candidate.name for candidate in model.report_.candidates]
    assert "logistic regression, sum over categories" in names
    scores = [candidate.score for candidate in model.report_.candidates]
    assert scores == sorted(scores)
    assert model.predict(pd.DataFrame({"size": [1.0], "colour": ["violet"]})).dtype == bool


def test_probabilities_are_the_warmed_sum_of_the_members(combined):
    iris = load_iris(as_frame=True)
    X, y = iris.data.iloc[::2], iris.target.iloc[::2]
    model = AutoClassifier("logistic", random_state=0).fit(X, y)
    assert [member.weight for member in model.members_] == [0.75, 0.25]
    parts = [each.weight * each.estimator.predict_proba(each.encoder.transform(X)) for each in model.members_]
    powers = np.maximum(sum(parts), 1e-6) ** (1.0 / model.temperature_)
    np.testing.assert_allclose(model.predict_proba(X), powers / powers.sum(axis=1, keepdims=True), rtol=1e-10)


def test_a_class_with_one_row_is_no_obstacle(moons):
    X, y = moons
    labels = y.copy()
    labels.iloc[5] = "only one"
    model = AutoClassifier("logistic", kernel=Gaussian(), random_state=0).fit(X, labels)
    assert model.predict_proba(X).shape == (160, 3)


def test_a_rare_class_is_pointed_out(moons):
    X, _ = moons
    rare = np.arange(160) < 6
    advice = AutoClassifier("svm", kernel=Gaussian(), random_state=0).fit(X, rare).report_.advice
    assert any("rarest class" in sentence for sentence in advice)


def test_rows_without_a_label_are_left_out_and_named(moons):
    X, y = moons
    model = AutoClassifier("logistic", kernel=Gaussian(), random_state=0).fit(X, y.where(np.arange(160) != 2, None))
    assert model.classes_.tolist() == ["moon", "star"]
    assert model.report_.n_rows == 159
    assert model.report_.warnings == ("1 row left out because 'thing' is missing there: row 2.",)


def test_a_single_class_is_refused(moons):
    with pytest.raises(ValueError, match="one class"):
        AutoClassifier().fit(moons[0], np.ones(160))


def test_calibration_recovers_the_odds():
    rng = np.random.default_rng(0)
    values = rng.normal(size=4000)
    chances = 1 / (1 + np.exp(-(2.0 * values - 1.0)))
    found = fit_calibration(values, (rng.random(4000) < chances).astype(int), 2)
    assert found["slopes"][0][0] == pytest.approx(2.0, rel=0.1)
    np.testing.assert_allclose(calibrate(values, found)[:, 1], chances, atol=0.05)


def test_classes_that_no_row_judged_belongs_to_keep_their_own_values():
    values = np.random.default_rng(0).normal(size=(30, 3))
    found = calibrate(values, fit_calibration(values, np.arange(30) % 2, 3))
    np.testing.assert_allclose(found, softmax(values, axis=1), rtol=1e-12)
    found = calibrate(values[:, 0], fit_calibration(values[:, 0], np.zeros(30, dtype=int), 2))  # all of one class
    np.testing.assert_allclose(found[:, 1], 1 / (1 + np.exp(-values[:, 0])), rtol=1e-12)


# -- sets -------------------------------------------------------------------------------------------------------------


def draw_mixed(n, seed):
    """Return a table of numbers and words with holes, and three labels that depend on both and overlap."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, size=n, p=[0.4, 0.35, 0.25])
    size = 1.2 * y + rng.normal(size=n)
    colour = np.where(rng.random(n) < 0.7, np.array(["red", "green", "blue"])[y], "grey").astype(object)
    table = pd.DataFrame({"size": np.where(rng.random(n) < 0.1, np.nan, size), "colour": colour})
    table.loc[rng.random(n) < 0.1, "colour"] = None
    return table, np.array(["oak", "fir", "ash"])[y]


@pytest.fixture(scope="module")
def new_rows():
    return draw_mixed(800, 1)


def share_held(model, table, labels, **options):
    sets = model.predict_set(table, 0.8, **options)
    assert sets.shape == (len(table), 3)
    assert sets.dtype == bool
    assert sets[np.arange(len(table)), np.searchsorted(model.classes_, model.predict(table))].all()
    return np.mean([label in model.classes_[own] for label, own in zip(labels, sets, strict=True)])


@pytest.mark.parametrize("kind", ["logistic", "svm"])
def test_one_model_gives_its_own_sets_on_tables_with_words_and_holes(kind, new_rows):
    model = AutoClassifier(kind, kernel=Gaussian(), random_state=0).fit(*draw_mixed(240, 0))
    assert model.classes_.tolist() == ["ash", "fir", "oak"]
    assert 0.72 < share_held(model, *new_rows) < 0.9
    own = model.model_.predict_set(model.encoder_.transform(new_rows[0]), 0.8)
    assert (model.predict_set(new_rows[0], 0.8) >= own).all()
    with pytest.raises(ValueError, match=r"AutoClassifier\.predict_set: coverage must lie between 0 and 1"):
        model.predict_set(new_rows[0], 1.5)


@pytest.mark.parametrize("test", [0.3, None])
def test_a_combination_has_sets_by_the_probabilities_of_rows_it_has_not_seen(test, new_rows, combined, tmp_path):
    model = AutoClassifier(random_state=0, test=test).fit(*draw_mixed(240, 0))
    assert len(model.members_) > 1
    table, labels = new_rows
    assert 0.68 < share_held(model, table, labels) < 0.92
    assert 0.68 < share_held(model, table, labels, conditional=True) < 0.95
    if test:  # by hand: how far behind the best other class the true one was, in logarithms
        held = model.report_.held_out
        behind = [
            np.log(np.delete(row, code).max() / row[code])
            for row, code in zip(held.probabilities, np.searchsorted(model.classes_, held.truth), strict=True)
        ]
        limit = np.sort(behind)[int(np.ceil(0.8 * (len(behind) + 1))) - 1]
        for row, own in zip(model.predict_proba(table)[:50], model.predict_set(table, 0.8)[:50], strict=True):
            scores = [np.log(np.delete(row, c).max() / row[c]) for c in range(3)]
            assert own.tolist() == [score <= max(limit, 0.0) for score in scores]
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict_set(table, 0.8), model.predict_set(table, 0.8))
