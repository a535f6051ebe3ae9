"""The arrays a fused product reads: points as halves, as float32, or as they are."""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any

from mercer.arrays import Array
from mercer.formula.program import Instruction, Program

from .source import LOG2E, PAD, PIECE, TAIL, Operand

LARGEST = 3e4  # of a float16, with room for doubling
PIECES = 3  # float16 numbers that a norm is the sum of


@dataclass(frozen=True)
class Arrays:
    """What one side of one statistic is read from: the points, and their norms or the float8 tail of the product.

    Norms of the points as they are rounded are kept in float64 too, where a tile does not read them.
    """

    points: Array
    more: Array
    norms: Any = None


def make_operand(kind: str, mode: str, features: int, scale: float) -> Operand:
    """Return the operand of a statistic in a mode; statistics other than dot products are always plain."""
    if mode == "plain" or kind not in ("dot", "sqdist"):
        return Operand(kind, "plain", features)
    depth = 3 * features if mode in ("folded", "half") else features
    depth += 2 * PIECES if mode in ("folded", "mixed") and kind == "sqdist" else 0
    tail = 2 * features if mode == "mixed" else 0
    if tail and kind == "dot":
        scale /= TAIL
    operand = Operand(kind, mode, _round_up(depth, 16), scale, _round_up(tail, 32))
    if operand.streamed:  # in pieces, which are whole then
        operand = replace(operand, depth=_round_up(operand.depth, PIECE), tail=_round_up(operand.tail, PIECE))
    return operand


def find_scale(register: int, kind: str, code: tuple[Instruction, ...]) -> float:
    """Return the factor to carry in a statistic, so that an exponential that reads it has nothing left to multiply."""
    if kind not in ("dot", "sqdist"):
        return 1.0
    for step in code:
        reads = step.op not in ("left", "right") and register in (
            (step.a, step.b) if step.op in ("add", "mul") else (step.a,)
        )
        if reads:
            return step.c0 * LOG2E if step.op == "exp" and (kind == "sqdist" or step.c0 > 0) else 1.0
        if step.dst == register:
            break
    return 1.0


def make_arrays(operand: Operand, A: Array, B: Array | None) -> tuple[Arrays, Arrays]:
    """Return the arrays of both sides; B = None is A again, and then the points of the two sides still differ."""
    right = A if B is None else B
    if operand.mode == "plain":
        left = Arrays(pad_rows(A), A)
        return left, left if B is None else Arrays(pad_rows(right), right)
    return _make_side(operand, A, left=True), _make_side(operand, right, left=False)


def _make_side(operand: Operand, A: Array, *, left: bool) -> Arrays:
    import torch

    root, sign = math.sqrt(abs(operand.scale)), math.copysign(1.0, operand.scale)
    X = pad_rows(A).to(torch.float32) if root == 1 else (pad_rows(A).to(torch.float64) * root).to(torch.float32)
    wide = X.to(torch.float64)
    norms = sign * (wide * wide).sum(1)
    # The factor of the product is on the left: −2 for a squared distance, its sign, and 1 for a dot product.
    factor = (-2.0 * sign if operand.kind == "sqdist" else sign) if left else 1.0
    if operand.mode == "single":
        points = torch.zeros(len(X), operand.depth, dtype=torch.float32, device=X.device)
        points[:, : X.shape[1]] = factor * X
        return Arrays(points, norms.to(torch.float32))
    high = X.to(torch.float16)
    low = X - high
    halves = [high] if operand.mode == "mixed" else [high, high, low] if left else [high, low, high]
    points = torch.zeros(len(X), operand.depth, dtype=torch.float16, device=X.device)
    used = len(halves) * X.shape[1]
    points[:, :used] = factor * torch.cat([half.to(torch.float16) for half in halves], 1)
    if operand.kind == "sqdist" and operand.mode in ("folded", "mixed"):
        first, ones = (used, used + PIECES) if left else (used + PIECES, used)
        points[:, ones : ones + PIECES] = 1.0
        rest = norms
        for piece in range(PIECES):
            points[:, first + piece] = rest.to(torch.float16)
            rest = rest - points[:, first + piece]
    if not operand.tail:
        return Arrays(points, norms.to(torch.float32))
    tail = torch.zeros(len(X), operand.tail, dtype=torch.float32, device=X.device)
    # The product of both sides' tails is as much larger than it should be as the rest of the statistic is.
    less = 1.0 if operand.kind == "sqdist" else math.sqrt(TAIL)
    more = less / TAIL
    parts = (factor * less * high, factor * more * low) if left else (more * low, less * high)
    tail[:, : 2 * X.shape[1]] = torch.cat(parts, 1)
    return Arrays(points, tail.to(torch.float8_e4m3fn), norms if operand.kind == "dot" else None)


def fits_half(operand: Operand, *sides: Arrays) -> bool:
    """Whether nothing overflowed on the way to float16."""
    if operand.mode not in ("half", "folded", "mixed"):
        return True
    return all(bool((side.points.abs().amax() < LARGEST).item()) for side in sides)


def pad_rows(A: Array) -> Array:
    """Return the rows padded by copies of the last one, so that a block of rows is always a whole one."""
    import torch

    missing = -len(A) % PAD
    return A if not missing else torch.cat([A, A[-1:].expand(missing, *A.shape[1:])])


def choose_operands(
    program: Program, mode: str, features: tuple[int, ...], parted: Container[int] = ()
) -> tuple[Operand, ...]:
    """Return the operands of a program's statistics; those dot products that were distances are ``parted``."""
    found = []
    for register, (statistic, d) in enumerate(zip(program.statistics, features, strict=True)):
        kind = str(statistic.native)
        # Without norms to put among the columns there is little to win.
        own = "half" if kind == "dot" and mode in ("folded", "mixed") and register not in parted else mode
        found.append(make_operand(kind, own, d, find_scale(register, kind, program.code)))
    return tuple(replace(o, exponent=s.exponent) for o, s in zip(found, program.statistics, strict=True))


def _round_up(count: int, of: int) -> int:
    return -(-count // of) * of
