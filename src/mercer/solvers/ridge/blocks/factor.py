"""The system of one block, K_BB + αI, solved exactly or in the span of a Nyström approximation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import add_to_diagonal, namespace
from mercer.linalg.cholesky import factorize, factorize_shifted, solve_factorized, solve_triangle

EPS = float(np.finfo(np.float64).eps)
ROUNDING = 8 * EPS  # of the trace, by which a kernel matrix may fail to be positive semi-definite
INDEFINITE = 1e-9  # of the trace: a shift beyond it is no rounding
POWERS = 10  # products that find the largest eigenvalue of a preconditioned block
MARGIN = 1.1  # by which those may fall short of it

Map = Callable[[Array], Array]


def invert_block(K: Array, alpha: float, rank: int | None, rng: Any) -> Map:
    """Return the map G ↦ M G of a block, with M = (K + αI)⁻¹, or one of a given rank that never steps too far.

    The second is (K̂ + ρI)⁻¹/L, K̂ being the Nyström approximation of K by ``rank`` random directions and ρ = α + λ̂, its
    least eigenvalue.  L, the largest eigenvalue of (K̂ + ρI)^-½ (K + αI) (K̂ + ρI)^-½, is found by powers, so that M is
    at most (K + αI)⁻¹ (Rathore, Frangella, Yang, Dereziński and Udell, "Have ASkotch", 2024).

    Parameters
    ----------
    K : array of shape (b, b)
        The matrix of the block, which is left as it is.
    alpha : float
        The penalty, positive.
    rank : int or None
        The rank of the approximation; None, and any that is not below b, factorises the block itself.
    rng : numpy Generator
        Where random directions come from.

    Raises
    ------
    numpy.linalg.LinAlgError
        If K is indefinite by more than rounding, and α does not outweigh it.

    Examples
    --------
    >>> import numpy as np
    >>> invert_block(np.array([[3.0, 1.0], [1.0, 3.0]]), 1.0, None, np.random.default_rng(0))(np.array([[5.0], [5.0]]))
    array([[1.],
           [1.]])
    """
    trace = float(abs(K.diagonal()).sum())
    if rank is not None and rank < len(K):
        return _invert_nystroem(K, alpha, rank, rng, trace)
    factor, more = factorize_shifted(K, alpha, max(ROUNDING * trace, float(np.finfo(np.float64).tiny)))
    if more > INDEFINITE * trace:
        raise np.linalg.LinAlgError("a block of the kernel matrix is not positive semi-definite")
    return lambda G: solve_factorized(factor, G)


def _invert_nystroem(K: Array, alpha: float, rank: int, rng: Any, trace: float) -> Map:
    xp = namespace(K)

    def draw(columns: int) -> Array:
        return xp.asarray(rng.standard_normal((len(K), columns)), device=K.device)

    directions = xp.linalg.qr(draw(rank))[0]
    shift = max(ROUNDING * trace, float(np.finfo(np.float64).tiny))
    image = K @ directions + shift * directions
    core = directions.T @ image
    add_to_diagonal(core, 2 * EPS * trace)  # the rounding of this product
    lower = factorize((core + core.T) / 2)
    lower = xp.tril(lower[0] if isinstance(lower, tuple) else lower)
    vectors, sizes, _ = xp.linalg.svd(solve_triangle(lower, image.T).T, full_matrices=False)
    values = xp.clip(sizes**2 - shift, 0.0, None)
    damped = alpha + float(values[-1])
    inside = 1.0 / (values[:, None] + damped)

    def apply(G: Array, power: float = 1.0) -> Array:
        """Return (K̂ + ρI)^-power G."""
        return vectors @ ((inside**power - damped**-power) * (vectors.T @ G)) + damped**-power * G

    trial = draw(1)
    largest = 1.0
    for _ in range(POWERS):
        trial = apply(trial / float((trial**2).sum()) ** 0.5, 0.5)
        trial = apply(K @ trial + alpha * trial, 0.5)
        largest = float((trial**2).sum()) ** 0.5
    step = 1.0 / max(1.0, MARGIN * largest)
    return lambda G: step * apply(G)
