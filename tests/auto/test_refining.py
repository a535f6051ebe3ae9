"""More rows than candidates were compared on refine the chosen ones."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import AutoClassifier, AutoRegressor
from mercer.auto import base, fitting, refining
from mercer.auto.search import members


@pytest.fixture(autouse=True)
def _many(monkeypatch, thresholds_only):
    """Let few rows count as many."""
    monkeypatch.setattr(refining, "LEAST_ROWS", 100)
    monkeypatch.setattr(fitting, "TUNING_ROWS", 60)
    monkeypatch.setattr(fitting, "MOST_MEMBERS", (1, 1))
    monkeypatch.setattr(members, "EXACT_ROWS", 100)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=300)


@pytest.fixture
def seen(monkeypatch):
    """Return a dictionary of the trials before and after they were refined."""
    found = {}
    refine = base.refine_trials

    def look(search, trials, weights, *others):
        found["before"] = trials[int(weights.argmax())]
        found["after"] = refine(search, trials, weights, *others)[int(weights.argmax())]
        return [found["after"] if trial is found["before"] else trial for trial in trials]

    monkeypatch.setattr(base, "refine_trials", look)
    return found


@pytest.mark.parametrize("make", [AutoRegressor, AutoClassifier])
def test_the_chosen_kernel_is_learned_again_from_more_rows(data, seen, make):
    X, y = data
    model = make(random_state=0).fit(X, y if make is AutoRegressor else y > 0)
    before, after = seen["before"], seen["after"]
    assert before.family == "thresholds"
    assert (after.name, after.family, after.way, after.score) == (before.name, before.family, before.way, before.score)
    assert not np.allclose(before.kernel(X), after.kernel(X))
    np.testing.assert_allclose(model.kernel_(X), after.kernel(X))
    ratio = after.estimator.alpha / before.estimator.alpha
    assert min(abs(ratio / factor - 1) for factor in refining.FACTORS) < 1e-3


def test_nothing_is_refined_without_time_or_with_a_kernel_that_was_given(data, seen):
    X, y = data
    AutoRegressor("ridge", kernel="Gaussian(2.0)", random_state=0).fit(X, y)
    assert seen["after"] is seen["before"]
    AutoRegressor("ridge", budget=1e-3, random_state=0).fit(X, y)
    assert seen["after"] is seen["before"]


@pytest.mark.parametrize("name", ["ridge", "svm", "neighbors", "parzen", "import_vector"])
def test_models_with_parameters_of_their_own_are_left_as_they_are(data, seen, name):
    X, y = data
    AutoClassifier(name, random_state=0).fit(X[:150], y[:150] > 0)
    assert seen["after"] is seen["before"]


def test_rare_classes_stay_among_the_rows_that_are_fitted(data, seen):
    X, y = data
    labels = np.where(y > 0, "many", "more").astype(object)
    labels[[7, 8, 200]] = ["one", "two", "two"]
    model = AutoClassifier(random_state=0).fit(X, labels)
    assert seen["after"] is not seen["before"]
    assert model.predict_proba(X).shape == (300, 4)
