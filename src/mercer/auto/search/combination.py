"""Combine candidates by what they say of rows left out: a convex combination, and how sure it should be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize_scalar, nnls

from ..chances import measure_log_losses, raise_chances

LIGHT = 0.07  # weights below this are not worth a fit
GAIN = 0.002  # of the score that a combination must gain over the best candidate
ROUNDS = 500  # of the search for weights of probabilities
RANGE = (-0.5, 1.5)  # of the logarithm of a temperature: no model becomes much surer than it is
PULL = 200  # rows that say that the temperature is 1


def weigh_values(outputs: Sequence[np.ndarray], y: np.ndarray) -> np.ndarray:
    """Return weights that are not negative, sum to 1, and make the squared error of the combination least.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([0.0, 1.0, 2.0, 4.0])
    >>> weigh_values([y + 1.0, y - 3.0], y).round(3)
    array([0.75, 0.25])
    """
    A = np.column_stack([values - y for values in outputs])
    size = float(np.abs(A).max()) or 1.0
    heavy = 1e4 * len(y) ** 0.5  # the sum of weights, as an equation that outweighs all others
    found, _ = nnls(np.vstack([A / size, np.full((1, A.shape[1]), heavy)]), np.append(np.zeros(len(y)), heavy))
    return np.asarray(found / found.sum())


def weigh_chances(outputs: Sequence[np.ndarray], codes: np.ndarray) -> np.ndarray:
    """Return weights that make the log-loss of the combination of probabilities least.

    The log-loss is convex in the weights; each round multiplies a weight by how much of the chance of the truth its
    candidate has, on average.
    """
    A = np.column_stack([raise_chances(chances[np.arange(len(codes)), codes]) for chances in outputs])
    weights = np.full(A.shape[1], 1.0 / A.shape[1])
    for _ in range(ROUNDS):
        shares = A * weights
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    return weights


def prune(
    weigh: Callable[[Sequence[np.ndarray], np.ndarray], np.ndarray], outputs: Sequence[np.ndarray], y: np.ndarray,
    most: int,
) -> np.ndarray:  # fmt: skip
    """Return weights of at most so many candidates, none of them light; others are 0."""
    kept = list(range(len(outputs)))
    while True:
        weights = weigh([outputs[i] for i in kept], y)
        if len(kept) == 1 or (len(kept) <= most and weights.min() >= LIGHT):
            break
        kept.pop(int(np.argmin(weights)))
    out = np.zeros(len(outputs))
    out[kept] = weights
    return out


def find_temperature(chances: np.ndarray, codes: np.ndarray) -> float:
    """Return T such that probabilities ∝ p^(1/T) have the least log-loss: above 1 if the model is too sure of itself.

    Its logarithm is pulled to 0 as if 200 more rows said that nothing is to be changed.

    Examples
    --------
    >>> import numpy as np
    >>> chances = np.array([[0.9, 0.1]] * 10)
    >>> find_temperature(chances, np.array([0] * 7 + [1] * 3)) > 1
    True
    """

    def loss(log: float) -> float:
        return float(measure_log_losses(codes, warm_chances(chances, float(np.exp(log)))).mean())

    found = minimize_scalar(loss, bounds=RANGE, method="bounded", options={"xatol": 1e-3})
    if found.fun >= loss(0.0):
        return 1.0
    return float(np.exp(found.x * len(codes) / (len(codes) + PULL)))


def warm_chances(chances: np.ndarray, temperature: float) -> np.ndarray:
    """Return probabilities ∝ p^(1/T)."""
    if temperature == 1.0:
        return chances
    logs = np.log(raise_chances(chances)) / temperature
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
