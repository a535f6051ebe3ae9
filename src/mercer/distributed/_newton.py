"""Labelled rows in partitions for Newton's method: values stay with their rows, and sums of them come back.

The method is the one of one machine, and so is what it asks of the rows: every sum over all of them is that of
:class:`~mercer.solvers.newton.rows.FeatureRows` or of its loss over each block, added up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows, pick
from mercer.kernels import Kernel
from mercer.linalg.cholesky import solve_triangle
from mercer.losses import Loss
from mercer.losses.smoothed import round_off
from mercer.solvers.newton.features import CenterValues, NystroemFeatures
from mercer.solvers.newton.plan import share_bent
from mercer.solvers.newton.rows import Equations, FeatureRows
from mercer.solvers.newton.sums import WeightedLoss, measure_reach, weigh_loss

from ._block import RowBlock
from .executor import Executor, size_of
from .table import RowTable

TERMS = 8  # of values that are summed each time they are asked for


@dataclass(frozen=True)
class SpreadValues:
    """Σ tⱼ vⱼ + s, for values vⱼ of all rows that stay with their blocks.

    Every Newton step adds one more; those of more than a few are added up where they are.
    """

    cluster: Executor
    terms: tuple[list[Any], ...]  # each one task for every block
    factors: tuple[float, ...]
    shift: np.ndarray  # (Q,)

    def __add__(self, other: SpreadValues | np.ndarray) -> SpreadValues:
        if not isinstance(other, SpreadValues):
            return replace(self, shift=self.shift + other)
        found = self.join(other)
        return found if len(found.terms) <= TERMS else found._collapse()

    def join(self, other: SpreadValues) -> SpreadValues:
        """Return the sum, term by term."""
        terms, factors = self.terms + other.terms, self.factors + other.factors
        return SpreadValues(self.cluster, terms, factors, self.shift + other.shift)

    def is_same(self, other: SpreadValues) -> bool:
        """Whether these are the same terms with the same factors."""
        same = self.factors == other.factors and np.array_equal(self.shift, other.shift)
        return same and all(mine is theirs for mine, theirs in zip(self.terms, other.terms, strict=True))

    def _collapse(self) -> SpreadValues:
        """Return the same as one term."""
        blocks = [list(parts) for parts in zip(*self.terms, strict=True)]
        tasks = self.cluster.map("terms", _add_terms, blocks, self.factors)
        return replace(self, terms=(self.cluster.keep(tasks),), factors=(1.0,))

    def __rmul__(self, factor: float) -> SpreadValues:
        return replace(self, factors=tuple(factor * t for t in self.factors), shift=factor * self.shift)

    def __truediv__(self, divisor: float) -> SpreadValues:
        return (1.0 / divisor) * self


@dataclass(frozen=True)
class BlockLoss:
    """How the targets of a block are seen: by a loss, of so many outputs.

    Targets are numbers, a column for each output; or classes, counted from 0, if the loss is one of classes: those of a
    loss of margins are 1 for the class of the column and −1 for others, of two classes for the second.
    """

    loss: Loss
    outputs: int

    def __call__(self, block: RowBlock) -> tuple[WeightedLoss, Place]:
        """Return the loss of a block, and where it is."""
        return weigh_loss(self.loss, block.y, block.known_weights, self.outputs), block.place(None)


@dataclass(frozen=True)
class BlockRows(BlockLoss):
    """How the rows of a block are seen: in features φ = L⁻¹k, on the host or on a device of the worker.

    Without the triangle L they are seen in k itself.
    """

    kernel: Kernel
    centers: Rows
    triangle: np.ndarray | None
    device: Any

    def __call__(self, block: RowBlock) -> tuple[FeatureRows, Place]:  # type: ignore[override]
        """Return the rows of a block, whose features are computed when they are asked for, and where they are."""
        problem = block.problem(self.kernel, True, block.y.size // len(block), self.device)
        loss = super().__call__(block)[0].put(problem.place)
        if self.triangle is None:
            return FeatureRows(loss, CenterValues(problem, self.centers)), problem.place
        return FeatureRows(loss, NystroemFeatures(problem, self.centers, self.triangle, keep=False)), problem.place


class PartitionSums:
    """Sums over all blocks of what their rows say, each seen in one way."""

    def __init__(self, table: RowTable, view: BlockLoss, moved: SpreadValues | None = None) -> None:
        self._table, self.view, self.moved = table, view, moved

    def _sum(self, name: str, outputs: SpreadValues, *shared: Any) -> Any:
        """Return the sum over all blocks of what a method of their rows returns for outputs."""
        tasks = self._map(name, outputs, *shared)
        (total,) = self._table.cluster.compute([self._table.cluster.sum(name, tasks)])
        self._table.cluster.count("sums", len(tasks) * size_of(total))
        return total

    def _map(self, name: str, outputs: SpreadValues, *shared: Any) -> list[Any]:
        outputs = outputs if self.moved is None else outputs.join(self.moved)
        given = [[block, *(term[i] for term in outputs.terms)] for i, block in enumerate(self._table.blocks)]
        function, view = self._see(name)
        return self._table.cluster.map(name, function, given, view, name, outputs.factors, outputs.shift, *shared)

    def _see(self, name: str) -> tuple[Callable[..., Any], BlockLoss]:
        """Return what asks the rows of a block for a sum, and how it sees them."""
        return _ask, self.view

    def _keep(self, tasks: list[Any], columns: int) -> SpreadValues:
        """Return values that are computed now and stay where the rows are."""
        cluster = self._table.cluster
        return SpreadValues(cluster, (cluster.keep(tasks),), (1.0,), np.zeros(columns))


class PartitionedLoss(PartitionSums):
    """:class:`~mercer.solvers.newton.sums.WeightedLoss` over partitions."""

    def __init__(self, table: RowTable, view: BlockLoss, moved: SpreadValues | None = None) -> None:
        super().__init__(table, BlockLoss(view.loss, view.outputs), moved)
        self.outputs, self.joint, self.has_majorant = view.outputs, view.loss.joint, view.loss.has_majorant
        self._balanced: tuple[SpreadValues, np.ndarray] | None = None  # the sums that were asked for last

    @cached_property
    def least(self) -> float:
        """What the loss of all rows cannot fall below."""
        return self.bound(self._nothing)

    def bound(self, slopes: SpreadValues) -> float:
        """Return −Σ wᵢ ℓ*(yᵢ, sᵢ)."""
        still = PartitionSums(self._table, self.view)
        return float(still._sum("bound", slopes))

    def smooth(self, width: float, slopes: SpreadValues) -> PartitionedLoss:
        """Return the loss with corners rounded off, around the slopes that are known so far."""
        view = BlockLoss(round_off(self.view.loss, width), self.outputs)
        return PartitionedLoss(self._table, view, width * slopes)

    def slopes(self, outputs: SpreadValues) -> SpreadValues:
        """Return the slopes of all losses, which stay where the rows are."""
        return self._keep(self._map("slopes", outputs), self.outputs)

    @property
    def _nothing(self) -> SpreadValues:
        return SpreadValues(self._table.cluster, (), (), np.zeros(self.outputs))

    @cached_property
    def _target_range(self) -> tuple[float, float]:
        least, most = zip(*self._table.cluster.compute(self._map("target_range", self._nothing)), strict=True)
        return float(min(least)), float(max(most))

    def reach(self, values: SpreadValues) -> float:
        """Return the spread of values or of targets, the larger one, or their size if they are all the same."""
        return measure_reach(self.range(values), self._target_range)

    @cached_property
    def _class_weights(self) -> np.ndarray:
        return np.asarray(self._sum("weigh_classes", self._nothing))

    def weigh_classes(self) -> np.ndarray:
        """Return the weight of each class."""
        return self._class_weights

    def value(self, outputs: SpreadValues) -> float:
        """Return the loss of all rows."""
        return float(self._sum("value", outputs))

    def residual_sums(self, outputs: SpreadValues) -> np.ndarray:
        """Return the sum of residuals of each output, and the sum of their sizes."""
        if self._balanced is not None and outputs.is_same(self._balanced[0]):
            return self._balanced[1][:2]
        return np.asarray(self._sum("residual_sums", outputs))

    def curvature_sums(self, outputs: SpreadValues) -> np.ndarray:
        """Return the sum of curvatures."""
        return np.asarray(self._sum("curvature_sums", outputs))

    def balance_sums(self, outputs: SpreadValues) -> np.ndarray:
        """Return residual sums and the curvature sum of each output judged alone."""
        self._balanced = outputs, np.asarray(self._sum("balance_sums", outputs))
        return self._balanced[1]

    def range(self, values: SpreadValues) -> tuple[float, float]:
        """Return the smallest and the largest of all values."""
        least, most = zip(*self._table.cluster.compute(self._map("range", values)), strict=True)
        return min(least), max(most)

    def odds(self, outputs: SpreadValues, q: int) -> SpreadValues:
        """Return the log-odds of class q against all others."""
        return self._keep(self._map("odds", outputs, q), 1)

    def share(self, odds: SpreadValues, q: int, b: float) -> np.ndarray:
        """Return the sum of residuals of class q at odds + b, how fast it falls with b, and the sum of their sizes."""
        return np.asarray(self._sum("share", odds, q, b))


class PartitionedRows(PartitionSums):
    """:class:`~mercer.solvers.newton.rows.FeatureRows` over partitions.

    Products with all rows are those of the kernel, and the triangle of the centres is solved once for each sum.  The
    Hessian takes a triangle for each row and their products in pairs: of many rows it is that of some, drawn by how
    much they bend.  Its step is not Newton's own then, but the gradient that it follows and is judged by is exact.
    """

    view: BlockRows

    def __init__(self, table: RowTable, view: BlockRows, loss: PartitionedLoss | None = None) -> None:
        self.loss = loss or PartitionedLoss(table.without_points(), view)
        self._features = replace(view, loss=self.loss.view.loss)
        super().__init__(table, replace(self._features, triangle=None), self.loss.moved)
        assert view.triangle is not None
        self._triangle = view.triangle
        self.shape = len(view.triangle), self.loss.outputs

    def judge_by(self, loss: PartitionedLoss) -> PartitionedRows:
        """Return the rows with another loss."""
        return PartitionedRows(self._table, self._features, loss)

    def start(self) -> tuple[np.ndarray, SpreadValues]:
        """Return weights of 0, and their values."""
        return np.zeros(self.shape), self.loss._nothing

    def values(self, weights: np.ndarray) -> SpreadValues:
        """Return Φw, which stays where the rows are."""
        coef = solve_triangle(self._triangle, weights, transposed=True)
        tasks = self._table.cluster.map("values", _compute_values, self._table.blocks, self.view, coef)
        return self._keep(tasks, self.shape[1])

    def gradient(self, outputs: SpreadValues) -> np.ndarray:
        """Return ΦᵀR for the residuals R."""
        return np.asarray(solve_triangle(self._triangle, self._sum("gradient", outputs)))

    def hessian(self, outputs: SpreadValues, joint: bool, above: bool = False) -> Equations:
        """Return ΦᵀWΦ, ΦᵀW1 and 1ᵀW1 for the curvatures W, or about that if there are many rows."""
        H, B, G = self._sum("hessian", outputs, share_bent(self.shape[0], self._table.n), joint, above)
        return H, B, G

    def _see(self, name: str) -> tuple[Callable[..., Any], BlockLoss]:
        return (_bend_some, self._features) if name == "hessian" else super()._see(name)

    def curve(self, outputs: SpreadValues, V: np.ndarray) -> np.ndarray:
        """Return ΦᵀWΦV."""
        coef = solve_triangle(self._triangle, V, transposed=True)
        return np.asarray(solve_triangle(self._triangle, self._sum("curve", outputs, coef)))


def _add_terms(terms: list[np.ndarray], factors: tuple[float, ...]) -> np.ndarray:
    total = factors[0] * terms[0]
    for factor, term in zip(factors[1:], terms[1:], strict=True):
        total += factor * term
    return total


def _compute_values(block: RowBlock, view: BlockRows, weights: np.ndarray) -> np.ndarray:
    rows, place = view(block)
    return np.asarray(host_array(rows.values(place.put(weights))))


def _ask(
    given: list[Any], view: BlockLoss, name: str, factors: tuple[float, ...], shift: np.ndarray, *shared: Any
) -> Any:
    """Return what a method of the rows of a block says of their outputs, as arrays."""
    block, *terms = given
    return _ask_rows(block, view, name, _mix_terms(len(block), terms, factors, shift), *shared)


def _mix_terms(n: int, terms: list[np.ndarray], factors: tuple[float, ...], shift: np.ndarray) -> np.ndarray:
    outputs = np.zeros((n, len(shift))) + shift
    for factor, term in zip(factors, terms, strict=True):
        outputs += factor * term
    return outputs


def _ask_rows(block: RowBlock, view: BlockLoss, name: str, outputs: np.ndarray, *shared: Any) -> Any:
    rows, place = view(block)
    shared = tuple(place.put(value) if isinstance(value, np.ndarray) else value for value in shared)
    found = getattr(rows, name)(place.put(outputs), *shared)
    return tuple(map(host_array, found)) if isinstance(found, tuple) else np.asarray(host_array(found))


def _bend_some(
    given: list[Any], view: BlockRows, name: str, factors: tuple[float, ...], shift: np.ndarray, share: float,
    joint: bool, above: bool,
) -> Any:  # fmt: skip
    """Return about the equations of a block, from a share of its rows if that is below 1."""
    block, *terms = given
    outputs = _mix_terms(len(block), terms, factors, shift)
    if share < 1:
        loss, _ = BlockLoss(view.loss, view.outputs)(block)
        bends = np.einsum("nii->n", loss.curvature(outputs, above=above).blocks())
        rows, chances = draw_bent(bends, share * len(block), block.index)
        outputs, weights = outputs[rows], block.known_weights[rows] / chances
        block = replace(block, X=pick(block.X, rows), y=block.y[rows], weights=weights)
    return _ask_rows(block, view, name, outputs, joint, above)


def draw_bent(bends: np.ndarray, count: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return about so many rows, each drawn once at most, and the chances they had: by how much their losses bend.

    Rows that do not bend add nothing, so that all others are taken if they are no more than asked for.  One row is
    drawn at least, because blocks have rows.

    Examples
    --------
    >>> import numpy as np
    >>> draw_bent(np.array([0.0, 2.0, 0.0, 1.0]), 2, 0)
    (array([1, 3]), array([1., 1.]))
    """
    some, count = np.flatnonzero(bends), max(1.0, count)
    if len(some) <= count:
        some = some if len(some) else np.arange(len(bends[:1]))  # one that adds nothing
        return some, np.ones(len(some))
    # Half by how much they bend and half by their number, so that no row weighs more than twice what it would alone.
    even = 1.0 / len(some)
    chances = np.minimum(1.0, count * 0.5 * (bends[some] / bends[some].sum() + even))
    steps = np.floor(np.cumsum(chances) + np.random.default_rng(seed).random())
    taken = np.diff(steps, prepend=0.0) > 0
    return some[taken], chances[taken]
