"""Tables from files of all kinds, and what is said of files that hold none."""

import gzip
import io

import pandas as pd
import pytest

from mercer.cli._errors import CommandError
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


@pytest.mark.parametrize("name", ["t.parquet", "t.pq"])
def test_parquet(tmp_path, name):
    TABLE.to_parquet(tmp_path / name)
    pd.testing.assert_frame_equal(read_table(str(tmp_path / name)).frame, TABLE)


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
        with pytest.raises(CommandError, match=rf"line {line} of .*t\.csv is odd"), table.name_rows():
            raise ValueError(f"row {row} is odd")
    with pytest.raises(CommandError, match="line 8 of"), table.name_rows([1, 4]):
        raise ValueError("row 1 is odd")
    with pytest.raises(ValueError, match="^nothing is odd$"), table.name_rows():
        raise ValueError("nothing is odd")
