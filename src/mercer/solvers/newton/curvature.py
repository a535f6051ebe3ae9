"""The curvature of a logistic loss at all points, by a root that Newton's equations are symmetric with."""

from __future__ import annotations

from abc import ABC, abstractmethod

from mercer.arrays import Array
from mercer.arrays.namespace import einsum, namespace

FLOOR = 1e-8  # of p(1 − p) in a curvature, so that its square root can be divided by


class Curvature(ABC):
    """The curvature W = SSᵀ at all points, by its root S, and what of it an intercept takes away.

    If the intercept is always the best one, the curvature is what is left of W beside the constants: SΨSᵀ, where Ψ
    projects away the span of the columns of ``constants``.
    """

    root: Array
    constants: Array  # (n, Q, r), orthonormal

    @abstractmethod
    def project(self, V: Array) -> Array:
        """Return the part of V that S does not forget."""

    @abstractmethod
    def blocks(self) -> Array:
        """Return W, of shape (n, Q, Q)."""

    def half(self, V: Array) -> Array:
        """Return SV."""
        return self.root * self.project(V)

    def half_transposed(self, V: Array) -> Array:
        """Return SᵀV."""
        return self.project(self.root * V)

    def divide(self, R: Array) -> Array:
        """Return V with SV = R, for an R that S can give."""
        return self.project(R / self.root)

    def remove_constants(self, V: Array) -> Array:
        """Return ΨV."""
        if self.constants.shape[2] == 0:
            return V
        return V - self.constants @ einsum("nqr,nq->r", self.constants, V)

    def _orthonormalize_constants(self, columns: int) -> Array:
        (n, q), xp = self.root.shape, namespace(self.root)
        if columns == 0:
            return self.root[:, :, None][:, :, :0]
        units = xp.eye(q, dtype=self.root.dtype, device=self.root.device)[:columns]
        images = xp.stack([self.half_transposed(0.0 * self.root + unit) for unit in units], axis=2)
        return xp.linalg.qr(images.reshape(n * q, columns))[0].reshape(n, q, columns)


class BinaryCurvature(Curvature):
    """W = w p(1 − p), with S its square root."""

    def __init__(self, weights: Array, p: Array, intercept: bool) -> None:
        self.root = (weights[:, None] * (p * (1 - p)).clip(FLOOR)) ** 0.5
        self.constants = self._orthonormalize_constants(1 if intercept else 0)

    def project(self, V: Array) -> Array:
        """Return V, because S forgets nothing."""
        return V

    def blocks(self) -> Array:
        """Return W, of shape (n, 1, 1)."""
        return (self.root**2)[:, :, None]


class MultinomialCurvature(Curvature):
    """W = w(diag(p) − ppᵀ) = SSᵀ with S = √w diag(s)(I − ssᵀ), where s = √p has length 1 at every point."""

    def __init__(self, weights: Array, p: Array, intercept: bool) -> None:
        p = p.clip(FLOOR)
        self._direction = (p / p.sum(axis=1)[:, None]) ** 0.5
        self.root = weights[:, None] ** 0.5 * self._direction
        # The constants of all classes together change no probability, so that one of them says nothing new.
        self.constants = self._orthonormalize_constants(p.shape[1] - 1 if intercept else 0)

    def project(self, V: Array) -> Array:
        """Return (I − ssᵀ)V at every point."""
        s = self._direction
        return V - s * einsum("nq,nq->n", s, V)[:, None]

    def blocks(self) -> Array:
        """Return W, of shape (n, Q, Q)."""
        s = self._direction
        identity = namespace(s).eye(s.shape[1], dtype=s.dtype, device=s.device)
        return self.root[:, :, None] * (identity - s[:, :, None] * s[:, None, :]) * self.root[:, None, :]
