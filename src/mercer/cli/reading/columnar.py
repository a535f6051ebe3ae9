"""Parquet and Feather, which know the types of their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._errors import TOO_LARGE, CommandError
from .sources import PARQUET, TableSource, check_size

if TYPE_CHECKING:
    import pandas as pd

CELL = 8  # bytes that a value takes, though a few may stand for a column of the same one


def read_columnar(source: TableSource) -> pd.DataFrame:
    """Return the table of a Parquet or Feather file; an index with a name is a column."""
    import pyarrow as pa
    from pyarrow import feather, parquet

    parqueted = source.kind in PARQUET
    try:
        with source.open() as opened:
            file: Any = opened if opened.seekable() else pa.BufferReader(opened.read())
            if parqueted:
                metadata = parquet.read_metadata(file)
                check_size(source.name, CELL * metadata.num_rows * metadata.num_columns)
                file.seek(0)
                table = parquet.read_table(file)
            else:
                table = feather.read_table(file)
            frame = table.to_pandas()
    except CommandError:
        raise
    except MemoryError:
        raise CommandError(
            f"{source.name} asks for more memory than there is; it is too large, or damaged", TOO_LARGE
        ) from None
    except Exception as error:  # of parsers that trust what they read
        if isinstance(error, OSError) and error.errno is not None:
            raise
        kind, why = "Parquet" if parqueted else "Feather", (str(error).splitlines() or [type(error).__name__])[0]
        raise CommandError(f"{source.name} is not a {kind} file, or is damaged: {why}") from None
    return frame.reset_index() if any(name is not None for name in frame.index.names) else frame.reset_index(drop=True)
