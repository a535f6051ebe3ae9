"""What models share that learn point by point: what a call may ask for, and the ridge problem that it changes.

What a ridge model is after a point is computed when somebody asks for it, so that points which follow each other cost
one pass through the factor each.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays.budget import parse_memory
from mercer.arrays.tensors import host_array, is_tensor
from mercer.expansion import Expansion
from mercer.formula.data import Rows, length
from mercer.kernels import Kernel, Precomputed
from mercer.solvers.ridge.fit import RidgeFit
from mercer.solvers.ridge.online import OnlineRidge
from mercer.solvers.ridge.postponed import PostponedFit

from .ridge import RidgeEstimator
from .targets import check_whole

ONLINE = "_online"  # the attribute of a model that holds its OnlineRidge; files and copies do without
POSTPONED = "_postponed"  # the attribute of a model whose fit has not been asked for, or not all of it
FUNCTION = ("expansion_", "dual_coef_", "intercept_")  # what a prediction needs
EVIDENCE = ("objective_", "residual_", "converged_", "_record")  # what it is judged by


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
    model: Any,
    kernel: Kernel,
    before: RidgeFit | PostponedFit | None,
    alpha: float,
    *,
    averaged: bool,
    fit_intercept: bool,
) -> OnlineRidge:
    """Return the problem of a model's points: the one it has kept, or one that is made of what it was before."""
    memory = parse_memory(model.memory)
    kept = vars(model).get(ONLINE)
    if kept is not None and before is not None:
        with kept.lock:  # somebody may be reading the factor
            if kept.record is before:
                kept.adjust(alpha, averaged=averaged, fit_intercept=fit_intercept, memory=memory)
                return kept
    online = OnlineRidge(kernel, alpha, averaged=averaged, fit_intercept=fit_intercept, memory=memory)
    if before is not None:
        problem = before.problem_on_host
        online.add(problem.X, problem.y, problem.weights)
    return online


def find_online(model: Any, record: RidgeFit) -> OnlineRidge | None:
    """Return the problem that a record is of, if the model still has it."""
    kept = vars(model).get(ONLINE)
    return kept if kept is not None and kept.record is record else None


class OnlineEstimator(RidgeEstimator):
    """A ridge estimator whose attributes are computed when they are first asked for, after points came one by one.

    Copies, files and everything else that reads all of them see what they would have been.  Of several threads that
    ask, one computes.
    """

    def _find_before(self, method: str) -> RidgeFit | PostponedFit | None:
        """Return what the model was fitted to; None if it was not."""
        postponed = self._find_postponed()
        return None if postponed is None else postponed.latest

    def _find_postponed(self) -> PostponedFit | None:
        return vars(self).get(POSTPONED)

    def _postpone(self, postponed: PostponedFit) -> None:
        """Become the model of a fit that is computed later."""
        for name in (*FUNCTION, *EVIDENCE):
            self.__dict__.pop(name, None)
        self.kernel_, self.plan_, self.n_iter_ = postponed.kernel, postponed.plan, 0
        self.__dict__[POSTPONED] = postponed

    def _complete(self, name: str | None = None) -> None:
        """Compute what was postponed: all of it, or as much as an attribute takes."""
        while (postponed := self._find_postponed()) is not None and (name is None or name not in vars(self)):
            with postponed.lock:
                if self._find_postponed() is not postponed:  # another thread was here, or has gone on with points
                    continue
                if not vars(self).keys() >= set(FUNCTION):
                    self._keep_expansion(postponed.function)
                if name not in FUNCTION:
                    self._keep_evidence(postponed.record)
                    del self.__dict__[POSTPONED]

    def _keep_expansion(self, function: Expansion) -> None:
        positions = np.asarray(function.centers) if isinstance(function.kernel, Precomputed) else None
        coef = self._kernel_argument().spread(function.coef, positions, length(function.centers))
        self.__dict__.update(expansion_=function, dual_coef_=coef, intercept_=function.intercept[()])

    def _keep_evidence(self, record: RidgeFit) -> None:
        self.__dict__.update(objective_=record.objective, residual_=record.residual, converged_=record.converged)

    def __getstate__(self) -> Any:
        while True:  # until no other thread has gone on with points in between
            self._complete()
            state = super().__getstate__().copy()
            if POSTPONED not in state:
                return state

    def __dir__(self) -> list[str]:
        self._complete()
        return list(super().__dir__())

    if not TYPE_CHECKING:  # for which all attributes are there

        def __getattr__(self, name: str) -> Any:
            if name in FUNCTION or name in EVIDENCE:
                self._complete(name)
            return super().__getattribute__(name)  # or what it has to say
