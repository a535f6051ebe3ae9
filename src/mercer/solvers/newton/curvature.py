"""The curvature of a loss at all points, by a root that Newton's equations are symmetric with."""

from __future__ import annotations

from abc import ABC, abstractmethod

from mercer.arrays import Array
from mercer.arrays.namespace import einsum, namespace

FLOOR = 1e-8  # of the largest curvature, so that its square root can be divided by


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
        """Return V with SV = R, for an R that S can give, and 0 where S is 0."""
        return self.project(R / self.root)

    def remove_constants(self, V: Array) -> Array:
        """Return ΨV."""
        if self.constants.shape[2] == 0:
            return V
        return V - self.constants @ einsum("nqr,nq->r", self.constants, V)

    def split(self, R: Array) -> tuple[Array, Array | None]:
        """Return V and what is left of R beside SΨV, None if that is nothing but rounding.

        Something is left where points have no curvature: a loss that is linear there does not bend back.
        """
        return self.remove_constants(self.divide(R)), None


class DiagonalCurvature(Curvature):
    """W = w times the curvature of each output, and S its root.

    ``most`` is the largest curvature there can be, if known; ``flat`` says that 0 means 0, and is no underflow.
    """

    def __init__(
        self, weights: Array, bend: Array, intercept: bool, *, most: float | None = None, flat: bool = True
    ) -> None:
        xp = namespace(bend)
        raised = bend.clip(FLOOR * (float(bend.max()) if most is None else most), None)
        bend = xp.where(bend > 0, raised, 0.0) if flat else raised
        self._flat = bend <= 0
        self.root = (weights[:, None] * bend) ** 0.5
        sizes = (self.root**2).sum(axis=0) ** 0.5
        units = self.root / xp.where(sizes > 0, sizes, 1.0)
        eye = xp.eye(bend.shape[1], dtype=bend.dtype, device=bend.device)
        self.constants = units[:, :, None] * eye if intercept else units[:, :, None][:, :, :0]

    def project(self, V: Array) -> Array:
        """Return V, because S forgets nothing."""
        return V

    def blocks(self) -> Array:
        """Return W, of shape (n, Q, Q)."""
        eye = namespace(self.root).eye(self.root.shape[1], dtype=self.root.dtype, device=self.root.device)
        return (self.root**2)[:, :, None] * eye

    def divide(self, R: Array) -> Array:
        """Return R/S, and 0 where S is 0."""
        xp = namespace(self.root)
        return xp.where(self._flat, 0.0, R) / xp.where(self._flat, 1.0, self.root)

    def split(self, R: Array) -> tuple[Array, Array | None]:
        """Return V and what is left of R beside SΨV."""
        V = self.remove_constants(self.divide(R))
        return V, R - self.root * V if bool(self._flat.any()) else None


class SoftmaxCurvature(Curvature):
    """W = w(diag(p) − ppᵀ) = SSᵀ with S = √w diag(s)(I − ssᵀ), where s = √p has length 1 at every point."""

    def __init__(self, weights: Array, p: Array, intercept: bool) -> None:
        p = p.clip(FLOOR)
        self._direction = (p / p.sum(axis=1)[:, None]) ** 0.5
        self.root = weights[:, None] ** 0.5 * self._direction
        # The constants of all classes together change no probability, so that one of them says nothing new.
        self.constants = self._orthonormalize_constants(p.shape[1] - 1 if intercept else 0)

    def _orthonormalize_constants(self, columns: int) -> Array:
        (n, q), xp = self.root.shape, namespace(self.root)
        if columns == 0:
            return self.root[:, :, None][:, :, :0]
        units = xp.eye(q, dtype=self.root.dtype, device=self.root.device)[:columns]
        images = xp.stack([self.half_transposed(0.0 * self.root + unit) for unit in units], axis=2)
        return xp.linalg.qr(images.reshape(n * q, columns))[0].reshape(n, q, columns)

    def project(self, V: Array) -> Array:
        """Return (I − ssᵀ)V at every point."""
        s = self._direction
        return V - s * einsum("nq,nq->n", s, V)[:, None]

    def blocks(self) -> Array:
        """Return W, of shape (n, Q, Q)."""
        s = self._direction
        identity = namespace(s).eye(s.shape[1], dtype=s.dtype, device=s.device)
        return self.root[:, :, None] * (identity - s[:, :, None] * s[:, None, :]) * self.root[:, None, :]
