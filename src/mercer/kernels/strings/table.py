"""Sequences of tokens as numbers: what the kernels on strings turn their objects into, once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer.formula.data import Rows, advise_on, as_objects, is_missing, is_missing_object, short
from mercer.messages import name_kernels

from ..prepared import HeldArrays, Sliced

if TYPE_CHECKING:
    from mercer._native import StringTable


@dataclass(frozen=True, eq=False)
class TokenTable(HeldArrays):
    """Distinct sequences, shortest first, with their tokens numbered."""

    codes: np.ndarray  # the tokens of all sequences, one after the other, as int32
    starts: np.ndarray  # sequence q has the codes from starts[q] to starts[q + 1]
    tokens: tuple[Hashable, ...]  # what each code stands for; −1 is a token that equals nothing, not even itself
    weights: np.ndarray | None = None  # what the window that starts at each code counts, 1 if not given
    strands: int = 0  # if not 0, sequence q + strands has both strands of sequence q
    missing: int = -1  # the number of the object that stands for all missing ones, −1 if there are none

    @property
    def sizes(self) -> np.ndarray:
        """The number of tokens of each sequence."""
        return np.diff(self.starts)

    @property
    def native(self) -> StringTable:
        """The table as the compiled core takes it."""
        plain = self.codes, self.starts, len(self.tokens)
        return plain if self.weights is None else (*plain, self.weights)

    def part(self, first: int, last: int) -> TokenTable:
        """Return the table of the sequences from ``first`` up to but not including ``last``."""
        strands = last - first if self.strands else 0
        kept = [self.starts[q : q + last - first + 1] for q in ((first, first + self.strands) if strands else (first,))]
        held = np.concatenate([np.arange(starts[0], starts[-1]) for starts in kept])
        ends = np.cumsum(np.concatenate([np.diff(starts) for starts in kept]))
        weights = None if self.weights is None else self.weights[held]
        starts = np.concatenate([[0], ends]).astype(np.int64)
        return replace(self, codes=self.codes[held], starts=starts, weights=weights, strands=strands, missing=-1)

    def windows(self, ids: np.ndarray, span: int) -> tuple[np.ndarray, np.ndarray]:
        """Return every window of some sequences: its number in ``ids``, and where it starts in ``codes``."""
        counts = np.maximum(self.sizes[ids] - span + 1, 0)
        owners = np.repeat(np.arange(len(ids)), counts)
        steps = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        starts = self.starts[ids][owners] + steps
        none = np.concatenate([[0], np.cumsum(self.codes < 0)])
        whole = none[starts] == none[starts + span]
        return (owners, starts) if whole.all() else (owners[whole], starts[whole])


@dataclass(frozen=True, eq=False)
class Coded(Sliced):
    """A collection of sequences, each given by its number in a table."""

    table: TokenTable
    ids: np.ndarray
    along: ClassVar[tuple[str, ...]] = ("ids",)


def encode(X: Rows, Z: Rows | None, owner: str, *, own_missing: bool = False) -> tuple[Coded, Coded]:
    """Number the tokens of two collections together (Z = None means X again); equal sequences become one.

    Missing objects are one more sequence, without tokens, if ``own_missing`` says so, and refused otherwise.
    """
    left = as_objects(X, owner)
    right = [] if Z is None else as_objects(Z, owner)
    items: list[Any] = [*left, *right]
    if set(map(type, items)) == {str}:  # which are many, and need no look at each of them
        known = {item: i for i, item in enumerate(dict.fromkeys(items))}
        table, places = _make_table(list(known))
        ids = places[np.fromiter(map(known.__getitem__, items), np.int64, len(items))]
    else:
        table, ids = _number_objects(left, right, owner, own_missing)
    A = Coded(table, ids[: len(left)])
    return A, A if Z is None else Coded(table, ids[len(left) :])


def _number_objects(
    left: Sequence[Any], right: Sequence[Any], owner: str, own_missing: bool
) -> tuple[TokenTable, np.ndarray]:
    """Return the table of the distinct sequences of two collections of any kind, and the place of each object there."""
    read = _read_object if own_missing else _read_tokens
    items = [read(item, i, owner) for side in (left, right) for i, item in enumerate(side)]
    kinds = {type(item): i for i, item in reversed(list(enumerate(items))) if item is not None}
    if len(kinds) > 1:
        (one, i), (other, j) = sorted(kinds.items(), key=lambda kind: kind[1])[:2]
        objects = [*left, *right]
        raise TypeError(
            f"{owner}: the objects are of mixed types: {short(objects[i])} is {_KINDS[one]}, {short(objects[j])} is "
            f"{_KINDS[other]}; give all of them as one kind (object {_count_from(j, len(left))} differs)"
        )
    known: dict[Any, int] = {}
    ids = np.array([_number_sequence(known, item, i, len(left), owner) for i, item in enumerate(items)], dtype=np.int64)
    nothing = next(iter(kinds), str)()
    table, places = _make_table([nothing if item is None else item for item in known])
    lost = next((token for token in table.tokens if is_missing(token)), 0)
    if is_missing(lost):
        holder = next(i for i, item in enumerate(items) if item is not None and any(map(is_missing, item)))
        raise ValueError(
            f"{owner}: a token is missing ({lost!r}) in object {_count_from(holder, len(left))}, which equals nothing; "
            "drop it, or put a token of its own such as '?' there"
        )
    if None in known:
        table = replace(table, missing=int(places[known[None]]))
    return table, places[ids]


_KINDS: dict[Any, str] = {str: "a string", bytes: "bytes", tuple: "a sequence of tokens"}


def _read_object(item: Any, position: int, owner: str) -> Any:
    """Return an object as its tokens, or as None if it is missing."""
    return None if is_missing_object(item) else _read_tokens(item, position, owner)


def _read_tokens(item: Any, position: int, owner: str) -> Any:
    """Return an object as a string, as bytes or as a tuple of tokens."""
    if isinstance(item, str):
        return str(item)
    if isinstance(item, bytes):
        return bytes(item)
    if isinstance(item, np.ndarray) and item.ndim == 1:
        if item.dtype.kind == "f" and not (item == np.rint(item)).all():
            raise TypeError(
                f"{owner} compares sequences of tokens, which fractions such as those of object {position} are not: "
                f"{short(item)}. {name_kernels(item)}"
            )
        return tuple(item.tolist())
    if isinstance(item, Sequence):
        return tuple(item)
    raise TypeError(
        f"{owner} compares sequences of tokens: strings, or lists, tuples and arrays of hashable tokens; "
        f"object {position} is {short(item)}, of type {type(item).__name__}. {advise_on(item)}"
    )


def _count_from(position: int, count: int) -> int:
    """Return the position of an object in its own collection, of two of which the first has ``count`` objects."""
    return position if position < count else position - count


def _number_sequence(known: dict[Any, int], item: Any, position: int, count: int, owner: str) -> int:
    """Return the number of a sequence among the distinct ones, a new one if it was not seen before."""
    try:
        return known.setdefault(item, len(known))
    except TypeError:
        for place, token in enumerate(item):
            try:
                hash(token)
            except TypeError:
                raise TypeError(
                    f"{owner}: tokens must be hashable, such as strings, numbers or tuples, but token {place} of "
                    f"object {_count_from(position, count)} is {short(token)}, of type {type(token).__name__}"
                ) from None
        raise


def _make_table(distinct: list[Any]) -> tuple[TokenTable, np.ndarray]:
    """Return the table of distinct sequences, and the place of each in it."""
    sizes = np.array([len(item) for item in distinct], dtype=np.int64)
    order = np.argsort(sizes, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    ordered = [distinct[i] for i in order]
    starts = np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.int64)
    if ordered and isinstance(ordered[0], str):
        codes, tokens = _number_letters("".join(ordered))
    else:
        numbers: dict[Hashable, int] = {}
        codes = np.array([numbers.setdefault(t, len(numbers)) for t in chain(*ordered)], dtype=np.int32)
        tokens = tuple(numbers)
    return TokenTable(np.ascontiguousarray(codes, dtype=np.int32), starts, tokens), places


def _number_letters(text: str) -> tuple[np.ndarray, tuple[Hashable, ...]]:
    """Return the number of each letter, and the letters, in the order of their code points."""
    if text.isascii():  # where all of it can be translated at once
        encoded = text.encode("ascii")
        found = np.flatnonzero(np.bincount(np.frombuffer(encoded, dtype=np.uint8), minlength=256))
        numbers = np.zeros(256, dtype=np.uint8)
        numbers[found] = np.arange(len(found))
        codes = np.frombuffer(encoded.translate(numbers.tobytes()), dtype=np.uint8).astype(np.int32)
        return codes, tuple(map(chr, found))
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    seen = np.zeros(int(points.max()) + 1, dtype=bool)
    seen[points] = True
    codes = (np.cumsum(seen, dtype=np.int32) - np.int32(1))[points]
    return codes, tuple(map(chr, np.flatnonzero(seen)))
