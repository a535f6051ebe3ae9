"""Other samples that the hypothesis makes as likely as the one that was seen: points dealt out again, and signs."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a generator from a seed, a generator, a RandomState, or None.

    Examples
    --------
    >>> make_generator(0).integers(10) == make_generator(0).integers(10)
    np.True_
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be a whole number that is not negative, a generator or None; got {random_state!r}"
        ) from None


def deal_again(size: int, n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return which of all points are in the first sample, of shape (size, 1 + count): as seen, and then at random.

    Examples
    --------
    >>> dealt = deal_again(5, 2, 3, np.random.default_rng(0))
    >>> dealt[:, 0].tolist(), dealt.sum(axis=0).tolist()
    ([True, True, False, False, False], [2, 2, 2, 2])
    """
    out = np.zeros((size, 1 + count), dtype=bool)
    out[:n, 0] = True
    for column in range(1, 1 + count):
        out[rng.permutation(size)[:n], column] = True
    return out


def draw_signs(size: int, count: int, lag: Any, rng: np.random.Generator, owner: str) -> np.ndarray:
    """Return columns of weights with mean 0 and variance 1, of which neighbours are alike over ``lag`` points.

    With a lag of 0 they are signs, ±1, and independent; otherwise a Gaussian process that forgets by 1/e in ``lag``.

    Examples
    --------
    >>> set(draw_signs(4, 3, 0, np.random.default_rng(0), "SteinTest").ravel().tolist()) == {-1.0, 1.0}
    True
    """
    if not isinstance(lag, numbers.Real) or not 0 <= float(lag) < np.inf:
        raise ValueError(f"{owner}: lag must be a number of points that is not negative, got {lag!r}")
    if lag == 0:
        return rng.choice([-1.0, 1.0], size=(size, count))
    from scipy.signal import lfilter

    kept = np.exp(-1.0 / float(lag))
    noise = rng.normal(size=(size, count))
    noise[1:] *= np.sqrt(1.0 - kept**2)
    return np.asarray(lfilter([1.0], [1.0, -kept], noise, axis=0))
