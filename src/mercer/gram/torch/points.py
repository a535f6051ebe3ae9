"""Points as the statistics of a kernel want them, on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays.tensors import check_finite, host_array, is_tensor, on_device
from mercer.formula.data import Columns, Rows, Steps
from mercer.formula.statistics import AbsoluteDistance, Dot, SquaredDistance, VectorStatistic, middle

THERE = (Dot, SquaredDistance, AbsoluteDistance)  # statistics whose points are transformed on the device itself


def device_points(
    statistic: VectorStatistic, X: Rows, Z: Rows | None, dtype: Any, device: Any
) -> tuple[Any, Any | None]:
    """Return the transformed points of both sides as tensors; the second is None if Z is.

    Matrices of numbers are centred and scaled on the device; anything that needs Python objects is prepared on the
    host first.
    """
    if type(statistic) in THERE and _by_position(statistic.view) and all(is_matrix(D) for D in (X, Z) if D is not None):
        A = _chosen(X, statistic.view, device, statistic.owner)
        B = None if Z is None else _chosen(Z, statistic.view, device, statistic.owner)
        if B is not None and A.shape[1] != B.shape[1]:
            raise ValueError(
                f"{statistic.owner}: X has {A.shape[1]} features but Z has {B.shape[1]}; both need the same columns"
            )
        statistic.check(A)
        if statistic.centred:
            some = A[:: max(1, len(A) // 1000)].cpu().numpy()
            shift = on_device(middle(some), device, np.float64)
            A, B = A - shift, None if B is None else B - shift
        left = on_device(statistic.transform(A), device, dtype)
        return left, None if B is None else on_device(statistic.transform(B), device, dtype)
    left, right = (host_array(D) for D in (X, X if Z is None else Z))
    A, B = statistic.prepare(left, left if Z is None else right, np.dtype(dtype))
    return on_device(A, device, dtype), None if Z is None else on_device(B, device, dtype)


def coordinates(statistic: VectorStatistic, X: Rows, device: Any) -> Any:
    """Return the points as a statistic compares them, in float64 and not centred; None if that needs the host."""
    if type(statistic) not in THERE or not _by_position(statistic.view) or not is_matrix(X):
        return None
    return statistic.transform(_chosen(X, statistic.view, device, statistic.owner))


def in_double(X: Rows) -> Rows:
    """Return a matrix of numbers in float64, so that kernel values with it are, and other collections as they are."""
    if not is_matrix(X):
        return X
    return X.double() if is_tensor(X) else X.astype(np.float64, copy=False)


def is_matrix(X: Rows) -> bool:
    """Whether data is a matrix of numbers, as an array or a tensor."""
    return (is_tensor(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf")) and X.ndim == 2


def _by_position(view: Steps) -> bool:
    return all(isinstance(step, Columns) and all(isinstance(c, int) for c in step.columns) for step in view.steps)


def _chosen(X: Any, view: Steps, device: Any, owner: str) -> Any:
    """The columns a view keeps, in float64 on the device, so that centring loses no digits."""
    width = X.shape[1]
    A = on_device(X, device, np.float64)
    if min(A.shape) == 0:
        raise ValueError(f"{owner} needs at least one point and one feature, got shape {tuple(A.shape)}")
    check_finite(A, owner)
    for step in view.steps:
        assert isinstance(step, Columns)
        A = A[:, list(step.positions(width))]
        width = A.shape[1]
    return A
