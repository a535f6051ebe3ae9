"""The native backend as a citizen of Python: it can be interrupted, and it forks."""

import itertools
import signal
import subprocess
import sys

import numpy as np
import pytest

from mercer import Gram
from mercer.kernels import Gaussian

ENDLESS = """
import numpy as np
from mercer import Gram
from mercer.kernels import Gaussian

gram = Gram(Gaussian(), np.zeros((1_000_000, 30), dtype=np.float32))
try:
    print("ready", flush=True)
    gram @ np.ones(1_000_000, dtype=np.float32)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent in another way")
def test_ctrl_c_stops_a_long_product():
    with subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=60)  # undisturbed it would take many minutes
        finally:
            process.kill()
    assert output == "interrupted\n"


def test_long_work_is_cut_into_calls_that_cover_all_rows_once():
    gram = Gram(Gaussian(), np.zeros((300_000, 50), dtype=np.float32))
    calls = list(gram._backend._calls())
    assert len(calls) > 50
    assert calls[0][0] == 0
    assert calls[-1][1] == 300_000
    assert all(before[1] == after[0] for before, after in itertools.pairwise(calls))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_views_of_bytes_that_are_not_aligned_are_taken_like_their_copies(dtype):
    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(30, 9)).astype(dtype), rng.normal(size=(30, 2)).astype(dtype)
    views = [np.frombuffer(b"-" + array.tobytes(), np.uint8)[1:].view(dtype).reshape(array.shape) for array in (X, V)]
    assert not any(view.flags.aligned for view in views)
    gram, other = Gram(Gaussian(), X), Gram(Gaussian(), views[0])
    assert other.backend_name == "native"
    assert np.array_equal(other @ views[1], gram @ V)
    assert np.array_equal(other.dense(), gram.dense())
