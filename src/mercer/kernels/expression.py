"""Formulas as values: a kernel is written once, in NumPy's words, and read in several ways.

A kernel over vectors is a formula over a few *statistics* of the two points, such as their dot product or their
squared distance: the Gaussian is ``np.exp(-0.5 * s)`` of the squared distance ``s``.  Called with the nodes of this
module instead of arrays, the same line of NumPy builds an expression.  That one expression is then evaluated on
tiles (:func:`evaluate`), differentiated (:func:`log_derivative`), or lowered to a program for another backend, so
that no backend ever restates a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

if TYPE_CHECKING:
    from .statistics import Statistic

Side = Literal["left", "right"]


class Expression:
    """A node of a formula; arithmetic and NumPy functions on nodes build larger nodes."""

    def __add__(self, other: object) -> Expression:
        return add(self, wrap(other))

    def __mul__(self, other: object) -> Expression:
        return multiply(self, wrap(other))

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Expression:
        return multiply(Const(-1.0), self)

    def __sub__(self, other: object) -> Expression:
        return add(self, -wrap(other))

    def __rsub__(self, other: object) -> Expression:
        return add(wrap(other), -self)

    def __truediv__(self, other: object) -> Expression:
        return multiply(self, reciprocal(wrap(other)))

    def __rtruediv__(self, other: object) -> Expression:
        return multiply(wrap(other), reciprocal(self))

    def __pow__(self, exponent: float) -> Expression:
        return power(self, exponent)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Expression:
        """Let ``np.exp(node)`` and ``np.float64(2) * node`` build nodes."""
        build = _UFUNCS.get(ufunc)
        if build is None or method != "__call__" or kwargs:
            known = ", ".join(sorted(u.__name__ for u in _UFUNCS))
            raise TypeError(f"a kernel's formula cannot use numpy.{ufunc.__name__}; it may use {known}")
        return build(*(value if ufunc is np.power and i == 1 else wrap(value) for i, value in enumerate(inputs)))


@dataclass(frozen=True)
class Const(Expression):
    """A number."""

    value: float


@dataclass(frozen=True)
class Param(Expression):
    """A hyperparameter: a number that remembers its name, so that it can be differentiated by."""

    name: str
    value: float


@dataclass(frozen=True)
class Stat(Expression):
    """The matrix of a statistic over all pairs of points."""

    statistic: Statistic


@dataclass(frozen=True)
class Diagonal(Expression):
    """The value of ``inner`` at (x, x) for the left point of each pair, or at (z, z) for the right one."""

    side: Side
    inner: Expression


@dataclass(frozen=True)
class Call(Expression):
    """An elementwise operation; ``constants`` holds its fixed numbers, such as an exponent."""

    op: str
    args: tuple[Expression, ...]
    constants: tuple[float, ...] = ()


def wrap(value: object) -> Expression:
    """Return ``value`` as an expression."""
    return value if isinstance(value, Expression) else Const(float(cast(float, value)))


def add(a: Expression, b: Expression) -> Expression:
    """Return a + b."""
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(a.value + b.value)
    if isinstance(a, Const) and a.value == 0:
        return b
    if isinstance(b, Const) and b.value == 0:
        return a
    return Call("add", (a, b))


def multiply(a: Expression, b: Expression) -> Expression:
    """Return a · b."""
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(a.value * b.value)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Const) and one.value in (0.0, 1.0):
            return other if one.value == 1.0 else one
    return Call("mul", (a, b))


def power(base: Expression, exponent: float) -> Expression:
    """A fixed power; integer exponents are kept apart because they are exact for negative bases."""
    exponent = float(exponent)
    if exponent == 1:
        return base
    if exponent == 0:
        return Const(1.0)
    if exponent < 0:
        return reciprocal(power(base, -exponent))
    if exponent == 0.5:
        return Call("sqrt", (base,))
    return Call("powi" if exponent.is_integer() else "pow", (base,), (exponent,))


def reciprocal(a: Expression) -> Expression:
    """1 / a, and 0 where a is 0: a kernel that vanishes at x normalises to 0 there."""
    if isinstance(a, Const):
        return Const(1.0 / a.value)
    return Call("recip", (a,))


def scaled_bessel(u: Expression, exponent: float, order: float) -> Expression:
    """u^exponent · K_order(u) / (2^(exponent−1) Γ(exponent)): 1 at u = 0 if the two numbers agree, and 0 if not.

    ``order`` is ``exponent``, or one less for the derivative.
    """
    return Call("bessel", (u,), (float(exponent), float(order)))


def _unary(op: str) -> Callable[[Expression], Expression]:
    return lambda a: Call(op, (a,))


_UFUNCS: dict[np.ufunc, Callable[..., Expression]] = {
    np.add: add,
    np.subtract: lambda a, b: a - b,
    np.multiply: multiply,
    np.true_divide: lambda a, b: a / b,
    np.negative: lambda a: -a,
    np.power: power,
    np.square: lambda a: power(a, 2),
    np.reciprocal: reciprocal,
    np.exp: _unary("exp"),
    np.log: _unary("log"),
    np.log1p: _unary("log1p"),
    np.sqrt: _unary("sqrt"),
    np.tanh: _unary("tanh"),
}


def _reciprocal_values(a: np.ndarray) -> np.ndarray:
    return np.divide(1.0, a, out=np.zeros_like(a), where=a != 0)


def _bessel_values(u: np.ndarray, exponent: float, order: float) -> np.ndarray:
    from .bessel import matern_profile, scaled_k

    if order == exponent:
        return matern_profile(u, order)
    if order > 1:
        return u / (2.0 * order) * matern_profile(u, order)
    return scaled_k(u, exponent, order)


_VALUES: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "mul": np.multiply,
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "sqrt": lambda a: np.sqrt(np.maximum(a, 0)),
    "recip": _reciprocal_values,
    "powi": lambda a, exponent: a ** int(exponent),
    "pow": lambda a, exponent: np.maximum(a, 0) ** exponent,
    "bessel": _bessel_values,
}


def evaluate(
    expression: Expression,
    statistic: Callable[[Statistic], np.ndarray],
    diagonal: Callable[[Diagonal], np.ndarray],
) -> np.ndarray | float:
    """Compute an expression from the values of its leaves, each distinct node once."""
    known: dict[Expression, Any] = {}

    def value(node: Expression) -> Any:
        if node not in known:
            if isinstance(node, Const | Param):
                known[node] = node.value
            elif isinstance(node, Stat):
                known[node] = statistic(node.statistic)
            elif isinstance(node, Diagonal):
                known[node] = diagonal(node)
            else:
                call = cast(Call, node)
                args = [np.asarray(value(arg)) for arg in call.args]
                known[node] = _VALUES[call.op](*args, *call.constants)
        return known[node]

    with np.errstate(all="ignore"):  # overflow and its kin are reported once, on the result, in words
        result = value(expression)
    known.clear()  # the function above refers to itself, so that only a garbage collection would free its memory
    return cast("np.ndarray | float", result)


def nodes(expression: Expression) -> Iterator[Expression]:
    """Every distinct node below ``expression`` (itself included), children first."""
    seen: set[Expression] = set()

    def visit(node: Expression) -> Iterator[Expression]:
        if node in seen:
            return
        seen.add(node)
        if isinstance(node, Call):
            for arg in node.args:
                yield from visit(arg)
        elif isinstance(node, Diagonal):
            yield from visit(node.inner)
        yield node

    return visit(expression)


def parameters(expression: Expression) -> dict[str, float]:
    """Names and values of the hyperparameters an expression depends on, in order of appearance."""
    found: dict[str, float] = {}
    for node in nodes(expression):
        if isinstance(node, Param):
            found.setdefault(node.name, node.value)
        elif isinstance(node, Stat):
            for param in node.statistic.parameters():
                found.setdefault(param.name, param.value)
    return found


def log_derivative(expression: Expression, name: str) -> Expression:
    """Return the derivative with respect to the logarithm of the hyperparameter ``name``."""
    known: dict[Expression, Expression] = {}

    def derivative(node: Expression) -> Expression:
        if node not in known:
            known[node] = rule(node)
        return known[node]

    def rule(node: Expression) -> Expression:
        if isinstance(node, Param):
            return Const(node.value if node.name == name else 0.0)
        if isinstance(node, Stat):
            return node.statistic.log_derivative(name)
        if isinstance(node, Diagonal):
            inner = derivative(node.inner)
            return inner if isinstance(inner, Const) else Diagonal(node.side, inner)
        if not isinstance(node, Call):
            return Const(0.0)
        if node.op == "add":
            return add(derivative(node.args[0]), derivative(node.args[1]))
        if node.op == "mul":
            a, b = node.args
            return add(multiply(derivative(a), b), multiply(a, derivative(b)))
        inner = derivative(node.args[0])
        return inner if inner == Const(0.0) else multiply(_outer_derivative(node), inner)

    return derivative(expression)


def _outer_derivative(node: Call) -> Expression:
    """Derivative of a one-argument operation with respect to its argument."""
    a = node.args[0]
    match node.op:
        case "exp":
            return node
        case "log":
            return reciprocal(a)
        case "log1p":
            return reciprocal(1.0 + a)
        case "tanh":
            return 1.0 - power(node, 2)
        case "sqrt":  # 0 at 0, where every statistic under a root is flat
            return 0.5 * reciprocal(node)
        case "recip":
            return -power(node, 2)
        case "powi" | "pow":
            return node.constants[0] * power(a, node.constants[0] - 1)
        case "bessel":
            exponent, order = node.constants
            if exponent != order:
                raise ValueError("only the first derivative of a Matern kernel is available")
            return -scaled_bessel(a, exponent, order - 1)
    raise ValueError(f"no derivative is known for {node.op!r}")
