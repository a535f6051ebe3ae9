"""A grid of penalties and kernels on the points of a part: folds one after the other, and pairs that lose are stopped.

After a fold every pair (C, kernel) is compared with the best so far at the same points.  With dᵢ the loss of the pair
less that of the best at point i, a pair is stopped when

    Σ dᵢ > Z √(Σ dᵢ²),

which for right and wrong is McNemar's test: the points at which one of two is wrong and the other is not.  A matrix
in float32 serves all folds, and a path of penalties is one call of compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer._native import smo_path
from mercer.arrays.budget import parse_memory, require
from mercer.gram import Gram
from mercer.kernels import Kernel

from ..dual import DualProblem
from ..rounds import Progress
from ..smo import SMO
from .task import Task

BYTES = 16  # for each pair of points: a matrix, the corner of a fold, and what it takes to compute them
STEPS, FEW_STEPS = 1000, 100_000  # of a machine at most: for each point, and in all where there are few points
Z = 2.0  # standard errors by which a pair may be behind


@dataclass(frozen=True)
class PartScores:
    """Losses of all pairs (C, kernel) in the folds of a part, 0 for folds that a pair was stopped before.

    Parameters
    ----------
    loss, square : arrays of shape (penalties, kernels, folds)
        Sums over the points held out of their losses, and of the squares of these.
    weight : array of shape (penalties, kernels, folds)
        Sums of the weights of these points.
    early : int
        Machines that stopped at a limit.
    """

    loss: np.ndarray
    square: np.ndarray
    weight: np.ndarray
    early: int


def search_part(
    limits: Callable[[], SMO], kernels: Sequence[Kernel], X: np.ndarray, task: Task, rows: np.ndarray,
    penalties: np.ndarray, folds: int, rng: np.random.Generator, watch: Progress,
) -> PartScores:  # fmt: skip
    """Score a grid on some points by this thread, ``penalties`` being in ascending order.

    ``limits`` returns the solver of machines that start now, of which only tolerance and limits count.
    """
    points, n = np.ascontiguousarray(X[rows]), len(rows)
    matrices = _Matrices(kernels, points, parse_memory(limits().memory))
    fold = split_rows(task, rows, folds, rng)
    losses = np.zeros((len(penalties), len(kernels), n))
    alive, tried = np.ones((2, len(penalties), len(kernels), folds), dtype=bool)
    early, seen = 0, np.zeros(n, dtype=bool)
    for k in range(folds):
        fit, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        problems, classes = task.problems(rows[fit]), task.find_classes(rows[fit])
        parts = [(fit[index], problem) for index, problem in problems.parts()] if len(classes) != 1 else []
        tried[..., k] = alive[..., k]
        for j in range(len(kernels)):
            chosen = np.flatnonzero(alive[:, j, k])
            if len(chosen) == 0:
                continue
            watch(0, 0.0)
            values = np.empty((len(chosen), len(held), len(parts)))
            for column, (index, problem) in enumerate(parts):
                values[..., column], late = _follow(limits(), matrices.find(j), index, held, problem, penalties[chosen])
                early += late
            for i, here in zip(chosen, values, strict=True):
                losses[i, j, held] = task.measure(rows[held], classes, here)
        seen[held] = True
        if k + 1 < folds:
            alive[..., k + 1 :] = _find_open(losses[..., seen], alive[..., k])[..., None]
    each = [fold == k for k in range(folds)]
    loss = np.stack([losses[..., own].sum(axis=-1) for own in each], axis=-1)
    square = np.stack([(losses[..., own] ** 2).sum(axis=-1) for own in each], axis=-1)
    weight = np.array([task.weights[rows[own]].sum() for own in each]) * tried
    return PartScores(loss * tried, square * tried, weight, early)


def _follow(
    solver: SMO, K: np.ndarray, fit: np.ndarray, held: np.ndarray, problem: DualProblem, penalties: np.ndarray
) -> tuple[np.ndarray, int]:
    """Solve a problem at all penalties; return f + b at the points held, and how many stopped at a limit.

    A machine is solved when it violates the optimality conditions by no more than the tolerance, as in LIBSVM: nobody
    asks it for a gap.
    """
    tolerance = solver.tol * problem.unit(float(np.abs(K.diagonal()).max()))
    most = solver.max_iter if solver.max_iter >= 0 else max(FEW_STEPS, STEPS * len(fit))
    if solver.max_time is not None and solver.max_time <= 0:
        most = 0
    values = np.empty((len(penalties), len(held)))
    box = problem.target, problem.lower, problem.upper
    steps = smo_path(K, fit, held, *box, penalties, values, problem.epsilon, tolerance, most)
    return values, sum(violation > tolerance for _, violation in steps)


class _Matrices:
    """The matrices of several kernels at the points of a part, kept where there is room for all of them."""

    def __init__(self, kernels: Sequence[Kernel], points: np.ndarray, memory: int) -> None:
        self._kernels, self._points, self._memory = kernels, points, memory
        square, remedy = len(points) ** 2, "give more memory or a smaller search_size"
        require(BYTES * square, memory, f"the grid of a part of {len(points)} points", remedy)
        self._kept: dict[int, np.ndarray] = {}
        self._room = max(1, min(len(kernels), int((memory - BYTES * square) // (4 * square))))

    def find(self, j: int) -> np.ndarray:
        """Return the matrix of a kernel in float32."""
        if j not in self._kept:
            if len(self._kept) >= self._room:
                self._kept.clear()
            self._kept[j] = Gram(self._kernels[j], self._points, memory=self._memory, dtype=np.float32).dense()
        return self._kept[j]


def _find_open(losses: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """Return which pairs may still win, from losses (penalties, kernels, points) at the points seen."""
    total = np.where(alive, losses.sum(axis=-1), np.inf)
    behind = losses - losses[np.unravel_index(int(total.argmin()), total.shape)]
    return alive & (behind.sum(axis=-1) <= Z * np.sqrt((behind**2).sum(axis=-1)))


def split_rows(task: Task, rows: np.ndarray, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Return the fold of each point: of about equal size, and with about equally many of each class."""
    order = rng.permutation(len(rows))
    if task.class_weight is not None:
        order = order[np.argsort(task.targets[rows][order], kind="stable")]
    fold = np.empty(len(rows), dtype=np.int64)
    fold[order] = np.arange(len(rows)) % folds
    return fold
