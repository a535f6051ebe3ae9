"""One epoch of the perceptron, exactly as if point came after point, with as few kernel values as possible.

What a point needs is the value of the function so far.  A pool walk takes a block of points at a time and computes the
kernel between them and every vector kept, so that vectors may leave.  A sweep keeps the values of all points up to
date instead: each mistake costs one row of the Gram matrix, however many vectors there are.  A block of points tells
its mistakes to all others, and those that come before it hear of them for the next epoch.  Inside a block both leave
the strictly sequential part to a native loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

import mercer._native as _native
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows, length, pick
from mercer.gram import Gram
from mercer.kernels import Kernel

LONGER = 8  # times as long at most is a block whose kernel values are computed for mistakes alone
SAFE = 1e30  # size of kernel values up to which sums of them are safe in float32


@dataclass
class Slate:
    """Points to learn from, and the coefficients of all vectors there are: S that were kept before, and m points."""

    kernel: Kernel
    vectors: Rows
    first: int  # S, how many vectors come before the points
    label: np.ndarray  # the class of each point
    weight: np.ndarray  # the step that a mistake there makes
    coef: np.ndarray  # of the q functions, of shape (S + m, q)
    moment: np.ndarray  # the sum over the steps of each coefficient, times the time they were made
    entered: np.ndarray  # when a vector came in, −1 for those that are not kept
    bias: float  # what is added to the kernel: 1 with an intercept and otherwise 0
    budget: int  # the most vectors, 0 for any number
    smallest: bool  # whether the smallest instead of the oldest leaves
    memory: int

    @property
    def kept(self) -> np.ndarray:
        """Positions of the vectors kept."""
        return np.flatnonzero(self.entered >= 0)

    def evaluate(self, points: Rows) -> np.ndarray:
        """Return the functions at some points, of shape (len(points), q), in float64."""
        kept = self.kept
        if len(kept) == 0:
            return np.zeros((length(points), self.coef.shape[1]))
        coef = self.coef[kept]
        gram = Gram(self.kernel, points, pick(self.vectors, kept), memory=self.memory, dtype=np.float64)
        return gram @ coef + self.bias * coef.sum(axis=0)

    def visit(
        self, K: np.ndarray, pool: np.ndarray, place: np.ndarray, points: np.ndarray, order: np.ndarray,
        scores: np.ndarray, clock: int,
    ) -> np.ndarray:  # fmt: skip
        """Go through some points in order; return for each the class taken instead of its own, or −1.

        K is between the vectors of a pool and the points, ``place`` says where in the pool these are, and ``scores``
        holds their values, one row a function.
        """
        wrong = np.full(len(points), -1, dtype=np.int64)
        given = K, order, place, self.label[points], self.weight[points], scores
        with self.ledger(pool) as kept:
            _native.perceptron(*given, *kept, wrong, clock, self.bias, self.budget, self.smallest)
        return wrong

    @contextmanager
    def ledger(self, pool: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Coefficients, moments and times of some vectors, in arrays of their own that are put back."""
        kept = self.coef[pool], self.moment[pool], self.entered[pool]
        yield kept
        self.coef[pool], self.moment[pool], self.entered[pool] = kept


class PoolWalk:
    """Blocks of points against all vectors kept; a single block's kernel values serve every epoch.

    ``scores`` are values at the points, of shape (m, q), up to date after an epoch without mistakes.
    """

    def __init__(self, slate: Slate, block: int) -> None:
        self.slate, self.block = slate, block
        self.scores = np.zeros((len(slate.label), slate.coef.shape[1]))
        self._whole: np.ndarray | None = None

    def visit_all(self, order: np.ndarray, clock: int, last: bool) -> np.ndarray:
        """Visit all points in an order; return for each the class that was taken instead of its own, or −1.

        After the last epoch values of points are not needed any more, unless it made no mistake.
        """
        wrong = np.empty(len(order), dtype=np.int64)
        for start in range(0, len(order), self.block):
            part = order[start : start + self.block]
            if len(part) == len(order):
                points, visits, pool = np.arange(len(part)), part, np.arange(len(self.slate.coef))
            else:
                points, visits = part, np.arange(len(part))
                pool = np.union1d(self.slate.kept, self.slate.first + part)
            K = self._evaluate(pool, points)
            coef = self.slate.coef[pool]
            scores = coef.T @ K + self.slate.bias * coef.sum(axis=0)[:, None]
            self.scores[points] = scores.T
            place = np.searchsorted(pool, self.slate.first + points)
            wrong[points] = self.slate.visit(K, pool, place, points, visits, scores, clock + start)
        return wrong

    def confirm(self) -> bool:
        """Whether an epoch without mistakes stands in float64, which all values are in already."""
        return True

    def _evaluate(self, pool: np.ndarray, points: np.ndarray) -> np.ndarray:
        if self._whole is not None:
            return self._whole
        slate = self.slate
        whole = len(points) == len(slate.label)
        rows = slate.vectors if whole else pick(slate.vectors, pool)
        same = len(pool) == len(points)  # then nothing is in the pool but the points, and each pair is computed once
        columns = None if whole and same else pick(slate.vectors, slate.first + points)
        K = Gram(slate.kernel, rows, columns, memory=slate.memory, dtype=np.float64).dense()
        if whole:
            self._whole = K
        return K


class Sweep:
    """The values of all points kept up to date, with kernel values in float32 where they are not too large."""

    def __init__(self, slate: Slate, block: int, diagonal: np.ndarray) -> None:
        self.slate, self.block = slate, block
        self._points = slate.vectors
        if slate.first:
            self._points = pick(slate.vectors, np.arange(slate.first, len(slate.coef)))
        # One row for each function, since rows of the Gram matrix are added to vectors.
        self._values = np.ascontiguousarray(slate.evaluate(self._points).T)
        self._gram = self._gram_of(np.float32 if np.abs(diagonal).max() < SAFE else np.float64)

    @property
    def scores(self) -> np.ndarray:
        """The values of all points, of shape (m, q)."""
        return self._values.T

    def visit_all(self, order: np.ndarray, clock: int, last: bool) -> np.ndarray:
        """Do what a pool walk does."""
        values = np.ascontiguousarray(self._values[:, order])
        epoch = _Epoch(self.slate, self._gram.part(order), order, values, clock)
        step = self._count_block()
        for start in range(0, len(order), step):
            rows = slice(start, min(start + step, len(order)))
            epoch.visit(rows)
            epoch.tell(rows, slice(rows.stop, len(order)))
            if not last:
                epoch.tell(rows, slice(0, start))
        self._values[:, order] = epoch.values
        wrong = np.empty_like(epoch.wrong)
        wrong[order] = epoch.wrong
        return wrong

    def confirm(self) -> bool:
        """Compute the values in float64, and go on with them if they are not all on the right side."""
        if self._gram.dtype == np.float64:
            return True
        self._values = np.ascontiguousarray(self.slate.evaluate(self._points).T)
        if (measure_margins(self.scores, self.slate.label) > 0).all():
            return True
        self._gram = self._gram_of(np.float64)
        return False

    def _count_block(self) -> int:
        """Return how many points to visit before their mistakes are told to all others."""
        return max(self.block, min(LONGER * self.block, int(self._gram.call_entries**0.5)))

    def _gram_of(self, dtype: DTypeLike) -> Gram:
        return Gram(self.slate.kernel, self._points, memory=self.slate.memory, dtype=dtype)


@dataclass
class _Epoch:
    """One epoch of a sweep, with everything in the order of the visits."""

    slate: Slate
    gram: Gram
    order: np.ndarray
    values: np.ndarray  # of the functions, of shape (q, m)
    clock: int

    def __post_init__(self) -> None:
        self.wrong = np.empty(len(self.order), dtype=np.int64)
        self._vectors = self.slate.first + self.order
        self._label, self._weight = self.slate.label[self.order], self.slate.weight[self.order]
        self._before = self.slate.coef[self._vectors]  # each point is visited once

    def visit(self, rows: slice) -> None:
        """Visit some points whose values know all mistakes before them; afterwards they know each other's."""
        plan = self.gram.native_plan
        if plan is not None:
            with self.slate.ledger(self._vectors[rows]) as kept:
                plan.perceptron(
                    self._label, self._weight, self.values, *kept, self.wrong, self.clock + rows.start,
                    self.slate.bias, rows.start, rows.stop, default_threads(),
                )  # fmt: skip
            return
        inside, values = np.arange(rows.stop - rows.start), np.ascontiguousarray(self.values[:, rows])
        K = self.gram.tile(rows, rows)
        self.wrong[rows] = self.slate.visit(
            K, self._vectors[rows], inside, self.order[rows], inside, values, self.clock + rows.start
        )
        self.values[:, rows] = values

    def tell(self, rows: slice, columns: slice) -> None:
        """Add to the values of some points what others have changed."""
        steps = self.slate.coef[self._vectors[rows]] - self._before[rows]
        for value, step in zip(self.values, steps.T, strict=True):
            changed = np.flatnonzero(step)
            if len(changed):
                told = value[columns]
                self.gram.add_rows(rows.start + changed, step[changed], told, columns)
                told += self.slate.bias * step.sum()


def measure_margins(scores: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return by how much each true class is ahead of the best of the others, or ±f for one function and two classes.

    Examples
    --------
    >>> measure_margins(np.array([[2.0], [3.0]]), np.array([1, 0]))
    array([ 2., -3.])
    >>> measure_margins(np.array([[2.0, 5.0, 4.0]]), np.array([1]))
    array([1.])
    """
    if scores.shape[1] == 1:
        return np.where(label == 1, scores[:, 0], -scores[:, 0])
    rows = np.arange(len(label))
    others = np.array(scores)
    others[rows, label] = -np.inf
    return np.asarray(scores[rows, label] - others.max(axis=1))
