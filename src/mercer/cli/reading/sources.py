"""The bytes of a table: of a file, packed or not, of the one table in an archive, or of standard input."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from mercer.arrays.budget import available_memory, show_bytes
from mercer.words import find_close

from .._errors import TOO_LARGE, CommandError

TABS = (".tsv", ".tab")  # text with tabs between columns
TEXT = (".csv", ".txt", *TABS)
JSON = (".json", ".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
FEATHER = (".feather", ".arrow")
SHEETS = (".xlsx", ".xlsm")
KINDS = (*TEXT, *JSON, *PARQUET, *FEATHER, *SHEETS)
FORMATS = ".csv, .tsv, .xlsx, .json, .parquet or .feather, or one of these packed as .zip, .gz, .bz2 or .xz"
MAGIC = ((b"PAR1", ".parquet"), (b"ARROW1", ".feather"), (b"PK\x03\x04", ".zip"), (b"\x1f\x8b", ".gz"),
         (b"BZh", ".bz2"), (b"\xfd7zXZ\x00", ".xz"), (b"\x28\xb5\x2f\xfd", ".zst"))  # fmt: skip
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)
STDIN = "standard input"
BUFFER = 1 << 20
MOST_NAMES = 8  # files of an archive that an error lists


@dataclass(frozen=True)
class TableSource:
    """Bytes that can be read more than once.

    Parameters
    ----------
    name : str
        What they are called in messages.
    kind : str
        The ending that tells their format, such as ``.csv``.
    open : callable
        Opens them at their beginning.
    """

    name: str
    kind: str
    open: Callable[[], BinaryIO]

    def read(self) -> bytes:
        """Return all of them."""
        with explain_damage(self.name), self.open() as file:
            return file.read()

    def read_head(self, size: int) -> bytes:
        """Return the first of them."""
        with explain_damage(self.name), self.open() as file:
            return file.read(size)


def find_source(name: str) -> TableSource:
    """Return the bytes of the table in a file, or on standard input if the name is ``-``.

    Raises
    ------
    CommandError
        If there are none, if the format is not known, or if they would not fit into memory.
    """
    path = Path(name)
    if name == "-":
        stream = getattr(sys.stdin, "buffer", None)  # a stream of text has none
        return _keep(STDIN, "", sys.stdin.read().encode() if stream is None else _read_all(stream, STDIN))
    if path.is_dir():
        raise CommandError(f"{path} is a folder; give the name of a file")
    if not path.exists():
        raise CommandError(f"{path} does not exist{_suggest_name(path)}")
    if not path.is_file():  # a pipe can be read only once
        with path.open("rb") as file:
            return _keep(name, path.suffix.lower(), _read_all(file, name))
    check_size(name, path.stat().st_size)
    return _find_packed(name, path.name, lambda: path.open("rb"))


@contextmanager
def explain_damage(name: str) -> Iterator[None]:
    """Let errors of unpacking say which file is damaged."""
    try:
        yield
    except DAMAGE:
        raise _describe_damage(name) from None
    except OSError as error:
        if error.errno in (None, errno.EINVAL):  # of gzip, bz2 and places before the beginning of an archive
            raise _describe_damage(name) from None
        raise


def _describe_damage(name: str) -> CommandError:
    return CommandError(f"{name} is damaged: it cannot be unpacked; fetch or pack it again")


def _keep(name: str, kind: str, data: bytes) -> TableSource:
    """Return bytes in memory as a source, whose format they tell themselves if no ending does."""
    if kind not in (*KINDS, *PACKED, ".zip"):
        start = data.lstrip()[:1] if data[:3] != b"\xef\xbb\xbf" else data[3:].lstrip()[:1]
        guess = ".json" if start in (b"{", b"[") else ".csv"
        kind = next((ending for mark, ending in MAGIC if data.startswith(mark)), guess)
    if kind == ".zip" and _is_workbook(data):
        kind = ".xlsx"
    return _find_packed(name, f"table{kind}", lambda: io.BytesIO(data))


def _is_workbook(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except zipfile.BadZipFile:
        return False


def _find_packed(name: str, file: str, open_file: Callable[[], BinaryIO]) -> TableSource:
    """Return the source inside of a file; its endings tell what it is."""
    kind, packing = _split_endings(file)
    if packing == ".zip":
        return _find_member(name, open_file)
    if packing and not kind:  # data.gz
        kind = ".csv"
    if kind not in KINDS:
        old = "; save it as .xlsx or .csv" if kind in (".xls", ".ods") else ""
        raise CommandError(f"{name}: the ending of the name tells no format; it must be {FORMATS}{old}")
    if not packing:
        return TableSource(name, kind, open_file)

    def open_packed() -> BinaryIO:
        file = open_file()
        return _limit(name, PACKED[packing](file), file)

    return TableSource(name, kind, open_packed)


def _split_endings(file: str) -> tuple[str, str]:
    """Return the ending that tells a format, and the one that tells how it is packed."""
    endings = ["", "", *(ending.lower() for ending in PurePosixPath(file).suffixes)]
    if endings[-1] not in (*PACKED, ".zip"):
        return endings[-1], ""
    return endings[-2], endings[-1]


def _find_member(name: str, open_file: Callable[[], BinaryIO]) -> TableSource:
    """Return the one table in a zip archive."""
    with explain_damage(name), open_file() as file, zipfile.ZipFile(file) as archive:
        members = [item for item in archive.infolist() if not item.is_dir() and not _is_hidden(item.filename)]
    tables = [item for item in members if PurePosixPath(item.filename).suffix.lower() in KINDS]
    if len(tables) != 1:
        shown = ", ".join(item.filename for item in (tables or members)[:MOST_NAMES])
        more = " …" * (len(tables or members) > MOST_NAMES)
        if tables:
            raise CommandError(f"{name} holds {len(tables)} tables: {shown}{more}; unpack it, and give one of them")
        held = f"it holds {shown}{more}" if members else "it is empty"
        raise CommandError(f"{name} holds no table: {held}; a table must be {FORMATS}")
    member = tables[0]
    if member.flag_bits & 1:
        raise CommandError(f"{name} is locked with a password; unpack it, and give {member.filename}")
    check_size(name, member.file_size)

    def open_member() -> BinaryIO:
        with contextlib.ExitStack() as opened:
            file = opened.enter_context(open_file())
            archive = opened.enter_context(zipfile.ZipFile(file))
            found = _limit(name, archive.open(member), archive, file)  # which closes them when it is closed
            opened.pop_all()
        return found

    return TableSource(f"{member.filename} in {name}", PurePosixPath(member.filename).suffix.lower(), open_member)


def _is_hidden(file: str) -> bool:
    return file.startswith("__MACOSX/") or PurePosixPath(file).name.startswith(".")


def _suggest_name(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    near = find_close(path.name, (item.name for item in path.parent.iterdir()))
    return f"; did you mean {path.with_name(near)}?" if near else ""


# -- sizes ------------------------------------------------------------------------------------------------------------


def check_size(name: str, size: int) -> None:
    """Raise if so many bytes would not fit into memory."""
    if size > available_memory():
        raise _describe_excess(f"{name} ({show_bytes(size)})")


def _read_all(file: BinaryIO, name: str) -> bytes:
    """Return all bytes of a stream that stays open."""
    left, pieces = available_memory(), []
    while piece := file.read(BUFFER):
        left -= len(piece)
        if left < 0:
            raise _describe_excess(name)
        pieces.append(piece)
    return b"".join(pieces)


def _describe_excess(name: str) -> CommandError:
    return CommandError(f"{name} holds more than the memory that is free; give fewer rows or columns", TOO_LARGE)


def _limit(name: str, *files: Any) -> BinaryIO:
    """Return what is unpacked, up to the memory that is free: a small file may hold more than any machine."""
    return io.BufferedReader(_LimitedFile(name, files), BUFFER)


class _LimitedFile(io.RawIOBase):
    """The first of files that are closed together, which ends with an error once it has given too much."""

    def __init__(self, name: str, files: tuple[Any, ...]) -> None:
        self._name, self._files, self._left = name, files, available_memory()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._files[0].read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise _describe_excess(self._name)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        for file in self._files:
            file.close()
        super().close()


def _open_zstd(file: BinaryIO) -> Any:
    import pyarrow

    return pyarrow.CompressedInputStream(file, "zstd")


PACKED: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file), ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile, ".zst": _open_zstd
}  # fmt: skip
