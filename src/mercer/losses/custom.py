"""A loss of one's own: its value in plain NumPy, from which derivatives and the conjugate are found."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, cast

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace
from mercer.arrays.tensors import host_array, is_tensor
from mercer.formula.elementwise import NotFollowedError, compute, derive, trace
from mercer.formula.expression import Expression
from mercer.formula.parameters import show

from .base import Loss, Task, as_numbers, inside
from .convexity import Sample, find_box, find_least_target, is_below_parabolas, is_smooth, take_sample
from .corners import BoxLoss
from .margin import check_signs
from .roots import find_root

PARTS = ("value", "slope", "curvature")
FAR = (16.0, 64.0, 256.0, 512.0, 2.0**16, 2.0**32, 2.0**64, 2.0**128, 2.0**256, 2.0**500)
ROUNDING = 1e-12  # to which slopes at the ends are known
SETTLED = 1e-9  # a slope that changes less between the two places furthest out has an end


class CustomLoss(Loss):
    """Any convex function of a target y and an output f, written in plain NumPy.

    Only the value must be written: its code is followed once with symbols instead of arrays, as that of kernels is,
    and the formula differentiated twice.  Arithmetic, comparisons, ``np.where``, ``np.clip``, ``np.abs``,
    ``np.maximum``, ``np.exp``, ``np.log``, ``np.logaddexp``, ``np.sqrt``, hyperbolic functions and others of single
    numbers can be followed; loops, ``if``, indices and most of SciPy cannot, and then ``slope`` is needed too.
    The conjugate ℓ*(y, s), the largest sf − ℓ(y, f), is searched for where the slope is s.

    That the loss is convex is checked on a grid of y and f when it is made.  A loss that is convex, or a number, only
    for y ≥ 0 or y > 0 is one of counts or amounts, and refuses other targets.

    Parameters
    ----------
    value : function of y and f
        ℓ(y, f) of arrays, entry by entry.
    slope : function of y and f, optional
        The derivative by f; derived from the value if not given.
    curvature : function of y and f, optional
        The second derivative by f; derived if not given and possible.
    task : {"regression", "classification"}, default="regression"
        What y is: a number, or one of two classes, −1 and 1.
    name : str, optional
        What plots call it.

    Attributes
    ----------
    smooth : bool
        Whether there is a curvature and the slope has no jumps.  Other losses are minimised without it.

    Examples
    --------
    >>> pseudo_huber = CustomLoss(lambda y, f: np.sqrt(1 + (y - f) ** 2) - 1, name="pseudo-Huber")
    >>> pseudo_huber.value(0.0, [0.0, 1.0]).round(4), pseudo_huber.slope(0.0, [1.0, 3.0]).round(4)
    (array([0.    , 0.4142]), array([0.7071, 0.9487]))
    >>> pseudo_huber.conjugate(0.0, [0.0, 0.6, 1.5]).round(4)
    array([0. , 0.2, inf])
    >>> CustomLoss(lambda y, f: np.minimum((y - f) ** 2, 1))
    Traceback (most recent call last):
    ...
    ValueError: CustomLoss(value=<lambda>) is not convex: where y = ..., its slope falls from ... at f = ... to ...
    """

    value: Any = field()
    slope: Any = None
    curvature: Any = None
    _: KW_ONLY
    task: Task = "regression"  # type: ignore[misc]
    name: str | None = None

    predicts: ClassVar[str] = "what costs least on average"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in PARTS:
            given = self._given(name)
            if not callable(given) and not (given is None and name != "value"):
                raise TypeError(f"CustomLoss: {name} must be a function of y and f, got {given!r}")
        if self.task not in ("regression", "classification"):
            raise ValueError(f"CustomLoss: task is 'regression' or 'classification', got {self.task!r}")
        if not (self.name is None or isinstance(self.name, str)):
            raise TypeError(f"CustomLoss: name must be a text, got {self.name!r}")
        vars(self)["_least"] = find_least_target(self, self._take_sample(), given=self._given("slope") is not None)

    # -- formulas -----------------------------------------------------------------------------------------------------

    @property
    def _least(self) -> float:
        """The least target that is accepted, 0 or −∞, as found when the loss was made."""
        return cast(float, vars(self)["_least"])

    def _given(self, name: str) -> Any:
        """Return a parameter as it was given; the attribute of its name evaluates it."""
        return vars(self)[name]

    def _call_value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return _call(self._given("value"), y, f, repr(self), "value")

    def _take_sample(self) -> Sample:
        return take_sample(self._call_value, self.task, repr(self))

    @functools.cached_property
    def _formulas(self) -> tuple[Expression | None, ...]:
        """The formulas of the value, the slope and the curvature, None where one cannot be had."""
        sample, reason, found = self._take_sample(), "", dict.fromkeys(PARTS, cast("Expression | None", None))
        for name in PARTS:
            given = self._given(name)
            if given is not None:
                try:
                    found[name] = _follow_function(given, sample, repr(self), name)
                except NotFollowedError as error:
                    reason = reason or str(error)
        for name, before in zip(PARTS[1:], PARTS, strict=False):
            base = found[before]
            if self._given(name) is None and base is not None:
                found[name] = derive(base, "f")
            elif self._given(name) is None and name == "curvature" and found["value"] is not None:
                found[name] = derive(derive(found["value"], "f"), "f")
        if found["slope"] is None and self._given("slope") is None:
            raise ValueError(
                f"{self!r}: its slope cannot be derived, because the code of {show(self._given('value'))} cannot be "
                f"followed: {reason}; pass slope=, the derivative by f as a function of y and f, and curvature= if "
                "there is one, or write the value in NumPy's functions of single numbers, with np.where for cases"
            )
        return tuple(found.values())

    def _evaluate(self, part: str, y: Array, f: Array) -> Array:
        y, f = _align(*as_numbers(y, f))
        formula, given = self._formulas[PARTS.index(part)], self._given(part)
        if formula is not None:
            return compute(formula, {"y": y, "f": f})
        if given is None:
            raise TypeError(f"{self!r} has no curvature: pass curvature=, the derivative of its slope by f")
        found = _call(given, host_array(y), host_array(f), repr(self), part)
        return namespace(f).asarray(found, dtype=f.dtype, device=f.device) if is_tensor(f) else found

    @functools.cached_property
    def smooth(self) -> bool:  # type: ignore[override]
        """Whether there is a curvature and the slope has no jumps."""
        known = self._given("curvature") is not None or self._formulas[2] is not None
        return known and is_smooth(self, self._take_sample())

    @functools.cached_property
    def has_flat_parts(self) -> bool:  # type: ignore[override]
        """Whether the curvature is 0 at two neighbours of the grid, for one target."""
        if not self.smooth:
            return False
        sample = self._take_sample()
        y, f = sample.y[0], sample.f[0]
        flat = (self.curvature(y, f) == 0) & (np.abs(f) <= sample.near)
        return bool((flat[1:] & flat[:-1]).any())

    @functools.cached_property
    def has_majorant(self) -> bool:  # type: ignore[override]
        """Whether the parabola around y that touches the loss is nowhere below it, as for most losses of residuals."""
        return self.task == "regression" and self.smooth and is_below_parabolas(self, self._take_sample())

    def majorant(self, y: Array, f: Array) -> Array:
        """Return the slope over f − y, and at y the curvature."""
        y, f = _align(*as_numbers(y, f))
        xp, r = namespace(f), f - y
        away = abs(r) > 1e-6 * (1e-6 + abs(y) + abs(f))
        return xp.where(away, self.slope(y, f) / xp.where(away, r, 1.0), self.curvature(y, f))

    @functools.cached_property
    def _box(self) -> BoxLoss | None:
        """The same loss as machines know it, if it is linear but for corners around y."""
        return None if self.smooth else find_box(self, self._take_sample())

    def column(self, q: int) -> Loss:
        """Return the loss of one output, in the form that machines know if it has one."""
        return self._box or self

    # -- the conjugate ------------------------------------------------------------------------------------------------

    def _start(self, y: Array) -> Array:
        """Return outputs from which to search: the targets, or 0 where the slope is no number there."""
        if self.task == "classification":
            return 0.0 * y
        with np.errstate(all="ignore"):
            return namespace(y).where(namespace(y).isfinite(self.slope(y, y)), y, 0.0 * y)

    def domain(self, y: Array) -> tuple[Any, Any]:
        """Return the slopes far out, ∞ where they still grow."""
        y = as_numbers(y, y)[0]
        if self._box is not None:
            return self._box.domain(y)
        start = self._start(y)
        return self._find_end(y, start, -1.0), self._find_end(y, start, 1.0)

    def _find_end(self, y: Array, start: Array, side: float) -> Array:
        xp = namespace(y)
        size = last = before = self.slope(y, start + side)
        for distance in FAR:
            found = self.slope(y, start + side * distance)
            real = xp.isfinite(found) & (side * (found - last) >= -ROUNDING * abs(last))  # or else it overflowed
            before, last = xp.where(real, last, before), xp.where(real, found, last)
        settled = abs(last - before) <= SETTLED * (abs(size) + abs(last))
        last = xp.where(abs(last) <= ROUNDING * abs(size), 0.0, last)
        return xp.where(settled, last, side * np.inf)

    def conjugate(self, y: Array, s: Array) -> Array:
        """Return sf − ℓ(y, f) where the slope is s."""
        y, s = _align(*as_numbers(y, s))
        if self._box is not None:
            return self._box.conjugate(y, s)
        xp, (low, high) = namespace(s), self.domain(y)
        room = ROUNDING * abs(s)
        near = xp.minimum(xp.maximum(s, low), high)
        f = find_root(lambda z: self.slope(y, z) - near, self._start(y), 0.0 * y + 1.0)
        with np.errstate(all="ignore"):
            return inside(s, low - room, high + room, near * f - self.value(y, f))

    def prox(self, y: Array, f: Array, width: float) -> Array:
        """Return the minimum of ℓ(y, z) + (z − f)²/(2·width), by a formula if the loss is known by its box."""
        return super().prox(y, f, width) if self._box is None else self._box.prox(y, f, width)

    # -- targets ------------------------------------------------------------------------------------------------------

    def check_targets(self, y: np.ndarray, owner: str = "") -> None:
        """Raise unless the loss is a number for all targets."""
        if self.task == "classification":
            check_signs(self, y, owner)
            return
        y = np.asarray(y, dtype=np.float64)
        wrong = (y < self._least) | ~np.isfinite(self._call_value(y, self._start(y)))
        if wrong.any():
            wanted = "targets for which it is a number and convex"
            raise self.refuse(owner, wanted, y, wrong, "leave such rows out, or use another loss such as Huber()")

    def __repr__(self) -> str:
        usual = {"task": "regression"}
        given = {name: self._given(name) for name in (*PARTS, "task", "name") if self._given(name) != usual.get(name)}
        return f"CustomLoss({', '.join(f'{name}={show(value)}' for name, value in given.items())})"


class _Part:
    """The attribute of a loss that evaluates a function it was given, or the one derived in its place."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, loss: CustomLoss | None, owner: type | None = None) -> Any:
        return self if loss is None else functools.partial(loss._evaluate, self.name)

    def __set__(self, loss: CustomLoss, given: Any) -> None:
        vars(loss)[self.name] = given


for _name in PARTS:  # parameters and methods of a loss have the same names, and so fields cannot be plain attributes
    setattr(CustomLoss, _name, _Part(_name))


def _align(y: Array, f: Array) -> tuple[Array, Array]:
    """Return targets and outputs in one shape."""
    if getattr(y, "shape", None) == getattr(f, "shape", ()):
        return y, f
    if is_tensor(y) or is_tensor(f):
        like = f if is_tensor(f) else y
        xp = namespace(like)
        y, f = (xp.asarray(part, dtype=like.dtype, device=like.device) for part in (y, f))
        return tuple(xp.broadcast_arrays(y, f))
    return cast("tuple[Array, Array]", tuple(np.broadcast_arrays(y, f)))


def _call(function: Callable[..., Any], y: np.ndarray, f: np.ndarray, loss: str, name: str) -> np.ndarray:
    """Return what a function of arrays gives, or raise if it does not give a number for each entry."""
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(function(y, f))
    except Exception as error:
        raise ValueError(
            f"{loss}: {name} raised {type(error).__name__}: {error} for arrays of shape {y.shape}; it must work on "
            "arrays, entry by entry: write cases with np.where, or wrap a function of two numbers in np.vectorize"
        ) from error
    if found.dtype.kind not in "biuf" or found.shape not in ((), y.shape):
        raise ValueError(
            f"{loss}: {name} must return a number for each entry, an array of shape {y.shape}, but gave one of shape "
            f"{found.shape} and type {found.dtype}"
        )
    if found.shape != y.shape and not _is_constant(function, y, f):
        raise ValueError(
            f"{loss}: {name} must return a number for each entry, but gave a single one for {y.size}; leave out "
            "np.sum and np.mean, sums are up to the solver"
        )
    return found.astype(np.float64, copy=False) if found.shape == y.shape else np.full(y.shape, float(found))


def _is_constant(function: Callable[..., Any], y: np.ndarray, f: np.ndarray) -> bool:
    return y.size < 2 or function(y.ravel()[:1], f.ravel()[:1]) == function(y.ravel()[-1:], f.ravel()[-1:])


def _follow_function(given: Callable[..., Any], sample: Sample, loss: str, name: str) -> Expression:
    """Return the formula of a function that gives what the function gives."""
    formula = trace(given, "y", "f")
    expected = _call(given, sample.y, sample.f, loss, name)
    found = compute(formula, {"y": sample.y, "f": sample.f})
    near = np.isfinite(expected) & (np.abs(sample.f) <= sample.near)
    if not np.allclose(found[near], expected[near], rtol=1e-9, atol=1e-9):
        raise NotFollowedError("it does other things with arrays than with single numbers")
    return formula
