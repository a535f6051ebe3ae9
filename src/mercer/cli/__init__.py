"""The ``mercer`` command: fit, predict, inspect, certify, plan, bench, demo and completion from a terminal."""

from __future__ import annotations

import os
import sys
import threading
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
        code = app.run(arguments)
    except BaseException as error:  # with --debug
        traceback.print_exception(error)
        code = _errors.describe(error)[1]
    if code == _errors.INTERRUPTED and arguments is None and threading.active_count() > 1:
        # What was interrupted goes on in its thread, and Python would wait for it.  All files are closed by now.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code
