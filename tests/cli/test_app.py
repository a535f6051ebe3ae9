"""The command as a whole: help, exit codes, pipes, terminals, and what happens when something is missing."""

import json
import os
import pty
import re
import subprocess
import sys

import click
import pytest

import mercer
from mercer.cli import _errors, main
from mercer.cli import certify as certify_module
from mercer.cli._app import app

from .conftest import one_line, run_process

COMMANDS = ["demo", "fit", "predict", "inspect", "certify", "plan", "bench", "completion"]
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


TABLES = '"pandas>=2.2" "pyarrow>=17"'


@pytest.mark.parametrize(
    ("package", "arguments", "install"),
    [
        ("pandas", ["fit", "t.csv", "--target", "b"], TABLES),
        ("pyarrow", ["fit", "t.parquet", "--target", "b"], TABLES),
        ("openpyxl", ["fit", "t.xlsx", "--target", "b"], '"openpyxl>=3.1"'),
    ],
)
def test_a_missing_package_is_one_line_that_installs_it(tmp_path, package, arguments, install):
    (tmp_path / arguments[1]).write_text("a,b\n1,2\n")
    code = f"import sys; sys.modules[{package!r}] = None; from mercer.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == f"mercer: error: {package} is missing; pip install {install}\n"


def test_what_reads_no_tables_needs_only_what_the_library_needs(tmp_path):
    code = (
        "import sys\nfor name in ('pandas', 'pyarrow', 'openpyxl', 'matplotlib'): sys.modules[name] = None\n"
        "from mercer.cli import main\n"
        "codes = [main(a) for a in (['--help'], ['--version'], ['certify', 'gaussian'], ['plan', '--n', '10'])]\n"
        "print(codes, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == "[0, 0, 0, 0]\n"


def test_help_is_quick_because_nothing_heavy_is_loaded(tmp_path):
    code = (
        "import sys\nfrom mercer.cli import main\nmain(['--help'])\nmain(['fit', '--help'])\n"
        "print([n for n in ('pandas', 'sklearn.linear_model', 'rich.table', 'matplotlib', 'mercer.auto') "
        "if n in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


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


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    command = f"{sys.executable} -m mercer certify gaussian --json | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""


def test_commands_are_those_of_the_application():
    assert list(app.commands) == COMMANDS
