"""Mixtures of kernels in the coordinates of their eigenvectors, where many targets and penalties cost little."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import linalg

from .mixture import KernelStack

Decomposition = tuple[np.ndarray, np.ndarray]  # Λ and Q
Blocks = Iterator[tuple[slice, np.ndarray]]  # which targets, and their values
_NONE = np.empty(0)


class Decomposed:
    """Points at which mixtures of kernels are decomposed, of which as many are kept as a budget allows."""

    def __init__(self, stack: KernelStack, weights: np.ndarray | None, *, fit_intercept: bool, memory: float) -> None:
        n = stack.matrices.shape[1]
        self.stack, self.fit_intercept = stack, fit_intercept
        self.roots = np.ones(n) if weights is None else np.sqrt(weights)
        self.size = float(self.roots @ self.roots)
        self._buffers: dict[str, np.ndarray] = {}  # in float32: fresh memory for each product is slow
        self._room, self._kept = int(memory // (8 * n * n)), dict[bytes, Decomposition]()

    def decompose(self, weights: np.ndarray) -> Decomposition:
        """Return Λ and Q of B, with √w√wᵀ added for an intercept, whose vector is then outside all others."""
        key = weights.tobytes()
        if key in self._kept:
            return self._kept[key]
        B = self.stack.mix(weights)
        B *= self.roots
        B *= self.roots[:, None]
        if self.fit_intercept:
            B += self.roots[:, None] * self.roots
        values, Q = linalg.eigh(B.T, driver="evd", overwrite_a=True, check_finite=False)
        found = np.maximum(values, 0.0), Q
        if len(self._kept) < self._room:
            self._kept[key] = found
        return found

    def diagonals(self, found: Decomposition, alphas: np.ndarray) -> np.ndarray:
        """Return the diagonal of G, (n, p), for many penalties."""
        values, Q = found
        diagonal = Q**2 @ (1.0 / (values[:, None] + alphas))
        if self.fit_intercept:
            diagonal -= self.roots[:, None] ** 2 / (self.size * (self.size + alphas))
        return np.asarray(diagonal)

    def screen(self, weights: np.ndarray, alphas: np.ndarray, blocks: Blocks) -> Blocks:
        """Yield generalised cross-validation errors of blocks of targets, (p, targets), in float32."""
        values, Q = self.decompose(weights)
        shifted = values + alphas[:, None]
        freedom = (1.0 / shifted).sum(axis=1) - (1.0 / (self.size + alphas) if self.fit_intercept else 0.0)
        n, small = len(values), self._buffer("Q", *Q.shape)
        np.copyto(small, Q.T, casting="same_kind")
        factors = ((n / freedom[:, None] / shifted) ** 2 / self.size).astype(np.float32)
        for columns, block in blocks:
            rotated = np.matmul(small, block, out=self._buffer("products", *block.shape))
            np.square(rotated, out=rotated)
            yield columns, factors @ rotated

    def _buffer(self, name: str, *shape: int) -> np.ndarray:
        if self._buffers.get(name, _NONE).shape != shape:
            self._buffers[name] = np.empty(shape, dtype=np.float32)
        return self._buffers[name]

    def solve(self, weights: np.ndarray, alphas: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return W^-½c, the best penalty and its mean squared leave-one-out error for targets W^½(y − ȳ).

        There are f penalties for each target to choose from, shape (f, q).  The precision is that of the targets.
        """
        values, Q = self.decompose(weights)
        Q = Q.astype(targets.dtype, copy=False)
        rotated = Q.T @ targets
        found: tuple[np.ndarray, ...] = ()
        for alpha in alphas:
            coef = Q @ (rotated / (values[:, None] + alpha).astype(rotated.dtype))
            distinct, where = np.unique(alpha, return_inverse=True)
            left = coef / self.diagonals((values, Q), distinct)[:, where].astype(coef.dtype)
            errors = np.einsum("ij,ij->j", left, left) / self.size
            if found:
                worse = errors >= found[2]
                coef[:, worse], alpha = found[0][:, worse], np.where(worse, found[1], alpha)
                errors = np.minimum(errors, found[2])
            found = coef, alpha, errors
        return found
