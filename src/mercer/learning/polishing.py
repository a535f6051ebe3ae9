"""The last steps of a search, on all points at once: down to where the criterion stops to fall.

Steps on random subsets come near the minimum and no nearer, because every subset has another.  With all points the
function is one and the same, and a quasi-Newton method takes few steps in it, if it knows the valley: size, length
scales and penalty of a kernel make up for each other.  So a quarter of the points, which take a sixtieth of the time,
come first, and the curvature at their minimum makes the last steps straight.

Length scales of features that tell nothing would grow for ever, and gain less with every step: what is left to gain
falls as 1/ℓ².  They are let go far at once, one after the other, where that is no loss.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
from scipy.optimize import minimize

from mercer.kernels import Kernel
from mercer.solvers.base import Problem
from mercer.solvers.ridge.fit import pick_points

from .criterion import Criterion
from .length_scales import Logarithms, is_length_scale

STEPS = 40  # evaluations at most
GAIN = 0.001  # of the log likelihood of all points together: a step that gains less is the last
COARSE = 0.03  # the same before length scales are let go
REACH = 1e3  # how far a parameter may go, as a factor
FEW = 300  # points that come first at least
MANY = 64  # length scales that are not tried one by one
APART = 0.05  # steps of the logarithms between which slopes are compared
FLAT = 1e-4  # of the largest curvature: less counts as that
HOPELESS = 1e10  # in place of a number, where rounding leaves none


def polish(
    problem: Problem,
    kernel: Kernel,
    alpha: float,
    criterion: Criterion,
    rng: np.random.RandomState,
    on_error: Callable[[float], bool] = lambda error: False,
) -> tuple[Kernel, float]:
    """Return the kernel with other length scales, and the penalty, at a minimum of a criterion near those given.

    ``on_error`` is told the error of each step, which is the last if it returns True.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.learning.criterion import MarginalCriterion
    >>> X = np.linspace(0.0, 6.0, 40).reshape(-1, 1)
    >>> problem, judge = Problem(Gaussian(), X, np.sin(X)), MarginalCriterion()
    >>> k, alpha = polish(problem, Gaussian(0.5), 1e-3, judge, np.random.RandomState(0))
    >>> before = judge.judge(problem, Gaussian(0.5), 1e-3, gradient=False).error
    >>> judge.judge(problem, k, alpha, gradient=False).error < before
    True
    """
    few = pick_points(problem, rng.permutation(problem.n)[: max(FEW, problem.n // 4)])
    with suppress(_StoppedError):
        first = Valley(few, kernel, criterion, on_error)
        kernel, alpha = first.place(first.descend(first.locate(kernel, alpha), COARSE))
        kernel = release(few, kernel, alpha, criterion)
        at = first.locate(kernel, alpha)
        last = Valley(problem, kernel, criterion, on_error)
        return last.place(last.descend(at, GAIN, first.straighten(at)))
    return kernel, alpha


class Valley(Logarithms):
    """A criterion as a function of the logarithms of the penalty and of all length scales of a kernel.

    Parameters
    ----------
    problem : Problem
        Points and targets.
    kernel : Kernel
        The kernel, of which the length scales change.
    criterion : Criterion
        What to judge by.
    on_error : callable
        Told the error of each step of a descent, which is the last if it returns True.
    """

    def __init__(
        self, problem: Problem, kernel: Kernel, criterion: Criterion, on_error: Callable[[float], bool]
    ) -> None:
        super().__init__(kernel)
        self.problem, self.criterion, self.on_error = problem, criterion, on_error

    def evaluate(self, at: np.ndarray) -> tuple[float, np.ndarray, float]:
        """Return half the logarithm of the error, its slope, and the error itself."""
        try:
            found = self.criterion.judge(self.problem, *self.place(at), gradient=True)
        except np.linalg.LinAlgError:
            return HOPELESS, np.zeros_like(at), HOPELESS
        slope = self.gradient(found)
        if not (found.error > 0 and np.isfinite(slope).all()):
            return HOPELESS, np.zeros_like(at), HOPELESS
        return 0.5 * float(np.log(found.error)), 0.5 * slope / found.error, found.error

    def straighten(self, at: np.ndarray) -> np.ndarray:
        """Return a matrix T in whose coordinates, T⁻¹ times the logarithms, the valley at a place is about round."""
        slopes = [self.evaluate(at + APART * side * unit)[1] for unit in np.eye(len(at)) for side in (1.0, -1.0)]
        curvature = (np.array(slopes[::2]) - np.array(slopes[1::2])) / (2.0 * APART)
        values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
        largest = max(float(values[-1]), np.finfo(float).tiny)
        return np.asarray(vectors / np.sqrt(np.maximum(values, FLAT * largest)))

    def descend(self, start: np.ndarray, gain: float, T: np.ndarray | None = None) -> np.ndarray:
        """Return where steps end that gain so much each, or more."""
        T = np.eye(len(start)) if T is None else T
        best, reach = (HOPELESS, start), np.log(REACH)

        def evaluate(z: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal best
            at = start + np.clip(T @ z, -reach, reach)
            value, slope, error = self.evaluate(at)
            best = min(best, (value, at), key=lambda point: point[0])
            if error < HOPELESS and self.on_error(error):
                raise _StoppedError
            return value, T.T @ slope

        options = {"maxfun": STEPS, "ftol": gain / self.problem.n, "gtol": 0.0}
        minimize(evaluate, np.zeros_like(start), jac=True, method="L-BFGS-B", options=options)
        return best[1]


def release(problem: Problem, kernel: Kernel, alpha: float, criterion: Criterion) -> Kernel:
    """Return the kernel with those length scales a thousand times as long whose features tell nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.learning.criterion import MarginalCriterion
    >>> X = np.random.default_rng(0).uniform(-3.0, 3.0, size=(60, 2))
    >>> release(Problem(Gaussian(), X, np.sin(X[:, :1])), Gaussian([1.0, 9.0]), 0.01, MarginalCriterion())
    Gaussian(length_scale=[1.0, 9000.0])
    """
    values = kernel.hyperparameters()
    names = sorted((name for name in values if is_length_scale(name)), key=lambda name: -values[name])
    if not 1 < len(names) <= MANY:
        return kernel
    with suppress(np.linalg.LinAlgError):
        least = criterion.judge(problem, kernel, alpha, gradient=False).error
        for name in names:
            freed = kernel.with_hyperparameters({name: REACH * values[name]})
            error = criterion.judge(problem, freed, alpha, gradient=False).error
            if error <= least * (1.0 + 2.0 * GAIN / problem.n):
                kernel, least = freed, min(least, error)
    return kernel


class _StoppedError(Exception):
    """Somebody had enough."""
