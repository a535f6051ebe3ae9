"""Expansions evaluated on a device, with points that stay on the host sent over in blocks while others are computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.arrays.tensors import device_memory, find_device, host_array, is_tensor, load_torch, on_device
from mercer.formula.data import Rows, length, take
from mercer.kernels import Kernel

from ..operator import Gram

BLOCK = 2**28  # bytes of points sent at a time
LEAST = 1024  # points in a block
FORMS = 12  # times the bytes of a float32 point that its forms on the device take


def evaluated(
    kernel: Kernel, X: Rows, centers: Rows, coef: np.ndarray, intercept: np.ndarray, memory: Any, device: Any
) -> Any:
    """Return Σ cᵢ k(xᵢ, x) + b for all x, as a tensor if X is one, and as an array otherwise."""
    torch = load_torch()
    place = find_device(device, X, centers)
    budget = device_memory(place, memory)
    shift = on_device(np.atleast_1d(intercept), place, np.float64)
    weights = on_device(coef.reshape(len(coef), -1), place, np.float64)
    columns = on_device(centers, place, _kind(centers)) if _is_matrix(centers) else centers
    parts = []
    for block in _blocks(X, place, budget):
        values = Gram(kernel, block, columns, memory=budget, device=place) @ weights
        parts.append(values + shift if is_tensor(X) else host_array(values + shift))
    result = torch.cat(parts) if is_tensor(X) else np.concatenate(parts)
    return result[:, 0] if coef.ndim == 1 else result


class CrossProducts:
    """K_nm and its transpose times columns, for m centres on a device and n points there or on the host.

    Points that would take more than half of the budget stay on the host and are sent over in blocks for each product.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : collection of n objects
        The points.
    centers : collection of m objects
        The centres.
    device : torch.device
        Where to compute.
    memory : int
        Budget in bytes there.
    """

    def __init__(self, kernel: Kernel, X: Rows, centers: Rows, device: Any, memory: int) -> None:
        self._kernel, self._X, self._centers, self._device, self._memory = kernel, X, centers, device, memory
        needed = FORMS * 4 * X.shape[0] * X.shape[1] if _is_matrix(X) else 0
        self.streamed = needed > memory // 2 and not is_tensor(X)
        if not self.streamed:
            self._down = Gram(kernel, X, centers, memory=memory, device=device)
            self._across = Gram(kernel, centers, X, memory=memory, device=device)

    def down(self, V: Any) -> Any:
        """K_nm V, of shape (n, q)."""
        if not self.streamed:
            return self._down @ V
        return load_torch().cat([self._gram(block) @ V for block in _blocks(self._X, self._device, self._memory)])

    def across(self, V: Any) -> Any:
        """K_mn V, of shape (m, q)."""
        if not self.streamed:
            return self._across @ V
        total, start = 0.0, 0
        for block in _blocks(self._X, self._device, self._memory):
            total = total + self._gram(block).T @ V[start : start + len(block)]
            start += len(block)
        return total

    def _gram(self, block: Any) -> Any:
        return Gram(self._kernel, block, self._centers, memory=self._memory, device=self._device)


def _blocks(X: Rows, device: Any, budget: int) -> Iterator[Any]:
    """Yield the points in blocks on the device; the next block is on its way while one is used."""
    if not _is_matrix(X) or length(X) == 0:
        yield X
        return
    step = max(LEAST, min(BLOCK, budget // FORMS) // (4 * X.shape[1]))
    if is_tensor(X) or device.type != "cuda" or step >= length(X):
        for start in range(0, length(X), step):
            yield take(X, start, start + step)
        return
    yield from _prefetched(X, device, step)


def _prefetched(X: np.ndarray, device: Any, step: int) -> Iterator[Any]:
    torch = load_torch()
    aside = torch.cuda.Stream(device)

    def send(start: int) -> Any:
        part = torch.from_numpy(np.ascontiguousarray(X[start : start + step])).pin_memory()
        with torch.cuda.stream(aside):
            return part, part.to(device, non_blocking=True)

    ahead = send(0)
    for start in range(0, len(X), step):
        aside.synchronize()
        _, block = ahead
        if start + step < len(X):
            ahead = send(start + step)
        block.record_stream(torch.cuda.current_stream(device))
        yield block


def _is_matrix(X: Rows) -> bool:
    return (is_tensor(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf")) and X.ndim == 2


def _kind(X: Any) -> Any:
    if is_tensor(X):
        return np.float64 if X.dtype.itemsize == 8 or not X.is_floating_point() else np.float32
    return np.float32 if X.dtype == np.float32 else np.float64
