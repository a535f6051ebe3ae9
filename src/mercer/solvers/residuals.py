"""What the direct solvers share: penalties checked, and the true residual of an answer."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mercer.arrays.columns import norms, units
from mercer.arrays.tensors import host_array

from .base import Problem

EPS = float(np.finfo(np.float64).eps)
NEGLIGIBLE = 1e-3  # share of y below which it does not matter how much closer to y a fit could be
ROUNDING = 16 * EPS  # a residual below this share of y is nothing but the rounding of y


class Multiplier(Protocol):
    """Anything that multiplies: the lazy Gram matrix or an array."""

    def __matmul__(self, V: Any, /) -> np.ndarray:
        """Return K @ V."""


def penalties(alpha: Any, q: int) -> np.ndarray:
    """Return one finite penalty of at least 0 for each of q outputs.

    Examples
    --------
    >>> from mercer.solvers.residuals import penalties
    >>> penalties(0.5, 2)
    array([0.5, 0.5])
    """
    values = np.asarray(alpha, dtype=np.float64)
    if values.ndim > 1 or values.size not in (1, q):
        raise ValueError(f"alpha must be one number, or one for each of the {q} outputs; got shape {values.shape}")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(f"alpha must be finite and not negative, got {values}; give a positive penalty")
    return np.broadcast_to(values.ravel(), (q,)).copy()


def relative_residuals(
    problem: Problem, gram: Multiplier, y: np.ndarray, coef: np.ndarray, intercept: np.ndarray, alpha: np.ndarray
) -> np.ndarray:
    """Return the certificate √(rᵀWr / S) of ridge for each column, r = y − b − (K + αW⁻¹)c.

    What rounding of the product Kc may hide is added to the residual.  At α = 0, where least squares leave an r of any
    size, it is that of the normal equations, ‖KWr‖ / (tr(KW) ‖y‖), all norms being those of W.  Where all of S is no
    larger than the rounding of y, as for a constant y, it is 0.

    Parameters
    ----------
    problem : Problem
        The problem, for its weights.
    gram : Gram or array
        The true matrix K.
    y, coef : array of shape (n, p)
        Targets and coefficients, a column for each solution.
    intercept, alpha : array of shape (p,)
        b and α of each.

    Returns
    -------
    array of shape (p,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers import Problem, relative_residuals
    >>> X, y, zero = np.array([[1.0], [3.0]]), np.array([[1.0], [2.0]]), np.zeros(1)
    >>> K, one = Linear()(X), np.ones(1)
    >>> relative_residuals(Problem(Linear(), X, y), K, y, np.linalg.solve(K + np.eye(2), y), zero, one) < 1e-15
    array([ True])
    >>> relative_residuals(Problem(Linear(), X, y), K, y, np.zeros((2, 1)), zero, one).round(6)
    array([1.])
    """
    return judge_solutions(problem, gram, y, coef, intercept, alpha)[0]


def judge_solutions(
    problem: Problem,
    gram: Multiplier,
    y: np.ndarray,
    coef: np.ndarray,
    intercept: np.ndarray,
    alpha: np.ndarray,
    known: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return :func:`relative_residuals`, and what the same errors say of the objective: loss and penalty, (2, p).

    ``known`` is the diagonal of K, where somebody has it.
    """
    unit = units(y)
    y, coef, intercept = y / unit, coef / unit, intercept / unit
    roots = np.sqrt(1.0 / problem.noise)[:, None]
    image = host_array(gram @ coef)
    errors = roots * (y - intercept - image)
    left = errors - alpha * coef / roots
    parts = np.array([np.sum(errors**2, axis=0), alpha * np.sum(coef * image, axis=0)])
    size = norms(roots * y)
    weights = roots**2
    centre = np.sum(weights * y, axis=0) / np.sum(weights) if problem.fit_intercept else 0.0
    spread = target_spread(y - centre, weights)
    if known is None:
        known = np.diagonal(gram) if isinstance(gram, np.ndarray) else problem.kernel.diag(host_array(problem.X))
    diagonal = np.abs(known)[:, None]
    hidden = np.hypot(norms(left), product_rounding(roots, diagonal, coef))
    found = gap_ratios(hidden, np.abs(parts).sum(axis=0), spread, ROUNDING * size)
    free = alpha == 0
    if free.any():
        normal = norms(roots * host_array(gram @ (roots * left[:, free])))
        found[free] = ratios(normal, float((diagonal * roots**2).sum()) * size[free], ROUNDING * size[free])
    return found, in_squares(parts, unit)


def in_squares(parts: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return sums of squares that were formed in units of y, infinite where float64 has no number so large.

    Examples
    --------
    >>> import numpy as np
    >>> in_squares(np.array([3.0, 3.0]), np.array([2.0, 1e200]))
    array([12., inf])
    """
    with np.errstate(over="ignore", under="ignore"):
        return parts * unit * unit


def gap_ratios(root: np.ndarray, objective: np.ndarray, spread: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """Return the certificate of ridge: the root of a gap over that of S = P + (1e-3 times the spread of y)².

    Parameters
    ----------
    root : array of shape (p,)
        The root of the duality gap of each column, with what rounding may hide of it.
    objective, spread : array of shape (p,)
        P, and what :func:`target_spread` says of the targets.
    floor : array of shape (p,)
        What is nothing but the rounding of y.
    """
    return ratios(root, np.hypot(np.sqrt(objective), NEGLIGIBLE * spread), floor)


def target_spread(centred: Any, weights: Any) -> np.ndarray:
    """Return √Σ min(w, w₀)y² for each column of targets without their mean, w₀ being the ordinary weight.

    Examples
    --------
    >>> import numpy as np
    >>> target_spread(np.array([[3.0], [4.0], [0.0]]), np.array([[1.0], [1.0], [1e13]]))
    array([5.])
    """
    return norms(weights.clip(max=ordinary_weight(host_array(weights))) ** 0.5 * centred)


def ordinary_weight(weights: np.ndarray) -> float:
    """Return the lower median of the weights: heavier points are fitted more closely, and do not say how closely.

    Examples
    --------
    >>> import numpy as np
    >>> ordinary_weight(np.array([1.0, 1e13, 2.0, 1.0]))
    1.0
    """
    values = np.ravel(weights)
    return float(np.partition(values, (len(values) - 1) // 2)[(len(values) - 1) // 2])


def product_rounding(roots: Any, diagonal: Any, coef: Any) -> np.ndarray:
    """Return what rounding of Kc alone amounts to in the norm of W, ε √(Σ wᵢkᵢᵢ) √(Σ kⱼⱼcⱼ²), for each column of c.

    A residual cannot be known better than that, however small the number that was computed for it.  By |kᵢⱼ|² ≤ kᵢᵢkⱼⱼ
    it is an upper bound of the root of the sum of squares of all roundings.
    """
    return np.asarray(EPS * norms(roots * diagonal**0.5)[0] * norms(diagonal**0.5 * coef))


def ratios(left: np.ndarray, scale: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """Return left/scale, 0 where both are at most the floor, and infinity where only the scale is 0.

    Examples
    --------
    >>> import numpy as np
    >>> ratios(np.array([1.0, 1e-20, 1.0]), np.array([2.0, 0.0, 0.0]), np.full(3, 1e-16)).tolist()
    [0.5, 0.0, inf]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((left <= floor) & (scale <= floor), 0.0, left / scale)
