"""The reference backend: plain NumPy in float64, for every kernel on every kind of object."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from mercer.formula.data import Rows
from mercer.formula.evaluation import Evaluation
from mercer.formula.expression import Expression
from mercer.formula.program import entry_width

from .backend import Backend


class NumpyBackend(Backend):
    """Tiles from the reference evaluation."""

    name = "numpy"

    def __init__(self, expression: Expression, X: Rows, Z: Rows | None, owner: str, why: str, dtype: DTypeLike) -> None:
        self._evaluation = Evaluation(expression, X, Z, owner)
        self._evaluation.dtype = self.dtype = np.dtype(dtype)
        self.why = why
        self.shape, self.symmetric = self._evaluation.shape, self._evaluation.symmetric
        arrays = {id(a): a for pair in self._evaluation.prepared() for a in pair}
        self.held = sum(getattr(a, "nbytes", 0) for a in arrays.values())
        self.scratch = max((node.scratch(*pair) for node, pair in self._evaluation.prepared_by().items()), default=0)
        self.entry_bytes = 8 * entry_width(expression)

    def tile(self, rows: slice | np.ndarray, columns: slice) -> np.ndarray:
        """Evaluate one tile."""
        return self._evaluation.tile(rows, columns)

    def diag(self) -> np.ndarray | None:
        """Evaluate the diagonal, of what is prepared already."""
        return self._evaluation.diag() if self.symmetric else None
