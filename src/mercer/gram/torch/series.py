"""Signature kernels on a device: series padded side by side, their segments compared one anti-diagonal at a time.

The recursion is in :mod:`mercer.gram.torch.words`.  A formula that such kernels are part of is evaluated on the host,
from blocks that come from the device: a value has taken thousands of operations by then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike

from mercer.arrays import Array
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array, load_torch
from mercer.formula.data import Rows
from mercer.formula.expression import Expression, Stat, rebuild
from mercer.formula.program import Program, UnsupportedError, entry_width
from mercer.formula.statistics import BlockStatistic
from mercer.kernels.sequences.data import Ragged, begins_with
from mercer.kernels.sequences.signature import SignatureKernel, WordSums

from ..backend import TILE_BYTES
from ..numpy import NumpyBackend
from ..prepared import PreparedProgram
from .backend import MovedBackend
from .points import prepare_points
from .tiles import evaluate_tile
from .words import count_numbers, cut_diagonals, sum_words

SHARE = 16  # of the memory of a place: tables of pairs take one at most, and series that are lined up two
BYTES = 8  # of a number
LIFTED = 4  # anti-diagonals of a static kernel and of its increments that are kept


def place_blocks(
    expression: Expression, X: Rows, Z: Rows | None, owner: str, dtype: DTypeLike, place: Place
) -> MovedBackend:
    """Return the backend of a formula whose signature kernels are computed at a place.

    Raises UnsupportedError if it has none, or if a static kernel has no form there.
    """
    found: list[str] = []

    def place_leaf(leaf: Expression) -> Expression:
        statistic = leaf.statistic if isinstance(leaf, Stat) else None
        if not isinstance(statistic, BlockStatistic) or not isinstance(statistic.kernel, SignatureKernel):
            return leaf
        found.append(repr(statistic.kernel))
        return Stat(PlacedSignature(statistic.view, statistic.owner, statistic.kernel, place))

    placed = rebuild(expression, place_leaf)
    if not found:
        raise UnsupportedError("no kernel in it computes its own blocks on a device")
    values = NumpyBackend(placed, X, Z, owner, "", dtype)
    return MovedBackend(values, place, f"blocks of {', '.join(found)} are computed on {place}", there=True)


@dataclass(frozen=True, eq=False)
class PlacedSeries(Ragged):
    """Series whose elements are also on a device, as the statistics of a static kernel want them."""

    points: tuple[Array, ...]  # for each statistic, a row for each element; of increments, with zeros after the last
    left: tuple[Array, ...]  # what the static kernel has of one point only, on the left of pairs
    right: tuple[Array, ...]
    program: Program | None  # of the static kernel; None where increments are multiplied

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum(array.nbytes for array in (*self.points, *self.left, *self.right))


@dataclass(frozen=True)
class PlacedSignature(BlockStatistic):
    """The values of a signature kernel, computed at a place and brought to the host."""

    kernel: SignatureKernel
    place: Place

    def prepare(self, X: Rows, Z: Rows, dtype: Any) -> tuple[PlacedSeries, PlacedSeries]:
        """Prepare all series as the host does, and send them."""
        return self._send(*super().prepare(X, Z, dtype))

    def block(self, A: PlacedSeries, B: PlacedSeries) -> np.ndarray:
        """Sum over words, for as many pairs at a time as there is room for, of about the same lengths.

        Where B begins with the series of A, as on the diagonal of a Gram matrix, each of their pairs is computed once.
        """
        n, m, twice = len(A), len(B), begins_with(B, A)
        out = self.place.namespace.ones((n, m), dtype=load_torch().float64, device=self.place.device)
        steps, others = self._count_steps(A), self._count_steps(B)
        left = _sort(np.arange(n), steps)
        while len(left) and steps[left[0]] > 0:  # a series without segments has k = 1 with all others
            longest = int(steps[left[0]])
            right = _sort(np.concatenate([left, np.arange(n, m)]) if twice else np.arange(m), others)
            square = math.isqrt(self._room // self._count_table(longest, longest))
            most = self._room // self._count_table(longest, int(others[right[0]]))
            rows = self._index(left[: self._limit(A, longest, min(square, most))])
            while len(right) and others[right[0]] > 0:
                other = int(others[right[0]])
                count = self._limit(B, other, self._room // self._count_table(longest, other) // len(rows))
                columns, right = self._index(right[:count]), right[count:]
                values = self._sum(A, B, rows, columns)
                out[rows[:, None], columns] = values
                if twice:
                    both = columns < n
                    out[columns[both, None], rows] = values.T[both]
            left = left[len(rows) :]
        if twice:
            square = out[:, :n].triu()
            out[:, :n] = square + square.triu(1).T  # pairs inside a group were computed twice, in both orders
        return self.kernel.check_range(host_array(out))

    def diag(self, A: PlacedSeries) -> np.ndarray:
        """Sum over words of every series with itself."""
        if A.program is not None and (len(A.left), len(A.right)) != (len(A.program.left), len(A.program.right)):
            A, _ = self._send(A, A)  # which was prepared for one side of pairs
        out = self.place.namespace.ones(len(A), dtype=load_torch().float64, device=self.place.device)
        steps = self._count_steps(A)
        left = _sort(np.arange(len(A)), steps)
        while len(left) and steps[left[0]] > 0:
            longest = int(steps[left[0]])
            some = self._index(left[: self._limit(A, longest, self._room // self._count_table(longest, longest))])
            out[some] = self._sum(A, A, some[:, None], some[:, None])[:, 0, 0]
            left = left[len(some) :]
        return self.kernel.check_range(host_array(out))

    def apart(self, A: PlacedSeries, B: PlacedSeries) -> np.ndarray:
        """Return k(x, x) + k(z, z) − 2 k(x, z)."""
        return self.diag(A)[:, None] + self.diag(B)[None, :] - 2.0 * self.block(A, B)

    def scratch(self, A: PlacedSeries, B: PlacedSeries) -> int:
        """Return the bytes of as many pairs as are computed at a time, at least one."""
        longest = [int(self._count_steps(side).max()) for side in (A, B)]
        needs = [(len(A) * len(B), self._count_table(*longest))]
        needs += [(len(side), _count_lined_up(side, steps)) for side, steps in zip((A, B), longest, strict=True)]
        return sum(max(each, min(self._room, count * each)) for count, each in needs)

    # -- series on the device ------------------------------------------------------------------------------------

    @property
    def programme(self) -> WordSums:
        """Which words are summed, and of which static kernel."""
        return self.kernel.programme()

    def _send(self, A: Ragged, B: Ragged) -> tuple[PlacedSeries, PlacedSeries]:
        if not self.programme.trim:
            left = _add_fields(A, (self._send_increments(A),))
            return left, left if B is A else _add_fields(B, (self._send_increments(B),))
        static, Z = self.programme.static, None if B is A else B.rows
        prepare = partial(prepare_points, X=A.rows, Z=Z, dtype=np.float64, device=self.place.device)
        data = PreparedProgram(static.traced(), A.rows, Z, self.owner, np.float64, prepare, self.place.put)
        points, sides = tuple(one for one, _ in data.pairs), (tuple(data.left), tuple(data.right))
        if B is A:
            left = _add_fields(A, points, *sides, data.program)
            return left, left
        others = tuple(cast(Array, other) for _, other in data.pairs)
        left = _add_fields(A, points, left=sides[0], program=data.program)
        return left, _add_fields(B, others, right=sides[1], program=data.program)

    def _send_increments(self, A: Ragged) -> Array:
        return self.place.put(np.concatenate([A.rows, np.zeros((1, A.rows.shape[1]))]))

    def _count_steps(self, A: Ragged) -> np.ndarray:
        return self.programme.count_steps(A.size)

    def _index(self, positions: np.ndarray) -> Array:
        return load_torch().as_tensor(positions, device=self.place.device)

    # -- pairs ---------------------------------------------------------------------------------------------------

    def _sum(self, A: PlacedSeries, B: PlacedSeries, rows: Array, columns: Array) -> Array:
        """Return values for all of some series (…, n) with some others (…, m), of shape (…, n, m)."""
        programme = self.programme
        left, right = self._line_up(A, rows), self._line_up(B, columns).reverse()
        if A.program is None:
            products = _multiply(left.take(A.points)[0], right.take(B.points)[0])
        else:
            products = _difference(A.program, A, B, left, right)
        return sum_words(programme.levels, programme.order, (left.longest, right.longest), products)

    def _line_up(self, A: PlacedSeries, chosen: Array) -> Lines:
        steps, start = (self._index(each)[chosen] for each in (self._count_steps(A), A.start))
        longest = int(steps.max())
        shape = (longest + self.programme.trim, *[1] * chosen.ndim)
        place = load_torch().arange(shape[0], device=self.place.device).reshape(shape) - (longest - steps)
        if A.program is None:
            index = (start + place).where(place >= 0, len(A.rows))  # where the zeros are
            return Lines(longest, index, None)
        uneven = bool((steps < longest).any())
        return Lines(longest, start + place.clamp(min=0), (place >= 0)[:-1].double() if uneven else None)

    # -- memory --------------------------------------------------------------------------------------------------

    @property
    def _room(self) -> int:
        return min(self.place.memory // SHARE, TILE_BYTES * (16 if self.place.kind == "cuda" else 1))

    def _count_table(self, n: int, m: int) -> int:
        """Return the bytes of what is computed of one pair of series with n and m segments."""
        programme = self.programme
        made = LIFTED + entry_width(programme.static.traced()) if programme.trim else 1
        return BYTES * (count_numbers(programme.levels, programme.order, n, m) + made * (min(n, m) + 1))

    def _limit(self, A: PlacedSeries, steps: int, pairs: int) -> int:
        """Return how many series with so many segments are lined up, of so many whose pairs there is room for."""
        return max(1, min(pairs, self._room // _count_lined_up(A, steps)))


@dataclass(frozen=True)
class Lines:
    """Which elements of series stand side by side, step by step, and where there are any."""

    longest: int  # of their numbers of segments
    index: Array  # of shape (steps, …)
    mask: Array | None  # 1 for segments and 0 for what was put in front of them; None if there are but segments

    def reverse(self) -> Lines:
        """Return the last step first."""
        return Lines(self.longest, self.index.flip(0), None if self.mask is None else self.mask.flip(0))

    def take(self, arrays: tuple[Array, ...]) -> list[Array]:
        """Return rows of arrays in these places."""
        return [array[self.index] for array in arrays]


def _multiply(X: Array, Z: Array) -> Iterator[Array]:
    """Yield inner products of increments on anti-diagonals."""
    for rows, columns in cut_diagonals(len(X), len(Z)):
        yield X[rows] @ Z[columns].mT


def _difference(program: Program, A: PlacedSeries, B: PlacedSeries, left: Lines, right: Lines) -> Iterator[Array]:
    """Yield increments of the static kernel in both arguments on anti-diagonals, each value of it computed once."""
    sides = list(zip(left.take(A.points), right.take(B.points), strict=True))
    ones, others = left.take(A.left), right.take(B.right)
    segments = cut_diagonals(left.longest, right.longest)
    known: list[tuple[int, Array]] = []  # values on three anti-diagonals of points, and the first row of each
    for rows, columns in cut_diagonals(left.longest + 1, right.longest + 1):
        pairs = [(X[rows], Z[columns]) for X, Z in sides]
        values = evaluate_tile(program, pairs, [each[rows] for each in ones], [each[columns] for each in others])
        known = [*known[-2:], (rows.start, values)]
        if len(known) < 3:
            continue
        mine, theirs = next(segments)
        (old, before), (last, between), (now, after) = known
        a = after[_move(mine, 1 - now)] - between[_move(mine, -last)]
        a -= between[_move(mine, 1 - last)] - before[_move(mine, -old)]
        if left.mask is not None:
            a *= left.mask[mine][..., :, None]
        if right.mask is not None:
            a *= right.mask[theirs][..., None, :]
        yield a


def _move(rows: slice, by: int) -> slice:
    return slice(rows.start + by, rows.stop + by)


def _sort(positions: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return positions of series, the longest first."""
    return positions[np.argsort(-steps[positions], kind="stable")]


def _count_lined_up(A: PlacedSeries, steps: int) -> int:
    """Return the bytes of one series with so many segments among others."""
    return BYTES * (steps + 1) * (1 + len(A.left) + len(A.right) + sum(side.shape[1] for side in A.points))


def _add_fields(
    A: Ragged, points: tuple[Array, ...], left: Any = (), right: Any = (), program: Program | None = None
) -> PlacedSeries:
    return PlacedSeries(A.rows, A.start, A.size, points, left, right, program)
