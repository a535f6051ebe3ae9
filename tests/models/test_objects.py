"""Every learner takes strings, trees and graphs for points, in a pipeline and in cross-validation."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import mercer
from mercer import (
    SVC,
    ImportVectorMachine,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelPCA,
    KernelPerceptron,
    KernelRidgeClassifier,
    ParzenClassifier,
    models,
)
from mercer.kernels import Gaussian, Graph, Overlap, ShortestPath, Spectrum, SubsetTree, WeisfeilerLehman


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


# -- objects that are refused -----------------------------------------------------------------------------------------

ALL = [
    models.SVC(), models.NuSVC(nu=0.2), models.SVR(), models.NuSVR(), models.OneClassSVM(),
    models.SVCCV([1.0], cv=3), models.SVRCV([1.0], cv=3),
    models.KernelLogisticRegression(), models.KernelLogisticRegression(n_centers=5, random_state=0),
    models.KernelLogisticRegressionCV([0.1, 1.0], cv=3), models.ImportVectorMachine(),
    models.KernelRidge(0.1), models.KernelRidge(0.1, n_centers=5, random_state=0), models.KernelRidgeCV(cv=3),
    models.KernelRidgeClassifier(), models.KernelPerceptron(), models.KernelNeighborsClassifier(3),
    models.KernelNeighborsRegressor(3), models.KernelPCA(2), models.ParzenClassifier(), models.ParzenRegressor(),
    models.ParzenDensity(),
]  # fmt: skip
WORDS = ["abab", "bbaa", "aaab", "babb"] * 10
LENGTH = Gaussian().after(lambda word: [float(len(word))])
BAD = {
    "strings": (Spectrum(3), WORDS, None),
    "graphs": (ShortestPath(), [Graph([[1], [0]])] * 40, object()),
    "columns": (Gaussian().on([0]) + Overlap().on([1]), [[1.0, "a"], [2.0, "b"]] * 20, [np.nan, "a"]),
    "functions": (LENGTH, WORDS, None),
    "numbers": (Gaussian(), [[1.0, 2.0], [3.0, 4.0]] * 20, [np.nan, 0.0]),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("place", [0, 33])
@pytest.mark.parametrize("kind", BAD)
def test_what_is_wrong_is_said_of_the_row_that_the_caller_gave(kind, place, weighted):
    kernel, good, bad = BAD[kind]
    X, y = [*good[:place], bad, *good[place + 1 :]], np.repeat([1, 0], [20, 20])  # the first half is sorted behind
    weights = np.where((np.arange(40) % 4 == 1) & (np.arange(40) != place), 0.0, 1.0)
    for model in ALL:
        takes = "sample_weight" in inspect.signature(model.fit).parameters
        if weighted and not takes:
            continue
        options = {"sample_weight": weights} if weighted else {}
        if kind == "functions" and type(model).__name__.startswith(("KernelNeighbors", "Parzen")) and place:
            continue  # which call a function when a prediction needs it
        with pytest.raises((TypeError, ValueError), match=rf"\b(object|row) {place}\b"):
            clone(model).set_params(kernel=kernel).fit(X, y, **options)


@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelRidge(kernel=Gaussian()), mercer.KernelRidge(), mercer.KernelRidgeCV(), mercer.SVC(), mercer.SVR(),
        mercer.KernelLogisticRegression(), mercer.KernelNeighborsClassifier(), mercer.KernelPCA(),
        mercer.AutoRegressor(), mercer.AutoClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_masked_entries_are_refused_by_every_estimator(model):
    X = np.ma.masked_array(np.arange(40.0).reshape(20, 2), mask=np.arange(40).reshape(20, 2) == 7)
    with pytest.raises(ValueError, match=r"masked; fill them with X\.filled"):
        model.fit(X, np.arange(20) % 2)
