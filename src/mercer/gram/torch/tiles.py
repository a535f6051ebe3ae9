"""A kernel's program run on tiles of tensors: for whole matrices, single rows, and devices without a fused product."""

from __future__ import annotations

from collections.abc import Callable

from mercer.arrays import Array
from mercer.arrays.tensors import load_torch
from mercer.formula.program import Instruction, Program
from mercer.formula.statistics import VectorStatistic
from mercer.kernels.radial import PowerDistance

from .compiling import fusable
from .coordinates import sum_coordinates

NARROW = 64  # features up to which dot products in float64 cost next to nothing


def evaluate_tile(program: Program, pairs: list[tuple[Array, Array]], left: list[Array], right: list[Array]) -> Array:
    """Return k(x, z) for all rows of both sides of each statistic, with the vectors of one point cut to the tile.

    Sides of shape (…, n, d) and (…, m, d) are tiles of their own for each index in front.
    """
    registers: dict[int, Array] = {}
    for register, (statistic, (A, B)) in enumerate(zip(program.statistics, pairs, strict=True)):
        registers[register] = _measure(statistic, A, B)
    result = registers[0]
    for step in program.code:
        if step.op in ("left", "right"):
            result = left[step.a][..., :, None] if step.op == "left" else right[step.a][..., None, :]
        else:
            result = OPERATIONS[step.op](registers, step)
        registers[step.dst] = result
    rows, columns = pairs[0]
    return result.expand(*rows.shape[:-1], columns.shape[-2])


def _measure(statistic: VectorStatistic, A: Array, B: Array) -> Array:
    kind = str(statistic.native)
    if kind not in ("dot", "sqdist") and A.ndim == 2 and fusable(A.device):
        return sum_coordinates(kind, statistic.exponent, A, B)
    if isinstance(statistic, PowerDistance):
        return _coordinate_sum(statistic.term)(A, B)
    return STATISTICS[kind](A, B)


def _dot(A: Array, B: Array) -> Array:
    torch = load_torch()
    if A.dtype == torch.float32 and A.shape[-1] <= NARROW:
        return (A.double() @ B.double().mT).float()
    return A @ B.mT


def _squared_distance(A: Array, B: Array) -> Array:
    """‖a‖² + ‖b‖² − 2aᵀb, in float64 where features are few, so that near neighbours keep their digits.

    What is left of points that rounding cannot tell apart is 0: a root of it would be far too large.
    """
    torch = load_torch()
    kind = A.dtype
    if kind == torch.float32 and A.shape[-1] <= NARROW:
        A, B = A.double(), B.double()
    sizes = (A * A).sum(-1)[..., :, None] + (B * B).sum(-1)[..., None, :]
    values = torch.addmm(sizes, A, B.T, alpha=-2.0) if A.ndim == 2 else torch.add(sizes, A @ B.mT, alpha=-2.0)
    noise = 4.0 * torch.finfo(A.dtype).eps * A.shape[-1] ** 0.5
    return values.masked_fill_(values <= sizes.mul_(noise), 0.0).to(kind)


def _coordinate_sum(term: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    def total(A: Array, B: Array) -> Array:
        result = A.new_zeros(*A.shape[:-1], B.shape[-2])
        for d in range(A.shape[-1]):
            result += term(A[..., d, None], B[..., None, :, d])
        return result

    return total


def _chi_square(a: Array, b: Array) -> Array:
    sums = a + b
    return load_torch().where(sums == 0, sums * 0, (a - b) ** 2 / sums.masked_fill(sums == 0, 1.0))


STATISTICS: dict[str, Callable[[Array, Array], Array]] = {
    "dot": _dot,
    "sqdist": _squared_distance,
    "absdist": _coordinate_sum(lambda a, b: (a - b).abs()),
    "chi2": _coordinate_sum(_chi_square),
    "min": _coordinate_sum(lambda a, b: load_torch().minimum(a, b)),
    "match": _coordinate_sum(lambda a, b: (a == b).to(a.dtype)),
}


def _unary(function: Callable[[Array, float], Array]) -> Callable[[dict[int, Array], Instruction], Array]:
    return lambda registers, step: function(registers[step.a], step.c0)


OPERATIONS: dict[str, Callable[[dict[int, Array], Instruction], Array]] = {
    "affine": lambda r, s: r[s.a] * s.c0 + s.c1,
    "add": lambda r, s: r[s.a] * s.c0 + r[s.b] * s.c1,
    "mul": lambda r, s: r[s.a] * r[s.b],
    "exp": lambda r, s: (r[s.a] * s.c0 + s.c1).exp_(),
    "log": _unary(lambda a, _: a.log()),
    "log1p": _unary(lambda a, _: a.log1p()),
    "tanh": _unary(lambda a, _: a.tanh()),
    "sqrt": _unary(lambda a, _: a.clamp(min=0.0).sqrt()),
    "recip": _unary(lambda a, _: (1.0 / a).masked_fill(a == 0, 0.0)),
    "powi": _unary(lambda a, exponent: a ** int(exponent)),
    "pow": _unary(lambda a, exponent: a.clamp(min=0.0) ** exponent),
}
