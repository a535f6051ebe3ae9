"""What ridge and logistic regression say of rows left out is what fits without them say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from mercer.auto.search import leaving
from mercer.auto.search.leaving import PENALTIES, leave_out_logistic, leave_out_ridge
from mercer.kernels import Gaussian, Linear, Matern, Overlap
from mercer.models.logistic import KernelLogisticRegression
from mercer.models.ridge import KernelRidge

MEMORY = 2**30


def refit(make, X, y, judged, beside):
    """Return what fits without each row say of it."""
    found = []
    for row in judged:
        others = beside[beside != row]
        found.append(make(X.iloc[others] if hasattr(X, "iloc") else X[others], y[others], row))
    return np.array(found)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(36, 2))
    return X, np.sin(2 * X[:, :1]) + 0.3 * rng.normal(size=(36, 1))


def test_ridge_says_what_refits_without_each_row_say(data):
    X, y = data
    kernel, folds = Matern(1.5), [np.arange(0, 36, 2), np.arange(1, 36, 2)]
    found = leave_out_ridge([kernel, kernel], X, y, folds, MEMORY)
    judged = np.concatenate(folds)

    def predict(alpha):
        def make(rows, targets, row):
            return KernelRidge(alpha, kernel=kernel, fit_intercept=True).fit(rows, targets).predict(X[row : row + 1])[0]

        return refit(make, X, y[:, 0], judged, np.arange(36))

    np.testing.assert_allclose(found.outputs[:, 0], predict(found.alpha), rtol=1e-3, atol=1e-4)
    errors = [np.mean((predict(alpha) - y[judged, 0]) ** 2) for alpha in PENALTIES[::3]]
    assert np.mean((found.outputs - y[judged]) ** 2) <= min(errors) * (1 + 1e-6)


def test_every_fold_has_its_own_kernel_and_every_column_of_targets_counts(data):
    X, y = data
    goals = np.hstack([y, X[:, 1:]])
    folds, kernels = [np.array([3, 1, 8]), np.array([5, 20])], [Gaussian(0.7), Gaussian(3.0)]
    found = leave_out_ridge(kernels, X, goals, folds, MEMORY)
    assert found.outputs.shape == (5, 2)
    for row, kernel, output in zip([3, 1, 8, 5, 20], [kernels[0]] * 3 + [kernels[1]] * 2, found.outputs, strict=True):
        others = np.delete(np.arange(36), row)
        model = KernelRidge(found.alpha, kernel=kernel, fit_intercept=True).fit(X[others], goals[others])
        np.testing.assert_allclose(output, model.predict(X[row : row + 1])[0], rtol=1e-3, atol=1e-4)


def test_ridge_takes_frames(data):
    X, y = data
    table = pd.DataFrame({"size": X[:, 0], "colour": np.where(X[:, 1] > 0, "red", "blue")})
    kernel, folds = Gaussian().on("size") + Overlap().on("colour"), [np.arange(12)]
    found = leave_out_ridge([kernel], table, y, folds, MEMORY)

    def make(rows, targets, row):
        model = KernelRidge(found.alpha, kernel=kernel, fit_intercept=True).fit(rows, targets)
        return model.predict(table.iloc[row : row + 1])[0]

    expected = refit(make, table, y[:, 0], np.arange(12), np.arange(36))
    np.testing.assert_allclose(found.outputs[:, 0], expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("n", [2, 3])
def test_two_rows_are_enough_for_ridge(n):
    found = leave_out_ridge(
        [Gaussian()] * n, np.arange(n * 1.0)[:, None], np.ones((n, 1)), [[i] for i in range(n)], MEMORY
    )
    np.testing.assert_allclose(found.outputs, 1.0)


def make_classes(classes, n=90):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    angle = np.arctan2(X[:, 1], X[:, 0]) + 0.3 * rng.normal(size=n)
    return X, np.floor((angle % (2 * np.pi)) / (2 * np.pi) * classes).astype(int)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_says_nearly_what_refits_without_each_row_say(classes):
    X, codes = make_classes(classes)
    folds, kernel = [np.arange(0, 90, 3), np.arange(1, 90, 3)], Matern(1.5, 2.0)
    found = leave_out_logistic([kernel] * 2, X, codes, classes, folds, MEMORY, lambda: False)
    judged = np.concatenate(folds)

    def make(rows, labels, row):
        model = KernelLogisticRegression(found.alpha, kernel=kernel).fit(rows, labels)
        return model.predict_proba(X[row : row + 1])[0]

    expected = refit(make, X, codes, judged, np.arange(90))
    assert found.outputs.shape == (60, classes)
    np.testing.assert_allclose(found.outputs.sum(axis=1), 1.0)
    gaps = np.abs(found.outputs - expected)
    assert gaps.mean() < 0.02
    assert gaps.max() < 0.2
    ours, theirs = log_loss(codes[judged], found.outputs), log_loss(codes[judged], expected)
    assert ours == pytest.approx(theirs, rel=0.25)


def test_the_penalty_of_logistic_regression_is_the_best_of_its_neighbours():
    X, codes = make_classes(2)
    fold, kernel = np.arange(0, 90, 2), Gaussian()
    found = leave_out_logistic([kernel], X, codes, 2, [fold], MEMORY, lambda: False)
    losses = []
    for factor in (0.1, 1.0, 10.0):
        model = KernelLogisticRegression(found.alpha * factor, kernel=kernel)

        def make(rows, labels, row, model=model):
            return model.fit(rows, labels).predict_proba(X[row : row + 1])[0]

        losses.append(log_loss(codes[fold], refit(make, X, codes, fold, np.arange(90))))
    assert losses[1] == min(losses)


def test_a_class_of_one_row_may_be_judged_or_not():
    X, codes = make_classes(2)
    codes = codes.copy()
    codes[7] = 2
    for folds in ([np.arange(45), np.arange(45, 90)], [np.arange(20, 60)]):
        found = leave_out_logistic([Gaussian()] * len(folds), X, codes, 3, folds, MEMORY, lambda: False)
        assert found.outputs.shape == (sum(map(len, folds)), 3)
        assert np.isfinite(found.outputs).all()
    alone = leave_out_logistic([Gaussian()], X, codes, 3, [np.array([7])], MEMORY, lambda: False)
    assert alone.outputs[0, 2] < 0.2  # nothing is known of it without its row


def test_a_search_that_has_to_end_tries_one_penalty_alone():
    X, codes = make_classes(3)
    calls = []
    found = leave_out_logistic([Gaussian()], X, codes, 3, [np.arange(30)], MEMORY, lambda: calls.append(1) or True)
    assert found.alpha == pytest.approx(10.0 ** (leaving.START / 2))
    assert 0 < len(calls) <= 6


@pytest.mark.parametrize("room", [10, 25, 60])
def test_rows_beside_those_judged_keep_every_class(monkeypatch, room):
    seen = []
    make = leaving.label_loss

    def look(codes, classes, weights):
        seen.append(codes)
        return make(codes, classes, weights)

    monkeypatch.setattr(leaving, "JUDGED", room)
    monkeypatch.setattr(leaving, "label_loss", look)
    X, codes = make_classes(2)
    codes = codes.copy()
    codes[[7, 61]], codes[33] = 2, 3
    folds = [np.arange(40, 60), np.arange(20)]
    found = leave_out_logistic([Gaussian()] * 2, X, codes, 4, folds, MEMORY, lambda: False)
    assert found.outputs.shape == (40, 4)
    assert len(seen) == 2
    for fold, known in zip(folds, seen, strict=True):
        np.testing.assert_array_equal(known[:20], codes[fold])  # which are judged come first
        assert set(known) == {0, 1, 2, 3}
        assert len(known) <= max(room, 21) + 3


def test_a_linear_kernel_on_many_columns_is_judged_as_well():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 60))
    y = X @ rng.normal(size=(60, 1))
    found = leave_out_ridge([Linear()], X, y, [np.arange(40)], MEMORY)
    model = KernelRidge(found.alpha, kernel=Linear(), fit_intercept=True)
    assert found.outputs[0, 0] == pytest.approx(model.fit(X[1:], y[1:, 0]).predict(X[:1])[0], rel=1e-3)
