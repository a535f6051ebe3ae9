"""The representer theorem as an object: f = Σ cᵢ k(xᵢ, ·) + b."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from mercer.gram import Gram
from mercer.gram.device.tensors import is_tensor
from mercer.kernels import Kernel
from mercer.kernels.data import Rows, concatenate, length


class Expansion:
    """A function of the reproducing kernel Hilbert space, plus an intercept.

    f(x) = Σᵢ cᵢ k(xᵢ, x) + b.  Every fitted model is one, or one with several outputs.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    centers : collection of n objects
        The points xᵢ.
    coef : array of shape (n,) or (n, q)
        The coefficients cᵢ, one column for each of q outputs.
    intercept : float or array of shape (q,), default=0.0
        The constant b, which is not part of the space: norms and inner products leave it out.

    Examples
    --------
    Linear functions wᵀx are the space of the linear kernel, with ‖f‖ = ‖w‖:

    >>> from mercer import Expansion
    >>> from mercer.kernels import Linear
    >>> f = Expansion(Linear(), [[3.0, 4.0]], [1.0])
    >>> f([[1.0, 0.0], [0.0, 1.0]])
    array([3., 4.])
    >>> f.norm()
    5.0
    """

    __array_ufunc__ = None  # so that np.float64(2) * f comes here

    def __init__(self, kernel: Kernel, centers: Rows, coef: Any, intercept: Any = 0.0) -> None:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"Expansion: kernel must be a mercer kernel, got {kernel!r}")
        coef = np.asarray(coef, dtype=np.float64)
        if coef.ndim not in (1, 2) or coef.shape[0] != length(centers):
            raise ValueError(
                f"Expansion: there are {length(centers)} centers, so coef must have shape ({length(centers)},) or "
                f"({length(centers)}, outputs); got {coef.shape}"
            )
        intercept = np.asarray(intercept, dtype=np.float64)
        if intercept.shape not in ((), coef.shape[1:]):
            raise ValueError(
                f"Expansion: intercept must be one number or one for each of the outputs {coef.shape[1:]}, "
                f"got shape {intercept.shape}"
            )
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError("Expansion: coefficients and intercept must be finite, but there is NaN or infinity")
        self.kernel = kernel
        self.centers = centers
        self.coef = coef
        self.intercept = intercept

    def __call__(self, X: Rows, memory: float | str | None = None, device: Any = None) -> Any:
        """Return f(x) for all x in X, of shape (len(X),) or (len(X), q), within a memory budget.

        Tensors give a tensor where they are.  With a device the values are computed there, and arrays give an array.
        """
        if device is None and not is_tensor(X) and not is_tensor(self.centers):
            values = Gram(self.kernel, X, self.centers, memory=memory) @ self.coef
            return np.asarray(values + self.intercept)
        from mercer.gram.device.stream import evaluated

        return evaluated(self.kernel, X, self.centers, self.coef, self.intercept, memory, device)

    def outputs(self) -> list[Expansion]:
        """Return each output as an expansion of its own; they share the centres.

        Examples
        --------
        >>> from mercer import Expansion
        >>> from mercer.kernels import Linear
        >>> [g([[2.0]]).tolist() for g in Expansion(Linear(), [[1.0]], [[1.0, 3.0]], [0.0, 1.0]).outputs()]
        [[2.0], [7.0]]
        """
        if self.coef.ndim == 1:
            return [self]
        intercepts = np.broadcast_to(self.intercept, self.coef.shape[1:])
        return [Expansion(self.kernel, self.centers, c, b) for c, b in zip(self.coef.T, intercepts, strict=True)]

    def inner(self, other: Expansion) -> Any:
        """Return ⟨f, g⟩ = Σ cᵢ dⱼ k(xᵢ, zⱼ): a number, or one for each output."""
        self._check_same_space(other)
        cross = Gram(self.kernel, self.centers, None if other.centers is self.centers else other.centers) @ other.coef
        result = np.einsum("i...,i...->...", self.coef, cross)
        return float(result) if result.ndim == 0 else result

    def norm(self) -> Any:
        """Return ‖f‖ = √(cᵀKc): a number, or one for each output."""
        result = np.sqrt(np.maximum(self.inner(self), 0.0))
        return float(result) if result.ndim == 0 else result

    def __add__(self, other: object) -> Expansion:
        if isinstance(other, numbers.Real):
            return Expansion(self.kernel, self.centers, self.coef, self.intercept + float(other))
        if not isinstance(other, Expansion):
            return NotImplemented
        self._check_same_space(other)
        intercept = self.intercept + other.intercept
        if other.centers is self.centers:
            return Expansion(self.kernel, self.centers, self.coef + other.coef, intercept)
        centers = concatenate(self.centers, other.centers)
        return Expansion(self.kernel, centers, np.concatenate([self.coef, other.coef]), intercept)

    __radd__ = __add__

    def __mul__(self, factor: object) -> Expansion:
        if not isinstance(factor, numbers.Real):
            return NotImplemented
        return Expansion(self.kernel, self.centers, float(factor) * self.coef, float(factor) * self.intercept)

    __rmul__ = __mul__

    def __neg__(self) -> Expansion:
        return -1.0 * self

    def __sub__(self, other: object) -> Expansion:
        if isinstance(other, Expansion | numbers.Real):
            return self + (-1.0) * other
        return NotImplemented

    def __rsub__(self, other: object) -> Expansion:
        return (-1.0) * self + other

    def __truediv__(self, factor: object) -> Expansion:
        return self * (1.0 / factor) if isinstance(factor, numbers.Real) else NotImplemented

    def __repr__(self) -> str:
        outputs = "" if self.coef.ndim == 1 else f", {self.coef.shape[1]} outputs"
        return f"<Expansion of {self.kernel!r} at {length(self.centers)} centers{outputs}>"

    def _check_same_space(self, other: Expansion) -> None:
        if not isinstance(other, Expansion):
            raise TypeError(f"expected another Expansion, got {other!r}")
        if other.kernel != self.kernel:
            raise ValueError(
                f"the expansions live in different spaces, of the kernels {self.kernel!r} and {other.kernel!r}"
            )
        if other.coef.shape[1:] != self.coef.shape[1:]:
            raise ValueError(f"the expansions have different outputs: {self.coef.shape[1:]} and {other.coef.shape[1:]}")
