"""The ``mercer`` command: fit, predict, inspect, certify, plan, bench, demo and completion from a terminal."""

from __future__ import annotations

import traceback
from collections.abc import Sequence


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
    from . import _errors
    from ._app import app

    try:
        return app.run(arguments)
    except BaseException as error:  # with --debug
        traceback.print_exception(error)
        return _errors.describe(error)[1]
