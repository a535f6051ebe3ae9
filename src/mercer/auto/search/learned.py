"""Kernels for encoded tables, learned: thresholds, smooth ones, mixtures of columns, and sums.

Columns of a table have units of their own, and what matters often happens at thresholds.  So the first family is
exp(−Σⱼ |xⱼ − zⱼ|/ℓⱼ), which forgets how numbers are mixed and does not smooth over jumps.  On columns of two values,
such as indicators of categories, |x − z| is (x − z)² up to a factor, and products of matrices compute it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels import Gaussian, Kernel, Laplacian, Linear, Matern
from mercer.learning.metrics.search import learn_metric
from mercer.solvers.base import Problem

MIXED = 120  # columns up to which all of them may be mixed
FEW = 30  # rows below which nothing is learned


@dataclass(frozen=True)
class Family:
    """Kernels to choose from, and what of their metric is learned; nothing if it is empty."""

    name: str
    kernels: tuple[Kernel, ...]
    metric: str = ""


@dataclass(frozen=True)
class LearnedKernel:
    """A kernel learned from all rows, and for each fold one that has not learned from it."""

    kernel: Kernel
    fair: tuple[Kernel, ...]


def list_families(rows: np.ndarray) -> dict[str, Family]:
    """Return the families of kernels for a matrix, by what they are called.

    Examples
    --------
    >>> import numpy as np
    >>> [family.name for family in list_families(np.eye(3)).values()]
    ['thresholds', 'one scale', 'smooth', 'mixed columns']
    """
    pairs = ((rows == rows.min(axis=0)) | (rows == rows.max(axis=0))).all(axis=0)
    numbers, pairs = np.flatnonzero(~pairs).tolist(), np.flatnonzero(pairs).tolist()
    steps: Kernel = Laplacian()
    found = []
    if numbers and pairs:
        thresholds: Kernel = steps.on(numbers) * Gaussian().on(pairs)
        found.append(Family("sum over categories", (steps.on(numbers) + Linear().on(pairs),), "diagonal"))
    else:
        thresholds = steps if numbers else Gaussian()
    smooth = (Matern(1.5), Matern(2.5), Matern(0.5))
    mixing = "full" if rows.shape[1] <= MIXED else "blocks"
    found = [
        Family("thresholds", (thresholds,), "diagonal"),
        Family("one scale", (smooth[0], thresholds)),
        Family("smooth", smooth, "diagonal"),
        *found,
        Family("mixed columns", smooth[:2], mixing),
    ]
    return {family.name: family for family in found}


def learn_kernel(
    family: Family, rows: np.ndarray, goals: np.ndarray, blocks: list[list[int]], folds: list[np.ndarray],
    rng: np.random.RandomState, memory: int, on_step: Callable[[], bool],
) -> LearnedKernel:  # fmt: skip
    """Learn a kernel of a family, until ``on_step`` returns True.

    Parameters
    ----------
    family : Family
        What to learn.
    rows : array of shape (n, d)
        The encoded table.
    goals : array of shape (n, q)
        Targets, centred and of about unit size.
    blocks : list of lists of int
        The columns that come from one column of the table.
    folds : list of int arrays
        Rows that are judged together; what judges them does not learn from them.
    rng : RandomState
        The seed of subsets.
    memory : int
        Bytes.
    on_step : callable
        Asked after each step whether to end.
    """
    problem = Problem(family.kernels[0], rows, goals, None, True, memory)
    options: dict[str, Any] = {"metric": family.metric or "diagonal", "blocks": blocks, "rng": rng}
    if not family.metric or len(rows) < FEW:
        options |= {"refine": False, "rounds": 0}
    found = [
        learn_metric(
            problem, family.kernels, judged=fold, on_step=lambda step, error: on_step(), finish=i == 0, **options
        )
        for i, fold in enumerate(folds)
    ]
    return LearnedKernel(found[0].kernel, tuple(one.fair for one in found))
