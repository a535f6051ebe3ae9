"""Every error as one line on stderr and an exit code."""

from __future__ import annotations

import dis
import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

WRONG, TOO_LARGE, UNEXPECTED = 2, 4, 5
INTERRUPTED, TERMINATED, PIPE = 130, 143, 141  # 128 and the number of the signal, as shells have it
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
LONGEST = 600  # characters of a line
TABLES = ("pandas", "pyarrow")  # packages that go together


class CommandError(Exception):
    """Something is wrong, and the message says in one line what to do."""

    def __init__(self, message: str, code: int = WRONG) -> None:
        super().__init__(message)
        self.code = code


class TerminatedError(BaseException):
    """The process was asked to end; like Ctrl-C it passes through ``except Exception``."""


def report(error: BaseException) -> int:
    """Print an error as one line, and return the exit code it stands for."""
    line, code = describe(error)
    if line:
        print(f"mercer: {line}", file=sys.stderr)
    return code


def describe(error: BaseException) -> tuple[str, int]:
    """Return the line and the exit code of an error."""
    if isinstance(error, SystemExit):
        return "", error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, click.exceptions.Exit):
        return "", error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "stopped; nothing was written", INTERRUPTED
    if isinstance(error, TerminatedError):
        return "terminated; nothing was written", TERMINATED
    if isinstance(error, BrokenPipeError):
        with suppress(OSError, ValueError):  # or Python complains, at its end, that what is left cannot be written
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return "", PIPE
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        where = f" (see {context.command_path} --help)" if context is not None else ""
        return f"error: {_join_lines(error.format_message())}{where}", WRONG
    return _describe_failure(error)


def _describe_failure(error: BaseException) -> tuple[str, int]:
    text = _join_lines(str(error)) or type(error).__name__
    if isinstance(error, CommandError):
        return f"error: {text}", error.code
    if isinstance(error, OSError) and error.errno in FULL:
        where = f" while writing {error.filename}" if error.filename else ""
        return f"error: the disk is full{where}; nothing was written ({error.strerror})", TOO_LARGE
    if isinstance(error, OSError) and error.errno is not None:
        where = f"{error.filename}: " if error.filename else ""
        return f"error: {where}{error.strerror}", WRONG
    if isinstance(error, MemoryError):
        return (
            f"error: {text if str(error) else 'not enough memory; give fewer rows, or a budget with --memory'}",
            TOO_LARGE,
        )
    if isinstance(error, ImportError) and error.name and not error.name.startswith("mercer"):
        return f"error: {text if _is_deliberate(error) else _describe_missing(error.name.split('.')[0])}", WRONG
    if isinstance(error, ValueError | TypeError | ArithmeticError | OSError) and str(error) and _is_deliberate(error):
        return f"error: {text}", WRONG
    bug = "this is a bug of mercer: run again with --debug, and report what it shows"
    return f"error: unexpected {type(error).__name__}: {text}; {bug}", UNEXPECTED


def _describe_missing(package: str) -> str:
    """Return what to install where a package is missing."""
    from mercer.needs import name_install

    command = "pip install "
    wanted = (name_install(each).removeprefix(command) for each in (TABLES if package in TABLES else (package,)))
    return f"{package} is missing; {command}{' '.join(wanted)}"


def _is_deliberate(error: BaseException) -> bool:
    """Return whether mercer raised an error itself, with words for people; what happened to it is a bug."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not trace.tb_frame.f_globals.get("__name__", "").startswith("mercer."):
        return False
    return dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"


def _join_lines(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[:LONGEST] + "…"


@contextmanager
def allow_termination() -> Iterator[None]:
    """Let a request to end unwind the stack, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: Any) -> NoReturn:
        raise TerminatedError

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
