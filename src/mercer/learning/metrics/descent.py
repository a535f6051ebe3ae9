"""Follow the gradient of the exact leave-one-out error by the whole metric.

Let L be the error of ridge with the kernel matrix K of rows uᵢ = xᵢR, and M = ∂L/∂K.  If every row is moved to
u exp(E), E being symmetric, then at E = 0

    ∂L/∂E = 2 UᵀS,   Sₐ = Σ_b M_ab ∇ₐ k(u_a, u_b),

which is one more product of matrices than the error itself takes, however many numbers there are in E.  A diagonal E
is a factor for each length scale.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.gram.slopes import sum_weighted_slopes
from mercer.solvers.base import Problem
from mercer.solvers.ridge.fit import pick_points
from mercer.solvers.ridge.loo_gradient import judge_kernel
from mercer.solvers.rounding import weighted_trace

from ..adam import Adam, fall
from .judge import PENALTIES, MetricTrial
from .metric import Structure

RATE, MIXING = 0.2, 0.1  # of the first step, in logarithms: of a diagonal, and of a whole matrix


def descend(
    start: MetricTrial,
    problem: Problem,
    structure: Structure,
    rng: np.random.RandomState,
    *,
    size: int,
    steps: int,
    share: float = 1.0,
) -> MetricTrial:
    """Return the trial after so many steps, each on ``size`` rows of its own, or the start if there is nowhere to go.

    Rates are multiplied by ``share``.
    """
    adam, penalty = Adam(), Adam()
    metric, log_alpha = start.metric, math.log(start.alpha)
    rate = share * (RATE if structure.is_diagonal else MIXING)
    for step in range(1, steps + 1):
        rows = pick_points(problem, rng.permutation(problem.n)[: min(size, problem.n)])
        case = replace(rows, kernel=start.kernel, X=metric.map(rows.X))
        if step == 1:
            trace = weighted_trace(case) or 1.0
            low, high = math.log(PENALTIES[0] * trace), math.log(PENALTIES[-1] * trace)
        log_alpha = min(max(log_alpha, low), high)
        try:
            found = judge_kernel(
                case.kernel, case.X, case.y, math.exp(log_alpha), weights=case.weights, fit_intercept=case.fit_intercept
            )
        except np.linalg.LinAlgError:
            log_alpha += math.log(10.0)
            continue
        if not (math.isfinite(found.error) and found.error > 0):
            break  # nothing left to improve
        S = sum_weighted_slopes(start.kernel, case.X, found.M)
        gradient = structure.restrict(np.asarray(host_array(2.0 * (case.X.T @ S)))) / found.error
        if not np.isfinite(gradient).all():
            break
        now = fall(rate, step, steps)
        metric = metric.stretch(-now * _shorten(adam.direct(gradient)))
        log_alpha -= fall(share * RATE, step, steps) * float(penalty.direct(np.array(found.by_log_alpha / found.error)))
    return replace(start, metric=metric, alpha=math.exp(log_alpha))


def _shorten(direction: np.ndarray) -> np.ndarray:
    """Return a direction whose entries off the diagonal count less the more of them there are in a row."""
    if direction.ndim == 1:
        return direction
    off = direction / math.sqrt(len(direction))
    np.fill_diagonal(off, np.diagonal(direction))
    return off
