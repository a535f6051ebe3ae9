"""What a fit of any smooth loss would say of each point without it, from one Newton step.

Without point i the gradient at the fit of all points is that of its own loss.  The step that corrects it moves the
outputs at xᵢ by −(I − CᵢᵢWᵢ)⁻¹CᵢᵢRᵢ, with C the covariance that the quadratic model gives the outputs, W the curvature
of the loss and R the residual: the exact leave-one-out of the weighted ridge problem in which Newton's method ended.
For the squared loss it is exact.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from mercer.linalg.unlocked import invert_definite

from .curvature import Curvature, DiagonalCurvature
from .sums import WeightedLoss

LEAST = 1e-6  # of 1 − leverage: less would be rounding, of a point that nothing else determines


def approximate_loo(
    K: np.ndarray, outputs: np.ndarray, loss: WeightedLoss, alpha: float, fit_intercept: bool, *, together: bool = True
) -> np.ndarray:
    """Return the outputs that each point would get from a fit without it.

    Parameters
    ----------
    K : array of shape (n, n)
        The kernel matrix.
    outputs : array of shape (n, Q)
        Those of the fit of all points.
    loss : WeightedLoss
        The loss of the points.
    alpha : float
        The penalty.
    fit_intercept : bool
        Whether there is an intercept.
    together : bool
        Whether the functions of a loss that needs all of them are moved together, which takes a matrix of nQ rows.
        Otherwise each is moved as if the others stayed: Q matrices of n rows.

    Returns
    -------
    array of shape (n, Q)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.models.logistic import KernelLogisticRegression
    >>> from mercer.solvers.newton.sums import label_loss
    >>> X = np.linspace(-2.0, 2.0, 30).reshape(-1, 1)
    >>> y = (np.sin(5.0 * X[:, 0]) + X[:, 0] > 0).astype(int)
    >>> model = KernelLogisticRegression(1.0, kernel=Gaussian()).fit(X, y)
    >>> outputs = model.decision_function(X)[:, None]
    >>> left_out = approximate_loo(Gaussian()(X), outputs, label_loss(y, 2, np.ones(30)), 1.0, True)
    >>> without_7 = KernelLogisticRegression(1.0, kernel=Gaussian()).fit(np.delete(X, 7, 0), np.delete(y, 7))
    >>> bool(np.isclose(left_out[7, 0], without_7.decision_function(X[7:8])[0], atol=0.01))
    True
    """
    curvature, residuals = loss.curvature(outputs, fit_intercept, raised=True), loss.residuals(outputs)
    if loss.joint and together:
        return np.asarray(outputs - _measure_moves(K, curvature, residuals, alpha))
    bends, ones = np.einsum("nii->ni", curvature.blocks()), np.ones(len(outputs))
    moves = [
        _measure_moves(K, DiagonalCurvature(ones, bends[:, [q]], fit_intercept, flat=False), residuals[:, [q]], alpha)
        for q in range(loss.outputs)
    ]
    return np.asarray(outputs - np.hstack(moves))


def _measure_moves(K: np.ndarray, curvature: Curvature, residuals: np.ndarray, alpha: float) -> np.ndarray:
    """Return (I − L)⁻¹L times what a unit of residual moves, with L the leverage of each point in units of its root."""
    (n, q), identity = residuals.shape, np.eye(residuals.shape[1])
    units = [np.tile(unit, (n, 1)) for unit in identity]
    S = np.stack([curvature.half(unit) for unit in units], axis=2) / np.sqrt(2.0 * alpha)
    B = np.empty((n * q, n * q))
    for a in range(q):
        for b in range(q):
            np.multiply(K, S[:, :, a] @ S[:, :, b].T, out=B[a::q, b::q])
    B.flat[:: n * q + 1] += 1.0
    if not invert_definite(B):
        raise np.linalg.LinAlgError(f"points cannot be left out with alpha = {alpha:g}; give a larger alpha")
    index = np.arange(n)
    lower = np.tril(B.reshape(n, q, n, q)[index, :, index, :])
    kept = lower + lower.swapaxes(1, 2) - lower * identity
    if curvature.constants.shape[2]:  # fitted whatever the penalty: nothing of them stays in the residuals
        U = curvature.constants.reshape(n * q, -1)
        C = blas.dsymm(1.0, B.T, U)  # of the lower triangle, which is the upper one of Bᵀ
        share = C @ np.linalg.pinv(U.T @ C, hermitian=True)
        kept -= share.reshape(n, q, -1) @ C.reshape(n, q, -1).swapaxes(1, 2)
    project = np.stack([curvature.project(unit) for unit in units], axis=2)
    values, vectors = np.linalg.eigh(project @ (identity - kept) @ project)
    values = np.clip(values, 0.0, 1.0 - LEAST)
    scaled = curvature.divide(residuals)
    moved = np.einsum("nij,nj->ni", vectors, values / (1.0 - values) * np.einsum("nij,ni->nj", vectors, scaled))
    return np.asarray(moved / curvature.root)
