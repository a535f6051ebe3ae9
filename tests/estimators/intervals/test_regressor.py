"""Intervals of every regressor: equal to refits, kept, saved, and honest about themselves."""

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer.kernels import Gaussian
from mercer.learning.error_scale import choose_scale
from mercer.solvers.base import Problem
from mercer.solvers.conformal.jackknife import cv_plus

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(40, 1))
Y = np.sin(2.0 * X[:, 0]) + 0.2 * RNG.normal(size=40)
NEW = RNG.uniform(-2.0, 2.0, size=(6, 1))
FEW = X[:14], 3.0 + Y[:14]
MODELS = {
    "ridge": mercer.KernelRidge(0.1, kernel=Gaussian(0.5)),
    "nystroem": mercer.KernelRidge(0.1, kernel=Gaussian(0.5), solver="nystroem", n_centers=12, random_state=0),
    "ridge cv": mercer.KernelRidgeCV(kernel=Gaussian(0.5)),
    "several kernels": mercer.MultipleKernelRidge([Gaussian(0.3), Gaussian()], random_state=0),
    "svr": mercer.SVR(),
    "nu svr": mercer.NuSVR(),
    "svr cv": mercer.SVRCV(Cs=[1.0, 10.0], length_scales=[0.5], cv=3),
    "any loss": mercer.KernelRegressor("Huber(0.1)"),
    "any loss cv": mercer.KernelRegressorCV(alphas=[0.1, 1.0], kernel=Gaussian(0.5)),
    "neighbours": mercer.KernelNeighborsRegressor(4),
    "windows": mercer.ParzenRegressor(length_scale=0.3),
}
SEARCHED = {"ridge cv", "several kernels", "svr cv", "any loss cv"}
SMALL = {"ridge", "svr", "any loss", "neighbours", "windows"}


def refits(model, folds, predict_at):
    """Predictions of clones that are fitted without each fold, of shape (points, folds)."""
    return np.column_stack(
        [clone(model).fit(X[folds != k], Y[folds != k]).predict(predict_at) for k in range(folds.max() + 1)]
    )


@pytest.mark.parametrize("name", MODELS)
def test_cv_plus_equals_its_definition_with_refits(name):
    model = clone(MODELS[name]).fit(X, Y)
    ends = model.predict_interval(NEW, 0.8, "cv+")
    folds = model._fold_models["cv+"].fold_of
    count = 10 if name in SEARCHED else 30
    assert np.bincount(folds).tolist() == ([4] * 10 if name in SEARCHED else [2] * 10 + [1] * 20)
    at_own, at_new = np.split(refits(model, folds, np.vstack([X, NEW])), [40])
    errors = np.abs(Y - at_own[np.arange(40), folds])
    np.testing.assert_allclose(ends, cv_plus(at_new, folds, errors, 0.8), atol=1e-7)
    assert (model.interval_plan_.method, model.interval_plan_.folds, model.interval_plan_.points) == ("cv+", count, 40)


@pytest.mark.parametrize("name", ["svr", "neighbours", "windows"])
def test_leaving_out_one_at_a_time_fits_as_many_models(name):
    model = clone(MODELS[name]).fit(X, Y)
    ends = model.predict_interval(NEW, 0.8, "jackknife+")
    each = np.arange(40)
    at_own, at_new = np.split(refits(model, each, np.vstack([X, NEW])), [40])
    errors = np.abs(Y - at_own[each, each])
    np.testing.assert_allclose(ends, cv_plus(at_new, each, errors, 0.8), atol=1e-7)


def test_centres_leave_points_out_exactly_while_they_stay():
    model = clone(MODELS["nystroem"]).fit(X, Y)
    centers, k = model.expansion_.centers, Gaussian(0.5)
    K, across, between = k(X, centers), k(NEW, centers), k(centers)
    left_out, errors = np.empty((6, 40)), np.empty(40)
    for i in range(40):
        rest = np.arange(40) != i
        c = np.linalg.solve(K[rest].T @ K[rest] + 0.1 * between, K[rest].T @ Y[rest])
        left_out[:, i], errors[i] = across @ c, abs(Y[i] - K[i] @ c)
    expected = cv_plus(left_out, np.arange(40), errors, 0.8)
    np.testing.assert_allclose(model.predict_interval(NEW, 0.8), expected, atol=1e-6)
    assert model.interval_plan_.method == "jackknife+"
    assert "counting the centres as given" in model.interval_plan_.guarantee


@pytest.mark.parametrize("name", MODELS)
def test_widths_grow_with_coverage_and_the_rule_takes_the_first_method(name):
    model = clone(MODELS[name]).fit(X, Y)
    widths = [np.diff(model.predict_interval(NEW, coverage))[:, 0] for coverage in (0.3, 0.6, 0.9)]
    assert (np.diff(widths, axis=0) >= 0).all()
    assert (widths[0] >= 0).all()
    assert model.interval_plan_.method == model.interval_methods[0]


@pytest.mark.parametrize("name", sorted(set(SMALL) - {"svr"}))  # machines have one target
def test_several_targets_have_the_intervals_of_each(name):
    both = clone(MODELS[name]).fit(X, np.column_stack([Y, 10.0 - Y]))
    ends = both.predict_interval(NEW, 0.8, "cv+")
    assert ends.shape == (6, 2, 2)
    alone = clone(MODELS[name]).fit(X, Y).predict_interval(NEW, 0.8, "cv+")
    np.testing.assert_allclose(ends[:, 0], alone, atol=1e-5)


@pytest.mark.parametrize("name", ["ridge", "svr"])
def test_a_matrix_has_the_intervals_of_its_kernel(name):
    k = Gaussian(0.5)
    by_kernel = clone(MODELS[name]).set_params(kernel=k).fit(X, Y)
    by_matrix = clone(MODELS[name]).set_params(kernel="precomputed").fit(k(X), Y)
    for method in ("cv+", "local"):
        found, expected = (
            by_matrix.predict_interval(k(NEW, X), 0.8, method),
            by_kernel.predict_interval(NEW, 0.8, method),
        )
        np.testing.assert_allclose(found, expected, atol=1e-3)


def test_points_without_weight_are_in_no_fold():
    weights = np.where(np.arange(40) < 10, 0.0, 1.0)
    for name in ("ridge", "any loss", "svr", "windows"):
        all_points = clone(MODELS[name]).set_params(kernel=Gaussian(0.5)).fit(X, Y, weights)
        fewer = clone(MODELS[name]).set_params(kernel=Gaussian(0.5)).fit(X[10:], Y[10:])
        found, expected = (model.predict_interval(NEW, 0.8, "cv+") for model in (all_points, fewer))
        np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=name)


def test_quantiles_are_fitted_for_the_coverage_and_widened():
    model = mercer.KernelQuantileRegressor([0.5], kernel=Gaussian(0.5)).fit(X, Y)
    ends = model.predict_interval(NEW, 0.8)
    (folds,) = model._fold_models.values()
    k = folds.fold_of
    levels = [(1.0 - 0.8) / 2.0, (1.0 + 0.8) / 2.0]
    bands = [mercer.KernelQuantileRegressor(levels, kernel=Gaussian(0.5)).fit(X[k != j], Y[k != j]) for j in range(10)]
    at_own = np.array([bands[k[i]].predict(X[i : i + 1])[0] for i in range(40)])
    excess = np.maximum(at_own[:, 0] - Y, Y - at_own[:, 1])
    at_new = np.stack([band.predict(NEW) for band in bands], axis=1)[:, k]
    lower = np.sort(at_new[..., 0] - excess, axis=1)[:, int(0.2 * 41) - 1]
    upper = np.sort(at_new[..., 1] + excess, axis=1)[:, int(np.ceil(0.8 * 41)) - 1]
    np.testing.assert_allclose(ends, np.column_stack([lower, upper]), atol=1e-6)
    assert model.interval_methods == ("quantile",)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 14)], ids=["alike", "weighted"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_local_intervals_of_ridge_equal_refits_without_two_points(fit_intercept, weights):
    n, (X, Y) = 14, FEW
    model = mercer.KernelRidge(0.1, kernel=Gaussian(0.5), fit_intercept=fit_intercept).fit(X, Y, weights)
    ends = model.predict_interval(NEW, 0.8, "local")
    assert (model.interval_plan_.folds, model.interval_plan_.points) == (0, n)
    assert "penalty of the scale as given" in model.interval_plan_.guarantee
    W = np.ones(n) if weights is None else weights

    def refit(gone):
        some = np.delete(np.arange(n), gone)
        return clone(model).fit(X[some], Y[some], W[some])

    alone = np.array([Y[i] - refit([i]).predict(X[[i]])[0] for i in range(n)])
    penalty = choose_scale(Problem(Gaussian(0.5), X, Y[:, None]), alone[:, None])
    lower, upper = np.empty((2, len(NEW), n))
    for i in range(n):
        others = np.delete(np.arange(n), i)
        errors = np.array([Y[j] - refit([i, j]).predict(X[[j]])[0] for j in others])
        sizes = np.abs(np.insert(errors, i, alone[i]))
        logs = np.log(np.maximum(sizes, 1e-3 * sizes.mean()))[others]
        scale = mercer.KernelRidge(penalty, kernel=Gaussian(0.5), fit_intercept=True).fit(X[others], logs)
        radius = np.abs(alone[i]) * np.exp(scale.predict(NEW) - scale.predict(X[[i]]))
        f = refit([i]).predict(NEW)
        lower[:, i], upper[:, i] = f - radius, f + radius
    expected = np.column_stack([np.sort(lower)[:, 3 - 1], np.sort(upper)[:, 12 - 1]])
    np.testing.assert_allclose(ends, expected, rtol=1e-7, atol=1e-7)


def test_local_intervals_of_several_targets_are_those_of_each():
    both = np.column_stack([Y, 1e6 * Y**2])
    ends = mercer.KernelRidge(0.1, kernel=Gaussian(0.5)).fit(X, both).predict_interval(NEW, 0.8, "local")
    for place in range(2):
        alone = mercer.KernelRidge(0.1, kernel=Gaussian(0.5)).fit(X, both[:, place])
        np.testing.assert_allclose(ends[:, place], alone.predict_interval(NEW, 0.8, "local"), rtol=1e-9)


def test_points_that_come_twice_leave_local_intervals_finite():
    model = mercer.KernelRidge(1e-9, kernel=Gaussian(0.5)).fit(np.vstack([X, X]), np.concatenate([Y, Y]))
    assert np.isfinite(model.predict_interval(NEW, 0.8, "local")).all()


def test_local_intervals_that_have_no_inverse_are_those_of_folds():
    model = clone(MODELS["nystroem"]).fit(X, Y)
    model.predict_interval(NEW, 0.8, "local")
    assert model.interval_plan_.folds == 30


def test_local_intervals_are_wide_where_targets_are_noisy_and_cover_there_too():
    rng = np.random.default_rng(1)
    points = rng.uniform(0.0, 1.0, size=(1300, 1))
    y = rng.normal(size=1300) * (0.05 + points[:, 0])
    model = mercer.KernelRidge(1.0, kernel=Gaussian(0.3), fit_intercept=True).fit(points[:300], y[:300])
    new, truth = points[300:], y[300:]
    noisy = new[:, 0] > 0.7
    inside = {}
    for method in ("jackknife+", "local"):
        low, high = model.predict_interval(new, 0.9, method).T
        inside[method] = np.mean(((low <= truth) & (truth <= high))[noisy])
        if method == "local":
            assert np.mean((high - low)[noisy]) > 2.0 * np.mean((high - low)[new[:, 0] < 0.3])
            assert 0.86 < np.mean((low <= truth) & (truth <= high)) < 0.94
    assert inside["jackknife+"] + 0.02 < inside["local"]


def test_models_without_a_fold_are_fitted_once_and_forgotten_by_the_next_fit(monkeypatch):
    model = mercer.SVR().fit(X, Y)
    expected = model.predict_interval(NEW)
    fits = []
    run = mercer.SVR._run
    monkeypatch.setattr(mercer.SVR, "_run", lambda self, *data: (fits.append(self), run(self, *data))[1])
    np.testing.assert_array_equal(model.predict_interval(NEW), expected)
    assert fits == []
    model.fit(X[:20], Y[:20])
    assert not hasattr(model, "interval_plan_")
    assert model.predict_interval(NEW).shape == (6, 2)
    assert len(fits) == 21


@pytest.mark.parametrize("name", ["svr", "any loss", "ridge", "windows"])
def test_a_file_keeps_what_intervals_are_made_of(name, tmp_path):
    model = clone(MODELS[name]).fit(X, Y)
    expected = model.predict_interval(NEW, 0.8, "local")
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert again.interval_plan_ == model.interval_plan_
    np.testing.assert_array_equal(again.predict_interval(NEW, 0.8, "local"), expected)


def test_a_machine_that_was_saved_before_says_what_to_do(tmp_path):
    mercer.save(mercer.SVR().fit(X, Y), tmp_path / "model.mercer")
    with pytest.raises(ValueError, match="Call predict_interval before saving"):
        mercer.load(tmp_path / "model.mercer").predict_interval(NEW)


def test_what_cannot_be_had_is_refused_with_what_can():
    with pytest.raises(ValueError, match="method must be one of 'auto', 'cv\\+', 'local', 'jackknife\\+'; got 'cv'"):
        mercer.SVR().fit(X, Y).predict_interval(NEW, method="cv")
    with pytest.raises(ValueError, match="method='full' is one of ridge regression"):
        mercer.SVR().fit(X, Y).predict_interval(NEW, method="full")
    with pytest.raises(ValueError, match="method='quantile' is one of KernelQuantileRegressor"):
        mercer.KernelRidge().fit(X, Y).predict_interval(NEW, method="quantile")
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        mercer.SVR().fit(X, Y).predict_interval(NEW, 90)
    with pytest.raises(ValueError, match="at least two points"):
        mercer.KernelNeighborsRegressor(1).fit(X[:1], Y[:1]).predict_interval(NEW)
    with pytest.warns(UserWarning, match="needs at least 19 points, and the model has 12"):
        ends = mercer.SVR().fit(X[:12], Y[:12]).predict_interval(NEW, 0.95)
    assert np.isinf(ends).all()


def test_the_plan_says_what_a_search_leaves_open():
    model = clone(MODELS["ridge cv"]).fit(X, Y)
    model.predict_interval(NEW)
    assert "counting the kernel and the penalty as given" in str(model.interval_plan_)
    model.predict_interval(NEW, method="cv+")
    assert "as given" not in str(model.interval_plan_)


def test_a_ridge_too_large_for_its_memory_is_fitted_again():
    model = mercer.KernelRidge(0.1, kernel=Gaussian(), memory=10**7).fit(X, Y)
    assert np.isfinite(model.predict_interval(NEW)).all()
    assert model.interval_plan_.method == "cv+"
    assert "more memory" in model.interval_plan_.reason
