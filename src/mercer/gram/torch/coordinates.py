"""Statistics that are no products of matrices, such as Σ|xⱼ − zⱼ|: tiles of them in one pass over the coordinates."""

from __future__ import annotations

import functools
import math
from typing import Any

from mercer.arrays import Array
from mercer.arrays.tensors import load_torch

from .compiling import compile_source
from .source import print_coordinates

BLOCK = 64  # rows and columns of a tile that lives in registers


@functools.lru_cache(maxsize=64)
def _compile(kind: str, exponent: float, double: bool) -> Any:
    return compile_source(print_coordinates(kind, exponent, double), "coordinates")


def sum_coordinates(kind: str, exponent: float, A: Array, B: Array) -> Array:
    """Return the sum over coordinates of a statistic's terms, for all rows of A (n, d) and of B (m, d)."""
    torch = load_torch()
    n, m = len(A), len(B)
    out = torch.empty(n, m, dtype=A.dtype, device=A.device)
    if n and m:
        grid = (math.ceil(n / BLOCK) * math.ceil(m / BLOCK),)
        _compile(kind, exponent, A.dtype == torch.float64)[grid](
            A.T.contiguous(), B.T.contiguous(), out, n, m, A.shape[1], BM=BLOCK, BN=BLOCK, num_warps=4
        )
    return out
