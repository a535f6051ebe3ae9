"""Decision values of least squares have intervals that hold the codes of labels; other classifiers have sets."""

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import (
    SVC,
    AutoClassifier,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelPerceptron,
    KernelRidgeClassifier,
    MultipleKernelClassifier,
    ParzenClassifier,
    RecursiveFeatureClassifier,
)
from mercer.kernels import Gaussian


def draw(n, seed, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    return np.array([[0.0, 0.0], [1.6, 0.0], [0.0, 1.6]])[y] + rng.normal(size=(n, 2)), np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("classes", [2, 3])
def test_ends_are_ranks_of_refits_without_each_point(classes):
    X, y = draw(30, 0, classes)
    new = draw(6, 1)[0]
    model = KernelRidgeClassifier(0.5, kernel=Gaussian(1.5)).fit(X, y)
    columns = model.classes_[1:] if classes == 2 else model.classes_
    below, above = [], []
    for i in range(30):
        rest = np.arange(30) != i
        without = KernelRidgeClassifier(0.5, kernel=Gaussian(1.5)).fit(X[rest], y[rest])
        error = np.abs(np.where(y[i] == columns, 1.0, -1.0) - without.decision_function(X[[i]]).reshape(1, -1))
        values = without.decision_function(new).reshape(6, -1)
        below.append(values - error)
        above.append(values + error)
    lower, upper = np.sort(below, axis=0)[5], np.sort(above, axis=0)[24]  # ranks 6 and 25 of 30, for 0.8
    found = model.predict_interval(new, 0.8)
    np.testing.assert_allclose(found.reshape(6, -1, 2), np.stack([lower, upper], axis=-1), atol=1e-8)
    assert found.shape == ((6, 2) if classes == 2 else (6, 3, 2))
    assert model.interval_plan_.method == "jackknife+"
    assert "although they were chosen" not in model.interval_plan_.guarantee


@pytest.mark.parametrize("method", ["auto", "full", "cv+"])
def test_codes_of_new_labels_are_inside_as_often_as_asked(method):
    held = []
    for seed in range(3):
        model = KernelRidgeClassifier(kernel=Gaussian(1.5)).fit(*draw(100, seed))
        X, y = draw(300, 10 + seed)
        lower, upper = np.moveaxis(model.predict_interval(X, 0.8, method), -1, 0)
        codes = np.where(y[:, None] == model.classes_, 1.0, -1.0)
        held.append(np.mean((lower <= codes) & (codes <= upper)))
    assert 0.75 < np.mean(held) < 0.87


def test_a_penalty_that_was_chosen_is_named_in_the_promise_and_a_new_fit_forgets_the_plan(tmp_path):
    X, y = draw(40, 0)
    table = pd.DataFrame(X, columns=["u", "v"])
    model = KernelRidgeClassifier().fit(table, y)
    with pytest.raises(AttributeError, match="no interval_plan_ before predict_interval"):
        _ = model.interval_plan_
    ends = model.predict_interval(table)
    assert model.interval_plan_.guarantee.endswith("although they were chosen with the same points")
    assert model.interval_methods[0] == "jackknife+"
    mercer.save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model.mercer").predict_interval(table), ends)
    assert not hasattr(model.fit(table, y), "interval_plan_")
    learned = RecursiveFeatureClassifier(Gaussian(), metric="diagonal", rounds=1, refine=False, random_state=0)
    learned.fit(X, y).predict_interval(X[:2])
    assert learned.interval_plan_.guarantee.endswith("although they were chosen with the same points")


@pytest.mark.parametrize(
    "kind",
    [SVC, AutoClassifier, KernelLogisticRegression, KernelNeighborsClassifier, KernelPerceptron, ParzenClassifier,
     MultipleKernelClassifier],
)  # fmt: skip
def test_other_classifiers_say_that_they_have_sets(kind):
    assert not hasattr(kind.__new__(kind), "predict_interval")
    with pytest.raises(
        AttributeError, match=rf"^{kind.__name__} has no predict_interval: .* predict_set\(X, coverage\)"
    ):
        _ = kind.__new__(kind).predict_interval
