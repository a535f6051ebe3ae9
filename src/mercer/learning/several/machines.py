"""Weights of several kernels for classes, by the method asked for, from all points or from some of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer.arrays.place import Place
from mercer.formula.data import Rows, length, pick
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.messages import warn_caller
from mercer.solvers.machines.problems import MachineProblems

from .dense import combine
from .margins import margin_weights
from .mixture import KernelMixture, stack_kernels
from .simple import machine_weights

METHODS = ("simple", "easy", "average", "sum")
LIMIT = 2000  # points beyond which weights are learned from some of them
RARE = 10  # points of a class that are among those in any case
MATRICES = 4  # beside those of the kernels: their sum in both precisions, and corners


def sample_classes(codes: np.ndarray, size: int, random_state: Any = None) -> np.ndarray:
    """Return positions of about so many points, in order, as many of each class as it has among all, but ten at least.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learning.several.machines import sample_classes
    >>> codes = np.repeat([0, 1, 2], [900, 96, 4])
    >>> np.bincount(codes[sample_classes(codes, 100, 0)])
    array([79, 17,  4])
    """
    if len(codes) <= size:
        return np.arange(len(codes))
    order = check_random_state(random_state).permutation(len(codes))
    first = np.empty(len(codes))
    for c in np.unique(codes):
        own = order[codes[order] == c]
        first[own] = np.maximum(np.arange(len(own)) - RARE + 1, 0) / len(own)
    return np.sort(np.argsort(first, kind="stable")[:size])


def count_points(kernels: int, place: Place) -> int:
    """Return how many points weights are learned from at most, by the budget of memory.

    Examples
    --------
    >>> from mercer.arrays.place import Place
    >>> from mercer.learning.several.machines import count_points
    >>> count_points(6, Place(None, 8_000_000)), count_points(6, Place(None, 10**12))
    (316, 2000)
    """
    return min(LIMIT, max(int((place.memory / (8.0 * (kernels + MATRICES))) ** 0.5), 2))


@dataclass(frozen=True)
class WeightRule:
    """How weights are found.

    Parameters
    ----------
    method : {"simple", "easy", "average", "sum"} or array of shape (m,)
        By :func:`~mercer.learning.several.simple.machine_weights`; by
        :func:`~mercer.learning.several.margins.margin_weights`; all 1/m; those that make the sum of the kernels as they
        are, without scales; or the weights themselves.
    lam : float
        λ of "easy".
    norm : float
        p of "simple".
    """

    method: Any
    lam: float = 0.1
    norm: float = 1.0

    def check(self, count: int, name: str) -> None:
        """Raise if weights of so many kernels cannot be found so."""
        if isinstance(self.method, str) and self.method in METHODS:
            return
        try:
            values = np.asarray(self.method, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.empty(0)
        if values.shape != (count,) or not (np.isfinite(values).all() and (values >= 0).all() and values.any()):
            raise ValueError(
                f"{name}: weights must be one of {', '.join(map(repr, METHODS))}, or one number for each of the "
                f"{count} kernels, none negative and not all 0; got {self.method!r}"
            )


@dataclass(frozen=True)
class WeighedKernels:
    """Kernels with their weights, and what else is known of them.

    Parameters
    ----------
    mixture : KernelMixture
        Kernels, scales and weights.
    matrix : array of shape (n, n), optional
        The centred matrix of the weighted sum, if there is one of all points and its values are slow to compute.
    gap : float, optional
        How far an objective that weights minimise may be from its minimum, relative to it.
    """

    mixture: KernelMixture
    matrix: np.ndarray | None = None
    gap: float | None = None


def weigh_machines(
    rule: WeightRule,
    kernels: Sequence[Kernel],
    X: Rows,
    problems: MachineProblems,
    place: Place,
    *,
    random_state: Any = None,
    name: str = "weigh_machines",
) -> WeighedKernels:
    """Return kernels with weights for the classes of points.

    Parameters
    ----------
    rule : WeightRule
        How weights are found.
    kernels : sequence of m Kernels
        The kernels, which are divided by the variances of their features first.
    X : collection of n objects
        The points.
    problems : MachineProblems
        The classes of the points, their weights, and the machines for them.
    place : Place
        Where kernels are computed, and the budget of memory.
    random_state : int, RandomState or None
        Chooses the points where there are more than 2,000, or more than memory has room for.
    name : str
        Who asks, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.losses import Hinge
    >>> from mercer.solvers.machines.problems import Priced
    >>> X, codes = np.array([[-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [1.0, -1.0]]), np.array([0, 0, 1, 1])
    >>> problems = MachineProblems(Priced(Hinge(), 1.0), codes, np.ones(4), np.array(["no", "yes"]))
    >>> kernels = [Linear().on([0]), Linear().on([1])]
    >>> weigh_machines(WeightRule("simple"), kernels, X, problems, Place.find(None, None)).mixture.weights.round(3)
    array([1., 0.])
    """
    rule.check(len(kernels), name)
    kept = problems.kept
    few = kept[sample_classes(problems.targets[kept], count_points(len(kernels), place), random_state)]
    everything = len(few) == length(X)
    points = X if everything else pick(X, few)
    weights = problems.weigh(few)
    if not weights.all():  # classes of weight 0 are classes all the same
        weights = problems.weights[few]
    plain = None if (weights == 1.0).all() else weights
    stack = stack_kernels(kernels, points, weights=plain, place=place, room=MATRICES - 2)
    method, mixture, gap = rule.method, stack.mixture, None
    if not isinstance(method, str):
        found = np.asarray(method, dtype=np.float64)
    elif method == "simple":
        some = replace(problems, targets=problems.targets[few], weights=problems.weights[few])
        reached = machine_weights(stack.matrices, some.soften(mixture.kernel(), points).parts(), p=rule.norm)
        found, gap = reached.weights, reached.gap
        if not reached.converged:
            warn_caller(
                f"{name}: weights of kernels may be far from the best: after {reached.n_iter} steps the objective is "
                f"within {reached.gap:.1e} of its minimum, relative to it. Lower C if it is very large.",
                ConvergenceWarning,
            )
    elif method == "easy":
        found = margin_weights(stack.matrices, problems.targets[few], lam=rule.lam, weights=plain)
    else:
        found = mixture.scales if method == "sum" else mixture.weights
    mixture = mixture.weighted(found)
    # Values that compiled code computes from vectors come as fast as a matrix is read and checked.
    slow = place.on_host and not Gram(mixture.kernel(), pick(points, [0, 1])).cheap
    return WeighedKernels(mixture, combine(found, stack.matrices) if everything and slow else None, gap)
