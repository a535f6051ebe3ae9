"""Length scales and penalty by the gradient of the leave-one-out error, on changing random subsets of the data.

The error of a subset of m points costs O(m³), its gradient by every length scale no more, and each step draws another
subset, so that what is found does not depend on any one of them.  Steps are Adam's, in the logarithms of all
parameters and on the logarithm of the error, so that neither the units of the data nor those of the target matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.gram.device.tensors import host_array
from mercer.kernels import Gaussian, Kernel, Matern
from mercer.kernels.data import Rows, length, pick
from mercer.solvers.loo_gradient import LeaveOneOut, leave_one_out

RATE = 0.2  # of the first step, in logarithms; it falls to 0 as a cosine
MEMORY = (0.9, 0.99)  # of Adam, for the gradient and its square
AVERAGED = 0.2  # of the steps, the last ones, are averaged
PENALTIES = (1e-8, 1e2)  # relative to the mean of k(x, x)
FIRST_PENALTY = 1e-2
NARROW, WIDE = 1e-2, 1e3  # how far a length scale may go from where it starts
RACE = 0.35  # share of the steps in which families compete, on subsets smaller by SMALL
SMALL = 0.5
OnStep = Callable[[int, float], bool]  # number of the step and error; True to stop tuning


@dataclass(frozen=True)
class Objective:
    """What is tuned to: points, targets of comparable size, and how they are fitted.

    Parameters
    ----------
    X : collection of n objects
        The points.
    y : array of shape (n, q)
        The targets.
    weights : array of shape (n,), optional
        Their weights.
    fit_intercept : bool
        Whether there is an intercept.
    device : torch.device, optional
        Where to compute; on the host if not given.
    """

    X: Rows
    y: np.ndarray
    weights: np.ndarray | None = None
    fit_intercept: bool = True
    device: Any = None

    def on(self, positions: np.ndarray, kernel: Kernel, alpha: float, *, gradient: bool) -> LeaveOneOut:
        """Return the leave-one-out error of some of the points."""
        weights = None if self.weights is None else self.weights[positions]
        return leave_one_out(
            kernel, pick(self.X, positions), self.y[positions], alpha, weights=weights,
            fit_intercept=self.fit_intercept, gradient=gradient, device=self.device,
        )  # fmt: skip


@dataclass(frozen=True)
class Tuned:
    """What was found.

    Parameters
    ----------
    kernel : Kernel
        The kernel, its length scales tuned.
    alpha : float
        The penalty.
    error : float
        Leave-one-out mean squared error on the subset that families were compared on; NaN for one family.
    trace : list of float
        The error of each step's subset.
    """

    kernel: Kernel
    alpha: float
    error: float = float("nan")
    trace: list[float] = field(default_factory=list)


def families(X: np.ndarray) -> list[Kernel]:
    """Return Gaussian and Matérn kernels, with one length scale for each feature to start from: √d deviations.

    A constant feature gets 1, as it has no scale of its own and no influence either.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.tuning import families
    >>> [type(kernel).__name__ for kernel in families(np.eye(3))]
    ['Matern', 'Matern', 'Gaussian']
    """
    X = host_array(X)
    spread = np.asarray(X, dtype=np.float64).std(axis=0)
    constant = ~(spread > 1e-12 * np.abs(X).max(axis=0, initial=0.0))
    scales = (np.where(constant, 1.0, spread) * np.sqrt(max(1, np.sum(~constant)))).tolist()
    return [Matern(1.5, scales), Matern(2.5, scales), Gaussian(scales)]


def race(
    kernels: Sequence[Kernel],
    objective: Objective,
    rng: np.random.RandomState,
    *,
    size: int,
    steps: int,
    on_step: OnStep = lambda step, error: False,
) -> Tuned:
    """Tune every kernel for a while, keep the one with the smallest error on a common subset, and tune that to the end.

    Parameters
    ----------
    kernels : sequence of Kernel
        The families, each with the length scales it starts from.
    objective : Objective
        Data and targets.
    rng : RandomState
        Draws the subsets.
    size : int
        Points of a subset.
    steps : int
        Steps of the last run; those of the race are fewer, and on subsets of half the size.
    on_step : callable
        Told the number of each step and its error; tuning ends if it returns True.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.tuning import Objective, families, race
    >>> rng = np.random.RandomState(0)
    >>> X = rng.uniform(-2.0, 2.0, size=(100, 2))
    >>> data = Objective(X, np.sin(3.0 * X[:, :1]))
    >>> near, far = race(families(X), data, rng, size=100, steps=40).kernel.length_scale
    >>> near < far / 5
    True
    """
    n = length(objective.X)
    found = [Tuned(kernel, FIRST_PENALTY * _level(kernel, objective.X)) for kernel in kernels]
    if len(found) > 1:
        common = rng.permutation(n)[:size]
        short = max(1, round(RACE * steps))
        for i, start in enumerate(found):
            tuned = descend(
                start, objective, np.random.RandomState(rng.randint(2**31)), size=max(2, int(SMALL * size)),
                steps=short, on_step=on_step,
            )  # fmt: skip
            error = _error(objective, common, tuned)
            found[i] = Tuned(tuned.kernel, tuned.alpha, error, tuned.trace)
        found.sort(key=lambda tuned: tuned.error)
    best = found[0]
    return descend(best, objective, rng, size=size, steps=steps, on_step=on_step)


def descend(
    start: Tuned,
    objective: Objective,
    rng: np.random.RandomState,
    *,
    size: int,
    steps: int,
    rate: float = RATE,
    on_step: OnStep = lambda step, error: False,
) -> Tuned:
    """Follow the gradient of the leave-one-out error from a start, a new random subset of ``size`` points each step.

    Length scales stay between 1/100 and 1,000 times where they started, and the penalty between 10⁻⁸ and 100 times
    the mean of k(x, x).  A step from which the matrix cannot be inverted is taken back, and the penalty grows instead.
    """
    n, level = length(objective.X), _level(start.kernel, objective.X)
    values = start.kernel.hyperparameters()
    names = [name for name in values if is_length_scale(name)]
    at = np.log([start.alpha, *(values[name] for name in names)])
    low = np.r_[np.log(PENALTIES[0] * level), at[1:] + np.log(NARROW)]
    high = np.r_[np.log(PENALTIES[1] * level), at[1:] + np.log(WIDE)]
    at = np.clip(at, low, high)
    mean, square = np.zeros_like(at), np.zeros_like(at)
    last, trace = [], list(start.trace)
    for step in range(1, steps + 1):
        subset = rng.permutation(n)[:size]
        kernel = start.kernel.with_hyperparameters(dict(zip(names, np.exp(at[1:]), strict=True)))
        try:
            found = objective.on(subset, kernel, float(np.exp(at[0])), gradient=True)
        except np.linalg.LinAlgError:
            at[0] = min(at[0] + np.log(10.0), high[0])
            continue
        gradient = np.array([found.by_log_alpha, *(found.by_log_hyperparameter[name] for name in names)])
        if not (found.error > 0 and np.isfinite(gradient).all()):
            break  # nothing left to improve
        gradient /= found.error
        mean += (1 - MEMORY[0]) * (gradient - mean)
        square += (1 - MEMORY[1]) * (gradient**2 - square)
        direction = mean / (1 - MEMORY[0] ** step) / (np.sqrt(square / (1 - MEMORY[1] ** step)) + 1e-12)
        at = np.clip(at - rate * 0.5 * (1 + np.cos(np.pi * step / (steps + 1))) * direction, low, high)
        trace.append(found.error)
        if step > (1 - AVERAGED) * steps:
            last.append(at)
        if on_step(len(trace), found.error):
            break
    at = np.mean(last, axis=0) if last else at
    kernel = start.kernel.with_hyperparameters(dict(zip(names, np.exp(at[1:]), strict=True)))
    return Tuned(kernel, float(np.exp(at[0])), start.error, trace)


def per_feature(kernel: Kernel, d: int) -> Kernel:
    """Return the kernel with one length scale for each of d features wherever it looks at all of them with one.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear, Matern
    >>> from mercer.models.tuning import per_feature
    >>> per_feature(2.0 * Gaussian(length_scale=3.0) + Matern().on([0]) * Linear(), 2)
    2.0 * Gaussian(length_scale=[3.0, 3.0]) + Matern(nu=1.5, length_scale=1.0).on([0]) * Linear()
    """
    probe = np.zeros((1, d))
    for name, value in kernel.hyperparameters().items():
        if not is_length_scale(name) or "[" in name:
            continue
        try:
            wider = kernel.with_params(**{name: [value] * d})
            wider(probe)
        except (ValueError, TypeError):  # it looks at other columns than these, or takes one number only
            continue
        kernel = wider
    return kernel


def with_length_scale(kernel: Kernel, value: Any) -> Kernel:
    """Return the kernel with this length scale, a number or one for each feature, wherever it has one.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.models.tuning import with_length_scale
    >>> with_length_scale(Gaussian() + Linear(), 2.0)
    Gaussian(length_scale=2.0) + Linear()
    """
    names = [name for name in kernel.get_params() if is_length_scale(name)]
    if not names:
        raise ValueError(
            f"{kernel!r} has no length scale to choose; leave out length_scales, or give a kernel that has one, like "
            "Gaussian()"
        )
    return kernel.with_params(**dict.fromkeys(names, value))


def length_scale_of(kernel: Kernel) -> Any:
    """Return the first length scale parameter of a kernel, None if it has none."""
    params = kernel.get_params()
    return next((params[name] for name in params if is_length_scale(name)), None)


def is_length_scale(name: str) -> bool:
    """Whether a hyperparameter of this name is a length scale.

    Examples
    --------
    >>> from mercer.models.tuning import is_length_scale
    >>> is_length_scale("k1__length_scale[2]"), is_length_scale("alpha")
    (True, False)
    """
    return name.rpartition("__")[2].partition("[")[0] == "length_scale"


def _level(kernel: Kernel, X: Rows) -> float:
    """Return the mean of k(x, x), which penalties are relative to."""
    some = host_array(pick(X, np.arange(min(length(X), 1000))))
    return max(float(np.mean(kernel.diag(some))), np.finfo(float).tiny)


def _error(objective: Objective, positions: np.ndarray, tuned: Tuned) -> float:
    try:
        return objective.on(positions, tuned.kernel, tuned.alpha, gradient=False).error
    except np.linalg.LinAlgError:
        return float("inf")
