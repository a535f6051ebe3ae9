"""``mercer play``: the playground in the browser."""

from __future__ import annotations

import click

from . import _show
from ._errors import CommandError
from ._options import command


@command(
    "play",
    "Draw points and see what kernels learn, in the browser.",
    ["mercer play", 'mercer play "http://127.0.0.1:41873/…/#state=…"  # what a page gave out by Copy link'],
)
@click.argument("link", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen; a free port if not given.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def play(link: str | None, port: int, no_browser: bool) -> None:
    """Serve the playground on this machine until Ctrl-C, and open it in the browser.

    LINK restores what a page showed, from whichever machine.  The address holds a token, and nobody without it is
    answered; nothing is loaded from elsewhere.
    """
    from mercer.playground import play as start
    from mercer.playground.state import PlayError

    try:
        playground = start(link, port=port, open_browser=False)
    except (PlayError, OSError) as error:
        raise CommandError(str(error)) from None
    try:
        _show.line(f"The playground is at\n  {playground.address}\nCtrl-C stops it.")
        if not no_browser and not playground.open():
            _show.line("No browser could be opened here: open the address in one on this machine.")
        playground.wait()
    except KeyboardInterrupt:  # the way to end it, and no failure
        pass
    finally:
        playground.stop()
