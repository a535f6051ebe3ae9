"""Sheets of workbooks."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._errors import CommandError
from .options import ReadingOptions
from .sources import TableSource, check_size

if TYPE_CHECKING:
    import pandas as pd

ERRORS = frozenset({"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#GETTING_DATA", "#SPILL!"})
CELL = 64  # bytes that a cell takes, at least


def read_sheet(source: TableSource, options: ReadingOptions) -> tuple[pd.DataFrame, list[int], str]:
    """Return the table on a sheet, the row of the sheet of each of its rows, and what there is to say about it."""
    import openpyxl  # missing packages are not damaged workbooks
    import pandas as pd

    data = source.read()
    try:
        _check_expanded(data, source.name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and checks of cells, which nobody asked for
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            sheet, said = _choose_sheet(book, options.sheet, source.name)
            rows = list(_read_rows(sheet, source.name))
    except (CommandError, MemoryError):
        raise
    except Exception as error:  # of a parser that trusts what it reads
        why = " ".join(str(error).split()) or type(error).__name__
        raise CommandError(
            f"{source.name} is not an Excel workbook, or is damaged ({why}); save it again, or as CSV"
        ) from None
    if not rows:
        others = [each.title for each in book.worksheets if each.title != sheet.title]
        hint = f"; --sheet chooses another of {', '.join(map(repr, others[:8]))}" if others else ""
        raise CommandError(f"{source.name}: sheet {sheet.title!r} is empty{hint}")
    (_, names), *body = rows
    width = max(len(cells) for _, cells in rows)
    names += [None] * (width - len(names))
    columns = [f"Unnamed: {j}" if name is None else str(name) for j, name in enumerate(names)]
    cells = [[row[j] if j < len(row) else None for _, row in body] for j in range(width)]
    series = [pd.Series(column, dtype=object).infer_objects() for column in cells]
    frame = pd.concat(series, axis=1) if series else pd.DataFrame()
    frame.columns = pd.Index(columns)
    wrong = sum(cell in ERRORS for _, row in body for cell in row if isinstance(cell, str))
    if wrong:
        frame = frame.replace(list(ERRORS), None).infer_objects()
        said = f"{said}{', ' if said else ''}{wrong:,} cell{'s' * (wrong > 1)} with errors of formulas count as missing"
    return frame, [place for place, _ in body], said


def _check_expanded(data: bytes, name: str) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        check_size(name, sum(item.file_size for item in archive.infolist()))


def _choose_sheet(book: Any, wanted: str | None, name: str) -> tuple[Any, str]:
    """Return a sheet, and which one it is if there are others."""
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if not sheets:
        raise CommandError(f"{name} has no sheet with cells")
    titles = list(sheets)
    if wanted is None:
        said = f"sheet {titles[0]!r}, the first of {len(titles)} (--sheet chooses)" if len(titles) > 1 else ""
        return sheets[titles[0]], said
    if wanted not in sheets and wanted.isdecimal() and 1 <= int(wanted) <= len(titles):
        wanted = titles[int(wanted) - 1]
    if wanted not in sheets:
        raise CommandError(f"{name} has no sheet {wanted!r}; it has {', '.join(map(repr, titles[:8]))}")
    return sheets[wanted], f"sheet {wanted!r}"


def _read_rows(sheet: Any, name: str) -> Iterator[tuple[int, list[Any]]]:
    """Yield the rows that hold something with their numbers on the sheet, without the empty cells at their ends."""
    sheet.reset_dimensions()  # what a file says about its size may be wrong
    cells = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        kept = [None if isinstance(cell, str) and not cell.strip() else cell for cell in row]
        while kept and kept[-1] is None:
            kept.pop()
        if kept:
            cells += len(kept)
            if cells % 1000 < len(kept):
                check_size(name, CELL * cells)
            yield number, kept
