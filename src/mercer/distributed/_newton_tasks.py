"""What tasks compute of one block for Newton's method: losses, residuals and curvatures, and sums in features."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.losses.logistic import LogisticLoss, Share, make_loss, sums_of

from ._block import RowBlock
from ._features import FeaturesOf

Given = list[Any]  # a block, and the values of its rows


def outputs_at(
    given: Given, factors: tuple[float, ...], shift: np.ndarray, classes: int
) -> tuple[LogisticLoss, np.ndarray]:
    """Return the loss of a block, and the outputs of its rows."""
    block, *terms = given
    weights = np.ones(len(block)) if block.weights is None else block.weights
    loss = make_loss(block.y, classes, weights)
    outputs = np.zeros((len(block), loss.outputs)) + shift
    for factor, term in zip(factors, terms, strict=True):
        outputs += factor * term
    return loss, outputs


def values_of(block: RowBlock, features: FeaturesOf, weights: np.ndarray) -> np.ndarray:
    out = np.empty((len(block), weights.shape[1]))
    for rows, phi in features(block):
        out[rows] = phi @ weights
    return out


def loss_of(given: Given, factors: Any, shift: np.ndarray, classes: int) -> np.ndarray:
    loss, outputs = outputs_at(given, factors, shift, classes)
    return np.asarray(loss.value(outputs))


def residual_sums(given: Given, factors: Any, shift: np.ndarray, classes: int) -> np.ndarray:
    loss, outputs = outputs_at(given, factors, shift, classes)
    return sums_of(loss.residuals(outputs))


def curvature_sums(given: Given, factors: Any, shift: np.ndarray, classes: int) -> np.ndarray:
    loss, outputs = outputs_at(given, factors, shift, classes)
    return np.asarray(loss.curvature(outputs, intercept=False).blocks().sum(axis=0))


def share_of(given: Given, factors: Any, shift: np.ndarray, classes: int, of: tuple[np.ndarray, int]) -> Share:
    loss, outputs = outputs_at(given, factors, shift, classes)
    b, q = of
    # The outputs hold the intercepts of all classes; the one of this class is what is looked for.
    return loss.share(outputs - (b if loss.outputs > 1 else 0.0), b, q)


def range_of(given: Given, factors: Any, shift: np.ndarray, classes: int, of: Any) -> tuple[float, float]:
    if of is None:
        outputs = outputs_at(given, factors, shift, classes)[1]
        return float(outputs.min()), float(outputs.max())
    values = share_of(given, factors, shift, classes, of).values  # a block need not hold points of the class
    return float(values.min()), float(values.max())


def share_at(given: Given, factors: Any, shift: np.ndarray, classes: int, of: Any, b: float) -> np.ndarray:
    return np.array(share_of(given, factors, shift, classes, of).at(b))


def gradient_of(given: Given, factors: Any, shift: np.ndarray, classes: int, features: FeaturesOf) -> np.ndarray:
    loss, outputs = outputs_at(given, factors, shift, classes)
    R = loss.residuals(outputs)
    total = np.zeros((len(features.triangle), R.shape[1]))
    for rows, phi in features(given[0]):
        total += phi.image(R[rows])
    return total


def hessian_of(
    given: Given, factors: Any, shift: np.ndarray, classes: int, features: FeaturesOf, joint: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ΦᵀWΦ (of all pairs of outputs, or of each alone), ΦᵀW1 and 1ᵀW1."""
    loss, outputs = outputs_at(given, factors, shift, classes)
    W = loss.curvature(outputs, intercept=False).blocks()
    m, q = len(features.triangle), loss.outputs
    root2 = None if joint else loss.curvature(outputs, intercept=False).root ** 2
    H = np.zeros((m * q, m * q)) if joint else np.zeros((q, m, m))
    B = np.zeros((m * q, q))
    for rows, phi in features(given[0]):
        for i in range(q):
            B[i::q] += phi.image(W[rows, i])
            if root2 is not None:
                H[i] += phi.bent(root2[rows, i])
                continue
            for j in range(i + 1):
                part = phi.bent(W[rows, i, j])
                H[i::q, j::q] += part
                if j < i:
                    H[j::q, i::q] += part.T
    return H, B, W.sum(axis=0)


def curved_of(
    given: Given, factors: Any, shift: np.ndarray, classes: int, features: FeaturesOf, V: np.ndarray
) -> np.ndarray:
    """Return ΦᵀWΦV."""
    loss, outputs = outputs_at(given, factors, shift, classes)
    W = loss.curvature(outputs, intercept=False).blocks()
    total = np.zeros_like(V)
    for rows, phi in features(given[0]):
        total += phi.image(np.einsum("nij,nj->ni", W[rows], phi @ V))
    return total
