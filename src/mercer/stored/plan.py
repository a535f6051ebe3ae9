"""What was read from a disk, and how many rows at a time."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.arrays.budget import show_bytes
from mercer.markup import Cell
from mercer.solvers.plan import Plan
from mercer.words import count_things

PIECE = 2**25  # bytes of the rows of a piece at most: more would make nothing quicker
PART = 64  # of the budget: one part of so many for the rows of a piece, of which there are several copies
FEWEST = 256  # rows of a piece at least


@dataclass(frozen=True)
class StoredPlan(Plan):
    """A plan for rows that are read from a disk, a piece at a time.

    Parameters
    ----------
    pieces : int
        How many pieces there are.
    passes : int
        How many times a computation went over them or asked for some of their rows.
    read : int
        Bytes of points, targets and weights that were read in all.
    what : str
        What was computed from each piece.
    """

    pieces: int = 1
    passes: int = 0
    read: int = 0
    what: str = ""

    def facts(self) -> list[tuple[str, Cell]]:
        """Return what is expected, and what was read."""
        own = [
            ("from each piece", self.what),
            ("read", self._show_reading()),
        ]
        return [*super().facts(), *own]

    def _show_reading(self) -> str:
        passes = f"{self.passes:,} pass{'es' * (self.passes != 1)}"
        return f"{show_bytes(self.read)}, {count_things(self.pieces, 'piece')} in {passes}"

    def __str__(self) -> str:
        return f"{super().__str__()}. Read from the disk: {self._show_reading()}. From each piece: {self.what}."


def size_pieces(memory: int, width: int) -> int:
    """Return how many rows of so many columns a piece has at most, within a budget in bytes.

    Examples
    --------
    >>> size_pieces(2**30, 10), size_pieces(2**20, 10)
    (209715, 256)
    """
    return max(FEWEST, min(PIECE, round_down(memory // PART)) // (8 * max(1, width)))


def round_down(count: int) -> int:
    """Return the largest power of two, so that pieces are the same when a fit is repeated with nearly as much room."""
    return 1 << max(0, int(count).bit_length() - 1)
