"""Messages about one bad object name the row that it has in what the user gave, whatever a model does with rows."""

import re

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_val_score

import mercer
from mercer.kernels import (
    DTW,
    Edit,
    Gaussian,
    GlobalAlignment,
    Graphlet,
    LocalAlignment,
    MeanEmbedding,
    MinMax,
    Mismatch,
    PairSum,
    PartialTree,
    Signature,
    Spectrum,
    Subsequence,
    SubsetTree,
    Subtree,
    Tanimoto,
    WeisfeilerLehman,
)

ROW = 7
FAMILIES = {
    "strings": (["abab", "baab", "aabb", "abba", "bbaa"] * 2, 3.5, [Spectrum(2), Subsequence(2), Edit()]),
    "letters": (
        ["ACGT", "GATA", "TTAC", "CCAT", "GGTA"] * 2,
        "AXGT",
        [Mismatch(2, 1), Spectrum(2, reverse_complement=True)],
    ),
    "proteins": (["ARND", "CQEG", "HILK", "MFPS", "TWYV"] * 2, "A?", [LocalAlignment()]),
    "trees": (
        ["(S (A x))", "(S (B y))", "(S x)", "(A x)", "(B (A x))"] * 2,
        "(S (A",
        [Subtree(), SubsetTree(), PartialTree()],
    ),
    "graphs": (
        [[[1], [0]], [[1], [0, 2], [1]], [[1, 2], [0], [0]], [[1], [0]], [[1], [0]]] * 2,
        [[9], [0]],
        [WeisfeilerLehman(), Graphlet(3)],
    ),
    "series": (
        [[0.0, 1.0], [1.0, 0.5, 2.0], [0.3, 0.4], [2.0, 1.0], [0.1, 0.7]] * 2,
        [],
        [GlobalAlignment(), Signature(), DTW()],
    ),
    "holes": (
        [[0.0, 1.0], [1.0, 0.5, 2.0], [0.3, 0.4], [2.0, 1.0], [0.1, 0.7]] * 2,
        [1.0, np.nan],
        [GlobalAlignment()],
    ),
    "widths": ([[[0.0, 1.0]], [[1.0, 0.5], [2.0, 0.0]]] * 5, [[1.0]], [GlobalAlignment()]),
    "bags": (
        [[[0.0], [1.0]], [[1.0]], [[0.3], [0.2]], [[2.0]], [[0.1]]] * 2,
        [],
        [MeanEmbedding(Gaussian()), PairSum(Gaussian())],
    ),
    "bags with holes": (
        [[[0.0], [1.0]], [[1.0]], [[0.3], [0.2]], [[2.0]], [[0.1]]] * 2,
        [[np.nan]],
        [MeanEmbedding(Gaussian())],
    ),
    "bits": ([{1, 2}, {2, 3}, {1, 3}, {4}, {1, 4}] * 2, 3.5, [Tanimoto()]),
    "counts": ([{1: 2}, {2: 3}, {1: 3}, {4: 1}, {1: 4}] * 2, {1: -2}, [MinMax()]),
    "fingerprints": ([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1]] * 2, [1, 0, -1], [MinMax()]),
}
CASES = [
    pytest.param(kernel, good, bad, id=f"{family}-{type(kernel).__name__}")
    for family, (good, bad, kernels) in FAMILIES.items()
    for kernel in kernels
]
TARGETS = np.array([0, 1] * 5)
MODELS = {
    "ridge": lambda k: mercer.KernelRidge(kernel=k),
    "ridge search": lambda k: mercer.KernelRidgeCV(kernel=k, cv=3),
    "machine": lambda k: mercer.SVC(kernel=k),
    "machine search": lambda k: mercer.SVCCV(kernel=k, cv=3),
    "logistic": lambda k: mercer.KernelLogisticRegression(kernel=k),
    "neighbours": lambda k: mercer.KernelNeighborsClassifier(2, kernel=k),
    "components": lambda k: mercer.KernelPCA(kernel=k),
}


def place(bad, good, row):
    return [*good[:row], bad, *good[row + 1 :]]


def names_row(message, row):
    return re.search(rf"(object|sequence|bag|row|graph|fingerprint) {row}\b", message) is not None


@pytest.mark.parametrize(("kernel", "good", "bad"), CASES)
def test_the_row_of_a_bad_object_is_named_in_a_fit_and_in_a_prediction(kernel, good, bad):
    X = place(bad, good, ROW)
    proved = kernel.theorem() is not None
    for make in MODELS.values():
        model = make(kernel)
        with pytest.raises((TypeError, ValueError)) as caught:
            model.fit(X, TARGETS)
        assert names_row(str(caught.value), ROW), f"{type(model).__name__}.fit: {caught.value}"
        if not proved:  # and no model takes it
            continue
        model = make(kernel).fit(good, TARGETS)
        with pytest.raises((TypeError, ValueError)) as caught:
            getattr(model, "predict" if hasattr(model, "predict") else "transform")(X)
        assert names_row(str(caught.value), ROW), f"{type(model).__name__}.predict: {caught.value}"
    for k in (kernel, kernel.normalize()):
        with pytest.raises((TypeError, ValueError)) as caught:
            k(good, X)
        assert names_row(str(caught.value), ROW), f"k: {caught.value}"


@pytest.mark.parametrize(("kernel", "good", "bad"), CASES)
def test_cross_validation_by_others_names_a_row_of_what_it_gives(kernel, good, bad):
    X, folds = place(bad, good, ROW), KFold(5, shuffle=True, random_state=0)
    with pytest.raises((TypeError, ValueError)) as caught:
        cross_val_score(mercer.KernelRidge(kernel=kernel, alpha=10.0), X, TARGETS, cv=folds, error_score="raise")
    sides = [side for fold in folds.split(X) for side in fold]  # a fit, and its prediction
    rows = {side.tolist().index(ROW) for side in sides if ROW in side}
    assert any(names_row(str(caught.value), row) for row in rows), str(caught.value)


@pytest.mark.parametrize(
    ("kernel", "objects", "advice"),
    [
        (Spectrum(2) ** 400, ["abababab", "ba"], "shorter strings or words"),
        (SubsetTree() ** 4000, ["(S (A x) (B y))", "(S (A x))"], "smaller objects"),
    ],
    ids=["strings", "trees"],
)
def test_an_overflow_of_objects_gives_advice_about_objects(kernel, objects, advice):
    for compute in (kernel, kernel.diag, kernel.distance, lambda X: mercer.KernelPCA(kernel=kernel).fit(X)):
        with pytest.raises(OverflowError, match=advice) as caught:
            compute(objects)
        assert "Scaler" not in str(caught.value)
