"""Text with a line for each row becomes a frame: separators and decimal marks are found, and lines are counted."""

from __future__ import annotations

import csv
import io
import re
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .._errors import CommandError
from .encodings import NAMES, choose_encodings, describe_text
from .options import ReadingOptions
from .sources import TABS, TableSource, explain_damage

if TYPE_CHECKING:
    import pandas as pd

LOOK = 65_536  # bytes from which encodings, separators and decimal marks are found
RECORDS = 50  # of them that are looked at
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


class Dialect(NamedTuple):
    """How a text is written."""

    encoding: str
    separator: str
    decimal: str
    columns: list[str]


def read_delimited(source: TableSource, options: ReadingOptions) -> tuple[pd.DataFrame, Dialect]:
    """Return the table of a text, and how it was written."""
    head = source.read_head(LOOK)
    encodings = choose_encodings(head, source.name, options.encoding)
    for encoding in encodings:
        try:
            dialect = find_dialect(source, encoding, options)
            return _read(source, dialect, options), dialect
        except UnicodeError:  # further down; the next one may read it
            continue
    raise describe_text(source.name, encodings[-1])


def describe_dialect(dialect: Dialect, kind: str) -> str:
    """Return in words what is unusual about a text, or nothing."""
    found = []
    if dialect.encoding != "utf-8":
        found.append(f"text in {NAMES.get(dialect.encoding, dialect.encoding)}")
    if dialect.separator != ("\t" if kind in TABS else ","):
        found.append(f"separated by {SEPARATORS.get(dialect.separator, repr(dialect.separator))}")
    if dialect.decimal == ",":
        found.append("decimal commas")
    return ", ".join(found)


def find_dialect(source: TableSource, encoding: str, options: ReadingOptions) -> Dialect:
    """Return how a text is written, from its beginning."""
    with _open_text(source, encoding) as file:
        head = file.read(LOOK)
    if not head.strip("\ufeff \t\r\n"):
        raise CommandError(f"{source.name} is empty; a table needs a line of column names and rows")
    separator = options.separator or ("\t" if source.kind in TABS else _find_separator(head))
    decimal = options.decimal or _find_decimal(head, separator)
    if decimal == separator:
        raise CommandError(f"--decimal and --sep cannot both be {decimal!r}; the mark between columns must be another")
    return Dialect(encoding, separator, decimal, next(_read_records(head, separator)))


def list_lines(source: TableSource, dialect: Dialect) -> Iterator[tuple[int, int]]:
    """Yield the line at which each row begins, that of the names first, and how many cells it has.

    Lines are counted from 1 as editors do: blank ones count but are no rows, and a cell in quotes may hold several.
    """
    before = csv.field_size_limit(sys.maxsize)
    try:
        with explain_damage(source.name), _open_text(source, dialect.encoding) as file:
            reader = csv.reader(file, delimiter=dialect.separator, skipinitialspace=True)
            last = 0
            for cells in reader:
                if len(cells) > 1 or (cells and cells[0].strip()):
                    yield last + 1, len(cells)
                last = reader.line_num
    finally:
        csv.field_size_limit(before)


def _open_text(source: TableSource, encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(source.open(), encoding=encoding, newline="")


def _read(source: TableSource, dialect: Dialect, options: ReadingOptions) -> pd.DataFrame:
    import pandas as pd

    strings: dict[Any, Any] = {name: str for name in (*options.strings, *options.ids) if name in dialect.columns}
    try:
        with warnings.catch_warnings(), explain_damage(source.name), _open_text(source, dialect.encoding) as file:
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
            return pd.read_csv(
                file, sep=dialect.separator, decimal=dialect.decimal, index_col=False, low_memory=False,
                skipinitialspace=True, na_values=list(options.missing) or None, dtype=strings or None,
            )  # fmt: skip
    except pd.errors.EmptyDataError:
        raise CommandError(f"{source.name} is empty; a table needs a line of column names and rows") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning, OverflowError) as error:
        raise _explain_parser(source, dialect, str(error)) from None


def _explain_parser(source: TableSource, dialect: Dialect, text: str) -> CommandError:
    """Return an error about the first row that is not like the names of the columns."""
    rows = list_lines(source, dialect)
    names, line = next(rows, (1, 0))[1], 1
    for line, cells in rows:
        if cells > names:
            return CommandError(
                f"{source.name} is not a table: line {line} has {cells} fields, but {names} are expected, more fields "
                f"than there are column names; quote cells that hold {dialect.separator!r}, or give --sep"
            )
    if "inside string" in text or "EOF" in text:
        return CommandError(f"{source.name} is not a table: the quotes that open in line {line} never close")
    return CommandError(f"{source.name} is not a table: {' '.join(text.split())}")


def _read_records(head: str, separator: str) -> Iterator[list[str]]:
    """Yield the cells of the rows at the beginning of a text; the last may be cut."""
    try:
        for cells in csv.reader(
            io.StringIO(head.lstrip("\ufeff \r\n"), newline=""), delimiter=separator, skipinitialspace=True
        ):
            if cells:
                yield cells
    except csv.Error:  # one cell longer than a beginning is looked at
        return


def _find_separator(head: str) -> str:
    """Return the mark that splits most rows as it does the names, a comma if none splits these."""
    best, chosen = (0.0, 1), ","
    for mark in SEPARATORS:
        counts = [len(cells) for cells, _ in zip(_read_records(head, mark), range(RECORDS), strict=False)]
        counts = counts[:-1] if len(counts) > 2 else counts  # the last may be cut
        names = counts[0] if counts else 0
        if names > 1 and (rating := (sum(count == names for count in counts) / len(counts), names)) > best:
            best, chosen = rating, mark
    return chosen


def _find_decimal(head: str, separator: str) -> str:
    """Return the decimal mark: a comma where numbers have one, none has a point, and it does not separate columns."""
    if separator == ",":
        return "."
    rows = zip(_read_records(head, separator), range(RECORDS), strict=False)
    cells = [cell.strip() for row, i in rows if i > 0 for cell in row]
    if any(re.fullmatch(r"[-+]?\d*\.\d+(?:e[-+]?\d+)?", cell, re.I) for cell in cells):
        return "."
    return "," if any(re.fullmatch(r"[-+]?\d*,\d+(?:e[-+]?\d+)?", cell, re.I) for cell in cells) else "."
