"""Slopes of functions f(x) = Σⱼ cⱼ k(x, xⱼ): Gram matrices of the derived formula ∂k/∂s, tile by tile.

For a squared distance s = ‖x − z‖² it is ∇f(x) = 2(x Σⱼ wⱼ − Σⱼ wⱼ xⱼ) with wⱼ = cⱼ ∂k/∂s(x, xⱼ), and for a dot
product Σⱼ wⱼ xⱼ: matrix products, so that no array of the size of all pairs and features is formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from scipy import sparse

from mercer.arrays import Array
from mercer.arrays.budget import require
from mercer.arrays.namespace import namespace
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array, is_tensor, real_type
from mercer.formula.data import Rows, length, take
from mercer.formula.evaluation import Evaluation, check_overflow
from mercer.formula.expression import Diagonal, Expression, Stat, nodes
from mercer.formula.slopes import count_features, moving_leaves, slope_at_itself
from mercer.formula.statistics import VectorStatistic, make_dense
from mercer.kernels import Kernel

from .backend import FEWER, TILE_BYTES, Backend, require_row, write_matrix
from .choice import choose_backend
from .torch.points import is_matrix, prepare_points
from .torch.stream import send_blocks

WIDE = 4096  # columns of a tile: sums of so many lose few digits in float32
PASSES = 3  # arrays of the size of a tile, besides its own, while slopes are summed up


def sum_slopes(
    kernel: Kernel, X: Rows, centers: Rows, coef: Array, memory: float | str | None = None, device: Any = None
) -> Array:
    """Return Σⱼ cⱼ ∇ₓ k(x, xⱼ) for all x, of shape (n, d), or (n, q, d) for coefficients of shape (m, q).

    It is a tensor if X is one, and an array otherwise; points are sent to a device in blocks.

    Parameters
    ----------
    kernel : Kernel
        The kernel k, all parts of which have slopes.
    X : collection of n points
        Where the slope is wanted.
    centers : collection of m points
        The points xⱼ.
    coef : array of shape (m,) or (m, q)
        The coefficients cⱼ.
    memory : int or str, optional
        Budget in bytes; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute; follows the data if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.slopes import sum_slopes
    >>> from mercer.kernels import Polynomial
    >>> sum_slopes(Polynomial(2, 0.0), np.array([[1.0], [2.0]]), np.array([[1.0]]), np.array([3.0]))
    array([[ 6.],
           [12.]])
    """
    place = Place.find(device, memory, X, centers)
    if sparse.issparse(X) or sparse.issparse(centers):
        place = Place.find(None, memory)
        X, centers = (sparse.csr_array(side) if sparse.issparse(side) else side for side in (X, centers))
    if is_matrix(centers) and not place.on_host:
        centers = place.put(centers, real_type(centers))  # once for all blocks
    blocks, weights = send_blocks(X, place), coef.reshape(len(coef), -1)
    parts = [_sum_block(kernel, block, centers, weights, place) for block in blocks]
    found = parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts)
    found = found if is_tensor(X) else host_array(found)
    return found[:, 0] if coef.ndim == 1 else found


def _sum_block(kernel: Kernel, X: Rows, Z: Rows, coef: Array, place: Place) -> Array:
    """Return the slopes at points that are all at the place, one leaf of the formula after the other."""
    owner, xp, leaves = repr(kernel), place.namespace, moving_leaves(kernel.traced())
    n, d, q = length(X), count_features(X, owner), coef.shape[1]
    size = 8 * n * q * d
    require(size, place.memory, f"the slopes of {q} functions by {d} features at {n} points", FEWER)
    out = xp.zeros((n, q, d), dtype=xp.float64, device=place.device)
    for leaf, slope in leaves.items():
        backend = _find_backend(slope, X, Z, owner, place)
        require_row(backend, place.memory - size)
        C = place.put(coef, backend.dtype)
        if isinstance(leaf, Diagonal):
            own = place.put(slope_at_itself(leaf.inner, host_array(X), owner))
        else:
            statistic = cast(VectorStatistic, leaf.statistic)
            A, B = _prepare(statistic, X, Z, backend.dtype, place)
        for rows, columns in _cut_tiles(backend, place, size, q * d):
            with np.errstate(all="ignore"):  # overflow is reported once, on the result, in words
                E = backend.tile(rows, columns)
                if isinstance(leaf, Diagonal):
                    out[rows] += (E @ C[columns])[:, :, None] * own[rows, None, :]
                else:
                    left = make_dense(A[rows])
                    G = statistic.weigh_slopes(E, left, B[columns], C[columns])
                    out[rows] += statistic.pull_back(G, left, take(X, rows.start, rows.stop))
    if not bool(xp.isfinite(out.sum())):
        check_overflow(host_array(out), owner)
    return out


class _Level(Backend):
    """A matrix of one number, which is made where it is needed."""

    name, why, symmetric, held = "level", "the slope is the same for all pairs", False, 0

    def __init__(self, value: float, shape: tuple[int, int], place: Place) -> None:
        self._value, self._place, self.shape = value, place, shape
        self.dtype, self.entry_bytes = np.dtype(np.float64), 8

    def tile(self, rows: slice | Array, columns: slice) -> Array:
        """Return the number for all pairs."""
        xp, sizes = self._place.namespace, (rows.stop - rows.start, columns.stop - columns.start)
        return xp.full(sizes, self._value, dtype=xp.float64, device=self._place.device)


def _find_backend(slope: Expression, X: Rows, Z: Rows, owner: str, place: Place) -> Backend:
    if any(isinstance(node, Stat | Diagonal) for node in nodes(slope)):
        return choose_backend(slope, X, None if Z is X else Z, owner, place=place)
    value = Evaluation(slope, take(X, 0, 1), take(Z, 0, 1), owner).dense()
    return _Level(float(value[0, 0]), (length(X), length(Z)), place)


def _prepare(statistic: VectorStatistic, X: Rows, Z: Rows, dtype: Any, place: Place) -> tuple[Any, Any]:
    if place.on_host:
        return statistic.prepare(X, Z, dtype)
    A, B = prepare_points(statistic, X, None if Z is X else Z, dtype, place.device)
    return A, A if B is None else B


def _cut_tiles(backend: Backend, place: Place, reserved: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of tiles that fit into what is left of the memory, with ``width`` slopes for each row."""
    n, m = backend.shape
    left = (place.memory - reserved - 2 * backend.held) // 2  # points are prepared again, and callers hold vectors
    room = min(left, TILE_BYTES * (16 if place.kind == "cuda" else 1))
    across = min(m, WIDE)
    step = max(1, room // (across * (backend.entry_bytes + 8 * PASSES) + 8 * PASSES * width))
    for start in range(0, n, step):
        for first in range(0, m, across):
            yield slice(start, min(start + step, n)), slice(first, min(first + across, m))


def sum_weighted_slopes(kernel: Kernel, X: Array, W: Array) -> Array:
    """Return Σ_b W_ab ∇ₐ k(x_a, x_b) for all rows x_a, of shape (n, d), with a weight for each pair.

    X and W are float64 arrays, or tensors on one device; matrices as large as W are formed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.slopes import sum_weighted_slopes
    >>> from mercer.kernels import Linear
    >>> sum_weighted_slopes(Linear(), np.array([[1.0], [10.0]]), np.array([[0.0, 1.0], [2.0, 0.0]]))
    array([[10.],
           [ 2.]])
    """
    owner, place = repr(kernel), Place.find(None, None, X)
    xp, n = place.namespace, len(X)
    out, ones = xp.zeros(X.shape, dtype=xp.float64, device=place.device), place.put(np.ones((n, 1)))
    for leaf, slope in moving_leaves(kernel.traced()).items():
        backend = choose_backend(slope, X, None, owner, dtype=np.float64, place=place)
        E = write_matrix(backend, xp.empty((n, n), dtype=xp.float64, device=place.device))
        E *= W
        if isinstance(leaf, Diagonal):
            out += (E @ ones) * place.put(slope_at_itself(leaf.inner, host_array(X), owner))
        else:
            statistic = cast(VectorStatistic, leaf.statistic)
            A, B = _prepare(statistic, X, X, np.float64, place)
            out += statistic.pull_back(statistic.weigh_slopes(E, A, B, ones), A, X)[:, 0]
    return out
