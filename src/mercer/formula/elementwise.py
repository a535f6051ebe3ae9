"""Functions of numbers as formulas: written in plain NumPy, followed once, and then differentiated and evaluated.

A loss is a function of a target y and an output f.  Called with two :class:`Traced` numbers instead of arrays, its
code builds an expression of the same nodes that kernels are made of, and of a few more that only functions of numbers
have: absolute values, the larger of two, choices by a condition.  Each of these stands in three tables here: what
builds it, what computes it for arrays and tensors, and its derivative.  Kernels know nothing of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from mercer.arrays import Array
from mercer.arrays.namespace import expit, namespace
from mercer.arrays.tensors import is_tensor

from .data import Steps
from .expression import (
    Call,
    Const,
    Expression,
    Stat,
    add,
    apply_to,
    log_derivative,
    multiply,
    power,
    reciprocal,
    schedule,
    wrap,
)
from .statistics import Statistic

ZERO, ONE = Const(0.0), Const(1.0)
LOG_2 = math.log(2.0)


class NotFollowedError(TypeError):
    """The code of a function does something that no formula has."""


@dataclass(frozen=True)
class Variable(Statistic):
    """A number that a formula is a function of; its derivative by itself is 1."""

    name: str = ""

    def log_derivative(self, name: str) -> Expression:
        """Return 1 for its own name, and 0 for others."""
        return ONE if name == self.name else ZERO


def trace(function: Callable[..., Any], *names: str) -> Expression:
    """Return the formula that a function of numbers with these names computes, or raise :class:`NotFollowedError`.

    Examples
    --------
    >>> formula = trace(lambda y, f: np.maximum(0, 1 - y * f) ** 2, "y", "f")
    >>> slope = derive(formula, "f")
    >>> compute(slope, {"y": np.array([1.0, 1.0]), "f": np.array([0.5, 3.0])})
    array([-1.,  0.])
    """
    try:
        return _unwrap(function(*(Traced(Stat(Variable(Steps(), "", name))) for name in names)))
    except Exception as error:  # a function may do anything with what it is given
        raise NotFollowedError(f"{error}") from error


def derive(formula: Expression, name: str) -> Expression:
    """Return the derivative by a variable; that on one side where there are two."""
    return log_derivative(formula, name, rules=RULES)


def compute(formula: Expression, given: Mapping[str, Array]) -> Array:
    """Return the values of a formula for arrays or tensors of its variables, all of one shape."""
    some = next(iter(given.values()))
    number: Callable[[float], Any] = np.float64
    if is_tensor(some):
        number = functools.partial(namespace(some).asarray, dtype=some.dtype, device=some.device)
    operations, steps = _operations(namespace(some)), _order_steps(formula)
    known: list[Any] = [None] * len(steps)
    with np.errstate(all="ignore"):  # overflow is for callers to find
        for place, (leaf, args, constants, done) in enumerate(steps):
            if args:
                known[place] = operations[leaf](*[known[arg] for arg in args], *constants)
            else:
                known[place] = given[leaf] if leaf else number(constants[0])
            for arg in done:
                known[arg] = None
    found = known[-1]
    own = len(steps) > 1 and np.ndim(found)  # or else it is a variable, or one number for all
    return found if own else found + 0.0 * some


@functools.lru_cache(maxsize=1000)
def _order_steps(formula: Expression) -> list[tuple[str, list[int], tuple[float, ...], list[int]]]:
    """Return the nodes as they are computed: an operation or variable, its arguments, numbers, and what is let go."""
    order = list(schedule(formula))
    place = {node: i for i, (node, _) in enumerate(order)}
    steps = []
    for node, done in order:
        name = node.op if isinstance(node, Call) else node.statistic.name if isinstance(node, Stat) else ""  # type: ignore[attr-defined]
        numbers = (node.value,) if isinstance(node, Const) else node.constants if isinstance(node, Call) else ()
        steps.append((name, [place[arg] for arg in node.children], numbers, [place[arg] for arg in done]))
    return steps


class Traced(NDArrayOperatorsMixin):
    """A number whose operations are written down instead of done."""

    def __init__(self, node: Expression) -> None:
        self.node = node

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Traced:
        build = BUILDERS.get(ufunc.__name__)
        if build is None or method != "__call__" or kwargs:
            raise NotFollowedError(f"it calls {ufunc.__name__}, of which no derivative is known")
        return Traced(build(*map(_unwrap, inputs)))

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        if function is np.where and len(args) == 3 and not kwargs:
            return Traced(choose(*map(_unwrap, args)))
        if function is np.clip:
            return _clip(*args, **kwargs)
        raise NotFollowedError(f"it calls numpy.{function.__name__}, which is not a function of single numbers")

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise NotFollowedError("it makes an array of a number, as numpy.asarray does")

    def __bool__(self) -> bool:
        raise NotFollowedError("it asks whether a comparison holds, as if does; numpy.where takes both cases")

    def clip(self, *ends: Any, **named: Any) -> Traced:
        """Return the number, or the end that it is beyond."""
        return _clip(self, *ends, **named)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, **named: Any) -> Traced:
    node, low, high = _unwrap(a), named.get("min", a_min), named.get("max", a_max)
    if low is not None:
        node = larger(node, _unwrap(low))
    if high is not None:
        node = smaller(node, _unwrap(high))
    return Traced(node)


def _unwrap(value: Any) -> Expression:
    return value.node if isinstance(value, Traced) else wrap(value)


# -- what builds an operation ---------------------------------------------------------------------------------------


def choose(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    """Return one of two, by whether the condition is 0."""
    return then if then == otherwise else Call("where", (condition, then, otherwise))


def larger(a: Expression, b: Expression) -> Expression:
    """Return the maximum of two."""
    return Call("max", (a, b))


def smaller(a: Expression, b: Expression) -> Expression:
    """Return the minimum of two."""
    return -larger(-a, -b)


def compare(op: str) -> Callable[[Expression, Expression], Expression]:
    """Return the function that builds a comparison, 1 where it holds and 0 elsewhere."""
    return lambda a, b: Call(op, (a, b))


def _logarithm(a: Expression) -> Expression:
    """Return ln a, of sums of exponentials in the form that neither overflows nor loses digits."""
    ends = _read_exponents(a)
    if ends is not None:
        return Call("logaddexp", ends)
    if isinstance(a, Call) and a.op == "cosh":
        return Call("logaddexp", (a.args[0], -a.args[0])) - LOG_2
    return Call("log", (a,))


def _logarithm_next(a: Expression) -> Expression:
    return Call("logaddexp", (ZERO, a.args[0])) if isinstance(a, Call) and a.op == "exp" else Call("log1p", (a,))


def _read_exponents(a: Expression) -> tuple[Expression, Expression] | None:
    """Return b and c if a node is exp(b) + exp(c); a positive number is exp of its logarithm."""
    if not (isinstance(a, Call) and a.op == "add"):
        return None
    found = []
    for part in a.args:
        if isinstance(part, Call) and part.op == "exp":
            found.append(part.args[0])
        elif isinstance(part, Const) and part.value > 0:
            found.append(Const(math.log(part.value)))
    return (found[0], found[1]) if len(found) == 2 else None


def _divide(a: Expression, b: Expression) -> Expression:
    """Return a/b; 1/(1 + exp(x)) in the form whose derivatives do not overflow."""
    ends = _read_exponents(b)
    if ends is not None and ZERO in ends:
        x = ends[1] if ends[0] == ZERO else ends[0]
        return multiply(a, Call("expit", (-x,)))
    return multiply(a, reciprocal(b))


def _raise(a: Expression, b: Expression) -> Expression:
    if isinstance(b, Const):
        return power(a, b.value)
    log = Const(math.log(a.value)) if isinstance(a, Const) and a.value > 0 else Call("log", (a,))
    return Call("exp", (multiply(log, b),))


BUILDERS: dict[str, Callable[..., Expression]] = {  # by the names of NumPy's and SciPy's functions of numbers
    "add": add,
    "subtract": lambda a, b: a - b,
    "multiply": multiply,
    "divide": _divide,
    "negative": lambda a: -a,
    "positive": lambda a: a,
    "power": _raise,
    "float_power": _raise,
    "square": lambda a: power(a, 2),
    "reciprocal": lambda a: _divide(ONE, a),
    "sqrt": apply_to("sqrt"),
    "hypot": lambda a, b: Call("hypot", (a, b)),
    "absolute": apply_to("abs"),
    "fabs": apply_to("abs"),
    "sign": apply_to("sign"),
    "exp": apply_to("exp"),
    "exp2": lambda a: _raise(Const(2.0), a),
    "expm1": apply_to("expm1"),
    "log": _logarithm,
    "log2": lambda a: _logarithm(a) * (1.0 / LOG_2),
    "log10": lambda a: _logarithm(a) * (1.0 / math.log(10.0)),
    "log1p": _logarithm_next,
    "logaddexp": lambda a, b: Call("logaddexp", (a, b)),
    "expit": apply_to("expit"),
    "log_expit": lambda a: -Call("logaddexp", (ZERO, -a)),
    "cosh": apply_to("cosh"),
    "sinh": apply_to("sinh"),
    "tanh": apply_to("tanh"),
    "arctan": apply_to("arctan"),
    "arcsinh": apply_to("arcsinh"),
    "sin": apply_to("sin"),
    "cos": apply_to("cos"),
    "maximum": larger,
    "minimum": smaller,
    "fmax": larger,
    "fmin": smaller,
    "greater": compare("greater"),
    "greater_equal": compare("greater_equal"),
    "less": lambda a, b: Call("greater", (b, a)),
    "less_equal": lambda a, b: Call("greater_equal", (b, a)),
    "equal": compare("equal"),
    "not_equal": lambda a, b: 1.0 - Call("equal", (a, b)),
    "logical_and": multiply,
    "logical_or": larger,
    "logical_not": lambda a: 1.0 - a,
    "bitwise_and": multiply,
    "bitwise_or": larger,
    "invert": lambda a: 1.0 - a,
}


# -- what computes it -----------------------------------------------------------------------------------------------


@functools.cache
def _operations(xp: Any) -> dict[str, Callable[..., Any]]:
    """Return the values of all operations in a namespace; 1/0 is 0, and roots of less than 0 are, as in kernels."""
    return {
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "recip": lambda a: xp.where(a == 0, a, 1.0 / xp.where(a == 0, 1.0, a)),
        "powi": lambda a, exponent: a ** int(exponent),
        "pow": lambda a, exponent: xp.where(a > 0, a, 0.0) ** exponent,
        "sqrt": lambda a: xp.sqrt(xp.where(a > 0, a, 0.0)),
        "hypot": xp.hypot,
        "abs": xp.abs,
        "sign": xp.sign,
        "exp": xp.exp,
        "expm1": xp.expm1,
        "log": xp.log,
        "log1p": xp.log1p,
        "logaddexp": xp.logaddexp,
        "expit": expit,
        "cosh": xp.cosh,
        "sinh": xp.sinh,
        "tanh": xp.tanh,
        "arctan": xp.atan,
        "arcsinh": xp.asinh,
        "sin": xp.sin,
        "cos": xp.cos,
        "max": xp.maximum,
        "where": lambda condition, a, b: xp.where(condition != 0, a, b),
        "greater": lambda a, b: (a > b) * 1.0,
        "greater_equal": lambda a, b: (a >= b) * 1.0,
        "equal": lambda a, b: (a == b) * 1.0,
    }


# -- its derivative -------------------------------------------------------------------------------------------------

Rule = Callable[[Call, list[Expression]], Expression]


def _by_chain(outer: Callable[..., Expression]) -> Rule:
    """Return the rule of an operation with one argument, from its derivative by that."""

    def rule(node: Call, inner: list[Expression]) -> Expression:
        return ZERO if inner[0] == ZERO else multiply(outer(node.args[0]), inner[0])

    return rule


def _derive_logaddexp(node: Call, inner: list[Expression]) -> Expression:
    a, b = node.args
    return add(multiply(Call("expit", (a - b,)), inner[0]), multiply(Call("expit", (b - a,)), inner[1]))


def _derive_hypot(node: Call, inner: list[Expression]) -> Expression:
    a, b = node.args
    return multiply(add(multiply(a, inner[0]), multiply(b, inner[1])), reciprocal(node))


RULES: dict[str, Rule] = {
    "abs": _by_chain(apply_to("sign")),
    "expm1": _by_chain(apply_to("exp")),
    "expit": _by_chain(lambda a: multiply(Call("expit", (a,)), Call("expit", (-a,)))),
    "cosh": _by_chain(apply_to("sinh")),
    "sinh": _by_chain(apply_to("cosh")),
    "arctan": _by_chain(lambda a: reciprocal(1.0 + power(a, 2))),
    "arcsinh": _by_chain(lambda a: reciprocal(Call("hypot", (ONE, a)))),
    "sin": _by_chain(apply_to("cos")),
    "cos": _by_chain(lambda a: -Call("sin", (a,))),
    "max": lambda node, inner: choose(Call("greater", node.args), *inner),
    "where": lambda node, inner: choose(node.args[0], inner[1], inner[2]),
    "logaddexp": _derive_logaddexp,
    "hypot": _derive_hypot,
    **dict.fromkeys(("sign", "greater", "greater_equal", "equal"), lambda node, inner: ZERO),
}
