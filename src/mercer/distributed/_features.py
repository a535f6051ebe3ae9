"""Nyström features of the rows of a block, on the host or on a device of the worker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer.arrays.tensors import host_array, is_tensor, load_torch, on_device
from mercer.gram import Gram
from mercer.kernels import Kernel

from ._block import RowBlock

ENTRIES = 2**24  # of features in work at a time


@dataclass(frozen=True)
class BlockFeatures:
    """Features Φ of some rows; what is computed of them comes back as arrays.

    Parameters
    ----------
    phi : array or tensor of shape (n, m)
        Φ, a row each.
    """

    phi: Any

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Return ΦV."""
        return np.asarray(host_array(self.phi @ self._beside(V)))

    def image(self, R: np.ndarray) -> np.ndarray:
        """Return ΦᵀR."""
        return np.asarray(host_array(self.phi.T @ self._beside(R)))

    def bent(self, weights: np.ndarray) -> np.ndarray:
        """Return Φᵀ diag(w) Φ."""
        near = np.flatnonzero(weights)
        some = self.phi if len(near) == len(weights) else self.phi[near]
        return np.asarray(host_array(some.T @ (some * self._beside(weights[near, None]))))

    def _beside(self, values: np.ndarray) -> Any:
        return on_device(values, self.phi.device, np.float64) if is_tensor(self.phi) else values


@dataclass(frozen=True)
class FeaturesOf:
    """φ(x) = L⁻¹(k(z₁, x), …, k(z_m, x)).

    Parameters
    ----------
    kernel : Kernel
        k.
    centers : collection of m objects
        z.
    triangle : array of shape (m, m)
        L.
    device : str or torch.device, optional
        Where workers compute; on the host if not given.
    """

    kernel: Kernel
    centers: Any
    triangle: np.ndarray
    device: Any = None

    def __call__(self, block: RowBlock) -> Iterator[tuple[slice, BlockFeatures]]:
        """Yield places of rows in a block and their features, as many as a task has memory for."""
        place, m = block.place(self.device), len(self.triangle)
        step = max(1, min(len(block), ENTRIES // m, place.memory // (64 * m)))
        gram = Gram(self.kernel, block.X, self.centers, memory=place.memory, dtype=np.float64, device=place.device)
        L = place.put(self.triangle)
        for start in range(0, len(block), step):
            rows = slice(start, min(start + step, len(block)))
            values = gram.rows(np.arange(rows.start, rows.stop)).T
            yield rows, BlockFeatures(_whitened(L, values).T)


def _whitened(L: Any, values: Any) -> Any:
    if is_tensor(values):
        return load_torch().linalg.solve_triangular(L, values, upper=False)
    return solve_triangular(L, values, lower=True, overwrite_b=True, check_finite=False)
