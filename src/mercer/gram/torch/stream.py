"""Points that stay on the host, sent to a device in blocks while others are computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.arrays.place import Place
from mercer.arrays.tensors import is_tensor, load_torch
from mercer.formula.data import Rows, length, take
from mercer.kernels import Kernel

from ..operator import Gram
from .points import is_matrix

BLOCK = 2**28  # bytes of points sent at a time
LEAST = 1024  # points in a block
SHARE = 8  # times the bytes of a copy of all points that the host has if it takes them at once
FORMS = 12  # times the bytes of a float32 point that its forms on the device take


class CrossProducts:
    """K_nm and its transpose times columns, for m centres on a device and n points there or on the host.

    Points that would take more than half of the budget stay on the host and are sent over in blocks for each product.
    """

    def __init__(self, kernel: Kernel, X: Rows, centers: Rows, device: Any, memory: int) -> None:
        self._kernel, self._X, self._centers, self._place = kernel, X, centers, Place(device, memory)
        needed = FORMS * 4 * X.shape[0] * X.shape[1] if is_matrix(X) else 0
        self.streamed = needed > memory // 2 and not is_tensor(X)
        if not self.streamed:
            self._down, self._across = self._gram(X, centers), self._gram(centers, X)

    def down(self, V: Array) -> Array:
        """K_nm V, of shape (n, q)."""
        if not self.streamed:
            return self._down @ V
        return load_torch().cat([self._gram(block, self._centers) @ V for block in send_blocks(self._X, self._place)])

    def across(self, V: Array) -> Array:
        """K_mn V, of shape (m, q)."""
        if not self.streamed:
            return self._across @ V
        total, start = 0.0, 0
        for block in send_blocks(self._X, self._place):
            total = total + self._gram(self._centers, block) @ V[start : start + len(block)]
            start += len(block)
        return total

    def _gram(self, X: Rows, Z: Rows) -> Gram:
        return Gram(self._kernel, X, Z, memory=self._place.memory, device=self._place.device)


def send_blocks(X: Rows, place: Place) -> Iterator[Rows]:
    """Yield the points in blocks at a place; the next block is on its way while one is used.

    The host takes all of them at once if their copy is small beside its memory.
    """
    if not is_matrix(X) or length(X) == 0 or (place.on_host and 8 * SHARE * X.size <= place.memory):
        yield X
        return
    room = place.memory // (2 * SHARE) if place.on_host else min(BLOCK, place.memory // FORMS)
    step = max(LEAST, room // (4 * X.shape[1]))
    if is_tensor(X) or place.kind != "cuda" or step >= length(X):
        for start in range(0, length(X), step):
            yield take(X, start, start + step)
        return
    torch = load_torch()
    aside = torch.cuda.Stream(place.device)

    def send(start: int) -> tuple[Array, Array]:
        part = torch.from_numpy(np.ascontiguousarray(X[start : start + step])).pin_memory()
        with torch.cuda.stream(aside):
            return part, part.to(place.device, non_blocking=True)

    ahead = send(0)
    for start in range(0, len(X), step):
        aside.synchronize()
        _, block = ahead
        if start + step < len(X):
            ahead = send(start + step)
        block.record_stream(torch.cuda.current_stream(place.device))
        yield block
