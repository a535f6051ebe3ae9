"""Leaving one point out of a logistic fit, approximately: one Newton step from the fit of all points.

Without point i the gradient at the fit is that of its own loss.  The Newton step that corrects it moves the outputs at
xᵢ by −(I − CᵢᵢWᵢ)⁻¹CᵢᵢRᵢ, with C the covariance that the quadratic model gives the outputs, W the curvature of the loss
and R the residual: the exact leave-one-out of the weighted ridge problem in which Newton's method ended.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .labels import LabelledLoss

LEAST = 1e-10  # of 1 − leverage: a point that nothing else determines


def approximate_loo(
    K: np.ndarray, outputs: np.ndarray, loss: LabelledLoss, alpha: float, fit_intercept: bool
) -> np.ndarray:
    """Return the outputs that each point would get from a fit without it.

    Parameters
    ----------
    K : array of shape (n, n)
        The kernel matrix, in float64.
    outputs : array of shape (n, Q)
        f(xᵢ) + b of the fit of all points.
    loss : LabelledLoss
        The loss that was minimised.
    alpha : float
        The penalty.
    fit_intercept : bool
        Whether there is an intercept.

    Returns
    -------
    array of shape (n, Q)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.models.logistic import KernelLogisticRegression
    >>> from mercer.solvers.newton.labels import make_loss
    >>> X = np.linspace(-2.0, 2.0, 30).reshape(-1, 1)
    >>> y = (np.sin(5.0 * X[:, 0]) + X[:, 0] > 0).astype(int)
    >>> model = KernelLogisticRegression(1.0, kernel=Gaussian()).fit(X, y)
    >>> outputs = model.decision_function(X)[:, None]
    >>> left_out = approximate_loo(Gaussian()(X), outputs, make_loss(y, 2, np.ones(30)), 1.0, True)
    >>> without_7 = KernelLogisticRegression(1.0, kernel=Gaussian()).fit(np.delete(X, 7, 0), np.delete(y, 7))
    >>> bool(np.isclose(left_out[7, 0], without_7.decision_function(X[7:8])[0], atol=0.01))
    True
    """
    n, q = outputs.shape
    curvature = loss.curvature(outputs, fit_intercept)
    units = [np.tile(unit, (n, 1)) for unit in np.eye(q)]
    S = np.stack([curvature.half(unit) for unit in units], axis=2)  # of each point
    A = np.empty((n * q, n * q))
    for a in range(q):
        for b in range(q):
            A[a::q, b::q] = K * (S[:, :, a] @ S[:, :, b].T)
    U = curvature.constants.reshape(n * q, -1)
    A -= U @ (U.T @ A)
    A -= (A @ U) @ U.T
    A.flat[:: n * q + 1] += 2 * alpha
    inverse = cho_solve(cho_factor(A, lower=True, overwrite_a=True, check_finite=False), np.eye(n * q))
    # What constants take up is fitted whatever the penalty: nothing of it stays in the residuals.
    kept = 2 * alpha * inverse - U @ U.T
    index = np.arange(n)
    diagonal = kept.reshape(n, q, n, q)[index, :, index, :]
    project = np.stack([curvature.project(unit) for unit in units], axis=2)
    leverage = project @ (np.eye(q) - diagonal) @ project
    values, vectors = np.linalg.eigh((leverage + leverage.swapaxes(1, 2)) / 2)
    values = np.clip(values, 0.0, 1.0 - LEAST)
    scaled = curvature.divide(loss.residuals(outputs))
    moved = np.einsum("nij,nj->ni", vectors, values / (1.0 - values) * np.einsum("nij,ni->nj", vectors, scaled))
    return np.asarray(outputs - moved / curvature.root)
