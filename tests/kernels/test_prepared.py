"""Missing objects of every kind as objects of their own, by one mechanism."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import mercer
from mercer.certify.verdict import Proved
from mercer.kernels import (
    DTW,
    Gaussian,
    GlobalAlignment,
    Graph,
    GraphHopper,
    Graphlet,
    HashedWeisfeilerLehman,
    Linear,
    MeanEmbedding,
    PairSum,
    PartialTree,
    Propagation,
    RandomWalk,
    ShortestPath,
    ShortestPathLengths,
    Signature,
    SoftDTW,
    SubsetTree,
    Subtree,
    TruncatedSignature,
    WeisfeilerLehman,
    WeisfeilerLehmanAssignment,
)
from mercer.kernels.functions import parse_expression
from mercer.kernels.prepared import StructuredKernel

TREES = ["(S (NP we) (VP saw))", "(S (NP we) (VP (V slept)))", "(NP we)", "(S (VP saw))"]
SERIES = [[0.0, 1.0, 0.5], [1.0, 0.0], [0.2, 0.4, 0.1, 0.9], [1.0, 1.0]]
BAGS = [[[0.0], [2.0]], [[1.0]], [[0.5], [0.1], [3.0]], [[2.0]]]
GRAPHS = [
    Graph([[1], [0, 2], [1]], labels="aba", attributes=[[0.0], [1.0], [0.5]]),
    Graph([[1], [0]], labels="ab", attributes=[[1.0], [0.0]]),
    Graph([[1, 2], [0, 2], [0, 1]], labels="aab", attributes=[[0.0], [1.0], [2.0]]),
    Graph([[1], [0, 2], [1, 3], [2]], labels="abba", attributes=[[0.0], [1.0], [0.0], [1.0]]),
]
EVERY = [
    (SubsetTree(), TREES), (PartialTree(), TREES), (Subtree(), TREES),
    (WeisfeilerLehman(2), GRAPHS), (WeisfeilerLehmanAssignment(2), GRAPHS), (ShortestPath(), GRAPHS),
    (ShortestPathLengths(), GRAPHS), (RandomWalk(0.05), GRAPHS), (Graphlet(3), GRAPHS), (Propagation(), GRAPHS),
    (HashedWeisfeilerLehman(), GRAPHS), (GraphHopper(), GRAPHS),
    (GlobalAlignment(), SERIES), (Signature(), SERIES), (TruncatedSignature(2), SERIES), (DTW(), SERIES),
    (SoftDTW(), SERIES),
    (PairSum(Linear()), BAGS), (MeanEmbedding(Gaussian()), BAGS),
]  # fmt: skip
each = pytest.mark.parametrize(("kernel", "objects"), EVERY, ids=lambda value: type(value).__name__)
AWAY = [2, 5]  # rows of the missing objects


def punch(objects, nothing=None):
    return [*objects[:2], nothing, *objects[2:], nothing]


def test_every_kernel_on_objects_with_parts_is_looked_at():
    def list_below(kind):
        return {kind, *(each for below in kind.__subclasses__() for each in list_below(below))}

    public = {kind for kind in list_below(StructuredKernel) if hasattr(mercer.kernels, kind.__name__)}
    assert public == {type(kernel) for kernel, _ in EVERY}


@each
def test_missing_objects_are_like_themselves_and_like_no_other(kernel, objects):
    own = kernel.with_params(missing="own")
    for k, whole in ((own, kernel), (own.normalize(), kernel.normalize())):
        there, values = [0, 1, 3, 4], whole(objects)
        expected = np.zeros((6, 6))
        expected[np.ix_(there, there)] = values
        expected[np.ix_(AWAY, AWAY)] = 1.0
        for nothing in (None, math.nan):
            mixed = punch(objects, nothing)
            np.testing.assert_allclose(k(mixed), expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(k.diag(mixed), np.diag(expected), rtol=1e-12)
        np.testing.assert_allclose(k([None, objects[3]], mixed), expected[[2, 4]], rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(k([None, None], objects), np.zeros((2, 4)))
        np.testing.assert_array_equal(k([None], [None, None]), [[1.0, 1.0]])
        gram = mercer.Gram(k, mixed)
        np.testing.assert_allclose(gram.rows([5, 0]), expected[[5, 0]], rtol=1e-12, atol=1e-14)
        distances = np.diag(expected)[:, None] + np.diag(expected)[None, :] - 2 * expected
        np.testing.assert_allclose(k.distance(mixed), np.maximum(distances, 0.0), rtol=1e-10, atol=1e-10)


@each
def test_it_is_a_parameter_like_others(kernel, objects):
    own = kernel.with_params(missing="own")
    assert own != kernel
    assert "missing" not in repr(kernel)
    assert repr(own).endswith(", missing='own')") or repr(own).endswith("(missing='own')")
    assert pickle.loads(pickle.dumps(own)) == own == clone(own)
    assert parse_expression(repr(own)) == own
    assert type(own.certificate(sample=objects)) is type(kernel.certificate(sample=objects))
    with pytest.raises(ValueError, match=r"missing must be 'refuse', or 'own'"):
        kernel.with_params(missing="drop")


def test_the_theorem_stays_proved():
    for kernel, _ in EVERY:
        if isinstance(kernel.certificate(), Proved):
            assert isinstance(kernel.with_params(missing="own").certificate(), Proved)
            assert isinstance(kernel.with_params(missing="own").normalize().certificate(), Proved)


@each
@pytest.mark.parametrize("nothing", [None, math.nan, pd.NA], ids=str)
def test_missing_objects_are_refused_with_their_row_and_the_remedy(kernel, objects, nothing):
    with pytest.raises(TypeError, match=r"object 2\b.*missing='own'$"):
        kernel(punch(objects, nothing))


@pytest.mark.parametrize(
    ("kernel", "objects"), [(Subtree(), TREES), (WeisfeilerLehman(2), GRAPHS), (ShortestPath(), GRAPHS)]
)
def test_missing_objects_have_a_feature_of_their_own(kernel, objects):
    own, mixed = kernel.with_params(missing="own"), punch(objects)
    phi = own.features().fit(mixed)
    features = phi.transform([None, *objects])
    np.testing.assert_allclose((features @ phi.transform(mixed).T).toarray(), own([None, *objects], mixed), rtol=1e-12)
    assert phi.get_feature_names_out()[-1] == "missing"
    np.testing.assert_array_equal(phi.transform([None]).toarray().ravel()[-1:], [1.0])


@pytest.mark.parametrize(("kernel", "objects"), [EVERY[0], EVERY[3], EVERY[12], EVERY[17]], ids=lambda v: "")
def test_models_learn_from_objects_some_of_which_are_missing(kernel, objects, tmp_path):
    k = kernel.with_params(missing="own").normalize()
    X, y = punch(objects) * 2, np.array([0.0, 1.0, 5.0, 2.0, 3.0, 5.0] * 2)
    model = mercer.KernelRidge(alpha=1e-3, kernel=k).fit(X, y)
    expected = k([None, objects[0]], X) @ np.linalg.solve(k(X) + 1e-3 * np.eye(12), y)
    np.testing.assert_allclose(model.predict([None, objects[0]]), expected, rtol=1e-6)
    mercer.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict([None]), model.predict([None]))


@each
def test_rows_in_messages_count_missing_objects_too(kernel, objects):
    bad = {"T": "(S (NP", "G": [[5], [0]], "S": [], "B": []}["TGSB"[[TREES, GRAPHS, SERIES, BAGS].index(objects)]]
    own = kernel.with_params(missing="own")
    with pytest.raises((TypeError, ValueError), match=r"(object|sequence|bag) 3\b"):
        own([None, None, objects[0], bad, objects[1]])
