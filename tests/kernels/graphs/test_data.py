"""Weights and attributes of graphs, and the adjacency matrices that stand for graphs."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import mercer
from mercer.kernels import Graph, ShortestPath, WeisfeilerLehman

networkx = pytest.importorskip("networkx")

ARROW = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
PATH = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.5], [0.0, 0.5, 0.0]])


def random_graphs(count, weighted=True):
    rng = np.random.default_rng(0)
    found = [networkx.gnp_random_graph(4 + i % 4, 0.5, seed=i) for i in range(count)]
    for graph in found:
        for u, v in graph.edges if weighted else ():
            graph[u][v]["weight"] = float(rng.uniform(0.5, 2.0))
    return found


# -- weights and attributes ----------------------------------------------------------------------------------------


def test_all_forms_of_weights_are_equal():
    graph = Graph([[1], [0, 2], [1]], weights=[[2.0], [2.0, 0.5], [0.5]])
    assert graph == Graph([[1], [0, 2], [1]], weights={(0, 1): 2, (2, 1): np.float32(0.5)})
    assert graph == Graph.from_edges([(0, 1), (1, 2)], weights=[2.0, 0.5])
    assert graph == Graph.from_matrix(PATH) == Graph.from_matrix(sparse.coo_matrix(PATH))
    assert graph == Graph.from_networkx(networkx.from_numpy_array(PATH))
    assert hash(graph) == hash(pickle.loads(pickle.dumps(graph)))
    assert graph != Graph([[1], [0, 2], [1]])


def test_weights_of_one_are_no_weights():
    plain = Graph([[1], [0]])
    assert Graph([[1], [0]], weights=[[1.0], [1]]) == plain
    assert Graph.from_matrix([[0.0, 1.0], [1.0, 0.0]]) == plain
    assert Graph.from_matrix([[False, True], [True, False]]) == plain
    assert Graph.from_edges([(0, 1)], weights=[1]).weights is None


def test_edges_of_networkx_without_a_weight_weigh_one_as_there():
    graph = networkx.Graph([(0, 1), (1, 2, {"weight": 3.0})])
    assert Graph.from_networkx(graph).weights == ((1.0,), (1.0, 3.0), (3.0,))
    assert Graph.from_networkx(graph, weight=None).weights is None
    parallel = networkx.MultiGraph([(0, 1, {"km": 2.0}), (0, 1, {"km": 5.0})])
    assert Graph.from_networkx(parallel, weight="km").weights == ((2.0, 5.0), (2.0, 5.0))


def test_attributes_are_rows_of_numbers_in_any_form():
    graph = Graph([[1], [0]], attributes=[[0.5, 1.0], [2.0, 3.0]])
    assert graph == Graph({"a": ["b"], "b": ["a"]}, attributes={"b": [2.0, 3.0], "a": [0.5, 1]})
    assert graph == Graph.from_matrix([[0, 1], [1, 0]], attributes=np.asfortranarray([[0.5, 1.0], [2.0, 3.0]]))
    named = networkx.Graph([(0, 1)])
    named.add_nodes_from([(0, {"x": 0.5, "y": 1.0, "both": [0.5, 1.0]}), (1, {"x": 2.0, "y": 3.0, "both": (2, 3)})])
    assert graph == Graph.from_networkx(named, attributes=["x", "y"]) == Graph.from_networkx(named, attributes="both")
    assert Graph.from_networkx(named, attributes="x") == Graph([[1], [0]], attributes=[0.5, 2.0])
    with pytest.raises(ValueError, match="node 0 has no attribute 'z'"):
        Graph.from_networkx(named, attributes=["x", "z"])
    assert Graph([], attributes=[]).attributes == ()


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (Graph.from_matrix(PATH), "<Graph of 3 nodes and 2 edges, edges weighted>"),
        (Graph.from_matrix(ARROW), "<Graph of 3 nodes and 2 directed edges>"),
        (Graph.from_matrix([[0, 2], [3, 0]]), "<Graph of 2 nodes and 2 directed edges, edges weighted>"),
        (Graph.from_matrix([[1]], "a", attributes=[3]), "<Graph of 1 node and 1 edge, nodes labelled, nodes with 1 "
         "attribute>"),
        (Graph.from_matrix(np.zeros((0, 0))), "<Graph of 0 nodes and 0 edges>"),
    ],
)  # fmt: skip
def test_graphs_describe_their_weights_and_attributes(graph, text):
    assert repr(graph) == text


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Graph([[1], [0]], weights=[[-1.0], [2.0]]), ValueError, r"the weight -1\.0, but .* leave such edges"),
        (lambda: Graph([[1], [0]], weights=[[0], [2.0]]), ValueError, r"the weight 0\.0"),
        (lambda: Graph([[1], [0]], weights=[["a"], [2.0]]), TypeError, "the weight 'a' of an edge is no number"),
        (lambda: Graph([[1], [0]], weights=[[1.0], []]), ValueError, "weights must have one weight for each"),
        (lambda: Graph([[1], [0]], weights=2.0), ValueError, "weights must have one weight for each"),
        (lambda: Graph([[1], [0]], weights={}), ValueError, "between 0 and 1 has no weight; give one to all"),
        (lambda: Graph([[1], [0]], weights={(0, 1): 1, (0, 3): 1}), ValueError, r"weights names \(0, 3\)"),
        (lambda: Graph.from_edges([(0, 1)], weights=[1.0, 2.0]), ValueError, "2 weights are given for 1 edges"),
        (lambda: Graph.from_matrix([[0, -1], [1, 0]]), ValueError, r"entry \(0, 1\) of .* is -1\.0, .*matrix != 0"),
        (lambda: Graph.from_matrix([[0, 1], [np.nan, 0]]), ValueError, r"entry \(1, 0\) of .* is nan"),
        (lambda: Graph.from_matrix([[0, np.inf], [1, 0]]), ValueError, r"entry \(0, 1\) of .* is inf"),
        (lambda: Graph.from_matrix(np.ones((2, 3))), ValueError, r"(?s)square table .* of shape \(2, 3\).*from_edges"),
        (lambda: Graph.from_matrix([[0, 1], [1]]), ValueError, "square table"),
        (lambda: Graph.from_matrix(np.array([["a"]])), ValueError, "square table"),
        (lambda: Graph.from_matrix(np.ma.MaskedArray([[1]], mask=[[True]])), ValueError, "masked"),
        (lambda: Graph([[1], [0]], attributes=[[1.0], [2.0, 3.0]]), ValueError, "a table of numbers with a row"),
        (lambda: Graph([[1], [0]], attributes=["a", "b"]), ValueError, "a table of numbers with a row"),
        (lambda: Graph([[1], [0]], attributes=[1.0]), ValueError, "1 rows of attributes are given for 2 nodes"),
        (lambda: Graph([[1], [0]], attributes=[1.0, np.nan]), ValueError, "attribute 0 of node 1 is nan"),
        (lambda: Graph([[1], [0]], attributes={0: 1.0}), ValueError, "exactly the 2 nodes, but node 1 has none"),
        (lambda: Graph([[1], [0]], attributes={0: 1, 1: 1, 2: 1}), ValueError, "but there are 3 of them"),
    ],
)  # fmt: skip
def test_mistakes_in_weights_and_attributes_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_negative_weights_of_networkx_are_refused_with_a_way_out():
    with pytest.raises(ValueError, match=r"object 0 is not a graph.*from_networkx\(graph, weight=None\)"):
        WeisfeilerLehman()([networkx.Graph([(0, 1, {"weight": -1.0})])])


def test_graphs_with_other_numbers_of_attributes_do_not_mix():
    pair = [Graph([[]], attributes=[1.0]), Graph([]), Graph([[]])]
    with pytest.raises(ValueError, match=r"nodes of graph 0 have 1 attributes, but those of graph 2 .* have 0"):
        WeisfeilerLehman()(pair)


# -- matrices in place of graphs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "matrix",
    [ARROW, PATH, sparse.csr_matrix(PATH), sparse.coo_array(ARROW), ARROW.tolist(), PATH.tolist(), ARROW.astype(bool),
     [list(row) for row in sparse.eye_array(3).toarray()], [[0, 0.5], [0.5, 0]], [[0, 7], [7, 0]],
     np.array([[0, 1], [1, 0]]), np.zeros((1, 1)), ARROW.T, PATH.astype(np.float32)],
    ids=repr,
)  # fmt: skip
def test_matrices_in_a_list_are_read_as_graphs(matrix):
    kernel = WeisfeilerLehman(2)
    rest = [Graph([[1], [0, 2], [1]]), Graph([[]])]
    np.testing.assert_array_equal(kernel([matrix, *rest]), kernel([Graph.from_matrix(matrix), *rest]))


@pytest.mark.parametrize(
    "table",
    [[[0]], [[0, 1], [1, 0]], [[1, 1], [0, 0]], ((0, 1), (1, 0)), [[0, 1, 2]] * 3, [[0, 2, 1], [2, 0, 1], [1, 1, 0]]],
    ids=repr,
)
def test_tables_that_may_be_neighbours_as_well_are_refused_with_the_remedy(table):
    with pytest.raises(ValueError, match=r"object 1 is not a graph.*use Graph.from_matrix\(…\) for a matrix, or the"):
        WeisfeilerLehman()([Graph([]), table])
    assert WeisfeilerLehman()([dict(enumerate(table))]).shape == (1, 1)


@pytest.mark.parametrize(
    "single", [sparse.csr_array(PATH), networkx.path_graph(3), Graph([[]])], ids=["sparse", "networkx", "graph"]
)
def test_one_graph_is_no_collection(single):
    with pytest.raises(TypeError, match=r"put a single graph in a list|collection"):
        WeisfeilerLehman()(single)


def test_a_stack_of_matrices_is_a_collection_and_rectangles_are_refused():
    stack = np.stack([ARROW, PATH])
    np.testing.assert_array_equal(ShortestPath()(stack), ShortestPath()(list(stack)))
    with pytest.raises(ValueError, match=r"object 0 is not a graph.*a square table of numbers"):
        ShortestPath()([np.ones((2, 3))])


FORMS = {
    "networkx": lambda graph: graph,
    "arrays": networkx.to_numpy_array,
    "rows": networkx.to_scipy_sparse_array,
    "coordinates": lambda graph: sparse.coo_matrix(networkx.to_numpy_array(graph)),
    "lists": lambda graph: networkx.to_numpy_array(graph).tolist(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [6, 20])
def test_models_of_graphs_in_any_form_are_the_same_and_can_be_saved(form, count, tmp_path):
    graphs = random_graphs(count)
    y, given = np.arange(count) % 2, [FORMS[form](graph) for graph in graphs]
    ours = [Graph.from_networkx(graph) for graph in graphs]
    for model in (mercer.SVC(kernel=WeisfeilerLehman(2).normalize()), mercer.KernelRidge(kernel=ShortestPath())):
        fitted = clone(model).fit(given, y)
        expected = clone(model).fit(ours, y).predict(ours)
        np.testing.assert_allclose(fitted.predict(given), expected, rtol=1e-9)
        mercer.save(fitted, tmp_path / "model", overwrite=True)
        np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict(given), fitted.predict(given))


@pytest.mark.parametrize("form", FORMS)
def test_features_of_graphs_in_any_form_can_be_saved(form, tmp_path):
    given = [FORMS[form](graph) for graph in random_graphs(5)]
    vectors = WeisfeilerLehman(1).features().fit(given)
    mercer.save(vectors, tmp_path / "map")
    again = mercer.load(tmp_path / "map").transform(given)
    np.testing.assert_array_equal(again.toarray(), vectors.transform(given).toarray())
