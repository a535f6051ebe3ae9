"""Rows of an array on a disk, a piece at a time: a memory map, or a ``.npy`` file, which is mapped for each piece."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .errors import DamagedFileError, first_line


@dataclass(frozen=True)
class ArrayPiece:
    """Rows that follow each other."""

    first: int
    count: int


class ArrayRows:
    """The rows of an array of numbers.

    Parameters
    ----------
    source : Path or memmap
        A ``.npy`` file, or what is mapped already.
    """

    names: list[str] | None = None

    def __init__(self, source: Path | np.memmap[Any, Any]) -> None:
        self._source = source
        self.name = str(source if isinstance(source, Path) else source.filename or "the memory map")
        array = self._open()
        if array.ndim != 2:
            raise ValueError(f"{self.name} has shape {array.shape}; rows of numbers have shape (rows, columns)")
        self.n, self.width, self._kind = int(array.shape[0]), int(array.shape[1]), str(array.dtype)
        self._place = () if isinstance(source, Path) else _locate(source)
        self.pieces: list[ArrayPiece] = []

    def __getstate__(self) -> Any:
        return self.describe()

    def describe(self) -> Any:
        """Return what tells these rows and pieces from others."""
        return describe_file(self.name), self._place, self.n, self.width, self._kind, self.pieces

    def cut(self, rows: int) -> None:
        """Let pieces have at most so many rows."""
        self.pieces = [ArrayPiece(first, min(rows, self.n - first)) for first in range(0, self.n, rows)]

    def read(self, piece: ArrayPiece, columns: Sequence[str]) -> np.ndarray:
        """Return the rows of a piece, copied."""
        return np.array(self._open()[piece.first : piece.first + piece.count])

    def locate(self, piece: ArrayPiece, row: int) -> str:
        """Return where a row of a piece is."""
        return f"{self.name}, row {piece.first + row:,}, counted from 0"

    def _open(self) -> np.ndarray:
        return open_array(self._source) if isinstance(self._source, Path) else self._source


def open_array(path: Path) -> np.ndarray:
    """Return the array of a ``.npy`` file, mapped and not read."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DamagedFileError(
            f"{path} cannot be read as an array of numbers: {first_line(error)}. Write it with numpy.save"
        ) from None
    return np.asanyarray(found)


def _locate(mapped: np.memmap[Any, Any]) -> tuple[Any, ...]:
    """Return which part of its file is mapped; of one that may be written to, a name that nothing else has."""
    if mapped.mode != "r":
        return (uuid.uuid4().hex,)
    whole: Any = mapped
    while isinstance(whole.base, np.memmap):
        whole = whole.base
    return whole.offset, mapped.ctypes.data - whole.ctypes.data, mapped.strides


def describe_file(name: str) -> Any:
    """Return name, size and time of the last change of a file, the name alone if there is no such file."""
    path = Path(name)
    found = path.stat() if path.is_file() else None
    return (name,) if found is None else (str(path.resolve()), found.st_size, found.st_mtime_ns)
