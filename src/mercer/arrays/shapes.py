"""What annotations say of the sizes of what an object holds, and the comparison with what it does hold.

    class Windows:
        points: Annotated[Rows, Axes("n …")]
        members: Annotated[np.ndarray, Axes("n c")]
        priors: Annotated[np.ndarray, Axes("c")]

A letter stands for one number in all of an object.  Model files are compared with these words when they are read, so
that a model that was loaded can be used; see ``mercer.persist``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np


class SizeError(ValueError):
    """What an object holds does not have the sizes that its class says."""


@dataclass
class AxisSizes:
    """The numbers that letters stand for, and for some only how large they are at least."""

    exact: dict[str, int] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)

    def bind(self, letter: str, number: int, what: str) -> None:
        """Let a letter stand for a number, or raise if it stands for another."""
        if self.exact.setdefault(letter, number) != number:
            raise SizeError(f"{what} is {number}, but {letter} is {self.exact[letter]} elsewhere")

    def exceed(self, letter: str, number: int) -> None:
        """Let a letter stand for a number of at least so much."""
        self.least[letter] = max(number, self.least.get(letter, 0))

    def check(self) -> None:
        """Raise if a letter stands for less than it must."""
        for letter, number in self.least.items():
            if self.exact.get(letter, number) < number:
                raise SizeError(f"there is a place {number - 1} among {letter} = {self.exact[letter]}")


@dataclass(frozen=True)
class Axes:
    """How long the axes of an array or collection are.

    Parameters
    ----------
    axes : str
        A letter or number for each, as in ``"n 2"``.  One with a question mark at the end, ``"n q?"``, may be missing,
        and stands for 0 then; one with a plus sign, ``"c+"``, is at least 1; ``"n …"`` is data of any kind, with any
        axes after the first.
    below : str, optional
        The entries are places among so many: whole numbers from 0 on, below the number of this letter.
    of : str
        The kinds of entries an array may have, as NumPy's letters; numbers and truth values by default.  Or the name of
        the only type, such as "float64", where compiled code reads them.
    """

    axes: str
    below: str | None = None
    of: str = "biuf"

    def measure(self, name: str, value: Any, sizes: AxisSizes) -> None:
        """Add the sizes of a value to others."""
        shape = tuple(getattr(value, "shape", ())) if hasattr(value, "shape") else (len(value),)
        letters = self.axes.split()
        if letters[-1:] == ["…"]:
            letters, shape = letters[:-1], shape[: len(letters) - 1]
        if letters[-1:] and letters[-1][-1] == "?" and len(shape) == len(letters) - 1:
            shape += (0,)
        if len(shape) != len(letters):
            raise SizeError(f"{name} has the shape {shape}, expected {self}")
        for letter, size in zip(letters, shape, strict=True):
            if letter.isdigit() and int(letter) != size:
                raise SizeError(f"{name} has the shape {shape}, expected {self}")
            if not letter.isdigit():
                sizes.bind(letter.rstrip("?+"), int(size), f"an axis of {name}, which has the shape {self},")
            if letter[-1] == "+":
                sizes.exceed(letter[:-1], 1)
        if isinstance(value, np.ndarray) and "…" not in self.axes:
            self._check_entries(name, value, sizes)

    def _check_entries(self, name: str, value: np.ndarray, sizes: AxisSizes) -> None:
        one = self.of[-1].isdigit()
        if self.below is None and (value.dtype.name != self.of if one else value.dtype.kind not in self.of):
            raise SizeError(f"{name} is an array of {value.dtype}")
        if self.below is not None:
            if value.dtype != np.int64 or value.min(initial=0) < 0:
                raise SizeError(f"{name} holds places, which are whole numbers from 0 on")
            sizes.exceed(self.below, int(value.max(initial=-1)) + 1)

    def __str__(self) -> str:
        return f"({', '.join(self.axes.split())})"


@dataclass(frozen=True)
class Number:
    """A number that is itself one of the sizes."""

    letter: str

    def measure(self, name: str, value: Any, sizes: AxisSizes) -> None:
        """Add a value to the sizes."""
        sizes.bind(self.letter, int(value), name)


@dataclass(frozen=True)
class Positions:
    """Columns among so many: whole numbers, from the end if they are negative, and names, which are not looked at."""

    letter: str

    def measure(self, name: str, value: Any, sizes: AxisSizes) -> None:
        """Add how many columns there are at least."""
        places = [each + 1 if each >= 0 else -each for each in value if isinstance(each, int)]
        sizes.exceed(self.letter, max(places, default=0))


class Inside:
    """What the sizes of an object inside are here: ``Inside(n="m")`` says that its n is m.

    A function stands for a size that follows from others, whose letters are the names of its arguments.
    """

    def __init__(self, **letters: str | Callable[..., int]) -> None:
        self.letters = letters

    def measure(self, name: str, value: Any, sizes: AxisSizes) -> None:
        """Add the sizes of an object inside."""
        inner = measure_object(value)
        for letter, outer in self.letters.items():
            if callable(outer):
                needed = list(inspect.signature(outer).parameters)
                if not set(needed) <= set(sizes.exact):
                    continue
                expected = outer(*(sizes.exact[each] for each in needed))
                if inner.exact.get(letter, expected) != expected or inner.least.get(letter, 0) > expected:
                    raise SizeError(f"{letter} of {name} is {inner.exact.get(letter)}, expected {expected}")
            elif letter in inner.exact:
                sizes.bind(outer, inner.exact[letter], f"{letter} of {name}")
            elif letter in inner.least:
                sizes.exceed(outer, inner.least[letter])


class MayBeNone:
    """None may stand here instead, as ``Annotated[np.ndarray, Axes("n")] | None`` says."""

    def measure(self, name: str, value: Any, sizes: AxisSizes) -> None:
        """Add nothing."""


Note = Axes | Number | Positions | Inside | MayBeNone
MAY_BE_NONE = MayBeNone()
ANYTHING = "biufcmMOSUV"  # that an array may hold
OF_ESTIMATORS: dict[str, tuple[Note, ...]] = {  # what scikit-learn leaves on them
    "n_features_in_": (Number("d"),),
    "feature_names_in_": (Axes("d", of="OU"),),
}


def measure(notes: Mapping[str, tuple[Note, ...]], values: Mapping[str, Any]) -> AxisSizes:
    """Return the sizes of named values, or raise SizeError if they are not what is noted of them.

    Examples
    --------
    >>> notes = {"points": (Axes("n …"),), "members": (Axes("n c"),), "priors": (Axes("c"),)}
    >>> measure(notes, {"points": ["a", "b"], "members": np.eye(2), "priors": np.ones(2)}).exact
    {'n': 2, 'c': 2}
    >>> measure(notes, {"points": ["a", "b"], "members": np.eye(2), "priors": np.ones(3)})
    Traceback (most recent call last):
    ...
    mercer.arrays.shapes.SizeError: an axis of priors, which has the shape (c), is 3, but c is 2 elsewhere
    """
    sizes = AxisSizes()
    for name, value in values.items():
        if value is None and name in notes and MAY_BE_NONE not in notes[name]:
            raise SizeError(f"{name} is None")
    there = [(name, note) for name in notes if values.get(name) is not None for note in notes[name]]
    # What follows from other sizes comes last.
    for name, note in sorted(there, key=lambda each: isinstance(each[1], Inside)):
        note.measure(name, values[name], sizes)
    sizes.check()
    return sizes


def measure_object(value: Any) -> AxisSizes:
    """Return the sizes of what an object holds, as far as its class notes them."""
    kind: Any = type(value)
    return measure(read_notes(kind), vars(value))


@cache
def read_notes(cls: type) -> dict[str, tuple[Note, ...]]:
    """Return what the annotations of a class note of sizes, by name.

    Examples
    --------
    >>> class Line:
    ...     points: Annotated[np.ndarray, Axes("n 2")]
    ...     name: str
    >>> read_notes(Line)["points"]
    (Axes(axes='n 2', below=None, of='biuf'),)
    """
    hints = get_type_hints(cls, include_extras=True)
    return OF_ESTIMATORS | {name: notes for name, hint in hints.items() if (notes := tuple(_find_notes(hint)))}


def _find_notes(hint: Any) -> Iterator[Note]:
    if get_origin(hint) is Annotated:
        yield from (note for note in hint.__metadata__ if isinstance(note, Note))
    else:
        found = [note for part in get_args(hint) for note in _find_notes(part)]
        yield from (*found, *[MAY_BE_NONE] * (bool(found) and type(None) in get_args(hint)))
