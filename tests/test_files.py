"""Files appear whole or not at all, and what killed processes have left is removed by the next."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mercer
from mercer import files
from mercer.files import TEMPORARY, remove_stale, replacing
from mercer.kernels import Gaussian, Linear

SLOW_SAVE = """
import sys, time
import mercer
from mercer.kernels import Gaussian
from mercer.persist import _container

def write_half(stream, *content):
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    time.sleep(60)

_container.write = write_half
mercer.save(Gaussian(), sys.argv[1], overwrite=True)
"""
SLOW_REPORT = """
import sys, time
from pathlib import Path
import mercer.report
from mercer.cli.fit import save_model
from mercer.kernels import Gaussian

def write_half(model, path, **options):
    path.write_text("half")
    print("writing", flush=True)
    time.sleep(60)

mercer.report.write_report = write_half
save_model(Gaussian(), Path(sys.argv[1]), Path(sys.argv[1]).with_name("report.html"), force=True)
"""


def hidden(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


@pytest.mark.parametrize(("code", "count"), [(SLOW_SAVE, 1), (SLOW_REPORT, 2)], ids=["save", "fit"])
def test_what_a_killed_process_was_writing_is_removed_by_the_next(tmp_path, code, count):
    model = tmp_path / "model.mercer"
    mercer.save(Linear(), model)
    with subprocess.Popen([sys.executable, "-c", code, model], stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout.readline() == b"writing\n"
            assert mercer.load(model) == Linear()
            assert len(hidden(tmp_path)) == count  # which the living process still writes
        finally:
            writer.send_signal(signal.SIGKILL)
            writer.wait()
    left = hidden(tmp_path)
    assert len(left) == count
    assert all(map(TEMPORARY.fullmatch, left))
    saved = len(left) == 1
    if saved:
        mercer.save(Gaussian(), model, overwrite=True)
    assert mercer.load(model) == (Gaussian() if saved else Linear())
    assert hidden(tmp_path) == []


def left_over(folder, machine="0" * 12, process=1, started=1, age=0.0):
    path = folder / f".a-mercer-{machine}-{process}-{started}-0123abcd.csv"
    path.write_text("half")
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.mark.parametrize(
    ("options", "stays"),
    [
        ({"machine": "ours", "process": 2**31 - 1}, False),
        ({"machine": "ours", "process": "this"}, False),  # started at another time: the number is used again
        ({"machine": "ours", "process": 2**31 - 1, "started": 0}, True),  # nobody knows
        ({"machine": "ours", "process": 2**31 - 1, "started": 0, "age": 4000}, False),
        ({}, True),
        ({"age": 3000}, True),
        ({"age": 4000}, False),
        ({"age": -4000}, True),  # a clock that is fast
    ],
    ids=str,
)
def test_a_file_stays_while_its_writer_may_live(tmp_path, options, stays):
    if options.get("machine") == "ours":
        options = options | {"machine": files._name_machine()}
    if options.get("process") == "this":
        options = options | {"process": os.getpid()}
    path = left_over(tmp_path, **options)
    with replacing(tmp_path / "other.csv") as temporary:
        temporary.write_text("whole")
        remove_stale(tmp_path)
        assert temporary.exists()
    assert path.exists() == stays


def test_only_regular_files_of_ours_are_removed(tmp_path, monkeypatch):
    (tmp_path / "goal").write_text("kept")
    link = tmp_path / f".link-mercer-{'0' * 12}-1-1-0123abcd"
    link.symlink_to(tmp_path / "goal")
    os.utime(link, (0, 0), follow_symlinks=False)
    others = [".a-mercer-x", ".a-0123456789abcdef.csv", f"a-mercer-{'0' * 12}-1-1-0123abcd", ".mercer"]
    for name in others:
        (tmp_path / name).write_text("kept")
        os.utime(tmp_path / name, (0, 0))
    remove_stale(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"goal", link.name, *others}
    path = left_over(tmp_path, age=4000)
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    remove_stale(tmp_path)
    assert path.exists()


def test_loading_does_not_depend_on_cleaning(tmp_path, monkeypatch):
    mercer.save(Linear(), tmp_path / "model")
    path = left_over(tmp_path, age=4000)

    def refuse(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr(os, "unlink", refuse)
    assert mercer.load(tmp_path / "model") == Linear()
    monkeypatch.setattr(os, "scandir", refuse)
    assert mercer.load(tmp_path / "model") == Linear()
    assert path.exists()
    with pytest.raises(FileNotFoundError):
        mercer.load(tmp_path / "nowhere" / "model")


@pytest.mark.parametrize("name", ["a" * 200 + ".csv", ".hidden", "plain", "ü" * 100])
def test_names_of_temporary_files_are_known_again_and_not_too_long(tmp_path, name):
    with replacing(Path(tmp_path / name)) as outer:
        with replacing(outer) as inner:
            inner.write_text("whole")
            assert TEMPORARY.fullmatch(inner.name)
            assert inner.suffix == outer.suffix == Path(name).suffix
        assert TEMPORARY.fullmatch(outer.name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
