"""From the formula that computes to the formula that is read: an expression over statistics becomes mathematics."""

from __future__ import annotations

from collections.abc import Callable

from ..expression import Call, Const, Diagonal, Expression, Param, Stat, is_diagonal, nodes
from .layout import lay_out
from .tree import (
    DOTS,
    ONE,
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
MOST_NESTED = 3  # times that values at (x, x) are written out inside each other
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
    known: dict[Expression, Node] = {}
    for node in nodes(expression, is_diagonal):
        if isinstance(node, Const):
            found: Node = Number(node.value)
        elif isinstance(node, Param):
            found = given(node.value)
        elif isinstance(node, Stat):
            view = node.statistic.view
            found = node.statistic.notation(view.notation(x), view.notation(z))
        elif isinstance(node, Diagonal):
            point = x if node.side == "left" else z
            found = read_formula(node.inner, point, point, nested + 1) if nested < MOST_NESTED else DOTS
        elif isinstance(node, Call):
            found = _OPERATIONS.get(node.op, _call_by_name(node.op))(
                *(known[arg] for arg in node.args), *node.constants
            )
        known[node] = shorten_tree(found)
    return known[expression]


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
    """Return u^ν K_order(u) / (2^(ν−1) Γ(ν))."""
    scale = times(power(Number(2.0, given=True), 1.0 - exponent), power(Apply(Letter("Γ"), (given(exponent),)), -1.0))
    shown = u if exponent == 1 else Product(1.0, ((u, exponent),))  # as one, not multiplied out
    return times(scale, shown, Apply(Indexed(Letter("K"), given(order)), (u,)))


def _call_by_name(op: str) -> Callable[..., Node]:
    return lambda *args: Apply(Word(op), args)


_OPERATIONS: dict[str, Callable[..., Node]] = {
    "add": plus,
    "mul": times,
    "exp": exponential,
    "log": lambda a: Apply("log", (a,)),
    "log1p": lambda a: Apply("log", (plus(ONE, a),)),
    "tanh": lambda a: Apply("tanh", (a,)),
    "sqrt": lambda a: power(a, 0.5),
    "recip": lambda a: power(a, -1.0),
    "powi": power,
    "pow": power,
    "bessel": _bessel,
}


def show_latex(tree: Node) -> str:
    """Return mathematics as LaTeX between dollars."""
    return f"${write_latex(lay_out(tree))}$"


def show_mathml(tree: Node, name: Node | None = None, *, block: bool = True) -> str:
    """Return mathematics as an element of MathML, as the right side of an equation if it has a name."""
    whole = tree if name is None else Relation(name, "=", tree)
    return f'<math display="{"block" if block else "inline"}">{write_mathml(lay_out(whole))}</math>'
