"""Parquet and Feather, which know the types of their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mercer.arrays.budget import available_memory

from .._errors import TOO_LARGE, CommandError
from .sources import PARQUET, Source

if TYPE_CHECKING:
    import pandas as pd


def read_columnar(source: Source) -> pd.DataFrame:
    """Return the table of a Parquet or Feather file; an index with a name is a column."""
    import pyarrow as pa
    from pyarrow import feather, parquet

    parqueted = source.kind in PARQUET
    try:
        with source.open() as opened:
            file: Any = opened if opened.seekable() else pa.BufferReader(opened.read())
            if parqueted:
                metadata = parquet.read_metadata(file)
                _check_memory(metadata.num_rows * metadata.num_columns, source.name)
                file.seek(0)
                table = parquet.read_table(file)
            else:
                table = feather.read_table(file)
            frame = table.to_pandas()
    except (OSError, ValueError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        kind, why = "Parquet" if parqueted else "Feather", (str(error).splitlines() or [type(error).__name__])[0]
        raise CommandError(f"{source.name} is not a {kind} file, or is damaged: {why}") from None
    return frame.reset_index() if any(name is not None for name in frame.index.names) else frame.reset_index(drop=True)


def _check_memory(cells: int, name: str) -> None:
    if 8 * cells > available_memory():  # a few bytes can stand for a column of the same value
        raise CommandError(f"{name} holds more than the memory that is free; give fewer rows or columns", TOO_LARGE)
