"""The logistic losses, on arrays and on tensors."""

import numpy as np
import pytest

from mercer.losses.logistic import make_logistic


def _points(classes, device, size=2.0):
    rng = np.random.default_rng(classes)
    loss = make_logistic(classes)
    outputs, codes = size * rng.normal(size=(20, loss.outputs)), rng.integers(classes, size=20)
    if device:
        torch = pytest.importorskip("torch")
        outputs, codes = torch.as_tensor(outputs), torch.as_tensor(codes)
    return loss, outputs, codes


everywhere = pytest.mark.parametrize("device", [False, True], ids=["array", "tensor"])
of_classes = pytest.mark.parametrize("classes", [2, 3, 5])


@everywhere
@of_classes
def test_the_value_is_minus_the_logarithm_of_the_probability_of_the_class_observed(classes, device):
    loss, outputs, codes = _points(classes, device)
    p, logs = np.asarray(loss.predict(outputs)), np.asarray(loss.predict_log(outputs))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(logs), p)
    np.testing.assert_allclose(np.asarray(loss.value(outputs, codes)), -logs[np.arange(20), np.asarray(codes)])


@everywhere
@of_classes
def test_value_plus_conjugate_is_the_product_at_the_slope_and_more_elsewhere(classes, device):
    loss, outputs, codes = _points(classes, device)
    values, slopes = np.asarray(loss.value(outputs, codes)), loss.slope(outputs, codes)
    product = np.asarray((slopes * outputs).sum(1))
    np.testing.assert_allclose(values + np.asarray(loss.conjugate(slopes, codes)), product, atol=1e-12)
    slopes = loss.slope(0.3 * outputs, codes)
    product = np.asarray((slopes * outputs).sum(1))
    assert (values + np.asarray(loss.conjugate(slopes, codes)) > product).all()


@of_classes
def test_the_conjugate_of_what_is_no_slope_is_infinite(classes):
    loss, outputs, codes = _points(classes, False)
    assert np.isinf(loss.conjugate(3.0 + 0.0 * outputs, codes)).all()


@of_classes
def test_tiny_losses_and_slopes_keep_their_digits(classes):
    loss = make_logistic(classes)
    outputs = np.full((1, loss.outputs), 100.0)
    outputs[:, :-1] = 0.0
    codes, others = np.array([classes - 1]), classes - 1
    np.testing.assert_allclose(loss.value(outputs, codes), others * np.exp(-100.0), rtol=1e-12)
    np.testing.assert_allclose(loss.slope(outputs, codes)[0, -1], -others * np.exp(-100.0), rtol=1e-12)
