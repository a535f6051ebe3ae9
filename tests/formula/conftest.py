"""Two collections of points."""

import numpy as np
import pytest


@pytest.fixture
def points():
    return np.round(16 * np.random.default_rng(7).normal(size=(7, 3))) / 16


@pytest.fixture
def others(points):
    return np.concatenate([np.round(16 * np.random.default_rng(8).normal(size=(3, 3))) / 16, points[[0, 4]]])
