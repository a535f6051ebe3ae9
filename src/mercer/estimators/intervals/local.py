"""Intervals of ridge regression that are as wide as errors are large, without fitting again."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays.budget import require
from mercer.formula.data import Rows, length
from mercer.learning.error_scale import choose_scale
from mercer.solvers.conformal.jackknife import jackknife_plus
from mercer.solvers.conformal.scales import fit_left_out, leave_two_out, measure_sizes
from mercer.solvers.ridge.fit import RidgeFit
from mercer.solvers.ridge.interval import Jackknife, each_penalty, invert_with_constant

MOST_POINTS = 5_000  # of which two inverses and a product of matrices take less time than ten more fits and scales
MATRICES = 9  # of n² numbers that are there at the same time


def interval_of_scaled(record: RidgeFit, X: Rows, coverage: float, random_state: Any = None) -> np.ndarray | None:
    """Return the ends of jackknife+ intervals whose errors are divided by their scale, shape (m, q, 2).

    The model without point i has a scale of its own.  It is a ridge fit with the same kernel to the logarithms of the
    errors at all other points j, each that of the model without i and j.  So all models without a point treat the
    others alike, which is what the promise of the jackknife+ asks for, and all follow from two inverses.  The penalty
    of the scales is that of all errors, and counts as given.

    None if there are explicit features, Nyström centres or very many points, or if the penalty is lost in rounding.

    Parameters
    ----------
    record : RidgeFit
        A fit.
    X : collection of m objects
        Points, as the kernel takes them.
    coverage : float
        Between 0 and 1.
    random_state : int, RandomState or None
        The seed of the sample from which the penalty of the scale is chosen, where there are many points.
    """
    n = record.problem_on_host.n
    if n > MOST_POINTS or record.expansion.explicit is not None or record.plan.solver == "nystroem":
        return None
    remedy = "give more memory, fit fewer points, or say method='cv+'"
    require(8.0 * MATRICES * n * n, record.problem_on_host.memory, f"the scales of errors of {n} points", remedy)
    out = np.empty((length(X), record.penalty.size, 2))
    for columns, jackknife in each_penalty(record):
        if jackknife.inverse is None:
            return None
        for place, column in enumerate(columns):
            ends = _widen(jackknife, place, X, coverage, random_state)
            if ends is None:
                return None
            out[:, column] = ends
    return out


def _widen(jackknife: Jackknife, place: int, X: Rows, coverage: float, random_state: Any) -> np.ndarray | None:
    """Return the ends for one of the targets, shape (m, 2), None if its scale cannot be told from rounding."""
    problem, unit = jackknife.problem, float(jackknife.unit[place])
    assert jackknife.inverse is not None
    A = problem.gram(dtype=np.float64).dense()
    A[np.diag_indices(len(A))] += choose_scale(problem, jackknife.errors[:, [place]] / unit, random_state)
    found = invert_with_constant(A, fit_intercept=True)
    if found is None:
        return None
    sizes = measure_sizes(leave_two_out(jackknife.inverse, jackknife.coef[:, place] / unit))
    coef, intercept = fit_left_out(found[0], found[1], sizes)
    radii = jackknife.radii[:, place] / np.exp(sizes.diagonal())
    parts = [np.empty((0, 2))]
    for values, kernel in jackknife.blocks_with_kernel(X):
        parts.append(jackknife_plus(values[..., place], radii, coverage, np.exp(kernel @ coef + intercept)))
    return np.concatenate(parts)
