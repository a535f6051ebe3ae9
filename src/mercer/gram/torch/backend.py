"""The torch backend: tensors in, tensors out, and never more than tiles of the matrix in memory."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mercer.arrays import Array
from mercer.arrays.place import Place
from mercer.arrays.tensors import load_torch, on_device
from mercer.formula.data import Rows, length
from mercer.formula.expression import Expression
from mercer.formula.program import entry_width

from ..backend import Backend
from ..prepared import PreparedProgram
from .compiling import fusable
from .fused import FusedProduct, make_product
from .points import prepare_points
from .tiles import evaluate_tile

FUSED_COLUMNS = 32  # more right-hand sides than this go in groups
DOUBLE_COLUMNS = 8  # the same in float64, where each column is a sum of its own


class TorchBackend(Backend):
    """Programs on tiles of tensors, and products fused into one Triton kernel on CUDA devices.

    Raises UnsupportedError if data or expression have no form on a device.
    """

    name = "torch"
    cheap = True

    def __init__(
        self, expression: Expression, X: Rows, Z: Rows | None, owner: str, device: Any, dtype: DTypeLike = np.float64
    ) -> None:
        Z = None if Z is X else Z
        self.device, self.dtype = device, np.dtype(dtype)
        self.shape, self.symmetric = (length(X), length(X if Z is None else Z)), Z is None
        prepare = partial(prepare_points, X=X, Z=Z, dtype=self.dtype, device=device)
        put = partial(on_device, device=device, dtype=self.dtype)
        self._data = PreparedProgram(expression, X, Z, owner, self.dtype, prepare, put)
        self.held = sum(side.nbytes for pair in self._data.pairs for side in pair if side is not None)
        self.entry_bytes = 8 * entry_width(expression)
        self._made = False
        self._product: FusedProduct | None = None

    @property
    def why(self) -> str:  # type: ignore[override]
        """How the values are computed, in one sentence."""
        if self._fused is not None:
            return f"one fused kernel on {self.device}, dot products in mode {self._fused.mode!r}"
        return "every statistic of the kernel has a form on the device"

    @property
    def _fused(self) -> FusedProduct | None:
        """The fused product, None where there is none."""
        return self._make_fused(1)

    def _make_fused(self, columns: int) -> FusedProduct | None:
        """Make the fused product when it is first needed, by trials with so many right-hand sides."""
        if not self._made:
            data = self._data
            if fusable(self.device):
                self._product = make_product(data.program, data.pairs, data.left, data.right, columns)
            self._made = True
        return self._product

    def tile(self, rows: slice | Array, columns: slice) -> Array:
        """Compute one tile; ``rows`` may be a tensor of positions."""
        data = self._data
        rows = rows if isinstance(rows, slice) else load_torch().as_tensor(rows, device=self.device)
        pairs = [(A[rows], (A if B is None else B)[columns]) for A, B in data.pairs]
        return evaluate_tile(data.program, pairs, [v[rows] for v in data.left], [v[columns] for v in data.right])

    def product(self, V: Array, budget: int) -> Array | None:
        """Multiply by the fused product where there is one, by groups of columns of about the same size."""
        q = V.shape[1]
        fused = self._make_fused(_share(q, DOUBLE_COLUMNS if self.dtype == np.float64 else FUSED_COLUMNS))
        if fused is None:
            return None
        size = _share(q, DOUBLE_COLUMNS if fused.double else FUSED_COLUMNS)
        return load_torch().cat([fused(V[:, i : i + size]) for i in range(0, q, size)], 1)

    def diag(self) -> Array | None:
        """Distances of points to themselves are 0, so that one entry tells all of a kernel of nothing but distances."""
        data = self._data
        if data.left or any(statistic.native != "sqdist" for statistic in data.program.statistics):
            return None
        value = evaluate_tile(data.program, [(A[:1], A[:1]) for A, _ in data.pairs], [], [])
        return value.double().expand(self.shape[0], 1)[:, 0].contiguous()


def _share(count: int, most: int) -> int:
    """Return the size of the fewest groups, all about the same, of at most so many."""
    return max(1, math.ceil(count / max(1, math.ceil(count / most))))


class MovedBackend(Backend):
    """Tiles that another backend computes on the host, moved to a device; what it keeps may be ``there`` already."""

    name = "torch"

    def __init__(self, host: Backend, place: Place, why: str, *, there: bool = False) -> None:
        self._host, self._place, self.why = host, place, why
        self.shape, self.symmetric, self.dtype = host.shape, host.symmetric, host.dtype
        self.entry_bytes = 2 * host.dtype.itemsize
        self.held, self.scratch = (host.held, host.scratch) if there else (0, 0)

    def tile(self, rows: slice | Array, columns: slice) -> Array:
        """Compute one tile on the host."""
        return self._place.put(self._host.tile(rows, columns), self.dtype)

    def diag(self) -> Array | None:
        """Move the diagonal."""
        values = self._host.diag()
        return None if values is None else self._place.put(values)
