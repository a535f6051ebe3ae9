"""The group of all commands, and the one place where they are started and end."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from click.shell_completion import shell_complete

from mercer import __version__

from . import _errors
from .bench import bench
from .certify import certify
from .completion import VARIABLE, completion
from .demo import demo
from .fit import fit
from .inspect import inspect
from .plan import plan
from .play import play
from .predict import predict

EPILOG = """\b
Exit codes:
  0    done; for certify: proved
  1    certify: refuted
  2    something given is wrong: an option, a file, a column, an expression
  3    certify: neither proved nor refuted
  4    it does not fit: disk or memory
  5    an error that should not happen, a bug; --debug shows where
  130  stopped by Ctrl-C
  141  nobody reads what is printed, as in mercer predict … | head
  143  stopped by another process

\b
Words are completed in bash, zsh or fish after:
  eval "$(mercer completion bash)"

\b
Start with:
  mercer demo
"""


class Application(click.Group):
    """The commands, with every error turned into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they were added."""
        return list(self.commands)

    def run(self, arguments: Sequence[str] | None = None) -> int:
        """Run a command and return its exit code; no exception leaves, except with ``--debug``."""
        given = list(sys.argv[1:] if arguments is None else arguments)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")  # a terminal that cannot show σ shows ?
        try:
            with _shorten_warnings(), _errors.allow_termination():
                if asked := os.environ.get(VARIABLE):
                    return shell_complete(self, {}, "mercer", VARIABLE, asked)
                with self.make_context("mercer", given) as context:
                    self.invoke(context)
                sys.stdout.flush()
            return 0
        except BaseException as error:
            if "--debug" in given and not isinstance(error, click.ClickException | click.exceptions.Exit):
                raise
            return _errors.report(error)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run and exit, which is how click's test runner starts a command."""
        sys.exit(self.run(extra.get("args", args[0] if args else None)))


@contextmanager
def _shorten_warnings() -> Iterator[None]:
    """Print warnings as one line each, without the line of code they come from."""

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        print(f"mercer: warning: {' '.join(str(message).split())}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@click.group(
    cls=Application, epilog=EPILOG, invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
@click.version_option(__version__, prog_name="mercer", message="%(prog)s %(version)s")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Kernel methods from the command line: fit tables, predict, and prove what is a kernel."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit(_errors.WRONG)


for command in (demo, play, fit, predict, inspect, certify, plan, bench, completion):
    app.add_command(command)
