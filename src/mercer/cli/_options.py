"""Options that several commands share, and the types of their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from mercer.words import parse_seconds

from ._errors import CommandError


def count(value: Any) -> int:
    """Return a whole number from 1 up, which may be written 1e6 or 1_000_000.

    Examples
    --------
    >>> from mercer.cli._options import count
    >>> count("1e6"), count("5_000")
    (1000000, 5000)
    """
    try:
        number = float(value)
        if number < 1 or number != int(number):
            raise ValueError
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{value!r} is not a whole number from 1 up, such as 5000 or 1e6") from None
    return int(number)


def memory(value: Any) -> str:
    """Return an amount of memory such as 4GB as it is, if it is one."""
    from mercer.arrays.budget import parse_memory

    try:
        if parse_memory(value) < 1:
            raise ValueError
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{value!r} is not an amount of memory such as 4GB or 500MB") from None
    return str(value)


def share(value: Any) -> float:
    """Return a number between 0 and 1, both left out."""
    try:
        number = float(value)
        if not 0 < number < 1:
            raise ValueError
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a number between 0 and 1, such as 0.2") from None
    return number


def share_or_none(value: Any) -> float:
    """Return a number between 0 and 1, or 0 itself."""
    return 0.0 if str(value).strip() in ("0", "0.0") else share(value)


def duration(value: Any) -> str:
    """Return a time such as 90s, 5m or 1h as it is, if it is one; a number alone is in seconds."""
    try:
        parse_seconds(str(value))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a time such as 90s, 5m or 1h") from None
    return str(value)


class SignedCommand(click.Command):
    """A command whose argument may begin with a minus sign, as ``-dot(x, z)`` does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move such arguments to the end, where no option is expected."""
        signed = [item for item in args if len(item) > 2 and item[0] == "-" != item[1]]
        if signed and "--" not in args:
            args = [item for item in args if item not in signed] + ["--", *signed]
        return super().parse_args(ctx, args)


def command(
    name: str, summary: str, examples: Sequence[str], kind: type[click.Command] = click.Command
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function a command with a summary, whose help ends with examples, and which takes ``--debug``."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        epilog = "\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples)
        debug = click.option("--debug", is_flag=True, expose_value=False, help="Show where an error comes from.")
        settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
        return click.command(name, kind, short_help=summary, epilog=epilog, context_settings=settings)(debug(function))

    return decorate


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for other programs.")(function)


def parsed_kernel(text: str) -> Any:
    """Return the kernel of an expression, or raise an error that shows the way from functions to kernels."""
    from mercer.kernels.functions import PointFunction, parse_expression

    found = parse_expression(text)
    if isinstance(found, PointFunction):
        raise CommandError(f'"{text}" is a function of x and z; a kernel is needed, such as 2*Gaussian(1) + Linear()')
    return found
