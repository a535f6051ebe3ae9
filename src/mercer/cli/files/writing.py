"""Files that are written whole or not at all, and cells that are safe to open."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mercer.files import replacing as whole_file

from .._errors import CommandError

if TYPE_CHECKING:
    import pandas as pd

# What spreadsheets take for the beginning of a formula, as OWASP lists it, and the apostrophes that were put before it.
FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)


def check_output(path: Path, force: bool, regular: bool = False) -> None:
    """Raise if a file could not be written later on; where it must be ``regular``, devices and pipes will not do."""
    if path.is_dir():
        raise CommandError(f"{path} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise CommandError(f"the folder {path.parent} does not exist")
    if regular and path.exists() and not path.is_file():
        raise CommandError(f"{path} is not a regular file")
    if path.exists() and path.is_file() and not force:
        raise CommandError(f"{path} exists already; --force replaces it")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise CommandError(f"{path} cannot be written: permission denied")


@contextmanager
def replacing(path: Path, force: bool) -> Iterator[Path]:
    """Yield a temporary file beside ``path``, which takes its name if the block ends well and is removed if not.

    Devices and pipes are yielded themselves: nothing can take their place.
    """
    check_output(path, force)
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.exists() and not target.is_file():
        yield target
        return
    try:
        with whole_file(target, lambda: check_output(path, force)) as temporary:
            yield temporary
    except OSError as error:
        if error.filename is None or Path(error.filename).parent == target.parent:
            error.filename = str(path)  # the name that the user knows
        raise


def protect_text(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would take it for a formula; numbers stay.

    Examples
    --------
    >>> protect_text("=1+1"), protect_text("-12.5"), protect_text("-x"), protect_text("'=1"), protect_text("it's")
    ("'=1+1", '-12.5', "'-x", "''=1", "it's")
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def restore_text(text: str) -> str:
    """Return the text that :func:`protect_text` was given.

    Examples
    --------
    >>> restore_text("'=1+1"), restore_text("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def protect_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts, and names of columns, no spreadsheet takes for formulas."""
    protected = frame.rename(columns=lambda name: protect_text(str(name)))
    for j, kind in enumerate(frame.dtypes):
        if kind.kind in "OTU" or str(kind) in ("str", "string", "category"):
            cells = frame.iloc[:, j].astype(object)
            protected.isetitem(j, cells.map(lambda cell: protect_text(cell) if isinstance(cell, str) else cell))
    return protected
