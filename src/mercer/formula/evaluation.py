"""The reference evaluation of an expression on data: plain NumPy, in float64, tile by tile."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from .data import Rows, check_same_columns, length, pick, result_dtype
from .distance import Distances
from .expression import Diagonal, Expression, Stat, evaluate, nodes
from .ranges import leaves_range, sizes
from .statistics import BlockStatistic, Prepared, Statistic

TILE_ENTRIES = 2**21  # of a dense evaluation; temporaries of this size stay small next to the result
MANY = 2**22  # entries from which on a matrix product is the fastest way to look at all of them


class Evaluation:
    """An expression over two collections (Z = None means X again), ready to give any tile of its matrix.

    ``name`` is the kernel to name in messages, ``dtype`` the precision of the arithmetic; results come in float32 when
    all data is float32.
    """

    def __init__(self, expression: Expression, X: Rows, Z: Rows | None, name: str, dtype: Any = np.float64) -> None:
        self.expression = expression
        self.name = name
        self.symmetric = Z is None or Z is X
        Z = X if Z is None else Z
        check_same_columns(X, Z)
        self._X, self._Z, self._precision = X, Z, dtype
        self.shape = (length(X), length(Z))
        if min(self.shape) == 0:
            raise ValueError(f"{name} needs at least one object on each side, got {self.shape[0]} and {self.shape[1]}")
        self.dtype = result_dtype(X, Z) if dtype == np.float64 else np.dtype(dtype)
        self._data: dict[Statistic, tuple[Prepared, Prepared]] = {}
        self._diagonals: dict[Diagonal, np.ndarray] = {}
        self._at: dict[tuple[Expression, int], np.ndarray] = {}

    def of(self, expression: Expression, dtype: Any = None) -> Evaluation:
        """Return the evaluation of another expression on the same data, perhaps in another precision."""
        Z = None if self.symmetric else self._Z
        return Evaluation(expression, self._X, Z, self.name, self._precision if dtype is None else dtype)

    @cached_property
    def distances(self) -> Distances:
        """Squared distances k(x, x) + k(z, z) − 2 k(x, z)."""
        return Distances(self)

    def prepared(self) -> list[tuple[Prepared, Prepared]]:
        """Prepare the data for every statistic now, rather than when a tile needs it."""
        return list(self.prepared_by().values())

    def prepared_by(self) -> dict[Statistic, tuple[Prepared, Prepared]]:
        """Return the data of both sides for every statistic."""
        found = [node.statistic for node in nodes(self.expression) if isinstance(node, Stat)]
        return {statistic: self.prepare(statistic) for statistic in found}

    def prepare(self, statistic: Statistic) -> tuple[Prepared, Prepared]:
        """Return the data of both sides in the form that a statistic takes."""
        source = statistic.source
        if source not in self._data:
            self._data[source] = source.prepare(self._X, self._Z, self._precision)
        return self._data[source]

    def adopt(self, statistic: Statistic, A: Prepared, B: Prepared) -> None:
        """Take what a statistic has prepared elsewhere of the same data, in float64."""
        if self._precision == np.float64:
            self._data.setdefault(statistic, (A, B))

    @cached_property
    def _wide(self) -> Evaluation | None:
        """The same in extended precision, whose range is wider too, where the machine has it."""
        wider = self._precision == np.float64 and np.finfo(np.longdouble).maxexp > np.finfo(np.float64).maxexp
        return self.of(self.expression, np.longdouble) if wider else None

    @cached_property
    def leaves_range(self) -> bool:
        """Whether float64 is too narrow for numbers on the way to the result."""
        return leaves_range(self.expression, lambda stat: sizes(stat, *self.prepare(stat)), self._precision)

    def _compute_safely(self, compute: Callable[[Evaluation], np.ndarray]) -> np.ndarray:
        """Compute in this precision, and in the wider one where this one loses numbers."""
        if self._wide is None:
            return self._finish(compute(self))
        if not self.leaves_range:
            values = compute(self)
            with np.errstate(over="ignore"):
                result = np.array(values, dtype=self.dtype)
            if np.isfinite(result).all():
                return result
        return self._finish(compute(self._wide))

    def diag(self) -> np.ndarray:
        """Values of the expression at (x, x) for all x in X."""
        return self._compute_safely(lambda evaluation: evaluation._evaluate_diagonal(self.expression, 0))

    def tile(self, rows: Any, columns: slice) -> np.ndarray:
        """Return one tile of the matrix; ``rows`` may be a slice or an array of positions."""
        return self._compute_safely(lambda evaluation: evaluation._evaluate_tile(rows, columns))

    def _evaluate_tile(self, rows: Any, columns: slice) -> np.ndarray:
        def statistic(stat: Statistic) -> np.ndarray:
            A, B = self.prepare(stat)
            block = stat.block(A[rows] if isinstance(rows, slice) else pick(A, rows), B[columns])
            return block if self._precision == np.float64 else block.astype(self._precision, copy=False)

        def diagonal(node: Diagonal) -> np.ndarray:
            values = self.diagonal(node)
            return values[rows][:, None] if node.side == "left" else values[columns][None, :]

        count = len(range(*rows.indices(self.shape[0]))) if isinstance(rows, slice) else len(rows)
        width = len(range(*columns.indices(self.shape[1])))
        return np.broadcast_to(evaluate(self.expression, statistic, diagonal), (count, width))

    def dense(self) -> np.ndarray:
        """Return the whole matrix; a square one is computed on and above the diagonal only."""
        n, m = self.shape
        out = np.empty(self.shape, dtype=self.dtype)
        step = max(1, TILE_ENTRIES // m)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            first = start if self.symmetric else 0
            out[rows, first:] = self.tile(rows, slice(first, m))
            if self.symmetric:
                out[rows.stop :, rows] = out[rows, rows.stop :].T
        return out

    def squared_distances(self) -> np.ndarray:
        """Return k(x, x) + k(z, z) − 2 k(x, z), at least 0, for all pairs."""
        n, m = self.shape
        out = np.empty(self.shape, dtype=self.dtype)
        step = max(1, TILE_ENTRIES // (4 * m))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            with np.errstate(over="ignore"):
                out[rows] = np.maximum(self.distances.tile(rows, slice(0, m)), 0.0)
        check_overflow(out, self.name, formula=self.expression)
        if self.symmetric:
            np.fill_diagonal(out, 0.0)
        return out

    def diagonal(self, node: Diagonal) -> np.ndarray:
        """Values of a diagonal node along its side of the data."""
        if node not in self._diagonals:
            self._diagonals[node] = self._evaluate_diagonal(node.inner, 0 if node.side == "left" else 1)
        return self._diagonals[node]

    def one_sided(self, expression: Expression, side: int) -> np.ndarray:
        """Values of an expression of diagonal nodes only, along side 0 (X) or 1 (Z)."""

        def values(evaluation: Evaluation) -> np.ndarray:
            return np.broadcast_to(evaluate(expression, _refuse_statistic, evaluation.diagonal), (self.shape[side],))

        return values(self if self._wide is None or not self.leaves_range else self._wide)

    def _evaluate_diagonal(self, expression: Expression, side: int) -> np.ndarray:
        if (expression, side) not in self._at:
            # Deepest first, and each once, however many of them are inside each other.
            for node in nodes(expression):
                if isinstance(node, Diagonal) and (node.inner, side) not in self._at:
                    self._at[node.inner, side] = self._evaluate_at_itself(node.inner, side)
            self._at[expression, side] = self._evaluate_at_itself(expression, side)
        return self._at[expression, side]

    def _evaluate_at_itself(self, expression: Expression, side: int) -> np.ndarray:
        values = evaluate(
            expression,
            lambda stat: np.asarray(stat.diag(self.prepare(stat)[side]), dtype=self._precision),
            lambda node: self._at[node.inner, side],
        )
        return np.broadcast_to(values, (self.shape[side],))

    def _finish(self, values: np.ndarray) -> np.ndarray:
        return finish(values, self.dtype, self.name, formula=self.expression)


def finish(values: np.ndarray, dtype: Any, name: str, *, formula: Expression | None = None) -> np.ndarray:
    """Convert to the result's type and raise if numbers were lost on the way."""
    with np.errstate(over="ignore"):
        result = np.array(values, dtype=dtype)
    check_overflow(result, name, formula=formula)
    return result


def check_overflow(result: np.ndarray, name: str, dtype: Any = None, *, formula: Expression | None = None) -> None:
    """Raise if a result holds infinities or NaN, which finite data gives only by overflow of ``dtype`` (its own).

    The ``formula`` tells whether the data are strings, trees or other things that cannot be scaled.
    """
    if result.size > MANY:
        with np.errstate(all="ignore"):
            # Row sums are finite only if all entries are, and with threads cost a fraction of looking at each.
            sums = result @ np.ones(result.shape[-1], dtype=result.dtype)
        if np.isfinite(sums).all():
            return
    if np.isfinite(result).all():
        return
    kind = np.dtype(result.dtype if dtype is None else dtype)
    remedy = "pass float64 data, or scale it" if kind == np.float32 else "scale the data down"
    remedy += ", for example with StandardScaler"
    found = () if formula is None else (node.statistic for node in nodes(formula) if isinstance(node, Stat))
    remedy = next((each.kernel.relief for each in found if isinstance(each, BlockStatistic)), remedy)
    raise OverflowError(f"{name} overflows {kind} on this data; {remedy}")


def _refuse_statistic(statistic: Statistic) -> np.ndarray:
    raise ValueError(f"{statistic} depends on both points")
