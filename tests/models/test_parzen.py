"""Parzen windows: densities, classes and regression, against brute force, scikit-learn and refits."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from scipy.integrate import quad
from scipy.special import gamma, logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import check_estimator

from mercer import MemoryBudgetError
from mercer.arrays.place import Place
from mercer.kernels import Custom, Gaussian, Laplacian, Linear, Matern, PowerExponential, RationalQuadratic
from mercer.models.parzen import ParzenClassifier, ParzenRegressor
from mercer.models.parzen_density import ParzenDensity
from mercer.solvers.windows import fits as _window_fits
from mercer.solvers.windows.shapes import NAMES, draw_noise, log_integral
from mercer.solvers.windows.sums import WindowSum

SKLEARN = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")
COMPACT = ("uniform", "epanechnikov", "triangular", "cosine")
LETTERS = Custom(lambda a, b: float(len(set(a) & set(b))))


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 2)), 2.0 * rng.normal(size=(25, 2))
    return X, rng.uniform(0.5, 2.0, size=60), new


# -- densities ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "d"), [(name, d) for name in SKLEARN for d in (1, 2, 8) if name != "cosine" or d == 1]
)
def test_densities_are_those_of_scikit_learn(name, d, weighted):
    rng = np.random.default_rng(d)
    X, new = rng.normal(size=(50, d)), rng.normal(size=(40, d))
    weights = rng.uniform(0.5, 2.0, size=50) if weighted else None
    scale = 0.8 * np.sqrt(d)
    ours = ParzenDensity(name, length_scale=scale).fit(X, sample_weight=weights)
    theirs = KernelDensity(bandwidth=scale, kernel=name, rtol=0, atol=0).fit(X, sample_weight=weights)
    expected = theirs.score_samples(new)
    np.testing.assert_allclose(ours.score_samples(new), expected, rtol=1e-8, atol=1e-8)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [*NAMES, Laplacian(0.5), Matern(2.2, 0.7), RationalQuadratic(0.4, 1.5), PowerExponential(1.6, 0.9, 0.3)],
    ids=str,
)
def test_densities_integrate_to_one(kernel):
    X = np.array([[0.0], [0.4], [1.5]])
    model = ParzenDensity(kernel, length_scale=0.6 if isinstance(kernel, str) else None).fit(X)
    assert model.normalized_
    corners = np.sort(np.concatenate([(X - 0.6).ravel(), X.ravel(), (X + 0.6).ravel()]))
    pieces = [-np.inf, *corners, np.inf]
    total = sum(
        quad(lambda x: float(np.exp(model.score_samples([[x]])[0])), a, b, limit=200)[0]
        for a, b in itertools.pairwise(pieces)
    )
    assert total == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("d", [1, 2, 5, 8])
@pytest.mark.parametrize("name", COMPACT)
def test_integrals_of_compact_windows_are_those_over_shells(name, d):
    # Theirs of the cosine is another number for d > 1 and not a number for d = 8, so that this stands in for it.
    window = NAMES[name](0.7)
    shells = quad(lambda r: window([[0.0]], [[r]])[0, 0] * r ** (d - 1), 0.0, 0.7)[0]
    assert np.exp(log_integral(window, d)) == pytest.approx(2 * np.pi ** (d / 2) / gamma(d / 2) * shells, rel=1e-9)


@pytest.mark.parametrize(
    "kernel",
    [Laplacian([0.5, 2.0]), Matern(1.5, [0.3, 1.0]), Gaussian([1.0, 0.2]), PowerExponential(1.4, 1.2, [0.5, 2.0])],
    ids=repr,
)
def test_integrals_in_two_dimensions_are_those_of_a_fine_grid(kernel):
    ticks = np.linspace(-1, 1, 401)
    extent = 12.0 * np.array(kernel.length_scale)
    grid = np.stack(np.meshgrid(*(e * ticks for e in extent)), axis=-1).reshape(-1, 2)
    total = kernel(np.zeros((1, 2)), grid).sum() * np.prod(extent * (ticks[1] - ticks[0]))
    assert total == pytest.approx(np.exp(log_integral(kernel, 2)), rel=5e-3)


@pytest.mark.parametrize("kernel", [Gaussian(0.1), Matern(0.5, 0.1), Matern(1.5, 0.1), Laplacian(0.1)], ids=repr)
def test_far_from_the_data_log_densities_stay_numbers(kernel):
    X, far = np.array([[0.0], [1.0], [1.2]]), np.array([[1e3], [-1e5]])
    values = ParzenDensity(kernel).fit(X).score_samples(far)
    gaps = np.abs(far - X.T) / 0.1
    log_window = {
        "Gaussian": -(gaps**2) / 2,
        "Laplacian": -gaps,
        "Matern": -gaps if getattr(kernel, "nu", 0) == 0.5 else np.log1p(3**0.5 * gaps) - 3**0.5 * gaps,
    }[type(kernel).__name__]
    expected = logsumexp(log_window, axis=1) - np.log(3) - log_integral(kernel, 1)
    np.testing.assert_allclose(values, expected, rtol=1e-10)


def test_outside_of_compact_windows_the_density_is_zero():
    assert ParzenDensity("epanechnikov", length_scale=1.0).fit([[0.0]]).score_samples([[1.5]])[0] == -np.inf


@pytest.mark.parametrize("name", ["gaussian", "exponential", "epanechnikov"])
def test_the_length_scale_has_the_largest_likelihood_of_points_left_out(data, name):
    X, weights, _ = data
    model = ParzenDensity(name).fit(X, sample_weight=weights)

    def likelihood(scale):
        without = [
            ParzenDensity(name, length_scale=scale)
            .fit(np.delete(X, i, 0), sample_weight=np.delete(weights, i))
            .score_samples(X[i : i + 1])[0]
            for i in range(60)
        ]
        return np.average(without, weights=weights)

    best = likelihood(model.length_scale_)
    assert -model.loo_losses_.min() == pytest.approx(best, rel=1e-9)
    assert best >= max(likelihood(factor * model.length_scale_) for factor in (0.5, 0.9, 1.1, 2.0))
    assert model.n_loo_points_ == 60


def test_with_many_points_the_length_scale_comes_from_some_of_them(monkeypatch):
    X = np.random.default_rng(4).normal(size=(400, 1))
    every = ParzenDensity().fit(X)
    monkeypatch.setattr(_window_fits, "ENTRIES", 400 * 150)
    some = ParzenDensity(random_state=0).fit(X)
    assert (every.n_loo_points_, some.n_loo_points_) == (400, 150)
    assert some.length_scale_ == pytest.approx(every.length_scale_, rel=0.5)
    assert ParzenDensity(random_state=0).fit(X).length_scale_ == some.length_scale_


def test_repeating_points_is_giving_them_weights(data):
    X, _, new = data
    counts = np.random.default_rng(5).integers(0, 3, size=60)
    weighted = ParzenDensity().fit(X, sample_weight=counts)
    repeated = ParzenDensity().fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.score_samples(new), repeated.score_samples(new), rtol=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [*NAMES, Laplacian(), Matern(1.5), RationalQuadratic(1.0, 2.5), PowerExponential(1.5, 1.2), PowerExponential()],
    ids=str,
)
@pytest.mark.parametrize("d", [1, 3])
def test_samples_follow_the_window(kernel, d):
    kernel = NAMES[kernel](1.0) if isinstance(kernel, str) else kernel
    sample = draw_noise(kernel, 4000, d, np.random.RandomState(0))
    again = ParzenDensity(kernel).fit(np.zeros((1, d)))
    # The share of samples in a ball against the integral of the density over it, by importance sampling from a box.
    box = np.random.RandomState(1).uniform(-1.0, 1.0, size=(200_000, d))
    density = np.exp(again.score_samples(box)) * 2.0**d
    for radius in (0.3, 0.6, 0.9):
        inside = np.linalg.norm(box, axis=1) < radius
        share, error = np.mean(density * inside), np.std(density * inside) / len(box) ** 0.5
        found = np.mean(np.linalg.norm(sample, axis=1) < radius)
        assert abs(found - share) < 4 * (error + (share * (1 - share) / 4000) ** 0.5) + 1e-3


def test_samples_are_distributed_as_the_density(data):
    X = data[0][:, :1]
    model = ParzenDensity(length_scale=0.4).fit(X, sample_weight=data[1])
    sample = model.sample(3000, random_state=0)[:, 0]

    def distribution(t):
        return stats.norm.cdf((np.asarray(t)[:, None] - X.T) / 0.4) @ model.weights_

    assert stats.kstest(sample, distribution).pvalue > 1e-3
    np.testing.assert_array_equal(sample, model.sample(3000, random_state=0)[:, 0])


def test_the_expansion_is_the_density(data):
    X, weights, new = data
    model = ParzenDensity("triangular", length_scale=1.5).fit(X, sample_weight=weights)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(np.log(model.expansion_(new)), model.score_samples(new), rtol=1e-10)


# -- any kernel on any objects ------------------------------------------------------------------------------------

WORDS = ["kernel", "eigen", "dog", "frog"]


def test_objects_have_densities_that_are_not_normalised():
    model = ParzenDensity(LETTERS).fit(WORDS, sample_weight=[1.0, 1.0, 2.0, 0.0])
    expected = LETTERS(["keel"], WORDS[:3]) @ [0.25, 0.25, 0.5]
    np.testing.assert_allclose(np.exp(model.score_samples(["keel"])), expected)
    assert not model.normalized_
    with pytest.raises(ValueError, match="integral is not known"):
        model.sample()


def test_objects_have_classes_and_targets():
    model = ParzenClassifier(LETTERS).fit(WORDS, ["maths", "maths", "pet", "pet"])
    K = LETTERS(["keel", "god"], WORDS)
    sums = np.column_stack([K[:, :2].mean(axis=1), K[:, 2:].mean(axis=1)])
    np.testing.assert_allclose(model.predict_proba(["keel", "god"]), sums / sums.sum(axis=1, keepdims=True), atol=1e-12)
    regression = ParzenRegressor(LETTERS).fit(WORDS, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(regression.predict(["keel"]), K[:1] @ [1.0, 2.0, 3.0, 4.0] / K[0].sum())


def test_objects_unlike_all_others_get_the_mean_and_the_priors_with_a_warning():
    with pytest.warns(UserWarning, match="target of all points"):
        assert ParzenRegressor(LETTERS).fit(WORDS, [1.0, 2.0, 3.0, 6.0]).predict(["x"]) == 3.0
    with pytest.warns(UserWarning, match="class of all points"):
        shares = ParzenClassifier(LETTERS).fit(WORDS, [0, 1, 1, 1]).predict_proba(["x"])
    np.testing.assert_allclose(shares, [[0.25, 0.75]])


def test_a_kernel_that_is_negative_somewhere_is_no_window(data):
    X, _, new = data
    for model in (ParzenDensity(Linear()).fit(X), ParzenRegressor(Linear()).fit(X, X[:, 0])):
        with pytest.raises(ValueError, match="must not be negative"):
            _answer(model)(new)


# -- classes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gaussian", "exponential"])
def test_the_posterior_is_bayes_rule_on_class_densities(data, name):
    X, weights, new = data
    labels = np.array(["b", "a", "c"])[np.arange(60) % 3]
    for priors in (None, [0.2, 0.5, 0.3]):
        model = ParzenClassifier(name, length_scale=0.5, priors=priors).fit(X, labels, weights)
        joint = []
        for position, label in enumerate(["a", "b", "c"]):
            of = labels == label
            prior = weights[of].sum() / weights.sum() if priors is None else priors[position]
            density = KernelDensity(bandwidth=0.5, kernel=name, rtol=0, atol=0).fit(X[of], sample_weight=weights[of])
            joint.append(np.log(prior) + density.score_samples(new))
        expected = np.stack(joint, axis=1) - logsumexp(joint, axis=0)[:, None]
        np.testing.assert_allclose(model.predict_log_proba(new), expected, rtol=1e-7, atol=1e-8)
        np.testing.assert_array_equal(model.predict(new), np.array(["a", "b", "c"])[expected.argmax(axis=1)])


def test_class_expansions_are_the_class_densities(data):
    X, _, new = data
    labels = np.arange(60) % 2
    model = ParzenClassifier(length_scale=0.7).fit(X, labels)
    for label, f in zip((0, 1), model.expansions_, strict=True):
        density = ParzenDensity(length_scale=0.7).fit(X[labels == label])
        np.testing.assert_allclose(np.log(f(new)) - density.log_integral_, density.score_samples(new), rtol=1e-9)


def test_far_away_the_class_of_the_nearest_point_wins():
    model = ParzenClassifier(length_scale=0.1).fit([[0.0], [1.0]], ["left", "right"])
    assert model.predict([[-1e6], [1e6]]).tolist() == ["left", "right"]
    shares = model.predict_proba([[-1e6], [1e6]])
    np.testing.assert_array_equal(shares.round(12), np.eye(2))
    assert np.isfinite(model.predict_log_proba([[1e6]])).all()


@pytest.mark.parametrize("name", COMPACT)
def test_outside_of_compact_windows_the_nearest_point_decides_and_it_is_said(name):
    X = [[0.0], [1.0], [4.0]]
    model = ParzenClassifier(name, length_scale=0.5).fit(X, [0, 1, 1])
    with pytest.warns(UserWarning, match="no window reaches 2 of the points.*nearest"):
        np.testing.assert_array_equal(model.predict_proba([[9.0], [-9.0], [0.1]]), [[0, 1], [1, 0], [1, 0]])
    regression = ParzenRegressor(name, length_scale=0.5).fit(X, [3.0, 5.0, 7.0])
    with pytest.warns(UserWarning, match="no window reaches 2 of the points.*nearest"):
        np.testing.assert_allclose(regression.predict([[9.0], [-9.0], [0.1]]), [7.0, 3.0, 3.0])


def test_the_length_scale_of_a_classifier_has_the_least_error_at_points_left_out(data):
    X, weights, _ = data
    labels = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = ParzenClassifier().fit(X, labels, weights)
    priors = model.class_prior_

    def error(scale):
        total = 0.0
        for i in range(60):
            rest = ParzenClassifier(length_scale=scale, priors=priors)
            rest.fit(np.delete(X, i, 0), np.delete(labels, i), np.delete(weights, i))
            total += weights[i] * ((rest.predict_proba(X[i : i + 1])[0] - np.eye(2)[labels[i]]) ** 2).sum()
        return total / weights.sum()

    assert model.loo_losses_.min() == pytest.approx(error(model.length_scale_), rel=1e-9)
    assert model.loo_losses_.min() <= min(error(factor * model.length_scale_) for factor in (0.7, 1.4))


def test_priors_must_be_probabilities_of_classes_that_have_points():
    X, y = [[0.0], [1.0]], ["a", "b"]
    for priors in ([0.5], [0.7, 0.7], [-0.5, 1.5], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="priors must be 2 probabilities"):
            ParzenClassifier(priors=priors).fit(X, y)
    with pytest.raises(ValueError, match="priors must be 1 probabilities"):
        ParzenClassifier(priors=[0.5, 0.5]).fit(X, y, [1.0, 0.0])
    model = ParzenClassifier().fit(X, y, [1.0, 0.0])
    assert model.classes_.tolist() == ["a"]
    np.testing.assert_array_equal(model.predict_proba([[1.0]]), [[1.0]])


# -- regression ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gaussian", "exponential", "epanechnikov"])
def test_regression_is_the_weighted_mean_of_nadaraya_and_watson(data, name):
    X, weights, new = data
    Y = np.column_stack([X[:, 0], X[:, 1] ** 2])
    model = ParzenRegressor(name, length_scale=3.0).fit(X, Y, weights)
    K = NAMES[name](3.0)(new, X) * weights
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some points may be outside of all windows
        predicted = model.predict(new)
    reached = K.sum(axis=1) > 0
    expected = K[reached] @ Y / K[reached].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(predicted[reached], expected, rtol=1e-9, atol=1e-12)


def test_the_length_scale_of_a_regression_has_the_least_error_at_points_left_out(data):
    X, weights, _ = data
    y = np.sin(2 * X[:, 0])
    model = ParzenRegressor().fit(X, y, weights)

    def error(scale):
        missed = [
            ParzenRegressor(length_scale=scale)
            .fit(np.delete(X, i, 0), np.delete(y, i), np.delete(weights, i))
            .predict(X[i : i + 1])[0]
            - y[i]
            for i in range(60)
        ]
        return np.average(np.square(missed), weights=weights)

    assert model.loo_losses_.min() == pytest.approx(error(model.length_scale_), rel=1e-9)
    assert model.loo_losses_.min() <= min(error(factor * model.length_scale_) for factor in (0.7, 1.4))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8), st.floats(-1e8, 1e8), st.floats(0.01, 10))
def test_predictions_stay_between_the_smallest_and_the_largest_target(targets, place, scale):
    X = np.arange(float(len(targets)))[:, None]
    value = ParzenRegressor(length_scale=scale).fit(X, targets).predict([[place]])[0]
    slack = 1e-9 * (1 + np.abs(targets).max())
    assert min(targets) - slack <= value <= max(targets) + slack


def test_far_away_regression_gives_the_target_of_the_nearest_point():
    model = ParzenRegressor(length_scale=0.5).fit([[0.0], [1.0]], [3.0, 5.0])
    np.testing.assert_allclose(model.predict([[-1e8], [1e8], [0.5]]), [3.0, 5.0, 4.0])


# -- all three ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        ParzenDensity(),
        ParzenDensity("epanechnikov"),
        ParzenClassifier(),
        ParzenClassifier(Gaussian()),
        ParzenRegressor(),
        ParzenRegressor(Matern(0.5), length_scale="loo"),
    ],
    ids=repr,
)
def test_the_checks_of_scikit_learn_pass(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # the array API is not enabled
        check_estimator(model)


def test_one_point_and_equal_points_have_answers():
    for X in ([[1.0, 2.0]], [[1.0, 2.0]] * 3):
        n = len(X)
        density = ParzenDensity().fit(X)
        assert density.length_scale_ == 1.0
        np.testing.assert_allclose(density.score_samples([[1.0, 2.0]]), -np.log(2 * np.pi))
        assert ParzenRegressor().fit(X, [4.0] * n).predict([[9.0, 9.0]]) == pytest.approx(4.0)
        assert ParzenClassifier().fit(X, ["only"] * n).predict([[9.0, 9.0]]).tolist() == ["only"]


@pytest.mark.parametrize("labels", [[True, False], ["a", "b"], [7, 2], [-1.0, 1.0]])
def test_labels_may_be_of_any_type(labels):
    assert ParzenClassifier().fit([[0.0], [1.0]], labels).predict([[0.1], [0.9]]).tolist() == labels


@pytest.mark.parametrize("model", [ParzenDensity(), ParzenClassifier(), ParzenRegressor()], ids=repr)
def test_weights_of_zero_leave_points_out(model, data):
    X, weights, new = data
    y = (X[:, 0] > 0).astype(int)
    weights = np.where(np.arange(60) % 3 == 0, 0.0, weights)
    kept = weights > 0
    a = _answer(clone(model).fit(X, y, sample_weight=weights))(new)
    b = _answer(clone(model).fit(X[kept], y[kept], sample_weight=weights[kept]))(new)
    np.testing.assert_allclose(a, b, rtol=1e-6)
    with pytest.raises(ValueError, match="all sample weights are zero"):
        clone(model).fit(X, y, sample_weight=np.zeros(60))


@pytest.mark.parametrize("model", [ParzenDensity(), ParzenClassifier(), ParzenRegressor()], ids=repr)
def test_what_cannot_be_done_is_said_and_changes_nothing(model, data):
    X, _, _ = data
    y = (X[:, 0] > 0).astype(int)
    model = clone(model).fit(X, y)
    before = dict(vars(model))
    for options, message in (
        ({"kernel": "gausian"}, "kernel must be one of"),
        ({"length_scale": "silverman"}, "length_scale must be"),
        ({"length_scale": -1.0}, "positive"),
        ({"kernel": Linear(), "length_scale": "loo"}, "no length scale"),
        ({"kernel": Gaussian([1.0, 1.0]).on([0, 1]), "length_scale": 2.0}, "no length scale"),
    ):
        with pytest.raises(ValueError, match=message):
            model.set_params(**options).fit(X, y)
        model.set_params(**{name: before[name] for name in ("kernel", "length_scale")})
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 1, np.nan, X), y)
    assert vars(model) == before


@pytest.mark.parametrize("model", [ParzenDensity(), ParzenClassifier(), ParzenRegressor()], ids=repr)
def test_nothing_is_answered_before_the_fit(model, data):
    with pytest.raises(NotFittedError):
        _answer(model)(data[2])


def _answer(model):
    """The method that gives an answer for new points."""
    return model.score_samples if isinstance(model, ParzenDensity) else model.predict


def test_a_density_whose_integral_is_unknown_has_no_likelihood_to_search(data):
    with pytest.raises(ValueError, match="integral of the window"):
        ParzenDensity(RationalQuadratic(1.0, 0.9), length_scale="loo").fit(data[0])


def test_permuting_rows_changes_nothing(data):
    X, weights, new = data
    order = np.random.default_rng(6).permutation(60)
    a, b = ParzenDensity().fit(X, None, weights), ParzenDensity().fit(X[order], None, weights[order])
    np.testing.assert_allclose(a.score_samples(new), b.score_samples(new), rtol=1e-6)


def test_sparse_and_single_precision_data_give_the_same_densities(data):
    X, _, new = data
    expected = ParzenDensity(length_scale=0.5).fit(X).score_samples(new)
    model = ParzenDensity(length_scale=0.5).fit(sparse.csr_array(X))
    np.testing.assert_allclose(model.score_samples(sparse.csr_array(new)), expected, rtol=1e-9)
    assert model.sample(3, random_state=0).shape == (3, 2)
    single = ParzenDensity(length_scale=0.5).fit(X.astype(np.float32)).score_samples(new.astype(np.float32))
    np.testing.assert_allclose(single, expected, rtol=1e-4)


def test_sums_fit_into_a_small_budget_or_are_refused(data):
    X, weights, new = data
    V = weights[:, None]
    for kernel in (Gaussian(0.02), Custom(lambda x, z: float(np.exp(-np.abs(x - z).sum())))):
        full = WindowSum(kernel, X, Place.find(None, None)).log_sums(new, V)
        np.testing.assert_allclose(WindowSum(kernel, X, Place.find(None, "20KB")).log_sums(new, V), full, rtol=1e-10)
        with pytest.raises(MemoryBudgetError):
            WindowSum(kernel, X, Place.find(None, 500)).log_sums(new, V)


def test_clones_and_pickles_give_the_same_answers(data):
    X, _, new = data
    for model in (ParzenDensity(), ParzenRegressor(Matern(1.5)), ParzenClassifier("triangular", length_scale=20.0)):
        fitted = clone(model).fit(X, (X[:, 0] > 0).astype(int))
        np.testing.assert_array_equal(_answer(pickle.loads(pickle.dumps(fitted)))(new), _answer(fitted)(new))
    assert ParzenRegressor(Gaussian()).set_params(kernel__length_scale=2.0).kernel == Gaussian(2.0)


def test_targets_near_the_end_of_the_range_of_numbers_have_the_length_scale_and_the_means_of_others():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 1)), np.array([[0.3], [40.0]])
    y = np.column_stack([np.sin(X[:, 0]), X[:, 0]])
    usual, huge = ParzenRegressor().fit(X, y), ParzenRegressor().fit(X, y * 2.0**1020)
    assert huge.length_scale_ == usual.length_scale_
    assert np.isinf(huge.loo_losses_).all()  # their squares are beyond all numbers
    np.testing.assert_array_equal(huge.predict(new), usual.predict(new) * 2.0**1020)
