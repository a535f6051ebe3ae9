"""Kernel methods: kernels as an algebra with proofs, lazy Gram matrices, expansions, and estimators built on them."""

import ast
import functools
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from . import kernels as kernels
from . import losses as losses
from .arrays.budget import MemoryBudgetError as MemoryBudgetError
from .certify.search import certify as certify
from .expansion import Expansion as Expansion
from .gram import Gram as Gram
from .messages import KERNELS, MODELS, did_you_mean, list_public, missing_name

if TYPE_CHECKING:
    from .auto import AutoClassifier as AutoClassifier
    from .auto import AutoRegressor as AutoRegressor
    from .embeddings import HSICTest as HSICTest
    from .embeddings import MMDTest as MMDTest
    from .models import *  # noqa: F403
    from .persist import ModelFileError as ModelFileError
    from .persist import load as load
    from .persist import save as save
    from .playground import play as play
    from .solvers.plan import plan as plan

__version__ = "0.1.0"
HERE = ["Expansion", "Gram", "MemoryBudgetError", "certify", "kernels", "losses"]
# Estimators need scikit-learn, whose import takes longer than that of everything above together.
LATER = {
    "mercer.auto": ["AutoClassifier", "AutoRegressor"],
    "mercer.embeddings": ["HSICTest", "MMDTest"],
    "mercer.persist": ["ModelFileError", "load", "save"],
    "mercer.playground": ["play"],
    "mercer.solvers": ["plan"],
}


@functools.cache
def _list_models() -> list[str]:
    """Return what ``mercer.models`` offers, as its file says: to read that takes less than to import it."""
    source = cast(Any, find_spec("mercer.models")).loader.get_source("mercer.models")
    if source is None:  # compiled files only
        return list(import_module("mercer.models").__all__)
    imports = [line for line in ast.parse(source).body if isinstance(line, ast.ImportFrom) and line.level]
    return [name.name for line in imports for name in line.names]


if not TYPE_CHECKING:  # for which there is no name that is not above

    def __getattr__(name: str) -> Any:
        if name.startswith("_") and name != "__all__":  # asked by tools, for which nothing is loaded
            raise AttributeError(f"module 'mercer' has no attribute {name!r}")
        later = {known: module for module, names in LATER.items() for known in names}
        later |= dict.fromkeys(_list_models(), "mercer.models")
        if name == "__all__":  # every estimator there is, without a second list of them
            return sorted([*HERE, *later])
        if name in later:
            return getattr(import_module(later[name]), name)
        if name.isidentifier() and find_spec(f"mercer.{name}") is not None:
            return import_module(f"mercer.{name}")
        for folder in (kernels, losses):
            if name in folder.__all__:
                raise missing_name("mercer", name, f": did you mean {folder.__name__}.{name}?")
        hint = did_you_mean(name, [*HERE, *later], MODELS)
        if not hint and (hint := did_you_mean(name, kernels.__all__, KERNELS)):
            hint += f"{'' if hint.endswith('?') else '.'} Kernels are in mercer.kernels"
        raise missing_name("mercer", name, hint or "; dir(mercer) lists what there is")

    def __dir__() -> list[str]:
        return list_public({**globals(), "__all__": __getattr__("__all__")})
