"""The history of a perceptron has every mistake, and rebuilds every function that there was."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError

import mercer
from mercer import KernelPerceptron
from mercer.kernels import Gaussian, Polynomial, Spectrum

KINDS = ["averaged", "plain", "voted"]
WAYS = {"two classes": (1, 2), "three classes": (0, 1, 2)}


@pytest.fixture(params=WAYS)
def flowers(request):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(np.flatnonzero(np.isin(y, WAYS[request.param])))
    return X[order][:60], y[order][:60]


def functions_point_by_point(X, y, classes, **options):
    """Return the positions of mistakes, and values of f at all points after each, by learning one point at a time."""
    model, wrong, values = KernelPerceptron("plain", **options), [], []
    for i in range(len(y)):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=classes)
        if model.mistakes_[-1]:
            wrong.append(i)
            values.append(model.decision_function(X))
    return wrong, values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intercept", [True, False])
def test_every_function_is_that_of_learning_point_by_point(flowers, kind, intercept):
    X, y = flowers
    options = {"kernel": Gaussian(0.7), "fit_intercept": intercept}
    wrong, values = functions_point_by_point(X, y, np.unique(y), **options)
    model = KernelPerceptron(kind, **options).partial_fit(X[:25], y[:25], classes=np.unique(y))
    history = model.partial_fit(X[25:], y[25:]).history_
    assert history.points.tolist() == wrong
    assert (history.times - 1).tolist() == wrong  # one pass
    assert len(history) == model.n_mistakes_
    for step, expected in enumerate(values, start=1):
        np.testing.assert_allclose(history.function(step)(X), expected, atol=1e-12)
    np.testing.assert_array_equal(history.function(0)(X), 0.0)


def test_the_last_function_is_exactly_that_of_the_model(flowers):
    X, y = flowers
    model = KernelPerceptron("plain", kernel=Polynomial(2, 1.0), max_iter=200, random_state=0).fit(X, y)
    f = model.history_.function(-1)
    np.testing.assert_array_equal(f.coef, model.expansion_.coef)
    np.testing.assert_array_equal(f.centers, model.expansion_.centers)
    np.testing.assert_array_equal(f.intercept, model.expansion_.intercept)


def test_points_are_positions_in_the_data_whatever_the_order_of_an_epoch(flowers):
    X, y = flowers
    model = KernelPerceptron(kernel=Gaussian(), max_iter=5, random_state=1).fit(X, y)
    history = model.history_
    np.testing.assert_array_equal(y[history.points], history.labels)
    assert (history.labels != history.taken).all()
    for step in (1, 3, len(history)):
        np.testing.assert_array_equal(history.vectors(step), X[np.unique(history.points[:step])])
    seen = history.times[2]
    assert history.count(seen) == 3
    assert history.count(seen - 1) == 2
    assert history.seen == model.n_iter_ * len(y)


def test_each_mistake_was_one_under_the_function_before_it(flowers):
    X, y = flowers
    model = KernelPerceptron(kernel=Gaussian(), max_iter=3, random_state=1).fit(X, y)
    history = model.history_
    for step, point in enumerate(history.points):
        values = history.function(step)(X[point : point + 1])
        if len(model.classes_) == 2:
            assert values[0] * (1 if history.labels[step] == model.classes_[1] else -1) <= 1e-12
        else:
            label, taken = (list(model.classes_).index(each) for each in (history.labels[step], history.taken[step]))
            assert values[0, label] <= values[0, taken] + 1e-12


def test_points_of_weight_zero_are_counted_and_weights_are_steps(flowers):
    X, y = flowers
    weights = np.where(np.arange(60) % 3 == 0, 0.0, 1.0 + np.arange(60) % 2)
    model = KernelPerceptron(kernel=Gaussian()).partial_fit(X, y, np.unique(y), sample_weight=weights)
    history = model.partial_fit(X, y, sample_weight=weights).history_
    twice = np.tile(weights, 2)
    assert (twice[history.points] > 0).all()
    np.testing.assert_array_equal(history.steps, twice[history.points])
    np.testing.assert_array_equal(np.tile(y, 2)[history.points], history.labels)


def test_the_history_is_part_of_a_model_file(tmp_path, flowers):
    X, y = flowers
    model = KernelPerceptron(kernel=Gaussian(), random_state=0).fit(X, y)
    mercer.save(model, tmp_path / "model.mercer")
    history = mercer.load(tmp_path / "model.mercer").history_
    np.testing.assert_array_equal(history.points, model.history_.points)
    np.testing.assert_array_equal(history.function(4)(X), model.history_.function(4)(X))


def test_strings_have_a_history():
    words, y = ["abab", "baba", "cdcd", "dcdc", "abba", "cddc"], [0, 0, 1, 1, 0, 1]
    history = KernelPerceptron(kernel=Spectrum(2), random_state=0).fit(words, y).history_
    assert set(history.vectors(len(history))) == {words[i] for i in history.points}


def test_it_is_as_small_as_the_mistakes():
    X, y = make_moons(2000, noise=0.1, random_state=0)
    model = KernelPerceptron(kernel=Gaussian(0.5), max_iter=3, random_state=0).fit(X, y)
    kept = model._kept
    arrays = [kept.origin, *(getattr(kept.log, name) for name in ("vector", "label", "wrong", "step", "time"))]
    assert sum(array.nbytes for array in arrays) <= 48 * model.n_mistakes_


def test_what_is_not_there_is_said():
    X, y = make_moons(60, noise=0.1, random_state=0)
    with pytest.raises(NotFittedError):
        KernelPerceptron().history_  # noqa: B018
    short = KernelPerceptron("plain", kernel=Gaussian(0.1), budget=3).partial_fit(X, y, [0, 1])
    assert not hasattr(short, "history_")
    with pytest.raises(AttributeError, match="no history_ with budget=3"):
        short.history_  # noqa: B018
    history = KernelPerceptron(kernel=Gaussian(0.5), random_state=0).fit(X, y).history_
    with pytest.raises(ValueError, match=f"between 0 and {len(history)}; got {len(history) + 1}"):
        history.function(len(history) + 1)
