"""KernelRidgeCV finds a good kernel and penalty, does what it is told, and says what it did."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, PredefinedSplit, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from mercer.kernels import Custom, Gaussian, Linear, Matern, Sigmoid
from mercer.learning import search
from mercer.learning.length_scales import make_families
from mercer.learning.scale_grid import make_scale_grid
from mercer.models.ridge import KernelRidge
from mercer.models.ridge_cv import KernelRidgeCV
from mercer.solvers.base import Problem

ALPHAS = [1e-3, 1e-2, 1e-1, 1.0]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 4)) * [1.0, 10.0, 1.0, 1.0]
    y = 5.0 + np.sin(2.0 * X[:, 0]) + 0.05 * X[:, 1] + 0.1 * rng.normal(size=160)
    return X[:110], y[:110], X[110:], y[110:]


@pytest.fixture(scope="module")
def fitted(data):
    return KernelRidgeCV(random_state=0).fit(*data[:2])


@parametrize_with_checks([KernelRidgeCV(kernel=Gaussian(), alphas=[0.1, 1.0])])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_defaults_beat_kernel_ridge_with_its_defaults_and_with_a_tuned_isotropic_kernel(data, fitted):
    X, y, X_test, y_test = data
    score = fitted.score(X_test, y_test)
    assert score > 0.9
    isotropic = KernelRidgeCV(kernel=Gaussian(), length_scales=np.logspace(-1, 2, 13)).fit(X, y)
    assert score > isotropic.score(X_test, y_test)
    assert score > KernelRidge(kernel="rbf").fit(X, y).score(X_test, y_test)


def test_features_that_do_not_matter_get_long_length_scales(fitted):
    scales = np.array(fitted.kernel_.length_scale) / [1.0, 10.0, 1.0, 1.0]
    assert scales[2:].min() > 3 * scales[0]


def test_leave_one_out_predictions_are_those_of_refits(data, fitted):
    X, y = data[:2]
    model = KernelRidge(fitted.alpha_, kernel=fitted.kernel_, fit_intercept=True)
    expected = cross_val_predict(model, X, y, cv=len(y))
    np.testing.assert_allclose(fitted.loo_predictions_, expected, atol=1e-6)
    assert fitted.loo_score_ == pytest.approx(r2_score(y, expected), abs=1e-6)
    assert fitted.best_score_ == pytest.approx(-np.mean((y - expected) ** 2), rel=1e-5)


def test_a_grid_is_decided_by_brute_force_leave_one_out(data):
    X, y = data[0][:20], data[1][:20]
    scales = [0.5, 2.0, 8.0]
    model = KernelRidgeCV(alphas=ALPHAS, kernel=Matern(2.5), length_scales=scales).fit(X, y)
    errors = [
        [
            np.mean(
                (y - cross_val_predict(KernelRidge(a, kernel=Matern(2.5, s), fit_intercept=True), X, y, cv=20)) ** 2
            )
            for a in ALPHAS
        ]
        for s in scales
    ]
    np.testing.assert_allclose(model.path_["errors"], errors, rtol=1e-6)
    row, column = np.unravel_index(np.argmin(errors), (3, 4))
    assert (model.kernel_, model.alpha_) == (Matern(2.5, scales[row]), ALPHAS[column])
    assert model.path_["length_scales"] == scales
    np.testing.assert_array_equal(model.path_["alphas"], ALPHAS)


def test_folds_and_scoring_are_what_grid_search_would_compute(data):
    X, y = data[:2]
    folds = KFold(4, shuffle=True, random_state=0)
    model = KernelRidgeCV(ALPHAS, Gaussian(3.0), cv=folds, scoring="neg_mean_absolute_error").fit(X, y)
    expected = []
    for alpha in ALPHAS:
        errors = []
        for fit, held in folds.split(X):
            inner = KernelRidge(alpha, kernel=Gaussian(3.0), fit_intercept=True).fit(X[fit], y[fit])
            errors.append(np.mean(np.abs(inner.predict(X[held]) - y[held])))
        expected.append(np.mean(errors))
    np.testing.assert_allclose(model.path_["errors"][0], expected, rtol=1e-6)
    assert model.alpha_ == ALPHAS[int(np.argmin(expected))]


def test_a_kernel_that_was_given_is_used_as_it_is(data):
    kernel = Gaussian(3.0) + 0.5 * Linear()
    model = KernelRidgeCV(kernel=kernel).fit(*data[:2])
    assert model.kernel_ is kernel
    assert len(model.path_["tuning"]) == 0


def test_the_length_scales_of_a_given_kernel_are_tuned_on_request(data):
    X, y = data[:2]
    kernel = 2.0 * Gaussian(3.0) + Linear()
    model = KernelRidgeCV(kernel=kernel, length_scales="auto", random_state=0).fit(X, y)
    assert len(model.kernel_.k1.kernel.length_scale) == 4
    assert kernel == 2.0 * Gaussian(3.0) + Linear()
    assert model.loo_score_ > KernelRidgeCV(kernel=kernel).fit(X, y).loo_score_


def test_the_best_of_several_kernels_wins(data):
    X, y = data[:2]
    model = KernelRidgeCV(kernel=[Linear(), Gaussian([1.0, 20.0, 9.0, 9.0])]).fit(X, y)
    assert isinstance(model.kernel_, Gaussian)
    assert model.path_["errors"].shape == (2, 25)


def test_the_penalty_is_refined_between_the_penalties_of_the_path(data):
    model = KernelRidgeCV(kernel=Gaussian(3.0)).fit(*data[:2])
    assert model.best_score_ >= -model.path_["errors"].min()
    assert model.alpha_ not in model.path_["alphas"]


def test_several_targets_share_a_kernel_and_their_units_do_not_matter(data):
    X, y = data[:2]
    both = np.c_[y, 1e6 * np.cos(X[:, 2])]
    model = KernelRidgeCV(random_state=0).fit(X, both)
    assert model.predict(X[:5]).shape == (5, 2)
    assert model.loo_predictions_.shape == both.shape
    assert r2_score(both, model.loo_predictions_, multioutput="raw_values").min() > 0.7


def test_weights_of_zero_are_as_good_as_leaving_points_out(data):
    X, y, X_test, _ = data
    weights = np.where(np.arange(len(y)) < 80, 1.0, 0.0)
    options = {"alphas": ALPHAS, "kernel": Gaussian(3.0)}
    weighted = KernelRidgeCV(**options).fit(X, y, sample_weight=weights)
    fewer = KernelRidgeCV(**options).fit(X[:80], y[:80])
    assert weighted.alpha_ == fewer.alpha_
    np.testing.assert_allclose(weighted.predict(X_test), fewer.predict(X_test), atol=1e-8)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), fit_intercept=st.booleans(), tuned=st.booleans())
def test_points_without_weight_change_no_choice_for_several_targets(seed, fit_intercept, tuned):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(24, 2)), rng.normal([5.0, 0.0], size=(24, 2))
    weights = rng.integers(0, 3, size=24).astype(float)
    Y[weights == 0] *= 1e6  # what is left out must not show
    options = {"kernel": Gaussian(), "length_scales": "auto" if tuned else [0.5, 2.0], "fit_intercept": fit_intercept}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # noise has no best length scale
        whole = KernelRidgeCV(**options, random_state=0).fit(X, Y, weights)
        kept = weights > 0
        fewer = KernelRidgeCV(**options, random_state=0).fit(X[kept], Y[kept], weights[kept])
    assert whole.kernel_ == fewer.kernel_
    assert whole.alpha_ == fewer.alpha_
    assert whole.best_score_ == fewer.best_score_


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), fit_intercept=st.booleans())
def test_whole_weights_choose_as_repeated_rows_do_for_several_targets(seed, fit_intercept):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) * [1.0, 10.0] + [5.0, 0.0]
    Y[0] += 100.0
    weights, fold = rng.integers(1, 4, size=20), np.arange(20) % 4
    rows = np.repeat(np.arange(20), weights)
    options = {"kernel": [Gaussian(0.5), Gaussian(2.0), Linear()], "fit_intercept": fit_intercept}
    weighted = KernelRidgeCV(**options, cv=PredefinedSplit(fold)).fit(X, Y, weights)
    repeated = KernelRidgeCV(**options, cv=PredefinedSplit(fold[rows])).fit(X[rows], Y[rows])
    assert weighted.kernel_ == repeated.kernel_
    np.testing.assert_allclose(weighted.path_["alphas"], repeated.path_["alphas"], rtol=1e-12)
    np.testing.assert_allclose(weighted.path_["errors"], repeated.path_["errors"], rtol=1e-3)
    assert weighted.best_score_ == pytest.approx(repeated.best_score_, rel=1e-4)


WAVES = [(60, 1, 333), (5, 2, 333), (1, 1, 80), (7, 1, 100), (1, 3, 120)]


@pytest.mark.parametrize(("frequency", "dimension", "n"), WAVES)
def test_waves_of_any_frequency_are_found_as_well_as_by_a_grid(frequency, dimension, n):
    rng = np.random.default_rng(n + frequency)
    X, new = (rng.uniform(-3.0, 3.0, size=(count, dimension)) for count in (n, 400))
    truth = [np.prod(np.sin(frequency * points), axis=1) for points in (X, new)]
    y = truth[0] + 0.05 * rng.normal(size=n)
    model = KernelRidgeCV(random_state=0).fit(X, y)
    scales = np.geomspace(1.5 / frequency, 24.0 / frequency, 7).tolist()
    grid = KernelRidgeCV(kernel=Gaussian(), length_scales=scales).fit(X, y)
    assert model.best_score_ > 1.1 * grid.best_score_  # both are negative
    scores = [r2_score(truth[1], found.predict(new)) for found in (model, grid)]
    assert scores[0] > scores[1] - 0.03


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), dimension=st.integers(1, 3), noise=st.sampled_from([0.0, 0.1, 10.0]))
def test_the_choice_is_never_worse_than_the_best_of_the_grid_it_starts_from(seed, dimension, noise):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(40, dimension))
    y = np.sin(rng.uniform(1.0, 20.0) * X).prod(axis=1) + noise * rng.normal(size=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are nothing but noise
        model = KernelRidgeCV(random_state=0).fit(X, y)
    errors = [
        make_scale_grid(Problem(kernel, X, y[:, None], None, True)).minima()[0].error for kernel in make_families(X)
    ]
    assert -model.best_score_ <= min(errors) * (1 + 1e-3) + 1e-10


@pytest.mark.parametrize("factor", [1e-9, 3.0, 1e9])
def test_units_of_features_and_target_change_nothing_but_units(data, fitted, factor):
    X, y, X_test, _ = data
    other = KernelRidgeCV(random_state=0).fit(X * factor, y)
    assert type(other.kernel_) is type(fitted.kernel_)
    np.testing.assert_allclose(other.predict(X_test * factor), fitted.predict(X_test), rtol=1e-4)
    np.testing.assert_allclose(np.array(other.kernel_.length_scale) / factor, fitted.kernel_.length_scale, rtol=1e-3)
    scaled = KernelRidgeCV(random_state=0).fit(X, y * factor)
    np.testing.assert_allclose(scaled.kernel_.length_scale, fitted.kernel_.length_scale, rtol=1e-4)
    assert scaled.alpha_ == pytest.approx(fitted.alpha_, rel=1e-4)
    assert scaled.loo_score_ == pytest.approx(fitted.loo_score_, rel=1e-6)


@pytest.mark.parametrize("weight", [1e-10, 1e13])
def test_equal_weights_of_any_size_multiply_the_penalty(data, weight):
    X, y, X_test, _ = data
    one, other = (KernelRidgeCV(kernel=Gaussian([2.0, 20.0, 9.0, 9.0])).fit(X, y, w) for w in (None, weight))
    assert other.alpha_ / weight == pytest.approx(one.alpha_, rel=1e-6)
    np.testing.assert_allclose(other.predict(X_test), one.predict(X_test), rtol=1e-6)


def test_a_search_that_finds_nothing_says_so_once():
    X = np.linspace(0.0, 1.0, 60).reshape(-1, 1)
    with pytest.warns(UserWarning, match="better than a constant does.*give more points") as told:
        KernelRidgeCV(random_state=0).fit(X, np.where(np.arange(60) % 2, 1.0, -1.0))
    assert len(told) == 1
    assert told[0].filename == __file__


def test_constant_targets_and_constant_columns_have_a_defined_answer():
    X = np.c_[np.ones(20), np.arange(20.0)]
    np.testing.assert_allclose(KernelRidgeCV(random_state=0).fit(X, np.full(20, 3.0)).predict(X), 3.0)
    with pytest.warns(UserWarning, match="better than a constant"):
        blind = KernelRidgeCV(random_state=0).fit(X[:, :1], np.arange(20.0))
    np.testing.assert_allclose(blind.predict(X[:2, :1]), 9.5)


def test_more_points_than_the_path_takes_are_sampled(data, monkeypatch):
    monkeypatch.setattr(search, "PATH_LIMIT", 60)
    monkeypatch.setattr(search, "PATH_SAMPLE", 50)
    model = KernelRidgeCV(kernel=Gaussian(3.0), random_state=0).fit(*data[:2])
    assert model.loo_predictions_.shape == (110,)
    assert len(model.dual_coef_) == 110


def test_a_small_memory_budget_makes_subsets_smaller(data):
    model = KernelRidgeCV(memory="300KB", random_state=0).fit(*data[:2])
    assert model.score(*data[2:]) > 0.8
    assert len(model.dual_coef_) == 110


def test_precomputed_kernels_and_objects_work(data):
    X, y, X_test, _ = data
    kernel = Gaussian(3.0)
    model = KernelRidgeCV(kernel="precomputed", alphas=ALPHAS).fit(kernel(X), y)
    direct = KernelRidgeCV(kernel=kernel, alphas=ALPHAS).fit(X, y)
    assert model.alpha_ == direct.alpha_
    np.testing.assert_allclose(model.predict(kernel(X_test, X)), direct.predict(X_test), atol=1e-8)
    words = ["a", "bb", "ccc", "dddd", "eeeee"]
    on_words = KernelRidgeCV(kernel=Custom(lambda a, b: float(len(a) * len(b)))).fit(words, np.arange(5.0))
    np.testing.assert_allclose(on_words.predict(["ffffff"]), 5.0, atol=1e-3)


def test_frames_pickles_and_clones_behave(data, fitted):
    X, y, X_test, _ = data
    names = [f"column {i}" for i in range(4)]
    framed = KernelRidgeCV(random_state=0).fit(pd.DataFrame(X, columns=names), y)
    assert framed.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(framed.predict(pd.DataFrame(X_test, columns=names)), fitted.predict(X_test))
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X_test), fitted.predict(X_test))
    assert clone(fitted).get_params() == fitted.get_params()


def test_intervals_hold_most_new_targets(data, fitted):
    low, high = fitted.predict_interval(data[2], coverage=0.9).T
    assert np.mean((low <= data[3]) & (data[3] <= high)) > 0.75


class Recorder:
    """A callback that counts steps, and may interrupt."""

    def __init__(self, interrupt_at=None):
        self.steps, self.closed, self.interrupt_at = 0, False, interrupt_at

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.steps += context.task_name == "step"
        if self.steps == self.interrupt_at:
            raise KeyboardInterrupt
        return False

    def teardown(self, estimator, context):
        self.closed = True


def test_callbacks_are_told_of_every_step(data):
    recorder = Recorder()
    model = KernelRidgeCV(random_state=0).set_callbacks(recorder).fit(*data[:2])
    assert recorder.closed
    assert recorder.steps >= len(model.path_["tuning"]) > 0


def test_an_interrupted_fit_leaves_the_object_unfitted_and_closes_callbacks(data):
    recorder = Recorder(interrupt_at=3)
    model = KernelRidgeCV(random_state=0).set_callbacks(recorder)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data[:2])
    assert recorder.closed
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        _ = model.loo_predictions_


def test_a_failed_fit_keeps_what_was_fitted_before(data):
    X, y, X_test, _ = data
    model = KernelRidgeCV(kernel=Gaussian(3.0)).fit(X, y)
    before = model.predict(X_test)
    with pytest.raises(ValueError, match="y must have shape"):
        model.fit(X, y[:3])
    np.testing.assert_array_equal(model.predict(X_test), before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alphas": [1.0, 0.0]}, "positive penalties"),
        ({"alphas": []}, "positive penalties"),
        ({"length_scales": 2.0}, "list of length scales"),
        ({"length_scales": "best"}, "list of length scales"),
        ({"kernel": Linear(), "length_scales": [1.0]}, "no length scale"),
        ({"kernel": "gaussian"}, "kernel must be"),
        ({"kernel": Sigmoid(scale=-1.0)}, "positive semi-definite"),
        ({"solver": "magic"}, "solver must be"),
    ],
    ids=str,
)
def test_bad_options_are_named_and_leave_the_object_unfitted(data, options, message):
    model = KernelRidgeCV(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(*data[:2])
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_one_point_is_too_few():
    with pytest.raises(ValueError, match="at least 2 points"):
        KernelRidgeCV(kernel=Gaussian()).fit([[1.0]], [1.0])
