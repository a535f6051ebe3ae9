"""The search for nearest neighbours on a device: the best of each tile, compared again where that may matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array, load_torch
from mercer.formula.data import Rows
from mercer.formula.program import UnsupportedError
from mercer.formula.statistics import FURTHEST, SquaredDistance
from mercer.gram.torch.backend import TorchBackend
from mercer.gram.torch.points import read_coordinates
from mercer.kernels import Kernel

from .distance import ByDistance, Ranking

POINTS = 2**18  # of a tile, at most
ENTRIES = {"cuda": 2**26, "cpu": 2**20}  # of a tile
PIECE = 2**24  # coordinates compared pair by pair at a time
Exact = Callable[[Any, Any], Any]  # positions of queries, and of points for each of them


def device_nearest(
    order: Ranking,
    kernel: Kernel,
    X: Rows,
    Z: Rows,
    k: int,
    *,
    slack: float,
    spare: int,
    exclude: bool,
    memory: int,
    device: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a ranking says of the k best points of Z for each of X, and their indices.

    Parameters
    ----------
    order, kernel, X, Z, k, exclude
        As in :func:`~mercer.solvers.neighbors.search.nearest_by`.
    slack : float
        Relative error of tiles; points this close to the k-th are compared again.
    spare : int
        How many of those are kept beyond twice the k best.
    memory : int
        Budget in bytes on the device.
    device : torch.device
        Where.

    Raises
    ------
    UnsupportedError
        If the search has no form on a device.
    """
    torch = load_torch()
    tiles = TorchBackend(order.expression, X, Z, repr(kernel), device)
    exact = _exact(order, X, Z, device) if isinstance(order, ByDistance) else None
    m, n = tiles.shape
    kept = min(n, 2 * k + spare)
    entry = tiles.entry_bytes + 24
    require(entry * n, memory, f"one row of {n} distances on {device}", "give more memory or fewer points")
    points = min(n, POINTS)
    queries = max(1, min(m, ENTRIES.get(device.type, ENTRIES["cpu"]) // points, memory // (2 * entry * points)))
    values, indices = [], []
    for start in range(0, m, queries):
        rows = torch.arange(start, min(start + queries, m), device=device)
        found = _best_of_tiles(tiles, rows, points, kept, exclude)
        if kept < n - int(exclude):
            _settle(found, tiles, rows, k, slack, exclude)
        value, index = found
        if exact is not None:
            value = torch.where(torch.isinf(value), value, exact(rows, index))
        value, index = _sorted(value, index)
        values.append(value[:, :k])
        indices.append(index[:, :k])
    return np.asarray(host_array(torch.cat(values))), host_array(torch.cat(indices)).astype(np.intp, copy=False)


def _best_of_tiles(tiles: TorchBackend, rows: Any, points: int, kept: int, exclude: bool) -> list[Any]:
    """Return values and indices of the smallest entries of some rows, going from tile to tile."""
    torch = load_torch()
    best: list[Any] = []
    for start in range(0, tiles.shape[1], points):
        columns = slice(start, min(start + points, tiles.shape[1]))
        values = _without_self(tiles.tile(rows, columns), rows, columns, exclude)
        found = torch.topk(values, min(kept, values.shape[1]), dim=1, largest=False, sorted=False)
        value, index = found.values, found.indices + start
        if best:
            value, index = torch.cat([best[0], value], 1), torch.cat([best[1], index], 1)
            few = torch.topk(value, min(kept, value.shape[1]), dim=1, largest=False, sorted=False)
            value, index = few.values, index.gather(1, few.indices)
        best = [value, index]
    return best


def _settle(found: list[Any], tiles: TorchBackend, rows: Any, k: int, slack: float, exclude: bool) -> None:
    """Look at whole rows again where more entries are as small as the k-th than were kept, in the order of indices."""
    torch = load_torch()
    value, index = found
    kth = torch.kthvalue(value, k, dim=1).values
    unsure = (value.amax(1) <= kth + slack * kth.abs()).nonzero()[:, 0]
    everything = slice(0, tiles.shape[1])
    step = max(1, ENTRIES.get(tiles.device.type, ENTRIES["cpu"]) // tiles.shape[1])
    for part in unsure.split(step):
        whole = _without_self(tiles.tile(rows[part], everything), rows[part], everything, exclude)
        ordered = torch.sort(whole, dim=1, stable=True)
        value[part], index[part] = ordered.values[:, : value.shape[1]], ordered.indices[:, : value.shape[1]]


def _without_self(values: Any, rows: Any, columns: slice, exclude: bool) -> Any:
    """Put the entries of points with themselves at infinity."""
    if not exclude:
        return values
    torch = load_torch()
    places = torch.arange(columns.start, columns.stop, device=rows.device)
    return values.masked_fill(rows[:, None] == places, torch.inf)


def _exact(order: ByDistance, X: Rows, Z: Rows, device: Any) -> Exact:
    """Return the distance added up from differences of coordinates."""
    torch = load_torch()
    A = read_coordinates(order.statistic, X, device)
    B = A if Z is X else read_coordinates(order.statistic, Z, device)
    if A is None or B is None:
        raise UnsupportedError("the coordinates are prepared on the host")
    squared = isinstance(order.statistic, SquaredDistance)

    def values(rows: Any, index: Any) -> Any:
        step = max(1, PIECE // (index.shape[1] * A.shape[1]))
        parts = []
        for some, places in zip(rows.split(step), index.split(step), strict=True):
            difference = A[some][:, None, :] - B[places]
            parts.append((difference.square_() if squared else difference.abs_()).sum(2))
        return torch.cat(parts).clamp_(max=FURTHEST)

    return values


def _sorted(value: Any, index: Any) -> tuple[Any, Any]:
    """Sort each row by value, and equal values by index."""
    torch = load_torch()
    index, by_index = torch.sort(index, dim=1)
    value, by_value = torch.sort(value.gather(1, by_index), dim=1, stable=True)
    return value, index.gather(1, by_value)
