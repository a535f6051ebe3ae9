"""From the formula that computes to the formula that is read: an expression over statistics becomes mathematics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from mercer.markup import Markup, show_wide, tag

from ..expression import Call, Const, Diagonal, Expression, Param, Stat
from .layout import lay_out
from .tree import (
    DOTS,
    ONE,
    ZERO,
    Apply,
    Indexed,
    Letter,
    Node,
    Number,
    Product,
    Relation,
    Sum,
    Word,
    exponential,
    given,
    plus,
    power,
    times,
)
from .writing import write_latex, write_mathml

LONGEST = 300  # characters of a formula, about, after which there are dots
DEEPEST = 24  # operations inside each other, likewise
MOST_NESTED = 3  # times that values at (x, x) are written out inside each other
# Fonts in which parentheses grow; browsers find some of them by themselves, but not all.
FONTS = "font-family: 'Latin Modern Math', 'STIX Two Math', 'Cambria Math', 'DejaVu Math TeX Gyre', math"
X, Z = Letter("x"), Letter("z")
VALUE = Apply(Letter("k"), (X, Z))


def read_formula(expression: Expression, x: Node = X, z: Node = Z, nested: int = 0) -> Node:
    r"""Return a formula of two points as mathematics, about 300 characters at most.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> tree = read_formula((2.0 * Gaussian(length_scale=1.5)).traced())
    >>> print(show_latex(tree))
    $2\,\exp\left(-\frac{\left\|x - z\right\|^2}{2\cdot 1.5^2}\right)$
    """
    return _Reader(x, z, nested).read(expression, 0)


class _Reader:
    """A reading of one formula at two points, from the outside in: only what is shown is looked at."""

    def __init__(self, x: Node, z: Node, nested: int) -> None:
        self.x, self.z, self.nested = x, z, nested
        self.known: dict[tuple[Expression, int], Node] = {}

    def read(self, node: Expression, depth: int) -> Node:
        """Return a node that is inside so many others."""
        if depth > DEEPEST:
            return DOTS
        if (node, depth) not in self.known:
            self.known[node, depth] = shorten_tree(self._read_node(node, depth))
        return self.known[node, depth]

    def _read_node(self, node: Expression, depth: int) -> Node:
        if isinstance(node, Const):
            return Number(node.value)
        if isinstance(node, Param):
            return given(node.value)
        if isinstance(node, Stat):
            view = node.statistic.view
            return node.statistic.notation(view.notation(self.x), view.notation(self.z))
        if isinstance(node, Diagonal):
            point = self.x if node.side == "left" else self.z
            return read_formula(node.inner, point, point, self.nested + 1) if self.nested < MOST_NESTED else DOTS
        assert isinstance(node, Call)
        parts = list(islice(_open_chain(node), LONGEST + 1))
        found = [self.read(part, depth + 1) for part in parts[:LONGEST]] + [DOTS] * (len(parts) > LONGEST)
        return _OPERATIONS.get(node.op, _call_by_name(node.op))(*found, *node.constants)


def _open_chain(node: Call) -> Iterator[Expression]:
    """Yield the arguments of an operation, of a sum or product all of its terms or factors, however it was built."""
    left: list[Expression] = list(reversed(node.args))
    while left:
        part = left.pop()
        if node.op in ("add", "mul") and isinstance(part, Call) and part.op == node.op:
            left += reversed(part.args)
        else:
            yield part


def shorten_tree(node: Node) -> Node:
    """Return a node, with dots for what is beyond the longest formula."""
    if node.size <= LONGEST:
        return node
    if isinstance(node, Sum):
        return Sum((*_take_first(node.terms), DOTS))
    if isinstance(node, Product):
        kept = _take_first(tuple(base for base, _ in node.powers))
        return Product(node.coefficient, (*node.powers[: len(kept)], (DOTS, 1.0)))
    return DOTS


def _take_first(parts: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the parts up to the first dots or the longest formula, at least one."""
    size, count = 0, 0
    for part in parts:
        size += 1 + part.size
        if count and (part == DOTS or size > LONGEST):
            break
        count += 1
    return parts[:count]


def _bessel(u: Node, exponent: float, order: float) -> Node:
    """Return u^ν K_order(u) / (2^(ν−1) Γ(ν)), 1 or 0 at u = 0."""
    if u == ZERO:
        return Number(float(exponent == order))
    scale = times(power(Number(2.0, given=True), 1.0 - exponent), power(Apply(Letter("Γ"), (given(exponent),)), -1.0))
    shown = u if exponent == 1 else Product(1.0, ((u, exponent),))  # as one, not multiplied out
    return times(scale, shown, Apply(Indexed(Letter("K"), given(order)), (u,)))


def _root(a: Node) -> Node:
    """Return √a; of a difference that may be below 0 the root of its positive part, as it is computed."""
    falls = isinstance(a, Sum) and any(isinstance(term, Product) and term.coefficient < 0 for term in a.terms)
    return power(Apply("max", (ZERO, a)) if falls else a, 0.5)


def _call_by_name(op: str) -> Callable[..., Node]:
    return lambda *args: Apply(Word(op), args)


_OPERATIONS: dict[str, Callable[..., Node]] = {
    "add": plus,
    "mul": times,
    "exp": exponential,
    "log": lambda a: Apply("log", (a,)),
    "log1p": lambda a: Apply("log", (plus(ONE, a),)),
    "tanh": lambda a: Apply("tanh", (a,)),
    "sqrt": _root,
    "recip": lambda a: power(a, -1.0),
    "powi": power,
    "pow": power,
    "bessel": _bessel,
}


def show_latex(tree: Node) -> str:
    """Return mathematics as LaTeX between dollars."""
    return f"${write_latex(lay_out(tree))}$"


def show_mathml(tree: Node, name: Node | None = None) -> Markup:
    """Return mathematics as an element of MathML, as the right side of an equation if it has a name."""
    whole = tree if name is None else Relation(name, "=", tree)
    return show_wide(tag("math", Markup(write_mathml(lay_out(whole))), displaystyle="true", style=FONTS))
