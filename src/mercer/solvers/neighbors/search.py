"""The search for nearest neighbours: tiles of the ranking, the best k kept from tile to tile, and those compared again.

On the host threads go through tiles of the cache's size, and candidates that may be among the best are kept in flat
arrays.  On a device tiles are large, and a fixed number of the smallest entries is kept.  Either way equal distances
come in the order of positions.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import mercer._native as _native
from mercer.arrays import Array
from mercer.arrays.budget import parse_memory, require
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array, load_torch
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows
from mercer.formula.program import UnsupportedError
from mercer.gram.backend import Backend
from mercer.gram.choice import choose_backend
from mercer.gram.torch.backend import TorchBackend
from mercer.kernels import Kernel

from .ranking import HOST, Ranking, Rough, rank_points

QUERIES = 96  # of a tile, which together with POINTS stays in the cache
POINTS = 4096
GROUPS = 128  # columns of a tile are compared group by group first
ROUGH = 2**22  # pairs from which on it pays to rank in single precision first
SLACK = 1e-9  # relative error of distances in tiles, with much to spare; points this close are compared again
SPARE = 32  # how many of those are kept beyond twice the k best
ASKED = 2**14  # queries that a tree is asked for together
SETTLED = 2048  # queries of a block whose candidates are known
FLAT = 5  # columns up to which a tree of the points is quicker than looking at all of them
TIES = 8  # points at equal distance that a tree is asked for beyond the k nearest
FEW = 64  # neighbours up to which the compiled core looks for candidates
CALL_PAIRS = 1e9  # of points in one native call and thread: below half a second
DEVICE_POINTS = 2**18  # of a tile on a device, at most
DEVICE_ENTRIES = {"cuda": 2**26, "cpu": 2**20}  # of such a tile
FEWER = "give more memory or fewer points"


def find_nearest(
    kernel: Kernel,
    X: Rows,
    Z: Rows,
    k: int,
    *,
    place: Place | None = None,
    exclude: bool = False,
    order: Ranking | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return distances √(k(x, x) + k(z, z) − 2k(x, z)) and indices of the k points of Z nearest to each point of X.

    Both have shape (m, k), nearest first, and points at equal distance in the order of their indices.  With ``exclude``
    X is Z, and no point counts as its own neighbour.  ``order`` ranks by something else than the distance of features.
    The place is the host if none is given, or if the one given has no way to search.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> find_nearest(Linear(), np.array([[1.0]]), np.array([[5.0], [0.0], [2.0]]), 2)
    (array([[1., 1.]]), array([[1, 2]]))
    """
    place = Place.find(None, None) if place is None else place
    order = rank_points(kernel) if order is None else order
    try:
        found = None if place.on_host else _search_device(order, kernel, X, Z, k, exclude, place)
    except UnsupportedError:
        found = None
    if found is None:
        points, memory = host_array(Z), place.memory if place.on_host else min(place.memory, parse_memory(None))
        found = _search_host(order, kernel, points if X is Z else host_array(X), points, k, exclude, memory)

    def diagonal() -> np.ndarray:
        return kernel.diag(host_array(X)).astype(np.float64)[:, None]

    return np.sqrt(order.squared_distance(found[0], diagonal)), found[1]


# -- on the host ------------------------------------------------------------------------------------------------------

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


def _search_host(
    order: Ranking, kernel: Kernel, X: Rows, Z: Rows, k: int, exclude: bool, memory: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest numbers of the ranking, and where they are."""
    backend = choose_backend(order.expression, X, Z, repr(kernel), "auto", np.float64)
    m, n = backend.shape
    exact, rough, single, margin = order.compare_exactly(X, Z, HOST), None, None, np.zeros(m)
    if exact is not None and backend.cheap and m * n >= ROUGH and 6 * backend.held < memory:
        rough = order.rough(X, Z)
    if rough is not None:
        # Tiles in single precision take half the time; candidates within their error are compared exactly after that.
        single = choose_backend(rough.expression, rough.X, rough.Z, repr(kernel), "auto", np.float32)
        margin = 2 * rough.margin
    found = _ask_tree(order, X, Z, k, exclude, memory // 8) if m * n >= ROUGH and exact is not None else None
    if found is None and rough is not None:
        found = _find_candidates(rough, k, exclude, memory // 8)
    values, indices = np.empty((m, k)), np.empty((m, k), dtype=np.intp)
    threads = default_threads() if backend.cheap else 1  # functions in Python would wait for each other
    left = memory - backend.held * (1 if exact is None else 2 if rough is None else 4) - values.nbytes - indices.nbytes
    queries, points = _size_tile(left // threads, backend.entry_bytes + 16, min(m, QUERIES), min(n, POINTS), k)
    if found is not None and found[1].min() >= 0:
        queries = max(queries, min(m, SETTLED))  # no tiles are needed

    def search(start: int) -> None:
        rows = slice(start, min(start + queries, m))
        if found is not None and found[1][rows].min() >= 0:
            best = _read_candidates(found[0][rows], found[1][rows])
        else:
            best = _scan(single or backend, rows, points, k, exclude, margin[rows])
        if single is not None and best.full:
            best = _scan(backend, rows, points, k, exclude, np.zeros(rows.stop - start))
        if exact is not None:
            best.value = exact(best.row + start, best.index)
        values[rows], indices[rows] = _take_first(best, k, rows.stop - rows.start)

    pool = ThreadPoolExecutor(threads)
    try:
        for _ in pool.map(search, range(0, m, queries)):
            pass
    finally:  # an error or Ctrl-C does not wait for the blocks that have not begun
        pool.shutdown(cancel_futures=True)
    return values, indices


def _ask_tree(
    order: Ranking, X: Rows, Z: Rows, k: int, exclude: bool, memory: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the points that may be nearest to each query, and how many; −1 where more may be at the same distance.

    None if points have too many columns for a tree.
    """
    sides = order.read_few(X, Z, FLAT)
    if sides is None:
        return None
    (A, B), last = sides, k - 1 + int(exclude)
    m, n, room = len(A), len(B), min(len(B), last + 1 + TIES)
    if k > FEW or 16.0 * m * room + 100.0 * n > memory:
        return None
    from scipy.spatial import cKDTree

    tree, threads = cKDTree(B), default_threads()
    index, count = np.empty((m, room), dtype=np.int64), np.empty(m, dtype=np.int64)
    for start in range(0, m, ASKED):  # in between, Python looks for Ctrl-C
        rows = slice(start, min(start + ASKED, m))
        distance, places = tree.query(A[rows], np.arange(1, room + 1), workers=threads)
        limit = distance[:, last] * (1.0 + SLACK)
        inside = distance <= limit[:, None]
        if exclude:
            inside &= places != np.arange(rows.start, rows.stop)[:, None]
        index[rows] = np.sort(np.where(inside, places, n), axis=1)
        lost = (inside.sum(axis=1) < k) | ~np.isfinite(limit) | ((distance[:, -1] <= limit) & (room < n))
        count[rows] = np.where(lost, -1, inside.sum(axis=1))
    return index, count


def _find_candidates(rough: Rough, k: int, exclude: bool, memory: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the points that may be nearest to each query, in single precision, and how many; −1 where too many may be.

    None if there are too many for the compiled core, or for memory.
    """
    (m, n), room, threads = (len(rough.X), len(rough.Z)), 2 * k + SPARE, default_threads()
    if k > FEW or 16.0 * m * room + 8.0 * rough.Z.size > memory:
        return None
    index, count = np.empty((m, room), dtype=np.int64), np.empty(m, dtype=np.int64)
    points, queries, margin = np.ascontiguousarray(rough.Z), np.ascontiguousarray(rough.X), 2 * rough.margin
    step = max(1, int(CALL_PAIRS * threads / n))
    for start in range(0, m, step):  # in between, Python looks for Ctrl-C
        rows, own = slice(start, start + step), start if exclude else -1
        _native.nearest_candidates(queries[rows], points, margin[rows], k, own, index[rows], count[rows], threads)
    return index, count


def _read_candidates(index: np.ndarray, count: np.ndarray) -> _Best:
    """Return the candidates of a block of queries, whose values are yet to be computed."""
    inside = np.arange(index.shape[1]) < count[:, None]
    row = np.repeat(np.arange(len(count)), count)
    return _Best(row, index[inside], np.empty(0), np.empty(0), np.empty(0))


def _size_tile(budget: int, entry: int, queries: int, points: int, k: int) -> tuple[int, int]:
    """Return how many queries and points a tile may have."""
    require(
        (points // 64 + 1) * entry + 100 * k,
        budget,
        "a strip of the distances",
        FEWER,
    )
    while queries > 1 and queries * (points * entry + 100 * k) > budget:
        queries = (queries + 1) // 2
    while points > 1 and points * entry + 100 * k > budget:
        points = (points + 1) // 2
    return queries, points


def _scan(backend: Backend, rows: slice, points: int, k: int, exclude: bool, margin: np.ndarray) -> _Best:
    """Go through the points tile by tile."""
    count, n = rows.stop - rows.start, backend.shape[1]
    empty = np.empty(0, dtype=np.intp)
    best = _Best(empty, empty, np.empty(0), np.full(count, np.inf), margin)
    for start in range(0, n, points):
        tile = backend.tile(rows, slice(start, min(start + points, n)))
        if exclude:
            own = np.arange(max(rows.start, start), min(rows.stop, start + tile.shape[1]))
            tile[own - rows.start, own - start] = np.inf
        row, column, value = _pick_candidates(tile, best, k, first=start == 0)
        _merge(best, row, column + start, value, k)
        if best.full and margin.any():
            break  # too many within the error: only more precision can tell
    return best


def _pick_candidates(tile: np.ndarray, best: _Best, k: int, first: bool) -> _Entries:
    """Return row, column and value of the entries of a tile that may be among the k smallest of all tiles.

    The smallest entry of each group of columns is computed first.  A group whose smallest entry is above the limit has
    nothing to offer, and in the first tile the k-th of these numbers is a limit.
    """
    count, width = tile.shape
    limit = best.limit
    whole = width // GROUPS * GROUPS
    if k > GROUPS // 2 or whole == 0:
        if first and k < width:
            limit = _raise_limit(np.partition(tile, k - 1, axis=1)[:, k - 1], best.margin)
        return _pick_below(tile, _round_up(limit, tile.dtype), 0)
    blocks = tile[:, :whole].reshape(count, whole // GROUPS, GROUPS)
    least = blocks.min(axis=1)
    if first:
        limit = _raise_limit(np.partition(least, k - 1, axis=1)[:, k - 1], best.margin)
    limit = _round_up(limit, tile.dtype)
    row, group = np.nonzero(least <= limit[:, None])
    values = blocks[row, :, group]
    hit, place = np.nonzero(values <= limit[row][:, None])
    found = row[hit], place * GROUPS + group[hit], values[hit, place]
    if whole == width:
        return found
    return tuple(map(np.concatenate, zip(found, _pick_below(tile[:, whole:], limit, whole), strict=True)))


def _pick_below(tile: np.ndarray, limit: np.ndarray, start: int) -> _Entries:
    """Return row, column (counted from ``start``) and value of the entries up to the limit of their row."""
    row, column = np.nonzero(tile <= limit[:, None])
    return row, column + start, tile[row, column]


def _merge(best: _Best, row: np.ndarray, index: np.ndarray, value: np.ndarray, k: int) -> None:
    """Put new candidates to the old ones, and drop those that cannot be among the k nearest any more."""
    if len(row) == 0:
        return
    row, index, value, place = _sort_entries(
        np.concatenate([best.row, row]), np.concatenate([best.index, index]), np.concatenate([best.value, value])
    )
    kth = place == k - 1
    best.limit[row[kth]] = _raise_limit(value[kth], best.margin[row[kth]])
    last = 2 * k + SPARE - 1
    keep = (place < k) | ((value <= best.limit[row]) & (place <= last))
    full = keep & (place == last)  # what comes later has larger indices, so that it must be smaller to get in
    best.limit[row[full]] = np.nextafter(value[full], -np.inf)
    best.full = best.full or bool(full.any())
    best.row, best.index, best.value = row[keep], index[keep], value[keep]


def _take_first(best: _Best, k: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return values and indices of the k best of each query."""
    _, index, value, place = _sort_entries(best.row, best.index, best.value)
    keep = place < k
    return value[keep].reshape(count, k), index[keep].reshape(count, k)


def _sort_entries(row: np.ndarray, index: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, ...]:
    """Sort by query, then by value, then by index, and count the places of each query from 0."""
    order = np.lexsort((index, value, row))
    row = row[order]
    place = np.arange(len(row)) - np.searchsorted(row, row, side="left")
    return row, index[order], value[order], place


def _raise_limit(value: np.ndarray, margin: np.ndarray) -> np.ndarray:
    value = value.astype(np.float64)
    return np.asarray(value + SLACK * np.abs(value) + margin)


def _round_up(limit: np.ndarray, kind: np.dtype[Any]) -> np.ndarray:
    """Return limits in the precision of a tile, so that comparisons need no other."""
    return limit if kind == np.float64 else np.nextafter(limit.astype(kind), kind.type(np.inf))


# -- on a device ------------------------------------------------------------------------------------------------------


def _search_device(
    order: Ranking, kernel: Kernel, X: Rows, Z: Rows, k: int, exclude: bool, place: Place
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same from a device; raise UnsupportedError if the search has no form there."""
    torch = load_torch()
    tiles = TorchBackend(order.expression, X, Z, repr(kernel), place.device)
    exact = order.compare_exactly(X, Z, place)
    m, n = tiles.shape
    kept, entry, points = min(n, 2 * k + SPARE), tiles.entry_bytes + 24, min(n, DEVICE_POINTS)
    require(entry * n, place.memory, f"one row of {n} distances on {place}", FEWER)
    queries = max(1, min(m, _entries(place) // points, place.memory // (2 * entry * points)))
    values, indices = [], []
    for start in range(0, m, queries):
        rows = torch.arange(start, min(start + queries, m), device=place.device)
        value, index = _take_smallest(tiles, rows, points, kept, exclude)
        if kept < n - int(exclude):
            _settle(value, index, tiles, rows, k, exclude, max(1, _entries(place) // n))
        if exact is not None:
            value = torch.where(torch.isinf(value), value, exact(rows[:, None], index))
        index, by_index = torch.sort(index, dim=1)  # so that equal values come in the order of indices
        value, by_value = torch.sort(value.gather(1, by_index), dim=1, stable=True)
        values.append(value[:, :k])
        indices.append(index.gather(1, by_value)[:, :k])
    return np.asarray(host_array(torch.cat(values))), host_array(torch.cat(indices)).astype(np.intp, copy=False)


def _entries(place: Place) -> int:
    return DEVICE_ENTRIES.get(place.kind, DEVICE_ENTRIES["cpu"])


def _take_smallest(tiles: TorchBackend, rows: Array, points: int, kept: int, exclude: bool) -> tuple[Array, Array]:
    """Return values and indices of the smallest entries of some rows, going from tile to tile."""
    torch = load_torch()
    value, index = rows.new_empty((len(rows), 0), dtype=torch.float64), rows.new_empty((len(rows), 0))
    for start in range(0, tiles.shape[1], points):
        columns = slice(start, min(start + points, tiles.shape[1]))
        values = _without_self(tiles.tile(rows, columns), rows, columns, exclude)
        found = torch.topk(values, min(kept, values.shape[1]), dim=1, largest=False, sorted=False)
        value, index = torch.cat([value, found.values], 1), torch.cat([index, found.indices + start], 1)
        if value.shape[1] > kept:
            few = torch.topk(value, kept, dim=1, largest=False, sorted=False)
            value, index = few.values, index.gather(1, few.indices)
    return value, index


def _settle(value: Array, index: Array, tiles: TorchBackend, rows: Array, k: int, exclude: bool, step: int) -> None:
    """Look at whole rows again where more entries are as small as the k-th than were kept, in the order of indices."""
    torch = load_torch()
    kth = torch.kthvalue(value, k, dim=1).values
    unsure = (value.amax(1) <= kth + SLACK * kth.abs()).nonzero()[:, 0]
    everything = slice(0, tiles.shape[1])
    for part in unsure.split(step):
        whole = _without_self(tiles.tile(rows[part], everything), rows[part], everything, exclude)
        ordered = torch.sort(whole, dim=1, stable=True)
        value[part], index[part] = ordered.values[:, : value.shape[1]], ordered.indices[:, : value.shape[1]]


def _without_self(values: Array, rows: Array, columns: slice, exclude: bool) -> Array:
    """Put the entries of points with themselves at infinity."""
    if not exclude:
        return values
    torch = load_torch()
    places = torch.arange(columns.start, columns.stop, device=rows.device)
    return values.masked_fill(rows[:, None] == places, torch.inf)
