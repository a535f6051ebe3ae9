"""Examples of the help run to their end; what is stopped or finds the disk full leaves nothing behind."""

import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from mercer.cli._app import app

from .conftest import QUICK, make_houses, run_process

pytestmark = pytest.mark.cluster


def _examples(name):
    lines = app.commands[name].epilog.splitlines()
    return [line.strip() for line in lines if line.strip().startswith("mercer ")]


@pytest.mark.parametrize(
    "name",
    [pytest.param("fit", marks=pytest.mark.slow), "predict", "inspect", "certify", "plan",
     pytest.param("bench", marks=pytest.mark.slow)],
)  # fmt: skip
def test_every_example_of_the_help_runs(mercer, trained, tmp_path, name):
    for file in trained.iterdir():
        if name != "fit" or file.suffix == ".csv":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    assert _examples(name)
    for example in _examples(name):
        result = mercer(*shlex.split(example)[1:])
        assert result.exit_code in (0, 1, 3) if name == "certify" else result.exit_code == 0, result.output


@pytest.mark.cluster
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_fit_leaves_nothing_behind(tmp_path, number, code):
    make_houses(3000).to_csv(tmp_path / "houses.csv", index=False)
    command = [sys.executable, "-u", "-m", "mercer", "fit", "houses.csv", "--target", "price", "--report", "r.html"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert "rows" in process.stdout.readline()  # the table is read, and the fit begins
    time.sleep(1.5)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert len(errors.strip().splitlines()) == 1
    assert "nothing was written" in errors
    assert os.listdir(tmp_path) == ["houses.csv"]


def _with_small_files(*arguments, cwd, limit):
    """Run the command where files cannot grow beyond a limit, which is what a full disk is like."""
    code = f"ulimit -f {limit}; exec {sys.executable} -m mercer " + " ".join(map(shlex.quote, arguments))
    return subprocess.run(["bash", "-c", code], cwd=cwd, capture_output=True, text=True, timeout=120)


@pytest.mark.cluster
def test_a_full_disk_leaves_nothing_behind(trained, tmp_path):
    for file in trained.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    before = sorted(os.listdir(tmp_path))
    for arguments in (
        ["fit", "houses.csv", "--target", "price", *QUICK, "-o", "new.mercer", "--report", "new.html"],
        ["predict", "houses.mercer", "houses.csv", "-o", "new.csv"],
    ):
        done = _with_small_files(*arguments, cwd=tmp_path, limit=1)
        assert done.returncode == 4, done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
        assert "the disk is full while writing new." in done.stderr
        assert sorted(os.listdir(tmp_path)) == before


def test_a_full_device_is_one_line(trained):
    done = run_process("predict", "houses.mercer", "houses.csv", "-o", "/dev/full", cwd=trained)
    assert done.returncode == 4
    assert "the disk is full" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert os.path.exists("/dev/full")


def test_a_full_device_behind_standard_output_is_one_line(trained):
    code = f"{sys.executable} -m mercer predict houses.mercer houses.csv > /dev/full"
    done = subprocess.run(["bash", "-c", code], cwd=trained, capture_output=True, text=True)
    assert done.returncode == 4
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.slow
def test_the_demo_runs_as_its_help_says_and_replaces_its_own_files(mercer, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.cli.demo.BUDGET", "2s")
    (tmp_path / "mercer-demo").mkdir()
    (tmp_path / "mercer-demo" / "energy.mercer").write_text("of an earlier run")
    assert len(_examples("demo")) == 2
    for example in _examples("demo"):
        result = mercer(*shlex.split(example)[1:])
        assert result.exit_code == 0, result.stderr
        assert "HistGradientBoosting" in result.stdout
    for folder in ("mercer-demo", "elsewhere"):
        assert sorted(os.listdir(tmp_path / folder)) == ["energy.csv", "energy.html", "energy.mercer"]
    assert mercer("inspect", "mercer-demo/energy.mercer").exit_code == 0
