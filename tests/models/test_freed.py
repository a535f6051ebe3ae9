"""What a fit needed is freed when it ends, and does not wait for the garbage collector."""

import gc
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone

from mercer.kernels import Gaussian, Polynomial
from mercer.models import (
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelQuantileRegressor,
    KernelRegressor,
    KernelRidge,
    KernelRidgeCV,
)

X = np.random.default_rng(0).normal(size=(200, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
RIDGE = ("spectral", "cholesky", "partial", "cg", "blocks", "nystroem")
MODELS = {
    **{f"ridge by {name}": KernelRidge(0.1, kernel=Gaussian(0.5), solver=name) for name in RIDGE},
    "ridge in features": KernelRidge(0.1, kernel=Polynomial(2, 1.0), solver="primal"),
    "ridge with an intercept by cg": KernelRidge(0.1, kernel=Gaussian(), solver="cg", fit_intercept=True),
    "tuned ridge": KernelRidgeCV(),
    **{name: KernelLogisticRegression(0.1, kernel=Gaussian(), solver=name) for name in ("newton", "newton-cg")},
    "logistic features": KernelLogisticRegression(0.1, kernel=Gaussian(), n_centers=20),
    "a machine": SVC(),
    "regression": SVR(),
    "another loss": KernelRegressor(loss="Huber(1.0)"),
    "quantiles": KernelQuantileRegressor(),
    "components": KernelPCA(2, kernel="rbf"),
    "perceptron": KernelPerceptron(),
}


def count_objects():
    """How many objects of each class there are that may hold arrays of many points."""
    names = (f"{kind.__module__}.{kind.__name__}" for kind in map(type, gc.get_objects()))
    return Counter(name for name in names if name.startswith(OWN))


OWN = ("mercer.solvers", "mercer.linalg", "mercer.gram", "mercer.features", "mercer.expansion", "mercer.learning")


@pytest.mark.parametrize("name", MODELS)
def test_nothing_of_a_fit_waits_for_the_garbage_collector(name):
    model = MODELS[name]
    y = Y > 0 if hasattr(model, "predict_proba") or hasattr(model, "decision_function") else Y
    clone(model).fit(X, y)  # what is kept for good is there
    gc.collect()
    gc.disable()
    try:
        before = count_objects()
        clone(model).fit(X, y)
        assert count_objects() - before == Counter()
    finally:
        gc.enable()
