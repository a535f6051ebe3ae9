"""Writing the page to a file."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

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
    _check_free(target, overwrite)
    page = render_report(model, model_path=model_path).encode()
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as stream:
            stream.write(page)
            stream.flush()
            os.fsync(stream.fileno())  # a full disk shows now, not after the rename
        _check_free(target, overwrite)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _check_free(target: Path, overwrite: bool) -> None:
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} is there already; pass overwrite=True to replace it")
