"""Calibration: what was given some chance against how often it came true."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve

from mercer.auto.judging.calibration import MOST_GROUPS, PER_GROUP, describe_calibration, measure_calibration

LABELS = np.array(["no", "yes"])


def draw(n, seed=0, bend=1.0):
    """Return labels, predictions and chances of rows; chances are true where ``bend`` is 1."""
    rng = np.random.default_rng(seed)
    true = rng.uniform(0.05, 0.95, n)
    said = true**bend
    chances = np.column_stack([1 - said, said])
    return LABELS[(rng.random(n) < true).astype(int)], LABELS[chances.argmax(axis=1)], chances


def test_two_classes_give_the_curve_of_scikit_learn():
    truth, prediction, chances = draw(400)
    found = measure_calibration(truth, prediction, chances)
    seen, said = calibration_curve(truth == "yes", chances[:, 1], n_bins=MOST_GROUPS, strategy="quantile")
    assert found.label == "yes"
    np.testing.assert_allclose(found.said, said, rtol=1e-12)
    np.testing.assert_allclose(found.seen, seen, rtol=1e-12)
    assert found.counts == (40,) * 10


def test_intervals_are_those_of_wilson():
    found = measure_calibration(*draw(300))
    for share, n, low, high in zip(found.seen, found.counts, found.low, found.high, strict=True):
        expected = binomtest(round(share * n), n).proportion_ci(0.9, method="wilson")
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_more_classes_are_judged_by_the_predicted_one():
    rng = np.random.default_rng(1)
    chances = rng.dirichlet([1.0, 1.0, 1.0], 200)
    truth, prediction = rng.integers(0, 3, 200), chances.argmax(axis=1)
    found = measure_calibration(truth, prediction, chances)
    sure = np.sort(chances.max(axis=1))
    assert found.label == ""
    np.testing.assert_allclose(found.said, sure.reshape(10, 20).mean(axis=1), rtol=1e-12)
    right = (truth == prediction)[np.argsort(chances.max(axis=1))].reshape(10, 20).mean(axis=1)
    assert found.error == pytest.approx(np.mean(np.abs(right - sure.reshape(10, 20).mean(axis=1))))


def test_the_order_of_rows_does_not_matter_where_chances_are_equal():
    truth, prediction, chances = draw(200)
    said = np.round(chances[:, 1], 1)
    chances = np.column_stack([1 - said, said])
    order = np.argsort(truth, kind="stable")  # a table sorted by its target
    found = measure_calibration(truth, prediction, chances)
    again = measure_calibration(truth[order], prediction[order], chances[order])
    np.testing.assert_allclose(again.seen, found.seen, rtol=1e-12)
    assert again.counts == found.counts
    assert len(set(np.round(found.said, 12))) == len(found.said)


def test_chances_that_are_true_are_off_by_chance_alone_nineteen_times_of_twenty():
    found = [measure_calibration(*draw(200, seed)) for seed in range(200)]
    beyond = np.mean([each.error > each.by_chance for each in found])
    assert 0.005 <= beyond <= 0.12
    bent = [measure_calibration(*draw(200, seed, bend=3.0)) for seed in range(50)]
    assert np.mean([each.error > each.by_chance for each in bent]) == 1.0


@pytest.mark.parametrize(("n", "groups"), [(1, 1), (2 * PER_GROUP - 1, 1), (3 * PER_GROUP, 3), (1000, MOST_GROUPS)])
def test_few_rows_make_few_groups(n, groups):
    found = measure_calibration(*draw(n))
    assert (len(found.counts), sum(found.counts)) == (groups, n)
    assert ("cannot tell how far to trust them" in describe_calibration(found)) is (groups == 1)


def test_a_class_that_is_never_predicted_has_a_name_if_a_row_has_it():
    chances, prediction = np.tile([0.9, 0.1], (30, 1)), np.full(30, "no")
    truth = np.where(np.arange(30) < 6, "yes", "no")
    assert measure_calibration(truth, prediction, chances).label == "yes"
    assert measure_calibration(truth, prediction, chances).seen == (0.2,)
    assert measure_calibration(prediction, prediction, chances).seen == (0.0,)


def test_what_is_said_depends_on_what_chance_makes():
    good, bad = measure_calibration(*draw(400)), measure_calibration(*draw(400, bend=3.0))
    assert "That may be chance" in describe_calibration(good)
    assert "more than chance makes with 400 rows, up to" in describe_calibration(bad)


def test_no_rows_say_nothing():
    assert measure_calibration(np.empty(0), np.empty(0), np.empty((0, 2))) is None
