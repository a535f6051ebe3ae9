"""Exponentials of distances from dot products alone: exp(−c‖x − z‖²) = exp(−c‖x‖²) exp(2c xᵀz) exp(−c‖z‖²).

Where a kernel is a product with such an exponential, what depends on one point is a factor of a row or a column of the
whole matrix.  Products with the matrix then have no norms to add in any tile, and nothing to keep below 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mercer.formula.program import Instruction, Program
from mercer.formula.statistics import Dot

from .operands import Arrays
from .source import LOG2E, Operand

MOST = 40.0  # bits of a factor: exponentials of 80 bits, and sums of them, are far from what float32 can hold


@dataclass(frozen=True)
class Parted:
    """A program with dot products in the place of distances, and c of exp(c‖x‖²) for each of these statistics."""

    program: Program
    exponents: dict[int, float]


def part_norms(program: Program) -> Parted | None:
    """Return the program without the norms of its distances, None if no exponential of a distance is a factor of it.

    Examples
    --------
    >>> from mercer.formula.program import lower
    >>> from mercer.kernels import Gaussian, Linear
    >>> parted = part_norms(lower((2.0 * Gaussian(2.0)).traced()))
    >>> parted.exponents, parted.program.code[0].c0
    ({0: -0.125}, 0.25)
    >>> part_norms(lower((Gaussian(2.0) + Linear()).traced())) is None
    True
    """
    found: dict[int, tuple[int, Instruction]] = {}  # the instruction that reads each statistic
    reads, sources = _trace(program)

    def follow(value: int) -> None:
        """Look at what a value that is a factor of the kernel, and of nothing else, is itself the product of."""
        position = value - len(program.statistics)
        if position < 0 or reads[value] != 1:
            return
        step, operands = program.code[position], sources[position]
        if step.op == "mul" or (step.op == "affine" and step.c1 == 0):
            for operand in operands:
                follow(operand)
        elif step.op == "exp" and step.c0 < 0 and _is_distance(program, operands[0]) and reads[operands[0]] == 1:
            found[operands[0]] = position, step

    follow(len(program.statistics) + len(program.code) - 1)
    if not found:
        return None
    code, statistics = list(program.code), list(program.statistics)
    for register, (position, step) in found.items():
        code[position] = replace(step, c0=-2.0 * step.c0)
        statistics[register] = Dot(statistics[register].view, statistics[register].owner)
    parted = replace(program, statistics=tuple(statistics), code=tuple(code))
    return Parted(parted, {register: step.c0 for register, (_, step) in found.items()})


def _trace(program: Program) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return how often each value is read, statistics first, and which ones every instruction reads."""
    held = {register: register for register in range(len(program.statistics))}  # the value in each register
    reads, sources = [0] * (len(program.statistics) + len(program.code)), []
    for position, step in enumerate(program.code):
        registers = () if step.op in ("left", "right") else (step.a, step.b)[: 2 if step.op in ("add", "mul") else 1]
        sources.append(tuple(held[register] for register in registers))
        for value in sources[-1]:
            reads[value] += 1
        held[step.dst] = len(program.statistics) + position
    reads[-1] += 1  # the kernel itself
    return reads, sources


def _is_distance(program: Program, value: int) -> bool:
    return value < len(program.statistics) and program.statistics[value].native == "sqdist"


class NormFactors:
    """exp(c‖x‖²) of the points of both sides, multiplied over all the statistics that were parted.

    Parameters
    ----------
    exponents : dict
        c of each of these statistics.
    operands : tuple of Operands
        How they are computed.
    arrays : list of pairs of Arrays
        The points of both sides as they are rounded there, with their norms.
    """

    def __init__(
        self, exponents: dict[int, float], operands: tuple[Operand, ...], arrays: list[tuple[Arrays, Arrays]]
    ) -> None:
        bits: list[Any] = [
            sum(
                -c * LOG2E / operands[register].scale * arrays[register][side].norms
                for register, c in exponents.items()
            )
            for side in (0, 1)
        ]
        self.in_range = all(float(side.max()) <= MOST for side in bits)
        self.rows, self.columns = (2.0**-side for side in bits)
