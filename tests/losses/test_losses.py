"""Every loss: formulas are those of textbooks, all laws hold, and targets and parameters are checked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from mercer import losses
from mercer.arrays.tensors import host_array
from mercer.losses import Logistic, Softmax
from mercer.losses.text import find_losses
from mercer.testing import check_loss

VALUES = [
    losses.Squared(), losses.Absolute(), losses.Quantile(0.9), losses.Quantile(0.2), losses.Expectile(0.8),
    losses.Huber(0.7), losses.LogCosh(), losses.EpsilonInsensitive(0.3), losses.SquaredEpsilonInsensitive(0.3),
    losses.Hinge(), losses.SquaredHinge(), losses.Logistic(), losses.Exponential(), losses.Poisson(), losses.Gamma(),
]  # fmt: skip
every = pytest.mark.parametrize("loss", VALUES, ids=repr)
everywhere = pytest.mark.parametrize("device", [False, pytest.param(True, marks=pytest.mark.torch)])


def _targets(loss, y):
    if loss.task == "classification":
        return np.where(y < 0, -1.0, 1.0)
    return np.abs(y) + 0.1 if isinstance(loss, losses.Poisson | losses.Gamma) else y


def _points(loss, n=300, seed=0):
    rng = np.random.default_rng(seed)
    return _targets(loss, 2 * rng.normal(size=n)), 2 * rng.normal(size=n)


def test_all_losses_are_here():
    assert {type(loss).__name__ for loss in VALUES} | {"Softmax"} == set(find_losses())
    assert {*find_losses(), "CustomLoss", "Loss", "as_loss", "parse_loss"} <= set(losses.__all__)


@every
def test_formulas_are_those_of_textbooks(loss):
    y, f = _points(loss)
    r, m = y - f, y * f
    name, tau = type(loss).__name__, getattr(loss, "level", None)
    width = getattr(loss, "width", None)
    known = {
        "Squared": lambda: r**2,
        "Absolute": lambda: np.abs(r),
        "Quantile": lambda: np.maximum(tau * r, (tau - 1) * r),
        "Expectile": lambda: np.abs(tau - (r < 0)) * r**2,
        "Huber": lambda: np.where(np.abs(r) <= width, r**2 / 2, width * (np.abs(r) - width / 2)),
        "LogCosh": lambda: np.log(np.cosh(r)),
        "EpsilonInsensitive": lambda: np.maximum(0, np.abs(r) - width),
        "SquaredEpsilonInsensitive": lambda: np.maximum(0, np.abs(r) - width) ** 2,
        "Hinge": lambda: np.maximum(0, 1 - m),
        "SquaredHinge": lambda: np.maximum(0, 1 - m) ** 2,
        "Logistic": lambda: np.log(1 + np.exp(-m)),
        "Exponential": lambda: np.exp(-m),
        "Poisson": lambda: np.exp(f) - y * f,
        "Gamma": lambda: y * np.exp(-f) + f,
    }
    np.testing.assert_allclose(loss.value(y, f), known[name](), rtol=1e-12, atol=1e-12)


@every
def test_every_law_holds(loss):
    check_loss(loss)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(VALUES), st.floats(1e-6, 1e6), st.integers(0, 2**31))
def test_every_law_holds_in_every_unit_of_targets(loss, unit, seed):
    numbers = unit * np.random.default_rng(seed).normal(size=20)
    check_loss(loss, _targets(loss, numbers), random_state=seed)


@pytest.mark.parametrize("classes", [3, 5])
def test_every_law_holds_for_several_classes(classes):
    check_loss(Softmax(), np.arange(40) % classes)


@every
def test_a_majorant_is_there_if_it_is_said_to_be(loss):
    if not loss.has_majorant:
        with pytest.raises(NotImplementedError):
            loss.majorant(0.0, 1.0)


@every
def test_targets_outside_of_the_domain_are_refused(loss):
    good, _ = _points(loss)
    loss.check_targets(good)
    bad = {"Poisson": -1.0, "Gamma": 0.0}.get(type(loss).__name__, 0.5 if loss.task == "classification" else None)
    if bad is None:
        return
    good[7] = bad
    with pytest.raises(ValueError, match=r"row 7"):
        loss.check_targets(good)


def test_levels_and_widths_are_checked():
    for level in (0.0, 1.0, -0.1, 2, "high"):
        with pytest.raises(ValueError, match="between 0 and 1"):
            losses.Quantile(level)
        with pytest.raises(ValueError, match="between 0 and 1"):
            losses.Expectile(level)
    with pytest.raises(ValueError, match="positive"):
        losses.Huber(0.0)
    with pytest.raises(ValueError, match="not negative"):
        losses.EpsilonInsensitive(-1.0)
    with pytest.raises(TypeError, match="corners"):
        losses.Hinge().curvature(1.0, 1.0)
    with pytest.raises(ValueError, match="all counts are 0"):
        losses.Poisson().check_targets(np.zeros(3))


def test_losses_are_values():
    assert losses.Huber(1.5) == losses.Huber(width=1.5) != losses.Huber(1.0)
    assert repr(losses.Quantile(0.9)) == "Quantile(level=0.9)"
    assert losses.Huber(1.5).with_params(width=2.0) == losses.Huber(2.0)


# -- probabilities ------------------------------------------------------------------------------------------------


def _labelled(classes, device, size=2.0):
    rng = np.random.default_rng(classes)
    loss, columns = (Logistic(), 1) if classes == 2 else (Softmax(), classes)
    outputs, codes = size * rng.normal(size=(20, columns)), rng.integers(classes, size=20)
    y = 2.0 * codes[:, None] - 1.0 if classes == 2 else codes
    if device:
        torch = pytest.importorskip("torch")
        outputs, y = torch.as_tensor(outputs), torch.as_tensor(y)
    return loss, outputs, y, codes


of_classes = pytest.mark.parametrize("classes", [2, 3, 5])


@everywhere
@of_classes
def test_the_value_is_minus_the_logarithm_of_the_probability_of_the_class_observed(classes, device):
    loss, outputs, y, codes = _labelled(classes, device)
    p, logs = host_array(loss.predict_proba(outputs)), host_array(loss.predict_log_proba(outputs))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(logs), p)
    np.testing.assert_allclose(host_array(loss.value(y, outputs)).ravel(), -logs[np.arange(20), codes])


@of_classes
def test_tiny_losses_and_slopes_keep_their_digits(classes):
    loss, outputs, y, _ = _labelled(classes, False)
    outputs = np.zeros((1, outputs.shape[1]))
    outputs[:, -1] = 100.0
    y, others = (np.ones((1, 1)) if classes == 2 else np.array([classes - 1])), classes - 1
    np.testing.assert_allclose(loss.value(y, outputs).ravel(), others * np.exp(-100.0), rtol=1e-12)
    np.testing.assert_allclose(loss.slope(y, outputs)[0, -1], -others * np.exp(-100.0), rtol=1e-12)


@pytest.mark.parametrize("loss", [losses.Exponential(), losses.SquaredHinge(), losses.Logistic()], ids=repr)
def test_the_best_output_of_a_probability_has_that_probability(loss):
    for p in (0.1, 0.5, 0.8):
        best = minimize_scalar(
            lambda f: float(p * loss.value(1.0, f) + (1 - p) * loss.value(-1.0, f)), bounds=(-9, 9), method="bounded"  # noqa: B023
        )  # fmt: skip
        np.testing.assert_allclose(loss.predict_proba(np.array([[best.x]])), [[1 - p, p]], atol=1e-4)
