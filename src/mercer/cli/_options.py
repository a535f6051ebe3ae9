"""Options that several commands share, and the types of their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from mercer.words import parse_seconds

from ._errors import CommandError

if TYPE_CHECKING:
    from mercer.kernels import Kernel
    from mercer.losses import Loss


MOST = 1e18  # that can be counted


def _parse(value: str, read: Callable[[str], float], is_right: Callable[[float], bool], words: str) -> float:
    try:
        found = read(value)
        if not is_right(found):
            raise ValueError
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{value!r} is not {words}") from None
    return found


def parse_count(value: str) -> int:
    """Return a whole number from 1 up, which may be written 1e6 or 1_000_000.

    Examples
    --------
    >>> parse_count("1e6"), parse_count("5_000")
    (1000000, 5000)
    """
    words = "a whole number from 1 up, such as 5000 or 1e6"
    return int(_parse(value, float, lambda number: 1 <= number <= MOST and number == int(number), words))


def parse_share(value: str) -> float:
    """Return a number between 0 and 1, both left out."""
    return _parse(value, float, lambda number: 0 < number < 1, "a number between 0 and 1, such as 0.2")


def parse_share_or_none(value: str) -> float:
    """Return a number between 0 and 1, or 0 itself."""
    return 0.0 if str(value).strip() in ("0", "0.0") else parse_share(value)


def check_memory(value: str) -> str:
    """Return an amount of memory such as 4GB as it is, if it is one."""
    from mercer.arrays.budget import parse_memory

    _parse(value, parse_memory, lambda size: size >= 1, "an amount of memory such as 4GB or 500MB")
    return value


def check_duration(value: str) -> str:
    """Return a time such as 90s, 5m or 1h as it is, if it is one; a number alone is in seconds."""
    _parse(value, parse_seconds, lambda seconds: True, "a time such as 90s, 5m or 1h")
    return value


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


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for other programs.")
MEMORY = "Memory budget such as 4GB; 60 % of what is free if not given."
memory_option = click.option("--memory", type=check_memory, metavar="AMOUNT", help=MEMORY)


def count_option(name: str, words: str, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add an option that takes a whole number from 1 up."""
    shown = "default" in more
    return click.option(name, type=parse_count, metavar="NUMBER", show_default=shown, help=words, **more)


def parse_kernel_text(text: str) -> Kernel:
    """Return the kernel of an expression, or raise an error that shows the way from functions to kernels."""
    from mercer.kernels.functions import PointFunction, parse_expression

    found = parse_expression(text)
    if isinstance(found, PointFunction):
        raise CommandError(f'"{text}" is a function of x and z; a kernel is needed, such as 2*Gaussian(1) + Linear()')
    return found


def parse_loss_text(text: str) -> Loss:
    """Return the loss of a text such as ``Quantile(0.9)``."""
    from mercer.losses import parse_loss

    return parse_loss(text)
