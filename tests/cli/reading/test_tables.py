"""Tables from files of all kinds, and what is said of files that hold none."""

import gc
import gzip
import io
import zipfile

import pandas as pd
import pyarrow as pa
import pytest

from mercer.cli._errors import CommandError
from mercer.cli.reading import sources
from mercer.cli.reading.options import ReadingOptions
from mercer.cli.reading.tables import Table, read_table

TABLE = pd.DataFrame({"a": [1.5, 2.25, None], "name": ["x", "y, z", "ü"], "n": [1, 2, 3]})


@pytest.mark.parametrize("name", ["t.csv", "t.CSV", "t.txt", "t.csv.gz", "t.csv.bz2", "t.csv.xz"])
def test_commas(tmp_path, name):
    TABLE.to_csv(tmp_path / name, index=False)
    pd.testing.assert_frame_equal(read_table(str(tmp_path / name)).frame, TABLE)


@pytest.mark.parametrize(("name", "mark"), [("t.tsv", "\t"), ("t.tsv.gz", "\t"), ("t.tab", "\t"), ("t.csv", "\t"),
                                            ("t.csv", ";"), ("t.csv", "|")])  # fmt: skip
def test_other_separators_are_seen(tmp_path, name, mark):
    TABLE.to_csv(tmp_path / name, index=False, sep=mark)
    pd.testing.assert_frame_equal(read_table(str(tmp_path / name)).frame, TABLE)


def test_decimal_commas_are_seen(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    pd.testing.assert_frame_equal(read_table(str(tmp_path / "t.csv")).frame, TABLE)


def test_a_mark_of_byte_order_is_no_part_of_a_name(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False, encoding="utf-8-sig")
    assert list(read_table(str(tmp_path / "t.csv")).frame.columns) == list(TABLE.columns)


@pytest.mark.parametrize(
    ("encoding", "said"),
    [("cp1252", "Windows-1252"), ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16"), ("utf-16-be", "UTF-16"),
     ("utf-8-sig", "UTF-8 with a mark of byte order")],
)  # fmt: skip
def test_encodings_are_found_and_said(tmp_path, encoding, said):
    TABLE.to_csv(tmp_path / "t.csv", index=False, encoding=encoding, sep=";", decimal=",")
    table = read_table(str(tmp_path / "t.csv"))
    pd.testing.assert_frame_equal(table.frame, TABLE)
    assert table.said == f"text in {said}, separated by semicolons, decimal commas"


def test_letters_beyond_the_beginning_decide_too(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"1,x\n" * 30_000 + b"2,\xe4\n")
    table = read_table(str(tmp_path / "t.csv"))
    assert table.frame["b"].iloc[-1] == "ä"
    assert table.said == "text in Windows-1252"
    with pytest.raises(CommandError, match="is not text in utf-8-sig"):
        read_table(str(tmp_path / "t.csv"), ReadingOptions(encoding="utf-8-sig"))


@pytest.mark.parametrize("name", ["t.parquet", "t.pq", "t.feather"])
def test_columnar_files(tmp_path, name):
    (TABLE.to_feather if name == "t.feather" else TABLE.to_parquet)(tmp_path / name)
    table = read_table(str(tmp_path / name))
    assert table.locate(0) == "row 1"
    pd.testing.assert_frame_equal(table.frame, TABLE)


@pytest.mark.parametrize(("name", "lines"), [("t.json", False), ("t.jsonl", True), ("t.ndjson.gz", True)])
def test_objects_of_json(tmp_path, name, lines):
    TABLE.to_json(tmp_path / name, orient="records", lines=lines)
    table = read_table(str(tmp_path / name))
    pd.testing.assert_frame_equal(table.frame, TABLE)
    assert table.locate(2) == ("line 3" if lines else "row 3")


def test_sheets_of_workbooks(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        TABLE.to_excel(book, sheet_name="first", index=False, startrow=2)
        TABLE.assign(n=7).to_excel(book, sheet_name="second", index=False)
    table = read_table(str(tmp_path / "t.xlsx"))
    pd.testing.assert_frame_equal(table.frame, TABLE)
    assert table.locate(0) == "row 4"  # as the spreadsheet counts
    assert table.said == "sheet 'first', the first of 2 (--sheet chooses)"
    for sheet in ("second", "2"):
        assert read_table(str(tmp_path / "t.xlsx"), ReadingOptions(sheet=sheet)).frame["n"].tolist() == [7, 7, 7]
    with pytest.raises(CommandError, match="has no sheet 'third'; it has 'first', 'second'"):
        read_table(str(tmp_path / "t.xlsx"), ReadingOptions(sheet="third"))


def test_archives_hold_one_table(tmp_path):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("folder/t.csv", TABLE.to_csv(index=False))
        archive.writestr("__MACOSX/._t.csv", "")
        archive.writestr("readme.md", "words")
    pd.testing.assert_frame_equal(read_table(str(path)).frame, TABLE)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("u.parquet", "")
    with pytest.raises(CommandError, match=r"holds 2 tables: folder/t.csv, u.parquet; unpack it"):
        read_table(str(path))


def test_an_archive_whose_table_has_lost_its_beginning_is_closed_again(tmp_path):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("t.csv", TABLE.to_csv(index=False))
    path.write_bytes(b"XX" + path.read_bytes()[2:])  # the table of contents, at the end, still names it
    with pytest.raises(CommandError, match="damaged"):
        read_table(str(path))
    gc.collect()  # a file left open warns here, and warnings are errors


@pytest.mark.parametrize(
    "name", ["t.csv", "t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zst", "t.csv.zip", "t.xlsx", "t.parquet"]
)
def test_what_is_larger_than_memory_is_refused_before_it_is_read(tmp_path, monkeypatch, name):
    frame = pd.DataFrame({"a": [0] * 20_000, "b": 1})
    if name.endswith((".xlsx", ".parquet")):
        (frame.head(900).to_excel if name == "t.xlsx" else frame.to_parquet)(tmp_path / name)
    elif name.endswith(".zst"):
        with pa.CompressedOutputStream(tmp_path / name, "zstd") as file:
            file.write(frame.to_csv(index=False).encode())
    else:
        frame.to_csv(tmp_path / name, index=False)
    monkeypatch.setattr(sources, "available_memory", lambda: 30_000)
    with pytest.raises(CommandError, match="more than the memory that is free") as caught:
        read_table(str(tmp_path / name))
    assert caught.value.code == 4


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.xlsx", "t.csv.gz", "t.zip", "t.jsonl", "t.tsv"])
def test_standard_input_tells_its_format_itself(tmp_path, monkeypatch, name):
    write = {"t.parquet": TABLE.to_parquet, "t.feather": TABLE.to_feather}.get(name, TABLE.to_csv)
    options = {} if name in ("t.parquet", "t.feather") else {"index": False}
    if name == "t.jsonl":
        write, options = TABLE.to_json, {"orient": "records", "lines": True}
    if name == "t.xlsx":
        write = TABLE.to_excel
    if name == "t.zip":
        options |= {"compression": {"method": "zip", "archive_name": "t.csv"}}
    write(tmp_path / name, **(options | ({"sep": "\t"} if name == "t.tsv" else {})))
    with open(tmp_path / name, "rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(file.read())))
    pd.testing.assert_frame_equal(read_table("-").frame, TABLE)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.xlsx", "t.jsonl"])
def test_marks_of_missing_values_and_texts_can_be_said_in_every_format(tmp_path, name):
    frame = pd.DataFrame({"zip": ["007", "12", "gone"], "n": [1.0, -999.0, 3.0]})
    write = {"t.parquet": frame.to_parquet, "t.xlsx": frame.to_excel, "t.jsonl": frame.to_json}.get(name, frame.to_csv)
    write(tmp_path / name, **({"orient": "records", "lines": True} if name == "t.jsonl" else {"index": False}))
    found = read_table(str(tmp_path / name), ReadingOptions(missing=("-999", "gone"), strings=("zip",))).frame
    assert found["zip"].fillna("").tolist() == ["007", "12", ""]
    assert found["n"].fillna(0.0).tolist() == [1.0, 0.0, 3.0]


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a,b\n1,x\n2,y\n"))
    pd.testing.assert_frame_equal(read_table("-").frame, pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"\n \n", "is empty"),
        ("t.csv", b"a,b\n", "has column names but no rows"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "rows have more fields|line 3 has 3 fields, but 2"),
        ("t.csv", b"a,b\n1,2,3\n4,5,6\n", "more fields than there are column names"),
        ("t.csv", b'a,b\n1,"2\n3,4\n', "the quotes that open in line 2 never close"),
        ("t.csv", b'a,b\n1,"2\n3"\n1,2,3\n', "line 4 has 3 fields, but 2 are expected"),
        ("t.json", b'{"a": 1}\n{"a": }\n', "is not JSON: Expecting value in line 2"),
        ("t.json", b'[{"a": 1}, 3]', "row 2 is not an object"),
        ("t.json", b'{"a": [1]}', "column 'a' holds lists"),
        ("t.json", b'{"a": 1, "a": 2}', "column 'a' is there more than once"),
        ("t.json", b"[" * 9999, "is not JSON"),
        ("t.json", b"[]", "holds no columns"),
        ("t.zip", b"no archive", "is damaged"),
        ("t.feather", b"ARROW1", "is not a Feather file"),
        ("t.csv", b"PK\x03\x04\x00\x00\x00", "is not a text file"),
        ("t.csv.gz", b"a,b\n1,2\n", "is damaged"),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 9000, mtime=0)[:60], "is damaged"),
        ("t.parquet", b"a,b\n1,2\n", "is not a Parquet file"),
        ("t.parquet", b"", "is not a Parquet file"),
        ("t.xlsx", b"", "is not an Excel workbook"),
        ("t.xls", b"", "the ending of the name tells no format; it must be .csv"),
        ("table", b"a\n1\n", "the ending of the name tells no format"),
    ],
)
def test_files_that_hold_no_table(tmp_path, name, content, says):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CommandError, match=says) as caught:
        read_table(str(path))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path):
    (tmp_path / "houses.csv").write_text("a\n1\n")
    with pytest.raises(CommandError, match=r"huoses.csv does not exist; did you mean .*houses.csv\?"):
        read_table(str(tmp_path / "huoses.csv"))
    with pytest.raises(CommandError, match="is a folder"):
        read_table(str(tmp_path))


def test_columns_are_found_by_name_or_with_a_hint():
    table = Table("t.csv", TABLE, str)
    assert table.get_column("n").tolist() == [1, 2, 3]
    with pytest.raises(CommandError, match=r"t.csv has no column 'nam'; did you mean 'name'\?"):
        table.get_column("nam")
    with pytest.raises(CommandError, match="it has 'a', 'name', 'n'"):
        table.get_column("zzzz")


def test_columns_with_one_name_are_refused(tmp_path):
    frame = pd.DataFrame([[1, 2]], columns=["a", "b"])
    frame.columns = ["a", "a"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(CommandError, match="column 'a' is there more than once"):
        read_table(str(tmp_path / "t.csv"))


LINES = 'a,b,y\n1,"two\nlines",0\n2,x,1\n\n3,x,\n4,x,0\ninf,x,1\n' + "".join(f"{i},x,{i % 2}\n" for i in range(20))


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_an_error_about_a_row_names_the_line_of_the_file(tmp_path, mercer, name):
    path = tmp_path / name
    with (gzip.open if name.endswith("gz") else open)(path, "wt") as file:
        file.write(LINES)
    result = mercer("fit", path, "--target", "y", "-o", tmp_path / "m.mercer")
    assert result.exit_code != 0
    assert f"line 8 of {path} is infinite" in result.stderr


def test_lines_are_counted_as_editors_count_them(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(LINES)
    table = read_table(str(path))
    for row, line in enumerate([2, 4, 6, 7, 8]):
        with pytest.raises(ValueError, match=rf"line {line} of .*t\.csv is odd"), table.name_rows():
            raise ValueError(f"row {row} is odd")
    with pytest.raises(ValueError, match="line 8 of"), table.name_rows([1, 4]):
        raise ValueError("row 1 is odd")
    with pytest.raises(ValueError, match=r"^column 'row 3': line 4 of .*t.csv is 'row 5'$"), table.name_rows():
        raise ValueError("column 'row 3': row 1 is 'row 5'")
