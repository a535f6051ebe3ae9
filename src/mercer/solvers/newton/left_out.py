"""What a fit of any smooth loss would say of each point without it, from one Newton step.

Let wᵢ be the curvature of the loss of a point at the minimum, gᵢ its slope, and B = I + W^½KW^½/2α.  Without the point
the minimum moves by one Newton step to

    f₋ᵢ(xᵢ) = f(xᵢ) + gᵢ (1/(B⁻¹)ᵢᵢ − 1)/wᵢ,

which is exact for the squared loss.  An intercept takes its share of B⁻¹ away.  Of several classes each is moved alone,
as if against all others.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from mercer.linalg.unlocked import invert_definite

from .method import State
from .sums import WeightedLoss

FLAT = 1e-10  # curvature below which a point does not bend its function
LEAST = 1e-6  # of what is left of a point beside its own weight: less would be rounding


def leave_one_out(
    K: np.ndarray, loss: WeightedLoss, state: State, alpha: float, *, fit_intercept: bool, count: int | None = None
) -> np.ndarray:
    """Return the outputs at points of fits without each of them, of shape (count, Q), nearly.

    Parameters
    ----------
    K : array of shape (n, n)
        The kernel matrix.
    loss : WeightedLoss
        The loss of the points.
    state : State
        The minimum.
    alpha : float
        The penalty.
    fit_intercept : bool
        Whether there is an intercept.
    count : int, optional
        How many points are left out, the first ones; all if not given.

    Examples
    --------
    Squares of two points, which know nothing of each other:

    >>> import numpy as np
    >>> from mercer.losses import Squared
    >>> from mercer.solvers.newton.sums import weigh_loss
    >>> loss, y = weigh_loss(Squared(), np.array([1.0, 2.0]), np.ones(2), 1), np.array([[1.0], [2.0]])
    >>> fitted = State(y / 2, y / 2, np.zeros(1), 0.0)
    >>> bool(np.allclose(leave_one_out(np.eye(2), loss, fitted, 1.0, fit_intercept=False), 0.0))
    True
    """
    n = len(K) if count is None else count
    curves = np.einsum("nii->ni", loss.curvature(state.outputs).blocks())
    moved = [_measure(K, np.maximum(w, FLAT), alpha, fit_intercept) for w in curves.T]
    return np.asarray(state.outputs[:n] - (np.column_stack(moved) * loss.residuals(state.outputs))[:n])


def _measure(K: np.ndarray, weights: np.ndarray, alpha: float, fit_intercept: bool) -> np.ndarray:
    """Return (1/(B⁻¹)ᵢᵢ − 1)/wᵢ of all points, with the part of the intercept taken from B⁻¹."""
    root = np.sqrt(weights)
    B = K * root[:, None] * (root / (2.0 * alpha))[None, :]
    B[np.diag_indices_from(B)] += 1.0
    if not invert_definite(B):
        raise np.linalg.LinAlgError(f"points cannot be left out with alpha = {alpha:g}; give a larger alpha")
    left = np.diagonal(B).copy()
    if fit_intercept:
        constant = blas.dsymv(1.0, B.T, root)  # of the lower triangle, which is the upper one of Bᵀ
        left -= constant**2 / max(float(root @ constant), np.finfo(float).tiny)
    return (1.0 / np.clip(left, LEAST, 1.0) - 1.0) / weights
