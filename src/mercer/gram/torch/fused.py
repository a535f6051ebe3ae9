"""Fused products on a CUDA device: K @ V with no more of K in memory than the tiles being computed."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

from mercer.arrays import Array
from mercer.formula.program import Program

from ..prepared import Pair
from .compiling import compile_source
from .operands import Arrays, choose_operands, fits_half, make_arrays, pad_rows
from .parting import NormFactors, part_norms
from .source import FEW, PAD, Launch, Operand, print_source
from .tiles import evaluate_tile

TOLERANCE = 1e-5  # of a product, relative to one without cancellation
PROBE = 64  # points that modes are tried on
SHORT = 48  # features up to which float64 values are summed coordinate by coordinate
PARTED = 64  # features up to which it is quicker to keep the norms of distances out of tiles
TENSOR = ("dot", "sqdist")  # statistics that are matrix products


@dataclass(frozen=True)
class Shape:
    """Block sizes of a launch."""

    rows: int = 128
    columns: int = 128
    warps: int = 8
    stages: int = 3
    sub: int = 1


def choose_shape(operands: tuple[Operand, ...], columns: int, symmetric: bool, double: bool) -> Shape:
    """Return block sizes that ran fast on an H200 for operands of this depth."""
    if double or any(operand.mode == "plain" for operand in operands):
        return Shape(64, 32, 4, 1)
    if any(operand.mode == "single" for operand in operands):
        return Shape(64, 64, 4, 2)
    bytes_per_row = sum(2 * operand.depth + operand.tail for operand in operands)
    if any(operand.streamed for operand in operands):
        return Shape(128, 128, 8, 3)
    if symmetric:
        if bytes_per_row <= 128:
            return Shape(64, 64, 4, 3, 8)
        return Shape(64, 64, 4, 2, 8 if bytes_per_row <= 160 else 4 if bytes_per_row <= 256 else 2)
    if bytes_per_row <= 64:
        return Shape(64, 128, 4, 5 if columns <= FEW else 3)
    if bytes_per_row <= 224:
        return Shape(128, 64 if columns <= FEW else 128, 4, 3)
    return Shape(128, 64, 4, 2 if columns <= FEW else 3)


@functools.lru_cache(maxsize=256)
def compile_product(launch: Launch) -> Any:
    """Return the Triton function of a launch; equal launches share one."""
    return compile_source(print_source(launch), "product")


def make_product(
    program: Program, pairs: list[Pair], left: list[Array], right: list[Array], columns: int = 1
) -> FusedProduct | None:
    """Return the fused product in the fastest mode that is accurate enough here, or None where tiles are better.

    Float64 values are summed coordinate by coordinate.  For float32 values each mode is tried on a sample of the points
    against float64, fastest first; the last one, coordinate by coordinate, is taken without a trial.  A trial has as
    many right-hand sides as there will be, so that what it compiles is used again.
    """
    import torch

    if pairs[0][0].dtype == torch.float64:
        # Longer rows are better served by matrix products in float64, a tile at a time.
        few = max(A.shape[1] for A, _ in pairs) <= SHORT or any(s.native not in TENSOR for s in program.statistics)
        return FusedProduct(program, pairs, left, right, "plain") if few else None
    n, m = len(pairs[0][0]), len(pairs[0][0] if pairs[0][1] is None else pairs[0][1])
    rows = torch.linspace(0, n - 1, min(n, PROBE), device=pairs[0][0].device).long()
    # Points meet themselves in the sample, if they do in the data: that is where digits are lost first.
    others = torch.linspace(0, m - 1, min(m, 8 * PROBE), device=rows.device).long()
    others = others if pairs[0][1] is not None else torch.cat([rows, others])
    few = [(A[rows], (A if B is None else B)[others]) for A, B in pairs]
    sides = [v[rows] for v in left], [v[others] for v in right]
    precise = ([v.double() for v in side] for side in sides)
    exact = evaluate_tile(program, [(A.double(), B.double()) for A, B in few], *precise)
    steps = torch.arange(len(others), device=rows.device, dtype=torch.float64)
    V = torch.cos(steps[:, None] * torch.arange(1, columns + 1, device=rows.device))
    truth = exact @ V
    size = torch.linalg.norm(exact) * torch.linalg.norm(V) / math.sqrt(len(others))
    longest = max(A.shape[1] for A, _ in pairs)
    deep = longest > 16
    modes = ["mixed", "folded", "half", "single"] if deep else ["folded", "half", "single"]
    if deep and longest <= PARTED and columns <= FEW:
        modes.insert(0, "apart")
    for mode in modes:
        trial = FusedProduct(program, few, *sides, mode)
        if not trial.in_range:
            continue
        error = float(torch.linalg.norm(trial(V) - truth) / size)
        if error <= TOLERANCE:
            product = FusedProduct(program, pairs, left, right, mode)
            if product.in_range:
                return product
    return FusedProduct(program, pairs, left, right, "plain")


class FusedProduct:
    """K @ V of one program on two collections of points, with dot products in one mode of precision.

    ``statistics`` are the transformed points of both sides for each statistic, of shape (n, d) and (m, d) or None for
    the first again; ``left`` and ``right`` are the vectors that depend on one point.  The mode is one of operands or
    "apart": mixed operands, and norms of distances as factors of rows and columns; not in range if none can be.
    """

    def __init__(
        self, program: Program, statistics: list[Pair], left: list[Array], right: list[Array], mode: str
    ) -> None:
        import torch

        self.mode = mode
        parted = part_norms(program) if mode == "apart" else None
        self.program = program if parted is None else parted.program
        A, B = statistics[0]
        self.symmetric = B is None
        self.shape = len(A), len(A if B is None else B)
        self.double = mode == "plain" and A.dtype == torch.float64
        exponents = {} if parted is None else parted.exponents
        self.operands = choose_operands(
            self.program, "mixed" if mode == "apart" else mode, tuple(a.shape[1] for a, _ in statistics), exponents
        )
        self.arrays: list[tuple[Arrays, Arrays]] = [
            make_arrays(operand, a, b) for operand, (a, b) in zip(self.operands, statistics, strict=True)
        ]
        self.factors = NormFactors(exponents, self.operands, self.arrays) if exponents else None
        self.in_range = (self.factors.in_range if self.factors is not None else mode != "apart") and all(
            fits_half(operand, *pair) for operand, pair in zip(self.operands, self.arrays, strict=True)
        )
        self.real = torch.float64 if self.double else torch.float32
        self.left, self.right = ([pad_rows(v.to(self.real)) for v in side] for side in (left, right))

    def __call__(self, V: Array, shape: Shape | None = None) -> Array:
        """Return K @ V in float64 for V of shape (m, q)."""
        import torch

        q = V.shape[1]
        both = self.symmetric and q <= FEW
        shape = shape or choose_shape(self.operands, q, both, self.double)
        size = max(side.points.numel() for pair in self.arrays for side in pair)
        launch = Launch(
            self.program, self.operands, self.program.code, round_columns(q, self.double), both, self.double, shape.sub,
            size >= 2**31, self.factors is not None and q > FEW,
        )  # fmt: skip
        n, m = self.shape
        right, units = self._right_hand_side(V, launch)
        out = torch.zeros(n, launch.width(), dtype=torch.float64, device=V.device)
        blocks = math.ceil(n / (shape.rows * shape.sub))
        span = math.ceil(m / _count_spans(blocks, m) / PAD) * PAD
        points: list[Array] = []
        for one, other in self.arrays:
            points += [one.points, other.points, one.more, other.more]
        compile_product(launch)[(blocks, math.ceil(m / span))](
            *points, *self._vectors(launch), right, out, n, m, span,
            BM=shape.rows, BN=shape.columns, STAGES=shape.stages, num_warps=shape.warps, num_stages=shape.stages,
        )  # fmt: skip
        if launch.split:
            return (out[:, :q] + out[:, q : 2 * q]) * units
        if self.factors is not None:
            out *= self.factors.rows[:n, None] * units
        return out

    def _vectors(self, launch: Launch) -> list[Array]:
        """Return the vectors of one point: those of the rows, then those of the columns."""
        if self.factors is None or not launch.scaled:
            return [*self.left, *self.right]
        rows, columns = self.factors.rows, self.factors.columns
        return [*self.left, rows.to(self.real), *self.right, columns.to(self.real)]

    def _right_hand_side(self, V: Array, launch: Launch) -> tuple[Array, Array | float]:
        """Return V padded by zeros, and in which units: of its largest numbers where it is scaled or split."""
        import torch

        m, q = V.shape
        units: Array | float = 1.0
        if launch.split or self.factors is not None:
            units = V.abs().amax(0).to(torch.float64)
            units[units == 0] = 1.0
            V = V / units
        if not launch.split:
            right = torch.zeros(m + PAD, q, dtype=self.real, device=V.device)
            right[:m] = V if self.factors is None else V * self.factors.columns[:m, None]
            return right, units
        scaled = V.to(torch.float32)
        right = torch.zeros(m + PAD, launch.width(), dtype=torch.float16, device=V.device)
        right[:m, :q] = scaled.to(torch.float16)
        right[:m, q : 2 * q] = (scaled - right[:m, :q]).to(torch.float16)
        return right, units


def round_columns(count: int, double: bool = False) -> int:
    """Return the number of right-hand sides that a kernel is compiled for: few different ones, as compiling takes long.

    Examples
    --------
    >>> [round_columns(count) for count in (1, 2, 3, 10, 23)]
    [1, 2, 8, 16, 32]
    """
    return count if double or count <= FEW else max(8, 2 ** math.ceil(math.log2(count)))


def _count_spans(blocks: int, columns: int) -> int:
    """Into how many spans to cut the columns, so that there are blocks for every multiprocessor and sums stay short."""
    return max(1, min(math.ceil(columns / 1024), math.ceil(2048 / blocks)), math.ceil(columns / 65536))
