"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def check_free(target: Path, overwrite: bool) -> None:
    """Raise if there is a file already that is not to be replaced."""
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} is there already; pass overwrite=True to replace it")


@contextmanager
def replacing(target: Path, check: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Yield a temporary file beside the target, which takes its name if the block ends well and is removed if not.

    Parameters
    ----------
    target : Path
        The file; a link should be resolved first, so that it stays a link.
    check : callable
        Called before the target is replaced; it raises if it must not be.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     [path.name for path in Path(folder).iterdir()]
    ['a.txt']
    """
    # The ending stays, since it may tell a format.
    temporary = target.with_name(f".{target.stem}-{secrets.token_hex(8)}{target.suffix}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())  # a full disk shows now, not after the rename
        check()
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a loss of power, where folders can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
