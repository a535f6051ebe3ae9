"""The loss of probabilities."""

import numpy as np
from scipy.special import softmax
from sklearn.metrics import log_loss

from mercer.auto.chances import measure_log_losses


def test_the_log_loss_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    chances = softmax(rng.normal(size=(50, 4)), axis=1)
    codes = rng.integers(0, 4, size=50)
    expected = log_loss(codes, chances, labels=range(4))
    np.testing.assert_allclose(measure_log_losses(codes, chances).mean(), expected, rtol=1e-9)


def test_what_was_said_to_be_impossible_has_a_finite_loss():
    losses = measure_log_losses(np.array([0, 1]), np.array([[0.0, 1.0], [0.0, 1.0]]))
    assert losses[0] == -np.log(1e-6 / (1.0 + 1e-6))
    assert losses[1] < 1e-5
