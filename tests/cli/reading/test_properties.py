"""Whatever bytes there are, reading gives the table that was written or an error of the documented kind."""

import contextlib
import csv
import io
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mercer.cli._errors import CommandError
from mercer.cli.reading.options import ReadingOptions
from mercer.cli.reading.sources import KINDS, PACKED
from mercer.cli.reading.tables import read_table

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
LETTERS = st.text("abcxyzäöüßéñ€ '=.", min_size=1, max_size=8).map(lambda text: f"k{text.rstrip()}k")
TEXTS = LETTERS | st.sampled_from(['say "hi"', "two\nlines", "a;b", "a,b", "a|b", "a\tb", "ж", "漢字 x"])
NUMBERS = st.integers(-999, 999).map(float) | st.floats(-1e5, 1e5).map(lambda value: round(value, 4))
PIECES = [b"a", b"1", b",", b";", b'"', b"\n", b"\r", b"\0", b"\xff", b"{", b"}", b"[", b":", b"PK\x03\x04", b"PAR1"]


@st.composite
def tables(draw):
    """Return a frame of numbers and texts, some of them missing; the first column has a value in every row."""
    rows, columns = draw(st.integers(1, 6)), {}
    for j, name in enumerate(draw(st.lists(LETTERS, min_size=2, max_size=4, unique=True))):
        kind = draw(st.sampled_from([NUMBERS, TEXTS]))
        cell = kind | st.none() if j else kind
        values = draw(st.lists(cell, min_size=rows, max_size=rows))
        columns[name] = pd.Series(values, dtype=float if kind is NUMBERS else object)
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@QUICK
@given(
    table=tables(), encoding=st.sampled_from(ENCODINGS), separator=st.sampled_from([",", ";", "\t", "|"]),
    decimal=st.sampled_from([".", ","]), missing=st.sampled_from(["", "NA", "-999999", "gone"]),
    line_end=st.sampled_from(["\n", "\r\n"]), said=st.booleans(),
)  # fmt: skip
def test_a_table_comes_back_as_it_was_written(
    folder, table, encoding, separator, decimal, missing, line_end, said
):  # fmt: skip
    texts = [name for name in table if table[name].dtype == object]
    decimal = "." if separator == "," else decimal
    written = table.to_csv(
        index=False, sep=separator, decimal=decimal, na_rep=missing, lineterminator=line_end, quoting=csv.QUOTE_MINIMAL
    )
    try:
        data = written.encode(encoding)
    except UnicodeEncodeError:  # letters that it does not have
        data, encoding = written.encode(), "utf-8"
    (folder / "t.csv").write_bytes(data)
    given_too = {"encoding": encoding, "separator": separator, "decimal": decimal} if said else {}
    options = ReadingOptions(missing=(missing,) if missing else (), strings=tuple(texts), **given_too)
    frame = read_table(str(folder / "t.csv"), options).frame
    assert list(frame.columns) == list(table.columns)
    for name in table:
        present = table[name].notna()
        assert frame[name].notna().tolist() == present.tolist()
        if name in texts:
            assert frame[name][present].tolist() == table[name][present].tolist()
        else:
            found = frame[name][present].astype(str).str.replace(",", ".").astype(float)
            np.testing.assert_allclose(found, table[name][present], rtol=1e-12)


@QUICK
@given(
    data=st.binary(max_size=200) | st.text(max_size=60).map(str.encode)
    | st.text(max_size=60).map(lambda text: text.encode("utf-16", "replace"))
    | st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join),
    ending=st.sampled_from([*KINDS, *(f".csv{packing}" for packing in PACKED), ".zip"]),
)  # fmt: skip
@example(data=b"", ending=".xlsx")
@example(data=b'"', ending=".csv")
def test_bytes_that_are_no_table_are_an_error_for_people(folder, data, ending):
    path = folder / f"u{ending}"
    if ending == ".zip":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("t.csv", data)
        data = packed.getvalue()
    path.write_bytes(data)
    said = None
    try:
        table = read_table(str(path))
    except CommandError as error:
        said = str(error)
    if said is not None:
        assert "\n" not in said
        assert str(path) in said
        return
    assert len(table.frame) > 0
    assert table.frame.columns.is_unique
    assert all(table.locate(row).split()[1].isdecimal() for row in range(len(table.frame)))


@QUICK
@given(
    ending=st.sampled_from([".parquet", ".feather", ".xlsx", ".jsonl", ".zip"]),
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=20),
    end=st.floats(0.5, 1),
)
def test_damaged_files_are_read_or_an_error_for_people(folder, intact, ending, changes, end):
    data = bytearray(intact[ending])
    for place, value in changes:
        data[int(place * len(data))] = value
    path = folder / f"d{ending}"
    path.write_bytes(data[: int(end * len(data))])
    with contextlib.suppress(CommandError):
        assert len(read_table(str(path)).frame) > 0


@pytest.fixture(scope="module")
def intact(folder):
    frame = pd.DataFrame({"a": [1.5, None, 3.0], "b": ["x", "y", "z"]})
    frame.to_parquet(folder / "i.parquet")
    frame.to_feather(folder / "i.feather")
    frame.to_excel(folder / "i.xlsx")
    frame.to_json(folder / "i.jsonl", orient="records", lines=True)
    frame.to_csv(folder / "i.zip", compression={"method": "zip", "archive_name": "t.csv"})
    return {path.suffix: path.read_bytes() for path in folder.glob("i.*")}
