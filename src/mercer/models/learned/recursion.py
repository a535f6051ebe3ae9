"""What estimators with a learned metric share."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from mercer.arrays.shapes import Axes
from mercer.arrays.tensors import host_array
from mercer.estimators.kernel_argument import KernelArgument, TableArgument
from mercer.expansion import Expansion
from mercer.formula.data import length, pick
from mercer.formula.slopes import moving_leaves
from mercer.kernels import Kernel, Matern
from mercer.kernels.base import show_given
from mercer.learning.metrics.search import OnStep, learn_metric
from mercer.solvers.base import Problem
from mercer.solvers.ridge.fit import pick_points

KERNELS = (Matern(1.5), Matern(2.5))
METRICS = ("auto", "full", "blocks", "diagonal")
SLOPES = 2000  # centres at which slopes are averaged
DIRECTIONS = 10  # that are kept at most


class RecursiveFeatures:
    """A kernel in a learned metric, as a part of estimators."""

    kernel: Any
    metric: str
    blocks: Any
    rounds: Any
    refine: bool
    memory: float | str | None
    random_state: Any

    metric_: Annotated[np.ndarray, Axes("d d")]
    feature_importances_: Annotated[np.ndarray, Axes("d")]
    components_: np.ndarray
    component_shares_: np.ndarray
    candidates_: list[dict[str, Any]]

    def _kernel_argument(self) -> KernelArgument:
        return TableArgument(self, None)

    def _learn_kernel(self, problem: Problem, on_step: OnStep) -> Kernel:
        """Learn from a problem with targets in units of their own, keep the metric, and return the kernel in it."""
        name = type(self).__name__
        kernels, d = self._list_kernels(), problem.X.shape[1]
        if self.metric not in METRICS:
            raise ValueError(f"{name}: metric must be one of {', '.join(map(repr, METRICS))}; got {self.metric!r}")
        blocks = self._check_blocks(d)
        if self.metric == "blocks" and blocks is None:
            raise ValueError(f"{name}: metric='blocks' needs blocks, lists of columns such as [[0, 1, 2], [3, 4]]")
        if not isinstance(self.rounds, numbers.Integral) or self.rounds < 0:
            raise ValueError(f"{name}: rounds must be a whole number that is not negative, got {self.rounds!r}")
        kept = np.arange(problem.n) if problem.weights is None else np.flatnonzero(problem.weights)
        if len(kept) < 2:
            raise ValueError(
                f"{name} needs at least 2 points with a positive weight, one to leave out and one to fit, got "
                f"n_samples = {len(kept)}"
            )
        some = pick_points(replace(problem, y=problem.y.reshape(len(problem.y), -1)), kept)
        found = learn_metric(
            some, kernels, metric=self.metric, blocks=blocks, refine=bool(self.refine), rounds=int(self.rounds),
            rng=check_random_state(self.random_state), on_step=on_step,
        )  # fmt: skip
        self.metric_ = found.metric.matrix
        self.candidates_ = [
            {"origin": one.origin, "kernel": one.kernel, "error": one.error, "alpha": one.alpha} for one in found.tried
        ]
        return found.kernel

    def _list_kernels(self) -> list[Kernel]:
        given = KERNELS if self.kernel is None else self.kernel
        several = list(given) if isinstance(given, list | tuple) else [given]
        if not several or not all(isinstance(kernel, Kernel) for kernel in several):
            raise TypeError(
                f"{type(self).__name__}: kernel must be a mercer kernel of a distance such as Matern(1.5) or "
                f"Gaussian(), or a list of them; got {show_given(self.kernel)}"
            )
        for kernel in several:
            moving_leaves(kernel.traced())  # which says it, if there are no slopes
        return several

    def _check_blocks(self, d: int) -> list[list[int]] | None:
        if self.blocks is None:
            return None
        names = {str(column): i for i, column in enumerate(getattr(self, "feature_names_in_", ()))}
        name, found = type(self).__name__, []
        for block in self.blocks:
            if isinstance(block, str) or not isinstance(block, Sequence | np.ndarray):
                raise TypeError(f"{name}: blocks must be lists of columns such as [[0, 1, 2], [3, 4]]; got {block!r}")
            found.append([names.get(column, column) if isinstance(column, str) else column for column in block])
        every = [column for block in found for column in block]
        wrong = [c for c in every if not isinstance(c, numbers.Integral) or not 0 <= int(c) < d]
        if wrong:
            raise ValueError(f"{name}: blocks name column {wrong[0]!r}, which is none of the {d} columns")
        if len(set(every)) < len(every):
            twice = next(column for column in every if every.count(column) > 1)
            raise ValueError(f"{name}: column {twice} is in more than one block; blocks must not overlap")
        return [[int(column) for column in block] for block in found]

    def _keep_slopes(self, function: Expansion) -> None:
        """Keep how much f changes with each feature, and along which directions."""
        n, spread = length(function.centers), np.std(host_array(function.centers), axis=0, dtype=np.float64)
        few = pick(function.centers, np.unique(np.linspace(0, n - 1, min(n, SLOPES)).astype(int)))
        slopes = np.asarray(host_array(function.gradient(few, self.memory))).reshape(-1, len(spread)) * spread
        squares = slopes.T @ slopes / len(slopes)
        total = float(np.trace(squares))
        self.feature_importances_ = np.diag(squares) / total if total > 0 else np.zeros(len(spread))
        d = len(spread)
        values, vectors = linalg.eigh(squares, subset_by_index=(max(0, d - DIRECTIONS), d - 1))
        signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
        self.components_ = (vectors * np.where(signs == 0, 1.0, signs)).T[::-1].copy()
        self.component_shares_ = np.maximum(values[::-1], 0.0) / (total if total > 0 else 1.0)
