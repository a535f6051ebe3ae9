"""The command as a person or a script runs it, and a small table of houses."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from mercer.cli._app import app

QUICK = ("--model", "ridge", "--kernel", "Gaussian(2)")  # options with which a fit takes a moment


@pytest.fixture
def mercer(tmp_path, monkeypatch):
    """Run the command in an empty folder, and return what click's runner saw."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments, input=None):  # noqa: A002  (click's word)
        return CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)

    return run


def run_process(*arguments, cwd, env=None, **options):
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "mercer", *map(str, arguments)]
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    everything = {**os.environ, **threads, **(env or {})}
    return subprocess.run(command, cwd=cwd, env=everything, capture_output=True, text=True, timeout=120, **options)


def make_houses(n=90, seed=0):
    rng = np.random.default_rng(seed)
    area, rooms = rng.uniform(40, 200, n).round(1), rng.integers(1, 7, n)
    town = rng.choice(["Aachen", "Bonn", "Celle"], n)
    price = 2.5 * area + 12 * rooms + np.where(town == "Bonn", 60, 0) + rng.normal(0, 5, n)
    frame = pd.DataFrame({"area": area, "rooms": rooms, "town": town, "price": price.round(2)})
    frame.loc[3, "area"] = np.nan
    frame["sold"] = np.where(price + rng.normal(0, 20, n) > np.median(price), "yes", "no")
    return frame


@pytest.fixture
def houses(tmp_path) -> Path:
    path = tmp_path / "houses.csv"
    make_houses().to_csv(path, index=False)
    return path


def one_line(result, code=2):
    """Check that a run failed with one line on stderr and nothing on stdout, and return the line."""
    assert result.exit_code == code, result.output
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("mercer: ")
    assert "Traceback" not in result.output
    return lines[0]


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """A folder with a table, a regression model and a classifier, made by the command."""
    folder = tmp_path_factory.mktemp("trained")
    make_houses().to_csv(folder / "houses.csv", index=False)
    for target, name, kind in (("price", "houses.mercer", "ridge"), ("sold", "sold.mercer", "logistic")):
        arguments = ["fit", str(folder / "houses.csv"), "--target", target, "-o", str(folder / name)]
        result = CliRunner().invoke(app, [*arguments, "--model", kind, "--kernel", "Gaussian(2)"])
        assert result.exit_code == 0, result.output
    return folder
