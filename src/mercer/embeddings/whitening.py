"""Discrepancies in which directions of features count alike, however much or little they vary among the points.

The plain discrepancy is a sum over eigenvectors of the centred Gram matrix, weighted by eigenvalues: differences in the
few directions that vary most drown those in all others.  With M = K_c(K_c + λ)⁻¹ in the place of K_c, directions above
λ count alike (Harchaoui, Bach and Moulines, 2008).  Both samples together give M, so that it is the same for all ways
to deal out the points, and the level stays exact.
"""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import add_to_diagonal, namespace, put_beside
from mercer.arrays.tensors import host_array, is_tensor
from mercer.gram import Gram
from mercer.linalg.cholesky import factorize
from mercer.linalg.pivoting import PivotedCholesky
from mercer.linalg.sums import divide_rows

SHARE = 0.03  # λ as a share of ‖K_c‖: of 0.3, 0.1 and 0.03 what finds most, see docs/decisions/0021
RANK = 512  # directions, at most, and as many as memory has room for: time grows as its square
LEFT = 1e-4  # of the trace, which may be missing from the directions: far below λ
ROUNDING = 1e-12  # relative, of what factors and forms are made of


def whiten(gram: Gram, rng: np.random.Generator) -> Array:
    """Return H with HᵀH = K_c(K_c + λ)⁻¹ in the directions that pivots span, of shape (directions, n).

    Pivots are drawn without looking at which sample a point is from.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> H = whiten(Gram(Linear(), np.array([[1.0], [-1.0]])), np.random.default_rng(0))
    >>> (H.T @ H).round(4)  # one direction, with the eigenvalue 2 of 2.06
    array([[ 0.4854, -0.4854],
           [-0.4854,  0.4854]])
    """
    factor, n = PivotedCholesky.of(gram, rng), gram.shape[0]
    trace, rank, most = factor.residual_trace, 32, max(1, min(n, RANK, gram.memory // (64 * n)))
    while factor.residual_trace > LEFT * trace and not factor.exhausted and len(factor.pivots) < most:
        factor.grow(min(rank, most))
        rank *= 2
    F = factor.factor
    F = F - F.mean(0) if F.shape[1] else F
    scatter = F.T @ F
    penalty = SHARE * float((scatter**2).sum()) ** 0.5
    if not penalty > ROUNDING * trace:  # all features are the same
        return F.T[:0]
    add_to_diagonal(scatter, penalty)
    L = factorize(scatter)
    return divide_rows(L if is_tensor(L) else L[0], namespace(F).asarray(F.T, copy=True))


def measure_whitened(gram: Gram, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return wᵀMw less what points have with themselves, for each column of ``groups``, which says who is in X."""
    n = int(groups[:, 0].sum())
    weights = np.where(groups, 1.0 / n, -1.0 / (len(groups) - n))
    H = whiten(gram, rng)
    V = H @ put_beside(H, weights)
    own = (H * H).sum(0) @ put_beside(H, weights**2)
    return np.asarray(host_array((V * V).sum(0) - own))
