"""What a fit has summed up so far, on a disk, so that one that was killed goes on where it was.

Every sum has a name of its own: a hash of all that went into it, the rows, the kernel, the centres.  Whoever asks for
the same sum again gets what is there of it, and nobody else does.  Files are read by an unpickler that knows arrays and
our own records of them, and nothing else.
"""

from __future__ import annotations

import dataclasses
import importlib
import io
import os
import pickle
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

EVERY = 5.0  # seconds of work that may be lost
PLAIN = {
    ("numpy", "dtype"), ("numpy", "ndarray"), ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"), ("numpy._core.numeric", "_frombuffer"), ("builtins", "complex"),
}  # fmt: skip


class Checkpoint:
    """A folder of sums.

    Parameters
    ----------
    folder : Path
        Made when there is something to keep, and removed by :meth:`remove`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._saved = folder, time.monotonic()
        self.found = folder.is_dir()  # whether a fit went before this one

    @property
    def is_due(self) -> bool:
        """Whether so much was done since something was saved that it would be a loss."""
        return time.monotonic() - self._saved >= EVERY

    def read(self, key: str) -> tuple[int, Any] | None:
        """Return how many pieces were summed up and their sum, None if nothing is known."""
        path = self.path(key)
        if not path.is_file():
            return None
        try:
            count, total = load_record(path)
        except (OSError, ValueError, EOFError, pickle.UnpicklingError, AttributeError, ImportError):
            return None  # as if it had never been there
        return int(count), total

    def write(self, key: str, count: int, total: Any) -> None:
        """Keep the sum of the first pieces."""
        save_record(self.path(key), (count, total))
        self._saved = time.monotonic()

    def path(self, key: str, part: int | None = None) -> Path:
        """Return the file of a sum, or of one of many results."""
        return self.folder / (f"{key}.sum" if part is None else f"{key}/{part}.part")

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.folder, ignore_errors=True)


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
    return _Reader(io.BytesIO(path.read_bytes())).load()


class _Reader(pickle.Unpickler):
    """Knows arrays and records of ours; anything else could run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in PLAIN:
            return super().find_class(module, name)
        if module.partition(".")[0] == "mercer":
            with suppress(ImportError, AttributeError):
                found = getattr(importlib.import_module(module), name)
                if isinstance(found, type) and dataclasses.is_dataclass(found):
                    return found
        raise pickle.UnpicklingError(f"{module}.{name} is nothing that a fit keeps")
