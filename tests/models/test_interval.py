"""Jackknife+ intervals: equal to as many refits, and covering what they promise."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer.kernels import Gaussian, Linear
from mercer.models.interval import Jackknife
from mercer.models.ridge import KernelRidge


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 2))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=20) + 3.0, rng.uniform(0.5, 2.0, size=20), rng.normal(size=(7, 2))


def _refits(model, X, y, weights, new):
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        without = clone(model).fit(X[rest], y[rest], None if weights is None else weights[rest])
        yield without.predict(new), abs(y[i] - without.predict(X[i : i + 1])[0])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(), Linear()], ids=str)
def test_predictions_without_each_point_equal_as_many_refits(data, kernel, fit_intercept, weighted):
    X, y, weights, new = data
    weights = weights if weighted else None
    model = KernelRidge(0.2, kernel=kernel, fit_intercept=fit_intercept).fit(X, y, weights)
    refits, errors = zip(*_refits(model, X, y, weights, new), strict=True)
    jackknife = Jackknife(model)
    np.testing.assert_allclose(np.concatenate(list(jackknife.blocks(new))), np.transpose(refits), atol=1e-8)
    np.testing.assert_allclose(jackknife.radii, errors, atol=1e-8)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_the_ends_are_the_quantiles_of_the_definition(data, coverage):
    X, y, _, new = data
    model = KernelRidge(0.2, kernel=Gaussian(), fit_intercept=True).fit(X, y)
    refits, errors = map(np.array, zip(*_refits(model, X, y, None, new), strict=True))
    below, above = round((1 - coverage) * 21 - 0.49999), round(coverage * 21 + 0.49999)
    lower = np.sort(refits - errors[:, None], axis=0)[below - 1]
    upper = np.sort(refits + errors[:, None], axis=0)[above - 1]
    np.testing.assert_allclose(model.predict_interval(new, coverage), np.column_stack([lower, upper]), atol=1e-8)


def test_ends_are_infinite_where_points_are_too_few(data):
    X, y, _, new = data
    model = KernelRidge(0.2, kernel=Gaussian()).fit(X, y)
    np.testing.assert_array_equal(model.predict_interval(new, 0.99), [[-np.inf, np.inf]] * 7)
    nine = KernelRidge(0.2, kernel=Gaussian()).fit(X[:9], y[:9])
    assert np.isfinite(nine.predict_interval(new, 0.9)).all()  # (1 − 0.9)(9 + 1) is 1, however it is rounded


def test_small_blocks_change_nothing(data, monkeypatch):
    X, y, _, new = data
    model = KernelRidge(0.2, kernel=Gaussian()).fit(X, y)
    whole = model.predict_interval(new)
    monkeypatch.setattr("mercer.models.interval.BLOCK_BYTES", 2 * 8 * 4 * 20)
    np.testing.assert_allclose(model.predict_interval(new), whole, rtol=1e-12)


def test_a_precomputed_matrix_and_points_without_weight_work_too(data):
    X, y, weights, new = data
    weights[:3] = 0
    k = Gaussian()
    expected = KernelRidge(0.2, kernel=k, fit_intercept=True).fit(X[3:], y[3:], weights[3:]).predict_interval(new)
    by_kernel = KernelRidge(0.2, kernel=k, fit_intercept=True).fit(X, y, weights)
    by_matrix = KernelRidge(0.2, kernel="precomputed", fit_intercept=True).fit(k(X), y, weights)
    np.testing.assert_allclose(by_kernel.predict_interval(new), expected, rtol=1e-9)
    np.testing.assert_allclose(by_matrix.predict_interval(k(new, X)), expected, rtol=1e-9)


@pytest.mark.parametrize("coverage", [0.6, 0.9])
def test_new_targets_fall_into_the_interval_as_often_as_promised(coverage):
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(60):
        X = rng.uniform(-3, 3, size=(90, 1))
        y = np.sin(X[:, 0]) + 0.3 * rng.standard_t(4, size=90)
        model = KernelRidge(0.5, kernel=Gaussian(), fit_intercept=True).fit(X[:40], y[:40])
        ends = model.predict_interval(X[40:], coverage)
        inside.append(np.mean((ends[:, 0] <= y[40:]) & (y[40:] <= ends[:, 1])))
    assert abs(np.mean(inside) - coverage) < 0.03


@pytest.mark.parametrize("coverage", [0.0, 1.0, 1.5, "most"])
def test_a_coverage_that_is_no_probability_is_refused(data, coverage):
    X, y, _, new = data
    with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
        KernelRidge().fit(X, y).predict_interval(new, coverage)


def test_models_without_an_interval_say_why(data):
    X, y, _, new = data
    with pytest.raises(ValueError, match="one target, but the model has 2"):
        KernelRidge().fit(X, np.column_stack([y, y])).predict_interval(new)
    with pytest.raises(ValueError, match="at least two points"):
        KernelRidge().fit(X[:1], y[:1]).predict_interval(new)
    with pytest.raises(ValueError, match="positive alpha"):
        KernelRidge(0, kernel=Gaussian(0.1), solver="spectral").fit(X, y).predict_interval(new)
    with pytest.raises(MemoryError, match="inverse of a 20 × 20 matrix"):
        KernelRidge(kernel=Gaussian(), memory=10**7).fit(X, y).predict_interval(new)
    with pytest.raises(ValueError, match="expecting 2 features"):
        KernelRidge(kernel=Gaussian()).fit(X, y).predict_interval(new[:, :1])
