"""What is printed: tables and numbers for people, JSON for machines."""

from __future__ import annotations

import json
import math
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

TOGETHER = "\N{NO-BREAK SPACE}%"


def console(*, error: bool = False) -> Console:
    """Return where to print: colours only on a terminal, and none where NO_COLOR is set."""
    from rich.console import Console as Base

    class Console(Base):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # or rich would end the process with a code that means something else

    return Console(file=sys.stderr if error else sys.stdout, highlight=False, emoji=False, markup=False)


def heading(text: str) -> None:
    """Print a line that starts a part of the output."""
    out = console()
    out.print()
    out.print(text, style="bold")


def alarm(text: str) -> None:
    """Print a line that nobody should miss."""
    out = console()
    out.print()
    out.print(f"!! {text} !!", style="bold red")


def line(text: str) -> None:
    """Print a line as it is, however long, so that it can be copied."""
    console().print(text, soft_wrap=True)


def paragraph(text: str) -> None:
    """Print text wrapped at the width of the terminal; what is indented keeps its lines and indentation."""
    out = console()
    for whole in join_lines(text):
        for piece in wrap_line(whole, out.width):
            out.print(piece, soft_wrap=True)


def join_lines(text: str) -> list[str]:
    r"""Return the lines of a text, those of a paragraph, or of a reason in a proof, put together.

    Examples
    --------
    >>> join_lines("one\ntwo\n\n  1 2\n  3 4")
    ['one two', '', '  1 2', '  3 4']
    """
    lines: list[str] = []
    for row in text.splitlines():
        before = lines[-1] if lines else ""
        reason = re.match(r"[ │├└─]*because ", before)
        if reason and row[len(reason[0]) :].strip() and not row[: len(reason[0])].strip(" │"):
            lines[-1] += " " + row[len(reason[0]) :].strip()  # a reason of a proof goes on
        elif before and row and not before.startswith(" ") and not row.startswith(" "):
            lines[-1] += " " + row
        else:
            lines.append(row)
    return lines


def wrap_line(line: str, width: int) -> list[str]:
    """Return a line in pieces of at most ``width`` characters; branches of a tree are drawn on below it."""
    if len(line) <= width:
        return [line]
    branches = line[: len(line) - len(line.lstrip(" │├└─"))]
    below = branches.replace("├", "│").replace("└", " ").replace("─", " ")
    return _wrap(
        line[len(branches) :], max(width, len(branches) + 10), initial_indent=branches, subsequent_indent=below,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _wrap(text: str, width: int, **options: Any) -> list[str]:
    """Return the lines of a text; a percent sign stays with its number."""
    pieces = textwrap.wrap(re.sub(r"(?<=\d) %", TOGETHER, text), width, **options)
    return [piece.replace(TOGETHER, " %") for piece in pieces]


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> None:
    """Print rows of text under the names of their columns; those named in ``right`` are aligned right."""
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE, show_edge=False, pad_edge=False, header_style="bold")
    for name in columns:
        shown.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*row)
    _print(shown)


def facts(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and values, the values below each other."""
    from rich.table import Table

    shown = Table.grid(padding=(0, 2))
    shown.add_column(style="bold", no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in pairs:
        shown.add_row(name, value)
    _print(shown)


def _print(shown: Table) -> None:
    """Print a table; outside terminals without the blanks that fill its last column."""
    out = console()
    if out.is_terminal:
        out.print(shown)
        return
    with out.capture() as caught:
        out.print(shown)
    for row in caught.get().splitlines():
        click.echo(row.rstrip())


def as_json(data: Any) -> None:
    """Print data as JSON; numbers that JSON does not have become null."""
    click.echo(json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False))


def plain(data: Any) -> Any:
    """Return data made of what JSON knows."""
    if hasattr(data, "tolist"):
        data = data.tolist()
    if isinstance(data, dict):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data if data is None or isinstance(data, bool | int | float | str) else str(data)


def bullet(text: str) -> None:
    """Print an item of a list, wrapped at the width of the terminal."""
    out = console()
    for piece in _wrap(text, out.width, initial_indent="- ", subsequent_indent="  "):
        out.print(piece, soft_wrap=True)


def note(text: str) -> None:
    """Print a line about what is going on to stderr, where it does not mix with results; terminals get whole words."""
    out = console(error=True)
    for piece in wrap_line(text, out.width) if out.is_terminal else [text]:
        out.print(piece, style="dim", soft_wrap=True)
