"""The loss of rows in partitions: every sum over all rows is that over each block, added up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.losses import Loss
from mercer.losses.smoothed import round_off
from mercer.solvers.newton.sums import WeightedLoss, measure_reach, weigh_loss

from .._block import RowBlock
from ..executor import size_of
from ..table import RowTable
from .values import SpreadValues, mix_terms


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
        return self.bound(self.nothing)

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
    def nothing(self) -> SpreadValues:
        """Values of 0 for all rows."""
        return SpreadValues(self._table.cluster, (), (), np.zeros(self.outputs))

    @cached_property
    def _target_range(self) -> tuple[float, float]:
        least, most = zip(*self._table.cluster.compute(self._map("target_range", self.nothing)), strict=True)
        return float(min(least)), float(max(most))

    def reach(self, values: SpreadValues) -> float:
        """Return the spread of values or of targets, the larger one, or their size if they are all the same."""
        return measure_reach(self.range(values), self._target_range)

    @cached_property
    def _class_weights(self) -> np.ndarray:
        return np.asarray(self._sum("weigh_classes", self.nothing))

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


def _ask(
    given: list[Any], view: BlockLoss, name: str, factors: tuple[float, ...], shift: np.ndarray, *shared: Any
) -> Any:
    """Return what a method of the rows of a block says of outputs that are sums of terms."""
    block, *terms = given
    return ask_rows(block, view, name, mix_terms(len(block), terms, factors, shift), *shared)


def ask_rows(block: RowBlock, view: BlockLoss, name: str, outputs: np.ndarray, *shared: Any) -> Any:
    """Return what a method of the rows of a block says of outputs, as arrays."""
    rows, place = view(block)
    shared = tuple(place.put(value) if isinstance(value, np.ndarray) else value for value in shared)
    found = getattr(rows, name)(place.put(outputs), *shared)
    return tuple(map(host_array, found)) if isinstance(found, tuple) else np.asarray(host_array(found))
