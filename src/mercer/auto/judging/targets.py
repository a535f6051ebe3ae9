"""Targets as people have them: numbers with a few odd cells, labels of several kinds, and rows without any."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.words import count_things, shorten

from ..report import Task
from ..tables.reading import read_column, write_label
from .cells import as_cells, parse_cells

SHARE = 0.95  # of the cells that must be numbers
SHOWN = 5  # rows that are named


@dataclass(frozen=True)
class ReadTargets:
    """The targets of the rows that have one, and what became of the others.

    Parameters
    ----------
    values : array
        Numbers or labels of the rows kept.
    kept : array of int
        Which rows those are.
    odd : tuple of (row, text)
        Rows left out because their target is no number, and what it is instead.
    missing : array of int
        Rows left out because they have no target.
    mixed : bool
        Whether labels were of several kinds, and are texts now.
    """

    values: np.ndarray
    kept: np.ndarray
    odd: tuple[tuple[int, str], ...] = ()
    missing: np.ndarray | tuple[int, ...] = ()
    mixed: bool = False


def read_targets(y: Any, task: Task, owner: str = "an automatic model") -> ReadTargets:
    """Return the targets that can be learned from; rows with none, or with an odd one among numbers, are left out.

    Parameters
    ----------
    y : array, series or list of shape (n,)
        The targets.
    task : {"regression", "classification"}
        For regression at least 95 % of the cells must be numbers, such as ``12``, ``$1,234`` or ``5 %``; the others
        are left out.  For classification any cell is a label; labels of several kinds, such as 1 and "1", become
        texts.
    owner : str
        Who asks, for messages.

    Returns
    -------
    ReadTargets

    Examples
    --------
    >>> found = read_targets([f"${i}" for i in range(30)] + ["sold", None], "regression")
    >>> found.values[-2:], found.odd, found.missing.tolist()
    (array([28., 29.]), ((30, 'sold'),), [31])
    >>> read_targets([1, "1", True, None], "classification").values.tolist()
    ['1', '1', 'True']
    """
    cells = as_cells(y)
    return _read_numbers(cells, owner) if task == "regression" else _read_labels(cells, owner)


def are_numbers(y: Any) -> bool:
    """Return whether a target is one of numbers, a few odd cells aside."""
    return hold_numbers(*parse_cells(as_cells(y)))


def hold_numbers(numbers: np.ndarray, missing: np.ndarray, mostly: bool) -> bool:
    """Return whether cells are those of a target of numbers, from what :func:`parse_cells` returns."""
    present = len(numbers) - int(missing.sum())
    return mostly and present > 0 and int(np.isfinite(numbers).sum()) >= SHARE * present


def describe_targets(
    found: ReadTargets, target: str, show_row: Callable[[int], str] = "row {}".format
) -> tuple[str, ...]:
    """Return sentences about the rows that were left out; ``show_row`` tells where a row is."""
    sentences = []
    if found.odd:
        shown = ", ".join(f"{show_row(row)} ({shorten(text, 24)!r})" for row, text in found.odd[:SHOWN])
        what = f"because {target!r} is no number there: {shown}"
        sentences.append(_say_left_out(len(found.odd), what))
    if len(found.missing):
        shown = ", ".join(show_row(int(row)) for row in found.missing[:SHOWN])
        sentences.append(_say_left_out(len(found.missing), f"because {target!r} is missing there: {shown}"))
    if found.mixed:
        sentences.append(
            f"{target!r} holds labels of several kinds, which are compared as texts: 1 and '1' are one class."
        )
    return tuple(sentences)


def _say_left_out(n: int, why: str) -> str:
    more = f" and {count_things(n - SHOWN, 'other')}" if n > SHOWN else ""
    return f"{count_things(n, 'row')} left out {why}{more}."


def _read_numbers(cells: np.ndarray, owner: str) -> ReadTargets:
    if cells.dtype.kind == "c":
        raise ValueError(f"{owner}: Complex data not supported: the target holds complex numbers; give real ones")
    numbers, missing, _ = parse_cells(cells)
    kept, odd = np.flatnonzero(~np.isnan(numbers)), np.flatnonzero(np.isnan(numbers) & ~missing)
    if len(cells) and not len(kept) and not len(odd):
        raise ValueError(f"{owner}: Input y contains NaN only: the target is missing in all {len(cells)} rows")
    if len(kept) < SHARE * (len(kept) + len(odd)):
        row, infinite = int(odd[0]), cells.dtype.kind == "f"
        if infinite:
            raise ValueError(
                f"{owner}: Input y contains infinity: the target of row {row} is {cells[row]}; replace it by a number, "
                "or leave it empty"
            )
        raise ValueError(
            f"{owner}: {len(odd)} of {len(cells)} targets are no numbers, such as "
            f"{cells[row : row + 1].tolist()[0]!r} in row {row}; correct them, or predict classes"
        )
    return ReadTargets(numbers[kept], kept, tuple((int(row), str(cells[row])) for row in odd), np.flatnonzero(missing))


def _read_labels(cells: np.ndarray, owner: str) -> ReadTargets:
    if cells.dtype.kind == "f" and np.isinf(cells).any():
        row = int(np.flatnonzero(np.isinf(cells))[0])
        raise ValueError(f"{owner}: Input y contains infinity: the label of row {row} is {cells[row]}")
    missing = read_column("y", cells).missing
    kept = np.flatnonzero(~missing)
    if len(cells) and not len(kept):
        raise ValueError(f"{owner}: Input y contains NaN only: the target is missing in all {len(cells)} rows")
    values, mixed = cells[kept], False
    if values.dtype.kind in "mM":
        values = values.astype(str)
    if values.dtype == object:
        kinds = {_name_kind(value) for value in values}
        mixed = len(kinds) > 1
        if mixed or kinds == {"date"}:
            texts = [write_label("y", value) for value in values]
            values = np.array(texts, dtype=object)
        elif kinds <= {"number", "truth"}:
            values = np.array(values.tolist())
    return ReadTargets(values, kept, (), np.flatnonzero(missing), mixed)


def _name_kind(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "truth"
    return "date" if isinstance(value, datetime.date | np.datetime64) else "number"
