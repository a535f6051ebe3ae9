"""What support vector machines would say of each support vector without it: the span rule of Vapnik and Chapelle.

Let M be the margin vectors, whose coefficients are inside of their boxes, and let all other coefficients stay where
they are when point i is taken out.  Then f₋ᵢ + b₋ᵢ still has its values at the others of M, and

    f₋ᵢ(xᵢ) + b₋ᵢ = f(xᵢ) + b − βᵢSᵢ²,

where Sᵢ is the distance of φ(xᵢ) from the affine span of the others of M in the space of the kernel.  For a point of M
Sᵢ² = 1/(K̃⁻¹)ᵢᵢ, with the matrix K̃ of M bordered by ones; for others Sᵢ² = k(xᵢ, xᵢ) − vᵀK̃⁻¹v with v = (k(M, xᵢ), 1).
One factorisation gives all of them.  The rule is exact where taking out a point moves no other point onto the margin,
off it, or across; otherwise it is an estimate.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mercer.arrays.budget import require
from mercer.formula.data import Rows, pick
from mercer.gram import Gram
from mercer.kernels import Kernel

from .dual import Part
from .left_out import SNAP

JITTER = 1e-10  # of the mean of k(x, x): vectors of the span of others have no inverse, and a distance of 0
BLOCK_BYTES = 2**26  # of kernel values between margin vectors and others at a time


def estimate_left_out(
    kernel: Kernel, X: Rows, part: Part, beta: np.ndarray, values: np.ndarray, memory: int
) -> np.ndarray | None:
    """Return an estimate of f₋ᵢ(xᵢ) + b₋ᵢ for every support vector of a machine, in the order of its coefficients.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : collection of n objects
        The points.
    part : tuple of array and DualProblem
        Which of the points the machine is fitted to, and its problem with targets ±1.
    beta : array of shape (points of the machine,)
        Its solution.
    values : array of shape (support vectors,)
        f(xᵢ) + b.
    memory : int
        Budget in bytes.

    Returns
    -------
    array of shape (support vectors,), or None
        ±1 of the other class for the only point of one.  None if there are fewer than two margin vectors, from which
        nothing follows about b₋ᵢ, or if their matrix is not positive definite.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.machines.dual import DualProblem
    >>> X, y = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0]]), np.array([-1.0, -1.0, 1.0])
    >>> part = (np.arange(3), DualProblem(y, np.minimum(0, 10 * y), np.maximum(0, 10 * y), np.zeros(3)))

    Of 2x − 1 in the plane of x and y.  Without the first point it is x + y, which is 1 there:

    >>> estimate_left_out(Linear(), X, part, np.array([-1.0, -1.0, 2.0]), y, 10**6).round(3).tolist()
    [1.0, 1.0, -1.0]
    """
    index, problem = part
    support = np.flatnonzero(beta)
    own, near = beta[support], SNAP * (problem.upper - problem.lower)[support]
    free = (own - problem.lower[support] > near) & (problem.upper[support] - own > near)
    spans = np.empty(len(support))
    count = int(free.sum())
    if count < 2:
        return None
    require(
        24 * count**2, memory, f"the matrix of {count} margin vectors, with its inverse,",
        "leave points out by method='refit', which needs none",
    )  # fmt: skip
    margin = pick(X, index[support[free]])
    K = np.asarray(Gram(kernel, margin).dense(), dtype=np.float64)
    K[np.diag_indices(count)] += JITTER * float(np.trace(K)) / count
    try:
        factor = cho_factor(K, lower=True, overwrite_a=True)
    except LinAlgError:
        return None
    ones = cho_solve(factor, np.ones(count))
    total = float(ones.sum())
    spans[free] = 1.0 / (np.diag(cho_solve(factor, np.eye(count))) - ones**2 / total)
    bound = np.flatnonzero(~free)
    step = max(1, BLOCK_BYTES // (16 * count))
    for start in range(0, len(bound), step):
        some = bound[start : start + step]
        others = pick(X, index[support[some]])
        V = np.asarray(Gram(kernel, margin, others).dense(), dtype=np.float64)
        W = cho_solve(factor, V)
        spans[some] = kernel.diag(others) - (V * W).sum(axis=0) + (W.sum(axis=0) - 1.0) ** 2 / total
    found = values - own * np.maximum(spans, 0.0)
    targets = problem.target[support]
    alone = [np.count_nonzero(problem.target == target) == 1 for target in targets.tolist()]
    return np.where(alone, -targets, found)
