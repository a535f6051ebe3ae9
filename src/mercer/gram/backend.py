"""What a backend of the Gram matrix is: it gives tiles, and may know faster ways to multiply."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class Backend(Protocol):
    """The arithmetic behind a Gram matrix."""

    name: str
    why: str  # one sentence: why this backend runs
    shape: tuple[int, int]
    symmetric: bool
    dtype: np.dtype[Any]
    held: int  # bytes kept for as long as the Gram lives
    scratch: int  # bytes that computing a tile takes, however small it is
    entry_bytes: int  # bytes a tile takes for each of its entries while it is computed

    def tile(self, rows: Any, columns: slice) -> np.ndarray:
        """Return one tile of the matrix; ``rows`` is a slice or an array of positions."""

    def product(self, V: np.ndarray, budget: int) -> np.ndarray | None:
        """Return K @ V in float64 within ``budget`` bytes, or None where tiles are the better way."""

    def add_rows(self, index: np.ndarray, weights: np.ndarray, out: np.ndarray) -> bool:
        """Add weights @ K[index] to ``out`` if there is a faster way than tiles, and say whether it was done."""

    def part(self, index: np.ndarray, threads: int | None = None) -> Backend | None:
        """Return the backend of some of the points of a symmetric matrix, or None where it must be built anew."""

    def fill(self, out: np.ndarray, rows: np.ndarray | None = None) -> bool:
        """Write the whole matrix, or the rows at some positions, to ``out`` if there is a faster way than tiles.

        Says whether it was done.  Overflow is looked for in the whole matrix, and left to the caller in rows.
        """
