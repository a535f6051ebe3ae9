"""Every learner takes strings, trees and graphs for points, in a pipeline and in cross-validation."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer import (
    SVC,
    ImportVectorMachine,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelPCA,
    KernelPerceptron,
    KernelRidgeClassifier,
    ParzenClassifier,
)
from mercer.kernels import Graph, Spectrum, SubsetTree, WeisfeilerLehman


def strings():
    rng = np.random.default_rng(0)
    return ["".join(rng.choice(list("ab" if i % 2 else "bc"), size=8 + i % 3)) for i in range(24)]


def trees():
    leaves = [("x", "y"), ("y", "z")]
    return [("S", ("A" if i % 2 else "B", leaves[i % 2][i % 3 % 2]), *("z",) * (i % 4)) for i in range(24)]


def graphs():
    ring = [[1, 3], [0, 2], [1, 3], [2, 0]]
    path = [[1], [0, 2], [1, 3], [2]]
    return [Graph(ring if i % 2 else path, ("C" * 3 + "CON"[i % 3])) for i in range(24)]


OBJECTS = {
    "strings": (strings, Spectrum(2).normalize()),
    "trees": (trees, SubsetTree().normalize()),
    "graphs": (graphs, WeisfeilerLehman(2).normalize()),
}
LEARNERS = {
    "svc": lambda k: SVC(kernel=k),
    "ridge": lambda k: KernelRidgeClassifier(kernel=k),
    "logistic": lambda k: KernelLogisticRegression(0.1, kernel=k),
    "import vectors": lambda k: ImportVectorMachine(0.1, kernel=k),
    "perceptron": lambda k: KernelPerceptron(kernel=k),
    "neighbours": lambda k: KernelNeighborsClassifier(kernel=k),
    "parzen": lambda k: ParzenClassifier(kernel=k),
    "pca": lambda k: make_pipeline(KernelPCA(4, kernel=k), LogisticRegression()),
}


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_are_learnt_in_a_pipeline_and_in_folds(kind, learner):
    make, kernel = OBJECTS[kind]
    X = np.empty(24, dtype=object)  # cross-validation picks positions
    X[:] = make()
    y = np.where(np.arange(24) % 2, "odd", "even")
    model = make_pipeline(FunctionTransformer(list), LEARNERS[learner](kernel))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.8
    assert model.fit(X, y).predict(X[:4]).shape == (4,)
