"""What tests may rely on, however they were started."""

import os
import signal
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("suite", max_examples=50)  # where a test does not say how many
settings.load_profile("suite")

HAS_TORCH = find_spec("torch") is not None


def pytest_configure():
    """Let Ctrl-C stop tests and what they start, also in the background of a shell, which has it ignored there.

    Each of several workers keeps to one processor, so that threads of one do not wait for those of another; tests that
    are about threads ask for them.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")[2:]
    if worker.isdigit() and hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {processors[int(worker) % len(processors)]})


def pytest_ignore_collect(collection_path):
    """Leave out files that are all about devices where there is no torch; ``make test-torch`` has them."""
    if HAS_TORCH or collection_path.suffix != ".py":
        return None
    return "\ntorch = pytest.importorskip" in collection_path.read_text("utf-8") or None


def pytest_collection_modifyitems(config, items):
    """Leave scikit-learn's checks of the array API to estimators/test_array_api.py: SciPy is started for them there."""
    away = [item for item in items if "-check_array_api" in item.name]
    items[:] = [item for item in items if item not in away]
    config.hook.pytest_deselected(items=away)


@pytest.fixture(autouse=True)
def _draws_that_come_again():
    """Begin NumPy's shared generator anew for each test: what draws from it, unless told otherwise, draws the same."""
    np.random.seed(0)  # noqa: NPY002  (the generator that random_state=None stands for)


@pytest.fixture(autouse=True)
def _tensors_like_those_of_a_gpu(request):
    """Let NumPy refuse tensors, as it does those on a GPU: whoever needs an array must ask for it."""
    if request.node.get_closest_marker("torch") is None:
        return
    torch, monkeypatch = pytest.importorskip("torch"), request.getfixturevalue("monkeypatch")

    def refuse(self, *args, **kwargs):
        raise TypeError("a tensor on a GPU is no array")

    monkeypatch.setattr(torch.Tensor, "__array__", refuse)
