"""Writing the page to a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mercer.files import check_free, replacing

from ._page import render_report


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    *,
    model_path: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> None:
    """Write the report of a fitted automatic model to one HTML file, complete or not at all.

    Parameters
    ----------
    model : AutoRegressor or AutoClassifier
        The fitted model.
    path : str or path
        The file, for example "report.html".
    model_path : str or path, optional
        The file the model was saved to, for the lines that load it.
    overwrite : bool, default=False
        Whether a file that is already there is replaced.

    Raises
    ------
    FileExistsError
        If the file is there and ``overwrite`` is False.
    """
    target = Path(os.path.realpath(path))  # so that a link stays a link
    check_free(target, overwrite)
    page = render_report(model, model_path=model_path).encode()
    with replacing(target, lambda: check_free(target, overwrite)) as temporary:
        temporary.write_bytes(page)
