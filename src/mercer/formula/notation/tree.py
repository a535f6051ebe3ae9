"""Mathematics as a tree, in the few forms that the formulas of kernels take.

Products keep the powers of what they are made of, so that a root of ‖x − z‖²/σ² is ‖x − z‖/σ, and a quotient is one
fraction however it came about.  Where parentheses go is not decided here but in the layout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, cast

LONGEST_WORD = 24  # characters of a name in a formula
FEW = 4  # entries of a list up to which all are shown


class Node:
    """A part of a formula; equal parts are equal values."""

    @property
    def children(self) -> tuple[Node, ...]:
        """The parts inside."""
        found: list[Node] = []
        for field in fields(cast(Any, self)):
            value = getattr(self, field.name)
            for part in value if isinstance(value, tuple) else (value,):
                inner = part[0] if isinstance(part, tuple) else part  # of a power, its base
                found += [inner] if isinstance(inner, Node) else []
        return tuple(found)

    @cached_property
    def size(self) -> int:
        """About how many characters it takes."""
        return 1 + sum(part.size for part in self.children)


@dataclass(frozen=True)
class Number(Node):
    """A number; one that is ``given`` is a parameter, and is shown as such where another would be multiplied out."""

    value: float
    given: bool = False

    @cached_property
    def size(self) -> int:
        """As many as digits are shown."""
        return len(f"{self.value:.5g}")


@dataclass(frozen=True)
class Letter(Node):
    """A variable or a sign, by the character that stands for it."""

    name: str


@dataclass(frozen=True)
class Unnamed(Node):
    """Something without a name of its own, such as a lambda: a letter, numbered where others share it."""

    letter: str
    key: Hashable


@dataclass(frozen=True)
class Word(Node):
    """An upright name or other text, which may come from anywhere."""

    text: str

    @cached_property
    def size(self) -> int:
        """As many as there are letters."""
        return min(len(self.text), LONGEST_WORD)


@dataclass(frozen=True)
class Dots(Node):
    """Parts that are left out."""


@dataclass(frozen=True)
class Listed(Node):
    """Parts with commas between them, in parentheses if it is a vector."""

    parts: tuple[Node, ...]
    vector: bool = False


@dataclass(frozen=True)
class Indexed(Node):
    """Something with an index below; it is one number if ``single``, and otherwise a vector."""

    base: Node
    index: Node
    single: bool = False


@dataclass(frozen=True)
class Apply(Node):
    """A function of arguments; the function is the name of a known one, or any node."""

    function: str | Node
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Norm(Node):
    """‖inside‖, or with an order ‖inside‖ₚ."""

    inside: Node
    order: Node | None = None


@dataclass(frozen=True)
class Absolute(Node):
    """|inside|."""

    inside: Node


@dataclass(frozen=True)
class Inner(Node):
    """The dot product leftᵀright."""

    left: Node
    right: Node


@dataclass(frozen=True)
class Relation(Node):
    """Two sides with a sign between them; an ``indicator`` is 1 where it holds."""

    left: Node
    sign: str
    right: Node
    indicator: bool = False


@dataclass(frozen=True)
class Total(Node):
    """The sum of a term, over what is written below and up to what is written above."""

    term: Node
    below: Node
    above: Node | None = None


@dataclass(frozen=True)
class Sum(Node):
    """Terms, none of which is a sum."""

    terms: tuple[Node, ...]


@dataclass(frozen=True)
class Product(Node):
    """coefficient · Π base^exponent; bases are no products."""

    coefficient: float
    powers: tuple[tuple[Node, float], ...]


ZERO, ONE, DOTS = Number(0.0), Number(1.0), Dots()
PI, COORDINATE = Letter("π"), Letter("d")


def given(value: float) -> Node:
    """Return the number in a parameter."""
    return Number(float(value), given=True)


def plus(*terms: Node) -> Node:
    """Return a sum, without zeros.

    Examples
    --------
    >>> x = Letter("x")
    >>> plus(x, ZERO) == x, plus(ONE, ONE) == Number(2.0)
    (True, True)
    """
    flat = [part for term in terms for part in (term.terms if isinstance(term, Sum) else (term,))]
    left = [part for part in flat if not (isinstance(part, Number) and part.value == 0)]
    if left and all(isinstance(part, Number) and not part.given for part in left):
        return Number(math.fsum(cast(Number, part).value for part in left))
    return Sum(tuple(left)) if len(left) > 1 else (left or [ZERO])[0]


def minus(a: Node, b: Node) -> Node:
    """Return a − b."""
    return plus(a, times(Number(-1.0), b))


def times(*factors: Node) -> Node:
    """Return a product, with the powers of equal factors added up.

    Examples
    --------
    >>> x = Letter("x")
    >>> times(x, x) == power(x, 2.0), times(x, power(x, -1.0)) == ONE
    (True, True)
    """
    coefficient, numbers, powers = 1.0, [], dict[Node, float]()
    for factor in factors:
        whole = factor if isinstance(factor, Product) else Product(1.0, ((factor, 1.0),))
        coefficient *= whole.coefficient
        for base, exponent in whole.powers:
            if not isinstance(base, Number):
                powers[base] = powers.get(base, 0.0) + exponent
                continue
            if base.value < 0:
                coefficient, base = coefficient * (-1.0) ** exponent, Number(-base.value, base.given)
            if base.given and base.value not in (0.0, 1.0):
                numbers.append((base, exponent))  # each of its own, as parameters are
            else:
                coefficient *= base.value**exponent
    if coefficient == 0:
        return ZERO
    return _simplify(coefficient, (*numbers, *((base, e) for base, e in powers.items() if e != 0)))


def _simplify(coefficient: float, powers: tuple[tuple[Node, float], ...]) -> Node:
    if not powers:
        return Number(coefficient)
    if coefficient == 1 and len(powers) == 1 and powers[0][1] == 1:
        return powers[0][0]
    if coefficient == -1 and len(powers) == 1 and powers[0][1] == 1 and isinstance(powers[0][0], Number):
        return Number(-powers[0][0].value, given=True)
    return Product(coefficient, powers)


def power(base: Node, exponent: float) -> Node:
    """Return a power; those inside are multiplied out where that holds for all values.

    Examples
    --------
    >>> x = Letter("x")
    >>> power(power(Norm(x), 2.0), 0.5) == Norm(x), power(power(x, 2.0), 0.5) == x
    (True, False)
    """
    whole = base if isinstance(base, Product) else Product(1.0, ((base, 1.0),))
    if exponent == 0:
        return ONE
    if isinstance(base, Number) and base.value == 0:
        return ZERO  # also of negative powers: so kernels have it
    if not (float(exponent).is_integer() or is_never_negative(whole)):
        return Product(1.0, ((base, exponent),))
    try:
        coefficient = whole.coefficient**exponent
    except OverflowError:
        return Product(1.0, ((base, exponent),))
    # Rounded, so that 1.5 · (0.7/1.5) is 0.7 again.
    return times(Product(coefficient, tuple((inner, round(e * exponent, 12)) for inner, e in whole.powers)))


def is_never_negative(node: Node) -> bool:
    """Whether something is at least 0 whatever its letters stand for, so that roots of its powers are powers of it."""
    if isinstance(node, Number):
        return node.value >= 0
    if isinstance(node, Sum):
        return all(map(is_never_negative, node.terms))
    if isinstance(node, Product):
        # A power that is even is none of |base| yet, so that the base itself must not be negative.
        return node.coefficient >= 0 and all(is_never_negative(base) for base, _ in node.powers)
    if isinstance(node, Total):
        term = node.term
        even = isinstance(term, Product) and term.coefficient >= 0 and all(_is_even(b, e) for b, e in term.powers)
        return even or is_never_negative(term)
    if isinstance(node, Apply):
        return node.function in ("exp", "dim") or (node.function == "max" and ZERO in node.arguments)
    return isinstance(node, Norm | Absolute)


def _is_even(base: Node, exponent: float) -> bool:
    return exponent % 2 == 0 or is_never_negative(base)


def exponential(argument: Node) -> Node:
    """Return e to some power; exp(a · log b) is bᵃ."""
    if argument == ZERO:
        return ONE
    if isinstance(argument, Product):
        logs = [base for base, e in argument.powers if isinstance(base, Apply) and base.function == "log" and e == 1]
        rest = [(base.value, e) for base, e in argument.powers if isinstance(base, Number)]
        if len(logs) == 1 and len(rest) + 1 == len(argument.powers):
            exponent = argument.coefficient * math.prod(value**e for value, e in rest)
            return power(logs[0].arguments[0], exponent)
    return Apply("exp", (argument,))


def length(point: Node) -> Node:
    """Return ‖point‖, or |point| of a number."""
    return Absolute(point) if is_single(point) else Norm(point)


def is_single(point: Node) -> bool:
    """Whether a point is one number."""
    return isinstance(point, Indexed) and point.single


def sum_coordinates(term: Callable[..., Node], *points: Node) -> Node:
    """Return Σ_d term(x_d, z_d), or the term itself for points that are numbers.

    The position of the coordinate comes last, None for numbers.
    """
    if all(map(is_single, points)):
        return term(*points, None)
    found = term(*(Indexed(point, COORDINATE, single=True) for point in points), COORDINATE)
    if COORDINATE not in walk_tree(found):  # then nothing says over how many
        return times(found, Apply("dim", (points[0],)))
    return Total(found, COORDINATE)


def scale_at(scales: tuple[float, ...], position: Node | None) -> Node:
    """Return one of several numbers, that of a coordinate."""
    if position is None or not scales:
        return given(scales[0]) if scales else ONE
    return Indexed(list_values([given(value) for value in scales], vector=True), position, single=True)


def list_values(values: list[Node], vector: bool = False) -> Node:
    """Return values side by side, those in the middle left out where there are many."""
    shown = values if len(values) <= FEW else [*values[: FEW - 2], DOTS, values[-1]]
    return shown[0] if len(shown) == 1 and not vector else Listed(tuple(shown), vector)


def walk_tree(node: Node) -> Iterator[Node]:
    """Yield a node and everything inside it, from left to right."""
    left = [node]
    while left:
        found = left.pop()
        yield found
        left += reversed(found.children)
