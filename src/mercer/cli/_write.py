"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mercer.files import replacing as whole_file

from ._errors import CommandError


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
