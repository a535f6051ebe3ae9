"""The best intercepts: those that make the residuals of each output sum to 0."""

from __future__ import annotations

import math

import numpy as np

from mercer.arrays import Array

from .sums import LossSums, shift

STEPS = 200  # of the search for one intercept, which takes about five
SWEEPS = 25  # of the search for those of all classes
LENGTHS = 0.5 ** np.arange(8.0)  # of a Newton step that are tried before one class at a time
ENOUGH = 0.1  # of the decrease that the slope promises
COARSE = 1e-6  # of all residuals: sums below this are too small to be seen in the loss, and so are light classes
SHRUNK = 0.2  # of a sum, by a Newton step: those of e^f come back from far out by 1 each, and leave 1/e
COOLING = 1.5  # of the temperature, from one solution to the next
EPS = float(np.finfo(float).eps)


def find_intercept(loss: LossSums, values: Array, start: np.ndarray) -> np.ndarray:
    """Return the b that minimises the loss at values + b; those of several classes have mean 0.

    Where nearly all points are certain, the loss of several classes has corners for any search.  The problem is then
    solved with values divided by a temperature first, from hot, where the loss is smooth, to cold.

    Examples
    --------
    >>> from .sums import label_loss
    >>> loss = label_loss(np.array([0, 1, 1]), 2, np.ones(3))
    >>> find_intercept(loss, np.zeros((3, 1)), np.zeros(1)).round(6)  # ln 2, the log-odds of two against one
    array([0.693147])
    """
    if not loss.joint:
        return _balance_outputs(loss, values, start)
    b, found = _search_near(loss, values, start)
    if not found:
        least, most = loss.range(values)
        temperature = most - least
        while temperature > 1.0:
            b = temperature * _search_near(loss, values / temperature, b / temperature)[0]
            temperature /= COOLING
        b, _ = _search_near(loss, values, b)
    return np.asarray(b - b.mean())


def _balance_outputs(loss: LossSums, values: Array, start: np.ndarray) -> np.ndarray:
    """Return the intercept of each output that is judged alone, by Newton steps inside brackets that only shrink."""
    b, low, high = start.astype(np.float64), np.full(len(start), -np.inf), np.full(len(start), np.inf)
    stride, before = 0.0, np.full(len(start), np.inf)
    for _ in range(STEPS):
        sums, sizes, bends = loss.balance_sums(shift(values, b))
        low, high = np.where(sums > 0, np.maximum(low, b), low), np.where(sums < 0, np.minimum(high, b), high)
        finite = np.isfinite(sums)  # which those far out are not if losses grow as e^f does
        open_ = ~(finite & (np.abs(sums) <= EPS * sizes)) & ~(high - low <= EPS * np.abs(b))
        if not open_.any():
            break
        stride = 2 * stride or loss.reach(values)
        with np.errstate(all="ignore"):
            steps = np.clip(np.where((bends > 0) & finite, sums / bends, np.sign(sums) * np.inf), -stride, stride)
            middle = 0.5 * (low + high)
        # A step that leaves the bracket, or follows one that did not shrink the sum much, gives way to the middle, or
        # to a long one while there is no other end.
        slow = ~(np.abs(sums) <= SHRUNK * before)
        closed = np.isfinite(low) & np.isfinite(high)
        trial = b + np.where(slow & ~closed, np.sign(sums) * stride, steps)
        poor = closed & (slow | ~((trial > low) & (trial < high)))
        after = np.where(open_, np.where(poor, middle, trial), b)
        if (after == b).all():
            break
        before = np.where(poor, np.inf, np.abs(sums))
        b = after
    return b


def _search_near(loss: LossSums, values: Array, b: np.ndarray) -> tuple[np.ndarray, bool]:
    """Take Newton steps where they halve the sums of residuals or lower the loss, else one class at a time.

    Say also if the sums vanish.
    """
    sums, sizes = loss.residual_sums(shift(values, b))
    weights = loss.weigh_classes()
    seen = COARSE if weights.max() <= weights.min() / COARSE else math.inf  # sums above this are seen in the loss
    for _ in range(SWEEPS):
        size, total = float(np.abs(sums).max()), float(sizes.sum())
        if size <= 4 * EPS * total:
            return b, True
        step = np.linalg.lstsq(loss.curvature_sums(shift(values, b)), sums, rcond=1e-12)[0]
        now = math.nan
        for length in LENGTHS if size > seen * total else LENGTHS[:1]:
            trial = b + length * step
            after, sizes = loss.residual_sums(shift(values, trial))
            if np.abs(after).max() <= 0.5 * size:
                break
            if size > seen * total:
                now = loss.value(shift(values, b)) if math.isnan(now) else now
                if loss.value(shift(values, trial)) < now - ENOUGH * length * float(sums @ step):
                    break
        else:
            least, most = loss.range(values)
            if size <= 1e-12 * max(1.0, most - least) * total:  # nothing but rounding is left
                return b, True
            trial = b.copy()
            for q in range(loss.outputs):
                # With all intercepts in the odds the one of this class is a correction, which starts at 0.
                trial[q] += _balance_class(loss, loss.odds(shift(values, trial), q), q)
            after, sizes = loss.residual_sums(shift(values, trial))
        b, sums = trial, after
    return b, bool(np.abs(sums).max() <= 1e-9 * sizes.sum())


def _balance_class(loss: LossSums, odds: Array, q: int) -> float:
    """Return the b at which the residuals of a class sum to 0, by Newton steps from 0 inside a bracket."""
    weights = loss.weigh_classes()
    level = math.log(weights[q]) - math.log(np.delete(weights, q).sum())
    least, most = loss.range(odds)
    low, high = level - most, level - least
    b = min(max(0.0, low), high)
    for _ in range(STEPS):
        miss, bend, size = loss.share(odds, q, b).tolist()
        if miss > 0:
            low = b
        else:
            high = b
        step = miss / bend if bend > 0 else np.inf
        after = b + step if low < b + step < high else 0.5 * (low + high)
        if after == b or abs(miss) <= EPS * size:
            break
        b = after
    return float(b)
