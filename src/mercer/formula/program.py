"""Lowering: from a kernel's expression to a short program that a backend runs on each tile.

The statistics are computed first, one register each.  The program is then a list of elementwise instructions on
registers; constants are folded, and multiples and shifts are carried along symbolically until an instruction can
absorb them, so that ``2 * exp(-s / 8)`` costs one exponential and nothing else.  Parts that depend on one point only,
such as the norms in ``k.normalize()``, become vectors computed once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np

from .expression import (
    VALUES,
    Call,
    Const,
    Diagonal,
    Expression,
    Param,
    Side,
    Stat,
    is_diagonal,
    nodes,
    rebuild,
    schedule,
)
from .ranges import Bounds, leaves_range, sizes
from .statistics import Statistic, VectorStatistic

REGISTERS = 32
KEPT = 32  # programs that are kept
MODERATE = 8.0  # bits by which multiples that are moved may shift what they multiply


class UnsupportedError(Exception):
    """The program cannot be written with the instructions there are; the text says why."""


@dataclass(frozen=True)
class Instruction:
    """``dst = op(a, b)`` with two numbers; which of the operands an operation reads is in the native core."""

    op: str
    dst: int
    a: int = 0
    b: int = 0
    c0: float = 1.0
    c1: float = 0.0

    def pack(self) -> tuple[str, int, int, int, float, float]:
        """Return it as the compiled core takes it."""
        return self.op, self.dst, self.a, self.b, self.c0, self.c1


@dataclass(frozen=True)
class Program:
    """Statistics, one-sided vectors and the instructions on them; the result is the last destination."""

    statistics: tuple[VectorStatistic, ...]
    left: tuple[Expression, ...]
    right: tuple[Expression, ...]
    code: tuple[Instruction, ...]


@dataclass(frozen=True)
class _Affine:
    """c0 · register + c1; ``register`` None stands for the constant c1."""

    register: int | None
    c0: float = 1.0
    c1: float = 0.0

    def scaled(self, factor: float) -> _Affine:
        return _Affine(self.register, self.c0 * factor, self.c1 * factor)


@dataclass
class _Compiler:
    statistics: list[VectorStatistic] = field(default_factory=list)
    sides: dict[Side, list[Expression]] = field(default_factory=lambda: {"left": [], "right": []})
    code: list[Instruction] = field(default_factory=list)  # on as many registers as it takes
    known: dict[Expression, _Affine] = field(default_factory=dict)
    count: int = 0

    def fresh(self) -> int:
        self.count += 1
        return self.count - 1

    def emit(self, op: str, a: int = 0, b: int = 0, c0: float = 1.0, c1: float = 0.0) -> _Affine:
        register = self.fresh()
        self.code.append(Instruction(op, register, a, b, c0, c1))
        return _Affine(register)

    def register(self, value: _Affine) -> int:
        """Return a register that holds the value itself."""
        if value.register is None:
            raise UnsupportedError("the kernel is a constant")
        if value.c0 == 1 and value.c1 == 0:
            return value.register
        made = self.emit("affine", value.register, 0, value.c0, value.c1).register
        assert made is not None
        return made

    def compile(self, node: Expression, side: Side | None) -> _Affine:
        if isinstance(node, Const | Param):
            return _Affine(None, 0.0, node.value)
        if isinstance(node, Stat):
            return _Affine(self.statistics.index(_native_statistic(node.statistic)))
        if side is not None:
            vectors = self.sides[side]
            vectors.append(node)
            return self.emit(side, len(vectors) - 1)
        assert isinstance(node, Call)
        if node.op == "add":
            return self.add(*(self.known[arg] for arg in node.args))
        if node.op == "mul":
            return self.multiply(*(self.known[arg] for arg in node.args))
        return self.unary(node, self.known[node.args[0]])

    def add(self, a: _Affine, b: _Affine) -> _Affine:
        shift = a.c1 + b.c1
        if a.register is None:
            return _Affine(b.register, b.c0, shift)
        if b.register is None:
            return _Affine(a.register, a.c0, shift)
        if a.register == b.register:
            return _Affine(a.register, a.c0 + b.c0, shift)
        total = self.emit("add", a.register, b.register, a.c0, b.c0)
        return _Affine(total.register, 1.0, shift)

    def multiply(self, a: _Affine, b: _Affine) -> _Affine:
        if a.register is None:
            return b.scaled(a.c1)
        if b.register is None:
            return a.scaled(b.c1)
        if a.c1 == 0 and b.c1 == 0 and _is_moderate(a.c0) and _is_moderate(b.c0):
            return self.emit("mul", a.register, b.register).scaled(a.c0 * b.c0)
        return self.emit("mul", self.register(a), self.register(b))

    def unary(self, node: Call, a: _Affine) -> _Affine:
        if node.op == "bessel":
            raise UnsupportedError("Matern with this nu needs a Bessel function")
        if a.register is None:
            with np.errstate(all="ignore"):  # overflow is reported once, on the result, in words
                return _Affine(None, 0.0, float(VALUES[node.op](np.asarray(a.c1), *node.constants)))
        if node.op == "exp":
            return self.emit("exp", a.register, 0, a.c0, a.c1)
        exponent = {"recip": -1.0, "sqrt": 0.5}.get(node.op, node.constants[0] if node.constants else None)
        if exponent is not None and a.c1 == 0 and a.c0 > 0 and _is_moderate(a.c0, exponent):
            return self.emit(node.op, a.register, 0, exponent).scaled(a.c0**exponent)  # homogeneous: it comes out
        return self.emit(node.op, self.register(a), 0, exponent if exponent is not None else 1.0)


def _is_moderate(factor: float, exponent: float = 1.0) -> bool:
    """Whether a factor may be moved without numbers leaving the range that they are in with it."""
    return factor != 0 and abs(math.log2(abs(factor)) * exponent) <= MODERATE


def anonymous(expression: Expression) -> Expression:
    """Return the expression with plain numbers for hyperparameters, so that equal parts are the same part."""
    return rebuild(expression, _strip_names)


def _strip_names(node: Expression) -> Expression:
    if isinstance(node, Param):
        return Const(node.value)
    if not isinstance(node, Stat):
        return node
    parts: dict[str, Any] = {
        item.name: _drop_name(getattr(node.statistic, item.name)) for item in fields(node.statistic)
    }
    return Stat(replace(node.statistic, **parts))


def _drop_name(value: object) -> object:
    if isinstance(value, Param):
        return Param("", value.value)
    return tuple(_drop_name(item) for item in value) if isinstance(value, tuple) else value


def _sides(expression: Expression) -> dict[Expression, frozenset[str]]:
    """Return for each node the points that it depends on."""
    known: dict[Expression, frozenset[str]] = {}
    for node in nodes(expression, is_diagonal):
        if isinstance(node, Diagonal):
            known[node] = frozenset({node.side})
        elif isinstance(node, Stat):
            known[node] = frozenset({"left", "right"})
        else:
            known[node] = (
                frozenset().union(*(known[arg] for arg in node.args)) if isinstance(node, Call) else frozenset()
            )
    return known


def name_owners(expression: Expression) -> tuple[str, ...]:
    """Return the kernels to name in messages about the statistics of an expression, by which no two of them differ."""
    return tuple(node.statistic.owner for node in nodes(expression) if isinstance(node, Stat))


def lower(expression: Expression) -> Program:
    """Return the program of an expression, or raise :class:`UnsupportedError`."""
    return _lower(expression, name_owners(expression))


@lru_cache(maxsize=KEPT)  # searches ask for the same programs, on other data, hundreds of times
def _lower(expression: Expression, owners: tuple[str, ...]) -> Program:
    expression = anonymous(expression)
    compiler = _Compiler()
    # Statistics below a diagonal node are computed elsewhere, once.
    for node in nodes(expression, is_diagonal):
        if isinstance(node, Stat):
            statistic = _native_statistic(node.statistic)
            if statistic not in compiler.statistics:
                compiler.statistics.append(statistic)
    if not compiler.statistics:
        raise UnsupportedError("the kernel looks at no feature of a pair")
    compiler.count = len(compiler.statistics)
    sides = _sides(expression)
    only = {node: cast(Side, min(found)) for node, found in sides.items() if len(found) == 1}
    for node in nodes(expression, lambda node: node in only):
        compiler.known[node] = compiler.compile(node, only.get(node))
    result = compiler.known[expression]
    if result.register is None:
        raise UnsupportedError("the kernel is a constant")
    # The result must be the destination of the last instruction, whatever was computed last.
    if result != _Affine(compiler.code[-1].dst if compiler.code else 0):
        compiler.emit("affine", result.register, 0, result.c0, result.c1)
    return Program(
        tuple(compiler.statistics),
        tuple(compiler.sides["left"]),
        tuple(compiler.sides["right"]),
        tuple(_allocate(compiler.code, len(compiler.statistics))),
    )


def decline_outside(expression: Expression, program: Program, pairs: Sequence[tuple[Any, Any]], dtype: Any) -> None:
    """Raise :class:`UnsupportedError` if numbers on the way to the result may leave the range of a type.

    Pairs are the points of both sides of each statistic of the program; the second is None if it is the first again.
    Statistics of one point only, which are computed elsewhere, have no bounds and count as 1.
    """
    found = zip(program.statistics, pairs, strict=True)
    bounds: dict[Statistic, Bounds] = {stat: sizes(stat, A, A if B is None else B) for stat, (A, B) in found}
    if leaves_range(anonymous(expression), lambda statistic: bounds.get(statistic, Bounds(0.0, 0.0)), dtype):
        raise UnsupportedError(f"numbers on the way to the result leave the range of {np.dtype(dtype)}")


def _native_statistic(statistic: Statistic) -> VectorStatistic:
    if not isinstance(statistic, VectorStatistic) or statistic.native is None:
        raise UnsupportedError(f"{statistic.owner} has no native statistic")
    return statistic


def _allocate(code: list[Instruction], preloaded: int) -> list[Instruction]:
    """Renumber registers so that few are needed: each is free again after its last reader."""
    last = dict.fromkeys(range(preloaded), -1)
    for position, step in enumerate(code):
        for register in _operands(step):
            last[register] = position
    place = {register: register for register in range(preloaded)}
    free = [register for register in range(preloaded) if last[register] < 0]
    used = preloaded
    renamed = []
    for position, step in enumerate(code):
        operands = _operands(step)
        a, b = (place[operands[0]] if operands else step.a), (place[operands[1]] if len(operands) > 1 else step.b)
        for register in set(operands):
            if last[register] == position:
                free.append(place[register])
        if free:
            target = free.pop()
        else:
            target, used = used, used + 1
        if used > REGISTERS:
            raise UnsupportedError(f"the expression needs more than {REGISTERS} registers")
        place[step.dst] = target
        renamed.append(Instruction(step.op, target, a, b, step.c0, step.c1))
    return renamed


def _operands(step: Instruction) -> tuple[int, ...]:
    if step.op in ("left", "right"):
        return ()
    return (step.a, step.b) if step.op in ("add", "mul") else (step.a,)


def entry_width(expression: Expression) -> int:
    """Return how many matrices of the tile's size the NumPy evaluation may hold at once."""
    most = held = 0
    for node, done in schedule(expression):
        held += isinstance(node, Call | Stat)
        most = max(most, held)
        held -= sum(isinstance(arg, Call | Stat) for arg in done)
    return 4 + most
