"""The kernel matrix of support vector machines: rows computed on the fly, kept, or all of them stored."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.place import Place
from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows, length
from mercer.gram import Gram
from mercer.gram.backend import FEWER
from mercer.gram.torch.stream import send_blocks
from mercer.kernels import Kernel

from ..products import width
from .rounds import MOST
from .rows import CHEAP, CHUNK, DenseRows, FusedRows, KeptRows, RowSource, TwiceRows

VECTORS = 32  # numbers for each variable: bounds, targets, slopes, and what is made of them in a round
# Shares of the memory that points and vectors leave.  The rest is for rows that are being computed.
KEPT, WORKING = 0.4, 0.3  # rows that stay, and the matrix of a working set


class MachineMatrix:
    """The kernel matrix of all points, and rows of it or of its parts as a problem wants them.

    ``taken`` bytes of the memory are in use already.
    """

    def __init__(self, kernel: Kernel, X: Rows, memory: int, taken: int = 0) -> None:
        self._kernel, self._X, self._memory, self._taken = kernel, X, memory, taken
        blocks = send_blocks(X, Place(None, memory))  # of a size at which their copies count for little
        self.largest = max(float(np.abs(kernel.diag(block)).max(initial=0.0)) for block in blocks)
        # Points whose matrix is stored: in both precisions, by each thread, in half of the memory.
        self.small = min(MOST, int((memory / default_threads() / 24) ** 0.5))
        self._grams: dict[type, Gram] = {}
        self._matrices: dict[type, np.ndarray] = {}
        self._one_at_a_time = threading.RLock()
        self._own = threading.local()  # memory that one small problem after the other uses

    def gram(self, dtype: type) -> Gram:
        """Return the lazy matrix with values of some precision."""
        with self._one_at_a_time:
            if dtype not in self._grams:
                self._grams[dtype] = Gram(self._kernel, self._X, memory=self._memory, dtype=dtype)
            return self._grams[dtype]

    def count_beside(self, sizes: Sequence[int]) -> int:
        """Return how many problems of so many points to solve at a time, each with its share of threads and memory.

        One step after the other is taken by one thread, so that side by side is better where there are problems for
        all threads and memory to keep most rows of each.
        """
        threads, columns, most = default_threads(), width(self._X), max(sizes, default=0)
        left = self._memory - self._taken - 24 * columns * length(self._X)  # all points stay in both precisions
        fits = threads * (16 * columns + 8 * VECTORS + 4 * most) * most <= left / 2
        return threads if len(sizes) >= 2 * threads and fits else 1

    def rows(self, index: np.ndarray | None, variables: int, dtype: type, beside: int = 1) -> RowSource:
        """Return the rows of some points (all if None); twice if there are two variables a point.

        So many problems are solved ``beside`` each other, this one among them.
        """
        points = length(self._X) if index is None else len(index)
        if index is None:  # one problem, which goes on in this precision
            self._grams = {kind: gram for kind, gram in self._grams.items() if kind is dtype}
        whole = self._find_whole(dtype)
        if whole is not None:
            rows: RowSource = DenseRows(whole if index is None else whole[np.ix_(index, index)], default_threads())
        else:
            rows = self._lazy_rows(index, variables, dtype, beside)
        return rows if points == variables else TwiceRows(rows, points)

    def _lazy_rows(self, index: np.ndarray | None, variables: int, dtype: type, beside: int) -> RowSource:
        """Return rows that are computed when they are asked for, within what points and vectors leave of the memory."""
        gram = self.gram(dtype)
        item = gram.dtype.itemsize
        held = gram.held * 8 // item  # in float64, which may be asked for later
        memory = self._memory
        if index is not None:
            memory -= held + held // 2  # all points stay in both precisions
            gram = gram.part(index, default_threads())
            held = gram.held * 8 // item
        n, row = gram.shape[0], gram.shape[0] * item
        taken, share = self._taken + held + 8 * VECTORS * variables, memory // beside
        require(taken + 4 * row, share, f"a machine with {variables} coefficients at {n} points", FEWER)
        spare = share - taken
        room, kept = int(WORKING * spare), int(KEPT * spare)
        fused = gram.cheap and width(self._X) <= CHEAP
        tiles = spare - room - kept
        gram = gram.within(gram.held + tiles + room)
        if fused:
            return FusedRows(gram, room + kept)
        return KeptRows(gram, kept, default_threads(), max(1, min(CHUNK, tiles // (2 * row))), room)

    def stored(self, index: np.ndarray, dtype: type) -> RowSource:
        """Return the whole matrix of a few points, computed by one thread."""
        whole = self._find_whole(dtype)
        if whole is not None:
            return DenseRows(whole[np.ix_(index, index)], 1)
        gram, size = self.gram(dtype).part(index, threads=1), len(index) ** 2
        buffer: np.ndarray = getattr(self._own, dtype.__name__, np.empty(0, dtype=dtype))
        if buffer.size < size:
            buffer = np.empty(size, dtype=dtype)
            setattr(self._own, dtype.__name__, buffer)
        out = buffer[:size].reshape(len(index), len(index))
        tiles = self._memory // (4 * default_threads())
        return DenseRows(gram.within(gram.held + out.nbytes + tiles).dense(out=out), 1)

    def dense(self, dtype: type) -> np.ndarray:
        """Return the matrix of all points; values that come from Python are rounded rather than computed twice."""
        n = length(self._X)
        with self._one_at_a_time:
            if dtype not in self._matrices:
                gram = self.gram(dtype).within(self._memory - sum(one.nbytes for one in self._matrices.values()))
                if dtype is np.float32 and not gram.cheap and 12 * n * n <= self._memory // 2:
                    self._matrices[dtype] = self.dense(np.float64).astype(np.float32)
                else:
                    self._matrices[dtype] = gram.dense()
            return self._matrices[dtype]

    @property
    def finest(self) -> np.ndarray:
        """The matrix of all points in the best precision it was computed in so far."""
        return self.dense(np.float64 if np.float64 in self._matrices else np.float32)

    def _find_whole(self, dtype: type) -> np.ndarray | None:
        """Return the matrix of all points where its entries are slow to compute and fit, with a corner beside it."""
        gram = self.gram(dtype)
        if gram.cheap or gram.shape[0] ** 2 * gram.dtype.itemsize > self._memory // 4:
            return None
        return self.dense(dtype)
