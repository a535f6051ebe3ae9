"""How a table is to be read, as options of the commands that read one."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import click

from mercer.words import find_close

from .._errors import CommandError
from .encodings import check_encoding

MOST_NAMES = 8  # columns that an error lists
MARKS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
OPTIONS = {
    "encoding": "--encoding", "separator": "--sep", "decimal": "--decimal", "missing": "--missing", "sheet": "--sheet",
    "ids": "--id",
}  # fmt: skip


@dataclass(frozen=True)
class ReadingOptions:
    """What was said about a table; what was not is found out.

    Parameters
    ----------
    encoding, separator, decimal : str, optional
        Of texts.
    missing : tuple of str
        Cells that say that there is no value, beside the usual ones.
    sheet : str, optional
        Name or number of the sheet of a workbook.
    ids : tuple of str
        Columns that name rows.
    strings : tuple of str
        Columns whose cells stay as they are written: 007 is not 7.
    """

    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    missing: tuple[str, ...] = ()
    sheet: str | None = None
    ids: tuple[str, ...] = ()
    strings: tuple[str, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """Return what was given as plain values, for a file.

        Examples
        --------
        >>> ReadingOptions(separator=";", missing=("-999",)).to_record()
        {'separator': ';', 'missing': ['-999']}
        """
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items() if value}

    def follow(self, record: dict[str, Any]) -> ReadingOptions:
        """Return these options, and those of a record where none was given.

        Examples
        --------
        >>> ReadingOptions(separator=",").follow({"separator": ";", "decimal": ","})
        ReadingOptions(separator=',', decimal=',')
        """
        blank = [field.name for field in fields(self) if not getattr(self, field.name) and field.name in record]
        kept = {name: _freeze(record[name]) for name in blank}
        checks: dict[str, Callable[[str], str]] = {
            "encoding": check_encoding, "separator": parse_separator, "decimal": _check_decimal
        }  # fmt: skip
        kept |= {name: check(kept[name]) for name, check in checks.items() if name in kept}
        return replace(self, **kept)

    def __repr__(self) -> str:
        given = ((field.name, getattr(self, field.name)) for field in fields(self))
        return f"ReadingOptions({', '.join(f'{name}={value!r}' for name, value in given if value)})"


def _check_decimal(mark: str) -> str:
    if mark not in (".", ","):
        raise CommandError(f"--decimal {mark} is no decimal mark; give . or ,")
    return mark


def _freeze(value: Any) -> Any:
    return tuple(map(str, value)) if isinstance(value, list) else str(value)


def write_options(record: dict[str, Any]) -> str:
    """Return options as they are typed.

    Examples
    --------
    >>> write_options({"separator": ";", "missing": ["-999", "none"], "strings": ["zip"]})
    "--sep ';' --missing -999 --missing none"
    """
    given = ((OPTIONS[name], value) for name, value in record.items() if name in OPTIONS)
    values = ((option, item) for option, value in given for item in (value if isinstance(value, list) else [value]))
    return " ".join(f"{option} {shlex.quote(item)}" for option, item in values)


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of tables to a command, which takes them as ``reading``; and ``--quiet``."""

    @functools.wraps(function)
    def run(**given: Any) -> Any:
        names = ("encoding", "separator", "decimal", "missing", "sheet", "ids")
        return function(reading=ReadingOptions(**{name: given.pop(name) for name in names}), **given)

    options = (
        click.option("--encoding", type=check_encoding, metavar="NAME",
                     help="Encoding of a text, such as cp1252; found if not given."),
        click.option("--sep", "separator", type=parse_separator, metavar="MARK",
                     help="Mark between columns, such as ; or tab; found if not given."),
        click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark; found if not given."),
        click.option("--missing", multiple=True, metavar="TEXT",
                     help="What stands in cells without a value, such as -999. May be repeated."),
        click.option("--sheet", metavar="NAME", help="Sheet of a workbook, by name or number; the first if not given."),
        click.option("--id", "ids", multiple=True, metavar="COLUMN",
                     help="A column that names rows: not learned from, and written with predictions. May be repeated."),
        click.option("-q", "--quiet", is_flag=True, help="Print results and errors only."),
    )  # fmt: skip
    for option in reversed(options):
        run = option(run)
    return run


def parse_separator(value: str) -> str:
    r"""Return a mark between columns, which may be named.

    Examples
    --------
    >>> parse_separator("tab"), parse_separator(";")
    ('\t', ';')
    """
    mark = MARKS.get(value.lower(), value)
    if len(mark) != 1 or mark in '"\n\r.' or mark.isalnum():
        raise click.BadParameter(f"{value!r} is not one letter that may stand between columns, such as , ; | or tab")
    return mark


def parse_types(given: Iterable[str], columns: list[str], target: str, name: str) -> dict[str, str]:
    """Return what columns are said to hold, from texts such as ``zip=category``.

    Parameters
    ----------
    given : iterable of str
        The texts.
    columns : list of str
        The columns there are.
    target : str
        The one to predict, whose kind is said otherwise.
    name : str
        Of the table.
    """
    from mercer.auto.tables.columns import TYPES

    types: dict[str, str] = {}
    for text in given:
        column, mark, kind = text.rpartition("=")
        if not mark or kind not in TYPES:
            near = find_close(kind, TYPES) if mark else None
            hint = f": did you mean {near}?" if near else f"; kinds are {', '.join(TYPES)}"
            raise CommandError(f"--types {text} must be a column, = and a kind, such as zip=category{hint}")
        if column == target:
            raise CommandError(f"--types {text} is about the target; --task says whether that holds numbers or classes")
        check_columns([column], columns, name)
        types[column] = kind
    return types


def check_columns(wanted: Iterable[str], columns: list[str], name: str) -> None:
    """Raise if columns are missing, with all of their names and help with the spelling."""
    missing = [column for column in dict.fromkeys(wanted) if column not in columns]
    if not missing:
        return
    free = [column for column in columns if column not in wanted]
    shown, hints = [], 0
    for column in missing[:MOST_NAMES]:
        near = find_close(column, free)
        alike = near is not None and near.strip().casefold() == column.strip().casefold()
        hint = "" if near is None else f"did you mean {near!r}?{' They differ in case or blanks.' * alike}"
        hints += bool(hint)
        shown.append((column, hint))
    has = f"it has {', '.join(map(repr, columns[:MOST_NAMES]))}" + _count_rest(columns)
    if len(missing) == 1:
        raise CommandError(f"{name} has no column {missing[0]!r}; {shown[0][1] or has}")
    listed = ", ".join(f"{column!r}{f' ({hint})' * bool(hint)}" for column, hint in shown) + _count_rest(missing)
    raise CommandError(f"{name} has none of these {len(missing)} columns: {listed}; {has}")


def _count_rest(names: list[str]) -> str:
    return f" and {len(names) - MOST_NAMES} more" * (len(names) > MOST_NAMES)
