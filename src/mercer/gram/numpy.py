"""The reference backend: plain NumPy in float64, for every kernel on every kind of object."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.formula.data import Rows
from mercer.formula.evaluation import Evaluation
from mercer.formula.expression import Expression
from mercer.formula.program import entry_width


class NumpyBackend:
    """Tiles from the reference evaluation."""

    name = "numpy"

    def __init__(
        self, expression: Expression, X: Rows, Z: Rows | None, owner: str, why: str, dtype: Any = None
    ) -> None:
        self._evaluation = Evaluation(expression, X, Z, owner)
        if dtype is not None:
            self._evaluation.dtype = np.dtype(dtype)
        self.why = why
        self.shape = self._evaluation.shape
        self.symmetric = self._evaluation.symmetric
        self.dtype: np.dtype[Any] = self._evaluation.dtype
        arrays = {id(a): a for pair in self._evaluation.prepared() for a in pair}
        self.held = sum(getattr(a, "nbytes", 0) for a in arrays.values())
        self.scratch = max((node.scratch(*pair) for node, pair in self._evaluation.prepared_by().items()), default=0)
        self.entry_bytes = 8 * entry_width(expression)

    def tile(self, rows: Any, columns: slice) -> np.ndarray:
        """Evaluate one tile."""
        return self._evaluation.tile(rows, columns)

    def product(self, V: np.ndarray, budget: int) -> np.ndarray | None:
        """Tiles are the only way here."""
        return None

    def add_rows(self, index: np.ndarray, weights: np.ndarray, out: np.ndarray) -> bool:
        """Tiles are the only way here."""
        return False

    def part(self, index: np.ndarray, threads: int | None = None) -> None:
        """Nothing is prepared that would be worth keeping."""

    def fill(self, out: np.ndarray, rows: np.ndarray | None = None) -> bool:
        """Tiles are the only way here."""
        return False
