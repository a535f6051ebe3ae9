"""Losses with corners rounded off: between the loss and what it may not exceed, and above them a parabola."""

import numpy as np
import pytest

from mercer.losses import Absolute, CustomLoss, EpsilonInsensitive, Hinge, Huber, Quantile
from mercer.losses.each import Each
from mercer.losses.smoothed import Smoothed, round_off
from mercer.solvers.newton.sums import weigh_loss
from mercer.testing import check_loss

every = pytest.mark.parametrize("loss", [Absolute(), Quantile(0.85), EpsilonInsensitive(0.4), Hinge()], ids=repr)


def _points(loss):
    rng = np.random.default_rng(0)
    y = 2 * rng.normal(size=200)
    return (np.where(y > 0, 1.0, -1.0) if loss.task == "classification" else y), 3 * rng.normal(size=200)


@every
@pytest.mark.parametrize("width", [0.01, 0.5, 4.0])
def test_the_envelope_is_below_touches_and_is_the_least_of_its_definition(loss, width):
    y, f = _points(loss)
    rounded = Smoothed(loss, width)
    value = rounded.value(y, f)
    assert (value <= loss.value(y, f) + 1e-12).all()
    low, high = loss.domain(y)
    assert (value >= loss.value(y, f) - width * np.maximum(low**2, high**2) / 2 - 1e-12).all()
    grid = f[:, None] + np.linspace(-5, 5, 2001)
    brute = (loss.value(y[:, None], grid) + (grid - f[:, None]) ** 2 / (2 * width)).min(axis=1)
    assert (brute >= value - 1e-12).all()
    assert (brute <= value + 6e-3).all()  # of a grid of steps of 5e-3, and slopes up to 1


@every
@pytest.mark.parametrize("width", [0.01, 0.5])
def test_derivatives_conjugate_and_the_parabola_above(loss, width):
    y, f = _points(loss)
    rounded, step = Smoothed(loss, width), 1e-7
    slope = (rounded.value(y, f + step) - rounded.value(y, f - step)) / (2 * step)
    np.testing.assert_allclose(rounded.slope(y, f), slope, atol=1e-5)
    s = rounded.slope(y, f)
    np.testing.assert_allclose(rounded.value(y, f) + rounded.conjugate(y, s), s * f, atol=1e-9)
    bend = (rounded.slope(y, f + step) - rounded.slope(y, f - step)) / (2 * step)
    assert np.mean(np.abs(bend - rounded.curvature(y, f)) > 1e-3 / width) < 0.02  # but for corners of the slope
    for g in np.linspace(-9, 9, 37):
        above = rounded.value(y, f) + s * (g - f) + rounded.majorant(y, f) * (g - f) ** 2 / 2
        assert (above >= rounded.value(y, g) - 1e-9).all()


def test_absolute_values_become_hubers_loss():
    y, f = _points(Absolute())
    np.testing.assert_allclose(Smoothed(Absolute(), 0.7).value(y, f), Huber(0.7).value(y, f) / 0.7, atol=1e-12)


def test_losses_of_one_s_own_are_rounded_off_as_built_in_ones():
    own = CustomLoss(lambda y, f: np.maximum(0.85 * (y - f), -0.15 * (y - f)))
    y, f = _points(own)
    known = Smoothed(Quantile(0.85), 0.3)
    for name in ("value", "slope"):
        np.testing.assert_allclose(getattr(Smoothed(own, 0.3), name)(y, f), getattr(known, name)(y, f), atol=1e-6)


def test_several_losses_are_rounded_off_each():
    y, f = _points(Absolute())
    both = round_off(Each((Quantile(0.2), Absolute())), 0.3)
    Y, F = np.column_stack([y, y]), np.column_stack([f, f])
    for q, loss in enumerate((Quantile(0.2), Absolute())):
        np.testing.assert_allclose(both.slope(Y, F)[:, q], Smoothed(loss, 0.3).slope(y, f))
        np.testing.assert_allclose(both.curvature(Y, F)[:, q], Smoothed(loss, 0.3).curvature(y, f))


def test_a_rounded_loss_is_one():
    check_loss(Smoothed(Absolute(), 0.5))


def test_rounded_corners_leave_classes_what_they_are():
    codes, weights = np.array([0, 1, 1]), np.ones(3)
    sharp, rounded = (weigh_loss(loss, codes, weights, 1) for loss in (Hinge(), round_off(Hinge(), 0.1)))
    np.testing.assert_array_equal(sharp.slopes(np.zeros((3, 1))), rounded.slopes(np.zeros((3, 1))))
