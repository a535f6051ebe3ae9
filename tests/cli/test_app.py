"""The command as a whole: help, exit codes, pipes, terminals, and what happens when something is missing."""

import json
import os
import pty
import re
import subprocess
import sys
from unittest import mock

import click
import pytest
from click.testing import CliRunner

import mercer
from mercer.cli import _errors, main
from mercer.cli import certify as certify_module
from mercer.cli._app import app
from mercer.needs import name_install

from .conftest import make_houses, one_line, run_process

COMMANDS = ["demo", "play", "fit", "predict", "inspect", "certify", "plan", "bench", "completion"]
ESCAPE = "\x1b"


def test_help_lists_every_command(mercer):
    out = mercer("--help").stdout
    found = re.search(r"Commands:\n(.*?)\n\n", out, re.DOTALL)
    assert [line.split()[0] for line in found[1].splitlines()] == COMMANDS
    assert "..." not in found[1]  # no summary is cut
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(mercer, name):
    out = mercer(name, "--help").stdout
    assert f"  mercer {name}" in out.split("Examples:")[1]
    assert "--debug" in out
    assert mercer(name, "-h").stdout == out


def test_the_version_is_the_one_of_the_library(mercer):
    assert mercer("--version").stdout == f"mercer {sys.modules['mercer'].__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["fti"], "fti"), (["--nonsense"], "--nonsense"), (["certify", "--nonsense"], "--nonsense")],
)
def test_unknown_words_are_one_line(mercer, arguments, says):
    line = one_line(mercer(*arguments))
    assert says in line
    assert "--help" in line


def test_without_a_command_there_is_help(mercer):
    result = mercer()
    assert result.exit_code == 2
    assert result.stdout == mercer("--help").stdout
    assert result.stderr == ""


def test_python_m_mercer_is_the_command(tmp_path):
    done = run_process("certify", "gaussian", "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["verdict"] == "proved"
    assert run_process("certify", "-1*gaussian", cwd=tmp_path).returncode == 1


def test_main_returns_the_exit_code(capsys):
    assert main(["certify", "exp(-norm(x-z))"]) == 3
    assert main(["certify", "Gausian"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


TABLES = 'pip install "pandas>=2.2" "pyarrow>=17"'


@pytest.mark.parametrize(
    ("package", "name", "install"),
    [("pandas", "t.csv", TABLES), ("pyarrow", "t.parquet", TABLES), ("openpyxl", "t.xlsx", name_install("openpyxl"))],
)
def test_a_missing_package_is_one_line_that_installs_it(mercer, tmp_path, monkeypatch, package, name, install):
    (tmp_path / name).write_text("a,b\n1,2\n")
    monkeypatch.setitem(sys.modules, package, None)
    line = one_line(mercer("fit", name, "--target", "b"))
    assert line == f"mercer: error: {package} is missing; {install}"


def test_help_is_quick_because_nothing_heavy_is_loaded_and_what_reads_no_tables_needs_none():
    code = (
        "import sys\nfrom mercer.cli import main\nmain(['--help'])\nmain(['fit', '--help'])\n"
        "print([n for n in ('pandas', 'sklearn.linear_model', 'rich.table', 'matplotlib', 'mercer.auto') "
        "if n in sys.modules], file=sys.stderr)\n"
        "for name in ('pandas', 'pyarrow', 'openpyxl', 'matplotlib'): sys.modules[name] = None\n"
        "given = (['--help'], ['--version'], ['certify', 'gaussian'], ['plan', '--n', '10'], ['completion', 'zsh'])\n"
        "print([main(arguments) for arguments in given], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n[0, 0, 0, 0, 0]\n"


# -- errors -----------------------------------------------------------------------------------------------------------


def _failing(monkeypatch, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(certify_module, "_decide", fail)


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (KeyError("secret"), 5, "unexpected KeyError: 'secret'; this is a bug of mercer: run again with --debug"),
        (AssertionError(), 5, "unexpected AssertionError"),
        (
            ValueError("two\nlines"),
            5,
            "unexpected ValueError: two lines; this is a bug of mercer",
        ),
        (_errors.CommandError("two\nlines"), 2, "two lines"),
        (MemoryError(), 4, "not enough memory"),
        (mercer.MemoryBudgetError("needs 3 GB"), 4, "needs 3 GB"),
        (OSError(28, "No space left on device", "out.csv"), 4, "the disk is full while writing out.csv"),
        (PermissionError(13, "Permission denied", "in.csv"), 2, "in.csv: Permission denied"),
        (KeyboardInterrupt(), 130, "stopped; nothing was written"),
        (click.Abort(), 130, "stopped"),
        (_errors.CommandError("x" * 5000), 2, "x…"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_every_error_is_one_line_and_a_code(mercer, monkeypatch, error, code, says):
    _failing(monkeypatch, error)
    assert says in one_line(mercer("certify", "gaussian"), code=code)


FAULTS = [
    ValueError("x"), TypeError("row 1 is odd"), KeyError("x"), IndexError("x"), AttributeError("x"), RuntimeError("x"),
    ZeroDivisionError("x"), OverflowError("x"), RecursionError("x"), NotImplementedError("x"), StopIteration("x"),
    UnicodeError("x"), OSError("x"), ImportError("x"), AssertionError("x"), UserWarning("x"), Exception("x"),
]  # fmt: skip
INSIDE = {
    "fit": ("mercer.auto.base.hold_out", ["houses.csv", "--target", "price"]),
    "predict": ("mercer.auto.regressor.AutoRegressor.predict", ["houses.mercer", "houses.csv"]),
    "inspect": ("mercer.cli.files.model._count_vectors", ["houses.mercer"]),
    "certify": ("mercer.cli.certify._decide", ["gaussian"]),
    "plan": ("mercer.cli.plan._compare_solvers", ["--n", "10"]),
    "bench": ("mercer.cli.bench._run", ["--json"]),
    "demo": ("mercer.datasets.load_energy", []),
    "completion": ("mercer.cli.completion.get_completion_class", ["bash"]),
}


@pytest.mark.parametrize("name", INSIDE)
def test_a_bug_inside_a_command_is_never_taken_for_something_given(mercer, trained, tmp_path, monkeypatch, name):
    for file in trained.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "mercer-demo").mkdir()
    before = sorted(os.listdir(tmp_path))
    place, arguments = INSIDE[name]
    for fault in FAULTS:
        monkeypatch.setattr(place, mock.Mock(side_effect=fault))
        line = one_line(mercer(name, *arguments, *(["-o", "m.mercer"] if name == "fit" else [])), code=5)
        assert f"unexpected {type(fault).__name__}" in line
        assert "this is a bug of mercer: run again with --debug, and report what it shows" in line
    assert sorted(os.listdir(tmp_path)) == before


def test_debug_shows_where_a_bug_is_and_keeps_its_code(monkeypatch, capsys):
    _failing(monkeypatch, KeyError("secret"))
    assert main(["certify", "gaussian", "--debug"]) == 5
    assert "Traceback" in capsys.readouterr().err


def test_debug_shows_where_an_error_comes_from(mercer, monkeypatch):
    _failing(monkeypatch, KeyError("secret"))
    assert isinstance(mercer("certify", "gaussian", "--debug").exception, KeyError)
    assert one_line(mercer("certify", "--debug", "--nonsense"))


def test_warnings_are_one_line_each(tmp_path):
    code = (
        "import sys, warnings\nimport mercer.cli.certify as c\nfrom mercer.cli import main\nbefore = c._decide\n"
        "def decide(*a):\n    warnings.warn('two\\nlines')\n    return before(*a)\n"
        "c._decide = decide\nmain(['certify', 'gaussian'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "mercer: warning: two lines\n"


# -- pipes and terminals ----------------------------------------------------------------------------------------------


def _in_terminal(*arguments, env=None):
    """Run the command in a pseudo-terminal of 80 columns, and return all that it printed there."""
    leader, follower = pty.openpty()
    everything = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **(env or {})}
    process = subprocess.Popen(
        [sys.executable, "-m", "mercer", *arguments], stdout=follower, stderr=follower, stdin=follower, env=everything
    )
    os.close(follower)
    printed = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        printed += piece
    process.wait()
    os.close(leader)
    return printed.decode()


def test_pipes_get_no_control_codes(tmp_path):
    for arguments in (["certify", "gaussian"], ["plan", "--n", "1000"], ["--help"]):
        done = run_process(*arguments, cwd=tmp_path)
        assert ESCAPE not in done.stdout + done.stderr
        assert not any(line.endswith(" ") for line in done.stdout.splitlines())


def test_terminals_get_colours_unless_they_are_not_wanted():
    assert f"{ESCAPE}[1;32mProved" in _in_terminal("certify", "gaussian")
    plain = _in_terminal("certify", "gaussian", env={"NO_COLOR": "1"})
    assert not re.search(ESCAPE + r"\[[0-9;]*3[0-9]m", plain)


def test_a_terminal_without_unicode_still_gets_an_answer(tmp_path):
    done = run_process("certify", "gaussian", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 0
    assert "Proved" in done.stdout


def test_a_reader_that_goes_away_is_no_error(trained):
    command = f"{sys.executable} -m mercer predict houses.mercer houses.csv | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=trained)
    assert done.stderr == ""
    assert done.stdout == "141\n"


@pytest.mark.parametrize(
    "arguments",
    ["certify gaussian", "certify gaussian --json", "--help", "fit --help", "plan --n 10", "inspect houses.mercer",
     "completion zsh"],
)  # fmt: skip
def test_every_command_ends_quietly_when_nobody_reads(trained, monkeypatch, capfd, arguments):
    monkeypatch.chdir(trained)
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as pipe:
        monkeypatch.setattr("sys.stdout", pipe)
        assert main(arguments.split()) == 141
        monkeypatch.undo()
    assert capfd.readouterr() == ("", "")


# -- completion -------------------------------------------------------------------------------------------------------


def _complete(words, cwd, monkeypatch):
    """Return what click offers for the last of some words, as a shell asks for it."""
    monkeypatch.chdir(cwd)
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    monkeypatch.setenv("_MERCER_COMPLETE", "bash_complete")
    runner = CliRunner().invoke(app, [])
    assert runner.exit_code == 0
    return [line.split(",")[1] for line in runner.stdout.splitlines() if line]


def test_shells_complete_commands_options_and_columns(houses, monkeypatch):
    assert _complete("mercer in", houses.parent, monkeypatch) == ["inspect"]
    assert "--target" in _complete("mercer fit houses.csv --ta", houses.parent, monkeypatch)
    assert _complete("mercer fit houses.csv --target ", houses.parent, monkeypatch) == list(make_houses().columns)
    assert _complete("mercer fit houses.csv --target pr", houses.parent, monkeypatch) == ["price"]
    assert _complete("mercer fit nothing.csv --target ", houses.parent, monkeypatch) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_of_completion_ask_this_command(mercer, shell):
    out = mercer("completion", shell).stdout
    assert f"_MERCER_COMPLETE={shell}_complete" in out
    assert 'eval "$(mercer completion bash)"' in mercer("--help").stdout


def test_commands_are_those_of_the_application():
    assert list(app.commands) == COMMANDS
