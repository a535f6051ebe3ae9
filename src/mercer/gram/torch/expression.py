"""Tiles of any expression over two collections on a device, for numbers that are not the kernel's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays.tensors import host_array, load_torch, on_device
from mercer.formula.data import Rows, length
from mercer.formula.evaluation import Evaluation
from mercer.formula.expression import Expression
from mercer.formula.program import UnsupportedError, entry_width, lower

from .points import device_points, is_matrix
from .tiles import tile


class ExpressionTiles:
    """The matrix of an expression for all x in X and z in Z, in float64, any tile of which is a tensor.

    Parameters
    ----------
    expression : Expression
        The formula.
    X, Z : matrices of numbers
        Arrays or tensors, one row for each point; Z = None is X again.
    owner : str
        The kernel to name in messages.
    device : torch.device
        Where.

    Raises
    ------
    UnsupportedError
        If data or expression have no form on a device.
    """

    def __init__(self, expression: Expression, X: Rows, Z: Rows | None, owner: str, device: Any) -> None:
        if not all(is_matrix(points) for points in (X, Z) if points is not None):
            raise UnsupportedError("the points are no matrix of numbers")
        self._program = lower(expression)
        self._pairs = [device_points(s, X, Z, np.float64, device) for s in self._program.statistics]
        self._left, self._right = [], []
        if self._program.left or self._program.right:
            right = None if Z is None else host_array(Z)
            reference = Evaluation(expression, host_array(X), right, owner)
            sides = ((self._program.left, 0), (self._program.right, 1))
            self._left, self._right = (
                [on_device(reference.one_sided(node, side), device, np.float64) for node in found]
                for found, side in sides
            )
        self.shape = length(X), length(X if Z is None else Z)
        self.entry_bytes = 8 * entry_width(expression)  # while a tile is computed
        self.device = device

    def tile(self, rows: Any, columns: slice) -> Any:
        """Return one tile; ``rows`` is a slice or a tensor of positions."""
        pairs = [(A[rows], (A if B is None else B)[columns]) for A, B in self._pairs]
        return tile(self._program, pairs, [v[rows] for v in self._left], [v[columns] for v in self._right])

    def dense(self) -> Any:
        """Return the whole matrix."""
        n, m = self.shape
        out = load_torch().empty(n, m, dtype=load_torch().float64, device=self.device)
        step = max(1, 2**28 // (self.entry_bytes * m))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            out[rows] = self.tile(rows, slice(0, m))
        return out
