"""Rows of Parquet files, a piece at a time: some row groups, or a part of one that is larger than a piece may be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from mercer.needs import load_package

from .errors import DamagedFileError, first_line

PURPOSE = "reading Parquet"
BUFFER = 2**16  # bytes of a column that are read at a time, instead of all of them
OPEN = 4  # row groups that are being read in parts at a time: points, targets and weights of one
INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls row labels without a name


@dataclass(frozen=True)
class ParquetPiece:
    """Whole row groups that follow each other, or rows of one."""

    file: int  # its number
    groups: tuple[int, ...]
    start: int  # rows of the first group before these
    count: int
    first: int  # rows of the file before these
    step: int  # rows of each part of a group that is cut; 0 for whole groups


@dataclass(frozen=True)
class ParquetFile:
    """One file, what its end says of its row groups, and columns that its path spells."""

    path: str
    metadata: Any
    constants: dict[str, Any]
    stamp: tuple[int, Any]  # size, and when it was changed


class ParquetRows:
    """The rows of all files of a dataset, in the order of their names.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        Of Parquet files.
    name : str
        What it is called in messages.
    """

    def __init__(self, dataset: Any, name: str) -> None:
        self.name, self._files_at = name, getattr(dataset, "filesystem", None)
        if not hasattr(dataset, "files") or getattr(dataset.format, "default_extname", "") != "parquet":
            raise TypeError(f"{name}: only datasets of Parquet files are read a piece at a time; write it as Parquet")
        if getattr(dataset, "_scan_options", None):
            raise ValueError(
                f"{name} has a filter, which reading row groups would pass by; write the rows that are left to a file, "
                "or give a column of weights that are 0 for the others"
            )
        self.names = [column for column in dataset.schema.names if not INDEX.fullmatch(column)]
        self._files = [self._look_at(fragment) for fragment in dataset.get_fragments()]
        self._parts: dict[Any, tuple[int, Iterator[Any]]] = {}  # where reading a row group in parts has come to
        self.pieces: list[ParquetPiece] = []

    @classmethod
    def at(cls, path: Path) -> ParquetRows:
        """Return the rows of a file, or of all files of a folder and the folders inside it."""
        datasets = load_package("pyarrow.dataset", PURPOSE)
        load_package("pandas", PURPOSE)
        try:
            return cls(datasets.dataset(str(path), format="parquet", partitioning="hive"), str(path))
        except (OSError, ValueError) as error:
            if isinstance(error, DamagedFileError):
                raise
            raise DamagedFileError(f"{path} cannot be read as Parquet: {first_line(error)}") from None

    def __getstate__(self) -> Any:
        return self.describe()

    @property
    def n(self) -> int:
        """All rows."""
        return sum(file.metadata.num_rows for file in self._files)

    def describe(self) -> Any:
        """Return what tells these rows and pieces from others."""
        return [(file.path, *file.stamp) for file in self._files], self.pieces

    def cut(self, rows: int) -> None:
        """Let pieces have at most so many rows, none of two files."""
        self.pieces = [piece for number in range(len(self._files)) for piece in self._cut_file(number, rows)]

    def _cut_file(self, number: int, rows: int) -> Iterator[ParquetPiece]:
        metadata = self._files[number].metadata
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        first, held = 0, 0
        groups: list[int] = []
        for group, size in enumerate(sizes):
            if groups and held + size > rows:
                yield ParquetPiece(number, tuple(groups), 0, held, first, 0)
                first, held, groups = first + held, 0, []
            if size <= rows:
                groups, held = [*groups, group], held + size
                continue
            parts = -(-size // rows)
            step = -(-size // parts)
            for start, end in pairwise([*range(0, size, step), size]):
                yield ParquetPiece(number, (group,), start, end - start, first + start, step)
            first += size
        if held:
            yield ParquetPiece(number, tuple(groups), 0, held, first, 0)

    def read(self, piece: ParquetPiece, columns: Sequence[str]) -> Any:
        """Return some columns of a piece as a frame."""
        return self.read_cells(piece, columns).to_pandas(split_blocks=True, self_destruct=True)

    def read_cells(self, piece: ParquetPiece, columns: Sequence[str]) -> Any:
        """Return some columns of a piece as an Arrow table, which keeps their types where values are missing."""
        import pyarrow as pa

        file = self._files[piece.file]
        stored = [column for column in columns if column not in file.constants]
        found: dict[str, Any] = {
            name: pa.repeat(pa.scalar(value), piece.count) for name, value in file.constants.items() if name in columns
        }
        if stored:
            try:
                table = self._read_stored(piece, stored)
                if table.num_rows != piece.count:
                    raise OSError(f"{table.num_rows:,} rows were found where there should be {piece.count:,}")
            except (OSError, pa.ArrowException) as error:
                self._parts.clear()
                raise self._name_damage(piece, stored, error) from None
            found |= {name: table[name] for name in stored}
        return pa.table({name: found[name] for name in columns})

    def _read_stored(self, piece: ParquetPiece, columns: list[str]) -> Any:
        import pyarrow as pa

        file = self._files[piece.file]
        if piece.step:
            batches = self._read_part(piece, tuple(columns))
            return pa.Table.from_batches(batches) if batches else pa.table({name: [] for name in columns})
        with self._open(file) as opened:
            return opened.read_row_groups(list(piece.groups), columns=columns)

    def locate(self, piece: ParquetPiece, row: int) -> str:
        """Return where a row of a piece is, as people look for it."""
        return f"{self._files[piece.file].path}, row {piece.first + row:,} of the file, counted from 0"

    def _look_at(self, fragment: Any) -> ParquetFile:
        from pyarrow.dataset import get_partition_keys

        try:
            fragment.ensure_complete_metadata()
            info = fragment.filesystem.get_file_info(fragment.path)
        except (OSError, ValueError) as error:
            raise DamagedFileError(
                f"{fragment.path} cannot be read as Parquet: {first_line(error)}. Restore the file, or move it away"
            ) from None
        constants = get_partition_keys(fragment.partition_expression)
        return ParquetFile(fragment.path, fragment.metadata, constants, (info.size, info.mtime_ns))

    def _open(self, file: ParquetFile) -> Any:
        from pyarrow import parquet

        source = file.path if self._files_at is None else self._files_at.open_input_file(file.path)
        return parquet.ParquetFile(
            source, metadata=file.metadata, buffer_size=BUFFER, pre_buffer=False, page_checksum_verification=True
        )

    def _read_part(self, piece: ParquetPiece, columns: tuple[str, ...]) -> list[Any]:
        """Return the batches of a part of a row group, going on where the part before it has ended."""
        key = piece.file, piece.groups, columns
        position, batches = self._parts.pop(key, (0, iter(())))
        if position != piece.start or position == 0:
            opened = self._open(self._files[piece.file])
            batches = opened.iter_batches(piece.step, row_groups=list(piece.groups), columns=list(columns))
            position = 0
        found, wanted = [], piece.start + piece.count
        while position < wanted and (batch := next(batches, None)) is not None:
            before, position = position, position + batch.num_rows
            if position > piece.start:
                first = max(0, piece.start - before)
                found.append(batch.slice(first, min(wanted, position) - before - first))
        self._parts[key] = position, batches  # where a batch has gone too far, the next part begins anew
        while len(self._parts) > OPEN:
            self._parts.pop(next(iter(self._parts)))
        return found

    def _name_damage(self, piece: ParquetPiece, columns: list[str], error: Exception) -> DamagedFileError:
        """Return the error for a piece that cannot be read: which row group it is, and its rows."""
        file = self._files[piece.file]
        first = piece.first - piece.start
        for group in piece.groups:
            size = file.metadata.row_group(group).num_rows
            try:
                with self._open(file) as opened:
                    for _ in opened.iter_batches(2**16, row_groups=[group], columns=columns):
                        pass
            except Exception as found:
                return DamagedFileError(
                    f"{file.path}: row group {group} (rows {first:,} to {first + size - 1:,}, counted from 0) cannot "
                    f"be read: {first_line(found)}. Restore the file from a copy, or write the other row groups to a "
                    "new one and use that"
                )
            first += size
        return DamagedFileError(f"{file.path} cannot be read: {first_line(error)}. Restore the file, and try again")
