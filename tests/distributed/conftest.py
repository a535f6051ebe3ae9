"""Data, and ways to cut it into partitions."""

import multiprocessing
from dataclasses import dataclass

import numpy as np
import pytest

try:
    import dask
    import dask.array as da
except ImportError:  # then there is nothing to test here
    collect_ignore_glob = ["test_*.py"]
else:
    if "forkserver" in multiprocessing.get_all_start_methods():  # workers start in a fraction of the time
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})


@dataclass(frozen=True)
class Data:
    X: np.ndarray
    y: np.ndarray
    several: np.ndarray
    two: np.ndarray
    three: np.ndarray
    weights: np.ndarray


@pytest.fixture(scope="session")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    y = signal + 0.2 * rng.normal(size=240)
    weights = rng.uniform(0.2, 2.0, size=240)
    weights[::7] = 0.0
    return Data(X, y, np.c_[y, X[:, 2] - y], np.where(y > 0.7, "b", "a"), np.digitize(y, [0.3, 1.2]), weights)


ROWS = (70, 1, 0, 49, 120)


def cut(values, rows=ROWS):
    """A dask array of uneven partitions, one of them empty, with one column to a chunk."""
    if values is None:
        return None
    return da.from_array(values, chunks=(rows, *(1,) * (np.ndim(values) - 1)))


def without_sizes(array):
    """The same array, with partitions whose sizes Dask does not know."""
    rows = array.rechunk({1: -1}) if array.ndim == 2 else array
    chunks = (tuple([np.nan] * len(rows.chunks[0])), *rows.chunks[1:])
    return da.Array(rows.dask, rows.name, chunks, dtype=rows.dtype, meta=rows._meta)


@pytest.fixture
def at_once():
    """Tasks one after the other in this thread: quick to start, and easy to read when something fails."""
    with dask.config.set(scheduler="synchronous"):
        yield


def assert_same(first, second, rtol=1e-8):
    first, second = np.asarray(first), np.asarray(second)
    assert first.shape == second.shape
    np.testing.assert_allclose(second, first, rtol=0, atol=rtol * np.abs(first).max())


@pytest.fixture(scope="module")
def expected():
    from .workers import generated, nystroem

    with dask.config.set(scheduler="synchronous"):
        X, y = (part.compute() for part in generated())
    return X, y, nystroem().fit(X, y)


@pytest.fixture(scope="module")
def cluster():
    from .workers import distributed

    # This long after the death of a worker LocalCluster looks whether it is back, and closes its place for good if it
    # is not, even if it has been back and died again just then.
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    with patient, distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    from .workers import distributed

    with distributed.Client(cluster, set_as_default=False) as client:
        yield client
