"""Randomly pivoted Cholesky: a low-rank approximation of a Gram matrix from a few of its columns.

Each pivot is drawn with probability proportional to what is still unexplained of the diagonal, which is nearly as
good as the best choice in expectation and needs only the diagonal and the pivots' columns (Chen, Epperly, Tropp and
Webber, "Randomly pivoted Cholesky", 2024).  Pivots are proposed in blocks and thinned by rejection (Epperly, Tropp and
Webber, "Embrace rejection", 2024), which draws from exactly the same distribution but in matrix products.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Column = Callable[[np.ndarray], np.ndarray]


def randomly_pivoted_cholesky(
    column: Column,
    diagonal: np.ndarray,
    rank: int,
    rng: np.random.Generator | np.random.RandomState,
    *,
    block: int | None = None,
    entries: Column | None = None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Approximate a positive semi-definite matrix K by FFᵀ, which agrees with K in the columns of the pivots.

    Parameters
    ----------
    column : callable
        ``column(indices)`` returns the columns K[:, indices], an array of shape (n, len(indices)).
    diagonal : array of shape (n,)
        The diagonal of K.
    rank : int
        The number of pivots wanted.
    rng : numpy Generator or RandomState
        Where randomness comes from.
    block : int, optional
        How many pivots are proposed at a time; an eighth of the rank, but at most 128, if not given.
    entries : callable, optional
        ``entries(indices)`` returns K[indices][:, indices].  With it only columns of accepted pivots are computed.

    Returns
    -------
    pivots : int array of shape (r,)
        The pivots in the order they were chosen; r < rank if fewer explain K to rounding.
    factor : array of shape (n, r)
        F; the rows of the pivots form a lower triangular matrix.
    residual_trace : float
        trace(K − FFᵀ), which bounds every norm of the error.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg.pivoting import randomly_pivoted_cholesky
    >>> B = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0], [3.0, 1.0]])
    >>> K = B @ B.T
    >>> pivots, F, left = randomly_pivoted_cholesky(lambda i: K[:, i], K.diagonal(), 4, np.random.default_rng(0))
    >>> len(pivots), bool(np.allclose(F @ F.T, K)), left < 1e-12
    (2, True, True)
    """
    from scipy.linalg.blas import dgemm, dtrsm

    residual = np.array(diagonal, dtype=np.float64)
    n = len(residual)
    if rank < 1:
        raise ValueError(f"the rank must be at least 1, got {rank}")
    if not np.isfinite(residual).all() or (residual < 0).any():
        worst = int(np.argmin(np.where(np.isfinite(residual), residual, -np.inf)))
        raise ValueError(
            f"the diagonal of a positive semi-definite matrix is finite and never negative, but entry {worst} is "
            f"{residual[worst]}; check the kernel with k.certificate()"
        )
    rank = min(rank, n)
    block = max(1, min(rank, 128, rank // 8 if block is None else block))
    trace = residual.sum()
    pivots = np.empty(0, dtype=np.intp)
    factor = np.zeros((n, rank), order="F")
    floor = 32 * float(np.finfo(np.float64).eps)
    while len(pivots) < rank and residual.sum() > floor * trace:
        done = len(pivots)
        proposed = rng.choice(n, size=min(block, rank - done), p=residual / residual.sum())
        columns = None if entries is not None else np.asarray(column(proposed))
        corner = columns[proposed] if columns is not None else np.asarray(entries(proposed))  # type: ignore[misc]
        # Rounding in the columns themselves, which are float32 for float32 data, cannot be told from a residual.
        floor = max(floor, 32 * float(np.finfo(corner.dtype).eps)) if corner.dtype.kind == "f" else floor
        left = corner.astype(np.float64, order="F")
        if done:  # by SciPy's library as all of it, because the threads of NumPy's would spin on while these work
            rows = np.asfortranarray(factor[proposed, :done])
            left = dgemm(-1.0, rows, rows, trans_b=1, beta=1.0, c=left, overwrite_c=1)
        # A residual that was only rounding must not be proposed for ever.
        residual[proposed[left.diagonal() <= floor * diagonal[proposed]]] = 0.0
        kept, triangle = thin(left, residual[proposed], floor * np.asarray(diagonal)[proposed], rng)
        if len(kept) == 0:
            continue
        chosen = proposed[kept]
        new = np.array(columns[:, kept] if columns is not None else column(chosen), dtype=np.float64, order="F")
        if done:
            new = dgemm(-1.0, factor[:, :done], rows[kept], trans_b=1, beta=1.0, c=new, overwrite_c=1)
        added = factor[:, done : done + len(kept)]
        added[:] = dtrsm(1.0, triangle, new, side=1, lower=1, trans_a=1, overwrite_b=1)  # new · triangle⁻ᵀ
        added[chosen] = np.tril(added[chosen])
        added[pivots] = 0.0
        residual = np.maximum(residual - np.einsum("ij,ij->i", added, added), 0.0)
        pivots = np.concatenate([pivots, chosen])
        residual[pivots] = 0.0
    return pivots, factor[:, : len(pivots)], float(residual.sum())


def thin(
    left: np.ndarray, proposed: np.ndarray, floor: np.ndarray, rng: np.random.Generator | np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Keep each proposal with the probability that its residual, given those kept before, has to the one it had.

    Returns the positions kept and the Cholesky factor of ``left`` at them.
    """
    rest = left.diagonal().copy()
    draws = rng.uniform(size=len(left))
    kept: list[int] = []
    factor = np.zeros_like(left)
    for i in range(len(left)):
        if rest[i] <= max(draws[i] * proposed[i], floor[i]):
            continue
        done = factor[:, : len(kept)]
        direction = (left[:, i] - done @ done[i]) / np.sqrt(rest[i])
        factor[:, len(kept)] = direction
        rest -= direction**2
        kept.append(i)
    return np.array(kept, dtype=np.intp), np.tril(factor[kept, : len(kept)])
