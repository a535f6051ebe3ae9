"""Files appear complete or not at all."""

import pytest

from mercer.report import render_report, write_report


def without_time(page):
    return page[: page.index("<footer>")]


def test_the_file_is_the_page(regression, tmp_path):
    write_report(regression, tmp_path / "report.html", model_path="m.mercer")
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert without_time(written) == without_time(render_report(regression, model_path="m.mercer"))
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_file_that_is_there_is_kept_unless_told(regression, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="pass overwrite=True"):
        write_report(regression, path)
    assert path.read_text() == "mine"
    write_report(regression, path, overwrite=True)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_report_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        write_report(object(), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_keeps_the_old_file(regression, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mercer.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_report(regression, path, overwrite=True)
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["report.html"]


def test_a_link_stays_a_link(regression, tmp_path):
    (tmp_path / "old.html").write_text("old")
    (tmp_path / "link.html").symlink_to("old.html")
    write_report(regression, tmp_path / "link.html", overwrite=True)
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "old.html").read_text(encoding="utf-8").startswith("<!doctype html>")
