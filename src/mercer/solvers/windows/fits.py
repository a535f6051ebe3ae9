"""Densities, classes and means from windows on weighted points, and the length scale that suits points left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.utils import check_random_state

from mercer.arrays.budget import require
from mercer.arrays.columns import power_of_two
from mercer.arrays.place import Place
from mercer.arrays.shapes import Axes, Number
from mercer.arrays.tensors import host_array
from mercer.expansion import Expansion
from mercer.formula.data import Rows, length, pick
from mercer.formula.expression import Stat, evaluate
from mercer.formula.program import anonymous
from mercer.formula.statistics import ScaledDistance
from mercer.gram.choice import choose_backend
from mercer.kernels import Kernel

from ..neighbors.ranking import find_only_statistic
from .shapes import draw_noise, log_integral
from .sums import WindowSum, log_sum_exp, softmax, undo_exponentials

ENTRIES = 2**22  # pairs of points the criterion looks at: all up to 2,048 points, then all with some
STEPS = 15  # length scales tried before the best is refined
PRECISION = 1e-3  # of the logarithm of the length scale

Answer = tuple[np.ndarray, str | None]  # values at points, and what to say of those that no window reaches


class ScaleSearch(NamedTuple):
    """The length scale found, those tried with their criterion, and how many points were left out in turn."""

    length_scale: float
    tried: np.ndarray
    losses: np.ndarray
    points: int


class PointsLeftOut:
    """Logarithms of a window between some points, the queries, and all others, for any length scale.

    Distances are computed once and kept, on the host.  All points at the same place are left out together, so that
    repeating a point is as good as giving it a weight, and copies of a point do not make narrow windows look good.
    Where not all points can be queries, ``random_state`` is the seed of their choice.
    """

    def __init__(self, owner: str, kernel: Kernel, X: Rows, memory: int, random_state: Any) -> None:
        n = length(X)
        statistic = find_only_statistic(anonymous(kernel.traced()))
        if not isinstance(statistic, ScaledDistance):
            raise ValueError(
                f"{owner}: a length scale can be searched for only if the window is a function of one distance, and "
                f"{kernel!r} is not; give it its length scale"
            )
        count = min(n, max(1, min(ENTRIES, memory // 64) // n))
        require(64 * n * count, memory, f"the distances of one point to {n} others", "give length_scale a number")
        rng = check_random_state(random_state)
        self.queries = np.arange(n) if count == n else np.sort(rng.choice(n, count, replace=False))
        self._kernel: Any = kernel
        tiles = choose_backend(Stat(statistic), pick(X, self.queries), X, repr(kernel), "auto", np.float64)
        self._values = tiles.tile(slice(0, count), slice(0, n))
        self._same = self._values == 0
        self._order = statistic.order

    def log_window(self, length_scale: float) -> np.ndarray:
        """Return log k between each query and each point, −inf where the two are at the same place."""
        formula = anonymous(self._kernel.with_params(length_scale=length_scale).traced())
        undone = undo_exponentials(formula)
        values = evaluate(formula if undone is None else undone, lambda _: self._values, lambda _: self._values)
        with np.errstate(divide="ignore"):
            result = np.log(values) if undone is None else np.array(values, dtype=np.float64)
        result[self._same] = -np.inf
        return np.asarray(result)

    def sum_others(self, V: np.ndarray) -> np.ndarray:
        """Return the sum of each column of V over the points that are left when a query is left out."""
        return np.asarray(V.sum(axis=0) - self._same @ V)

    def minimize(self, loss: Callable[[float], float]) -> ScaleSearch:
        """Return the length scale of least loss, between a tenth of small and twice the largest distance.

        A grid over the whole range finds the valley, and a bounded search its bottom.
        """
        distances = self._values ** (1.0 / self._order)
        positive = np.where(distances > 0, distances, np.inf).min(axis=1)
        positive = positive[np.isfinite(positive)]
        if len(positive) == 0:  # all points are the same one: no scale is better than another
            return ScaleSearch(1.0, np.empty(0), np.empty(0), 0)
        small = np.quantile(np.unique(positive), 0.05)  # of different numbers, so that repetitions do not count
        low, high = np.log(0.1 * small), np.log(2.0 * distances.max())
        tried = list(np.linspace(low, high, STEPS))
        losses = [loss(float(np.exp(t))) for t in tried]

        def trace(t: float) -> float:
            tried.append(t)
            losses.append(loss(float(np.exp(t))))
            return losses[-1] if np.isfinite(losses[-1]) else float(np.finfo(np.float64).max)

        best = int(np.argmin(losses))
        bounds = (tried[max(best - 1, 0)], tried[min(best + 1, STEPS - 1)])
        minimize_scalar(trace, bounds=bounds, method="bounded", options={"xatol": PRECISION})
        order = np.argsort(tried, kind="stable")
        scales, values = np.exp(np.array(tried)[order]), np.array(losses)[order]
        return ScaleSearch(float(scales[np.argmin(values)]), scales, values, len(self.queries))


@dataclass(frozen=True)
class Windows:
    """A window on each of some points: what the estimators keep of a fit."""

    kernel: Kernel
    points: Annotated[Rows, Axes("n+ …")]

    def choose_scale(self, owner: str, memory: int, random_state: Any) -> tuple[Self, ScaleSearch]:
        """Return the same with the length scale that leaving out every point once finds, and how it was found."""
        left_out = PointsLeftOut(owner, self.kernel, host_array(self.points), memory, random_state)
        found = left_out.minimize(lambda scale: self.lose(left_out, scale))
        unit = self.unit_of_loss
        if unit != 1.0:
            with np.errstate(over="ignore"):  # a loss beyond all numbers is infinite
                found = found._replace(losses=found.losses * unit * unit)
        kernel: Any = self.kernel
        return replace(self, kernel=kernel.with_params(length_scale=found.length_scale)), found

    @property
    def unit_of_loss(self) -> float:
        """The number whose square losses are multiples of."""
        return 1.0

    def lose(self, left_out: PointsLeftOut, scale: float) -> float:
        """Return the mean loss at the points left out."""
        raise NotImplementedError

    def evaluate(self, X: Rows, place: Place) -> Answer:
        """Return the values at points, and what to say of those that no window reaches, if there are any."""
        raise NotImplementedError

    def _fill(
        self, sums: WindowSum, X: Rows, empty: np.ndarray, of_points: np.ndarray, mean: np.ndarray, word: str
    ) -> tuple[np.ndarray, str]:
        """Return what points outside of all windows get, that of the nearest training point or a mean; and say so."""
        places = sums.find_nearest(pick(X, np.flatnonzero(empty)))
        answer = f"the {word} of " + ("all points" if places is None else "the nearest training point")
        return mean if places is None else of_points[places], (
            f"no window reaches {int(empty.sum())} of the points, which get {answer} instead; use a larger "
            "length_scale, or a window without an end such as 'gaussian'"
        )


@dataclass(frozen=True)
class DensityWindows(Windows):
    """p(x) = Σᵢ wᵢ k(xᵢ, x) / ∫ k with weights that add up to 1; ``dim`` is that of vectors, None for other objects."""

    weights: Annotated[np.ndarray, Axes("n", of="float64")]
    dim: Annotated[int, Number("d")] | None

    def __post_init__(self) -> None:
        if not (self.weights.min(initial=0.0) >= 0.0 and abs(self.weights.sum() - 1.0) < 1e-6):
            raise ValueError("the weights of windows must not be negative and must add up to 1")
        if self.dim is not None and getattr(self.points, "shape", (0, self.dim))[1:] != (self.dim,):
            raise ValueError(f"the points of windows must have {self.dim} columns")

    @property
    def log_integral(self) -> float | None:
        """The logarithm of ∫ k, None where it is not known."""
        return None if self.dim is None else log_integral(self.kernel, self.dim)

    @property
    def expansion(self) -> Expansion:
        """The density as a function of the kernel's space."""
        return Expansion(self.kernel, self.points, self.weights * np.exp(-(self.log_integral or 0.0)))

    def lose(self, left_out: PointsLeftOut, scale: float) -> float:
        """Return minus the mean log-likelihood."""
        logs = log_sum_exp(left_out.log_window(scale) + np.log(self.weights))
        logs = logs - np.log(left_out.sum_others(self.weights))
        kernel: Any = self.kernel
        volume = log_integral(kernel.with_params(length_scale=scale), self.dim or 1) or 0.0
        return float(volume - np.average(logs, weights=self.weights[left_out.queries]))

    def evaluate(self, X: Rows, place: Place) -> Answer:
        """Return the logarithm of the density, −inf outside of all windows."""
        sums = WindowSum(self.kernel, self.points, place).log_sums(X, self.weights[:, None])
        return sums[:, 0] - (self.log_integral or 0.0), None

    def sample(self, count: int, rng: np.random.RandomState) -> np.ndarray:
        """Return points drawn from the density."""
        centers = pick(self.points, rng.choice(len(self.weights), size=count, p=self.weights))
        centers = centers.toarray() if sparse.issparse(centers) else np.asarray(host_array(centers))
        return np.asarray(centers + draw_noise(self.kernel, len(centers), centers.shape[1], rng))


@dataclass(frozen=True)
class ClassWindows(Windows):
    """p(c | x) ∝ π_c · Σ wᵢ k(xᵢ, x) / Σ wᵢ over the points of class c; members are wᵢ in the column of the class."""

    members: Annotated[np.ndarray, Axes("n c", of="float64")]
    priors: Annotated[np.ndarray, Axes("c", of="float64")]

    @classmethod
    def sort(
        cls, kernel: Kernel, points: Rows, weights: np.ndarray, codes: np.ndarray, priors: np.ndarray | None
    ) -> ClassWindows:
        """Return the windows of points whose classes are numbers; priors are shares of the weights if not given."""
        members = weights[:, None] * (codes[:, None] == np.arange(codes.max() + 1))
        mass = members.sum(axis=0)
        return cls(kernel, points, members, mass / mass.sum() if priors is None else priors)

    @property
    def expansions(self) -> list[Expansion | None]:
        """The density of each class as a function, up to the integral of the window; None without points."""
        found: list[Expansion | None] = []
        for column in self.members.T:
            places = np.flatnonzero(column)
            coef = column[places] / column.sum() if len(places) else column[places]
            found.append(Expansion(self.kernel, pick(self.points, places), coef) if len(places) else None)
        return found

    def lose(self, left_out: PointsLeftOut, scale: float) -> float:
        """Return the mean squared error of the posterior; empty windows give the priors."""
        logs, own = left_out.log_window(scale), self.members[left_out.queries]
        with np.errstate(divide="ignore", invalid="ignore"):
            joint = np.stack([log_sum_exp(logs + np.log(column)) for column in self.members.T], axis=1)
            joint -= np.log(np.maximum(left_out.sum_others(self.members), 0.0))
            joint = np.where(np.isnan(joint), -np.inf, joint) + np.log(self.priors)
        posterior = softmax(joint)
        posterior = np.where(np.isnan(posterior), self.priors, posterior)
        errors = ((posterior - (own > 0)) ** 2).sum(axis=1)
        return float(np.average(errors, weights=own.sum(axis=1)))

    def evaluate(self, X: Rows, place: Place) -> Answer:
        """Return the logarithms of the posterior probabilities; kernels without a distance give the priors outside."""
        sums, mass = WindowSum(self.kernel, self.points, place), self.members.sum(axis=0)
        with np.errstate(divide="ignore"):
            shares = np.log(np.divide(self.priors, mass, out=np.zeros_like(mass), where=mass > 0))
        joint = sums.log_sums(X, self.members) + shares
        total = log_sum_exp(joint)
        empty, message = ~np.isfinite(total), None
        if empty.any():
            of_points = (self.members > 0).astype(np.float64)
            filled, message = self._fill(sums, X, empty, of_points, self.priors, "class")
            with np.errstate(divide="ignore"):
                joint[empty] = np.log(filled)
            total[empty] = 0.0
        return joint - total[:, None], message


@dataclass(frozen=True)
class MeanWindows(Windows):
    """f(x) = Σᵢ wᵢ k(xᵢ, x) yᵢ / Σᵢ wᵢ k(xᵢ, x), with targets of shape (n,) or (n, targets)."""

    weights: Annotated[np.ndarray, Axes("n", of="float64")]
    targets: Annotated[np.ndarray, Axes("n t?")]

    def __post_init__(self) -> None:
        if not (self.weights.min(initial=0.0) >= 0.0 and self.weights.sum() > 0.0):
            raise ValueError("the weights of windows must not be negative, and some must be positive")

    @property
    def unit_of_loss(self) -> float:
        """A power of 2 near the largest target, so that neither sums nor squares leave the range of numbers."""
        return float(power_of_two(np.abs(self.targets).max()))

    @property
    def _scaled_targets(self) -> np.ndarray:
        return np.asarray(self.targets.reshape(len(self.targets), -1) / self.unit_of_loss)

    def lose(self, left_out: PointsLeftOut, scale: float) -> float:
        """Return the mean squared error in the unit; empty windows give the mean of all targets."""
        shares, targets = softmax(left_out.log_window(scale) + np.log(self.weights)), self._scaled_targets
        reached = ~np.isnan(shares[:, :1])
        mean = np.average(targets, axis=0, weights=self.weights)
        predicted = np.where(reached, np.where(reached, shares, 0.0) @ targets, mean)
        errors = ((predicted - targets[left_out.queries]) ** 2).sum(axis=1)
        return float(np.average(errors, weights=self.weights[left_out.queries]))

    def evaluate(self, X: Rows, place: Place) -> Answer:
        """Return the means; kernels without a distance give the mean of all targets outside."""
        sums, targets = WindowSum(self.kernel, self.points, place), self._scaled_targets
        values, empty = sums.average(X, self.weights, targets)
        message = None
        if empty.any():
            mean = np.average(targets, axis=0, weights=self.weights)
            values[empty], message = self._fill(sums, X, empty, targets, mean, "target")
        values *= self.unit_of_loss
        return (values[:, 0] if self.targets.ndim == 1 else values), message
