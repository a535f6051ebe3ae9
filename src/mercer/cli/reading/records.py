"""Rows as objects of JSON: one a line, or all in a list."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .._errors import CommandError
from .encodings import NAMES, choose_encodings, describe_text
from .options import ReadingOptions
from .sources import TableSource

if TYPE_CHECKING:
    import pandas as pd

SHAPE = 'a table in JSON is a line {"column": value, …} for each row, or a list of such objects'


def read_records(source: TableSource, options: ReadingOptions) -> tuple[pd.DataFrame, list[int], str]:
    """Return the table, the line of each row or nothing if all are in a list, and the encoding if it is unusual."""
    text, encoding = _decode(source, options)
    if not text.strip():
        raise CommandError(f"{source.name} is empty; {SHAPE}")
    lines: list[int] = []
    if text.lstrip().startswith("["):
        rows = _parse(source.name, text, 1)
    else:
        rows = []
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                rows.append(_parse(source.name, line, number))
                lines.append(number)
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            where = f"line {lines[place]}" if lines else f"row {place + 1}"
            raise CommandError(f"{source.name}: {where} is not an object; {SHAPE}")
    return _join(rows, source.name), lines, "" if encoding == "utf-8" else NAMES.get(encoding, encoding)


def _decode(source: TableSource, options: ReadingOptions) -> tuple[str, str]:
    data = source.read()
    encodings = choose_encodings(data[:65_536], source.name, options.encoding)
    for encoding in encodings:
        try:
            return data.decode(encoding), encoding
        except UnicodeError:
            continue
    raise describe_text(source.name, encodings[-1])


def _parse(name: str, text: str, line: int) -> Any:
    def join(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            key = next(key for i, (key, _) in enumerate(pairs) if key in [other for other, _ in pairs[:i]])
            raise CommandError(f"{name}: column {key!r} is there more than once; give every column its own name")
        return found

    try:
        return json.loads(text, object_pairs_hook=join)
    except json.JSONDecodeError as error:
        raise CommandError(f"{name} is not JSON: {error.msg} in line {line + error.lineno - 1}; {SHAPE}") from None
    except (RecursionError, ValueError):  # nested without end, or a number of thousands of digits
        raise CommandError(f"{name} is not JSON that holds a table; {SHAPE}") from None


def _join(rows: list[dict[str, Any]], name: str) -> pd.DataFrame:
    import pandas as pd

    columns = list(dict.fromkeys(key for row in rows for key in row))
    for column in columns:
        held = next((row[column] for row in rows if isinstance(row.get(column), dict | list)), None)
        if held is not None:
            what = "objects" if isinstance(held, dict) else "lists"
            raise CommandError(f"{name}: column {column!r} holds {what}; take them apart into columns first")
    cells = {column: pd.Series([row.get(column) for row in rows], dtype=object) for column in columns}
    return pd.DataFrame({column: values.infer_objects() for column, values in cells.items()}, index=range(len(rows)))
