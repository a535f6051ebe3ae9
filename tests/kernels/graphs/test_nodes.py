"""Kernels on the nodes of one graph against matrix functions of its Laplacian."""

import pickle

import numpy as np
import pytest
from scipy import linalg, sparse

import mercer
from mercer.kernels import Diffusion, Gaussian, Graph, RegularizedLaplacian
from mercer.testing import check_kernel

networkx = pytest.importorskip("networkx")

WEIGHTS = np.array([[0.0, 2.0, 0.0, 0.3], [2.0, 0.0, 0.5, 0.0], [0.0, 0.5, 0.0, 0.0], [0.3, 0.0, 0.0, 0.0]])
KERNELS = [Diffusion(WEIGHTS, 0.7), RegularizedLaplacian(WEIGHTS, 2.0), Diffusion(WEIGHTS, 0.7, normalized=True)]


def laplacian(W, normalized=False):
    graph = networkx.from_numpy_array(W)
    of = networkx.normalized_laplacian_matrix if normalized else networkx.laplacian_matrix
    return of(graph).toarray()


@pytest.mark.parametrize("normalized", [False, True])
def test_both_are_matrix_functions_of_the_laplacian(normalized):
    L, nodes = laplacian(WEIGHTS, normalized), range(4)
    np.testing.assert_allclose(Diffusion(WEIGHTS, 0.7, normalized)(nodes), linalg.expm(-0.7 * L), atol=1e-14)
    inverse = np.linalg.inv(np.eye(4) + 2.0 * L)
    np.testing.assert_allclose(RegularizedLaplacian(WEIGHTS, 2.0, normalized)(nodes), inverse, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_laws_of_kernels_hold(kernel):
    check_kernel(kernel, [0, 3, 1])
    check_kernel(kernel.normalize() * 2.0, [0, 3, 1])
    assert type(kernel.certificate()).__name__ == "Proved"
    assert kernel.certificate().strict
    again = pickle.loads(pickle.dumps(kernel))
    assert again == kernel
    np.testing.assert_array_equal(again([0, 1]), kernel([0, 1]))


def test_a_pickle_does_not_grow_with_the_matrix_that_was_computed():
    kernel = Diffusion(networkx.path_graph(60))
    before = len(pickle.dumps(kernel))
    kernel([0])
    assert len(pickle.dumps(kernel)) == before


def test_heat_is_kept_and_does_not_reach_other_parts():
    graph = Graph([[1], [0], [2], []])  # a pair, a node with an edge to itself, and one alone
    K = Diffusion(graph, 3.0)(range(4))
    np.testing.assert_allclose(K.sum(axis=1), 1.0, rtol=1e-13)
    np.testing.assert_array_equal(K[2:], np.eye(4)[2:])
    for normalized in (False, True):
        np.testing.assert_array_equal(RegularizedLaplacian(graph, 5.0, normalized)(range(4))[2:], np.eye(4)[2:])


def test_the_norm_of_the_regularised_laplacian_counts_differences_along_edges():
    f = np.array([1.0, -2.0, 0.5, 3.0])
    norm = f @ np.linalg.solve(RegularizedLaplacian(WEIGHTS, 1.5)(range(4)), f)
    edges = sum(WEIGHTS[u, v] * (f[u] - f[v]) ** 2 for u in range(4) for v in range(u))
    np.testing.assert_allclose(norm, f @ f + 1.5 * edges, rtol=1e-12)


def test_nodes_go_by_their_names():
    named = networkx.relabel_nodes(networkx.from_numpy_array(WEIGHTS), dict(enumerate("abcd")))
    K = Diffusion(WEIGHTS)(range(4))
    for kernel in (Diffusion(named), Diffusion(sparse.csr_array(WEIGHTS), nodes="abcd")):
        np.testing.assert_allclose(kernel(["d", "a"], ["b"]), K[[3, 0]][:, [1]], rtol=1e-14)
        np.testing.assert_allclose(kernel(np.array([["d"], ["a"]]), ["b"]), K[[3, 0]][:, [1]], rtol=1e-14)
        with pytest.raises(ValueError, match=r"object 1 is 'e', which is no node; there are \['a', 'b', 'c', 'd'\]"):
            kernel(["a", "e"])
    assert Diffusion(networkx.path_graph(3)) == Diffusion([[1], [0, 2], [1]])


def test_nodes_are_classified_from_a_few_of_them_beside_columns_of_numbers(tmp_path):
    club = networkx.karate_club_graph()
    sides = np.array([club.nodes[node]["club"] == "Officer" for node in club])
    model = mercer.SVC(kernel=Diffusion(club, 0.2)).fit([0, 33, 1, 32], sides[[0, 33, 1, 32]])
    assert model.score(list(club), sides) > 0.85
    mercer.save(model, tmp_path / "club")
    np.testing.assert_array_equal(mercer.load(tmp_path / "club").predict(list(club)), model.predict(list(club)))
    rows = np.column_stack([np.arange(4), [0.0, 1.0, 0.5, 2.0]])
    both = Diffusion(WEIGHTS).on(0) * Gaussian().on(1)
    expected = Diffusion(WEIGHTS)(range(4)) * Gaussian()(rows[:, 1:])
    np.testing.assert_allclose(both(rows), expected, rtol=1e-14)
    assert mercer.KernelRidge(kernel=both).fit(rows, rows[:, 1]).predict(rows).shape == (4,)


@pytest.mark.parametrize("kind", [Diffusion, RegularizedLaplacian])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.zeros((0, 0)),), ValueError, "the graph has no nodes"),
        ((Graph([[1], []]),), ValueError, r"directed, .* graph.to_undirected\(\)"),
        ((-WEIGHTS,), ValueError, "weights of edges are positive"),
        ((3,), TypeError, "needs graphs"),
        ((WEIGHTS, 0.0), ValueError, "must be a positive finite number"),
        ((WEIGHTS, 1.0, 2), ValueError, "normalized must be True or False"),
        ((WEIGHTS, 1.0, False, "abbc"), ValueError, "nodes are 4 different names, got 'abbc'"),
    ],
)
def test_mistakes_are_named(kind, arguments, error, message):
    with pytest.raises(error, match=message):
        kind(*arguments)
