"""Points as the statistics of a kernel want them, on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from mercer.arrays import Array
from mercer.arrays.tensors import check_finite, host_array, is_tensor, on_device
from mercer.formula.data import Columns, Rows, Step
from mercer.formula.program import UnsupportedError
from mercer.formula.statistics import LOOKED_AT, AbsoluteDistance, Dot, SquaredDistance, VectorStatistic, middle
from mercer.kernels.mapping import Multiplied
from mercer.kernels.radial import PowerDistance

THERE = (
    Dot,
    SquaredDistance,
    AbsoluteDistance,
    PowerDistance,
)  # statistics whose points are transformed there


def prepare_points(
    statistic: VectorStatistic, X: Rows, Z: Rows | None, dtype: DTypeLike, device: Any
) -> tuple[Array, Array | None]:
    """Return the transformed points of both sides as tensors; the second is None if Z is.

    Matrices of numbers are centred and scaled on the device; anything that needs Python objects is prepared on the
    host first.
    """
    sides = [X] if Z is None else [X, Z]
    if all(_is_read_there(statistic, side) for side in sides):
        found = [_apply_steps(side, statistic, device) for side in sides]
        widths = [A.shape[1] for A in found]
        if widths[0] != widths[-1]:
            raise ValueError(
                f"{statistic.owner}: X has {widths[0]} features but Z has {widths[1]}; both need the same columns"
            )
        statistic.check(found[0])
        if statistic.centred:
            some = found[0][:: max(1, len(found[0]) // LOOKED_AT)].cpu().numpy()
            shift = on_device(middle(some), device, np.float64)
            found = [A - shift for A in found]
        found = [statistic.transform(A) for A in found]
    else:
        left = host_array(X)
        found = list(statistic.prepare(left, left if Z is None else host_array(Z), np.dtype(dtype)))[: len(sides)]
        if sparse.issparse(found[0]):
            raise UnsupportedError("the data is sparse")
    A, *rest = (on_device(side, device, dtype) for side in found)
    return A, rest[0] if rest else None


def read_coordinates(statistic: VectorStatistic, X: Rows, device: Any) -> Array | None:
    """Return the points as a statistic compares them, in float64 and not centred; None if that needs the host."""
    if not _is_read_there(statistic, X):
        return None
    return statistic.transform(_apply_steps(X, statistic, device))


def is_matrix(X: Rows) -> bool:
    """Whether data is a matrix of numbers, as an array or a tensor."""
    return (is_tensor(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf")) and X.ndim == 2


def _is_read_there(statistic: VectorStatistic, X: Rows) -> bool:
    """Whether a device can do all that a statistic does to points: keep columns by position, and linear maps."""
    return type(statistic) in THERE and all(map(_is_done_there, statistic.view.steps)) and is_matrix(X)


def _is_done_there(step: Step) -> bool:
    return isinstance(step, Multiplied) or (isinstance(step, Columns) and all(isinstance(c, int) for c in step.columns))


def _apply_steps(X: Array, statistic: VectorStatistic, device: Any) -> Array:
    """Return the points a statistic compares, in float64 on the device, so that centring loses no digits."""
    A = on_device(X, device, np.float64)
    if min(A.shape) == 0:
        raise ValueError(f"{statistic.owner} needs at least one point and one feature, got shape {tuple(A.shape)}")
    check_finite(A, statistic.owner)
    for step in statistic.view.steps:
        A = A[:, list(step.positions(A.shape[1]))] if isinstance(step, Columns) else step.apply(A)
    return A
