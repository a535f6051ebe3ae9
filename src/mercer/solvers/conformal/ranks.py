"""Which of n sorted values the end of an interval is, counted so that promises hold for finite n."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from mercer.messages import warn_caller

FEW_POINTS = "predict_interval: an interval of coverage"  # how the warning of infinite ends begins
WHISKER = 1e-9  # keeps (1 − 0.9)·10 = 0.999… from being rounded down


def check_coverage(coverage: Any, owner: str = "predict_interval") -> float:
    """Return a coverage, if it is one; ``owner`` asks, for the message.

    Examples
    --------
    >>> check_coverage(1.0)
    Traceback (most recent call last):
    ...
    ValueError: predict_interval: coverage must lie between 0 and 1, for example 0.9; got 1.0
    """
    if not isinstance(coverage, numbers.Real) or not 0 < float(coverage) < 1:
        raise ValueError(f"{owner}: coverage must lie between 0 and 1, for example 0.9; got {coverage!r}")
    return float(coverage)


def find_ranks(n: int, coverage: float) -> tuple[int, int]:
    """Return ⌊(1 − coverage)(n + 1)⌋ and ⌈coverage·(n + 1)⌉, the ranks of lower and upper ends among n values.

    Examples
    --------
    >>> find_ranks(9, 0.9), find_ranks(20, 0.8), find_ranks(8, 0.9)
    ((1, 9), (4, 17), (0, 9))
    """
    return math.floor((1 - coverage) * (n + 1) + WHISKER), math.ceil(coverage * (n + 1) - WHISKER)


def count_needed(coverage: float) -> int:
    """Return how many points finite ends take: n ≥ 1/(1 − coverage) − 1.

    Examples
    --------
    >>> count_needed(0.9), count_needed(0.95), count_needed(0.5)
    (9, 19, 1)
    """
    return math.ceil(1 / (1 - coverage) - 1 - WHISKER / (1 - coverage))


def warn_of_few(n: int, coverage: float) -> None:
    """Warn if all ends are infinite, because so few points say nothing about so rare errors."""
    needed = count_needed(coverage)
    if n < needed:
        warn_caller(
            f"{FEW_POINTS} {coverage:g} needs at least {needed} points, and the model has "
            f"{n}, so its ends are infinite; give more points, or ask for a coverage of at most {n / (n + 1):.3g}"
        )


def pick_rank(values: np.ndarray, rank: int) -> np.ndarray:
    """Return the rank-th smallest along the second axis; beyond either end it is infinite.

    Examples
    --------
    >>> pick_rank(np.array([[3.0, 1.0, 2.0]]), 2), pick_rank(np.array([[3.0]]), 0)
    (array([2.]), array([-inf]))
    """
    if not 1 <= rank <= values.shape[1]:
        return np.full((len(values), *values.shape[2:]), -np.inf if rank < 1 else np.inf)
    return np.asarray(np.partition(values, rank - 1, axis=1)[:, rank - 1])


def join_ends(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return ends side by side on a last axis; where they cross, nothing is inside, and both are their middle.

    Examples
    --------
    >>> join_ends(np.array([1.0, 4.0]), np.array([2.0, 3.0]))
    array([[1. , 2. ],
           [3.5, 3.5]])
    """
    ends = np.stack([lower, upper], axis=-1)
    crossed = ends[..., 0] > ends[..., 1]
    ends[crossed] = ends[crossed].mean(axis=-1, keepdims=True)
    return ends
