"""What a fit of any smooth loss would say of each point without it, from one Newton step.

Without point i the gradient at the fit of all points is that of its own loss.  The step that corrects it moves the
outputs at xᵢ by −(I − CᵢᵢWᵢ)⁻¹CᵢᵢRᵢ, with C the covariance that the quadratic model gives the outputs, W the curvature
of the loss and R the residual: the exact leave-one-out of the weighted ridge problem in which Newton's method ended.
For the squared loss it is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import blas, solve_triangular

from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.formula.data import length, take
from mercer.gram import Gram
from mercer.linalg.decomposition import decompose
from mercer.linalg.unlocked import invert_definite

from ..base import Problem
from .curvature import Curvature, DiagonalCurvature
from .sums import WeightedLoss

LEAST = 1e-6  # of 1 − leverage: less would be rounding, of a point that nothing else determines
TOGETHER = 3000  # unknowns up to which the functions of several classes are moved together
NULL = 1e-12  # of the largest eigenvalue of the kernel between centres: smaller ones are rounding
BLOCK = 2**22  # entries of features in work at a time


def leave_out(problem: Problem, loss: WeightedLoss, alpha: float, function: Expansion) -> np.ndarray:
    """Return the outputs, shape (n, Q), that each point of a fitted problem would get without it, by one Newton step.

    A function with a coefficient for every point is moved among all functions of the kernel, which takes a factor of
    the n × n matrix; one with fewer centres among those of its centres, which takes n·m² operations for m of them.
    Several classes are moved together while they make up to 3,000 equations, and each as if the others stayed beyond.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.models.logistic import KernelLogisticRegression
    >>> from mercer.solvers.newton.sums import label_loss
    >>> X = np.linspace(-2.0, 2.0, 30).reshape(-1, 1)
    >>> y = (np.sin(5.0 * X[:, 0]) + X[:, 0] > 0).astype(int)
    >>> model = KernelLogisticRegression(1.0, kernel=Gaussian(), n_centers=6, random_state=0).fit(X, y)
    >>> problem = Problem(Gaussian(), X, np.zeros((30, 1)), fit_intercept=True)
    >>> leave_out(problem, label_loss(y, 2, np.ones(30)), 1.0, model.expansion_).shape
    (30, 1)
    """
    n, q, m = problem.n, loss.outputs, length(function.centers)
    X = host_array(problem.X)
    outputs = np.asarray(function(X, memory=problem.memory)).reshape(n, q)
    if m < n:
        centers = host_array(function.centers)
        values, vectors = decompose(Gram(problem.kernel, centers, memory=problem.memory, dtype=np.float64).dense())
        kept = values > NULL * max(values.max(initial=0.0), 0.0)
        map_ = vectors[:, kept] / np.sqrt(values[kept])
        width = map_.shape[1] + int(problem.fit_intercept)
        together = loss.joint and width * q <= TOGETHER
        unknowns = width * q if together else width
        remedy = "give more memory, or fit with fewer centres"
        require(24.0 * unknowns**2 + 64.0 * BLOCK, problem.memory, f"leaving points out of {m} centres", remedy)
        step = max(1, BLOCK // max(m, unknowns * (q if together else 1)))

        def features(start: int) -> np.ndarray:
            part = take(X, start, min(start + step, n))
            phi = Gram(problem.kernel, part, centers, memory=problem.memory, dtype=np.float64).dense() @ map_
            return np.column_stack([phi, np.ones((len(phi), int(problem.fit_intercept)))])

        blocks = range(0, n, step)
        left = _leave_out_of_features(features, blocks, outputs, loss, alpha, problem.fit_intercept, together)
        return _balance(left, outputs) if loss.joint else left
    together = loss.joint and n * q <= TOGETHER
    unknowns = n * q if together else n
    remedy = "give more memory, or fit with n_centers"
    require(8.0 * (n**2 + 2.0 * unknowns**2), problem.memory, f"leaving points out of a fit to {n}", remedy)
    K = Gram(problem.kernel, X, memory=problem.memory, dtype=np.float64).dense()
    left = approximate_loo(K, outputs, loss, alpha, problem.fit_intercept, together=together)
    return _balance(left, outputs) if loss.joint else left


def _balance(left: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Let the sum over classes be what it was: it changes no probability, and no fit changes it."""
    return np.asarray(left + (outputs - left).mean(axis=1, keepdims=True))


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
    parts = _split(outputs, loss, fit_intercept, together)
    return np.asarray(outputs - np.hstack([_measure_moves(K, *part, alpha) for part in parts]))


def _split(
    outputs: np.ndarray, loss: WeightedLoss, fit_intercept: bool, together: bool
) -> list[tuple[Curvature, np.ndarray]]:
    """Return curvatures and residuals: of all functions, or of one after the other as if the rest stayed."""
    curvature, residuals = loss.curvature(outputs, fit_intercept, raised=True), loss.residuals(outputs)
    if loss.joint and together:
        return [(curvature, residuals)]
    bends, ones = np.einsum("nii->ni", curvature.blocks()), np.ones(len(outputs))
    return [
        (DiagonalCurvature(ones, bends[:, [q]], fit_intercept, flat=False), residuals[:, [q]])
        for q in range(loss.outputs)
    ]


def _leave_out_of_features(
    features: Callable[[int], np.ndarray], starts: range, outputs: np.ndarray, loss: WeightedLoss, alpha: float,
    fit_intercept: bool, together: bool,
) -> np.ndarray:  # fmt: skip
    """Return the same for functions wᵀφ(x), the constant being the last feature, and not penalised.

    With Aᵢ = φᵢ ⊗ Sᵢ and H = Σ AᵢAᵢᵀ + 2α, the leverage of a point in units of its root is AᵢᵀH⁻¹Aᵢ.
    """
    moves = []
    for curvature, residuals in _split(outputs, loss, fit_intercept, together):
        (n, q), H = residuals.shape, np.zeros((0, 0))
        S = _find_roots(curvature, residuals.shape)

        def spread(start: int, S: np.ndarray = S, q: int = q) -> np.ndarray:
            phi = features(start)
            rows = np.einsum("nj,nab->nbja", phi, S[start : start + len(phi)])
            return np.asarray(rows.reshape(len(phi) * q, phi.shape[1] * q))

        for start in starts:
            A = spread(start)
            H = A.T @ A if start == 0 else H + A.T @ A
        penalty = np.repeat(2.0 * alpha, H.shape[0])
        if fit_intercept:
            penalty[-q:] = 0.0
            # The constants of all classes together change no probability, and no residual has a part along them.
            H[-q:, -q:] += (float(np.trace(H[-q:, -q:])) or 1.0) / q**2 if q > 1 else 0.0
        H.flat[:: len(H) + 1] += penalty
        try:
            factor = np.linalg.cholesky(H)
        except np.linalg.LinAlgError:
            raise np.linalg.LinAlgError(
                f"points cannot be left out with alpha = {alpha:g}; give a larger alpha"
            ) from None
        leverages = np.empty((n, q, q))
        for start in starts:
            Z = solve_triangular(factor, spread(start).T, lower=True, check_finite=False)
            Z = Z.reshape(len(Z), -1, q)
            leverages[start : start + Z.shape[1]] = np.einsum("pna,pnb->nab", Z, Z)
        moves.append(_move_points(curvature, leverages, residuals))
    return np.asarray(outputs - np.hstack(moves))


def _find_roots(curvature: Curvature, shape: tuple[int, ...]) -> np.ndarray:
    """Return S of every point as a matrix, shape (n, Q, Q)."""
    n, q = shape
    return np.stack([curvature.half(np.tile(unit, (n, 1))) for unit in np.eye(q)], axis=2)


def _measure_moves(K: np.ndarray, curvature: Curvature, residuals: np.ndarray, alpha: float) -> np.ndarray:
    """Return (I − L)⁻¹L times what a unit of residual moves, with L the leverage of each point in units of its root."""
    (n, q), identity = residuals.shape, np.eye(residuals.shape[1])
    S = _find_roots(curvature, residuals.shape) / np.sqrt(2.0 * alpha)
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
    return _move_points(curvature, identity - kept, residuals)


def _move_points(curvature: Curvature, leverages: np.ndarray, residuals: np.ndarray) -> np.ndarray:
    """Return what leaving out moves, given the leverage of each point in units of its root, shape (n, Q, Q)."""
    n, q = residuals.shape
    project = np.stack([curvature.project(np.tile(unit, (n, 1))) for unit in np.eye(q)], axis=2)
    values, vectors = np.linalg.eigh(project @ leverages @ project)
    values = np.clip(values, 0.0, 1.0 - LEAST)
    scaled = curvature.divide(residuals)
    moved = np.einsum("nij,nj->ni", vectors, values / (1.0 - values) * np.einsum("nij,ni->nj", vectors, scaled))
    return np.asarray(moved / curvature.root)
