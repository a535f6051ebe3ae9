"""Kernel methods: kernels as an algebra with proofs, lazy Gram matrices, expansions, and estimators built on them."""

from typing import TYPE_CHECKING, Any

from . import kernels
from .certify.search import certify
from .expansion import Expansion
from .gram import Gram, MemoryBudgetError

if TYPE_CHECKING:
    from .auto import AutoClassifier, AutoRegressor
    from .models import (
        SVC,
        SVCCV,
        SVR,
        SVRCV,
        ImportVectorMachine,
        KernelLogisticRegression,
        KernelLogisticRegressionCV,
        KernelNeighborsClassifier,
        KernelNeighborsRegressor,
        KernelPCA,
        KernelPerceptron,
        KernelRidge,
        KernelRidgeClassifier,
        KernelRidgeCV,
        NuSVC,
        NuSVR,
        OneClassSVM,
        ParzenClassifier,
        ParzenDensity,
        ParzenRegressor,
    )
    from .persist import ModelFileError, load, save
    from .solvers.plan import plan

__version__ = "0.1.0"
__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "AutoClassifier",
    "AutoRegressor",
    "Expansion",
    "Gram",
    "ImportVectorMachine",
    "KernelLogisticRegression",
    "KernelLogisticRegressionCV",
    "KernelNeighborsClassifier",
    "KernelNeighborsRegressor",
    "KernelPCA",
    "KernelPerceptron",
    "KernelRidge",
    "KernelRidgeCV",
    "KernelRidgeClassifier",
    "MemoryBudgetError",
    "ModelFileError",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "ParzenClassifier",
    "ParzenDensity",
    "ParzenRegressor",
    "certify",
    "kernels",
    "load",
    "plan",
    "save",
]
_HOMES = {
    "AutoClassifier": "mercer.auto",
    "AutoRegressor": "mercer.auto",
    "ModelFileError": "mercer.persist",
    "load": "mercer.persist",
    "plan": "mercer.solvers",
    "save": "mercer.persist",
}


# Estimators need scikit-learn, whose import takes longer than that of everything above together.
def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "mercer.models")), name)
