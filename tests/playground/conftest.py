import numpy as np
import pytest

from mercer.playground.presets import PRESETS
from mercer.playground.state import State


@pytest.fixture
def line() -> State:
    """A regression of 24 points."""
    return PRESETS["sine"].make(count=24, seed=3)


@pytest.fixture
def plane() -> State:
    """Two classes of 30 points."""
    return PRESETS["moons"].make(count=30, seed=3)


@pytest.fixture
def clouds() -> State:
    """Three classes of 36 points."""
    return PRESETS["blobs"].make(count=36, seed=3)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
