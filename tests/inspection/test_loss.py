"""Losses are drawn as they are: against the margin or the residual, with nothing over the curves."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from mercer.inspection import LossDisplay
from mercer.losses import (
    Absolute,
    CustomLoss,
    Exponential,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    Softmax,
    Squared,
    SquaredHinge,
)


def _curves(display):
    return {line.get_label(): line.get_xydata() for line in display.ax_.get_lines() if line.get_label()[0] != "_"}


def test_losses_of_classes_are_drawn_against_the_margin_with_errors_in_grey(is_legible):
    display = LossDisplay.from_losses([Hinge(), "logistic", SquaredHinge(), Exponential()])
    m = display.x
    np.testing.assert_allclose(display.values, [np.maximum(0, 1 - m), np.log(1 + np.exp(-m)),
                                                np.maximum(0, 1 - m) ** 2, np.exp(-m)])  # fmt: skip
    drawn = _curves(display)
    assert list(drawn) == ["Hinge()", "Logistic()", "SquaredHinge()", "Exponential()", "0–1 (errors)"]
    np.testing.assert_array_equal(drawn["Hinge()"][:, 1], display.values[0])
    assert display.ax_.get_xlabel() == "margin m = yf"
    low, high = display.ax_.get_ylim()
    assert low < 0 < display.values[0].max() < high < display.values[3].max()
    is_legible(display.figure_)


def test_losses_of_numbers_are_drawn_against_the_residual(is_legible):
    own = CustomLoss(lambda y, f: np.sqrt(1 + (y - f) ** 2) - 1, name="pseudo-Huber")
    given = [Squared(), Absolute(), Huber(0.5), Quantile(0.9), "expectile(.8)", "log_cosh", "epsilon_insensitive",
             "squared_epsilon_insensitive", own]  # fmt: skip
    display = LossDisplay.from_losses(given, limits=(-2.0, 4.0), resolution=101)
    r = display.x
    assert (r[0], r[-1], len(r)) == (-2.0, 4.0, 101)
    np.testing.assert_allclose(display.values[3], np.maximum(0.9 * r, -0.1 * r), atol=1e-15)
    assert display.names[-1] == "pseudo-Huber"
    assert display.ax_.get_xlabel() == "residual r = y − f"
    styles = {(line.get_color(), line.get_linestyle()) for line in display.ax_.get_lines()[2:]}
    assert len(styles) == len(given)
    is_legible(display.figure_)


def test_slopes_are_derivatives_by_the_margin_or_the_residual():
    for given in ([Huber(), Squared(), Poisson()], [Logistic(), Exponential()]):
        display = LossDisplay.from_losses(given, kind="slope")
        for values, slopes in zip(display.values, display.slopes, strict=True):
            inner = np.gradient(values, display.x)[1:-1]
            np.testing.assert_allclose(slopes[1:-1], inner, atol=1e-2 * np.abs(inner).max())
        np.testing.assert_array_equal(_curves(display)[display.names[0]][:, 1], display.slopes[0])
        assert "0–1 (errors)" not in _curves(display)


def test_losses_of_counts_say_at_which_target_they_are_drawn():
    display = LossDisplay.from_losses([Poisson(), Gamma()], target=2.0)
    assert display.target == 2.0
    assert display.ax_.get_xlabel().endswith("at y = 2")
    np.testing.assert_allclose(display.values[0], np.exp(2 - display.x) - 2 * (2 - display.x))
    with pytest.raises(ValueError, match=r"Gamma.*positive targets"):
        LossDisplay.from_losses(Gamma(), target=-1.0)


def test_axes_can_be_given_and_one_loss_is_enough():
    _, ax = plt.subplots()
    display = LossDisplay.from_losses("hinge", ax=ax)
    assert display.ax_ is ax
    assert display.plot(kind="slope").ax_ is not ax
    with pytest.raises(ValueError, match="'value' or 'slope'"):
        display.plot(kind="curve")


def test_the_picture_of_every_lecture_takes_one_call(is_legible):
    display = LossDisplay.from_losses(["hinge", "logistic", "squared_hinge", "squared"])
    m = display.x
    np.testing.assert_allclose(display.values[3], (1 - m) ** 2)
    np.testing.assert_allclose(display.slopes[3], -2 * (1 - m))
    assert list(_curves(display)) == [
        "Hinge()", "Logistic()", "SquaredHinge()", "Squared() of y = ±1", "0–1 (errors)"
    ]  # fmt: skip
    assert display.ax_.get_xlabel() == "margin m = yf"
    is_legible(display.figure_)
    numbers = LossDisplay.from_losses(["squared", "absolute", "epsilon_insensitive(.5)", "huber(1)", "quantile(.8)"])
    r = numbers.x
    expected = [
        r**2, np.abs(r), np.maximum(0, np.abs(r) - 0.5), np.where(np.abs(r) < 1, r**2 / 2, np.abs(r) - 0.5),
        np.maximum(0.8 * r, -0.2 * r),
    ]  # fmt: skip
    np.testing.assert_allclose(numbers.values, expected, atol=1e-12)
    assert numbers.ax_.get_xlabel() == "residual r = y − f"
    is_legible(numbers.figure_)


def test_losses_that_are_no_function_of_the_margin_have_no_common_axis():
    with pytest.raises(ValueError, match=r"Quantile\(.*\) is not the same at y − f and f − y.*with ax="):
        LossDisplay.from_losses([Hinge(), Squared(), "quantile(.8)"])
    with pytest.raises(ValueError, match="one loss or more"):
        LossDisplay.from_losses([])
    with pytest.raises(ValueError, match=r"Softmax\(\) has an output for each class.*Logistic"):
        LossDisplay.from_losses([Logistic(), Softmax()])
    with pytest.raises(TypeError, match="CustomLoss"):
        LossDisplay.from_losses([abs])
