"""How large errors are in which places, learned from errors at points that a model has not seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.expansion import Expansion
from mercer.solvers.base import Problem
from mercer.solvers.conformal.scales import measure_sizes
from mercer.solvers.ridge.fit import fit_ridge, pick_points

from .choice import choose
from .search import limit_path

# The logarithm of the size of a normal error has a variance of π²/8 about that of its scale, which is noise here.  As a
# share of the mean of k(x, x), the penalty stands for it: with a tenth, scales vary by a factor of e^3.5 or so, and a
# smaller one lets them run away just beyond the data.
LEAST_PENALTY = 0.1


def learn_scale(problem: Problem, errors: np.ndarray, random_state: Any = None) -> Expansion:
    """Return g of which exp(g(x)) is the scale of errors at x, up to a constant.

    g is a ridge fit to the logarithms of their absolute values, with the kernel of the problem and the penalty of the
    smallest leave-one-out error, but not less than what their noise asks for: flat where errors do not depend on x, and
    tame where there are no points.  Logarithms make the unit of errors a constant, their scale positive, and outliers
    few.

    Parameters
    ----------
    problem : Problem
        Kernel and points; its targets are not read.
    errors : array of shape (n, q)
        Errors at points left out.
    random_state : int, RandomState or None
        The seed of the sample from which the penalty is chosen, where there are many points.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 3.0, 200).reshape(-1, 1)
    >>> errors = np.exp(X) * np.cos(77.0 * X)
    >>> g = learn_scale(Problem(Gaussian(), X, errors), errors)
    >>> bool(abs(np.diff(g([[0.5], [2.5]])[:, 0]) - 2.0)[0] < 0.3)  # the logarithm of exp(2.5)/exp(0.5)
    True
    """
    data = replace(problem, y=measure_sizes(errors), weights=None, fit_intercept=True)
    penalty = np.full(data.y.shape[1], choose_scale(problem, errors, random_state))
    return fit_ridge(data, penalty, random_state=random_state, name="predict_interval").expansion


def choose_scale(problem: Problem, errors: np.ndarray, random_state: Any = None) -> float:
    """Return the penalty that :func:`learn_scale` takes, from the same arguments.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X, errors = np.linspace(0.0, 3.0, 50).reshape(-1, 1), np.ones((50, 1))
    >>> choose_scale(Problem(Gaussian(), X, errors), errors) >= LEAST_PENALTY
    True
    """
    data = replace(problem, y=measure_sizes(errors), weights=None, fit_intercept=True)
    limit, sample = limit_path(data)
    some = data
    if data.n > limit:
        some = pick_points(data, check_random_state(random_state).permutation(data.n)[:sample])
    return max(choose(some, [data.kernel]).alpha, LEAST_PENALTY * float(np.mean(some.kernel.diag(some.X))))
