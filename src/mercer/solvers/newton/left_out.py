"""What a fit of any smooth loss in features would say of each point without it, from one Newton step.

Let H be the curvature of the whole objective at its minimum, Wᵢ that of the loss of a point and gᵢ its slope.  Without
the point the minimum moves by one Newton step to

    f₋ᵢ(xᵢ) = f(xᵢ) + sᵢ/(1 − sᵢWᵢ) gᵢ,   sᵢ = φᵢᵀH⁻¹φᵢ,

which is exact for the squared loss.  Of several classes each is moved alone, as if against all others.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import cast, einsum, namespace
from mercer.linalg.cholesky import solve_half

from .features import FeatureSpace, factorize_curvature
from .method import State
from .rows import FeatureRows, weigh_features

LEAST = 1e-3  # of what is left of a point beside its own weight: less would be rounding


def leave_one_out(space: FeatureSpace, state: State, alpha: float, count: int | None = None) -> Array:
    """Return the outputs at points of fits without each of them, of shape (count, Q), nearly.

    Parameters
    ----------
    space : FeatureSpace
        The features of points on one machine, with their loss.
    state : State
        The minimum in it.
    alpha : float
        The penalty.
    count : int, optional
        How many points are left out, the first ones; all if not given.
    """
    rows = space.rows
    assert isinstance(rows, FeatureRows)
    W = einsum("nii->ni", rows.loss.curvature(state.outputs).blocks())
    n = len(W) if count is None else count
    leverages = [_measure(rows, W[:, i], alpha, space.fit_intercept, n) for i in range(W.shape[1])]
    S = namespace(W).stack(leverages, axis=1)
    return state.outputs[:n] - S / (1.0 - S * W[:n]).clip(LEAST) * rows.loss.residuals(state.outputs)[:n]


def _measure(rows: FeatureRows, weights: Array, alpha: float, fit_intercept: bool, count: int) -> Array:
    """Return φᵀ(ΦᵀWΦ + 2αI)⁻¹φ of some points, with the constant beside the features if there is an intercept."""
    total, m = float(weights.sum()), rows.shape[0]
    centered = fit_intercept and total > 0
    H, mean = rows.loss.zeros(m, m), rows.loss.zeros(m)
    for part, phi in rows.features.blocks():
        H += weigh_features(phi, weights[part])
        mean += cast(phi, mean).T @ weights[part] / (total if centered else np.inf)
    H -= total * mean[:, None] * mean[None, :]
    factor = factorize_curvature(H, alpha, float(H.trace()) + total * float(mean @ mean))
    out = rows.loss.zeros(count)
    for part, phi in rows.features.blocks():
        where = slice(part.start, min(part.stop, count))
        if where.start < where.stop:
            away = cast(phi[: where.stop - where.start], mean) - mean[None, :]
            half = solve_half(factor, away.T)
            out[where] = einsum("mn,mn->n", half, half)
    return out + (1.0 / total if centered else 0.0)
