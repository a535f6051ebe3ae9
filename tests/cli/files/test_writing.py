"""Files are written whole or not at all."""

import os
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.cli._errors import CommandError
from mercer.cli.files.writing import check_output, protect_cells, protect_text, replacing, restore_text


def test_a_file_appears_when_the_block_ends_and_not_before(tmp_path):
    path = tmp_path / "out.csv"
    with replacing(path, force=False) as temporary:
        temporary.write_text("done")
        assert not path.exists()
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".csv"
    assert path.read_text() == "done"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_nothing_is_left_of_a_block_that_fails(tmp_path, error):
    path = tmp_path / "out.csv"
    path.write_text("before")

    def fail():
        with replacing(path, force=True) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("before")
    (tmp_path / "link.csv").symlink_to("real.csv")
    with replacing(tmp_path / "link.csv", force=True) as temporary:
        temporary.write_text("after")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "after"


def test_devices_are_written_to_and_not_replaced():
    with replacing(Path("/dev/null"), force=False) as target:
        target.write_text("gone")
    assert Path("/dev/null").is_char_device()


def test_outputs_are_checked_before_the_work(tmp_path):
    (tmp_path / "here.csv").write_text("")
    check_output(tmp_path / "here.csv", force=True)
    with pytest.raises(CommandError, match=r"here\.csv exists already; --force replaces it"):
        check_output(tmp_path / "here.csv", force=False)
    with pytest.raises(CommandError, match="is a folder"):
        check_output(tmp_path, force=True)
    with pytest.raises(CommandError, match="does not exist"):
        check_output(tmp_path / "nowhere" / "out.csv", force=True)


def test_a_file_that_appears_during_the_work_is_not_replaced(tmp_path):
    path = tmp_path / "out.csv"

    def work():
        with replacing(path, force=False) as temporary:
            temporary.write_text("ours")
            path.write_text("theirs")

    with pytest.raises(CommandError, match="exists already"):
        work()
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["out.csv"]


STARTS = "=+-@\t\r\n"  # what OWASP names as the beginnings of formulas


@given(st.text(st.sampled_from(STARTS + "'＝＋－＠a1. ")) | st.text())
def test_protected_texts_begin_no_formula_and_come_back(text):
    safe = protect_text(text)
    assert restore_text(safe) == text
    if safe.startswith(tuple(STARTS)):
        float(safe.replace(",", "."))  # only a number may


def test_cells_and_names_are_protected_and_numbers_stay():
    frame = pd.DataFrame({"=name": ["=1+1", "-5", None], "n": [-1.5, 2.0, 3.0], "@": [1, "+x", -2]})
    safe = protect_cells(frame)
    assert list(safe.columns) == ["'=name", "n", "'@"]
    assert safe["'=name"].tolist()[:2] == ["'=1+1", "-5"]
    assert safe["'=name"].isna().tolist() == [False, False, True]
    assert safe["n"].tolist() == [-1.5, 2.0, 3.0]
    assert safe["'@"].tolist() == [1, "'+x", -2]
    assert frame["=name"].tolist()[0] == "=1+1"  # which is not changed
