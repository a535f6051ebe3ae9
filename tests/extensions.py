"""Modules of docs/_ext for tests: the documentation is no package."""

import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).parents[1] / "docs"


def load_extension(name: str) -> ModuleType:
    """Return a module of docs/_ext."""
    path = str(DOCS / "_ext" / f"{name}.py")
    module = sys.modules[name] = ModuleType(name)  # dataclasses look for it there
    module.__file__ = path
    SourceFileLoader(name, path).exec_module(module)
    return module
