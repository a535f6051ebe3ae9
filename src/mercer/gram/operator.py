"""The Gram matrix as an operator: evaluated lazily, tile by tile, inside a memory budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from mercer.arrays.budget import parse_memory, require
from mercer.arrays.tensors import is_tensor
from mercer.formula.data import Rows, pick, result_dtype
from mercer.formula.evaluation import check_overflow
from mercer.formula.expression import Expression
from mercer.formula.program import UnsupportedError
from mercer.kernels import Kernel

from .backend import Backend
from .copies import copied_bytes
from .native import NativeBackend
from .numpy import NumpyBackend

BackendName = Literal["auto", "numpy", "native", "torch"]
BackendMaker = Callable[[Backend], Backend]
FEWER = "give more memory or fewer points"
TILE_BYTES = 2**26  # a tile larger than this gains nothing
PARTIAL = 4096  # columns summed in a tile's own precision before they are added up in float64


class Gram:
    """The matrix of k(x, z) for all x in X and z in Z, without storing it.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    X : collection of n objects
        Rows of the matrix.
    Z : collection of m objects, optional
        Columns of the matrix; X again if not given, and then each tile is computed once and used twice.
    backend : {"auto", "numpy", "native", "torch"} or callable, default="auto"
        Where the arithmetic happens.  "auto" takes torch for tensors or when a device is given, the native core for
        kernel expressions over dense vectors, and the NumPy reference for everything else; ``backend_name`` and ``why``
        say which and why.  A function makes a backend of your own from the one that "auto" would take.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    dtype : {float32, float64}, optional
        Precision of the kernel values; by default float32 if all data is float32, and float64 otherwise.
    device : str or torch.device, optional
        Where torch computes, such as "cuda"; results are tensors there.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gram
    >>> from mercer.kernels import Polynomial
    >>> K = Gram(Polynomial(degree=2, offset=1.0), [[-1.0], [0.0], [1.0]])
    >>> K.shape
    (3, 3)
    >>> K @ np.array([1.0, 1.0, 1.0])
    array([5., 3., 5.])
    >>> K.rows(1)
    array([1., 1., 1.])
    """

    __array_ufunc__ = None  # so that array @ Gram comes here

    def __new__(
        cls, kernel: Any = None, X: Any = None, Z: Any = None, backend: str = "auto", *args: Any, **kw: Any
    ) -> Gram:
        """Return the Gram matrix of tensors, or one on a device, as what it is."""
        if cls is Gram and (backend == "torch" or kw.get("device") is not None or is_tensor(X) or is_tensor(Z)):
            from .torch.operator import TensorGram

            return object.__new__(TensorGram)
        return object.__new__(cls)

    def __init__(
        self,
        kernel: Kernel,
        X: Rows,
        Z: Rows | None = None,
        backend: BackendName | BackendMaker = "auto",
        memory: float | str | None = None,
        dtype: Any = None,
        device: Any = None,
    ) -> None:
        check_arguments(kernel, dtype)
        self.kernel = kernel
        self.memory = parse_memory(memory)
        self._X, self._Z = X, (None if Z is X else Z)
        self._chosen: np.ndarray | None = None  # which rows of X, if not all
        # What a function made is of these points; parts and the transpose take what they would have taken.
        self._choice: BackendName = "auto" if callable(backend) else backend
        formula = kernel.traced()
        kind = result_dtype(X, X if Z is None else Z) if dtype is None else np.dtype(dtype)
        needed = copied_bytes(formula, X, self._Z, kind.itemsize)
        require(needed, self.memory, "the copy of the data that the kernel works on", FEWER)
        self._backend = choose_backend(formula, X, self._Z, repr(kernel), self._choice, dtype)
        if callable(backend):
            self._backend = backend(self._backend)
        self.shape = self._backend.shape
        self.dtype = self._backend.dtype
        needed = self._backend.held + self._scratch + self._backend.entry_bytes * self.shape[1]
        what = f"the data and one row of the {self.shape[0]} × {self.shape[1]} Gram matrix"
        require(needed, self.memory, what, FEWER)

    @property
    def symmetric(self) -> bool:
        """Whether Z is X."""
        return self._backend.symmetric

    @property
    def backend_name(self) -> str:
        """The backend that was chosen."""
        return self._backend.name

    @property
    def cheap(self) -> bool:
        """Whether entries are computed again about as quickly as they are read from memory."""
        return self._backend.name == "native"

    @property
    def why(self) -> str:
        """Why that backend was chosen, in one sentence."""
        return self._backend.why

    @property
    def native_plan(self) -> Any:
        """The compiled core's own Gram matrix, for algorithms that run there; None with another backend."""
        return getattr(self._backend, "plan", None)

    @property
    def T(self) -> Gram:  # noqa: N802  (the name NumPy users expect)
        """The transposed matrix."""
        if self.symmetric:
            return self
        return Gram(self.kernel, self._Z, self._X, backend=self._choice, memory=self.memory, dtype=self.dtype)

    def __repr__(self) -> str:
        n, m = self.shape
        return f"<Gram {n} × {m} of {self.kernel!r}, {self.dtype}, {self.backend_name} backend>"

    def __matmul__(self, V: Any) -> np.ndarray:
        """K @ V for one vector of length m or a matrix of shape (m, r); sums are in float64."""
        V, single = self._right_hand_side(V, self.shape[1])
        result = self._backend.product(V, self._budget)
        if result is None:
            result = self._tiled_product(V)
        check_overflow(result, repr(self.kernel), self.dtype)
        result = result.astype(np.result_type(self.dtype, V.dtype), copy=False)
        return result[:, 0] if single else result

    def __rmatmul__(self, V: Any) -> np.ndarray:
        """V @ K."""
        return np.asarray((self.T @ np.asarray(V).T).T)

    def rows(self, index: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Return row ``index``, or the rows of a slice or list of positions.

        Rows are written to ``out`` if it is given, an array of theirs to be used again and again; whether they hold
        infinities is then left to whoever sums them up.
        """
        m = self.shape[1]
        positions = self._positions(index)
        count = np.atleast_1d(positions)
        require(
            len(count) * m * max(self._backend.entry_bytes, self.dtype.itemsize),
            self._budget,
            f"{len(count)} rows of {m} entries",
            "ask for fewer rows at a time",
        )
        if out is None:
            block = self._backend.tile(count, slice(0, m))
            return block[0] if np.ndim(positions) == 0 else block
        if out.shape != (len(count), m):
            raise ValueError(f"rows: {len(count)} rows of {m} entries do not go into an array of shape {out.shape}")
        if not self._backend.fill(out, count):
            out[:] = self._backend.tile(count, slice(0, m))
        return out

    def _positions(self, index: Any) -> Any:
        """Return the position of a row, or those of several."""
        n = self.shape[0]
        counted = isinstance(index, np.ndarray) and index.dtype == np.int64 and index.ndim == 1 and index.size > 0
        if counted and index.min() >= 0 and index.max() < n:
            return index  # without counting up all rows for a few of them
        try:
            return np.arange(n)[index]
        except IndexError:
            raise IndexError(f"rows: {index!r} does not pick rows of a Gram matrix with {n} rows") from None

    def add_rows(self, index: Any, weights: Any, out: np.ndarray) -> None:
        """Add the weighted sum of some rows, weights @ K[index], to a vector of length m in float64, in place."""
        m = self.shape[1]
        positions = np.ascontiguousarray(self._positions(index), dtype=np.int64)
        factors = np.ascontiguousarray(weights, dtype=np.float64)
        if factors.shape != positions.shape or out.shape != (m,) or out.dtype != np.float64:
            raise ValueError(
                f"add_rows of a Gram matrix of shape {self.shape} takes one weight for each row and a float64 vector "
                f"of length {m}; got {len(positions)} rows, {factors.shape} weights, {out.dtype} of shape {out.shape}"
            )
        if self._backend.add_rows(positions, factors, out):
            return
        step = max(1, min(self._budget, TILE_BYTES) // (m * (self._backend.entry_bytes + 8)))
        for start in range(0, len(positions), step):
            part = slice(start, start + step)
            out += factors[part] @ self._backend.tile(positions[part], slice(0, m))

    def part(self, index: Any, threads: int | None = None) -> Gram:
        """Return the Gram matrix of some of the points, K[index][:, index], as lazy as this one.

        Parameters
        ----------
        index : slice or list of positions
            Which points.
        threads : int, optional
            How many threads work on it; as many as on this one if not given.
        """
        if not self.symmetric:
            raise ValueError(f"a part needs Z = X, but this Gram matrix is between two collections {self.shape}")
        positions = np.ascontiguousarray(np.arange(self.shape[0])[index], dtype=np.int64)
        backend = self._backend.part(positions, threads)
        if backend is None:
            points = pick(self._points(), positions)
            return Gram(self.kernel, points, backend=self._choice, memory=self.memory, dtype=self.dtype)
        few = object.__new__(Gram)
        few.__dict__.update(self.__dict__)
        few._backend, few.shape = backend, backend.shape
        few._chosen = positions if self._chosen is None else self._chosen[positions]
        return few

    def diag(self) -> np.ndarray:
        """Return k(x, x) for all x; the matrix must be square, with Z = X."""
        if not self.symmetric:
            raise ValueError(f"the diagonal needs Z = X, but this Gram matrix is between two collections {self.shape}")
        return self.kernel.diag(self._points())

    def dense(self, dtype: Any = None, out: np.ndarray | None = None) -> np.ndarray:
        """Return the whole matrix as an array of the given type (the Gram's own by default), in ``out`` if given."""
        kind = np.dtype(self.dtype if dtype is None else dtype) if out is None else out.dtype
        if kind not in (np.float32, np.float64):
            raise TypeError(f"dense: dtype must be float32 or float64, got {kind}")
        n, m = self.shape
        if out is None:
            needed = n * m * kind.itemsize
            require(needed, self._budget, f"the dense {n} × {m} matrix", "use the Gram as an operator instead")
            out = np.empty(self.shape, dtype=kind)
        elif out.shape != self.shape:
            raise ValueError(f"dense: the Gram matrix has shape {self.shape}, but out has shape {out.shape}")
        if self._backend.fill(out):
            return out
        for rows, first in self._strips(reserved=out.nbytes):
            out[rows, first:] = self._backend.tile(rows, slice(first, m))
            if self.symmetric:
                out[rows.stop :, rows] = out[rows, rows.stop :].T
        return out

    def _points(self) -> Rows:
        return self._X if self._chosen is None else pick(self._X, self._chosen)

    # -- tiles ------------------------------------------------------------------------------------------------

    @property
    def _budget(self) -> int:
        return self.memory - self._backend.held - self._scratch

    @property
    def _scratch(self) -> int:
        return getattr(self._backend, "scratch", 0)  # a backend that somebody wrote may need none

    def _strips(self, reserved: int) -> Iterator[tuple[slice, int]]:
        """Rows of each strip and its first column, which is the diagonal of a symmetric matrix."""
        n, m = self.shape
        row = m * (self._backend.entry_bytes + 8)
        budget = min(self._budget - reserved, TILE_BYTES)
        step = max(1, budget // row)
        for start in range(0, n, step):
            yield slice(start, min(start + step, n)), start if self.symmetric else 0

    def _tiled_product(self, V: np.ndarray) -> np.ndarray:
        n, m = self.shape
        out = np.zeros((n, V.shape[1]))
        needed = out.nbytes + m * (self._backend.entry_bytes + 8)
        require(needed, self._budget, f"the product with {V.shape[1]} columns", "multiply fewer columns at a time")
        for rows, first in self._strips(reserved=out.nbytes):
            tile = self._backend.tile(rows, slice(first, m))
            out[rows] += _accurate_product(tile, V[first:])
            if self.symmetric and rows.stop < n:
                # Rows of a strip are few, so that their sum needs no care.
                out[rows.stop :] += tile[:, rows.stop - first :].T @ V[rows]
        return out

    def _right_hand_side(self, V: Any, size: int) -> tuple[np.ndarray, bool]:
        V = np.asarray(V)
        if V.dtype not in (np.float32, np.float64):
            V = V.astype(np.float64)
        if V.ndim not in (1, 2) or V.shape[0] != size:
            raise ValueError(
                f"the Gram matrix has shape {self.shape}, so it multiplies a vector of length {size} or a matrix with "
                f"{size} rows; got shape {V.shape}"
            )
        if not np.isfinite(V).all():
            raise ValueError("the right-hand side holds NaN or infinity")
        return (V[:, None], True) if V.ndim == 1 else (V, False)


def check_arguments(kernel: Any, dtype: Any) -> None:
    """Raise unless there is a kernel, and a precision that a Gram matrix has."""
    if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(f"Gram: dtype must be float32 or float64, got {np.dtype(dtype)}")
    if not isinstance(kernel, Kernel):
        raise TypeError(f"Gram needs a mercer kernel, got {kernel!r}; wrap a function as Custom(function)")


def choose_backend(
    expression: Expression,
    X: Rows,
    Z: Rows | None,
    owner: str,
    backend: BackendName = "auto",
    dtype: Any = None,
) -> Backend:
    """Return the backend for an expression on data: the native one wherever it can."""
    if backend not in ("auto", "numpy", "native"):
        raise ValueError(f"backend must be 'auto', 'numpy', 'native' or 'torch', got {backend!r}")
    if backend == "numpy":
        return NumpyBackend(expression, X, Z, owner, "the NumPy backend was asked for", dtype)
    try:
        return NativeBackend(expression, X, Z, owner, "every statistic of the kernel has a native form", dtype)
    except UnsupportedError as reason:
        if backend == "native":
            raise ValueError(f"the native backend cannot evaluate {owner}: {reason}; use backend='auto'") from None
        return NumpyBackend(expression, X, Z, owner, f"the native backend cannot evaluate it: {reason}", dtype)


def _accurate_product(tile: np.ndarray, V: np.ndarray) -> np.ndarray:
    if tile.dtype == np.float64:
        return np.asarray(tile @ V)
    total = np.zeros((tile.shape[0], V.shape[1]))
    for start in range(0, tile.shape[1], PARTIAL):
        total += tile[:, start : start + PARTIAL] @ V[start : start + PARTIAL]
    return total
