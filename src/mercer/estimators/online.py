"""What models share that learn point by point: what a call may ask for, and the ridge problem that it changes."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from mercer.arrays.budget import parse_memory
from mercer.arrays.tensors import host_array, is_tensor
from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.solvers.ridge.fit import RidgeFit
from mercer.solvers.ridge.online import OnlineRidge

from .targets import check_whole

ONLINE = "_online"  # the attribute of a model that holds its OnlineRidge; files and copies do without


def read_stream(owner: Any, X: Rows, solvers: tuple[str, ...]) -> Rows:
    """Return points on the host, or raise if a model cannot go on point by point with its parameters."""
    name = type(owner).__name__
    if owner._kernel_argument().is_matrix:
        raise ValueError(
            f"{name}: partial_fit cannot know a precomputed kernel between these points and those before; use "
            "kernel=mercer.kernels.Precomputed(K) with positions as points, or fit"
        )
    where = owner.device if owner.device is not None else X.device if is_tensor(X) else "cpu"
    if owner.device is not None or str(where) != "cpu":
        raise ValueError(
            f"{name}: partial_fit computes on the host, but the device is {str(where)!r}; leave device out and give "
            "arrays, or use fit, which computes there"
        )
    if owner.solver not in ("auto", *solvers) or getattr(owner, "n_centers", None) is not None:
        asked = f"solver={owner.solver!r}" if owner.solver not in ("auto", *solvers) else f"n_centers={owner.n_centers}"
        raise ValueError(
            f"{name}: partial_fit keeps all points, but {asked} was asked for; use solver="
            f"{' or '.join(map(repr, ('auto', *solvers)))} without n_centers, or fit all points at once"
        )
    if getattr(owner, "class_weight", None) == "balanced":
        raise ValueError(
            f"{name}: class_weight='balanced' changes the weights of all points with every call of partial_fit; give "
            "the weights as a dict, or sample_weight"
        )
    return host_array(X)


def check_limits(owner: object, window: Any, budget: Any, forgetting: Any) -> dict[str, Any]:
    """Return what a call says about the points that may stay, checked."""
    name = type(owner).__name__
    if window is not None and budget is not None:
        raise ValueError(f"{name}: window={window!r} and budget={budget!r} both say how many points stay; give one")
    real = isinstance(forgetting, numbers.Real) and not isinstance(forgetting, bool)
    if forgetting is not None and not (real and 0 < float(forgetting) <= 1):
        raise ValueError(
            f"{name}: forgetting multiplies the weights of earlier points, so it lies between 0 and 1, for example "
            f"0.99; got {forgetting!r}"
        )
    return {
        "window": check_whole(owner, "window", window, none=True),
        "budget": check_whole(owner, "budget", budget, none=True),
        "forgetting": None if forgetting is None else float(forgetting),
    }


def check_positions(owner: object, positions: Any, n: int, kept: np.ndarray | None = None) -> np.ndarray:
    """Return which points are meant, in order, of those that have a weight: ``kept`` of n, if not all.

    Negative positions count from the end.
    """
    name, given = type(owner).__name__, np.atleast_1d(np.asarray(positions))
    if (given.dtype.kind not in "iu" and given.size) or given.ndim != 1:
        raise ValueError(
            f"{name}: forget takes positions of points, whole numbers such as [0, 3], among the {n} of X_fit_; got "
            f"{positions!r}"
        )
    outside = given[(given < -n) | (given >= n)]
    if outside.size:
        raise ValueError(f"{name}: there is no point {outside[0]} to forget; the model has {n}, from 0 to {n - 1}")
    found = np.unique(given.astype(np.int64) % n)
    if kept is not None:  # those without a weight are gone already
        found, n = np.flatnonzero(np.isin(kept, found)), len(kept)
    if len(found) == n:
        raise ValueError(f"{name}: forget would leave none of the {n} points; keep one, or fit anew")
    return found


def check_one_penalty(owner: object, penalty: np.ndarray) -> float:
    """Return the penalty that all outputs have."""
    name = type(owner).__name__
    if (penalty != penalty[0]).any():
        raise ValueError(
            f"{name}: partial_fit keeps one factor, so all targets need the same alpha; got {penalty.tolist()}. Use "
            "one model for each target"
        )
    if penalty[0] == 0:
        raise ValueError(
            f"{name}: partial_fit needs alpha > 0, got 0: the kernel matrix alone may be singular, as with a point "
            "that comes twice. Give a positive alpha, or fit"
        )
    return float(penalty[0])


def open_online(
    model: Any, kernel: Kernel, record: RidgeFit | None, alpha: float, *, averaged: bool, fit_intercept: bool
) -> OnlineRidge:
    """Return the problem of a model's points: the one it has kept, or one that is made of the record of its fit."""
    memory = parse_memory(model.memory)
    kept = vars(model).get(ONLINE)
    if kept is not None and record is not None and kept.record is record:
        kept.adjust(alpha, averaged=averaged, fit_intercept=fit_intercept, memory=memory)
        return kept
    online = OnlineRidge(kernel, alpha, averaged=averaged, fit_intercept=fit_intercept, memory=memory)
    if record is not None:
        problem = record.problem_on_host
        online.add(problem.X, problem.y, problem.weights)
    return online


def find_online(model: Any, record: RidgeFit) -> OnlineRidge | None:
    """Return the problem that a record is of, if the model still has it."""
    kept = vars(model).get(ONLINE)
    return kept if kept is not None and kept.record is record else None
