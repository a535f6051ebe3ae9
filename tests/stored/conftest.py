"""A table, here and on a disk."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from mercer.stored import plan

try:
    import pandas as pd
    import pyarrow  # noqa: F401
except ImportError:  # then there is nothing to test here
    collect_ignore_glob = ["test_*.py"]

N = 900
NAMES = ["a", "b", "c"]


@dataclass(frozen=True)
class Data:
    frame: "pd.DataFrame"
    X: np.ndarray
    y: np.ndarray


@pytest.fixture(scope="session")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.normal(size=N)
    frame = pd.DataFrame(X, columns=NAMES)
    frame["y"], frame["other"] = y, X[:, 2] - y
    frame["two"], frame["three"] = np.where(y > 0.7, "yes", "no"), np.digitize(y, [0.3, 1.2])
    frame["weight"] = np.where(np.arange(N) % 7, rng.uniform(0.2, 2.0, size=N), 0.0)
    return Data(frame, X, y)


@pytest.fixture
def small_pieces(monkeypatch):
    """Pieces of few rows, so that small tables have several of them."""
    monkeypatch.setattr(plan, "PIECE", 2**12)


@pytest.fixture
def folder(data, tmp_path, small_pieces) -> Path:
    """Two files: one of a large row group, one of several small ones."""
    place = tmp_path / "table"
    place.mkdir()
    data.frame[:500].to_parquet(place / "part-0.parquet", index=False)
    data.frame[500:].to_parquet(place / "part-1.parquet", row_group_size=150, index=False)
    return place


def assert_same(first, second, rtol=1e-7):
    first, second = np.asarray(first), np.asarray(second)
    assert first.shape == second.shape
    np.testing.assert_allclose(second, first, rtol=0, atol=rtol * np.abs(first).max())
