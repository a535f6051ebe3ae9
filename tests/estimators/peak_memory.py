"""How much memory calls of an estimator take at their peak beyond what there was before, measured by the system.

A process of its own measures one estimator after the other.  The peak is that of resident memory, so that native code
and BLAS count too.  The C library is told to give back at once what is freed, so that memory is measured that somebody
holds, and not what an allocator keeps for later.
"""

import ctypes
import gc
import os
import pickle
import re
import subprocess
import sys
import time
import traceback
import warnings
from functools import partial
from pathlib import Path

import numpy as np

METHODS = ("score", "transform", "predict_proba", "score_samples", "kneighbors")  # scores are of predictions


class Meter:
    """A process that measures."""

    def __init__(self):
        environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )

    def measure(self, name, settings, memory, points, queries):
        """Return for a fit to points, and for each method with so many of them, what :func:`measure_peak` does."""
        pickle.dump((name, settings, memory, points, queries), self._process.stdin)
        self._process.stdin.flush()
        answer = pickle.load(self._process.stdout)
        if isinstance(answer, str):
            raise AssertionError(answer)
        return answer

    def close(self):
        """End the process."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def resident(which="VmRSS"):
    """Return the bytes of memory that this process has, or had at its peak with "VmHWM"."""
    found = re.search(rf"{which}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(found[1])


def measure_peak(call):
    """Return by how many bytes a call makes memory grow at its peak, its seconds, and the error if it was refused."""
    from mercer import MemoryBudgetError

    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, begin, refused = resident(), time.process_time(), None
    try:
        call()
    except MemoryBudgetError as error:
        refused = str(error)
    return resident("VmHWM") - before, time.process_time() - begin, refused


def measure_estimator(name, settings, memory, points, queries):
    """Measure a fit and everything that takes as many new points."""
    from sklearn.base import is_classifier

    from mercer import models

    rng = np.random.default_rng(0)
    X = rng.standard_normal((points, 8))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(points)
    make = getattr(models, name)
    if is_classifier(make()):
        y = y > 0
    few = make(**settings, memory=memory).fit(X[:200], y[:200])  # which loads what is loaded when it is needed
    model, found = make(**settings, memory=memory), {}
    found["fit"] = measure_peak(lambda: model.fit(X, y))
    for method in METHODS if hasattr(few, "score") else ("predict", *METHODS):
        if hasattr(few, method):
            given = (X, y) if method == "score" else (X,)
            getattr(few, method)(*(part[:200] for part in given))
            found[method] = measure_peak(partial(getattr(model, method), *(part[:queries] for part in given)))
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "wb")
    while sys.stdin.buffer.peek(1):
        try:
            answer = measure_estimator(*pickle.load(sys.stdin.buffer))
        except Exception:
            answer = traceback.format_exc()
        pickle.dump(answer, answers)
        answers.flush()
