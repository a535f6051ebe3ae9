"""The Gram matrix as an operator: evaluated lazily, tile by tile, inside a memory budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mercer.arrays import Array
from mercer.arrays.budget import require, show_bytes
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array, is_tensor
from mercer.formula.data import Rows, pick
from mercer.formula.evaluation import check_overflow
from mercer.formula.notation.reading import VALUE, show_latex, show_mathml
from mercer.formula.notation.tree import Apply, Indexed, Letter, Listed, Node, Relation
from mercer.kernels import Kernel
from mercer.kernels.base import LONGEST_CODE, show_given
from mercer.markup import show_card, show_code, show_facts, show_note
from mercer.words import count_things, shorten

from .backend import TILE_BYTES, Backend, cut_strips, require_row, write_matrix
from .choice import BackendName, choose_backend
from .half import StoredHalf, cut_half

Index = int | slice | Sequence[int] | Array  # of rows: a position, or several, or which of them
BackendMaker = Callable[[Backend], Backend]
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
        Where torch computes, such as "cuda"; follows the data if not given.  Results are tensors there.  Expressions
        over vectors run as one fused Triton kernel, generated from the expression, on CUDA devices, and tile by tile in
        torch elsewhere.  Signature kernels are computed there too; other kernels without such an expression are
        evaluated on the host.

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

    def __init__(
        self,
        kernel: Kernel,
        X: Rows,
        Z: Rows | None = None,
        backend: BackendName | BackendMaker = "auto",
        memory: float | str | None = None,
        dtype: DTypeLike | None = None,
        device: Any = None,
    ) -> None:
        if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
            raise TypeError(f"Gram: dtype must be float32 or float64, got {np.dtype(dtype)}")
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"Gram needs a mercer kernel; wrap a function as Custom(function). Got {show_given(kernel)}"
            )
        if backend == "torch" and not (is_tensor(X) or is_tensor(Z)):
            device = device or "cpu"
        self.kernel = kernel
        self._place = Place.find(device, memory, X, Z)
        self.memory = self._place.memory
        self._X, self._Z = X, (None if Z is X else Z)
        self._chosen: np.ndarray | None = None  # which rows of X, if not all
        # What a function made is of these points; parts and the transpose take what they would have taken.
        self._choice: BackendName = "auto" if callable(backend) else backend
        self._backend = choose_backend(kernel.traced(), X, self._Z, repr(kernel), self._choice, dtype, self._place)
        if callable(backend):
            self._backend = backend(self._backend)
        self.shape = self._backend.shape
        self.dtype = self._backend.dtype
        require_row(self._backend, self.memory, self._there)

    @property
    def symmetric(self) -> bool:
        """Whether Z is X."""
        return self._backend.symmetric

    @property
    def backend_name(self) -> str:
        """The backend that was chosen."""
        return self._backend.name

    @property
    def why(self) -> str:
        """Why that backend was chosen, in one sentence."""
        return self._backend.why

    @property
    def cheap(self) -> bool:
        """Whether entries are computed again about as quickly as they are read from memory."""
        return getattr(self._backend, "cheap", Backend.cheap)  # a backend that somebody wrote may not say

    @property
    def exact(self) -> bool:
        """Whether values are as accurate as float64 allows."""
        return getattr(self._backend, "exact", self.dtype == np.float64)

    @property
    def where(self) -> Any:
        """The place of all results: the word "host" for NumPy arrays, or the torch device."""
        return "host" if self._place.on_host else self._place.device

    @property
    def held(self) -> int:
        """Bytes that the matrix keeps for as long as it lives: points as its backend reads them."""
        return self._backend.held

    def within(self, memory: int) -> Gram:
        """Return this matrix with another memory budget, where what is held counts too."""
        same = copy(self)
        same.memory = memory
        return same

    @property
    def native_plan(self) -> Any:
        """The compiled core's own Gram matrix, for algorithms that run there; None with another backend."""
        return getattr(self._backend, "plan", None)

    @property
    def call_entries(self) -> float:
        """How many entries the compiled core computes before Python looks for Ctrl-C; none with another backend."""
        return float(getattr(self._backend, "call_entries", 0.0))

    @property
    def T(self) -> Gram:  # noqa: N802  (the name NumPy users expect)
        """The transposed matrix."""
        return self if self.symmetric else self._like(self._Z, self._X)

    def _like(self, X: Rows, Z: Rows | None = None) -> Gram:
        """Return the Gram matrix of other points, made as this one."""
        return Gram(self.kernel, X, Z, self._choice, self.memory, self.dtype, self._place.device)

    def __repr__(self) -> str:
        n, m = self.shape
        return f"<Gram {n} × {m} of {self.kernel!r}, {self.dtype}, {self.backend_name} backend>"

    def _repr_latex_(self) -> str:
        r"""Return what an entry is, as LaTeX.

        Examples
        --------
        >>> from mercer import Gram
        >>> from mercer.kernels import Linear
        >>> print(Gram(Linear(), [[1.0], [2.0]])._repr_latex_())
        $K_{i, j} = k\left(x_i, x_j\right)$
        """
        return show_latex(self._equation())

    def _equation(self) -> Node:
        i, j, other = Letter("i"), Letter("j"), Letter("x" if self.symmetric else "z")
        entry = Apply(Letter("k"), (Indexed(Letter("x"), i), Indexed(other, j)))
        return Relation(Indexed(Letter("K"), Listed((i, j))), "=", entry)

    def _repr_html_(self) -> str:
        """Return what is known of the matrix for a notebook, without evaluating any of it."""
        n, m = self.shape
        values = n * (n + 1) // 2 if self.symmetric else n * m
        dense = n * m * self.dtype.itemsize
        fits = "within" if dense <= self.memory else "beyond"
        return show_card(
            f"Gram matrix, {n:,} × {m:,}{', symmetric' * self.symmetric}",
            show_mathml(self._equation()),
            show_mathml(self.kernel.mathematics(), VALUE),
            show_facts(
                [
                    ("kernel", show_code(shorten(repr(self.kernel), LONGEST_CODE))),
                    ("values", f"{self.dtype}{self._there}"),
                    ("backend", f"{self.backend_name}: {self.why}"),
                    ("memory budget", f"{show_bytes(self.memory)}, of which {show_bytes(self.held)} hold the points"),
                    ("a product", f"computes {count_things(values, 'kernel value')} and stores none of them"),
                    ("the dense matrix", f"{show_bytes(dense)}, {fits} the budget"),
                ]
            ),
            show_note("Nothing was evaluated to show this."),
        )

    def __matmul__(self, V: ArrayLike | Array) -> Array:
        """K @ V for one vector of length m or a matrix of shape (m, r); sums are in float64."""
        V = self._put_columns(V)
        m = self.shape[1]
        if V.ndim not in (1, 2) or V.shape[0] != m:
            raise ValueError(
                f"the Gram matrix has shape {self.shape}, so it multiplies a vector of length {m} or a matrix with "
                f"{m} rows; got shape {tuple(V.shape)}"
            )
        columns = V[:, None] if V.ndim == 1 else V
        with np.errstate(all="ignore"):  # overflow is reported once, on the result, in words
            result = self._backend.product(columns, self._budget)
            if result is None:
                result = self._tiled_product(columns)
        self._check_product(result, V)
        if self.dtype == np.float32 and V.dtype == np.float32:
            result = result.astype(np.float32)
        return result[:, 0] if V.ndim == 1 else result

    def __rmatmul__(self, V: ArrayLike | Array) -> Array:
        """V @ K."""
        V = self._put_columns(V)
        return self.T @ V if V.ndim == 1 else (self.T @ V.T).T

    def _put_columns(self, V: ArrayLike | Array) -> Array:
        """Return a right-hand side where the matrix is, in float32 only if that is what the host is given."""
        single = self._place.on_host and getattr(V, "dtype", None) == np.float32
        return self._place.put(V, np.float32 if single else np.float64)

    def _check_product(self, result: Array, V: Array) -> None:
        """Raise if a product is not finite, because of the right-hand side or by overflow."""
        with np.errstate(all="ignore"):
            sums = result.sum(0)  # which are few to look at
        if bool(self._place.namespace.isfinite(sums).all()):
            return
        if not np.isfinite(host_array(V)).all():
            raise ValueError("the right-hand side holds NaN or infinity")
        check_overflow(host_array(result), repr(self.kernel), self.dtype, formula=self.kernel.traced())

    def residuals(self, V: ArrayLike | Array, targets: ArrayLike, weights: ArrayLike) -> tuple[Array, Array]:
        """Return E = Y − KV and KᵀWE: how good V is as a solution of min Σ wᵢ(yᵢ − Σⱼ kᵢⱼvⱼ)², and where to go.

        Where values are not stored, each is computed once for both.

        Parameters
        ----------
        V : array of shape (m, r)
            A matrix.
        targets : array of shape (n, r)
            Y.
        weights : array of shape (n,)
            The diagonal of W.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import Gram
        >>> from mercer.kernels import Linear
        >>> K = Gram(Linear(), [[1.0], [3.0]], [[1.0]])
        >>> [array.tolist() for array in K.residuals(np.array([[2.0]]), np.array([[1.0], [7.0]]), np.ones(2))]
        [[[-1.0], [1.0]], [[2.0]]]
        """
        V, Y, w = self._place.put(V), self._place.put(targets), self._place.put(weights)
        n, m = self.shape
        if V.ndim != 2 or V.shape[0] != m or Y.shape != (n, V.shape[1]) or w.shape != (n,):
            raise ValueError(
                f"the Gram matrix has shape {self.shape}, so the residuals of a matrix of shape ({m}, r) need targets "
                f"of shape ({n}, r) and weights of shape ({n},); got {tuple(V.shape)}, {tuple(Y.shape)} and "
                f"{tuple(w.shape)}"
            )
        for name, numbers in (("targets", Y), ("weights", w)):
            if not bool(self._place.namespace.isfinite(numbers).all()):
                raise ValueError(f"the {name} hold NaN or infinity")
        with np.errstate(all="ignore"):
            found = self._backend.residuals(V, Y, w, self._budget)
        if found is None:
            errors = Y - self @ V
            return errors, self.T @ (w[:, None] * errors)
        self._check_product(found[0], V)
        self._check_product(found[1], found[0])
        return found

    def forms(self, V: ArrayLike | Array) -> Array:
        """Return vᵀKv for each column v of a matrix with n rows, in half the work of K @ V; the matrix must be square.

        Entries right of the diagonal count twice.  Columns are rounded to the precision of the matrix, sums are in
        float64.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import Gram
        >>> from mercer.kernels import Linear
        >>> Gram(Linear(), [[1.0], [3.0]]).forms(np.array([[1.0, 1.0], [1.0, -1.0]]))
        array([16.,  4.])
        """
        V = self._place.put(V, self.dtype)
        n, xp = self.shape[0], self._place.namespace
        if not self.symmetric or V.ndim != 2 or V.shape[0] != n:
            raise ValueError(
                f"forms vᵀKv are those of a Gram matrix with Z = X and of a matrix with as many rows; got {self.shape} "
                f"and {tuple(V.shape)}"
            )
        out = xp.zeros(V.shape[1], dtype=xp.float64, device=self._place.device)
        for rows, first in cut_strips(self._backend, self._find_room(reserved=2 * V.nbytes)):
            tile, size = self._backend.tile(rows, slice(first, n)), rows.stop - rows.start
            product = xp.zeros((size, V.shape[1]), dtype=xp.float64, device=self._place.device)
            if rows.stop < n:
                _add_product(product, tile[:, size:], 2.0 * V[rows.stop :])
            _add_product(product, tile[:, :size], V[rows])
            out += (product * V[rows]).sum(0)
        return out

    def rows(self, index: Index, out: Array | None = None) -> Array:
        """Return row ``index``, or the rows of a slice or list of positions.

        Rows are written to ``out`` if it is given, an array of theirs to be used again and again; whether they hold
        infinities is then left to whoever sums them up.
        """
        m, entry = self.shape[1], max(self._backend.entry_bytes, self.dtype.itemsize)
        positions = self._find_positions(index)
        chosen = np.atleast_1d(positions)
        if out is None and len(chosen) * m * entry <= self._budget:
            block = self._backend.tile(chosen, slice(0, m))
            return block[0] if np.ndim(positions) == 0 else block
        size, what = len(chosen) * m * self.dtype.itemsize, f"{len(chosen)} rows of {m} entries"
        require(size + m * entry, self._budget, what, "ask for fewer rows at a time")
        if out is None:
            xp = self._place.namespace
            out = xp.empty((len(chosen), m), dtype=getattr(xp, self.dtype.name), device=self._place.device)
        elif tuple(out.shape) != (len(chosen), m):
            raise ValueError(f"rows: {what} do not go into an array of shape {tuple(out.shape)}")
        if not self._backend.fill(out, chosen):
            step = max(1, (self._budget - size) // (m * entry))
            for start in range(0, len(chosen), step):
                out[start : start + step] = self._backend.tile(chosen[start : start + step], slice(0, m))
        return out

    def tile(self, rows: slice, columns: slice) -> Array:
        """Return some consecutive rows at some consecutive columns.

        Examples
        --------
        >>> from mercer import Gram
        >>> from mercer.kernels import Linear
        >>> Gram(Linear(), [[1.0], [3.0], [2.0]]).tile(slice(0, 2), slice(1, 3))
        array([[3., 2.],
               [9., 6.]])
        """
        (first, last, _), (left, right, _) = rows.indices(self.shape[0]), columns.indices(self.shape[1])
        size = max(0, last - first) * max(0, right - left) * max(self._backend.entry_bytes, self.dtype.itemsize)
        require(size, self._budget, f"a tile of {last - first} × {right - left} entries", "ask for a smaller one")
        return self._backend.tile(slice(first, last), slice(left, right))

    def _find_positions(self, index: Index) -> Any:
        """Return the position of a row, or those of several, counted from the first."""
        n, index = self.shape[0], host_array(index)
        counted = isinstance(index, np.ndarray) and index.dtype == np.int64 and index.ndim == 1 and index.size > 0
        if counted and index.min() >= 0 and index.max() < n:
            return index  # without counting up all rows for a few of them
        try:
            return np.arange(n)[index]
        except IndexError:
            raise IndexError(f"rows: {index!r} does not pick rows of a Gram matrix with {n} rows") from None

    def add_rows(self, index: Index, weights: ArrayLike | Array, out: Array, columns: slice = slice(None)) -> None:
        """Add the weighted sum of some rows, weights @ K[index, columns], to a vector in float64, in place.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import Gram
        >>> from mercer.kernels import Linear
        >>> total = np.ones(2)
        >>> Gram(Linear(), [[1.0], [3.0], [2.0]]).add_rows([1, 2], [1.0, 10.0], total, slice(1, 3))
        >>> total
        array([70., 47.])
        """
        xp, chosen = self._place.namespace, slice(*columns.indices(self.shape[1])[:2])
        m = max(0, chosen.stop - chosen.start)
        positions = np.ascontiguousarray(self._find_positions(index), dtype=np.int64)
        factors = self._place.put(weights)
        if factors.shape != positions.shape or tuple(out.shape) != (m,) or out.dtype != xp.float64:
            raise ValueError(
                f"add_rows of a Gram matrix of shape {self.shape} takes one weight for each row and a float64 vector "
                f"of length {m}; got {len(positions)} rows, {tuple(factors.shape)} weights, {out.dtype} of shape "
                f"{tuple(out.shape)}"
            )
        if m == 0 or self._backend.add_rows(positions, factors, out, chosen):
            return
        step = max(1, min(self._budget, TILE_BYTES) // (m * (self._backend.entry_bytes + 8)))
        for start in range(0, len(positions), step):
            part = slice(start, start + step)
            out += factors[part] @ xp.astype(self._backend.tile(positions[part], chosen), xp.float64, copy=False)

    def part(self, index: Index, threads: int | None = None) -> Gram:
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
        positions = np.ascontiguousarray(np.arange(self.shape[0])[host_array(index)], dtype=np.int64)
        backend = self._backend.part(positions, threads)
        if backend is None:
            return self._like(pick(self._points(), positions))
        few = copy(self)
        few._backend, few.shape = backend, backend.shape
        few._chosen = positions if self._chosen is None else self._chosen[positions]
        return few

    def strip(self, index: Index) -> Gram:
        """Return some rows of a symmetric matrix, K[index], as lazy as this one.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import Gram
        >>> from mercer.kernels import Linear
        >>> Gram(Linear(), [[1.0], [3.0], [2.0]]).strip([1, 2]) @ np.ones(3)
        array([18., 12.])
        """
        if not self.symmetric:
            raise ValueError(f"a strip needs Z = X, but this Gram matrix is between two collections {self.shape}")
        positions = np.ascontiguousarray(self._find_positions(index), dtype=np.int64)
        backend = getattr(self._backend, "strip", lambda index: None)(positions)
        points = self._points()
        if backend is None:
            return self._like(pick(points, positions), points)
        few = copy(self)
        few._backend, few.shape = backend, backend.shape
        few._X, few._Z, few._chosen = pick(points, positions), points, None
        return few

    def diag(self) -> Array:
        """Return k(x, x) for all x; the matrix must be square, with Z = X."""
        if not self.symmetric:
            raise ValueError(f"the diagonal needs Z = X, but this Gram matrix is between two collections {self.shape}")
        found = getattr(self._backend, "diag", lambda: None)()
        if found is not None:
            return found
        values = self.kernel.diag(host_array(self._points()))
        return values if self._place.on_host else self._place.put(values)

    def dense(self, dtype: DTypeLike | None = None, out: Array | None = None) -> Array:
        """Return the whole matrix as an array of the given type (the Gram's own by default), in ``out`` if given."""
        xp, (n, m) = self._place.namespace, self.shape
        kind = np.dtype(self.dtype if dtype is None else dtype) if out is None else out.dtype
        if str(kind).removeprefix("torch.") not in ("float32", "float64"):
            raise TypeError(f"dense: dtype must be float32 or float64, got {kind}")
        if out is None:
            what, remedy = f"the dense {n} × {m} matrix{self._there}", "use the Gram as an operator instead"
            require(n * m * kind.itemsize, self._budget, what, remedy)
            out = xp.empty(self.shape, dtype=getattr(xp, kind.name), device=self._place.device)
        elif tuple(out.shape) != self.shape:
            raise ValueError(f"dense: the Gram matrix has shape {self.shape}, but out has shape {tuple(out.shape)}")
        write_matrix(self._backend, out, self._find_room(reserved=out.nbytes))
        if self.symmetric and self.cheap and not self._place.on_host:
            out.diagonal()[:] = self.diag()  # which matrix products give to rounding only
        return out

    def half(self) -> StoredHalf:
        """Return the half of a symmetric matrix that its products read, in memory on the host.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import Gram
        >>> from mercer.kernels import Linear
        >>> Gram(Linear(), [[1.0], [3.0]]).half() @ np.array([[1.0], [1.0]])
        array([[ 4.],
               [12.]])
        """
        n = self.shape[0]
        if not self.symmetric or not self._place.on_host:
            raise ValueError(f"half: only a matrix with Z = X on the host has one, got {self!r}")
        rows = list(cut_half(n, self.dtype.itemsize))
        size = sum((part.stop - part.start) * (n - part.start) for part in rows) * self.dtype.itemsize
        require(size, self._budget, f"half of the {n} × {n} matrix", "use the Gram as an operator instead")
        return StoredHalf(self._backend.tile(part, slice(part.start, n)) for part in rows)

    def _points(self) -> Rows:
        return self._X if self._chosen is None else pick(self._X, self._chosen)

    # -- tiles ------------------------------------------------------------------------------------------------

    @property
    def _budget(self) -> int:
        return self.memory - self._backend.held - getattr(self._backend, "scratch", Backend.scratch)

    @property
    def _there(self) -> str:
        return "" if self._place.on_host else f" on {self._place}"

    def _find_room(self, reserved: int) -> int:
        """Return the bytes that a strip of the matrix may take; many short strips would cost a device too much."""
        room = self._budget - reserved if self._place.on_host else self.memory // 4
        return min(room, 16 * TILE_BYTES if self._place.kind == "cuda" else TILE_BYTES)

    def _tiled_product(self, V: Array) -> Array:
        xp, (n, m) = self._place.namespace, self.shape
        out = xp.zeros((n, V.shape[1]), dtype=xp.float64, device=self._place.device)
        needed = out.nbytes + m * (self._backend.entry_bytes + 8)
        require(needed, self._budget, f"the product with {V.shape[1]} columns", "multiply fewer columns at a time")
        if not self._place.on_host:
            V = self._place.put(V, self.dtype)  # torch multiplies numbers of one type only
        for rows, first in cut_strips(self._backend, self._find_room(reserved=out.nbytes)):
            tile = self._backend.tile(rows, slice(first, m))
            _add_product(out[rows], tile, V[first:])
            if self.symmetric and rows.stop < n:
                _add_product(out[rows.stop :], tile[:, rows.stop - first :].T, V[rows])
        return out


def _add_product(out: Array, tile: Array, V: Array) -> None:
    """Add a product to a float64 array, in sums of which none is long if they are in float32."""
    step = tile.shape[1] if tile.dtype.itemsize == 8 else PARTIAL
    for start in range(0, tile.shape[1], step):
        out += tile[:, start : start + step] @ V[start : start + step]
