"""Kernel methods: kernels as an algebra with proofs, lazy Gram matrices, expansions, and estimators built on them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import kernels as kernels
from . import losses as losses
from .arrays.budget import MemoryBudgetError as MemoryBudgetError
from .certify.search import certify as certify
from .expansion import Expansion as Expansion
from .gram import Gram as Gram

if TYPE_CHECKING:
    from .auto import AutoClassifier as AutoClassifier
    from .auto import AutoRegressor as AutoRegressor
    from .models import *  # noqa: F403
    from .persist import ModelFileError as ModelFileError
    from .persist import load as load
    from .persist import save as save
    from .solvers.plan import plan as plan

__version__ = "0.1.0"
HERE = ["Expansion", "Gram", "MemoryBudgetError", "certify", "kernels", "losses"]
# Estimators need scikit-learn, whose import takes longer than that of everything above together.
LATER = {
    "mercer.auto": ["AutoClassifier", "AutoRegressor"],
    "mercer.persist": ["ModelFileError", "load", "save"],
    "mercer.solvers": ["plan"],
}


def __getattr__(name: str) -> Any:
    if name.startswith("_") and name != "__all__":  # asked by tools, for which nothing is loaded
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    for module, names in LATER.items():
        if name in names:
            return getattr(import_module(module), name)
    models = import_module("mercer.models")
    if name == "__all__":  # every estimator there is, without a second list of them
        return sorted([*HERE, *models.__all__, *(known for names in LATER.values() for known in names)])
    if name in models.__all__:
        return getattr(models, name)
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__getattr__("__all__")]
