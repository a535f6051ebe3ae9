"""Weights of several kernels and a penalty for each target: banded ridge, as it is known for many targets.

Weights on the simplex are tried one after the other: the centres of small groups of kernels, points drawn at random,
and then points drawn around those that were best so far.  With B = W^½K_wW^½ = QΛQᵀ (plus √w√wᵀ, which takes care of
the intercept), the coefficients of all targets Y at a penalty α are c = Q(Λ + α)⁻¹QᵀY, and

    ‖c‖² = Σⱼ (QᵀY)ⱼ² / (λⱼ + α)²

is one product of a small matrix with the squares of QᵀY for all targets and all penalties at once.  Divided by the
square of the mean of the diagonal of G this is the generalised cross-validation error, which is the leave-one-out error
Σ(cᵢ/Gᵢᵢ)² with the mean in place of each Gᵢᵢ.  It finds the few best settings of each target, in float32, and the exact
leave-one-out errors of these decide.  So weights cost one product with all targets, instead of one for each penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.arrays.budget import require
from mercer.kernels import Kernel
from mercer.learning.target_units import TargetUnits
from mercer.solvers.base import Problem
from mercer.solvers.residuals import in_squares, judge_solutions
from mercer.solvers.ridge.fit import pick_points

from .decomposed import Blocks, Decomposed
from .mixture import KernelMixture, stack_kernels

LIMIT = 2000  # points beyond which weights are chosen by a random part
GRID = np.logspace(-9.0, 1.0, 21)  # penalties, times the sum of the weights of points
FINER = np.geomspace(0.5, 2.0, 5)  # of the best penalty, tried at the end
SHORTLIST = 3  # settings of each target whose exact errors are compared
GROUPS = 3  # centres of groups of kernels that are tried, times the number of kernels; small groups first
AROUND = 20.0  # how closely points are drawn around the best: the concentration of a Dirichlet distribution
ROUNDS = 8  # of drawing around the best
GAIN = 1e-5  # by which kernels must lower the error of a constant, as float32 may do by rounding
LEAST_WEIGHT = 1e-3  # below which a drawn weight is 0
BLOCK = 2**27  # bytes of the targets that are worked with at a time
LARGE_WEIGHTS = 10  # different weights that there are at most beyond so many points
KEPT = 2**29  # bytes of targets in float32 that are kept while weights are tried
MATRICES = 6  # n × n in float64 beside the stack
SHARE = 0.5  # of what is left of the budget, for decompositions that are kept
ELSEWHERE = 0.5  # added to the concentration of each kernel, so that one of weight 0 may come back
OnStep = Callable[[int, float], bool]


@dataclass(frozen=True)
class EachTarget:
    """What was found for each of q targets.

    Parameters
    ----------
    mixture : KernelMixture
        The kernels, with weights of shape (m, q), of sum 1, or all 0 for a target of which they say nothing.
    alpha : array of shape (q,)
        The penalties.
    coef : array of shape (n, q)
        Coefficients c.
    intercept : array of shape (q,)
        b.
    scores : array of shape (q,)
        R² of the leave-one-out predictions.
    residual : float
        The certificate, as in :mod:`mercer.solvers.base`, the largest of all targets.
    parts : array of shape (2, q)
        Σ wᵢ(yᵢ − f(xᵢ) − b)² and α‖f‖² of each target.
    """

    mixture: KernelMixture
    alpha: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    scores: np.ndarray
    residual: float
    parts: np.ndarray


def fit_each_target(
    data: Problem,
    kernels: Sequence[Kernel],
    *,
    alphas: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    n_candidates: int = 100,
    rng: Any = None,
    on_step: OnStep | None = None,
) -> EachTarget:
    """Choose weights and a penalty for each target by its leave-one-out error, and fit all targets.

    Parameters
    ----------
    data : Problem
        Its kernel does not matter, its weights are positive, and its targets have two dimensions.
    kernels : sequence of m Kernels
        The kernels.
    alphas : array, optional
        The penalties to choose from; 21 over ten decades if not given, and the best refined.
    weights : array of shape (candidates, m), optional
        The weights to choose from, instead of those drawn.
    n_candidates : int, default=100
        How many weights are tried otherwise.
    rng : RandomState, optional
        Draws weights, and chooses the points where there are more than 2,000.
    on_step : callable, optional
        Told of each of the weights, with their mean error; the search ends where it returns True.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(-3.0, 3.0, size=(100, 2))
    >>> data = Problem(Gaussian(), X, np.sin(X), fit_intercept=True)
    >>> found = fit_each_target(data, [Gaussian().on([0]), Gaussian().on([1])], rng=0)
    >>> found.mixture.weights.round(2)
    array([[1., 0.],
           [0., 1.]])
    """
    rng = check_random_state(rng)
    n, q = data.y.shape
    matrices = 8.0 * (len(kernels) + MATRICES) * n * n
    require(
        16.0 * n * q + matrices, data.memory, f"the coefficients of {q} targets at {n} points",
        f"give more memory, or fit at most {max(1, int((data.memory - matrices) / (16 * n)))} targets at a time",
    )  # fmt: skip
    some = data if n <= LIMIT else pick_points(data, rng.permutation(n)[:LIMIT])
    search = _Search(some, kernels, alphas)
    search.run(rng, weights, n_candidates, on_step)
    chosen, alpha = search.decide()
    last = search
    if some is not data:
        chosen, alpha = search.decide_among(np.argsort(-np.bincount(chosen[chosen >= 0], minlength=1))[:LARGE_WEIGHTS])
        last = _Search(data, kernels, alphas)
    return last.fit(np.array(search.tried), chosen, alpha, finer=FINER if alphas is None else np.ones(1))


class _Search:
    """The settings that were tried for all targets, and the best of each."""

    def __init__(self, data: Problem, kernels: Sequence[Kernel], alphas: np.ndarray | None) -> None:
        n, q = data.y.shape
        self.data = data
        self.stack = stack_kernels(
            kernels, data.X, weights=data.weights, centred=data.fit_intercept, place=data.place, room=MATRICES - 2
        )
        room = data.memory - self.stack.matrices.nbytes - 16 * n * q - 8 * MATRICES * n * n
        self.at = Decomposed(self.stack, data.weights, fit_intercept=data.fit_intercept, memory=max(0, room) * SHARE)
        self.units = self._measure_targets()
        self.grid: np.ndarray = GRID * self.at.size if alphas is None else alphas
        self._relative = alphas is None
        self._small: list[tuple[slice, np.ndarray]] = []
        self._forget()

    def _forget(self) -> None:
        """Begin with no weights tried, and no settings of targets."""
        q = self.data.y.shape[1]
        self.tried: list[np.ndarray] = []
        # Of each target the best settings so far: their errors, their weights, and their penalties.
        self.errors = np.full((SHORTLIST, q), np.inf, dtype=np.float32)
        self.which, self.steps = np.zeros((SHORTLIST, q), dtype=np.int64), np.zeros((SHORTLIST, q), dtype=np.int64)

    def run(self, rng: Any, weights: np.ndarray | None, count: int, on_step: OnStep | None) -> None:
        """Try the weights that are given, or so many that are drawn."""
        usable = self.stack.mixture.scales > 0
        if not usable.any():
            self.tried.append(np.zeros(len(usable)))
            return
        if weights is not None:
            self._try_all(weights, on_step)
            return
        groups = centre_groups(usable, min(GROUPS * len(usable), count))
        going = self._try_all(groups, on_step)
        for left in range(ROUNDS, 0, -1):
            more = -(-(count - len(self.tried)) // left)
            if not going or more <= 0 or usable.sum() == 1:
                return
            going = self._try_all(self._draw(rng, more, usable), on_step)

    def _try_all(self, weights: np.ndarray, on_step: OnStep | None) -> bool:
        """Screen all targets with each of the weights; return whether to go on."""
        for each in weights:
            for columns, errors in self.at.screen(each, self._penalties(each), self._small_blocks()):
                self._enter(columns, errors)
            self.tried.append(each)
            if on_step is not None and on_step(len(self.tried), float(self.errors[0].mean())):
                return False
        return True

    def _penalties(self, weights: np.ndarray) -> np.ndarray:
        """Return the penalties to choose from, which grow with the sum of the weights if none were given."""
        return self.grid * weights.sum() if self._relative else self.grid

    def _enter(self, columns: slice, errors: np.ndarray) -> None:
        """Put the best penalty of new weights where it belongs among the best of each target."""
        step = np.argmin(errors, axis=0)
        error = np.take_along_axis(errors, step[None], axis=0)[0]
        place = np.argmax(self.errors[:, columns], axis=0)
        better = np.flatnonzero(error < np.take_along_axis(self.errors[:, columns], place[None], axis=0)[0])
        where = place[better], columns.start + better
        self.errors[where], self.steps[where], self.which[where] = error[better], step[better], len(self.tried)

    def _draw(self, rng: Any, count: int, usable: np.ndarray) -> np.ndarray:
        """Return weights drawn around the best of targets that are drawn too."""
        best = np.take_along_axis(self.which, np.argmin(self.errors, axis=0)[None], axis=0)[0]
        centres = np.array(self.tried)[best[rng.randint(len(best), size=count)]]
        drawn = np.array([rng.gamma(AROUND * centre + ELSEWHERE) for centre in centres]) * usable
        drawn /= drawn.sum(axis=1, keepdims=True)
        drawn[drawn < LEAST_WEIGHT] = 0.0
        return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))

    def decide(self) -> tuple[np.ndarray, np.ndarray]:
        """Return which weights are best for each target by its exact error, −1 for none, and the penalty."""
        q = self.errors.shape[1]
        chosen, alpha, least = np.full(q, -1), np.full(q, self.grid[-1]), (1.0 - GAIN) * self._constant_errors()
        for i, weights in enumerate(self.tried):
            ranks, targets = np.nonzero((self.which == i) & np.isfinite(self.errors))
            for part in self._parts(targets):
                steps = self._penalties(weights)[self.steps[ranks[part], targets[part]]]
                _, _, errors = self.at.solve(weights, steps[None], self._read(targets[part], np.float32))
                better = errors < least[targets[part]]
                columns = targets[part][better]
                chosen[columns], alpha[columns], least[columns] = i, steps[better], errors[better]
        return chosen, alpha

    def decide_among(self, few: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Decide again among some of the weights, because all points take long to decompose."""
        weights = np.array(self.tried)[few]
        self._forget()
        self._try_all(weights, None)
        return self.decide()

    def fit(self, tried: np.ndarray, chosen: np.ndarray, alpha: np.ndarray, finer: np.ndarray) -> EachTarget:
        """Return the fit of all targets with the weights chosen and a penalty near the one chosen."""
        (n, q), unit = self.data.y.shape, self.units.scale
        coef, parts, alpha = np.zeros((n, q)), np.zeros((2, q)), alpha.copy()
        errors, spread, residual = self._constant_errors(), self._spreads(), 0.0
        parts[0] = in_squares(spread * self.at.size, unit)  # of targets without a kernel
        for i in np.unique(chosen[chosen >= 0]):
            matrix = self.stack.mix(tried[i])
            targets = np.flatnonzero(chosen == i)
            for part in self._parts(targets):
                columns = targets[part]
                relative = self._read(columns, np.float64)
                inner, alpha[columns], errors[columns] = self.at.solve(
                    tried[i], finer[:, None] * alpha[columns], relative
                )
                inner *= self.at.roots[:, None]
                found, parts[:, columns] = judge_solutions(
                    self.data, matrix, relative / self.at.roots[:, None], inner, np.zeros(len(columns)), alpha[columns]
                )
                residual = max(residual, float(found.max()))
                coef[:, columns] = inner * unit[columns]
                parts[:, columns] = in_squares(parts[:, columns], unit[columns])
        weights = np.where(chosen >= 0, tried[chosen].T, 0.0)
        intercept = self.units.shift - np.einsum("kt,kt->t", weights, self.stack.means @ coef)
        scores = 1.0 - np.divide(errors, spread, out=np.zeros(q), where=spread > 0)
        return EachTarget(self.stack.mixture.weighted(weights), alpha, coef, intercept, scores, residual, parts)

    # -- targets, in units of their own and times W^½ ------------------------------------------------------------------

    def _read(self, columns: Any, dtype: Any) -> np.ndarray:
        """Return some of the targets."""
        values = (self.data.y[:, columns] - self.units.shift[columns]) / self.units.scale[columns]
        values *= self.at.roots[:, None]
        return np.asarray(values, dtype=dtype)

    def _measure_targets(self) -> TargetUnits:
        """Return the units of all targets, which are measured block by block."""
        given = self.data
        found = [TargetUnits.of(given.y[:, part], given.weights, centred=given.fit_intercept)
                 for part in self._parts(given.y.T)]  # fmt: skip
        return TargetUnits(*(np.concatenate(each) for each in zip(*((u.shift, u.scale) for u in found), strict=True)))

    def _width(self) -> int:
        return max(1, int(min(BLOCK, SHARE * self.data.memory) // (48 * len(self.data.y))))

    def _parts(self, targets: np.ndarray) -> Iterator[slice]:
        """Yield parts of a list of targets that are worked with at a time."""
        for start in range(0, len(targets), self._width()):
            yield slice(start, start + self._width())

    def _blocks(self, dtype: Any) -> Blocks:
        """Yield all targets, block by block."""
        for part in self._parts(self.data.y.T):
            yield part, self._read(part, dtype)

    def _small_blocks(self) -> Blocks:
        """Yield all targets in float32, which are read once if they are few enough."""
        n, q = self.data.y.shape
        if 4 * n * q > min(KEPT, SHARE * self.data.memory):
            return self._blocks(np.float32)
        self._small = self._small or list(self._blocks(np.float32))
        return iter(self._small)

    def _spreads(self) -> np.ndarray:
        """Return the mean squares of all targets."""
        found = [np.einsum("ij,ij->j", block, block) for _, block in self._blocks(np.float64)]
        return np.concatenate(found) / self.at.size

    def _constant_errors(self) -> np.ndarray:
        """Return the mean squared leave-one-out error of a model without any kernel."""
        if not self.data.fit_intercept:
            return self._spreads()
        kept = 1.0 - self.at.roots[:, None] ** 2 / self.at.size
        found = [np.einsum("ij,ij->j", block / kept, block / kept) for _, block in self._blocks(np.float64)]
        return np.concatenate(found) / self.at.size


def centre_groups(usable: np.ndarray, most: int) -> np.ndarray:
    """Return the centres of groups of usable kernels: all of them, each alone, pairs, triples and so on.

    Examples
    --------
    >>> import numpy as np
    >>> centre_groups(np.array([True, False, True]), 5)
    array([[0.5, 0. , 0.5],
           [1. , 0. , 0. ],
           [0. , 0. , 1. ]])
    """
    (which,) = np.nonzero(usable)
    smaller = (group for size in range(1, len(which)) for group in combinations(which, size))
    groups = list(islice(chain([tuple(which)], smaller), most))  # of 30 kernels there are a billion
    found = np.zeros((len(groups), len(usable)))
    for row, group in zip(found, groups, strict=True):
        row[list(group)] = 1.0 / len(group)
    return found
