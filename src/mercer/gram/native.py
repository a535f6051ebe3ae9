"""The native backend: whole kernel expressions over vectors, fused on tiles that never leave the cache."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import partial

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from mercer.arrays.tensors import pack
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows
from mercer.formula.evaluation import Evaluation, check_overflow
from mercer.formula.expression import Expression
from mercer.formula.program import UnsupportedError
from mercer.formula.statistics import VectorStatistic

from .backend import Backend
from .bits import COUNTED, pack_pair
from .prepared import Pair, PreparedProgram

FUSED_COLUMNS = 16  # more right-hand sides than this are better served by tiles and a matrix product
POWER = 16  # features that one takes as long as, if its differences are raised to a power
NARROW = 8  # features up to which a tile is computed sooner than turned over
MANY = 1024  # rows from which on pairs of them are worth computing once
COPIED = 2**26  # bytes of points up to which some of them may be copied for that
CALL_WORK = 2e8  # entries (weighted by features) of one native call and thread: about half a second


class NativeBackend(Backend):
    """Programs on tiles in the compiled core."""

    name = "native"
    cheap = True

    def __init__(self, expression: Expression, X: Rows, Z: Rows | None, owner: str, why: str, dtype: DTypeLike) -> None:
        self.why, self.dtype = why, np.dtype(dtype)
        self._owner, self._threads = owner, default_threads()
        reference = Evaluation(expression, X, Z, owner)  # which knows shapes, and compares the columns of frames
        self.shape, self.symmetric = reference.shape, reference.symmetric

        def prepare(statistic: VectorStatistic) -> Pair:
            A, B = statistic.prepare(X, X if Z is None else Z, self.dtype)
            other = None if self.symmetric else B
            if not sparse.issparse(A):
                return pack(A), None if other is None else pack(other)
            if statistic.native not in COUNTED:
                raise UnsupportedError("the data is sparse")
            return A, other  # which may still be bits

        put = partial(pack, dtype=self.dtype)
        found = PreparedProgram(expression, X, Z, owner, self.dtype, prepare, put)
        kinds = [str(s.native) for s in found.program.statistics]
        for place, pair in enumerate(found.pairs):
            bits = pack_pair(*pair) if kinds[place] in COUNTED else None
            if bits is not None:
                kinds[place], found.pairs[place] = "bits", bits
            elif sparse.issparse(pair[0]):
                raise UnsupportedError("the data is sparse")
        self._kinds = [(kind, s.exponent) for kind, s in zip(kinds, found.program.statistics, strict=True)]
        self._code = [step.pack() for step in found.program.code]
        costs = [POWER if kind == "powdist" else 1 for kind, _ in self._kinds]
        self._features = sum(cost * A.shape[1] for cost, (A, _) in zip(costs, found.pairs, strict=True))
        self.entry_bytes = self.dtype.itemsize
        self._keep(found.pairs, found.left, found.right)

    def _keep(self, pairs: list[Pair], left: list[np.ndarray], right: list[np.ndarray]) -> None:
        import mercer._native as _native

        self._arrays = pairs, left, right
        statistics = [(kind, A, B, p) for (kind, p), (A, B) in zip(self._kinds, pairs, strict=True)]
        self.plan = _native.Plan(statistics, left, right, self._code)
        self.held = sum(2 * A.nbytes if B is None else A.nbytes + 2 * B.nbytes for A, B in pairs)

    def tile(self, rows: slice | np.ndarray, columns: slice) -> np.ndarray:
        """Compute one tile."""
        n, m = self.shape
        positions = np.arange(n)[rows] if isinstance(rows, slice) else np.asarray(rows, dtype=np.int64)
        start, stop, _ = columns.indices(m)
        out = np.empty((len(positions), stop - start), dtype=self.dtype)
        self._write(out, positions, start, stop)
        check_overflow(out, self._owner)
        return out

    def _write(self, out: np.ndarray, positions: np.ndarray, start: int, stop: int) -> None:
        step = self._rows_per_call(stop - start)
        for first in range(0, len(positions), step):
            part = pack(positions[first : first + step])
            self.plan.dense(out[first : first + step], part, start, stop, self._threads)

    def product(self, V: np.ndarray, budget: int) -> np.ndarray | None:
        """Multiply without ever storing the matrix, a few right-hand sides at a time."""
        if V.shape[1] > FUSED_COLUMNS or self.plan.workspace(V.shape[1], self._threads) > budget:
            return None
        return self._multiply(V)

    def _multiply(self, V: np.ndarray) -> np.ndarray:
        V = pack(V, self.dtype)
        out = np.zeros((self.shape[0], V.shape[1]))
        multiply = self.plan.symmetric_product if self.symmetric else self.plan.product
        for start, stop in self._calls():
            multiply(V, out, start, stop, self._threads)
        return out

    def residuals(
        self, V: np.ndarray, targets: np.ndarray, weights: np.ndarray, budget: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Compute each value once for both."""
        if V.shape[1] > FUSED_COLUMNS or self.plan.residual_workspace(V.shape[1], self._threads) > budget:
            return None
        V, weights, errors = pack(V, self.dtype), pack(weights, np.float64), np.array(targets, np.float64, order="C")
        (n, m), image = self.shape, np.zeros(V.shape)
        step = self._rows_per_call(m)
        for start in range(0, n, step):
            self.plan.residuals(V, weights, errors, image, start, min(n, start + step), self._threads)
        return errors, image

    def fill(self, out: np.ndarray, rows: np.ndarray | None = None) -> bool:
        """Compute each tile of a symmetric matrix once, unless turning it over takes longer than computing it."""
        if out.dtype != self.dtype or not (out.flags.c_contiguous and out.flags.aligned):
            return False
        if rows is not None:
            self._write(out, rows, 0, self.shape[1])
            return True
        if not self.symmetric:
            self._write(out, np.arange(len(out)), 0, self.shape[1])
        elif self._features <= NARROW:
            everything = np.arange(len(out))
            for start, stop in self._calls():
                self.plan.dense(out[start:stop], everything[start:stop], 0, len(out), self._threads)
        else:
            for start, stop in self._calls():
                self.plan.symmetric_dense(out, start, stop, self._threads)
        check_overflow(out, self._owner)
        return True

    def add_rows(self, index: np.ndarray, weights: np.ndarray, out: np.ndarray, columns: slice) -> bool:
        """Add weighted rows without ever storing them."""
        if self._are_many(index, columns):
            self._add_many_rows(index, weights, out)
            return True
        step = self._rows_per_call(columns.stop - columns.start)
        weights = pack(weights, self.dtype)
        for first in range(0, len(index), step):
            part = slice(first, first + step)
            self.plan.add_rows(index[part], weights[part], out, columns.start, columns.stop, self._threads)
        return True

    def _are_many(self, index: np.ndarray, columns: slice) -> bool:
        """Whether some rows are so many of all points that pairs of them count, and are added in double precision."""
        whole = self.symmetric and self.exact and columns == slice(0, self.shape[1]) and self.held <= COPIED
        return whole and len(index) >= max(MANY, self.shape[0] // 4) and len(np.unique(index)) == len(index)

    def _add_many_rows(self, index: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        """Compute each pair of these points once, and the others against them."""
        out[index] += self.part(index)._multiply(weights[:, None])[:, 0]
        others = np.setdiff1d(np.arange(self.shape[0]), index)
        out[others] += self._between(others, index)._multiply(weights[:, None])[:, 0]

    def part(self, index: np.ndarray, threads: int | None = None) -> NativeBackend:
        """Return the backend of some of the points, from what is prepared for all of them."""
        pairs, *sides = self._arrays
        few = copy(self)
        few._keep([(A[index], None) for A, _ in pairs], *([values[index] for values in side] for side in sides))
        few.shape = len(index), len(index)
        few._threads = self._threads if threads is None else threads
        return few

    def strip(self, index: np.ndarray) -> NativeBackend:
        """Return the backend of some rows, from what is prepared for all points."""
        return self._between(index, slice(None))

    def _between(self, rows: np.ndarray, columns: np.ndarray | slice) -> NativeBackend:
        """Return the backend of some rows and columns of a symmetric matrix."""
        pairs, left, right = self._arrays
        few = copy(self)
        few._keep([(A[rows], A[columns]) for A, _ in pairs], [v[rows] for v in left], [v[columns] for v in right])
        few.shape, few.symmetric = few.plan.shape, False
        return few

    def _calls(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows for one native call each; between calls Python looks for Ctrl-C."""
        n, m = self.shape
        start = 0
        while start < n:
            stop = min(n, start + self._rows_per_call(m - start if self.symmetric else m))
            yield start, stop
            start = stop

    @property
    def call_entries(self) -> float:
        """How many entries one native call computes at most, about."""
        return CALL_WORK * self._threads / (1 + self._features / 16)

    def _rows_per_call(self, columns: int) -> int:
        rows = int(self.call_entries / max(columns, 1))
        block: int = self.plan.row_block
        # Blocks of rows are what threads share out between them, so that a call needs some for each.
        return max(2 * self._threads, rows // block) * block
