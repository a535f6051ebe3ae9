"""Files that are written whole or not at all.

A process that is killed cannot remove what it was writing.  The name of a temporary file therefore says which process
of which machine writes it, and whoever comes next to the folder removes those whose writer is no more.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

TEMPORARY = re.compile(
    r"\..*-mercer-(?P<machine>[0-9a-f]{12})-(?P<process>[0-9]+)-(?P<started>[0-9]+)-[0-9a-f]{8}(\.[^.]*)?", re.DOTALL
)
LONGEST_STEM = 40  # characters of a name that a temporary one repeats; names have a limit
PATIENCE = 3600.0  # seconds after which a file is left over whose writer cannot be asked for


def check_free(target: Path, overwrite: bool) -> None:
    """Raise if there is a file already that is not to be replaced, or anything else that no file can replace."""
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file")
    if target.exists() and not target.is_file():
        raise OSError(f"{target} is no regular file, and a device or pipe is not replaced by one")
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} is there already; pass overwrite=True to replace it")


@contextmanager
def replacing(target: Path, check: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Yield a temporary file beside the target, which takes its name if the block ends well and is removed if not.

    What processes that were killed have left in the folder is removed first.

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
    remove_stale(target.parent)
    process, token = os.getpid(), secrets.token_hex(4)
    writer = f"{_name_machine()}-{process}-{_find_start(process) or 0}-{token}"
    # The ending stays, since it may tell a format.
    temporary = target.with_name(f".{target.stem.lstrip('.')[:LONGEST_STEM]}-mercer-{writer}{target.suffix}")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())  # a full disk shows now, not after the rename
        check()
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def remove_stale(folder: Path) -> None:
    """Remove temporary files of :func:`replacing` in a folder whose writers are no more.

    Only regular files of this user with such a name are touched.  The writer is looked for where it was started on this
    machine; a file of another machine, or of a system that cannot be asked, is left alone for an hour after the last
    byte was written.  What cannot be removed stays.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = TEMPORARY.fullmatch(entry.name) if entry.name.startswith(".") else None
            if name is not None:
                with suppress(OSError):  # somebody else was faster, or may not
                    if _is_stale(entry.stat(follow_symlinks=False), **name.groupdict()):
                        os.unlink(entry.path)


def _is_stale(found: os.stat_result, machine: str, process: str, started: str) -> bool:
    """Whether a file is one of ours and nobody will go on writing it."""
    if not stat.S_ISREG(found.st_mode) or (hasattr(os, "getuid") and found.st_uid != os.getuid()):
        return False
    if machine == _name_machine() and started != "0":
        return _find_start(int(process)) != int(started)
    return time.time() - found.st_mtime > PATIENCE


@cache
def _name_machine() -> str:
    """Return a short name for all processes that can see each other: one machine from one start to the next."""
    parts = [platform.node()]
    with suppress(OSError):
        parts += [Path("/proc/sys/kernel/random/boot_id").read_text(), os.readlink("/proc/self/ns/pid")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _find_start(process: int) -> int | None:
    """Return when a process was started, in ticks since the machine was, and None if it is no more or nobody knows."""
    try:
        content = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return None
    state, *fields = content[content.rindex(b")") + 2 :].split()  # the name before may hold anything
    return None if state in b"ZX" else int(fields[18])


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a loss of power, where folders can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
