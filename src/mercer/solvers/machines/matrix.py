"""The kernel matrix of support vector machines: rows computed on the fly, kept, or all of them stored."""

from __future__ import annotations

import threading

import numpy as np

from mercer.arrays.threads import default_threads
from mercer.formula.data import Rows, length
from mercer.gram import Gram
from mercer.kernels import Kernel

from ..products import width
from .rounds import MOST
from .rows import CHEAP, DenseRows, FusedRows, KeptRows, RowSource, TwiceRows


class MachineMatrix:
    """The kernel matrix of all points, and rows of it or of its parts as a problem wants them."""

    def __init__(self, kernel: Kernel, X: Rows, memory: int) -> None:
        self._kernel, self._X, self._memory = kernel, X, memory
        self.largest = float(np.abs(kernel.diag(X)).max(initial=0.0))
        self.small = min(MOST, int((memory / default_threads() / 16) ** 0.5))  # points whose matrix is stored
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

    def rows(self, index: np.ndarray | None, variables: int, dtype: type) -> RowSource:
        """Return the rows of some points (all if None); twice if there are two variables a point."""
        points = length(self._X) if index is None else len(index)
        whole = self._find_whole(dtype)
        if whole is not None:
            rows: RowSource = DenseRows(whole if index is None else whole[np.ix_(index, index)], default_threads())
        else:
            gram = self.gram(dtype) if index is None else self.gram(dtype).part(index)
            fused = gram.cheap and width(self._X) <= CHEAP
            rows = FusedRows(gram) if fused else KeptRows(gram, self._memory // 2, default_threads())
        return rows if points == variables else TwiceRows(rows, points)

    def stored(self, index: np.ndarray, dtype: type) -> RowSource:
        """Return the whole matrix of a few points, computed by one thread."""
        whole = self._find_whole(dtype)
        if whole is not None:
            return DenseRows(whole[np.ix_(index, index)], 1)
        gram = self.gram(dtype).part(index, threads=1)
        size = len(index) ** 2
        buffer: np.ndarray = getattr(self._own, dtype.__name__, np.empty(0, dtype=dtype))
        if buffer.size < size:
            buffer = np.empty(size, dtype=dtype)
            setattr(self._own, dtype.__name__, buffer)
        out = buffer[:size].reshape(len(index), len(index))
        return DenseRows(gram.dense(out=out), 1)

    def dense(self, dtype: type) -> np.ndarray:
        """Return the matrix of all points; values that come from Python are rounded rather than computed twice."""
        n = length(self._X)
        with self._one_at_a_time:
            if dtype not in self._matrices:
                gram = self.gram(dtype)
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
        """Return the matrix of all points where its entries are slow to compute and fit."""
        gram = self.gram(dtype)
        if gram.cheap or gram.shape[0] ** 2 * gram.dtype.itemsize > self._memory // 2:
            return None
        return self.dense(dtype)
