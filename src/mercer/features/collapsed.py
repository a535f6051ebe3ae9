"""Sums Σ cᵢ k(xᵢ, ·) in few features of each object, built by walking through the composition of the kernel.

Kernels on strings, trees and graphs have sparse features: f = wᵀφ with w = Σ cᵢ φ(xᵢ) then costs what the object has
itself, and not what all objects xᵢ have.  Multiples, sums, normalised kernels and pull-backs of such kernels follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol

import numpy as np

from mercer.formula.data import Rows
from mercer.kernels import Constant, Fisher, Kernel, Subtree
from mercer.kernels.algebra import Normalized, Scaled, Sum
from mercer.kernels.graphs.kernels import CountKernel
from mercer.kernels.pullback import After, On
from mercer.kernels.strings.base import StringKernel
from mercer.kernels.strings.collapsed import WordWeights

from .composition import Node
from .graphs import SubstructureWeights
from .strings import Slopes
from .trees import Subtrees

Evaluate = Callable[[Kernel, Rows, Rows, np.ndarray], np.ndarray]  # Σ cᵢ k(xᵢ, x) by kernel values


class Collapsed(Protocol):
    """f(x) = Σ cᵢ k(xᵢ, x) without the xᵢ."""

    def __call__(self, X: Rows) -> np.ndarray:
        """Return f(x) for all x, of shape (objects, outputs)."""

    def with_squares(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return f(x) and k(x, x) for all x."""


@singledispatch
def collapse(kernel: Kernel, centers: Rows, coef: np.ndarray, memory: int, evaluate: Evaluate) -> Collapsed | None:
    """Return the sum of c k(x, ·) over centres x in features, or None where kernel values are the better way.

    Parameters
    ----------
    kernel : Kernel
        k.
    centers : collection of n objects
        The xᵢ.
    coef : array of shape (n, q)
        The cᵢ, a column for each output.
    memory : int
        Bytes that the weights of features may take a part of.
    evaluate : callable
        ``evaluate(kernel, X, centers, coef)`` returns the sum by kernel values, for parts that have no such features.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features.collapsed import collapse
    >>> from mercer.kernels import Gaussian, Spectrum
    >>> k, words, coef = Spectrum(2), ["abab", "bac"] * 50, np.ones((100, 1))
    >>> f = collapse(k, words, coef, 10**9, lambda k, X, Z, c: k(X, Z) @ c)
    >>> np.allclose(f(["abba", "cab"]), k(["abba", "cab"], words) @ coef)
    True
    >>> collapse(Gaussian(), words, coef, 10**9, lambda k, X, Z, c: k(X, Z) @ c) is None
    True
    """
    return None


@collapse.register
def _(kernel: StringKernel, centers: Rows, coef: np.ndarray, memory: int, evaluate: Evaluate) -> Collapsed | None:
    return WordWeights.build(kernel, centers, coef, memory, lambda X: evaluate(kernel, X, centers, coef))


@collapse.register
def _(kernel: Fisher, centers: Rows, coef: np.ndarray, memory: int, evaluate: Evaluate) -> Collapsed | None:
    node = Slopes(kernel)
    return SparseWeights(kernel, node, node(centers).T @ coef)


@collapse.register
def _(kernel: Subtree, centers: Rows, coef: np.ndarray, memory: int, evaluate: Evaluate) -> Collapsed | None:
    if kernel.missing == "own":
        return None
    node = Subtrees(kernel, centers)
    return SparseWeights(kernel, node, node(centers).T @ coef)


@collapse.register
def _(kernel: CountKernel, centers: Rows, coef: np.ndarray, memory: int, evaluate: Evaluate) -> Collapsed | None:
    return None if kernel.missing == "own" else SubstructureWeights.build(kernel, centers, coef, memory)


@collapse.register
def _(kernel: Scaled, centers: Rows, coef: np.ndarray, memory: int, evaluate: Evaluate) -> Collapsed | None:
    inner = collapse(kernel.kernel, centers, coef, memory, evaluate)
    return None if inner is None else CollapsedSum(kernel, ((float(kernel.weight), inner),))


@collapse.register
def _(kernel: Sum, centers: Rows, coef: np.ndarray, memory: int, evaluate: Evaluate) -> Collapsed | None:
    parts: list[tuple[float, Collapsed]] = []
    rest: list[Kernel] = []
    shift = np.zeros(coef.shape[1])
    for weight, term in kernel.terms():
        found = None
        if isinstance(term, Constant):
            shift += weight * float(term.value) * coef.sum(axis=0)
        elif (found := collapse(term, centers, coef, memory, evaluate)) is not None:
            parts.append((weight, found))
        else:
            rest.append(weight * term)
    if not parts:
        return None
    if rest:
        left = sum(rest[1:], rest[0])
        parts.append((1.0, Remaining(left, lambda X: evaluate(left, X, centers, coef))))
    return CollapsedSum(kernel, tuple(parts), shift)


@collapse.register
def _(kernel: Normalized, centers: Rows, coef: np.ndarray, memory: int, evaluate: Evaluate) -> Collapsed | None:
    never = collapse.dispatch(type(kernel.kernel)) is collapse.dispatch(object)
    if never or kernel.kernel.theorem() is None:  # k(x, x) may be negative
        return None
    try:
        scales = _invert_roots(kernel.kernel.diag(centers))
    except OverflowError:  # which logarithms pass by
        return None
    inner = collapse(kernel.kernel, centers, scales[:, None] * coef, memory, evaluate)
    return None if inner is None else CollapsedUnit(kernel, inner)


@collapse.register(On)
@collapse.register(After)
def _(kernel: On | After, centers: Rows, coef: np.ndarray, memory: int, evaluate: Evaluate) -> Collapsed | None:
    if not _has_objects(kernel):
        return None
    step = kernel.step()
    inner = collapse(kernel.kernel, step.apply(centers), coef, memory, evaluate)
    return None if inner is None else CollapsedImage(step.apply, inner)


@dataclass(frozen=True)
class Remaining:
    """A part of a sum that is computed by kernel values."""

    kernel: Kernel
    evaluate: Callable[[Rows], np.ndarray]

    def __call__(self, X: Rows) -> np.ndarray:
        """Sum over all centres."""
        return self.evaluate(X)

    def with_squares(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Both, one after the other."""
        return self(X), self.kernel.diag(X)


@dataclass(frozen=True)
class SparseWeights:
    """Weights of the sparse features of a map."""

    kernel: Kernel
    node: Node
    weights: np.ndarray

    def __call__(self, X: Rows) -> np.ndarray:
        """φ(x)ᵀw."""
        return np.asarray(self.node(X) @ self.weights)

    def with_squares(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Features that no centre has count here, too."""
        return self(X), self.kernel.diag(X)


@dataclass(frozen=True)
class CollapsedSum:
    """A weighted sum of parts, and a constant."""

    kernel: Kernel
    parts: tuple[tuple[float, Collapsed], ...]
    shift: Any = 0.0

    def __call__(self, X: Rows) -> np.ndarray:
        """Add up the parts."""
        return np.asarray(sum(weight * part(X) for weight, part in self.parts) + self.shift)

    def with_squares(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Squares add up as values do, constants apart, which only the kernel knows."""
        if len(self.parts) > 1 or np.ndim(self.shift):
            return self(X), self.kernel.diag(X)
        weight, part = self.parts[0]
        values, squares = part.with_squares(X)
        return weight * values, weight * squares


@dataclass(frozen=True)
class CollapsedUnit:
    """Values divided by the length of the features of x; those of the centres are in the coefficients."""

    kernel: Kernel
    inner: Collapsed

    def __call__(self, X: Rows) -> np.ndarray:
        """Divide, and leave zeros where there are no features."""
        return self.with_squares(X)[0]

    def with_squares(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Ones, and zeros where there are no features."""
        values, squares = self.inner.with_squares(X)
        return _invert_roots(squares)[:, None] * values, (squares > 0).astype(float)


@dataclass(frozen=True)
class CollapsedImage:
    """A sum at the images of objects."""

    apply: Callable[[Rows], Rows]
    inner: Collapsed

    def __call__(self, X: Rows) -> np.ndarray:
        """Map, then sum."""
        return self.inner(self.apply(X))

    def with_squares(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Both at the images."""
        return self.inner.with_squares(self.apply(X))


def _has_objects(kernel: Kernel) -> bool:
    """Whether a kernel inside takes objects, so that it is worth mapping all centres."""
    inside = list(kernel.inner_kernels().values())
    return any(getattr(each, "structured", False) or _has_objects(each) for each in inside)


def _invert_roots(squares: np.ndarray) -> np.ndarray:
    """Return 1/√s, and 0 where s is 0."""
    return np.where(squares > 0, 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)
