"""Ridge problems whose rows are in blocks: the sums and products that the solvers on one machine ask for.

Sums over rows are those of blocks; products with the kernel matrix are those of all pairs of blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows, length
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.solvers.base import Problem
from mercer.solvers.products import RATES
from mercer.solvers.ridge.fit import pick_points
from mercer.solvers.ridge.primal.rows import (
    ErrorRule,
    PrimalErrors,
    PrimalRows,
    PrimalSums,
    PrimalTriangle,
    SecondPass,
    features_of,
)
from mercer.solvers.ridge.restricted.rows import RestrictedRows, RestrictedSums
from mercer.solvers.ridge.restricted.system import LeftOut

from ._block import RowBlock
from ._graph import declare_sized
from .table import RowTable

RATE = 2e9  # pairs of rows a second that two cores compute, roughly, to weigh a preconditioner against iterations

declare_sized(PrimalErrors, PrimalSums, PrimalTriangle, RestrictedSums)


def make_problem(table: RowTable, kernel: Kernel, fit_intercept: bool, memory: int) -> Problem:
    """Return the problem of all rows, whose points, targets and weights can be picked and nothing else."""
    weights: Any = table.column("weights") if table.survey.weighted else None
    y: Any = table.column("y")
    return Problem(kernel, table.column("X"), y, weights, fit_intercept, memory)


@dataclass(frozen=True)
class RestrictedView:
    """How the rows of a block are seen from centres."""

    kernel: Kernel
    centers: Rows
    fit_intercept: bool
    outputs: int
    device: Any = None

    def __call__(self, block: RowBlock) -> RestrictedRows:
        """Return the rows of a block."""
        return RestrictedRows(block.problem(self.kernel, self.fit_intercept, self.outputs, self.device), self.centers)


@dataclass(frozen=True)
class PrimalView:
    """How the rows of a block are seen in explicit features."""

    kernel: Kernel
    feature_map: Any
    width: int
    fit_intercept: bool
    outputs: int

    def __call__(self, block: RowBlock) -> PrimalRows:
        """Return the rows of a block."""
        return PrimalRows(block.problem(self.kernel, self.fit_intercept, self.outputs), self.feature_map, self.width)


class TableRestrictedRows:
    """:class:`~mercer.solvers.ridge.restricted.rows.RestrictedRows` over blocks: a task each, and a tree of sums."""

    def __init__(self, table: RowTable, problem: Problem, centers: Rows, device: Any = None) -> None:
        self._table, self._problem = table, problem
        self.view = RestrictedView(problem.kernel, centers, problem.fit_intercept, table.survey.outputs, device)
        head = Problem(problem.kernel, table.head, np.zeros((length(table.head), 1)))
        self.quick = RestrictedRows(head, centers).quick

    def moments(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Return Σw, the weighted mean of y, and Σw(y − that)², which the survey knows."""
        moments = self._table.survey.y_moments
        assert moments is not None  # y holds targets
        return moments.weight, moments.mean, moments.squares

    def sums(self, triangle: np.ndarray | None, target_mean: np.ndarray) -> RestrictedSums:
        """Sum up features or kernel values over all blocks."""
        found: RestrictedSums = self._table.reduce("gram", _ask, self.view, "sums", triangle, target_mean)
        return found

    def image(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Σ k e, Σ e and Σ e²/w over all blocks."""
        values, total, squares = self._table.reduce("residual", _ask, self.view, "image", coef, intercept)
        return values, total, squares

    def pieces(self, rows: np.ndarray | None = None) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield kernel values, targets and weights of some rows, which are fetched."""
        assert rows is not None  # all of them never are
        return RestrictedRows(pick_points(self._problem, rows), self.view.centers).pieces()

    def squared_errors(self, left_out: LeftOut) -> np.ndarray:
        """Return Σ we² of the leave-one-out residuals e of all rows, for each output."""
        return np.asarray(self._table.reduce("leave-one-out", _square_restricted, self.view, left_out))


class TablePrimalRows:
    """:class:`~mercer.solvers.ridge.primal.rows.PrimalRows` over blocks."""

    def __init__(self, table: RowTable, problem: Problem, feature_map: Any, width: int) -> None:
        self._table, self.feature_map, self._width = table, feature_map, width
        self.view = PrimalView(problem.kernel, feature_map, width, problem.fit_intercept, table.survey.outputs)

    def nothing(self) -> tuple[np.ndarray, np.ndarray]:
        """Return zeros of the shapes of the means."""
        return np.zeros(self._width), np.zeros(self._table.survey.outputs)

    def reference(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the means of features and targets of the first few rows."""
        count = min(self._table.n, 1000, int(self._table.counts[0]))
        rows = np.arange(count)
        phi = features_of(self.feature_map, self._table.pick("X", rows))
        y = self._table.pick("y", rows).reshape(count, -1)
        return phi.mean(axis=0), y.mean(axis=0)

    def sums(self, mean: np.ndarray, y_mean: np.ndarray) -> PrimalSums:
        """Sum over all blocks."""
        found: PrimalSums = self._table.reduce("normal", _ask, self.view, "sums", mean, y_mean)
        return found

    def triangle(self, mean: np.ndarray, y_mean: np.ndarray) -> PrimalTriangle:
        """Reduce all blocks to one triangle."""
        found: PrimalTriangle = self._table.reduce("triangle", _ask, self.view, "triangle", mean, y_mean)
        return found

    def errors(self, rule: ErrorRule) -> PrimalErrors:
        """Sum up the errors of all blocks."""
        found: PrimalErrors = self._table.reduce("errors", _ask, self.view, "errors", rule)
        return found

    def second_pass(self, rule: SecondPass) -> Any:
        """Refuse: coefficients of all rows are never made."""
        raise NotImplementedError("coefficients of all rows are not computed on a cluster")

    def squared_errors(self, rule: SecondPass) -> np.ndarray:
        """Return Σ we² of the leave-one-out residuals e of all rows, for each column of a solution."""
        return np.asarray(self._table.reduce("leave-one-out", _square_primal, self.view, rule))


def _ask(block: RowBlock, view: RestrictedView | PrimalView, question: str, *args: Any) -> Any:
    return getattr(view(block), question)(*args)


def _square_restricted(block: RowBlock, view: RestrictedView, left_out: LeftOut) -> np.ndarray:
    squares = np.zeros(len(left_out.alpha))
    for _, values, y, weights in view(block).pieces():
        squares += weights @ left_out(values, y, weights) ** 2
    return squares


def _square_primal(block: RowBlock, view: PrimalView, rule: SecondPass) -> np.ndarray:
    _, residuals = view(block).second_pass(rule)
    assert residuals is not None
    return np.asarray(block.known_weights @ residuals**2)


class PairGram:
    """The Gram matrix of all rows, of which the diagonal and single rows are asked for."""

    dtype = np.dtype(np.float64)

    def __init__(self, table: RowTable, kernel: Kernel, memory: int) -> None:
        self._table, self.kernel, self.memory = table, kernel, memory
        self.shape = table.n, table.n

    def diag(self) -> np.ndarray:
        """Return k(x, x) for all x."""
        return np.concatenate(self._table.each("diagonal", _read_diagonal, self.kernel))

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return rows of the matrix, for which only the points of these rows move."""
        points = self._table.pick("X", index)
        return np.concatenate(self._table.each("rows", _read_rows, self.kernel, points), axis=1)

    def part(self, index: np.ndarray) -> Gram:
        """Return the Gram matrix of some points, which move to the client."""
        return Gram(self.kernel, self._table.pick("X", index), memory=self.memory, dtype=np.float64)


class PairProducts:
    """K·V in float64, as conjugate gradients use it."""

    stored = single = False
    rates = RATES["host"]  # of a preconditioner, as on one machine

    def __init__(self, table: RowTable, kernel: Kernel, memory: int, device: Any = None) -> None:
        self._table, self._kernel, self._device = table, kernel, device
        self.gram = PairGram(table, kernel, memory)

    @property
    def seconds(self) -> float:
        """A rough time of one product."""
        return 0.05 + float(self._table.n) ** 2 / RATE

    def put(self, V: np.ndarray) -> np.ndarray:
        """Return a column of numbers where the products take it: on the client."""
        return np.asarray(V, dtype=np.float64)

    def fast(self, V: np.ndarray) -> np.ndarray:
        """Return K @ V."""
        return self.exact(V)

    def exact(self, V: np.ndarray) -> np.ndarray:
        """Return K @ V: a task for each pair of partitions, and a tree of sums for each partition."""
        table, p = self._table, len(self._table.blocks)
        ends = np.cumsum(table.counts)
        parts = [table.cluster.share(V[end - count : end]) for end, count in zip(ends, table.counts, strict=True)]
        pairs = [(i, j) for i in range(p) for j in range(i, p)]
        tasks = table.cluster.map(
            "product", _multiply_pair, [[table.blocks[i], table.blocks[j], parts[i], parts[j]] for i, j in pairs],
            self._kernel, self._device,
        )  # fmt: skip
        sides: list[list[Any]] = [[] for _ in range(p)]
        for (i, j), task in zip(pairs, tasks, strict=True):
            sides[i].append(task[0])
            if j > i:
                sides[j].append(task[1])
        found = table.cluster.compute([table.cluster.sum("product", side) for side in sides])
        table.cluster.count("products", 2 * len(pairs) * V.nbytes / p)
        return np.concatenate(found)

    def give_up_single(self) -> None:
        """Do nothing: values are in float64 already."""


def _read_diagonal(block: RowBlock, kernel: Kernel) -> np.ndarray:
    return np.asarray(kernel.diag(block.X), dtype=np.float64)


def _read_rows(block: RowBlock, kernel: Kernel, points: Any) -> np.ndarray:
    return Gram(kernel, points, block.X, memory=block.memory, dtype=np.float64).dense()


def _multiply_pair(pair: list[Any], kernel: Kernel, device: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return K_ij V_j and K_ijᵀ V_i, from one evaluation of the tile where it fits."""
    first, second, V_first, V_second = pair
    place = max((block.place(device) for block in (first, second)), key=lambda place: place.memory)
    options: dict[str, Any] = {"memory": place.memory, "dtype": np.float64, "device": place.device}
    if first.index == second.index:
        return _multiply(Gram(kernel, first.X, **options), V_first), None
    gram = Gram(kernel, first.X, second.X, **options)
    if place.on_host and 8 * gram.shape[0] * gram.shape[1] <= place.memory // 4:
        tile = gram.dense()
        return tile @ V_second, tile.T @ V_first
    return _multiply(gram, V_second), _multiply(gram.T, V_first)


def _multiply(gram: Gram, V: np.ndarray) -> np.ndarray:
    return np.asarray(host_array(gram @ V))
