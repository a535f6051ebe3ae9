"""The ``mercer`` command: fit, predict, inspect, certify, plan, bench and demo from a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

NEEDED = ("click", "rich")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows ``mercer`` on the command line; that of the process by default.

    Examples
    --------
    >>> from mercer.cli import main
    >>> main(["certify", "Gaussian(2) + Linear()", "--json"])  # doctest: +ELLIPSIS
    {
      "expression": "Gaussian(2) + Linear()",
    ...
    }
    0
    """
    try:
        from ._app import app
    except ImportError as error:
        if error.name not in NEEDED:
            raise
        print(f'mercer: error: {error.name} is missing; pip install "mercer[command]"', file=sys.stderr)
        return 2
    return app.run(arguments)
