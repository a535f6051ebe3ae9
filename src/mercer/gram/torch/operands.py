"""The arrays a fused product reads: points as halves, as float32, or as they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from mercer.arrays import Array
from mercer.formula.program import Instruction, Program

from .source import LOG2E, PIECE, TAIL, Operand

PAD = 256  # rows are padded to a multiple of this, by copies of the last
LARGEST = 3e4  # of a float16, with room for doubling
PIECES = 3  # float16 numbers that a norm is the sum of


@dataclass(frozen=True)
class Arrays:
    """What one side of one statistic is read from: the points, and their norms or the float8 tail of the product."""

    points: Array
    more: Array


def make_operand(kind: str, mode: str, features: int, scale: float) -> Operand:
    """Return the operand of a statistic in a mode; statistics other than dot products are always plain."""
    if mode == "plain" or kind not in ("dot", "sqdist"):
        return Operand(kind, "plain", features)
    if kind == "dot" and mode in ("folded", "mixed"):
        mode = "half"  # there are no norms to put among the columns
    depth = 3 * features if mode in ("folded", "half") else features
    depth += 2 * PIECES if mode in ("folded", "mixed") else 0
    tail = 2 * features if mode == "mixed" else 0
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
    root, sign = math.sqrt(abs(operand.scale)), math.copysign(1.0, operand.scale)
    return _make_side(operand, A, root, sign, left=True), _make_side(operand, right, root, sign, left=False)


def _make_side(operand: Operand, A: Array, root: float, sign: float, *, left: bool) -> Arrays:
    import torch

    X = pad_rows(A).to(torch.float32) if root == 1 else (pad_rows(A).to(torch.float64) * root).to(torch.float32)
    wide = X.to(torch.float64)
    norms = sign * (wide * wide).sum(1) if operand.kind == "sqdist" else wide[:, 0]
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
    if operand.mode in ("folded", "mixed"):
        first, ones = (used, used + PIECES) if left else (used + PIECES, used)
        points[:, ones : ones + PIECES] = 1.0
        rest = norms
        for piece in range(PIECES):
            points[:, first + piece] = rest.to(torch.float16)
            rest = rest - points[:, first + piece]
    if not operand.tail:
        return Arrays(points, norms.to(torch.float32))
    tail = torch.zeros(len(X), operand.tail, dtype=torch.float32, device=X.device)
    parts = (factor * high, factor * low / TAIL) if left else (low / TAIL, high)
    tail[:, : 2 * X.shape[1]] = torch.cat(parts, 1)
    return Arrays(points, tail.to(torch.float8_e4m3fn))


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


def choose_operands(program: Program, mode: str, features: tuple[int, ...]) -> tuple[Operand, ...]:
    """Return the operands of a program's statistics in a mode."""
    kinds = [str(statistic.native) for statistic in program.statistics]
    found = [
        make_operand(kind, mode, d, find_scale(register, kind, program.code))
        for register, (kind, d) in enumerate(zip(kinds, features, strict=True))
    ]
    return tuple(replace(o, exponent=s.exponent) for o, s in zip(found, program.statistics, strict=True))


def _round_up(count: int, of: int) -> int:
    return -(-count // of) * of
