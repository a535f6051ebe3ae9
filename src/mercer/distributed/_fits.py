"""Which function fits which estimator to rows in partitions."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from mercer import models
from mercer.models import (
    SVC,
    SVR,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    NuSVC,
    NuSVR,
    OneClassSVM,
)

from ._cluster import Cluster
from .ridge import fit_ridge
from .ridge_classifier import fit_ridge_classifier
from .ridge_cv import fit_ridge_cv
from .svm import fit_svm


@singledispatch
def fit_model(model: Any, cluster: Cluster, X: Any, y: Any = None, sample_weight: Any = None) -> None:
    """Fit an estimator, and set the attributes that its own fit sets."""
    fitting_themselves = {name for name in models.__all__ if hasattr(getattr(models, name), "_fit_cluster")}
    known = sorted(fitting_themselves | {kind.__name__ for kind in fit_model.registry if kind is not object})
    raise TypeError(
        f"{type(model).__name__} cannot be fitted to Dask collections; those that can are {', '.join(known)}. Give it "
        "X.compute() if that fits into memory"
    )


fit_model.register(KernelRidge, fit_ridge)
fit_model.register(KernelRidgeCV, fit_ridge_cv)
fit_model.register(KernelRidgeClassifier, fit_ridge_classifier)
for machine in (SVC, SVR, NuSVC, NuSVR, OneClassSVM):
    fit_model.register(machine, fit_svm)
