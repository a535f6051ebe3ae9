"""What a fit has summed up so far, on a disk, so that one that was killed goes on where it was.

Every sum has a name of its own: a hash of all that went into it, the rows, the kernel, the centres.  Whoever asks for
the same sum again gets what is there of it, and nobody else does.  Files are read by an unpickler that knows arrays and
our own records of them, and nothing else.
"""

from __future__ import annotations

import dataclasses
import os
import pickle
import shutil
import sys
import time
from itertools import count
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # then equal fits at the same time are not told from each other
    fcntl = None  # type: ignore[assignment]

EVERY = 5.0  # seconds of work that may be lost
PLAIN = {
    ("numpy", "dtype"), ("numpy", "ndarray"), ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"), ("numpy._core.numeric", "_frombuffer"), ("builtins", "complex"),
}  # fmt: skip


def open_checkpoint(parent: Path, name: str) -> Checkpoint:
    """Return the folder of a fit, held until the fit lets go of it; of equal fits at a time each has its own."""
    for number in count(1):
        found = Checkpoint(parent / f".mercer-fit-{name}{f'-{number}' if number > 1 else ''}")
        if found.hold():
            return found
    raise AssertionError("there is always a next number")


class Checkpoint:
    """A folder of sums.

    Parameters
    ----------
    folder : Path
        Made by :meth:`hold`, and removed by :meth:`remove`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._saved = folder, time.monotonic()
        self._lock: IO[bytes] | None = None

    def hold(self) -> bool:
        """Keep other fits out of the folder, and return False if it is held or somebody else's."""
        while True:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if hasattr(os, "getuid") and self.folder.stat().st_uid != os.getuid():
                return False
            try:
                self._lock = (self.folder / "lock").open("ab")
                if fcntl is not None:
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(self._lock.fileno()), (self.folder / "lock").stat()):
                    return True
            except BlockingIOError:
                self.release()
                return False
            except FileNotFoundError:  # a fit that has ended took it away in this moment
                pass
            except OSError:  # a disk that knows no locks
                if self._lock is not None:
                    return True
                raise
            self.release()

    def release(self) -> None:
        """Let others have the folder, with what is in it."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    @property
    def is_due(self) -> bool:
        """Whether so much was done since something was saved that it would be a loss."""
        return time.monotonic() - self._saved >= EVERY

    def read(self, key: str) -> tuple[int, Any] | None:
        """Return how many pieces were summed up and their sum, None if nothing is known."""
        try:
            done, total = load_record(self.path(key))
            return int(done), total
        except Exception:  # bytes that were lost may raise anything: as if it had never been there
            return None

    def write(self, key: str, count: int, total: Any) -> None:
        """Keep the sum of the first pieces."""
        try:
            save_record(self.path(key), (count, total))
        finally:  # what cannot be written is not tried again at once
            self._saved = time.monotonic()

    def path(self, key: str, part: int | None = None) -> Path:
        """Return the file of a sum, or of one of many results."""
        return self.folder / (f"{key}.sum" if part is None else f"{key}/{part}.part")

    def remove(self) -> None:
        """Leave nothing behind, also of equal fits beside this one that were killed."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.release()
        for folder in self.folder.parent.glob(f"{self.folder.name}-*"):
            other = Checkpoint(folder)
            if other.hold():
                shutil.rmtree(folder, ignore_errors=True)
                other.release()


def save_record(path: Path, value: Any) -> None:
    """Write arrays, numbers and records of them, whole or not at all.

    Nobody waits for the disk: what a loss of power takes is computed again, and a fit that dies leaves files whole.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    with temporary.open("wb") as file:
        pickle.dump(value, file, protocol=5)
    os.replace(temporary, path)


def load_record(path: Path) -> Any:
    """Return what was written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_record(Path(folder) / "a", (2, np.ones(2)))
    ...     load_record(Path(folder) / "a")
    (2, array([1., 1.]))
    """
    with path.open("rb") as file:
        return _Reader(file).load()


def is_whole(path: Path) -> bool:
    """Whether there is a file that can be read to its end, which a loss of power may have kept from the disk."""
    try:
        load_record(path)
    except Exception:  # of bytes that were lost there are many
        return False
    return True


_ACTS = frozenset({"__post_init__", "__setstate__", "__call__", "__del__"})


class _Reader(pickle.Unpickler):
    """Knows arrays and records of ours that run nothing when they are made; anything else could run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in PLAIN:
            return super().find_class(module, name)
        if module.partition(".")[0] == "mercer":  # what asks for a record has loaded its module
            found = getattr(sys.modules.get(module), name, None)
            if isinstance(found, type) and dataclasses.is_dataclass(found) and not _ACTS.intersection(dir(found)):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is nothing that a fit keeps")
