"""Jackknife+ intervals: equal to as many refits, and covering what they promise."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.models.ridge import KernelRidge
from mercer.solvers.ridge.interval import Jackknife


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
    jackknife = Jackknife(model._record)
    np.testing.assert_allclose(np.concatenate(list(jackknife.blocks(new)))[..., 0], np.transpose(refits), atol=1e-8)
    np.testing.assert_allclose(jackknife.radii[:, 0], errors, atol=1e-8)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_the_ends_are_the_quantiles_of_the_definition(data, coverage):
    X, y, _, new = data
    model = KernelRidge(0.2, kernel=Gaussian(), fit_intercept=True).fit(X, y)
    refits, errors = map(np.array, zip(*_refits(model, X, y, None, new), strict=True))
    below, above = round((1 - coverage) * 21 - 0.49999), round(coverage * 21 + 0.49999)
    lower = np.sort(refits - errors[:, None], axis=0)[below - 1]
    upper = np.sort(refits + errors[:, None], axis=0)[above - 1]
    np.testing.assert_allclose(model.predict_interval(new, coverage), np.column_stack([lower, upper]), atol=1e-8)


@pytest.mark.parametrize("alpha", [0, 1e-18, 1e-300])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Linear(), Polynomial(2, 1.0)], ids=str)
def test_repeated_points_and_no_penalty_give_the_limit_of_small_penalties(data, kernel, fit_intercept, weighted, alpha):
    X, y, weights, new = data
    X, y, weights = np.r_[X, X[:4]], np.r_[y, y[:4] + 0.1], np.r_[weights, weights[:4]] if weighted else None
    limit = KernelRidge(0, kernel=kernel, fit_intercept=fit_intercept, solver="spectral")
    refits, errors = zip(*_refits(limit, X, y, weights, new), strict=True)
    model = limit.fit(X, y, weights)
    # Intervals do not depend on how a solver takes a penalty that is rounding.
    model._record = replace(model._record, penalty=np.array([alpha]))
    jackknife = Jackknife(model._record)
    np.testing.assert_allclose(np.concatenate(list(jackknife.blocks(new)))[..., 0], np.transpose(refits), atol=1e-8)
    np.testing.assert_allclose(jackknife.radii[:, 0], errors, atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(), Linear()], ids=str)
@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_units_of_kernel_weights_and_targets_change_nothing_but_units(data, kernel, fit_intercept, factor):
    X, y, weights, new = data
    options = {"fit_intercept": fit_intercept}
    expected = KernelRidge(0.2, kernel=kernel, **options).fit(X, y, weights).predict_interval(new)
    scaled = KernelRidge(0.2 * factor, kernel=factor * kernel, **options).fit(X, y, weights)
    np.testing.assert_allclose(scaled.predict_interval(new), expected, rtol=1e-6)
    heavy = KernelRidge(0.2 * factor, kernel=kernel, **options).fit(X, y, weights * factor)
    np.testing.assert_allclose(heavy.predict_interval(new), expected, rtol=1e-6)
    large = KernelRidge(0.2, kernel=kernel, **options).fit(X, y * factor, weights)
    np.testing.assert_allclose(large.predict_interval(new) / factor, expected, rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_targets_at_the_ends_of_the_numbers_have_intervals(data, unit):
    X, y, weights, new = data
    model = KernelRidge(0.2, kernel=Gaussian(), fit_intercept=True).fit(X, y, weights)
    expected = model.predict_interval(new)
    record = model._record
    model._record = replace(record, problem=replace(record.problem, y=record.problem.y * unit))
    np.testing.assert_allclose(model.predict_interval(new) / unit, expected, rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_uneven_weights_give_the_predictions_of_extended_precision(data, fit_intercept):
    X, y, _, new = data
    weights = np.logspace(-10.0, 13.0, 20)
    K, across = (Gaussian()(X, Z).astype(np.longdouble) for Z in (X, new))
    jackknife = Jackknife(KernelRidge(0.2, kernel=Gaussian(), fit_intercept=fit_intercept).fit(X, y, weights)._record)
    found = np.concatenate(list(jackknife.blocks(new)))[..., 0]
    for i in range(20):
        rest = np.arange(20) != i
        A = K[np.ix_(rest, rest)] + np.diag(0.2 / weights[rest].astype(np.longdouble))
        columns = _solve(A, np.column_stack([y[rest], np.ones(19)]).astype(np.longdouble))
        b = columns[:, 0].sum() / columns[:, 1].sum() if fit_intercept else 0.0
        expected = across[rest].T @ (columns[:, 0] - b * columns[:, 1]) + b
        np.testing.assert_allclose(found[:, i], expected.astype(float), rtol=1e-6)


def _solve(A, B):
    """Gauss–Jordan elimination in the precision of A, the largest pivot of each column first."""
    table = np.column_stack([A, B])
    for j in range(len(A)):
        pivot = j + int(np.argmax(np.abs(table[j:, j])))
        table[[j, pivot]] = table[[pivot, j]]
        table[j] /= table[j, j]
        others = np.arange(len(A)) != j
        table[others] -= table[others, j : j + 1] * table[j]
    return table[:, len(A) :]


def test_ends_are_infinite_where_points_are_too_few(data):
    X, y, _, new = data
    model = KernelRidge(0.2, kernel=Gaussian()).fit(X, y)
    with pytest.warns(UserWarning, match=r"coverage 0.99 needs at least 99 points, and the model has 20"):
        ends = model.predict_interval(new, 0.99)
    np.testing.assert_array_equal(ends, [[-np.inf, np.inf]] * 7)
    nine = KernelRidge(0.2, kernel=Gaussian()).fit(X[:9], y[:9])
    assert np.isfinite(nine.predict_interval(new, 0.9)).all()  # (1 − 0.9)(9 + 1) is 1, however it is rounded


def test_small_blocks_change_nothing(data, monkeypatch):
    X, y, _, new = data
    model = KernelRidge(0.2, kernel=Gaussian()).fit(X, y)
    whole = model.predict_interval(new)
    monkeypatch.setattr("mercer.solvers.ridge.interval.BLOCK_BYTES", 2 * 8 * 4 * 20)
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
    with pytest.raises(ValueError, match="at least two points"):
        KernelRidge().fit(X[:1], y[:1]).predict_interval(new)
    line = np.linspace(0.0, 1.0, 40).reshape(-1, 1)
    smooth = KernelRidge(0, kernel=Gaussian(), solver="spectral").fit(line, line[:, 0])
    with pytest.raises(ValueError, match=r"cannot be told from rounding.*fit with an alpha of at least 6e-13"):
        smooth.predict_interval(line)
    with pytest.raises(ValueError, match="method='full' needs a penalty that can be told from rounding"):
        KernelRidge(0, kernel=Gaussian(0.1), solver="spectral").fit(X, y).predict_interval(new, method="full")
    with pytest.raises(MemoryError, match="inverse of a 20 × 20 matrix"):
        KernelRidge(kernel=Gaussian(), memory=10**7).fit(X, y).predict_interval(new, method="jackknife+")
    with pytest.raises(ValueError, match="expecting 2 features"):
        KernelRidge(kernel=Gaussian()).fit(X, y).predict_interval(new[:, :1])
