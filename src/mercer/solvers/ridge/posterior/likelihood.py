"""The marginal likelihood of ridge, and its gradient by the logarithms of α and of every hyperparameter.

With A = K + αW⁻¹ let G = A⁻¹, or G = A⁻¹ − ηηᵀ/1ᵀη, η = A⁻¹1, if there is an intercept, and C = GY.  Then
dG = −G dA G in both cases, and d(log|A| + log 1ᵀη) = ⟨G, dA⟩, so that for q targets

    d log p = ⟨M, dA⟩,   M = ½ (CCᵀ − qG).

One matrix M serves every hyperparameter, as that of the leave-one-out error does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lapack

from mercer.arrays.budget import require
from mercer.linalg.triangles import mirror

from ...base import Problem
from ..loo_gradient import inner_gradient

MATRICES = 5  # n × n in float64, with those of a gradient


@dataclass(frozen=True)
class Likelihood:
    """log p(y) of all targets together, and its gradient: by log θ, and by the log α of each target."""

    value: float
    by_log_hyperparameter: dict[str, float] = field(default_factory=dict)
    by_log_alpha: np.ndarray = field(default_factory=lambda: np.empty(0))


def find_likelihood(problem: Problem, penalty: np.ndarray, *, gradient: bool = False) -> Likelihood:
    """Return the log marginal likelihood of a problem on the host, restricted if it has an intercept.

    Parameters
    ----------
    problem : Problem
        Kernel, points, targets of shape (n, q), and weights.
    penalty : array of shape (q,)
        The variance α > 0 of the noise of each target.
    gradient : bool
        Whether its gradient is wanted too, in O(n³) whatever the number of hyperparameters.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> problem = Problem(Linear(), np.array([[1.0], [2.0]]), np.array([[1.0], [2.0]]))
    >>> round(find_likelihood(problem, np.ones(1)).value, 4)
    -3.1504
    """
    n, X, y = problem.n, problem.X, problem.y
    require(
        8.0 * MATRICES * n * n, problem.memory, f"the likelihood of {n} points", "give more memory, or fewer points"
    )
    value, alphas = 0.0, np.unique(penalty)
    whole, by_alpha = None, np.zeros(len(penalty))
    K = np.ascontiguousarray(problem.gram(dtype=np.float64).dense())
    for alpha in alphas:
        columns = np.flatnonzero(penalty == alpha)
        A = K.copy() if len(alphas) > 1 else K
        A[np.diag_indices(n)] += alpha * problem.noise
        G, determinant = invert_with_determinant(A, problem, float(alpha))
        if problem.fit_intercept:
            eta = G.sum(axis=1)
            determinant += math.log(eta.sum())
            G -= np.outer(eta, eta / eta.sum())
        C = G @ y[:, columns]
        each = np.einsum("ij,ij->j", y[:, columns], C)
        constant = determinant + (n - problem.fit_intercept) * math.log(2.0 * math.pi)
        value -= 0.5 * float(each.sum() + len(columns) * constant)
        if gradient:
            leverage, squares = G.diagonal()[:, None], C**2
            by_alpha[columns] = 0.5 * alpha * problem.noise @ (squares - leverage)
            G *= -0.5 * len(columns)
            G += 0.5 * C @ C.T
            whole = G if whole is None else whole + G
    if whole is None:
        return Likelihood(value)
    return Likelihood(value, inner_gradient(problem.kernel, X, whole), by_alpha)


def invert_with_determinant(A: np.ndarray, problem: Problem, alpha: float) -> tuple[np.ndarray, float]:
    """Return the inverse of a positive definite matrix, which is overwritten, and the logarithm of its determinant."""
    L, failed = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError(
            f"K + αW⁻¹ of {problem.kernel!r} is not positive definite to rounding with alpha={alpha:.3g}; take a "
            "larger alpha"
        )
    determinant = 2.0 * float(np.log(L.diagonal()).sum())
    inverse, _ = lapack.dpotri(L, lower=1, overwrite_c=1)
    return mirror(inverse), determinant
