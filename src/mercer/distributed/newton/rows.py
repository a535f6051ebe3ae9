"""Labelled rows in partitions for Newton's method: values stay with their rows, and sums of them come back.

The method is the one of one machine, and so is what it asks of the rows: every sum over all of them is that of
:class:`~mercer.solvers.newton.rows.FeatureRows` or of its loss over each block, added up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows, pick
from mercer.kernels import Kernel
from mercer.linalg.cholesky import solve_triangle
from mercer.solvers.newton.features import CenterValues, NystroemFeatures
from mercer.solvers.newton.plan import share_bent
from mercer.solvers.newton.rows import Equations, FeatureRows

from .._block import RowBlock
from ..table import RowTable
from .loss import BlockLoss, PartitionedLoss, PartitionSums, ask_rows
from .values import SpreadValues, mix_terms


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
        return np.zeros(self.shape), self.loss.nothing

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


def _compute_values(block: RowBlock, view: BlockRows, weights: np.ndarray) -> np.ndarray:
    rows, place = view(block)
    return np.asarray(host_array(rows.values(place.put(weights))))


def _bend_some(
    given: list[Any], view: BlockRows, name: str, factors: tuple[float, ...], shift: np.ndarray, share: float,
    joint: bool, above: bool,
) -> Any:  # fmt: skip
    """Return about the equations of a block, from a share of its rows if that is below 1."""
    block, *terms = given
    outputs = mix_terms(len(block), terms, factors, shift)
    if share < 1:
        loss, _ = BlockLoss(view.loss, view.outputs)(block)
        bends = np.einsum("nii->n", loss.curvature(outputs, above=above).blocks())
        rows, chances = draw_bent(bends, share * len(block), block.index)
        outputs, weights = outputs[rows], block.known_weights[rows] / chances
        block = replace(block, X=pick(block.X, rows), y=block.y[rows], weights=weights)
    return ask_rows(block, view, name, outputs, joint, above)


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
