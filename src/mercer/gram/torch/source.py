"""From a kernel's program to the Triton source of its fused product.

The source is printed from the same :class:`~mercer.formula.program.Program` that every backend runs: first the
statistics of a tile, by tensor cores where they are dot products and coordinate by coordinate where they are not, then
one line for each instruction, then the products with the right-hand sides.  A tile lives in registers only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from mercer.formula.program import Instruction, Program

LOG2E = math.log2(math.e)
SQUARED = 16  # integer powers up to this are products
TAIL = 2.0**-11  # the size of a low half next to its high half, which float8 operands leave out
LONGEST = 640  # bytes of a row of operands that stays in fast memory
PIECE = 64  # columns that longer rows are walked in at a time
PAD = 256  # rows are padded to a multiple of this, and spans of columns begin at one
FEW = 2  # right-hand sides up to which multiplying in registers beats another product on tensor cores

TERMS = {  # the share of one coordinate in each statistic
    "dot": "a * b",
    "sqdist": "(a - b) * (a - b)",
    "absdist": "tl.abs(a - b)",
    "chi2": "tl.where(a + b == 0, 0.0, (a - b) * (a - b) / tl.where(a + b == 0, 1.0, a + b))",
    "min": "tl.minimum(a, b)",
    "match": "tl.where(a == b, 1.0, 0.0)",
}
FUNCTIONS = {
    "sqrt": "tl.sqrt(tl.maximum({a}, 0.0))",
    "recip": "tl.where({a} == 0, 0.0, 1.0 / tl.where({a} == 0, 1.0, {a}))",
    "log": "tl.log({a})",
    "log1p": "tl.where(tl.abs({a}) < 1e-4, {a} * (1.0 - 0.5 * {a}), tl.log(1.0 + {a}))",
    "tanh": f"1.0 - 2.0 / (tl.exp2({2 * LOG2E!r} * {{a}}) + 1.0)",
}


@dataclass(frozen=True)
class Operand:
    """How one statistic is computed in a launch.

    Parameters
    ----------
    kind : str
        The statistic: "dot", "sqdist", "absdist", "powdist", "chi2", "min" or "match".
    mode : {"half", "folded", "mixed", "single", "plain"}
        Halves x = h + l in float16 multiplied as [h h l]·[h l h]; the same with the norms among the columns; h·h and
        the norms of a distance in float16 and the rest, [h l]·[l h], in float8; float32 operands split in three by the
        hardware; or coordinates one by one.
    depth : int
        Columns of the arrays, a multiple of 16 unless plain.
    scale : float
        The register holds scale · statistic.
    tail : int
        Columns of the float8 arrays of a mixed operand, a multiple of 32.
    exponent : float
        The power of differences in "powdist".
    """

    kind: str
    mode: str
    depth: int
    scale: float = 1.0
    tail: int = 0
    exponent: float = 1.0

    @property
    def streamed(self) -> bool:
        """Whether rows are too long to stay in fast memory, so that products walk them piece by piece."""
        return self.mode != "plain" and 2 * self.depth + self.tail > LONGEST

    @property
    def has_norms(self) -> bool:
        """Whether norms are added apart from the product."""
        return self.kind == "sqdist" and self.mode in ("half", "single")


def _chunks(depth: int) -> list[tuple[int, int]]:
    """Start and width of the pieces a depth is walked in, each a power of two."""
    found, start = [], 0
    while start < depth:
        width = 128
        while width > depth - start:
            width //= 2
        found.append((start, width))
        start += width
    return found


@dataclass(frozen=True)
class Launch:
    """Everything the source of one kernel depends on."""

    program: Program = field(compare=False)
    operands: tuple[Operand, ...]
    code: tuple[Instruction, ...]
    columns: int  # right-hand sides
    symmetric: bool
    double: bool
    sub: int = 1  # blocks of rows that share a block of columns
    long: bool = False  # whether positions in the arrays need 64 bits
    scaled: bool = False  # whether values are multiplied by one more vector of either side, after the program's own

    @property
    def sides(self) -> tuple[int, int]:
        """How many vectors of the rows and of the columns are read."""
        return len(self.program.left) + self.scaled, len(self.program.right) + self.scaled

    @property
    def split(self) -> bool:
        """Whether right-hand sides are multiplied by tensor cores, as halves."""
        return self.columns > FEW and not self.double

    def width(self) -> int:
        """Columns of the array of right-hand sides: high halves, low halves, a power of two."""
        return max(16, 2 ** math.ceil(math.log2(2 * self.columns))) if self.split else self.columns


def print_source(launch: Launch) -> str:
    """Return the Triton source of ``product`` for a launch."""
    return "\n".join(_Printer(launch).lines())


def print_coordinates(kind: str, exponent: float, double: bool) -> str:
    """Return the Triton source of ``coordinates``: one statistic of all pairs of points, stored column by column."""
    real = "tl.float64" if double else "tl.float32"
    body = [
        "across = tl.cdiv(m, BN)",
        "rows = tl.program_id(0) // across * BM + tl.arange(0, BM)",
        "columns = tl.program_id(0) % across * BN + tl.arange(0, BN)",
        "here, there = tl.minimum(rows, n - 1).to(tl.int64), tl.minimum(columns, m - 1).to(tl.int64)",
        f"total = tl.zeros([BM, BN], {real})",
        "left, right = A + here, B + there",
        "for _ in range(depth):",
        "    a, b = tl.load(left)[:, None], tl.load(right)[None, :]",
        f"    total += {_print_term(kind, exponent)}",
        "    left += n",
        "    right += m",
        "place = out + rows.to(tl.int64)[:, None] * m + columns[None, :]",
        "tl.store(place, total, mask=(rows < n)[:, None] & (columns < m)[None, :])",
    ]
    head = [
        "import triton",
        "import triton.language as tl",
        "",
        "",
        "@triton.jit(do_not_specialize=['n', 'm', 'depth'])",
        "def coordinates(A, B, out, n, m, depth, BM: tl.constexpr, BN: tl.constexpr):",
    ]
    return "\n".join([*head, *_indent(body), ""])


class _Printer:
    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.real = "tl.float64" if launch.double else "tl.float32"
        self.position = ".to(tl.int64)" if launch.long else ""

    def lines(self) -> list[str]:
        launch = self.launch
        names = [f"X{i}, Z{i}, x{i}, z{i}" for i in range(len(launch.operands))]
        names += [f"{side}{i}" for side, count in zip("LR", launch.sides, strict=True) for i in range(count)]
        head = [
            "import triton",
            "import triton.language as tl",
            "",
            "",
            "@triton.jit(do_not_specialize=['n', 'm', 'span'])",
            f"def product({', '.join(names)}, V, out, n, m, span,",
            "            BM: tl.constexpr, BN: tl.constexpr, STAGES: tl.constexpr):",
        ]
        body = self.symmetric() if launch.symmetric else self.cross()
        return head + _indent(body) + [""]

    # -- loops ------------------------------------------------------------------------------------------------------

    def cross(self) -> list[str]:
        """One block of rows against one span of columns."""
        return [
            "first = tl.program_id(0) * BM",
            f"start = tl.multiple_of(tl.program_id(1) * span, {PAD})",
            "stop = tl.minimum(start + span, m)",
            *self.rows("", "first"),
            *self.zero_sums(""),
            "for j in tl.range(start, stop, BN, num_stages=STAGES):",
            *_indent(self.columns_of("j") + self.tile("") + self.row_sums("")),
            *self.store_rows(""),
        ]

    def symmetric(self) -> list[str]:
        """A few blocks of rows against one span of columns, from the diagonal on; beyond it each tile is used twice."""
        subs, q = [str(s) for s in range(self.launch.sub)], range(self.launch.columns)
        before, square, both, after = [], self.columns_of("j"), self.columns_of("j"), []
        both += [f"down{r} = tl.zeros([BM, BN], {self.real})" for r in q]
        for s in subs:
            before += self.rows(s, f"first + BM * {s}") + self.zero_sums(s) + self.row_values(s)
            values = self.tile(s) + self.row_sums(s)
            square += values
            both += values + [f"down{r} += k * u{s}_{r}[:, None]" for r in q]
            after += self.store_rows(s)
        for r in q:
            total = f"tl.sum(down{r}, 0).to(tl.float64)"
            both.append(f"tl.atomic_add(out + columns * {len(q)} + {r}, {total}, mask=columns < m, sem='relaxed')")
        inner = [
            *before,
            "for j in tl.range(tl.maximum(start, first), tl.minimum(stop, beyond), BN, num_stages=STAGES):",
            *_indent(square),
            "for j in tl.range(tl.maximum(start, beyond), stop, BN, num_stages=STAGES):",
            *_indent(both),
            *after,
        ]
        return [
            f"first = tl.program_id(0) * BM * {len(subs)}",
            f"beyond = first + BM * {len(subs)}",
            f"start = tl.multiple_of(tl.program_id(1) * span, {PAD})",
            "stop = tl.minimum(start + span, m)",
            "if stop > first:",
            *_indent(inner),
        ]

    # -- operands ---------------------------------------------------------------------------------------------------

    def rows(self, s: str, first: str) -> list[str]:
        return [f"rows{s} = ({first} + tl.arange(0, BM)){self.position}", *self.load_side(0, s, f"rows{s}")]

    def columns_of(self, j: str) -> list[str]:
        lines = [f"columns = ({j} + tl.arange(0, BN)){self.position}", *self.load_side(1, "", "columns")]
        if self.launch.split:
            width = self.launch.width()
            return [*lines, f"v = tl.load(V + columns[:, None] * {width} + tl.arange(0, {width})[None, :])"]
        q = self.launch.columns
        return lines + [f"v{r} = tl.load(V + columns * {q} + {r})" for r in range(q)]

    def load_side(self, side: int, s: str, index: str) -> list[str]:
        """What a tile needs of its rows (side 0) or its columns (side 1): operands, norms, and vectors of one point."""
        down, across = ("[:, None]", "[None, :]") if side == 0 else ("[None, :]", "[:, None]")
        operand_name, norm, vector = (f"a{s}", f"p{s}_", f"l{s}_") if side == 0 else ("b", "q", "r")
        lines = []
        for i, operand in enumerate(self.launch.operands):
            for name, array, depth in [] if operand.streamed else self.factors(i, operand):
                for c, (start, width) in enumerate(_chunks(depth)):
                    place = f"{index}{down} * {depth} + ({start} + tl.arange(0, {width})){across}"
                    lines.append(f"{operand_name}_{name}_{c} = tl.load({array[side]} + {place})")
            if operand.has_norms:
                lines.append(f"{norm}{i} = tl.load({'xz'[side]}{i} + {index})")
        return lines + [f"{vector}{i} = tl.load({'LR'[side]}{i} + {index})" for i in range(self.launch.sides[side])]

    def factors(self, i: int, operand: Operand) -> list[tuple[str, tuple[str, str], int]]:
        """Name, arrays of both sides and depth of every product on tensor cores that a statistic is the sum of."""
        found = [] if operand.mode == "plain" else [(f"{i}", (f"X{i}", f"Z{i}"), operand.depth)]
        return found + ([(f"{i}t", (f"x{i}", f"z{i}"), operand.tail)] if operand.tail else [])

    def row_values(self, s: str) -> list[str]:
        """Right-hand sides at the rows, for the second use of a tile."""
        q = self.launch.columns
        return [f"u{s}_{r} = tl.load(V + rows{s} * {q} + {r})" for r in range(q)]

    # -- one tile ---------------------------------------------------------------------------------------------------

    def tile(self, s: str) -> list[str]:
        """The kernel's values ``k`` of one tile."""
        lines, names, factors = [], {}, {}
        for i, operand in enumerate(self.launch.operands):
            lines += self.statistic(i, operand, s)
            names[i], factors[i] = f"s{i}", 1.0 / operand.scale
        for count, step in enumerate(self.launch.code):
            lines.append(f"t{count} = {self.instruction(step, names, factors, s)}")
            names[step.dst], factors[step.dst] = f"t{count}", 1.0
        last = self.launch.code[-1].dst if self.launch.code else 0
        # Numbers beyond float32 would make everything after them float64.
        lines.append(f"k = ({_scaled(names[last], factors[last])}).to({self.real})")
        if self.launch.scaled:
            i, j = (count - 1 for count in self.launch.sides)
            lines.append(f"k = k * l{s}_{i}[:, None] * r{j}[None, :]")
        return lines

    def statistic(self, i: int, operand: Operand, s: str) -> list[str]:
        if operand.mode == "plain":
            return self.coordinates(i, operand, s)
        lines, total = [], f"s{i}"
        zero = f"{total} = tl.zeros([BM, BN], tl.float32)" if operand.streamed else ""
        lines.append(f"{total} = p{s}_{i}[:, None] + q{i}[None, :]" if operand.has_norms else zero)
        exact = ", input_precision='tf32x3'" if operand.mode == "single" else ""
        for name, arrays, depth in reversed(self.factors(i, operand)):  # the tail first, then the rest on top of it
            if operand.streamed:
                lines += self.streamed(s, total, arrays, depth, exact)
            else:
                for c in range(len(_chunks(depth))):
                    before = f", {total}" if any(lines) else ""
                    lines.append(f"{total} = tl.dot(a{s}_{name}_{c}, b_{name}_{c}{before}{exact})")
            if name.endswith("t") and operand.kind == "sqdist":
                lines.append(f"{total} = {total} * {TAIL!r}")
        lines = [line for line in lines if line]
        if operand.kind == "sqdist":
            lines.append(f"{total} = tl.{'minimum' if operand.scale < 0 else 'maximum'}({total}, 0.0)")
        return lines

    def streamed(self, s: str, total: str, arrays: tuple[str, str], depth: int, exact: str) -> list[str]:
        """A product over rows too long to be held, piece by piece; depths are multiples of a piece then."""
        piece = f"(c + tl.arange(0, {PIECE}))"
        return [
            f"for c in range(0, {depth}, {PIECE}):",
            f"    a = tl.load({arrays[0]} + rows{s}[:, None] * {depth} + {piece}[None, :])",
            f"    b = tl.load({arrays[1]} + columns[None, :] * {depth} + {piece}[:, None])",
            f"    {total} = tl.dot(a, b, {total}{exact})",
        ]

    def coordinates(self, i: int, operand: Operand, s: str) -> list[str]:
        return [
            f"s{i} = tl.zeros([BM, BN], {self.real})",
            f"for d in range({operand.depth}):",
            f"    a = tl.load(X{i} + rows{s} * {operand.depth} + d)[:, None]",
            f"    b = tl.load(Z{i} + columns * {operand.depth} + d)[None, :]",
            f"    s{i} += {_print_term(operand.kind, operand.exponent)}",
        ]

    def instruction(self, step: Instruction, names: dict[int, str], factors: dict[int, float], s: str) -> str:
        if step.op in ("left", "right"):
            return f"l{s}_{step.a}[:, None]" if step.op == "left" else f"r{step.a}[None, :]"
        a, f = names[step.a], factors[step.a]
        if step.op == "affine":
            return _scaled(a, step.c0 * f, step.c1)
        if step.op == "exp":
            return f"tl.exp2({_scaled(a, step.c0 * f * LOG2E, step.c1 * LOG2E)})"
        if step.op == "add":
            return f"{_scaled(a, step.c0 * f)} + {_scaled(names[step.b], step.c1 * factors[step.b])}"
        value = _scaled(a, f)
        if step.op == "mul":
            return f"({value}) * ({_scaled(names[step.b], factors[step.b])})"
        return _print_function(step.op, f"({value})", step.c0)

    # -- sums -------------------------------------------------------------------------------------------------------

    def zero_sums(self, s: str) -> list[str]:
        if self.launch.split:
            return [f"up{s} = tl.zeros([BM, {self.launch.width()}], tl.float32)"]
        return [f"up{s}_{r} = tl.zeros([BM], {self.real})" for r in range(self.launch.columns)]

    def row_sums(self, s: str) -> list[str]:
        if self.launch.split:
            # Tensor cores cut sums off instead of rounding them, so that long ones are added up here.
            halves = ["high = k.to(tl.float16)", "low = (k - high.to(tl.float32)).to(tl.float16)"]
            return [*halves, "part = tl.dot(low, v)", f"up{s} += tl.dot(high, v, part)"]
        return [f"up{s}_{r} += tl.sum(k * v{r}[None, :], 1)" for r in range(self.launch.columns)]

    def store_rows(self, s: str) -> list[str]:
        if self.launch.split:
            width = self.launch.width()
            place = f"out + rows{s}[:, None] * {width} + tl.arange(0, {width})[None, :]"
            return [f"tl.atomic_add({place}, up{s}.to(tl.float64), mask=(rows{s} < n)[:, None], sem='relaxed')"]
        q = self.launch.columns
        return [
            f"tl.atomic_add(out + rows{s} * {q} + {r}, up{s}_{r}.to(tl.float64), mask=rows{s} < n, sem='relaxed')"
            for r in range(q)
        ]


def _scaled(name: str, factor: float, shift: float = 0.0) -> str:
    text = name if factor == 1 else f"-{name}" if factor == -1 else f"{name} * {factor!r}"
    return text if shift == 0 else f"{text} + {shift!r}"


def _indent(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _print_term(kind: str, exponent: float) -> str:
    return _power_term(exponent) if kind == "powdist" else TERMS[kind]


def _power_term(exponent: float) -> str:
    """|a − b|^exponent, by a root where that does it."""
    if exponent in (0.5, 1.5):
        return "tl.sqrt(tl.abs(a - b))" + (" * tl.abs(a - b)" if exponent == 1.5 else "")
    size = "tl.where(a == b, 1.0, tl.abs(a - b))"
    return f"tl.where(a == b, 0.0, tl.exp2({exponent!r} * tl.log2({size})))"


def _print_function(op: str, a: str, exponent: float) -> str:
    if op in FUNCTIONS:
        return FUNCTIONS[op].format(a=a)
    if op == "powi" and exponent <= SQUARED:
        return _integer_power(a, int(exponent))
    if op == "powi":
        size = f"tl.exp2({exponent!r} * tl.log2(tl.maximum(tl.abs({a}), 1e-37)))"
        return f"tl.where({a} < 0, -{size}, {size})" if exponent % 2 else size
    return f"tl.where({a} <= 0, 0.0, tl.exp2({exponent!r} * tl.log2(tl.maximum({a}, 1e-37))))"


def _integer_power(a: str, exponent: int) -> str:
    if exponent == 1:
        return a
    half = _integer_power(a, exponent // 2)
    square = f"{half} * {half}"
    return f"({square} * {a})" if exponent % 2 else f"({square})"
