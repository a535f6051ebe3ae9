"""Comparisons of two models on the same rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, root_mean_squared_error

from mercer.auto import RivalComparison
from mercer.auto.judging.comparison import compare, describe_comparison, measure_error, measure_losses

rng = np.random.default_rng(0)
Y = rng.normal(size=200)
OURS, THEIRS = Y + 0.5 * rng.normal(size=200), Y + 0.7 * rng.normal(size=200)
CODES = rng.integers(0, 3, 200)
CHANCES = [rng.dirichlet([1.0, 2.0, 3.0], 200) for _ in range(2)]


@given(seed=st.integers(0, 1000), n=st.integers(1, 50))
@settings(max_examples=30, deadline=None)
def test_a_model_is_as_good_as_itself_for_sure(seed, n):
    draw = np.random.default_rng(seed)
    y, outputs = draw.normal(size=n), draw.normal(size=n)
    found = compare("RMSE", y, outputs, outputs, draw, "itself")
    assert (found.gain, found.low, found.high, found.rows) == (0.0, 0.0, 0.0, n)
    assert not found.is_clear


@pytest.mark.parametrize("metric", ["RMSE", "MAE", "log-loss", "accuracy"])
def test_the_gain_is_the_difference_of_the_scores(metric):
    known = {"RMSE": root_mean_squared_error, "MAE": mean_absolute_error, "log-loss": log_loss}
    if metric in ("RMSE", "MAE"):
        y, ours, theirs = Y, OURS, THEIRS
        expected = known[metric](y, theirs) - known[metric](y, ours)
    else:
        y, (ours, theirs) = CODES, CHANCES
        if metric == "log-loss":
            expected = log_loss(y, theirs) - log_loss(y, ours)
        else:  # where more is better
            expected = accuracy_score(y, ours.argmax(axis=1)) - accuracy_score(y, theirs.argmax(axis=1))
    found = compare(metric, y, ours, theirs, np.random.default_rng(0), "other")
    assert found.gain == pytest.approx(expected, abs=1e-12)
    assert found.low <= found.gain <= found.high


def test_changing_sides_changes_signs():
    found = compare("RMSE", Y, OURS, THEIRS, np.random.default_rng(0), "other")
    back = compare("RMSE", Y, THEIRS, OURS, np.random.default_rng(0), "other")
    assert (back.gain, back.low, back.high) == pytest.approx((-found.gain, -found.high, -found.low))


@pytest.mark.parametrize("metric", ["RMSE", "log-loss"])
def test_the_interval_is_that_of_rows_drawn_one_by_one(metric):
    y, ours, theirs = (Y, OURS, THEIRS) if metric == "RMSE" else (CODES, *CHANCES)
    found = compare(metric, y, ours, theirs, np.random.default_rng(0), "other")
    draw, gains = np.random.default_rng(1), []
    for _ in range(2000):
        rows = draw.integers(0, len(y), len(y))
        means = [np.mean(measure_losses(metric, y[rows], outputs[rows])) for outputs in (ours, theirs)]
        means = np.sqrt(means) if metric == "RMSE" else means
        gains.append(means[1] - means[0])
    low, high = np.percentile(gains, [5, 95])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.1 * (high - low))


def test_many_rows_are_drawn_in_groups_with_the_same_spread():
    n = 50_000
    y = rng.normal(size=n)
    ours, theirs = y + rng.normal(size=n), y + rng.normal(size=n)
    found = compare("MAE", y, ours, theirs, np.random.default_rng(0), "other")
    spread = np.std(np.abs(theirs - y) - np.abs(ours - y)) / np.sqrt(n)
    assert found.high - found.low == pytest.approx(2 * 1.645 * spread, rel=0.15)
    assert found.rows == n


def test_the_interval_covers_the_truth_nine_times_of_ten():
    draw, hits = np.random.default_rng(5), 0
    for _ in range(100):
        y = np.zeros(150)
        ours, theirs = draw.normal(size=150), 1.2 * draw.normal(size=150)
        found = compare("RMSE", y, ours, theirs, draw, "other")
        hits += found.low <= 0.2 <= found.high
    assert 0.8 <= hits / 100 <= 0.98


def test_other_metrics_are_refused():
    with pytest.raises(ValueError, match="no losses of rows for 'R²'; expected RMSE"):
        compare("R²", Y, OURS, THEIRS, np.random.default_rng(0), "other")


@pytest.mark.parametrize(
    ("gain", "low", "high", "metric", "words"),
    [
        (0.06, 0.02, 0.1, "RMSE", "better than it by 3 % in RMSE (90 % interval: 1 to 5 %)"),
        (-0.06, -0.1, -0.02, "RMSE", "worse than it by 3 % in RMSE (90 % interval: 1 to 5 %)"),
        (0.0, -0.02, 0.02, "RMSE", "rows could show: 0.0 % in RMSE (90 % interval: -1.0 to 1.0 %)"),
        (-0.008, -0.02, 0.02, "log-loss", "no difference from it that these 146 rows could show: -0.4 % in log-loss"),
        (1.9, 1.5, 2.5, "RMSE", "better than it by 1.9 in RMSE (90 % interval: 1.5 to 2.5)"),
        (0.02, 0.01, 0.03, "accuracy", "better than it by 2 points in accuracy (90 % interval: 1 to 3 points)"),
    ],
)
def test_a_comparison_is_told_with_its_interval(gain, low, high, metric, words):
    assert words in describe_comparison(RivalComparison("it", gain, low, high, 146), 2.0, metric)


@pytest.mark.parametrize("metric", ["RMSE", "MAE", "log-loss"])
def test_the_standard_error_of_a_score_is_that_of_rows_drawn_again(metric):
    y, outputs = (CODES, CHANCES[0]) if metric == "log-loss" else (Y, OURS)
    draw, found = np.random.default_rng(2), []
    for _ in range(1000):
        rows = draw.integers(0, len(y), len(y))
        mean = np.mean(measure_losses(metric, y[rows], outputs[rows]))
        found.append(np.sqrt(mean) if metric == "RMSE" else mean)
    assert measure_error(metric, y, outputs) == pytest.approx(np.std(found), rel=0.1)


def test_few_rows_tell_of_no_gain():
    words = describe_comparison(RivalComparison("it", 1.0, 0.9, 1.1, 2), 2.0, "RMSE")
    assert words == "2 rows held out cannot tell whether it is better"
