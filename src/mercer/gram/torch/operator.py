"""The Gram matrix of points on a device: tensors in, tensors out, and never more than tiles of it in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.tensors import device_memory, find_device, host_array, is_tensor, load_torch, on_device, real_type
from mercer.formula.data import Rows, length
from mercer.formula.evaluation import Evaluation
from mercer.formula.program import Program, UnsupportedError, anonymous, decline_outside, entry_width, lower
from mercer.formula.ranges import sizes
from mercer.kernels import Kernel

from ..operator import TILE_BYTES, Gram, check_arguments
from .fused import FusedProduct, fusable, make_product
from .points import device_points
from .tiles import tile

FUSED_COLUMNS = 32  # more right-hand sides than this go in groups
DOUBLE_COLUMNS = 8  # the same in float64, where each column is a sum of its own
PARTIAL = 4096  # columns summed in float32 before they are added up in float64


class TensorGram(Gram):
    """The matrix of k(x, z) on a torch device; what ``Gram`` makes of tensors, or when given a device.

    Kernel expressions over vectors run as one fused Triton kernel on CUDA devices, generated from the expression, and
    tile by tile in torch elsewhere; kernels without such an expression are evaluated on the host.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    X, Z : tensors or other collections
        Rows and columns of the matrix; Z = None is X again.
    backend : {"auto", "torch"}
        The backend; there is one.
    memory : int or str, optional
        Budget in bytes on the device; 60 % of what is free if not given.
    dtype : {float32, float64}, optional
        Precision of the kernel values; by default float32 if all data is float32 or shorter, and float64 otherwise.
    device : str or torch.device, optional
        Where; follows the tensors if not given.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Rows,
        Z: Rows | None = None,
        backend: str = "auto",
        memory: float | str | None = None,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        check_arguments(kernel, dtype)
        if backend not in ("auto", "torch"):
            raise ValueError(f"tensors and devices need backend 'auto' or 'torch', got {backend!r}")
        Z = None if Z is X else Z
        self.kernel, self._X, self._Z = kernel, X, Z
        self.device = find_device(device, X, Z)
        self.memory = device_memory(self.device, memory)
        self.dtype = real_type(X, X if Z is None else Z) if dtype is None else np.dtype(dtype)
        self.shape = length(X), length(X if Z is None else Z)
        self._host: Gram | None = None
        self._product: FusedProduct | None = None
        self._tried = False
        try:
            self._program: Program | None = lower(kernel.traced())
            self._prepare()
            self._why = "every statistic of the kernel has a form on the device"
        except UnsupportedError as reason:
            left, right = host_array(X), None if Z is None else host_array(Z)
            self._host, self._program = Gram(kernel, left, right, dtype=self.dtype), None
            self._why = f"the kernel is evaluated on the host and moved: {reason}"

    def _prepare(self) -> None:
        program, device = self._program, self.device
        assert program is not None
        self._pairs = [device_points(s, self._X, self._Z, self.dtype, device) for s in program.statistics]
        bounds = {
            statistic: sizes(statistic, A, A if B is None else B)
            for statistic, (A, B) in zip(program.statistics, self._pairs, strict=True)
        }
        decline_outside(anonymous(self.kernel.traced()), bounds, self.dtype)
        self._left, self._right = [], []
        if program.left or program.right:
            right = None if self._Z is None else host_array(self._Z)
            reference = Evaluation(self.kernel.traced(), host_array(self._X), right, repr(self.kernel))
            self._left = [on_device(reference.one_sided(node, 0), device, self.dtype) for node in program.left]
            self._right = [on_device(reference.one_sided(node, 1), device, self.dtype) for node in program.right]

    @property
    def symmetric(self) -> bool:
        """Whether Z is X."""
        return self._Z is None

    @property
    def backend_name(self) -> str:
        """The backend."""
        return "torch"

    @property
    def cheap(self) -> bool:
        """Whether entries are computed again about as quickly as they are read from memory."""
        return self._host is None

    @property
    def why(self) -> str:
        """How the values are computed, in one sentence."""
        if self._host is None and self._fused is not None:
            return f"one fused kernel on {self.device}, dot products in mode {self._fused.mode!r}"
        return self._why

    @property
    def native_plan(self) -> None:
        """Nothing of the compiled core is used here."""

    @property
    def T(self) -> Gram:  # noqa: N802  (the name NumPy users expect)
        """The transposed matrix."""
        if self.symmetric:
            return self
        return TensorGram(self.kernel, self._Z, self._X, "torch", self.memory, self.dtype, self.device)

    @property
    def _fused(self) -> FusedProduct | None:
        """The fused product, made when it is first needed; None where there is none."""
        if not self._tried and self._program is not None and fusable(self.device):
            self._product = make_product(self._program, self._pairs, self._left, self._right)
        self._tried = True
        return self._product

    def __matmul__(self, V: Any) -> Any:
        """K @ V for one vector of length m or a matrix of shape (m, r), in float64."""
        torch = load_torch()
        V = on_device(V, self.device, np.float64)
        single = V.ndim == 1
        V = V[:, None] if single else V
        if V.ndim != 2 or V.shape[0] != self.shape[1]:
            raise ValueError(
                f"the Gram matrix has shape {self.shape}, so it multiplies a vector of length {self.shape[1]} or a "
                f"matrix with {self.shape[1]} rows; got shape {tuple(V.shape)}"
            )
        result = self._times(V)
        if not bool(torch.isfinite(result.sum(0)).all()):
            if not bool(torch.isfinite(V).all()):
                raise ValueError("the right-hand side holds NaN or infinity")
            raise OverflowError(f"{self.kernel!r} overflows {self.dtype} on this data; scale the data down")
        return result[:, 0] if single else result

    def __rmatmul__(self, V: Any) -> Any:
        """V @ K."""
        V = on_device(V, self.device, np.float64)
        return self.T @ V if V.ndim == 1 else (self.T @ V.T).T

    def rows(self, index: Any, out: Any = None) -> Any:
        """Return row ``index``, or the rows of a slice or list of positions, in the tensor ``out`` if it is given."""
        positions = np.arange(self.shape[0])[host_array(index)]
        block = self._tile(np.atleast_1d(positions), slice(0, self.shape[1]))
        if out is not None:
            return out.copy_(block)
        return block[0] if np.ndim(positions) == 0 else block

    def add_rows(self, index: Any, weights: Any, out: Any) -> None:
        """Add the weighted sum of some rows, weights @ K[index], to a vector of length m in float64, in place."""
        out += on_device(weights, self.device, np.float64) @ self.rows(index).double()

    def part(self, index: Any, threads: int | None = None) -> Gram:
        """Return the Gram matrix of some of the points."""
        if not self.symmetric:
            raise ValueError(f"a part needs Z = X, but this Gram matrix is between two collections {self.shape}")
        few = self._X[host_array(index)] if hasattr(self._X, "shape") else [self._X[i] for i in index]
        return TensorGram(self.kernel, few, None, "torch", self.memory, self.dtype, self.device)

    def diag(self) -> Any:
        """Return k(x, x) for all x; the matrix must be square, with Z = X."""
        if not self.symmetric:
            raise ValueError(f"the diagonal needs Z = X, but this Gram matrix is between two collections {self.shape}")
        torch = load_torch()
        if self._program is not None and all(s.native == "sqdist" for s in self._program.statistics) and not self._left:
            # Every distance of a point to itself is 0, so that one entry tells all.
            first = [(A[:1], A[:1]) for A, _ in self._pairs]
            value = tile(self._program, first, [], [])
            return value.double().expand(self.shape[0], 1)[:, 0].contiguous()
        return torch.from_numpy(np.array(self.kernel.diag(host_array(self._X)), dtype=np.float64)).to(self.device)

    def dense(self, dtype: Any = None, out: Any = None) -> Any:
        """Return the whole matrix as a tensor of the given type (the Gram's own by default), in ``out`` if given."""
        torch = load_torch()
        n, m = self.shape
        kind = np.dtype(self.dtype if dtype is None else dtype)
        if out is None:
            remedy = "use the Gram as an operator instead"
            require(n * m * kind.itemsize, self.memory, f"the dense {n} × {m} matrix on {self.device}", remedy)
            out = torch.empty(n, m, dtype=getattr(torch, kind.name), device=self.device)
        elif tuple(out.shape) != self.shape:
            raise ValueError(f"dense: the Gram matrix has shape {self.shape}, but out has shape {tuple(out.shape)}")
        for rows in self._row_blocks():
            out[rows] = self._tile(rows, slice(0, m))
        if self.symmetric and self._program is not None:
            out.diagonal()[:] = self.diag().to(out.dtype)
        return out

    # -- tiles ------------------------------------------------------------------------------------------------------

    def _row_blocks(self) -> Iterator[slice]:
        n, m = self.shape
        width = 8 * entry_width(self.kernel.traced())
        limit = 16 * TILE_BYTES if self.device.type == "cuda" else TILE_BYTES
        step = max(1, min(self.memory // 4, limit) // (m * width))
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))

    def _tile(self, rows: Any, columns: slice) -> Any:
        torch = load_torch()
        if self._host is not None:
            block = self._host._backend.tile(rows if isinstance(rows, slice) else np.asarray(rows), columns)
            return torch.from_numpy(np.ascontiguousarray(block)).to(self.device)
        assert self._program is not None
        where = rows if isinstance(rows, slice) else torch.as_tensor(np.asarray(rows), device=self.device)
        pairs = [(A[where], (A if B is None else B)[columns]) for A, B in self._pairs]
        return tile(self._program, pairs, [v[where] for v in self._left], [v[columns] for v in self._right])

    def _times(self, V: Any) -> Any:
        torch = load_torch()
        product = self._fused
        if product is not None:
            size = DOUBLE_COLUMNS if product.double else FUSED_COLUMNS
            return torch.cat([product(V[:, i : i + size]) for i in range(0, V.shape[1], size)], 1)
        out = torch.zeros(self.shape[0], V.shape[1], dtype=torch.float64, device=self.device)
        for rows in self._row_blocks():
            block = self._tile(rows, slice(0, self.shape[1]))
            if block.dtype == torch.float64:
                out[rows] = block @ V
                continue
            for start in range(0, self.shape[1], PARTIAL):
                part = slice(start, start + PARTIAL)
                out[rows] += (block[:, part] @ V[part].float()).double()
        return out


def as_given(result: Any, *data: Any) -> Any:
    """Return a tensor as it is if any of the data was a tensor, and as an array otherwise."""
    return result if any(is_tensor(X) for X in data) or not is_tensor(result) else host_array(result)
