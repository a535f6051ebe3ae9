"""Choose kernel, length scales and penalty of ridge: by tuning on subsets if asked, and then on a path of penalties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from mercer.kernels import Kernel
from mercer.solvers.base import Problem
from mercer.solvers.ridge.fit import pick_points
from mercer.solvers.ridge.posterior.profile import find_profile

from .choice import MakeCurves, choose
from .criterion import MarginalCurves, log_likelihoods, make_criterion
from .folds import folds_among
from .length_scales import length_scale_of, make_families, split_length_scales
from .polishing import polish
from .target_units import TargetUnits
from .tuning import OnStep, race

PATH_LIMIT = 5000  # points up to which the path is computed from all of them
PATH_SAMPLE = 3000  # points it is computed from otherwise
DEVICE_SAMPLE = 20_000  # the same on a GPU, which computes the path of all points whose matrices fit
SUBSET = 1500  # points of a tuning step, and more where the fit itself takes minutes anyway
MANY, LARGE_SUBSET = 20_000, 2200
STEPS = 120  # of the tuning
POLISHED_SUBSET, POLISHED_STEPS = 600, 40  # of a tuning that goes on with all points
PATH_BYTES, DEVICE_PATH_BYTES, STEP_BYTES = 40, 24, 64  # for each pair: of the path, and of a tuning step


@dataclass(frozen=True)
class RidgeChoice:
    """What was chosen, and how."""

    kernel: Kernel
    alpha: float
    score: float  # what they reached, larger is better
    path: dict[str, Any]  # all that they were compared with, as ``KernelRidgeCV.path_`` has it
    edge: str = ""  # what to say if the best lies at the edge of what was searched; empty if it does not


def search_ridge(
    problem: Problem,
    kernels: Sequence[Kernel] | None,
    *,
    tune: bool = False,
    alphas: np.ndarray | None = None,
    scorer: Any = None,
    cv: Any = None,
    random_state: Any = None,
    on_step: OnStep = lambda step, error: False,
    curves: MakeCurves | None = None,
    most: int | None = None,
    criterion: Literal["loo", "marginal"] = "loo",
    name: str = "search_ridge",
) -> RidgeChoice:
    """Return the best kernel and penalty of a problem.

    Parameters
    ----------
    problem : Problem
        Its kernel does not matter, its targets may have one dimension, and some of its weights may be 0.
    kernels : sequence of Kernel, optional
        The kernels to choose from; Gaussian and Matérn kernels if not given, which are tuned.
    tune : bool
        Whether their length scales are tuned, one for each feature.
    alphas : array, optional
        The penalties to choose from.
    scorer : callable, optional
        A scorer of scikit-learn; minus the mean squared error if not given.
    cv : int, splitter or iterable, optional
        Folds; by default each point is left out once.
    random_state : int, RandomState or None
        The seed of subsets.
    on_step : callable
        Told the number and the error of each step of the tuning, which ends if it returns True.
    curves : callable, optional
        As in :func:`mercer.learning.choice.choose`.
    most : int, optional
        Points that the path of penalties is computed from, if there are more; by default as many as pay.
    criterion : {"loo", "marginal"}
        What to judge by: errors of points left out, or the marginal likelihood, which also finds the size of the
        kernel; kernel and penalty are multiplied by it.
    name : str
        Who complains.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 40).reshape(-1, 1)
    >>> search_ridge(Problem(Gaussian(), X, np.sin(X[:, 0])), [Gaussian(0.01), Gaussian(2.0)]).kernel
    Gaussian(length_scale=2.0)
    """
    n, flat = len(problem.y), problem.y.ndim == 1
    kept = np.arange(n) if problem.weights is None else np.flatnonzero(problem.weights)
    if len(kept) < 2:
        raise ValueError(
            f"{name} needs at least 2 points with a weight, one to leave out and one to fit; got n_samples = "
            f"{len(kept)}"
        )
    data = pick_points(replace(problem, y=problem.y.reshape(n, -1)), kept)
    units = TargetUnits.of(data.y, data.weights, centred=problem.fit_intercept)
    marginal = criterion == "marginal"
    if marginal:  # the targets share one size of the kernel
        units = replace(units, scale=np.full_like(units.scale, units.scale.max()))
    data = replace(data, y=units.relative(data.y))
    score = None if scorer is None else units.score(scorer, flat=flat)
    rng = check_random_state(random_state)
    tuned, hints = None, list[float]()
    limit, sample = limit_path(data)
    polished = marginal and data.n <= limit
    if kernels is None or tune:
        starts = (
            make_families(data.X)
            if kernels is None
            else [split_length_scales(kernel, data.X.shape[1]) for kernel in kernels]
        )
        size = max(2, min(SUBSET if data.n < MANY else LARGE_SUBSET, int((data.memory / STEP_BYTES) ** 0.5)))
        steps, judge = int(min(STEPS, 10 + data.n // 4)), make_criterion(criterion)
        if polished:  # a few steps on few points to begin with
            size, steps = min(size, POLISHED_SUBSET), min(steps, POLISHED_STEPS)
        tuned = race(starts, data, rng, size=size, steps=steps, on_step=on_step, criterion=judge)
        kernels, hints = tuned.rivals()
        if polished:
            heard = tuned.trace

            def tell(error: float) -> bool:
                heard.append(error)
                return on_step(len(heard), error)

            kernel, alpha = polish(data, tuned.kernel, tuned.alpha, judge, rng, tell)
            kernels, hints = [kernel], [alpha]
    if most is not None:
        limit, sample = min(limit, most), min(sample, most)
    if data.n > limit:
        chosen = rng.permutation(data.n)[:sample]
        data, kept = pick_points(data, chosen), kept[chosen]
    curves = MarginalCurves if marginal else curves
    found = choose(data, kernels, alphas, score=score, folds=folds_among(cv, n, kept), curves=curves, hints=hints)
    with np.errstate(over="ignore", under="ignore"):
        unit = float(units.scale[0] ** 2) if score is None and flat else 1.0
    path: dict[str, Any] = {
        "alphas": found.alphas,
        "kernels": list(kernels),
        "length_scales": [length_scale_of(kernel) for kernel in kernels],
        "errors": -unit * found.scores,
        "tuning": unit * np.array([] if tuned is None else tuned.trace),
    }
    edge = "" if tuned is None else tuned.edge
    if not marginal:
        return RidgeChoice(found.kernel, found.alpha, unit * found.score, path, edge)
    scale = float(units.scale[0])
    trace = np.array([] if tuned is None else tuned.trace)
    likelihoods = {"errors": -log_likelihoods(-found.scores, scale), "tuning": -log_likelihoods(trace, scale)}
    reached = float(log_likelihoods(np.array(-found.score), scale))
    factor = 1.0
    if np.isfinite(reached):
        factor = find_profile(data, found.kernel, found.alpha, gradient=False).size * scale**2 or 1.0
    return RidgeChoice(factor * found.kernel, factor * found.alpha, reached, path | likelihoods, edge)


def limit_path(data: Problem) -> tuple[int, int]:
    """Return up to how many points the path is computed from all of them, and from how many otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> limit_path(Problem(Gaussian(), np.zeros((2, 1)), np.zeros((2, 1)), memory=10**9))
    (5000, 3000)
    """
    if data.place.kind == "cuda":
        room = max(2, int((data.memory / DEVICE_PATH_BYTES) ** 0.5))
        return room, min(DEVICE_SAMPLE, room)
    room = max(2, int((data.memory / PATH_BYTES) ** 0.5))
    return min(PATH_LIMIT, room), min(PATH_SAMPLE, room)
