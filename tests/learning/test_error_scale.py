"""Scales of errors follow them, and stay where they are beyond the data."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.learning.error_scale import learn_scale
from mercer.solvers import Problem


@pytest.mark.parametrize("seed", range(12))
def test_a_scale_does_not_run_away_just_beyond_the_data(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 1.0, size=(150, 1))
    errors = (0.05 + 0.6 * X**2) * rng.normal(size=(150, 1))
    g = learn_scale(Problem(Gaussian(0.2), X, errors), errors)
    inside = g(np.linspace(0.0, 1.0, 50)[:, None])
    beyond = g([[-0.1], [1.1]])
    assert beyond.max() < inside.max() + 1.5  # a factor of less than 5 between scales
    assert beyond.min() > inside.min() - 1.5
