"""Leave-one-out residuals of many penalties on a device: a factor for each of them, or one eigendecomposition for all.

A factor and its inverse take about ¾n³ operations for each α, at nearly the speed of matrix products; eigenvectors
take 9n³ for all of them, at a fraction of it.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from mercer.arrays.budget import require
from mercer.arrays.tensors import host_array, load_torch, on_device

from ...base import Problem
from ..path import LOST
from ..spectral import Spectral, SpectralPrepared
from .dense import DeviceCholesky

BYTES = 24  # for each pair of points: the matrix, its factor or eigenvectors, and workspace
FACTORS = 100  # penalties up to which their factors should take less time than one eigendecomposition, by estimate
BLOCK = 2**28  # bytes of squared eigenvectors at a time


class Path(Protocol):
    """A way to leave-one-out residuals."""

    def loo(self, alphas: Any) -> np.ndarray:
        """Return the residuals of many penalties, shape (p, n, q)."""


class DeviceLooPath:
    """The function from penalties to leave-one-out residuals of shape (p, n, q).

    Parameters
    ----------
    problem : Problem
        The problem, with a device.
    """

    def __init__(self, problem: Problem) -> None:
        require(
            BYTES * problem.n**2,
            problem.memory,
            f"the leave-one-out residuals of {problem.n} points on {problem.device}",
            "take fewer points, or give more memory",
        )
        self.problem = problem
        self._path: Path | None = None

    def __call__(self, alphas: np.ndarray) -> np.ndarray:
        """Return the residuals; penalties that no factor can take are left to eigenvalues."""
        if not (np.asarray(alphas) > 0).all():
            return Spectral().prepare(self.problem).loo(alphas)
        if self._path is None:
            self._path = self.choose(len(alphas))
        try:
            return self._path.loo(alphas)
        except np.linalg.LinAlgError:
            self._path = None  # before memory is needed again
            self._path = DeviceEigenvectors(self.problem)
            return self._path.loo(alphas)

    def choose(self, count: int) -> Path:
        """Return the quicker way for so many penalties: the one place where that is decided."""
        return DeviceCholesky(self.problem) if count <= FACTORS else DeviceEigenvectors(self.problem)


class DeviceEigenvectors(SpectralPrepared):
    """The eigendecomposition W^½KW^½ = QΛQᵀ, which stays on the device; for α > 0.

    Parameters
    ----------
    problem : Problem
        The problem, with a device.
    """

    def __init__(self, problem: Problem) -> None:
        torch = load_torch()
        self.problem = problem
        weights = np.ones(problem.n) if problem.weights is None else problem.weights
        self._roots: Any = on_device(np.sqrt(weights), problem.device, np.float64)
        K: Any = problem.gram(dtype=np.float64).dense()
        K *= self._roots
        K *= self._roots[:, None]
        trace, eps = K.diagonal().abs().sum(), torch.finfo(torch.float64).eps
        values, Q = torch.linalg.eigh(K)
        del K
        null = values.abs() <= LOST * trace
        values[null] = 0.0
        self.eigenvalues, self.eigenvectors = values, Q
        self._y = Q.T @ (self._roots[:, None] * on_device(problem.y, problem.device, np.float64))
        one = Q.T @ self._roots
        if float(one[null].norm()) <= problem.n * eps * float(one.norm()):
            one[null] = 0.0  # a constant that the kernel can fit: a small α must not blow up its rounding
        self._one = one

    def _leave_one_out(self, alpha: np.ndarray, columns: np.ndarray) -> np.ndarray:
        values: Any = self.eigenvalues
        shifted = values[:, None] + values.new_tensor(alpha)
        return np.asarray(host_array(self._ratio(*self._parts(1.0 / shifted, alpha, columns))))

    def _squared_product(self, V: Any) -> Any:
        torch = load_torch()
        Q: Any = self.eigenvectors
        return torch.cat([part.square() @ V for part in Q.split(max(1, BLOCK // (8 * len(Q))))])

    def _ratio(self, coef: Any, diagonal: Any) -> Any:
        ratio = coef / diagonal / self._roots[:, None]
        return ratio.masked_fill(~ratio.isfinite(), float("nan"))
