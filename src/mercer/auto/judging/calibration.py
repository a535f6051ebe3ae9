"""Whether probabilities are what they say: how often something comes true that was given some chance."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from mercer.words import count_things

from ..figures import Calibration

PER_GROUP = 20  # rows at least, so that a share means something
MOST_GROUPS = 10
COVERAGE = 0.9  # of the intervals
LARGEST = 1.645  # deviations that 95 of 100 normal values do not exceed


def measure_calibration(truth: np.ndarray, prediction: np.ndarray, chances: np.ndarray) -> Calibration | None:
    """Return how often rows are of a class against the chance they were given; None if there are no rows.

    Rows are sorted by the chance p of the second class, or of the predicted class if there are more than two, and cut
    into groups of equal size, those of equal chance together.  Where the mean chance of a group is p̄ and k of its n
    rows came true, the gap is |p̄ - k/n|.  If all chances are right, gaps are about those of a normal variable of
    variance Σ p(1 - p) / n², whose mean and spread tell how large their mean may become.  Intervals are Wilson's.

    Parameters
    ----------
    truth : array of shape (m,)
        Labels of the rows.
    prediction : array of shape (m,)
        Predicted labels, those of largest chance.
    chances : array of shape (m, classes)
        Of all classes.

    Returns
    -------
    Calibration or None

    Examples
    --------
    >>> import numpy as np
    >>> chances = np.repeat([[0.75, 0.25], [0.25, 0.75]], 40, axis=0)
    >>> truth = np.array((["no"] * 30 + ["yes"] * 10) + (["no"] * 10 + ["yes"] * 30))
    >>> found = measure_calibration(truth, np.repeat(["no", "yes"], 40), chances)
    >>> found.label, found.seen, round(found.error, 3), found.counts
    ('yes', (0.25, 0.75), 0.0, (40, 40))
    """
    if not len(truth):
        return None
    label, p, hit = _find_events(np.asarray(truth), np.asarray(prediction), np.clip(chances, 0.0, 1.0))
    groups = _group_rows(p)
    n = np.array([len(group) for group in groups])
    said, seen = (np.array([values[group].mean() for group in groups]) for values in (p, hit))
    middle, half = _place_intervals(seen, n)
    share = n / n.sum()
    variance = np.array([float(np.sum(p[group] * (1 - p[group]))) for group in groups]) / n**2
    mean, spread = share @ np.sqrt(2 / math.pi * variance), math.sqrt((1 - 2 / math.pi) * float(share**2 @ variance))
    return Calibration(
        label, len(p), tuple(said.tolist()), tuple(seen.tolist()), tuple(np.clip(middle - half, 0.0, 1.0).tolist()),
        tuple(np.clip(middle + half, 0.0, 1.0).tolist()), tuple(n.tolist()), float(share @ np.abs(said - seen)),
        float(mean + LARGEST * spread),
    )  # fmt: skip


def _find_events(truth: np.ndarray, prediction: np.ndarray, chances: np.ndarray) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the class that chances are about, the chances, and which rows came true."""
    if chances.shape[1] != 2:
        return "", chances.max(axis=1), (truth == prediction).astype(np.float64)
    second = chances.argmax(axis=1) == 1
    # If no row was predicted to be of the second class, those that are not of the first are.
    label = prediction[second][:1] if second.any() else truth[truth != prediction][:1]
    if not len(label):
        return "the other class", chances[:, 1], np.zeros(len(truth))
    return str(label[0]), chances[:, 1], (truth == label[0]).astype(np.float64)


def _group_rows(p: np.ndarray) -> list[np.ndarray]:
    """Return rows in groups of similar chances; of those that are equal the order must not matter."""
    n = len(p)
    order = np.argsort(p, kind="stable")
    first = np.searchsorted(p[order], p[order], side="left")  # the rank of the first that is equal
    numbers = first * int(np.clip(n // PER_GROUP, 1, MOST_GROUPS)) // n
    return np.split(order, np.flatnonzero(np.diff(numbers)) + 1)


def _place_intervals(shares: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return middles and half widths of Wilson's intervals."""
    z = float(ndtri((1 + COVERAGE) / 2))
    middle = (shares + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(shares * (1 - shares) / n + z**2 / (4 * n**2))
    return middle, half


def describe_calibration(found: Calibration) -> str:
    """Return how far chances are from what is seen, and whether that is more than chance.

    Examples
    --------
    >>> describe_calibration(Calibration("yes", 200, (0.5,), (0.52,), (0.4,), (0.6,), (200,), 0.02, 0.03))
    'Probabilities are off by 0.02 on average. That may be chance, which makes up to 0.03 with 200 rows.'
    """
    return f"Probabilities are off by {found.error:.2g} on average. {judge_calibration(found)}"


def judge_calibration(found: Calibration) -> str:
    """Return a sentence about whether the gaps are more than chance."""
    rows = count_things(found.rows, "row")
    if found.rows < 2 * PER_GROUP:
        return f"But {rows} held out cannot tell how far to trust them."
    if found.error > found.by_chance:
        return f"That is more than chance makes with {rows}, up to {found.by_chance:.2g}."
    return f"That may be chance, which makes up to {found.by_chance:.2g} with {rows}."
