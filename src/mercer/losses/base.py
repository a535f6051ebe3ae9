"""What all losses have in common: a loss is a value, as a kernel is, and its methods work on arrays and tensors alike.

A loss ℓ(y, f) says what it costs to answer f where y was observed.  It is convex in f.  Solvers ask for its value, its
slope by f, its curvature and its conjugate ℓ*(y, s) = max over f of sf − ℓ(y, f); sums over weighted points are theirs.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.arrays.tensors import is_tensor
from mercer.formula.parameters import show
from mercer.kernels.value import Value

from .roots import find_root

CORNER = 1e-13  # of target and output: a root this close to the target is at the target
Task = Literal["regression", "classification"]


class Loss(Value):
    """ℓ(y, f), convex in f; subclasses become frozen dataclasses by themselves, as kernels do.

    A loss of your own is :class:`~mercer.losses.custom.CustomLoss`, or a subclass of
    :class:`~mercer.losses.residual.ResidualLoss` or :class:`~mercer.losses.margin.MarginLoss`.
    """

    task: ClassVar[Task] = "regression"
    predicts: ClassVar[str] = "a location"  # what the best f says about y
    smooth: ClassVar[bool] = True  # whether the slope has no jumps, as Newton's method needs it
    joint: ClassVar[bool] = False  # whether the outputs of a point are judged together, and not one by one
    most_curvature: ClassVar[float | None] = None  # that the loss has anywhere, None if there is no bound
    has_flat_parts: ClassVar[bool] = False  # whether the loss is linear somewhere, and its curvature 0
    of_residual: ClassVar[bool] = False  # whether only y − f counts, so that a shift of y is one of f
    has_majorant: ClassVar[bool] = False  # whether there is a parabola above the loss that touches it

    def value(self, y: Array, f: Array) -> Array:
        """Return ℓ(y, f)."""
        raise NotImplementedError

    def slope(self, y: Array, f: Array) -> Array:
        """Return the derivative by f; at a corner one of those there are."""
        raise NotImplementedError

    def curvature(self, y: Array, f: Array) -> Array:
        """Return the second derivative by f; where the slope has a corner, that on one side of it."""
        raise TypeError(f"{self!r} has corners, and so no curvature; its slope jumps there")

    def majorant(self, y: Array, f: Array) -> Array:
        """Return the curvature of a parabola that touches the loss at f and is nowhere below it."""
        raise NotImplementedError

    def conjugate(self, y: Array, s: Array) -> Array:
        """Return ℓ*(y, s), the largest sf − ℓ(y, f): ∞ outside of :meth:`domain`."""
        raise NotImplementedError

    def domain(self, y: Array) -> tuple[Any, Any]:
        """Return the least and the largest slope that f can have, ∞ where there is no end."""
        raise NotImplementedError

    def prox(self, y: Array, f: Array, width: float) -> Array:
        """Return the z that minimises ℓ(y, z) + (z − f)²/(2·width), where z + width·ℓ'(z) = f.

        The slope only grows, so that the root can be searched for; losses with a formula for it have that.
        """
        y, f = as_numbers(y, f)
        xp = namespace(f)
        step, most = width * abs(self.slope(y, f)), 1.0 + abs(f)  # that far it is at most, unless slopes overflow
        step = xp.where(step < most, step, most) + 1e-300

        def miss(z: Array) -> Array:
            return z + width * self.slope(y, z) - f

        # A slope that jumps mostly does so at the target, where halving would take long.
        near = CORNER * (abs(y) + abs(f)) + 1e-300
        with np.errstate(all="ignore"):  # targets of counts are no outputs
            at_target = (miss(y - near) < 0) & (miss(y + near) > 0)
        found = find_root(lambda z: xp.where(at_target, 0.0, miss(z)), xp.where(at_target, y, f), step)
        return xp.where(at_target, y, found)

    def column(self, q: int) -> Loss:
        """Return the loss of one of several outputs that are judged one by one."""
        return self

    def predict(self, f: Array) -> Array:
        """Return what f says about y, in the unit of y."""
        return f

    def check_targets(self, y: np.ndarray, owner: str = "") -> None:
        """Raise if targets are not what the loss is made for."""

    def refuse(self, owner: str, wanted: str, y: np.ndarray, wrong: np.ndarray, remedy: str) -> ValueError:
        """Return the error about targets that the loss is not made for."""
        where, given = int(np.flatnonzero(wrong.reshape(len(wrong), -1).any(axis=1))[0]), np.asarray(y)[wrong].item(0)
        name = f"{owner}: " if owner else ""
        return ValueError(f"{name}{self!r} needs {wanted}, but the target of row {where} is {given!r}; {remedy}")

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={show(value)}" for name, value in self.get_params(deep=False).items())
        return f"{type(self).__name__}({inside})"


def as_numbers(y: Any, f: Any) -> tuple[Array, Array]:
    """Return targets and outputs as arrays of float64, or as the tensors they are."""
    if is_tensor(f) or is_tensor(y):
        return y, f
    return np.asarray(y, dtype=np.float64), np.asarray(f, dtype=np.float64)


def entropy(p: Array) -> Array:
    """Return p ln p, with 0 ln 0 = 0, and ∞ below 0.

    Examples
    --------
    >>> entropy(np.array([0.0, 1.0, -0.1]))
    array([ 0.,  0., inf])
    """
    xp = namespace(p)
    return xp.where(p < 0, np.inf, p * xp.log(xp.where(p > 0, p, 1.0)))


def inside(s: Array, low: Any, high: Any, value: Array) -> Array:
    """Return the value where low ≤ s ≤ high, and ∞ elsewhere."""
    return namespace(value).where((s >= low) & (s <= high), value, np.inf)
