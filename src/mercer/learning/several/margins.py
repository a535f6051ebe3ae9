"""Weights of several kernels from the margin between classes: EasyMKL of Aiolli and Donini (2015).

With the sum K = ΣKₖ, labels y = ±1 and 0 ≤ λ ≤ 1, let γ be a point of each class's simplex (γ ≥ 0, Σγ = 1 over either
class) with the least γᵀY((1 − λ)K + λI)Yγ.  For λ = 0 this is the squared distance between the convex hulls of the
classes, twice the margin; for λ = 1 γ is uniform, and it is the distance between their means.  A kernel's weight is its
share of that distance, wₖ ∝ γᵀYKₖYγ.  Of more than two classes each is parted from all others, and weights are means.

With β = Yγ this is the dual problem of a support vector machine without targets, whose sums are +1 and −1.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays.namespace import add_to_diagonal
from mercer.solvers.machines.dual import DualProblem
from mercer.solvers.machines.smo import SMO

from .dense import combine, dense_solution, square_norms

TOL = 1e-4  # of the relative duality gap


def margin_weights(
    stack: np.ndarray, codes: np.ndarray, *, lam: float = 0.1, weights: np.ndarray | None = None, tol: float = TOL
) -> np.ndarray:
    """Return weights w ≥ 0 with Σw = 1 by EasyMKL; all are equal if no kernel tells the classes apart.

    Parameters
    ----------
    stack : array of shape (m, n, n)
        The kernel matrices, in comparable units, C-contiguous.
    codes : array of int, shape (n,)
        The classes of the points, 0, 1, …, each of which occurs.
    lam : float, default=0.1
        λ, from 0, which looks at the points closest to the other class alone, to 1, which counts all points alike.
    weights : array of shape (n,), optional
        Positive weights of the points: λ/wᵢ stands for λ, so that a whole number counts as so many equal points.
    tol : float
        The relative duality gap of each problem.

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learning.several.margins import margin_weights
    >>> x, z = np.array([-1.0, -1.0, 1.0, 1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    >>> margin_weights(np.array([np.outer(x, x), np.outer(z, z)]), np.array([0, 0, 1, 1])).round(3)
    array([1., 0.])
    """
    total = combine(np.full(len(stack), 1.0 - lam), stack)
    add_to_diagonal(total, np.full(len(codes), lam) if weights is None else lam / weights)
    classes = int(codes.max()) + 1
    shares = [_margin_shares(stack, total, codes == c, weights, tol) for c in range(1 if classes == 2 else 0, classes)]
    mean = np.mean(shares, axis=0)
    return mean / mean.sum()


def _margin_shares(
    stack: np.ndarray, total: np.ndarray, positive: np.ndarray, weights: np.ndarray | None, tol: float
) -> np.ndarray:
    """Return the share of every kernel in the distance of a class from all others."""
    order, second = np.argsort(~positive, kind="stable"), int(positive.sum())
    signs = np.where(positive[order], 1.0, -1.0)
    # From the means of the classes, where λ = 1 ends.
    start = signs.copy() if weights is None else signs * weights[order]
    for group in (slice(0, second), slice(second, None)):
        start[group] /= np.abs(start[group]).sum()
    problem = DualProblem(np.zeros(len(signs)), np.minimum(signs, 0.0), np.maximum(signs, 0.0), start, second=second)
    found = dense_solution(SMO(tol), total[np.ix_(order, order)], problem)
    beta = np.empty(len(signs))
    beta[order] = found.beta
    shares = np.maximum(square_norms(stack, beta), 0.0)
    return shares / shares.sum() if shares.sum() > 0 else np.full(len(stack), 1.0 / len(stack))
