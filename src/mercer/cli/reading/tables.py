"""Tables from files of all kinds, with rows that know their places in the file."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from .._errors import CommandError
from .columnar import read_columnar
from .delimited import LOOK, Dialect, describe_dialect, find_dialect, list_lines, read_delimited
from .encodings import list_encodings
from .options import ReadingOptions, check_columns
from .records import read_records
from .sheets import read_sheet
from .sources import JSON, SHEETS, TEXT, TableSource, find_source

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

PLAIN = ReadingOptions()
AHEAD = 1000  # rows that are counted beyond the one that is asked for
ROW = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\brow (\d+)\b""")  # outside of what is quoted


@dataclass(frozen=True)
class Table:
    """A table that was read.

    Parameters
    ----------
    name : str
        What it is called in messages.
    frame : DataFrame
        Its cells.
    locate : callable
        Returns where a row is in the file, in words: ``line 8``, as editors count, or ``row 8``, as spreadsheets do.
    said : str
        What was found out about the file and may be of interest.
    """

    name: str
    frame: pd.DataFrame
    locate: Callable[[int], str] = field(repr=False)
    said: str = ""

    def get_column(self, column: str) -> pd.Series:
        """Return a column, or raise an error that helps with the spelling."""
        check_columns([column], list(self.frame.columns), self.name)
        return self.frame[column]

    @contextmanager
    def name_rows(self, rows: np.ndarray | None = None) -> Iterator[None]:
        """Let errors of the block that name a row name its place in the file instead.

        ``rows`` says which rows of the table the block was given, if not all.
        """
        try:
            yield
        except (TypeError, ValueError) as error:
            if len(error.args) == 1:
                error.args = (self.place_rows(str(error), rows, self.name),)
            raise

    def place_rows(self, text: str, rows: np.ndarray | None = None, name: str = "") -> str:
        """Return a text with places in the file instead of numbers of rows."""

        def show(found: re.Match[str]) -> str:
            if found[1] is None or int(found[1]) >= len(self.frame if rows is None else rows):
                return found[0]
            row = int(found[1]) if rows is None else int(rows[int(found[1])])
            return self.locate(row) + (f" of {name}" if name else "")

        return ROW.sub(show, text)


def read_table(name: str, options: ReadingOptions = PLAIN) -> Table:
    """Return the table in a file, or on standard input if the name is ``-``.

    Raises
    ------
    CommandError
        With the file, what is wrong with it, where, and what to do.
    """
    source = find_source(name)
    if source.kind in TEXT:
        frame, dialect = read_delimited(source, options)
        _check_names([column for column in dialect.columns if column], source.name)  # before pandas made them differ
        said = describe_dialect(dialect, source.kind)
        locate = _number_lines(source, dialect)
    elif source.kind in JSON:
        frame, lines, encoding = read_records(source, options)
        said = f"text in {encoding}" if encoding else ""
        locate = _number_rows("line", lines) if lines else _number_rows("row")
    elif source.kind in SHEETS:
        frame, places, said = read_sheet(source, options)
        locate = _number_rows("row", places)
    else:
        frame, said = read_columnar(source), ""
        locate = _number_rows("row")
    return Table(source.name, _finish(frame, source, options), locate, said)


def read_names(name: str) -> list[str]:
    """Return the names of the columns of a text, from its first line alone."""
    source = find_source(name)
    if source.kind not in TEXT:
        return []
    return find_dialect(source, list_encodings(source.read_head(LOOK), name)[0], PLAIN).columns


def _finish(frame: pd.DataFrame, source: TableSource, options: ReadingOptions) -> pd.DataFrame:
    """Return a frame whose columns have names of their own, and whose cells that mean nothing are missing."""
    frame.columns = [str(column) for column in frame.columns]
    _check_names(list(frame.columns), source.name)
    if frame.shape[1] == 0:
        raise CommandError(f"{source.name} holds no columns; a table needs column names and rows")
    if len(frame) == 0:
        raise CommandError(f"{source.name} has column names but no rows; add rows below them")
    if source.kind not in TEXT:
        _mark_missing(frame, options.missing)
        for column in set(options.strings) & set(frame.columns):
            frame[column] = _write_texts(frame[column])
    return frame


def _mark_missing(frame: pd.DataFrame, marks: tuple[str, ...]) -> None:
    """Make cells that are such marks missing, numbers too."""
    if not marks:
        return
    numbers = [float(mark) for mark in marks if re.fullmatch(r"[-+]?\d+(\.\d*)?", mark)]
    for column in frame.columns:
        found = frame[column].isin([*marks, *numbers])
        if found.any():
            frame[column] = frame[column].mask(found)


def _write_texts(column: pd.Series) -> pd.Series:
    """Return a column that was one of texts at the fit as one, whatever it is now."""
    from mercer.auto.tables.reading import write_label

    if str(column.dtype).startswith(("str", "category", "object")):
        return column
    return column.astype(object).map(lambda value: write_label(str(column.name), value), na_action="ignore")


def _check_names(names: list[str], name: str) -> None:
    if len(set(names)) < len(names):
        repeated = next(column for i, column in enumerate(names) if column in names[:i])
        raise CommandError(f"{name}: column {repeated!r} is there more than once; give every column its own name")


def _number_lines(source: TableSource, dialect: Dialect) -> Callable[[int], str]:
    """Return what tells the line of a row; lines are counted when one is asked for, and no further than about there."""
    lines = array("q")

    def locate(row: int) -> str:
        nonlocal lines
        if row + 1 >= len(lines):
            lines = array("q", (line for line, _ in islice(list_lines(source, dialect), 2 * row + AHEAD)))
        return f"line {lines[min(row + 1, len(lines) - 1)]}"

    return locate


def _number_rows(word: str, places: list[int] | None = None) -> Callable[[int], str]:
    """Return what tells the place of a row: the number it has, or counted from 1."""
    return lambda row: f"{word} {row + 1 if places is None else places[row]}"
