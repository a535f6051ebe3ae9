"""Where everything goes: a tree of mathematics becomes boxes, with signs, fractions and parentheses decided once.

What is inside what decides about parentheses.  Everything may stand alone; a term must not be a sum, a factor must be
one thing without a sign, and what has an exponent must be closed on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from .tree import (
    Absolute,
    Apply,
    Dots,
    Indexed,
    Inner,
    Letter,
    Listed,
    Node,
    Norm,
    Number,
    Product,
    Relation,
    Sum,
    Total,
    Unnamed,
    Word,
    walk_tree,
)

ALONE, TERM, FACTOR, CLOSED = range(4)  # what a place asks of what stands there
SMALL_DENOMINATOR = 9  # up to which a number is a fraction
DIGITS = 5  # of numbers
ROUNDING = 1e-14  # relative, up to which a number is taken for a fraction or a root

Kind = Literal["number", "letter", "word", "function", "sign", "operator", "space", "comma"]


@dataclass(frozen=True)
class Token:
    """A number, name or sign."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Row:
    """Boxes side by side."""

    parts: tuple[Box, ...]


@dataclass(frozen=True)
class Over:
    """A fraction."""

    top: Box
    bottom: Box


@dataclass(frozen=True)
class Script:
    """A box with something small below and above on its right; of a large sign right below and above."""

    base: Box
    below: Box | None = None
    above: Box | None = None


@dataclass(frozen=True)
class Rooted:
    """A square root."""

    inside: Box


@dataclass(frozen=True)
class Fenced:
    """A box between two delimiters as tall as itself."""

    left: str
    inside: Box
    right: str


Box = Token | Row | Over | Script | Rooted | Fenced
MINUS, COMMA, THIN, DOT = Token("sign", "−"), Token("comma", ","), Token("space", " "), Token("operator", "·")


def lay_out(tree: Node) -> Box:
    """Return the boxes of a tree."""
    sharing: dict[str, list[Unnamed]] = {}
    for node in walk_tree(tree):
        if isinstance(node, Unnamed) and node not in sharing.setdefault(node.letter, []):
            sharing[node.letter].append(node)
    return _Layout(sharing).place(tree, ALONE)


class _Layout:
    """The layout of one formula, in which things without a name are numbered."""

    def __init__(self, sharing: dict[str, list[Unnamed]]) -> None:
        self.sharing = sharing

    def place(self, node: Node, where: int) -> Box:
        """Return a box that may stand in a place, in parentheses if it has to."""
        box, kind = self.draw(node)
        return Fenced("(", box, ")") if kind < where else box

    def draw(self, node: Node) -> tuple[Box, int]:
        """Return the box of a node, and the most demanding place that it may stand in."""
        match node:
            case Number():
                return _draw_number(node.value)
            case Letter():
                return Token("letter", node.name), CLOSED
            case Unnamed():
                return self._draw_unnamed(node), CLOSED
            case Word():
                return Token("word", node.text), CLOSED
            case Dots():
                return Token("sign", "⋯"), CLOSED
            case Listed():
                parts = self._separate(node.parts)
                return (Fenced("(", parts, ")") if node.vector else parts), CLOSED
            case Indexed():
                return self._draw_indexed(node), CLOSED
            case Apply():
                return self._draw_call(node), FACTOR if node.function in ("exp", "log") else CLOSED
            case Norm():
                box: Box = Fenced("‖", self.place(node.inside, ALONE), "‖")
                return (box if node.order is None else Script(box, self.place(node.order, ALONE))), CLOSED
            case Absolute():
                return Fenced("|", self.place(node.inside, ALONE), "|"), CLOSED
            case Inner():
                left = raise_box(self.place(node.left, CLOSED), Token("sign", "⊤"))
                return Row((left, self.place(node.right, CLOSED))), FACTOR
            case Relation():
                sides = (self.place(node.left, ALONE), Token("operator", node.sign), self.place(node.right, ALONE))
                if node.indicator:
                    return Row((Token("number", "1"), Fenced("[", Row(sides), "]"))), FACTOR
                return Row(sides), ALONE
            case Total():
                above = None if node.above is None else self.place(node.above, ALONE)
                sign = Script(Token("sign", "∑"), self.place(node.below, ALONE), above)
                return Row((sign, self.place(node.term, TERM))), TERM
            case Sum():
                return self._draw_sum(node), ALONE
            case Product():
                return self._draw_product(node)
        raise TypeError(f"no layout is known for {node!r}")

    def _draw_unnamed(self, node: Unnamed) -> Box:
        letter, others = Token("letter", node.letter), self.sharing[node.letter]
        return letter if len(others) == 1 else Script(letter, Token("number", str(1 + others.index(node))))

    def _separate(self, parts: tuple[Node, ...]) -> Box:
        boxes: list[Box] = []
        for part in parts:
            boxes += [COMMA, self.place(part, ALONE)]
        return Row(tuple(boxes[1:]))

    def _draw_indexed(self, node: Indexed) -> Box:
        base = self.place(node.base, CLOSED)
        return Script(Fenced("(", base, ")") if isinstance(base, Script) else base, self.place(node.index, ALONE))

    def _draw_call(self, node: Apply, above: Box | None = None) -> Box:
        known = isinstance(node.function, str)
        name: Box = Token("function", str(node.function)) if known else self.place(node.function, CLOSED)  # type: ignore[arg-type]
        name = name if above is None else raise_box(name, above)
        return Row((name, Fenced("(", self._separate(node.arguments), ")")))

    def _draw_sum(self, node: Sum) -> Box:
        first, *others = node.terms
        boxes: list[Box] = [self.draw(first)[0]]  # whose sign may stand in front
        for term in others:
            positive = _flip(term)
            boxes += [Token("operator", "+" if positive is None else "−"), self.place(positive or term, TERM)]
        return Row(tuple(boxes))

    def _draw_product(self, node: Product) -> tuple[Box, int]:
        negative, top, bottom = _split_coefficient(node.coefficient)
        above = [(base, e) for base, e in node.powers if e > 0 or _stays_above(base, e)]
        below = [(base, -e) for base, e in node.powers if e < 0 and not _stays_above(base, e)]
        top = [part for part in top if part != Token("number", "1")]
        if not (bottom or below):
            box, kind = self._multiply(top, above), FACTOR if len(top) + len(above) == 1 else TERM
        else:
            behind = [(base, e) for base, e in above if isinstance(base, Total) and e == 1]  # sums are wide
            above = [pair for pair in above if pair not in behind]
            box, kind = Over(self._multiply(top, above, ALONE), self._multiply(bottom, below, ALONE)), FACTOR
            if behind:
                box, kind = Row((box, THIN, self._multiply([], behind))), TERM
        return (Row((MINUS, box)), ALONE) if negative else (box, kind)

    def _multiply(self, numbers: list[Box], powers: Sequence[tuple[Node, float]], single: int = FACTOR) -> Box:
        """Return factors side by side, numbers first, with a dot between two numbers and sums over terms last.

        ``single`` is the place of a factor that is the only one.
        """
        single = single if len(numbers) + len(powers) == 1 else FACTOR
        powers = sorted(powers, key=lambda pair: (not isinstance(pair[0], Number), isinstance(pair[0], Total)))
        boxes = list(numbers)
        for place, (base, exponent) in enumerate(powers):
            last = place == len(powers) - 1
            if exponent == 1:
                boxes.append(self.place(base, TERM if last and isinstance(base, Total) else single))
            elif exponent == 0.5:
                boxes.append(Rooted(self.place(base, ALONE)))
            elif isinstance(base, Apply) and base.function in ("sin", "cos", "tanh") and exponent == 2:
                boxes.append(self._draw_call(base, _draw_number(exponent)[0]))
            else:
                boxes.append(raise_box(self.place(base, CLOSED), _draw_number(exponent)[0]))
        parts: list[Box] = []
        for box in boxes:
            parts += [DOT if _begins_with_digit(box) else THIN, box]
        return Row(tuple(parts[1:])) if len(boxes) > 1 else (boxes or [Token("number", "1")])[0]


def raise_box(box: Box, above: Box) -> Box:
    """Return a box with something above it on its right."""
    return replace(box, above=above) if isinstance(box, Script) and box.above is None else Script(box, None, above)


def _stays_above(base: Node, exponent: float) -> bool:
    """Whether a negative power is better not written as a fraction: one of a sum that is neither whole nor a root."""
    return isinstance(base, Sum) and exponent < 0 and not (exponent.is_integer() or exponent == -0.5)


def _flip(term: Node) -> Node | None:
    """Return a term with the other sign if it is negative, and otherwise None."""
    if isinstance(term, Number) and term.value < 0:
        return Number(-term.value)
    if isinstance(term, Product) and term.coefficient < 0:
        return Product(-term.coefficient, term.powers)
    return None


def _begins_with_digit(box: Box) -> bool:
    if isinstance(box, Row):
        return _begins_with_digit(box.parts[0])
    if isinstance(box, Script):
        return _begins_with_digit(box.base)
    return isinstance(box, Token) and box.kind == "number"


def _draw_number(value: float) -> tuple[Box, int]:
    """Return a number in a few digits, with a power of ten where it is very large or small."""
    mantissa, _, power = f"{abs(value):.{DIGITS}g}".partition("e")
    box: Box = Token("number", mantissa)
    kind = CLOSED
    if power:
        exponent = int(power)
        sign = [MINUS] if exponent < 0 else []
        ten = Script(Token("number", "10"), None, Row((*sign, Token("number", str(abs(exponent))))))
        box, kind = (ten if mantissa == "1" else Row((box, DOT, ten))), FACTOR
    return (Row((MINUS, box)), ALONE) if value < 0 else (box, kind)


def _split_coefficient(value: float) -> tuple[bool, list[Box], list[Box]]:
    """Return whether a number is negative, and the numbers above and below the line that it is made of."""
    size, one = abs(value), Token("number", "1")
    near = Fraction(size).limit_denominator(SMALL_DENOMINATOR)
    if near and size < 1e6 and math.isclose(float(near), size, rel_tol=ROUNDING):
        bottom: list[Box] = [] if near.denominator == 1 else [Token("number", str(near.denominator))]
        return value < 0, [Token("number", str(near.numerator))], bottom
    if (square := _find_square(size)) is not None:
        return value < 0, [Rooted(_draw_number(square)[0])], []
    if (square := _find_square(1.0 / size)) is not None:
        return value < 0, [one], [Rooted(_draw_number(square)[0])]
    return value < 0, [_draw_number(size)[0]], []


def _find_square(root: float) -> float | None:
    """Return the number of few digits that a number is the root of, if there is one."""
    square = round(root * root, 10) if root < 1e6 else 0.0
    short = square > 0 and len(f"{square:.10g}") <= DIGITS
    return square if short and math.isclose(math.sqrt(square), root, rel_tol=ROUNDING) else None
