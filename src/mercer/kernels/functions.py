"""Functions of two points from text, for the question whether they are kernels."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from mercer.formula.syntax import CONSTANTS, FUNCTION_NAMES, OPERATORS, SourceReader, quote, read
from mercer.messages import did_you_mean

from .base import Kernel
from .text import CLASSES, parse_kernel

Evaluate = Callable[[Any, Any], Any]
EXACT_BITS = 20_000  # of a power in rational arithmetic, beyond which it would take long

_POINTS = ("x", "z")
_REDUCTIONS: dict[str, Any] = {
    "sum": np.sum, "prod": np.prod, "norm": lambda v: np.sqrt(_squares(v)), "min": np.min, "max": np.max,
}  # fmt: skip
_PAIRS: dict[str, Any] = {"min": np.minimum, "max": np.maximum}
NAMES = (*_POINTS, *CONSTANTS, *FUNCTION_NAMES)


@dataclass(frozen=True, repr=False)
class PointFunction:
    """A function of two points that was read from text.

    Parameters
    ----------
    text : str
        The expression in x and z.

    Attributes
    ----------
    is_vector : bool
        Whether the value has an entry for each feature, so that it is a number for points with one feature only.
    least_dim : int
        The number of features that points need at least.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels.functions import PointFunction
    >>> f = PointFunction("exp(-norm(x - z)**2 / 2)")
    >>> float(f(np.zeros(3), np.ones(3)).round(4))
    0.2231
    """

    text: str
    is_vector: bool = field(init=False, compare=False)
    least_dim: int = field(init=False, compare=False)
    _evaluate: Evaluate = field(init=False, compare=False)

    def __post_init__(self) -> None:
        reader = _FunctionReader(read(self.text))
        term = reader.read_all()
        for name, value in (("_evaluate", term.evaluate), ("is_vector", term.vector), ("least_dim", reader.least_dim)):
            object.__setattr__(self, name, value)

    def __call__(self, x: Any, z: Any) -> Any:
        """Return the value at two points, arrays of shape (d,)."""
        return self._evaluate(x, z)

    def __reduce__(self) -> tuple[type[PointFunction], tuple[str]]:
        return PointFunction, (self.text,)

    @property
    def __name__(self) -> str:  # how verdicts call it
        return " ".join(self.text.split())

    def __repr__(self) -> str:
        return f"<function of x and z: {self.__name__}>"


def parse_function(text: str) -> PointFunction:
    """Read a function of two points x and z from text, without running any of it.

    Parameters
    ----------
    text : str
        The expression: numbers, ``pi``, ``e``, the vectors ``x`` and ``z``, their entries such as ``x[0]``,
        ``+ - * / **``, and the functions ``norm dot sum prod min max abs exp log sqrt sin cos tan sinh cosh tanh``,
        which work elementwise on vectors where it makes sense.

    Returns
    -------
    PointFunction
        The function, for :func:`mercer.certify`.

    Raises
    ------
    ExpressionError
        If the text is something else; it says where.

    Examples
    --------
    >>> import mercer
    >>> from mercer.kernels.functions import parse_function
    >>> verdict = mercer.certify(parse_function("exp(-norm(x-z)**2.05)"))
    >>> verdict.value < 0
    True
    >>> print(mercer.certify(parse_function("dot(x, z) - 1")).headline())
    Refuted: dot(x, z) - 1 is not a kernel (1 point, value −1)
    """
    return PointFunction(text)


def is_function(tree: ast.AST) -> bool:
    """Whether an expression mentions x or z."""
    return any(isinstance(node, ast.Name) and node.id in _POINTS for node in ast.walk(tree))


@dataclass(frozen=True)
class _Term:
    """A part of the expression: how it is evaluated, and whether it has an entry for each feature."""

    evaluate: Evaluate
    vector: bool = False
    constant: int | float | None = None
    squares: Evaluate | None = None  # of a norm: its square, which needs no root and is exact in fractions


class _FunctionReader(SourceReader):
    """A walk over the nodes that functions are made of."""

    least_dim = 1

    def read_constant(self, node: ast.Constant) -> _Term:
        return _make_number(self.literal(node))

    def read_name(self, node: ast.Name) -> _Term:
        if node.id in _POINTS:
            return _Term((lambda x, z: x) if node.id == "x" else (lambda x, z: z), vector=True)
        if node.id in CONSTANTS:
            return _make_number(CONSTANTS[node.id])
        if node.id in NAMES:
            raise self.error(node, f"{node.id} is a function; write {node.id}(…)")
        raise self._unknown(node, node.id)

    def _unknown(self, node: ast.expr, name: str) -> ValueError:
        if name.replace("_", "").lower() in {known.lower() for known in CLASSES}:
            return self.error(
                node, f"{name} is a kernel, and this is a function of x and z; write kernels without x and z, "
                "for example 2*Gaussian(1) + Linear()",
            )  # fmt: skip
        hint = did_you_mean(name, NAMES) or f" is not known; there are {', '.join(NAMES)}"
        return self.error(node, f"{quote(name)[1:-1]}{hint}")

    def read_unaryop(self, node: ast.UnaryOp) -> _Term:
        inner = self.read(node.operand)
        if isinstance(node.op, ast.UAdd):
            return inner
        if inner.constant is not None:
            return _make_number(-inner.constant)
        evaluate = inner.evaluate
        return _Term(lambda x, z: -evaluate(x, z), inner.vector)

    def read_binop(self, node: ast.BinOp) -> _Term:
        left, right = self.read(node.left), self.read(node.right)
        if isinstance(node.op, ast.MatMult):
            return _combine(_dot, left, right, vector=False)
        if left.constant is not None and right.constant is not None:
            return _make_number(self.combine(node, left.constant, right.constant))
        if isinstance(node.op, ast.Pow):
            if left.squares is not None and right.constant == 2:
                return _Term(left.squares)
            return _combine(_power, left, right)
        if type(node.op) not in OPERATORS:
            raise self.refuse(node)
        return _combine(_divide if isinstance(node.op, ast.Div) else OPERATORS[type(node.op)], left, right)

    def read_subscript(self, node: ast.Subscript) -> _Term:
        of, index = self.read(node.value), node.slice
        negative = isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub)
        inner = index.operand if isinstance(index, ast.UnaryOp) else index
        if not of.vector:
            raise self.error(node, "only vectors such as x and z have entries")
        if not isinstance(inner, ast.Constant) or type(inner.value) is not int or (inner is not index and not negative):
            raise self.error(node, "an entry is given by a whole number, as in x[0]")
        position = -inner.value if negative else inner.value
        if abs(position) > 10**6:
            raise self.error(node, "the number of the entry is too large")
        self.least_dim = max(self.least_dim, position + 1, -position)
        evaluate = of.evaluate
        return _Term(lambda x, z: evaluate(x, z)[position])

    def read_call(self, node: ast.Call) -> _Term:
        if isinstance(node.func, ast.Attribute):
            raise self.error(node, f"functions have plain names here: write {quote(node.func.attr)[1:-1]}(…)")
        if not isinstance(node.func, ast.Name):
            self.read(node.func)  # which may say more
            raise self.error(node, "only names can be called, as in exp(…)")
        name = node.func.id
        if node.keywords or any(isinstance(item, ast.Starred) for item in node.args):
            raise self.error(node, f"{quote(name)[1:-1]} takes plain arguments only")
        if name in (*_POINTS, *CONSTANTS):
            raise self.error(node, f"{name} is no function; to multiply, write *")
        if name not in NAMES:
            raise self._unknown(node, name)
        arguments = [self.read(item) for item in node.args]
        expected = 2 if name == "dot" else 1
        if len(arguments) != expected and not (name in _PAIRS and len(arguments) > 1):
            raise self.error(node, f"{name} takes {expected} argument{'s' * (expected > 1)}, got {len(arguments)}")
        return _apply(name, arguments)


def _apply(name: str, arguments: list[_Term]) -> _Term:
    if name == "dot":
        return _combine(_dot, arguments[0], arguments[1], vector=False)
    if len(arguments) > 1:
        return reduce(lambda a, b: _combine(_PAIRS[name], a, b), arguments)
    evaluate = arguments[0].evaluate
    if name in _REDUCTIONS:
        function = _REDUCTIONS[name]
        squares = (lambda x, z: _squares(evaluate(x, z))) if name == "norm" else None
        return _Term(lambda x, z: function(evaluate(x, z)), squares=squares)
    function = getattr(np, name)  # elementwise
    return _Term(lambda x, z: function(evaluate(x, z)), arguments[0].vector)


def _make_number(value: int | float) -> _Term:
    """A constant; among fractions it is one too, so that refutations can be checked without rounding."""
    if isinstance(value, int) or not math.isfinite(value):
        return _Term(lambda x, z: value, constant=value)
    exact = Fraction(value)
    return _Term(lambda x, z: exact if _is_exact(x) else value, constant=value)


def _combine(function: Callable[[Any, Any], Any], left: _Term, right: _Term, vector: bool | None = None) -> _Term:
    a, b = left.evaluate, right.evaluate
    either = left.vector or right.vector
    return _Term(lambda x, z: function(a(x, z), b(x, z)), either if vector is None else vector)


def _is_exact(value: Any) -> bool:
    return isinstance(value, Fraction) or (isinstance(value, np.ndarray) and value.dtype == object)


def _dot(a: Any, b: Any) -> Any:
    return np.sum(a * b)


def _squares(v: Any) -> Any:
    return np.sum(v * v)


def _divide(a: Any, b: Any) -> Any:
    # NumPy numbers divide by zero to infinity, which certify reports; plain numbers would raise.
    return a / b if _is_exact(a) or _is_exact(b) else np.true_divide(a, b)


def _power(base: Any, exponent: Any) -> Any:
    if not (_is_exact(base) or _is_exact(exponent)):
        return np.power(np.asarray(base) * 1.0, exponent)[()]
    for b, p in np.broadcast(base, exponent):
        bits = max(Fraction(b).numerator.bit_length(), Fraction(b).denominator.bit_length())
        if abs(p) * bits > EXACT_BITS:
            raise OverflowError("a power in rational arithmetic would take too many digits")
    return base**exponent


def parse_expression(text: str) -> Kernel | PointFunction:
    """Read a function if the text mentions x or z, and otherwise a kernel.

    Parameters
    ----------
    text : str
        The expression.

    Examples
    --------
    >>> from mercer.kernels.functions import parse_expression
    >>> parse_expression("2*gaussian + Linear()")
    2.0 * Gaussian(length_scale=1.0) + Linear()
    >>> parse_expression("min(x[0], z[0])")
    <function of x and z: min(x[0], z[0])>
    """
    return parse_function(text) if is_function(read(text).tree) else parse_kernel(text)
