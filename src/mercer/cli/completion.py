"""``mercer completion``: the line that lets a shell complete commands, options and columns."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from ._options import command

VARIABLE = "_MERCER_COMPLETE"  # with which a shell asks
SHELLS = ("bash", "zsh", "fish")


@command(
    "completion",
    "Print the script that completes words in a shell.",
    [
        'mercer completion bash  # eval "$(mercer completion bash)" in ~/.bashrc',
        'mercer completion zsh   # eval "$(mercer completion zsh)" in ~/.zshrc',
        "mercer completion fish  # mercer completion fish | source in ~/.config/fish/config.fish",
    ],
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script with which SHELL completes commands, options, files and the columns of a table."""
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind.source_template % kind(ctx.find_root().command, {}, "mercer", VARIABLE).source_vars()
    click.echo(script)


def complete_columns(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the columns of the table on the line that begin with what was typed; only its first line is read."""
    from .reading.tables import read_names

    given = (ctx.params.get("data"), *ctx.args)  # an option without its value leaves the table among the latter
    table = next((str(item) for item in given if item and Path(item).is_file()), "")
    try:
        names = read_names(table)
    except Exception:  # a shell that asks gets names or none
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
