"""Whether a function of y and f is convex in f, and its slope free of jumps, as far as a grid can tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .base import Loss, Task
from .corners import BoxLoss

SIGNS = (-1.0, 1.0)
TARGETS = (1.0, 0.0, -1.0, 0.3, -0.3, 4.0, -4.0, 30.0, -30.0)  # counterexamples are shown for the first
NEAR = 20.0  # outputs up to which a loss must be a number; further out, formulas may overflow
NEAREST = 3.0  # outputs up to which it must be finite
HALVINGS = 40  # of an interval, in search of a jump of the slope
FINEST = 1e-12  # of the size of y and f; differences of closer numbers are mostly rounding
ROUGH = 0.7  # a slope that changes less than by this power of the distance has a jump, or nearly so


@dataclass(frozen=True)
class Sample:
    """A grid: a row for each target, outputs in order, and the loss there."""

    y: np.ndarray
    f: np.ndarray
    values: np.ndarray
    near: float = NEAR


def take_sample(value: Callable[[np.ndarray, np.ndarray], np.ndarray], task: Task, loss: str) -> Sample:
    """Return a grid of those targets for which a loss is a number, or raise where it is none."""
    targets = np.array(SIGNS if task == "classification" else TARGETS)
    steps = np.geomspace(1e-3, 1e4, 141)
    steps = np.concatenate([-steps, [0.0], steps])
    line = np.linspace(-12.0, 12.0, 481)
    f = np.sort(np.concatenate([np.tile(np.append(line, steps), (len(targets), 1)), targets[:, None] + steps], axis=1))
    y = np.broadcast_to(targets[:, None], f.shape)
    values = value(y, f)
    wrong = (np.isnan(values) & (np.abs(f) <= NEAR)) | (~np.isfinite(values) & (np.abs(f) <= NEAREST))
    rows = ~wrong.any(axis=1)
    positive = task == "regression" and bool(rows[targets > 0].all())  # as losses of counts and amounts are
    if not (rows.all() or positive):
        i, j = np.argwhere(wrong & ((targets > 0)[:, None] | (task != "regression")))[0]
        raise ValueError(
            f"{loss} is {values[i, j]:g} where y = {y[i, j]:g} and f = {f[i, j]:g}; a loss must be a finite number for "
            "every f: let f be the logarithm of what must be positive, np.exp(f)"
        )
    return Sample(y[rows], f[rows], values[rows])


def find_least_target(loss: Loss, sample: Sample, *, given: bool) -> float:
    """Return the least target for which a loss is convex, −∞ or 0, or raise with a counterexample.

    Slopes must never fall and must fit the values; ``given`` says that someone wrote them by hand.
    """
    with np.errstate(all="ignore"):
        slopes = loss.slope(sample.y, sample.f)
    least = -np.inf if sample.y.min() < 0 else 0.0
    for y, f, values, slope in zip(sample.y[:, 0], sample.f, sample.values, slopes, strict=True):
        try:
            _check_row(loss, y, f, values, slope, given)
        except ValueError:
            if y >= 0 or loss.task != "regression":
                raise
            least = 0.0  # those of amounts are convex where y is one
    return least


def _check_row(loss: Loss, y: float, f: np.ndarray, values: np.ndarray, slope: np.ndarray, given: bool) -> None:
    where = np.isnan(slope) & (np.abs(f) <= NEAR)
    if where.any():
        raise ValueError(f"{loss!r}: its slope is NaN where y = {y:g} and f = {f[where][0]:g}")
    kept = np.isfinite(values) & np.isfinite(slope)
    f, values, slope = f[kept], values[kept], slope[kept]
    size = np.abs(slope[:-1]) + np.abs(slope[1:])
    fall = slope[:-1] - slope[1:] - 1e-9 * size - 1e-12 * np.median(np.abs(slope))
    i = int(np.argmax(fall))
    if fall[i] > 0:
        raise ValueError(
            f"{loss!r} is not convex: where y = {y:g}, its slope falls from {slope[i]:.6g} at f = {f[i]:.6g} to "
            f"{slope[i + 1]:.6g} at f = {f[i + 1]:.6g}; a loss must be convex in f, or a fit may end in one of many "
            "valleys. Losses that outliers hardly move and that are convex are Huber(), LogCosh() and Absolute()"
        )
    step, rise = np.diff(f), np.diff(values)
    usual = np.mean(np.abs(values[np.abs(f) <= NEAREST]))
    room = 1e-7 * size * step + 1e-12 * (np.abs(values[:-1]) + np.abs(values[1:]) + usual)
    with np.errstate(over="ignore"):
        miss = np.maximum(slope[:-1] * step - rise, rise - slope[1:] * step) - room
    i = int(np.argmin(np.where(miss > 0, np.abs(f[:-1]), np.inf)))
    if miss[i] > 0:
        points = f"where y = {y:g}, it is {values[i]:.8g} at f = {f[i]:.6g}, {values[i + 1]:.8g} at f = {f[i + 1]:.6g}"
        what = "its slope is not the derivative of its value" if given else "it is not convex: its value jumps"
        remedy = "leave slope out to have it derived" if given else "a convex function has no jumps"
        raise ValueError(
            f"{loss!r}: {what}: {points}, but the slopes there are {slope[i]:.6g} and {slope[i + 1]:.6g}; {remedy}"
        )


def is_smooth(loss: Loss, sample: Sample) -> bool:
    """Whether the slope has no jumps: each interval is halved many times, always towards the larger rise."""

    def look(f: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(loss.slope(y, f))

    y, a, b = (part.ravel() for part in (sample.y[:, 1:], sample.f[:, :-1], sample.f[:, 1:]))
    low, high = look(a), look(b)
    usual = np.nanmean(np.abs(low[np.minimum(np.abs(a), np.abs(a - y)) <= NEAREST]))  # others are rounding, or flat
    with np.errstate(invalid="ignore"):
        rises = high - low > 1e-6 * (np.abs(low) + np.abs(high)) + 1e-9 * usual
    some = rises & np.isfinite(low) & np.isfinite(high) & (b - a > 1e-6 * (np.abs(a) + np.abs(y)))
    y, a, b, low, high = (part[some] for part in (y, a, b, low, high))
    width, rise, size = b - a, high - low, np.abs(low) + np.abs(high)
    for _ in range(HALVINGS):
        middle, wide = 0.5 * (a + b), b - a > FINEST * (np.abs(a) + np.abs(y))
        found = look(middle)
        left = found - low > high - found
        a, low = np.where(wide & ~left, middle, a), np.where(wide & ~left, found, low)
        b, high = np.where(wide & left, middle, b), np.where(wide & left, found, high)
    left_over = np.maximum(high - low, 0.0)
    rough = left_over > rise * ((b - a) / width) ** ROUGH
    return not bool((rough & (left_over > 1e-12 * size)).any())


def is_below_parabolas(loss: Loss, sample: Sample) -> bool:
    """Whether parabolas of the curvature that :meth:`Loss.majorant` says are nowhere below the loss, on the grid."""
    for y, f, values in zip(sample.y[:, 0], sample.f, sample.values, strict=True):
        some = np.flatnonzero(np.abs(f) <= sample.near)[::8]
        at = f[some, None]
        with np.errstate(all="ignore"):
            slopes, bends = loss.slope(y, at), loss.majorant(y, at)
            above = values[some, None] + slopes * (f - at) + 0.5 * bends * (f - at) ** 2
            holds = above >= values - 1e-9 * (np.abs(above) + np.abs(values)) - 1e-12
        if not bool((holds | ~np.isfinite(values)).all() and np.isfinite(bends).all()):
            return False
    return True


def find_box(loss: Loss, sample: Sample) -> BoxLoss | None:
    """Return the box of a loss that is linear but for its corners around y, as the hinge is; None if it is another.

    The slopes far out are the ends of the box, and ε is where the outer pieces meet 0; the whole grid is compared.
    """
    with np.errstate(all="ignore"):
        slopes = np.asarray(loss.slope(sample.y, sample.f))
    boxes: dict[bool, tuple[float, float]] = {}  # by whether targets are below 0
    widths = []
    for y, f, values, slope in zip(sample.y[:, 0], sample.f, sample.values, slopes, strict=True):
        boxes.setdefault(bool(y < 0), (0.0 - slope[-1], 0.0 - slope[0]))
        for end, side in ((slope[0], 1.0), (slope[-1], -1.0)):
            outer = (slope == end) & (values > 0) & np.isfinite(values)
            if end != 0 and outer.any():
                r = side * (y - f[outer])
                nearest = int(np.argmin(np.abs(r)))
                widths.append(r[nearest] - values[outer][nearest] / abs(end))
    below, above = boxes.get(True, boxes.get(False, (0.0, 0.0))), boxes.get(False, boxes.get(True, (0.0, 0.0)))
    lower, upper = (below[0], above[0]), (below[1], above[1])
    if not widths or max(lower) > 0 or min(upper) < 0 or not np.isfinite([*lower, *upper]).all():
        return None
    width = float(np.median(widths))
    found = BoxLoss(lower, upper, width if width > 1e-12 else 0.0)
    exact = np.allclose(found.value(sample.y, sample.f), sample.values, rtol=1e-11, atol=1e-12)
    return found if exact and width > -1e-12 else None
