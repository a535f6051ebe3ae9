"""What a backend of the Gram matrix is: it gives tiles, and may know faster ways to multiply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from mercer.arrays import Array
from mercer.arrays.budget import require

FEWER = "give more memory or fewer points"
TILE_BYTES = 2**26  # a tile larger than this gains nothing, on a GPU one of 16 times that


class Backend(Protocol):
    """The arithmetic behind a Gram matrix; who inherits from it needs ``tile`` and the members that have no value.

    Arrays are those of the place where the Gram matrix is: NumPy arrays on the host, tensors on a torch device.
    """

    name: str
    why: str  # one sentence: why this backend runs
    shape: tuple[int, int]
    symmetric: bool
    dtype: np.dtype[Any]
    held: int  # bytes kept for as long as the Gram lives
    entry_bytes: int  # bytes a tile takes for each of its entries while it is computed
    scratch: int = 0  # bytes that computing a tile takes, however small it is
    cheap: bool = False  # whether entries are computed again about as quickly as they are read from memory

    def tile(self, rows: slice | Array, columns: slice) -> Array:
        """Return one tile of the matrix; ``rows`` is a slice or an array of positions."""

    @property
    def exact(self) -> bool:
        """Whether values are as accurate as float64 allows."""
        return self.dtype == np.float64

    def product(self, V: Array, budget: int) -> Array | None:
        """Return K @ V in float64 within ``budget`` bytes, or None where tiles are the better way."""
        return None

    def residuals(self, V: Array, targets: Array, weights: Array, budget: int) -> tuple[Array, Array] | None:
        """Return E = targets − K @ V and Kᵀ(weights · E), or None where two products are as good."""
        return None

    def diag(self) -> Array | None:
        """Return k(x, x) for all x of a symmetric matrix, or None where the kernel's own way is as good."""
        return None

    def add_rows(self, index: np.ndarray, weights: Array, out: Array, columns: slice) -> bool:
        """Add weights @ K[index, columns] to ``out`` if there is a faster way than tiles; say whether it was done."""
        return False

    def part(self, index: np.ndarray, threads: int | None = None) -> Backend | None:
        """Return the backend of some of the points of a symmetric matrix, or None where it must be built anew."""
        return None

    def strip(self, index: np.ndarray) -> Backend | None:
        """Return the backend of some rows of a symmetric matrix, or None where it must be built anew."""
        return None

    def fill(self, out: Array, rows: np.ndarray | None = None) -> bool:
        """Write the whole matrix, or the rows at some positions, to ``out`` if there is a faster way than tiles.

        Says whether it was done.  Overflow is looked for in the whole matrix, and left to the caller in rows.
        """
        return False


def cut_strips(backend: Backend, room: int) -> Iterator[tuple[slice, int]]:
    """Rows of each strip of a matrix and its first column, which is the diagonal if the matrix is symmetric."""
    n, m = backend.shape
    step = max(1, room // (m * (backend.entry_bytes + 8)))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n)), start if backend.symmetric else 0


def write_matrix(backend: Backend, out: Array, room: int = TILE_BYTES) -> Array:
    """Write the whole matrix to an array, each tile of a symmetric one computed once, and return it."""
    if backend.fill(out):
        return out
    for rows, first in cut_strips(backend, room):
        out[rows, first:] = backend.tile(rows, slice(first, backend.shape[1]))
        if backend.symmetric:
            out[rows.stop :, rows] = out[rows, rows.stop :].T
    return out


def require_row(backend: Backend, memory: int, there: str = "") -> None:
    """Raise unless what a backend holds and one row of its matrix fit into memory."""
    n, m = backend.shape
    needed = backend.held + getattr(backend, "scratch", Backend.scratch) + backend.entry_bytes * m
    require(needed, memory, f"the data and one row of the {n} × {m} Gram matrix{there}", FEWER)
