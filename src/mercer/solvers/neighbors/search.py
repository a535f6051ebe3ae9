"""The search for nearest neighbours: tiles of the ranking, the best k kept from tile to tile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays.budget import parse_memory, require
from mercer.arrays.tensors import device_memory, host_array
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows
from mercer.formula.program import UnsupportedError
from mercer.gram.backend import Backend
from mercer.gram.choice import choose_backend
from mercer.kernels import Kernel

from .distance import Ranking, ranking

QUERIES = 96  # of a tile, which together with POINTS stays in the cache
POINTS = 4096
GROUPS = 128  # columns of a tile are compared group by group first
ROUGH = 2**22  # pairs from which on it pays to rank in single precision first
SLACK = 1e-9  # relative error of distances in tiles, with much to spare; points this close are compared again
SPARE = 32  # how many of those are kept beyond the k best

_Entries = tuple[np.ndarray, ...]  # rows, columns and values


@dataclass
class _Best:
    """The candidates of a block of queries: flat arrays sorted by query, value and index, and the limit of each.

    ``margin`` is the error that values of each query may have beyond rounding, and ``full`` says whether there were
    more candidates within it than are kept.
    """

    row: np.ndarray
    index: np.ndarray
    value: np.ndarray
    limit: np.ndarray
    margin: np.ndarray
    full: bool = False


def nearest(
    kernel: Kernel,
    X: Rows,
    Z: Rows,
    k: int,
    *,
    exclude: bool = False,
    memory: float | str | None = None,
    device: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and indices of the k points of Z nearest to each point of X in feature space.

    Parameters
    ----------
    kernel : Kernel
        The kernel; the distance is √(k(x, x) + k(z, z) − 2k(x, z)).
    X : collection of m objects
        The queries.
    Z : collection of n objects
        The points, of which k ≤ n are found.
    k : int
        How many.
    exclude : bool
        Whether X is Z and no point counts as its own neighbour.
    memory : int or str, optional
        Budget in bytes.
    device : torch.device, optional
        Where to search matrices of numbers; on the host if not given.

    Returns
    -------
    distances, indices : arrays of shape (m, k), nearest first; points at equal distance in the order of their indices

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> nearest(Linear(), np.array([[1.0]]), np.array([[5.0], [0.0], [2.0]]), 2)
    (array([[1., 1.]]), array([[1, 2]]))
    """
    return nearest_by(ranking(kernel), kernel, X, Z, k, exclude=exclude, memory=memory, device=device)


def nearest_by(
    order: Ranking,
    kernel: Kernel,
    X: Rows,
    Z: Rows,
    k: int,
    *,
    exclude: bool = False,
    memory: float | str | None = None,
    device: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return what :func:`nearest` does, for a ranking at hand."""
    values, indices = _found(order, kernel, X, Z, k, exclude, memory, device)

    def diagonal() -> np.ndarray:
        return kernel.diag(host_array(X)).astype(np.float64)[:, None]

    return np.sqrt(order.squared_distance(values, diagonal)), indices


def _found(
    order: Ranking, kernel: Kernel, X: Rows, Z: Rows, k: int, exclude: bool, memory: Any, device: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Search where that is asked for, or here if that place has no way to."""
    if device is not None:
        from .device import device_nearest

        options: Any = {"slack": SLACK, "spare": SPARE, "exclude": exclude, "device": device}
        try:
            return device_nearest(order, kernel, X, Z, k, memory=device_memory(device, memory), **options)
        except UnsupportedError:
            pass
    points = host_array(Z)
    return _search_here(order, kernel, points if X is Z else host_array(X), points, k, exclude, memory)


def _search_here(
    order: Ranking, kernel: Kernel, X: Rows, Z: Rows, k: int, exclude: bool, memory: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Search on the host."""
    budget = parse_memory(memory)
    backend = choose_backend(order.expression, X, Z, repr(kernel), "auto", np.float64)
    m, n = backend.shape
    exact, rough, single, margin = order.exact(X, Z), None, None, np.zeros(m)
    if exact is not None and backend.name == "native" and m * n >= ROUGH and 6 * backend.held < budget:
        rough = order.rough(X, Z)
    if rough is not None:
        # Tiles in single precision take half the time; candidates within their error are compared exactly after that.
        single = choose_backend(rough.expression, rough.X, rough.Z, repr(kernel), "auto", np.float32)
        margin = 2 * rough.margin
    values, indices = np.empty((m, k)), np.empty((m, k), dtype=np.intp)
    threads = default_threads() if backend.name == "native" else 1  # functions in Python would wait for each other
    left = budget - backend.held * (1 if exact is None else 2 if rough is None else 4) - values.nbytes - indices.nbytes
    queries, points = _tile(left // threads, backend.entry_bytes + 16, min(m, QUERIES), min(n, POINTS), k)

    def search(start: int) -> None:
        rows = slice(start, min(start + queries, m))
        best = _search(single or backend, rows, points, k, exclude, margin[rows])
        if single is not None and best.full:
            best = _search(backend, rows, points, k, exclude, np.zeros(rows.stop - start))
        if exact is not None:
            best.value = exact(best.row + start, best.index)
        values[rows], indices[rows] = _first(best, k, rows.stop - rows.start)

    pool = ThreadPoolExecutor(threads)
    try:
        for _ in pool.map(search, range(0, m, queries)):
            pass
    finally:  # an error or Ctrl-C does not wait for the blocks that have not begun
        pool.shutdown(cancel_futures=True)
    return values, indices


def _tile(budget: int, entry: int, queries: int, points: int, k: int) -> tuple[int, int]:
    """Return how many queries and points a tile may have."""
    require(
        (points // 64 + 1) * entry + 100 * k,
        budget,
        "a strip of the distances",
        "give more memory or fewer points",
    )
    while queries > 1 and queries * (points * entry + 100 * k) > budget:
        queries = (queries + 1) // 2
    while points > 1 and points * entry + 100 * k > budget:
        points = (points + 1) // 2
    return queries, points


def _search(backend: Backend, rows: slice, points: int, k: int, exclude: bool, margin: np.ndarray) -> _Best:
    """Go through the points tile by tile."""
    count, n = rows.stop - rows.start, backend.shape[1]
    empty = np.empty(0, dtype=np.intp)
    best = _Best(empty, empty, np.empty(0), np.full(count, np.inf), margin)
    for start in range(0, n, points):
        tile = backend.tile(rows, slice(start, min(start + points, n)))
        if exclude:
            own = np.arange(max(rows.start, start), min(rows.stop, start + tile.shape[1]))
            tile[own - rows.start, own - start] = np.inf
        row, column, value = _candidates(tile, best, k, first=start == 0)
        _merge(best, row, column + start, value, k)
        if best.full and margin.any():
            break  # too many within the error: only more precision can tell
    return best


def _candidates(tile: np.ndarray, best: _Best, k: int, first: bool) -> _Entries:
    """Return row, column and value of the entries of a tile that may be among the k smallest of all tiles.

    The smallest entry of each group of columns is computed first.  A group whose smallest entry is above the limit has
    nothing to offer, and in the first tile the k-th of these numbers is a limit.
    """
    count, width = tile.shape
    limit = best.limit
    whole = width // GROUPS * GROUPS
    if k > GROUPS // 2 or whole == 0:
        if first and k < width:
            limit = _above(np.partition(tile, k - 1, axis=1)[:, k - 1], best.margin)
        return _below(tile, _rounded_up(limit, tile.dtype), 0)
    blocks = tile[:, :whole].reshape(count, whole // GROUPS, GROUPS)
    least = blocks.min(axis=1)
    if first:
        limit = _above(np.partition(least, k - 1, axis=1)[:, k - 1], best.margin)
    limit = _rounded_up(limit, tile.dtype)
    row, group = np.nonzero(least <= limit[:, None])
    values = blocks[row, :, group]
    hit, place = np.nonzero(values <= limit[row][:, None])
    found = row[hit], place * GROUPS + group[hit], values[hit, place]
    if whole == width:
        return found
    return tuple(map(np.concatenate, zip(found, _below(tile[:, whole:], limit, whole), strict=True)))


def _below(tile: np.ndarray, limit: np.ndarray, start: int) -> _Entries:
    """Return row, column (counted from ``start``) and value of the entries up to the limit of their row."""
    row, column = np.nonzero(tile <= limit[:, None])
    return row, column + start, tile[row, column]


def _merge(best: _Best, row: np.ndarray, index: np.ndarray, value: np.ndarray, k: int) -> None:
    """Put new candidates to the old ones, and drop those that cannot be among the k nearest any more."""
    if len(row) == 0:
        return
    row, index, value, place = _sorted(
        np.concatenate([best.row, row]), np.concatenate([best.index, index]), np.concatenate([best.value, value])
    )
    kth = place == k - 1
    best.limit[row[kth]] = _above(value[kth], best.margin[row[kth]])
    last = 2 * k + SPARE - 1
    keep = (place < k) | ((value <= best.limit[row]) & (place <= last))
    full = keep & (place == last)  # what comes later has larger indices, so that it must be smaller to get in
    best.limit[row[full]] = np.nextafter(value[full], -np.inf)
    best.full = best.full or bool(full.any())
    best.row, best.index, best.value = row[keep], index[keep], value[keep]


def _first(best: _Best, k: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return values and indices of the k best of each query."""
    _, index, value, place = _sorted(best.row, best.index, best.value)
    keep = place < k
    return value[keep].reshape(count, k), index[keep].reshape(count, k)


def _sorted(row: np.ndarray, index: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, ...]:
    """Sort by query, then by value, then by index, and count the places of each query from 0."""
    order = np.lexsort((index, value, row))
    row = row[order]
    place = np.arange(len(row)) - np.searchsorted(row, row, side="left")
    return row, index[order], value[order], place


def _above(value: np.ndarray, margin: np.ndarray) -> np.ndarray:
    value = value.astype(np.float64)
    return np.asarray(value + SLACK * np.abs(value) + margin)


def _rounded_up(limit: np.ndarray, kind: Any) -> np.ndarray:
    """Return limits in the precision of a tile, so that comparisons need no other."""
    return limit if kind == np.float64 else np.nextafter(limit.astype(kind), kind.type(np.inf))
