"""The perceptron in the space of a kernel.

It goes through the points, and changes its function only where it is wrong: for two classes, y = ±1, by y k(x, ·)
where y f(x) ≤ 0; for more, by +k(x, ·) for the true class and −k(x, ·) for the best of the others where the true class
is not ahead of all others.  A value of 0, or a tie, is a mistake.  An intercept is the kernel k + 1 in place of k.

Novikoff: if some function of norm 1 has every point on its right side by at least γ, there are at most (R/γ)² mistakes,
with R² the largest k(x, x); for more than two classes R² is twice that, since a mistake changes two functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np

import mercer._native as _native
from mercer.arrays.shapes import Axes, Inside, Number
from mercer.arrays.threads import default_threads
from mercer.expansion import Expansion
from mercer.formula.data import Rows, concatenate, length, pick, take
from mercer.gram import Gram
from mercer.kernels import Kernel

from ..costs import HOST
from ..plan import Plan
from ..products import width
from .walks import PoolWalk, Slate, Sweep, measure_margins

BLOCK = 512  # points between two products: fewer cost calls, more cost kernel values inside the blocks
DENSE_BYTES = 2**25  # of kernel values that are kept for all epochs rather than computed again
TILE_BYTES = 2**25  # of kernel values at a time, when all functions vote
SHARE = 0.1  # of points that are mistakes in an epoch, typically

Way = Literal["auto", "dense", "pool", "sweep"]


@dataclass(frozen=True)
class Mistakes:
    """Every mistake made, in order."""

    vector: Annotated[np.ndarray, Axes("m", below="s")]  # position of the point among the vectors kept
    label: Annotated[np.ndarray, Axes("m", below="c")]  # its class
    wrong: Annotated[np.ndarray, Axes("m", below="c")]  # the one taken instead
    step: Annotated[np.ndarray, Axes("m", of="float64")]  # by how much the functions changed
    time: Annotated[np.ndarray, Axes("m", of="int64")]  # how many points had been seen by then, with this one

    def and_then(self, *later: np.ndarray) -> Mistakes:
        """Return these mistakes followed by others, given as the fields in order."""
        mine = (self.vector, self.label, self.wrong, self.step, self.time)
        return Mistakes(*(np.concatenate(both) for both in zip(mine, later, strict=True)))


def make_empty_log() -> Mistakes:
    """Return the mistakes of a perceptron that has seen nothing."""
    none = np.zeros(0, dtype=np.int64)
    return Mistakes(none, none, none, np.zeros(0), none)


@dataclass(frozen=True)
class Kept:
    """What a perceptron keeps of all it has seen; nothing, if only the number q of functions is given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.perceptron.solver import Kept, Perceptron
    >>> X, label = np.array([[1.0], [-1.0], [2.0]]), np.array([1, 0, 1])
    >>> found = Perceptron(Linear(), fit_intercept=False).learn(Kept(1), X, label, np.ones(3))
    >>> found.kept.coef, found.kept.average(), found.mistakes
    (array([[1.]]), array([[1.]]), [1])
    """

    outputs: Annotated[int, Number("q")]  # q, 1 for two classes, otherwise as many as classes
    vectors: Annotated[Rows, Axes("s …")] | None = None
    coef: Annotated[np.ndarray, Axes("s q")] = field(default_factory=lambda: np.zeros((0, 1)))
    # Σ steps that led there · time of each
    moment: Annotated[np.ndarray, Axes("s q")] = field(default_factory=lambda: np.zeros((0, 1)))
    # when each vector came in
    entered: Annotated[np.ndarray, Axes("s")] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    # which of all points given it is
    origin: Annotated[np.ndarray, Axes("s", of="iu")] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    given: int = 0  # how many points there were in all calls
    seen: int = 0  # how many points have been seen, in all epochs
    # all mistakes, unless vectors have left
    log: Annotated[Mistakes, Inside(s="s", c=lambda q: max(q, 2))] = field(default_factory=make_empty_log)

    def __post_init__(self) -> None:
        if self.vectors is None and len(self.coef):
            raise ValueError(f"{len(self.coef)} vectors have coefficients, and none is there")

    def average(self) -> np.ndarray:
        """Return the mean of the coefficients after each point seen: a step at time t is in T − t + 1 of T of them."""
        return ((self.seen + 1) * self.coef - self.moment) / self.seen

    def expand(self, kernel: Kernel, averaged: bool, fit_intercept: bool) -> Expansion:
        """Return the mean function, or the last one."""
        coef = self.average() if averaged else self.coef
        intercept = coef.sum(axis=0) * float(fit_intercept)
        if self.outputs == 1:
            return Expansion(kernel, self.vectors, coef[:, 0], intercept[0])
        return Expansion(kernel, self.vectors, coef, intercept)

    def vote(self, kernel: Kernel, X: Rows, fit_intercept: bool, memory: int) -> np.ndarray:
        """Return the share of all times at which the functions voted so, some points at a time.

        Two classes have one column, votes for the second less votes for the first, where a value of 0 is no vote.
        More have one column each, and of equal values the first counts.
        """
        log = self.log
        survival = np.diff(log.time, append=self.seen + 1).astype(np.float64)
        gram = Gram(kernel, X, self.vectors, memory=memory, dtype=np.float64)
        step = max(1, min(TILE_BYTES, gram.memory // 4) // (8 * gram.shape[1]))
        votes = np.zeros((gram.shape[0], self.outputs))
        for start in range(0, len(votes), step):
            rows = slice(start, start + step)
            values = np.ascontiguousarray(gram.rows(rows), dtype=np.float64)
            _native.perceptron_votes(
                values, log.vector, log.label, log.wrong, log.step, survival, float(fit_intercept), votes[rows]
            )
        return votes / self.seen


@dataclass(frozen=True)
class Learnt:
    """What one call has led to."""

    kept: Kept
    mistakes: list[int]  # of each epoch
    converged: bool  # whether the last epoch made none
    radius: float  # R, the largest norm of a step
    margin: float  # γ, the smallest of a point under the function found over its norm; 0 where it is not known
    plan: Plan

    @property
    def novikoff_bound(self) -> float:
        """(R/γ)², which bounds the mistakes of any order of the points."""
        return (self.radius / self.margin) ** 2 if self.margin > 0 else math.inf


@dataclass(frozen=True)
class Perceptron:
    """The algorithm, and how its work is arranged: the result is the same to rounding."""

    kernel: Kernel
    fit_intercept: bool = True
    budget: int | None = None  # the most vectors to keep
    forget: Literal["oldest", "smallest"] = "oldest"  # which vector leaves when there are more
    memory: int = 2**30
    # Kernel values between all points stored; blocks of points against the vectors kept; or values of all points kept
    # up to date, which cannot be with a budget.
    way: Way = "auto"
    block: int = BLOCK  # how many points there are in one

    def plan(self, before: Kept, X: Rows, max_iter: int) -> Plan:
        """Return the way to arrange the work, and why."""
        if self.way == "sweep" and self.budget is not None:
            raise ValueError("a sweep cannot let vectors leave; use way='pool', or no budget")
        old, m = len(before.coef), length(X)
        most = old + m if self.budget is None else min(self.budget, old + m)
        cheap = Gram(self.kernel, take(X, 0, 1)).cheap
        dense = 8.0 * (old + m) * m
        limit = DENSE_BYTES if cheap or max_iter == 1 else math.inf
        entries = {
            "dense": float(old + m) * m,
            "pool": float(max_iter) * m * (most + self.block),
            "sweep": float(m) * (old + max_iter * (SHARE * m + self.block)),
        }
        way, reason = self.way, "it was asked for"
        if way == "auto" and dense <= min(limit, self.memory / 2):
            way, reason = "dense", f"the kernel between all {m} points and the vectors kept is small"
        elif way == "auto" and self.budget is not None:
            way, reason = "pool", f"of at most {self.budget} vectors any may leave"
        elif way == "auto" and not cheap and max_iter == 1:
            way, reason = "pool", "the kernel is slow, and one pass needs its values between points and vectors once"
        elif way == "auto":
            way, reason = "sweep", "the values of all points can be kept up to date, one row for each mistake"
        flops = entries[way] * (2.0 * width(X) + 20.0)
        block = self._count_block(most, m)
        needed = {"dense": dense, "pool": 8.0 * (most + block) * block, "sweep": 12.0 * block * block + 16.0 * m}[way]
        return Plan(way, reason, int(needed), flops, flops / (HOST.single * default_threads()))

    def learn(
        self,
        before: Kept,
        X: Rows,
        label: np.ndarray,
        weight: np.ndarray,
        max_iter: int = 1,
        order: Callable[[], np.ndarray] | None = None,
        places: np.ndarray | None = None,
    ) -> Learnt:
        """Go through the points until an epoch makes no mistake, or ``max_iter`` times.

        ``before`` is what is kept of points that came before; labels are 0 and 1 for one function, otherwise positions
        among the functions; weights are the steps that mistakes make; ``order`` gives that of the next epoch.
        ``places`` says which of the points given in this call these are, if others were left out.
        """
        m, q, old = length(X), before.outputs, len(before.coef)
        slate = self._fill_slate(before, X, label, weight)
        diagonal = self.kernel.diag(X)
        plan = self.plan(before, X, max_iter)
        walk = self._choose_walk(slate, plan.solver, diagonal)
        mistakes: list[int] = []
        log, converged, clock = before.log, False, before.seen
        while len(mistakes) < max_iter and not converged:
            visits = np.arange(m) if order is None else order()
            wrong = walk.visit_all(visits, clock, last=len(mistakes) + 1 == max_iter)
            times = np.flatnonzero(wrong[visits] >= 0)
            at = visits[times]
            log = log.and_then(old + at, label[at], wrong[at], weight[at], clock + times + 1)
            mistakes.append(len(at))
            clock += m
            converged = len(at) == 0 and walk.confirm()
        radius = float(np.sqrt((1 if q == 1 else 2) * (weight**2 * (diagonal + slate.bias)).max().clip(0.0)))
        margin = self._measure_margin(slate, walk.scores) if converged and old == 0 else 0.0
        origin = np.concatenate([before.origin, before.given + (np.arange(m) if places is None else places)])
        kept = self._keep_vectors(slate, log, clock, origin.astype(np.int64))
        return Learnt(kept, mistakes, converged, radius, margin, plan)

    def _fill_slate(self, before: Kept, X: Rows, label: np.ndarray, weight: np.ndarray) -> Slate:
        m, q, old = length(X), before.outputs, len(before.coef)
        vectors = concatenate(before.vectors, X) if old else X
        none = np.zeros((m, q))
        return Slate(
            self.kernel, vectors, old, np.ascontiguousarray(label, dtype=np.int64),
            np.ascontiguousarray(weight, dtype=np.float64), np.concatenate([before.coef.reshape(old, q), none]),
            np.concatenate([before.moment.reshape(old, q), none]),
            np.concatenate([before.entered, np.full(m, -1, dtype=np.int64)]), float(self.fit_intercept),
            self.budget or 0, self.forget == "smallest", self.memory,
        )  # fmt: skip

    def _choose_walk(self, slate: Slate, way: str, diagonal: np.ndarray) -> PoolWalk | Sweep:
        m = len(slate.label)
        if way == "sweep":
            return Sweep(slate, self._count_block(0, m), diagonal)
        most = len(slate.coef) if self.budget is None else min(self.budget, len(slate.coef))
        return PoolWalk(slate, m if way == "dense" else self._count_block(most, m))

    def _count_block(self, most: int, m: int) -> int:
        """Return how many points fit in a block with so many vectors, within a quarter of the memory."""
        entries = self.memory / 4 / 8
        return max(1, min(self.block, m, int(math.sqrt(entries + (most / 2) ** 2) - most / 2)))

    def _measure_margin(self, slate: Slate, scores: np.ndarray) -> float:
        # ‖f‖² = cᵀKc, and Kc is there: the values at the points.
        norm = math.sqrt(max(float(np.sum(slate.coef * scores)), 0.0))
        least = float((slate.weight * measure_margins(scores, slate.label)).min())
        return least / norm if norm > 0 else 0.0

    def _keep_vectors(self, slate: Slate, log: Mistakes, seen: int, origin: np.ndarray) -> Kept:
        kept = slate.kept
        if self.budget is not None:
            log = make_empty_log()
        log = Mistakes(np.searchsorted(kept, log.vector), log.label, log.wrong, log.step, log.time)
        return Kept(
            slate.coef.shape[1], pick(slate.vectors, kept), slate.coef[kept], slate.moment[kept], slate.entered[kept],
            origin[kept], int(origin.max()) + 1, seen, log,
        )  # fmt: skip
