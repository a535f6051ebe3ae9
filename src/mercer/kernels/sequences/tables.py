"""Tables of the values of a static kernel, which signatures are made of."""

from __future__ import annotations

import numpy as np

import mercer._native as _native
from mercer.arrays.tensors import pack
from mercer.arrays.threads import default_threads
from mercer.formula.evaluation import Evaluation, check_overflow
from mercer.formula.program import Program, UnsupportedError, decline_outside, lower

from ..base import Kernel


def tabulate(kernel: Kernel, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return k(x, z) for all rows of two arrays, in the native core where it has a program for the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> tabulate(Gaussian(), np.zeros((1, 2)), np.ones((1, 2))).round(4)
    array([[0.3679]])
    """
    try:
        return _run_program(lower(kernel.traced()), kernel, X, Z)
    except UnsupportedError:
        return Evaluation(kernel.traced(), X, Z, repr(kernel)).dense()


def _run_program(program: Program, kernel: Kernel, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    if program.left or program.right:
        raise UnsupportedError("parts of it depend on one point only")
    pairs = [statistic.prepare(X, Z, np.float64) for statistic in program.statistics]
    decline_outside(kernel.traced(), program, pairs, np.float64)
    statistics: list[tuple[str, np.ndarray, np.ndarray | None, float]] = [
        (str(stat.native), pack(A), pack(B), stat.exponent)
        for stat, (A, B) in zip(program.statistics, pairs, strict=True)
    ]
    out = np.empty((len(X), len(Z)))
    code = [step.pack() for step in program.code]
    _native.Plan(statistics, [], [], code).dense(out, np.arange(len(X)), 0, len(Z), default_threads())
    check_overflow(out, repr(kernel))
    return out
