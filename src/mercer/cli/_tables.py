"""Tables from files: CSV, TSV and Parquet, with errors that name the file and the line."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import CommandError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

TEXT = (".csv", ".tsv", ".txt", ".tab")
PACKED = (".gz", ".bz2", ".xz", ".zst")
PARQUET = (".parquet", ".pq")
FORMATS = ".csv, .tsv, .csv.gz or .parquet"
MOST_NAMES = 8  # columns that an error lists
LOOK = 65_536  # characters from which separators are guessed


def read_table(name: str) -> pd.DataFrame:
    """Return the table in a file, or on standard input if the name is ``-``."""
    import pandas as pd

    path = Path(name)
    if name != "-":
        _check_path(path)
    try:
        table = _read_parquet(pd, path) if path.suffix.lower() in PARQUET else _read_text(pd, name)
    except UnicodeDecodeError:
        raise CommandError(f"{name} is not text in UTF-8; save it as CSV in UTF-8") from None
    except pd.errors.EmptyDataError:
        raise CommandError(f"{name} is empty; a table needs a line of column names and rows") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise CommandError(f"{name} is not a table: {_explain_parser(str(error))}") from None
    except (gzip.BadGzipFile, EOFError):
        raise CommandError(f"{name} is damaged: it cannot be unpacked") from None
    table.columns = [str(column) for column in table.columns]
    _check_names(list(table.columns), name)
    if len(table) == 0:
        raise CommandError(f"{name} has column names but no rows; add rows below them")
    return table


@contextmanager
def name_lines(name: str, rows: np.ndarray | None = None) -> Iterator[None]:
    """Let errors of the block that name a row name the line of the file instead, as an editor counts lines.

    ``rows`` says which rows of the table the block was given, if not all.  Those of Parquet files and of standard
    input, which have no lines to look at, are counted from 0 as they are.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        found = re.search(r"\brow (\d+)\b", str(error))
        if found is None or not _has_lines(name):
            raise
        row = int(found[1]) if rows is None else int(rows[int(found[1])])
        text = f"{str(error)[: found.start()]}{locate_row(name, row)} of {name}{str(error)[found.end() :]}"
        raise CommandError(text) from error


def locate_row(name: str, row: int) -> str:
    """Return where a row of a table is: the line of its file, or its number from 0 where there are no lines."""
    return f"line {_find_line(name, row)}" if _has_lines(name) else f"row {row}"


def _has_lines(name: str) -> bool:
    return name != "-" and Path(name).suffix.lower() not in PARQUET


def _find_line(name: str, row: int) -> int:
    """Return the line at which a row of a text file begins: blank lines are no rows, and a cell may hold several."""
    import pandas as pd
    from pandas.io.common import get_handle

    mark = _find_separator(name, _read_head(pd, name))
    with get_handle(name, "r", encoding="utf-8-sig", compression="infer") as opened:
        reader = csv.reader(opened.handle, delimiter=mark, skipinitialspace=True)
        last, rows = 0, -1  # the line of names is no row
        for cells in reader:
            if cells:
                if rows == row:
                    return last + 1
                rows += 1
            last = reader.line_num
    return last


def get_column(table: pd.DataFrame, column: str, name: str) -> pd.Series:
    """Return a column, or raise an error that helps with the spelling."""
    if column in table.columns:
        return table[column]
    names = list(table.columns)
    near = get_close_matches(column, names, n=1, cutoff=0.5)
    shown = ", ".join(map(repr, names[:MOST_NAMES])) + f" and {len(names) - MOST_NAMES} more" * (
        len(names) > MOST_NAMES
    )
    hint = f"did you mean {near[0]!r}?" if near else f"it has {shown}"
    raise CommandError(f"{name} has no column {column!r}; {hint}")


def _check_names(names: list[str], name: str) -> None:
    repeated = [column for i, column in enumerate(names) if column in names[:i]]
    if repeated:
        raise CommandError(f"{name}: column {repeated[0]!r} is there more than once; give every column its own name")


def _check_path(path: Path) -> None:
    if path.is_dir():
        raise CommandError(f"{path} is a folder; give the name of a file")
    if not path.exists():
        raise CommandError(f"{path} does not exist{_suggest_name(path)}")
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    kind = endings[-2] if len(endings) == 2 and endings[-1] in PACKED else (endings or [""])[-1]
    if kind not in (*TEXT, *PARQUET):
        raise CommandError(f"{path}: the ending of the name tells no format; it must be {FORMATS}")


def _suggest_name(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    names = [item.name for item in path.parent.iterdir()]
    near = get_close_matches(path.name, names, n=1)
    return f"; did you mean {path.with_name(near[0])}?" if near else ""


def _read_parquet(pd: Any, path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:  # what Arrow raises for other files
        raise CommandError(f"{path} is not a Parquet file: {str(error).splitlines()[0]}") from None


def _read_text(pd: Any, name: str) -> pd.DataFrame:
    if name == "-":
        source: Any = io.StringIO(sys.stdin.read().removeprefix("\ufeff"))  # to be looked at and then read
        head = source.getvalue()[:LOOK]
    else:
        source = name
        head = _read_head(pd, name)
    if "\0" in head:
        raise CommandError(f"{name} is not a text file; a table must be {FORMATS}")
    if not head.strip():
        raise CommandError(f"{name} is empty; a table needs a line of column names and rows")
    separator = _find_separator(name, head)
    _check_names(next(csv.reader([head.lstrip().splitlines()[0]], delimiter=separator)), name)  # pandas renames them
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
        return pd.read_csv(
            source, sep=separator, decimal=_find_decimal(head, separator), index_col=False, low_memory=False,
            encoding="utf-8-sig", skipinitialspace=True,
        )  # fmt: skip


def _read_head(pd: Any, name: str) -> str:
    from pandas.io.common import get_handle

    with get_handle(name, "r", encoding="utf-8-sig", compression="infer") as opened:
        return str(opened.handle.read(LOOK))


def _find_separator(name: str, head: str) -> str:
    return "\t" if Path(name.lower()).suffix in (".tsv", ".tab") else _guess_separator(head)


def _guess_separator(head: str) -> str:
    """Return the most frequent separator of the line of names, a comma if there is none."""
    line = re.sub(r'"[^"]*"', "", head.lstrip().splitlines()[0])
    counts = {mark: line.count(mark) for mark in (",", ";", "\t", "|")}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ","


def _find_decimal(head: str, separator: str) -> str:
    """Return the decimal mark: a comma where numbers have one and it does not separate columns."""
    cells = [cell.strip() for line in head.splitlines()[1:50] for cell in line.split(separator)]
    return "," if separator != "," and any(re.fullmatch(r"-?\d+,\d+", cell) for cell in cells) else "."


def _explain_parser(text: str) -> str:
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", text)
    if found:
        return f"line {found[2]} has {found[3]} fields, but {found[1]} are expected"
    if "Length of header" in text:
        return "rows have more fields than there are column names"
    return " ".join(text.split())
