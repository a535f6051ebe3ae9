"""The exact leave-one-out error of a kernel in a metric, read off rows that the metric was not learned from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays.namespace import einsum
from mercer.arrays.tensors import host_array
from mercer.kernels import Kernel
from mercer.solvers.base import Problem
from mercer.solvers.ridge.banded import loo_path
from mercer.solvers.rounding import outweighs_rounding, weighted_trace

from ..choice import find_best
from .metric import Metric, Structure

MOST_FACTORS = 12  # multiples of a metric that are tried
GAIN = 0.01  # of the error, from which one of them is better than another
AROUND = 2.1  # decades around a penalty that are tried again
PENALTIES = np.logspace(-11.0, 0.0, 23)  # relative to the trace of WK


@dataclass(frozen=True)
class MetricTrial:
    """A kernel in a metric with its penalty, and how it was found."""

    kernel: Kernel  # on rows that the metric has mapped
    metric: Metric
    alpha: float
    error: float  # the mean squared leave-one-out error
    structure: Structure | None = None  # of what was learned; None if all features count alike
    rounds: int = 0  # of recursive features, the last thing that was done to it
    steps: int = 0  # of a descent, the last thing that was done to it

    @property
    def origin(self) -> str:
        """How it was found, in words."""
        if self.structure is None:
            return "isotropic"
        return f"{self.structure.name}, " + (f"{self.steps} steps" if self.steps else f"round {self.rounds}")


@dataclass(frozen=True)
class Judgement:
    """Leave-one-out errors of some rows, each predicted from all others.

    A metric that was learned from a row knows its target: of two metrics the one with more numbers to learn looks
    better than it is.  So errors are read off rows that it was not learned from; they are fitted with all others.

    Parameters
    ----------
    problem : Problem
        The rows.
    count : int
        How many of them are judged, the first ones.
    """

    problem: Problem
    count: int

    def __call__(self, one: MetricTrial) -> MetricTrial:
        """Return the candidate with the penalty of least error."""
        case = replace(self.problem, kernel=one.kernel, X=one.metric.map(self.problem.X))
        alphas = PENALTIES * (weighted_trace(case) or 1.0)
        if math.isfinite(one.error):  # its penalty is about right
            middle = min(max(one.alpha, alphas[0]), alphas[-1])
            alphas = alphas[np.abs(np.log10(alphas / middle)) <= AROUND]
        left = loo_path(case)(alphas)
        squares = np.mean(left[:, : self.count] ** 2, axis=2)
        weights = None if case.weights is None else case.weights[: self.count]
        errors = np.average(squares, axis=1, weights=weights)
        errors = np.where(outweighs_rounding(case, alphas, left) & np.isfinite(errors), errors, np.inf)
        best = find_best(-errors[None], alphas)[1]
        return replace(one, alpha=float(alphas[best]), error=float(errors[best]))

    def find_scale(self, one: MetricTrial, factors: Any) -> MetricTrial:
        """Return the best multiple of a metric: of factors, and of steps beyond the first or last while they gain.

        Factors count from where the mean squared distance of rows is 1.  Of those that are as good the nearest to that
        is taken, where points are neither all alike nor all alone.
        """
        metric = one.metric.scale(1.0 / measure_spread(one.metric.map(self.problem.X)))
        tried = {float(factor): self(replace(one, metric=metric.scale(factor))) for factor in factors}
        while 1 < len(tried) < MOST_FACTORS:
            order = sorted(tried)
            best = min(order, key=lambda factor: tried[factor].error)
            near = order[1] if best == order[0] else order[-2]
            if best not in (order[0], order[-1]) or tried[best].error > (1 - GAIN) * tried[near].error:
                break
            tried[best**2 / near] = self(replace(one, metric=metric.scale(best**2 / near)))
        least = min(trial.error for trial in tried.values())
        good = [factor for factor, trial in tried.items() if trial.error * (1 - GAIN) <= least]
        return tried[min(good, key=lambda factor: abs(math.log(factor)))]


def measure_spread(U: Any) -> float:
    """Return the root of the mean squared distance between rows.

    Examples
    --------
    >>> import numpy as np
    >>> round(measure_spread(np.array([[0.0], [2.0]])) ** 2, 6)
    2.0
    """
    centred = U - U.mean(axis=0)
    return float(np.sqrt(2.0 * float(host_array(einsum("ij,ij->", centred, centred))) / len(U))) or 1.0
