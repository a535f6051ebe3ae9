"""Formulas as values: a kernel is written once, in NumPy's words, and read in several ways.

A kernel over vectors is a formula over a few *statistics* of the two points, such as their dot product or their
squared distance: the Gaussian is ``np.exp(-0.5 * s)`` of the squared distance ``s``.  Called with the nodes of this
module instead of arrays, the same line of NumPy builds an expression.  That one expression is then evaluated on
tiles (:func:`evaluate`), differentiated (:func:`log_derivative`), or lowered to a program for another backend, so
that no backend ever restates a formula.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from .deep import are_equal, walk

if TYPE_CHECKING:
    from .statistics import Statistic

Side = Literal["left", "right"]


class Expression:
    """A node of a formula; arithmetic and NumPy functions on nodes build larger nodes.

    Formulas may be deep: hashes are kept, and everything that reads a whole formula is a loop over its nodes.
    """

    _hash: int

    def __post_init__(self) -> None:
        vars(self)["_hash"] = hash((type(self), *self._parts()))

    def _parts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(cast(Any, self)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Expression):
            return NotImplemented
        if self._hash != other._hash:
            return False
        return are_equal(self, other, lambda node: (type(node), hash(node), *_flatten(node._parts())), Expression)

    @property
    def children(self) -> tuple[Expression, ...]:
        """The nodes that this one is made of."""
        return ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._parts()

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


@dataclass(frozen=True, eq=False)
class Const(Expression):
    """A number."""

    value: float


@dataclass(frozen=True, eq=False)
class Param(Expression):
    """A hyperparameter: a number that remembers its name, so that it can be differentiated by."""

    name: str
    value: float


@dataclass(frozen=True, eq=False)
class Stat(Expression):
    """The matrix of a statistic over all pairs of points."""

    statistic: Statistic


@dataclass(frozen=True, eq=False)
class Diagonal(Expression):
    """The value of ``inner`` at (x, x) for the left point of each pair, or at (z, z) for the right one."""

    side: Side
    inner: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        """What is evaluated at one point."""
        return (self.inner,)


@dataclass(frozen=True, eq=False)
class Call(Expression):
    """An elementwise operation; ``constants`` holds its fixed numbers, such as an exponent."""

    op: str
    args: tuple[Expression, ...]
    constants: tuple[float, ...] = ()

    @property
    def children(self) -> tuple[Expression, ...]:
        """The arguments."""
        return self.args


def _flatten(parts: Iterable[Any]) -> Iterator[Any]:
    return chain.from_iterable(part if isinstance(part, tuple) else (part,) for part in parts)


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


def inverse_norms(inner: Expression) -> Expression:
    """1 / √(k(x, x) k(z, z)), by which a formula is multiplied to be normalised."""
    return multiply(reciprocal(power(Diagonal("left", inner), 0.5)), reciprocal(power(Diagonal("right", inner), 0.5)))


def scaled_bessel(u: Expression, exponent: float, order: float) -> Expression:
    """u^exponent · K_order(u) / (2^(exponent−1) Γ(exponent)): 1 at u = 0 if the two numbers agree, and 0 if not.

    ``order`` is ``exponent``, or one less for the derivative.
    """
    return Call("bessel", (u,), (float(exponent), float(order)))


def apply_to(op: str) -> Callable[[Expression], Expression]:
    """Return the function that builds a node of an operation with one argument."""
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
    np.exp: apply_to("exp"),
    np.log: apply_to("log"),
    np.log1p: apply_to("log1p"),
    np.sqrt: apply_to("sqrt"),
    np.tanh: apply_to("tanh"),
}


def _invert(a: np.ndarray) -> np.ndarray:
    return np.divide(1.0, a, out=np.zeros_like(a), where=a != 0)


def _evaluate_bessel(u: np.ndarray, exponent: float, order: float) -> np.ndarray:
    from .bessel import matern_profile, scaled_k

    if order == exponent:
        return matern_profile(u, order)
    if order > 1:
        return u / (2.0 * order) * matern_profile(u, order)
    return scaled_k(u, exponent, order)


VALUES: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "mul": np.multiply,
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "sqrt": lambda a: np.sqrt(np.maximum(a, 0)),
    "recip": _invert,
    "powi": lambda a, exponent: a ** int(exponent),
    "pow": lambda a, exponent: np.maximum(a, 0) ** exponent,
    "bessel": _evaluate_bessel,
}


def evaluate(
    expression: Expression,
    statistic: Callable[[Statistic], np.ndarray],
    diagonal: Callable[[Diagonal], np.ndarray],
) -> np.ndarray | float:
    """Compute an expression from the values of its leaves, each distinct node once and kept only while it is needed."""
    known: dict[Expression, Any] = {}
    with np.errstate(all="ignore"):  # overflow and its kin are reported once, on the result, in words
        for node, done in schedule(expression):
            if isinstance(node, Const | Param):
                known[node] = node.value
            elif isinstance(node, Stat):
                known[node] = statistic(node.statistic)
            elif isinstance(node, Diagonal):
                known[node] = diagonal(node)
            elif isinstance(node, Call):
                args = [np.asarray(known[arg]) for arg in node.args]
                known[node] = VALUES[node.op](*args, *node.constants)
            for arg in done:
                known.pop(arg)
    return cast("np.ndarray | float", known[expression])


def is_diagonal(node: Expression) -> bool:
    """Whether a node depends on one point only, and is computed once for all pairs of it."""
    return isinstance(node, Diagonal)


def nodes(expression: Expression, closed: Callable[[Expression], bool] | None = None) -> Iterator[Expression]:
    """Every distinct node below ``expression`` (itself included), children first; not those inside a closed one."""
    return walk(expression, lambda node: () if closed and closed(node) else node.children, lambda node: node)


def schedule(expression: Expression) -> Iterator[tuple[Expression, list[Expression]]]:
    """Yield the nodes in the order they are computed in, each with those that nothing after it reads."""
    order = list(nodes(expression, is_diagonal))
    readers = Counter(arg for node in order if isinstance(node, Call) for arg in node.args)
    for node in order:
        args = node.args if isinstance(node, Call) else ()
        readers.subtract(args)
        yield node, [arg for arg in dict.fromkeys(args) if not readers[arg]]


def rebuild(
    expression: Expression,
    change: Callable[[Expression], Expression],
    closed: Callable[[Expression], bool] | None = None,
) -> Expression:
    """Return the expression with every leaf, and every closed node, exchanged for what ``change`` makes of it."""
    known: dict[Expression, Expression] = {}
    for node in nodes(expression, closed):
        if isinstance(node, Call):
            known[node] = Call(node.op, tuple(known[arg] for arg in node.args), node.constants)
        elif isinstance(node, Diagonal) and node.inner in known:
            known[node] = Diagonal(node.side, known[node.inner])
        else:
            known[node] = change(node)
    return known[expression]


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


def log_derivatives(expression: Expression) -> dict[str, Expression]:
    """Return the derivatives with respect to the logarithms of all hyperparameters, by name."""
    touched: dict[str, list[Expression]] = {}  # the nodes that depend on a hyperparameter, children first
    depends: dict[Expression, dict[str, None]] = {}
    for node in nodes(expression):
        own = node.statistic.parameters() if isinstance(node, Stat) else (node,) if isinstance(node, Param) else ()
        depends[node] = {param.name: None for param in own}
        for inner in node.children:
            depends[node] |= depends[inner]
        for name in depends[node]:
            touched.setdefault(name, []).append(node)
    return {name: log_derivative(expression, name, touched[name]) for name in depends[expression]}


def log_derivative(
    expression: Expression,
    name: str,
    touched: Iterable[Expression] | None = None,
    rules: Mapping[str, Callable[[Call, list[Expression]], Expression]] | None = None,
) -> Expression:
    """Return the derivative by the logarithm of a hyperparameter, on which no other than ``touched`` nodes depend.

    ``rules`` make derivatives of operations that kernels do not have, from those of their arguments.
    """
    known: dict[Expression, Expression] = defaultdict(lambda: Const(0.0))  # what does not depend on it
    for node in nodes(expression) if touched is None else touched:
        own = rules.get(node.op) if rules and isinstance(node, Call) else None
        if own is not None:
            known[node] = own(cast(Call, node), [known[arg] for arg in node.children])
        else:
            known[node] = _derive_node(node, name, known)
    return known[expression]


def _derive_node(node: Expression, name: str, known: dict[Expression, Expression]) -> Expression:
    if isinstance(node, Param):
        return Const(node.value if node.name == name else 0.0)
    if isinstance(node, Stat):
        return node.statistic.log_derivative(name)
    if isinstance(node, Diagonal):
        inner = known[node.inner]
        return inner if isinstance(inner, Const) else Diagonal(node.side, inner)
    if not isinstance(node, Call):
        return Const(0.0)
    if node.op == "add":
        return add(known[node.args[0]], known[node.args[1]])
    if node.op == "mul":
        a, b = node.args
        return add(multiply(known[a], b), multiply(a, known[b]))
    inner = known[node.args[0]]
    return inner if inner == Const(0.0) else multiply(derive_outer(node), inner)


def derive_outer(node: Call) -> Expression:
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
