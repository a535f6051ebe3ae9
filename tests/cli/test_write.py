"""Files are written whole or not at all."""

import os
from pathlib import Path

import pytest

from mercer.cli._errors import CommandError
from mercer.cli._write import check_output, replacing


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
