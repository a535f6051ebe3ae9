"""AutoClassifier understands tables, gives probabilities and keeps scikit-learn's conventions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import accuracy_score, log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import AutoClassifier
from mercer.auto.search._classification import calibrate, choose_trial, fit_calibration
from mercer.auto.search.base import Trial
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
    [
        AutoClassifier("logistic", kernel=Gaussian(), test=None),
        AutoClassifier("svm", kernel=Gaussian(), random_state=0),
    ],
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
    assert (report.target, report.metric) == ("thing", "accuracy")


def test_predictions_are_the_classes_of_largest_probability(fitted, moons):
    X, _ = moons
    chances = fitted.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert fitted.classes_.tolist() == ["moon", "star"]
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[chances.argmax(axis=1)])


def test_scores_are_those_of_the_predictions_held_out(fitted):
    held, values = fitted.report_.held_out, fitted.report_.scores[0].values
    assert values["accuracy"] == accuracy_score(held.truth, held.prediction)
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
    X = pd.DataFrame({"size": rng.normal(size=150), "colour": rng.choice(["red", "green", "blue"], size=150)})
    y = (X["size"] > 0) ^ (X["colour"] == "red")
    model = AutoClassifier("logistic", random_state=0).fit(X, y)
    assert model.report_.scores[0].values["accuracy"] > 0.75
    names = [candidate.name for candidate in model.report_.candidates]
    assert "logistic regression, a sum of kernels for numbers and categories" in names
    assert model.predict(pd.DataFrame({"size": [1.0], "colour": ["violet"]})).dtype == bool


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


def test_missing_labels_and_a_single_class_are_refused(moons):
    X, _ = moons
    with pytest.raises(ValueError, match="label of row 2 is missing"):
        AutoClassifier().fit(X, np.array(["a", "b", None] * 53 + ["a"], dtype=object))
    with pytest.raises(ValueError, match="one class"):
        AutoClassifier().fit(X, np.ones(160))


def test_calibration_recovers_the_odds():
    rng = np.random.default_rng(0)
    values = rng.normal(size=4000)
    chances = 1 / (1 + np.exp(-(2.0 * values - 1.0)))
    found = fit_calibration(values, (rng.random(4000) < chances).astype(int))
    assert found["slopes"][0][0] == pytest.approx(2.0, rel=0.1)
    np.testing.assert_allclose(calibrate(values, found)[:, 1], chances, atol=0.05)


def test_among_equally_accurate_candidates_the_surer_one_wins():
    def trial(name, score, tie):
        return Trial(name, None, None, Gaussian(), np.empty(0), score=score, tie=tie)

    trials = [trial("a", 0.900, 0.4), trial("b", 0.899, 0.3), trial("c", 0.7, 0.1)]
    assert choose_trial(trials, 100).name == "b"
    assert choose_trial(trials, 10**7).name == "a"
