"""Packages that only some work needs: loaded when it does, or named with the command that installs them."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any


def load_package(module: str, purpose: str) -> Any:
    """Return a module of an optional package, or say in one line what to install.

    Parameters
    ----------
    module : str
        Its whole name, such as ``"matplotlib.pyplot"``.
    purpose : str
        What needs the package: the first words of the message.

    Examples
    --------
    >>> load_package("math", "this example").sqrt(4.0)
    2.0
    >>> load_package("no_such_package", "this example")
    Traceback (most recent call last):
        ...
    ImportError: this example needs no_such_package, which is not installed: pip install "no_such_package"
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:  # it is there, and lacks something itself
            raise
        text = f"{purpose} needs {package}, which is not installed: {name_install(package)}"
        raise ImportError(text, name=package) from None


def name_install(package: str) -> str:
    """Return the command that installs a package, in versions that our own extras allow.

    Never an extra of ours by name: what an index has under our name need not be ours.

    Examples
    --------
    >>> name_install("matplotlib")
    'pip install "matplotlib>=3.9"'
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        wanted = requires("mercer") or []
    except PackageNotFoundError:  # a source tree on the path
        wanted = []
    for requirement in wanted:
        text = requirement.partition(";")[0].strip()
        if re.split(r"[^\w.-]", text)[0] == package:
            return f'pip install "{text}"'
    return f'pip install "{package}"'
