"""Kernels on graphs against their definitions, the forms graphs come in, and how mistakes are reported."""

import pickle
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import mercer
from mercer import Gram
from mercer.kernels import (
    Gaussian,
    Graph,
    MeanEmbedding,
    RandomWalk,
    ShortestPath,
    WeisfeilerLehman,
    WeisfeilerLehmanAssignment,
)
from mercer.testing import check_kernel

KERNELS = [
    WeisfeilerLehman(0),
    WeisfeilerLehman(3),
    WeisfeilerLehmanAssignment(0),
    WeisfeilerLehmanAssignment(3),
    ShortestPath(),
    RandomWalk(0.01),
]
COUNTING = KERNELS[:5]


@st.composite
def graphs(draw, labels=True, kinds=False, most=6, directed=False):
    n = draw(st.integers(0, most))
    pairs = [(u, v) for u in range(n) for v in range(n) if (u != v if directed else u < v)]
    edges = [pair for pair in pairs if draw(st.booleans())]
    if kinds:
        edges = [(u, v, draw(st.sampled_from("-="))) for u, v in edges]
    names = draw(st.text("CHO" if labels else "C", min_size=n, max_size=n))
    return Graph.from_edges(edges, list(names), directed=directed)


def random_graph(rng, n, chance=0.35, labels="CNO", kinds=None):
    edges = [(u, v) for u in range(n) for v in range(u) if rng.uniform() < chance]
    if kinds:
        edges = [(u, v, kinds[rng.integers(len(kinds))]) for u, v in edges]
    return Graph.from_edges(edges, [labels[i] for i in rng.integers(len(labels), size=n)])


RNG = np.random.default_rng(3)
SAMPLE = [random_graph(RNG, n, kinds="-=") for n in (1, 3, 5, 6, 6, 7, 8, 9, 5, 4)]


def size_of(graph):
    return [graph.n_nodes]


def shuffled(graph, rng):
    """Return the same graph with its nodes, and the neighbours of each, in another order."""
    order = rng.permutation(graph.n_nodes)
    place = np.argsort(order)
    neighbours, kinds = [], []
    for old in order:
        turn = rng.permutation(len(graph.neighbours[old]))
        neighbours.append([int(place[graph.neighbours[old][i]]) for i in turn])
        kinds.append(None if graph.edge_labels is None else [graph.edge_labels[old][i] for i in turn])
    return Graph(neighbours, [graph.labels[old] for old in order], None if graph.edge_labels is None else kinds)


# -- definitions ---------------------------------------------------------------------------------------------------


def refined(graph, rounds):
    """Return the label of every node after each round, as nested tuples."""
    kinds = graph.edge_labels or [[None] * len(listed) for listed in graph.neighbours]
    labels = list(graph.labels)
    yield labels
    for _ in range(rounds):
        labels = [
            (labels[v], tuple(sorted((str(e), repr(labels[w])) for w, e in zip(listed, named, strict=True))))
            for v, (listed, named) in enumerate(zip(graph.neighbours, kinds, strict=True))
        ]
        yield labels


def agreeing(G, H, rounds):
    """Return the number of rounds in which each node of G agrees with each of H."""
    total = np.zeros((G.n_nodes, H.n_nodes))
    for left, right in zip(refined(G, rounds), refined(H, rounds), strict=True):
        total += np.array([[a == b for b in right] for a in left], dtype=float).reshape(total.shape)
    return total


def distances(graph):
    n = graph.n_nodes
    d = np.full((n, n), np.inf)
    for u, listed in enumerate(graph.neighbours):
        d[u, u] = 0
        d[u, [v for v in listed if v != u]] = 1
    for k in range(n):
        d = np.minimum(d, d[:, [k]] + d[[k]])
    return d


def paths(graph):
    d = distances(graph)
    pairs = product(range(graph.n_nodes), repeat=2)
    return Counter((graph.labels[u], graph.labels[v], d[u, v]) for u, v in pairs if 0 < d[u, v] < np.inf)


def walks(G, H, decay):
    """Solve the linear system of the product graph."""
    nodes = [(u, v) for u in range(G.n_nodes) for v in range(H.n_nodes) if G.labels[u] == H.labels[v]]
    if not nodes:
        return 0.0
    place = {pair: i for i, pair in enumerate(nodes)}
    A = np.zeros((len(nodes), len(nodes)))
    no_kinds = [[None] * 99] * 99
    for u, v in nodes:
        for i, s in enumerate(G.neighbours[u]):
            for j, t in enumerate(H.neighbours[v]):
                if (s, t) in place and (G.edge_labels or no_kinds)[u][i] == (H.edge_labels or no_kinds)[v][j]:
                    A[place[u, v], place[s, t]] += 1
    return float(np.linalg.solve(np.eye(len(A)) - decay * A, np.ones(len(A))).sum())


@settings(max_examples=40, deadline=None)
@given(st.lists(graphs(), min_size=1, max_size=4), st.integers(0, 3))
def test_weisfeiler_lehman_counts_pairs_of_nodes_that_agree_in_each_round(sample, rounds):
    expected = [[agreeing(G, H, rounds).sum() for H in sample] for G in sample]
    np.testing.assert_array_equal(WeisfeilerLehman(rounds)(sample), expected)


@settings(max_examples=40, deadline=None)
@given(st.lists(graphs(), min_size=1, max_size=4), st.integers(0, 3))
def test_the_assignment_kernel_is_the_best_assignment(sample, rounds):
    def best(G, H):
        weights = agreeing(G, H, rounds)
        return weights[linear_sum_assignment(weights, maximize=True)].sum()

    expected = [[best(G, H) for H in sample] for G in sample]
    np.testing.assert_array_equal(WeisfeilerLehmanAssignment(rounds)(sample), expected)


@settings(max_examples=25, deadline=None)
@given(st.lists(graphs(kinds=True), min_size=2, max_size=3), st.booleans())
def test_labels_of_edges_count_in_refined_labels(sample, twice):
    sample = [graph for graph in sample if any(graph.neighbours)] or [Graph.from_edges([(0, 1, "-")], "CC")]
    for rounds in (1, 2):
        expected = [[agreeing(G, H, rounds).sum() for H in sample] for G in sample]
        np.testing.assert_array_equal(WeisfeilerLehman(rounds)(sample), expected)


@settings(max_examples=25, deadline=None)
@given(st.lists(graphs(directed=True), min_size=1, max_size=4))
def test_directed_edges_lead_one_way(sample):
    expected = [[agreeing(G, H, 2).sum() for H in sample] for G in sample]
    np.testing.assert_array_equal(WeisfeilerLehman(2)(sample), expected)
    counts = [paths(graph) for graph in sample]
    np.testing.assert_array_equal(
        ShortestPath()(sample), [[sum(a[t] * b[t] for t in a) for b in counts] for a in counts]
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(graphs(), min_size=1, max_size=4))
def test_shortest_path_counts_pairs_of_paths(sample):
    counts = [paths(graph) for graph in sample]
    expected = [[sum(a[t] * b[t] for t in a) for b in counts] for a in counts]
    np.testing.assert_array_equal(ShortestPath()(sample), expected)


def test_shortest_paths_are_the_same_a_few_sources_at_a_time(monkeypatch):
    whole = ShortestPath()(SAMPLE)
    monkeypatch.setattr("mercer.kernels.graphs.counts.SOURCES", 5)
    np.testing.assert_array_equal(ShortestPath()(SAMPLE), whole)


@settings(max_examples=25, deadline=None)
@given(st.lists(graphs(most=5), min_size=1, max_size=4), st.floats(0.001, 0.06))
def test_random_walks_are_counted_on_the_product_graph(sample, decay):
    expected = [[walks(G, H, decay) for H in sample] for G in sample]
    np.testing.assert_allclose(RandomWalk(decay)(sample), expected, rtol=1e-12)


def test_random_walks_respect_directions_and_labels_of_edges():
    rng = np.random.default_rng(1)
    arcs = [(u, v, "-="[rng.integers(2)]) for u in range(6) for v in range(6) if u != v and rng.uniform() < 0.4]
    sample = [Graph.from_edges(arcs[i::2], list("CCOCOO"), directed=True) for i in (0, 1)] + SAMPLE[1:4]
    expected = [[walks(G, H, 0.04) for H in sample] for G in sample]
    np.testing.assert_allclose(RandomWalk(0.04)(sample), expected, rtol=1e-12)


def test_random_walks_on_acyclic_graphs_are_counted_to_their_end():
    # Their adjacency matrices have no eigenvalue but 0, and still walks of several steps.
    arrow, diamond = Graph([[1], []]), Graph([[1, 2], [3], [3], []])
    np.testing.assert_allclose(RandomWalk(0.1)([arrow]), [[4.1]], rtol=1e-14)
    np.testing.assert_allclose(RandomWalk(0.1)([diamond]), [[16 + 0.1 * 16 + 0.01 * 4]], rtol=1e-14)
    line = Graph([[i + 1] for i in range(30)] + [[]])
    expected = sum((31 - length) ** 2 * 7.0**length for length in range(31))
    np.testing.assert_allclose(RandomWalk(7.0)([line]), [[expected]], rtol=1e-13)


@st.composite
def directed_graphs(draw):
    n = draw(st.integers(1, 6))
    arcs = draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=12))
    if draw(st.booleans()):
        arcs = [(min(arc), max(arc)) for arc in arcs if arc[0] != arc[1]]
    neighbours = [sorted({v for u, v in arcs if u == node}) for node in range(n)]
    letters = draw(st.sampled_from(["C", "CO"]))
    return Graph(neighbours, draw(st.lists(st.sampled_from(letters), min_size=n, max_size=n)))


@settings(max_examples=40, deadline=None)
@given(st.lists(directed_graphs(), min_size=1, max_size=3), st.floats(0.05, 0.999))
def test_random_walks_on_directed_graphs_are_counted_on_the_product_graph(sample, share):
    adjacency = [np.array([[v in row for v in range(G.n_nodes)] for row in G.neighbours], float) for G in sample]
    radius = max(np.abs(np.linalg.eigvals(A)).max() for A in adjacency)
    decay = share / max(radius, 1.0) ** 2
    expected = [[walks(G, H, decay) for H in sample] for G in sample]
    np.testing.assert_allclose(RandomWalk(decay)(sample), expected, rtol=1e-10)


def test_walks_that_grow_long_before_they_fade_are_not_cut_off():
    # Out of a hub and back through one node: single steps grow by far more than cycles of them.
    hub = Graph([list(range(1, 11)), *([11] for _ in range(10)), [0]], labels="C" * 12)
    decay = 0.9 / 10 ** (2 / 3)
    np.testing.assert_allclose(RandomWalk(decay)([hub]), [[walks(hub, hub, decay)]], rtol=1e-11)


def test_random_walks_are_the_same_a_few_graphs_at_a_time(monkeypatch):
    whole = RandomWalk(0.01)(SAMPLE)
    monkeypatch.setattr("mercer.kernels.graphs.walks.PAIRS", 40)
    np.testing.assert_allclose(RandomWalk(0.01)(SAMPLE), whole, rtol=1e-14)


def test_walks_that_do_not_converge_are_refused_with_the_bound():
    triangle = Graph([[1, 2], [0, 2], [0, 1]])
    np.testing.assert_allclose(RandomWalk(0.24)([triangle]), 9 / (1 - 4 * 0.24), rtol=1e-9)
    with pytest.raises(ValueError, match=r"does not converge .* up to 2; use a decay below 1/2² = 0.25"):
        RandomWalk(0.25)([triangle])
    with pytest.raises(ValueError, match="use a decay below 1/1² = 1"):
        RandomWalk(1.0)([Graph([[1, 3], [2], [0], []])])


# -- laws ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_laws_of_kernels_hold(kernel):
    check_kernel(kernel, SAMPLE)
    check_kernel(kernel.normalize(), SAMPLE)
    check_kernel(0.5 * kernel + kernel.normalize() * Gaussian().after(size_of), SAMPLE)
    assert type(kernel.certificate()).__name__ == "Proved"
    assert "φ" in kernel.certificate().explain() or "product" in kernel.certificate().explain()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_numbering_of_nodes_changes_nothing(kernel):
    rng = np.random.default_rng(0)
    again = [shuffled(graph, rng) for graph in SAMPLE]
    np.testing.assert_allclose(kernel(SAMPLE, again), kernel(SAMPLE), rtol=1e-13)
    np.testing.assert_allclose(kernel.distance(SAMPLE, again).diagonal(), 0, atol=1e-10 * kernel.diag(SAMPLE).max())


@pytest.mark.parametrize("kernel", COUNTING, ids=repr)
def test_what_graphs_are_called_does_not_matter_only_which_labels_are_equal(kernel):
    rename = {"C": ("carbon", 6), "N": 7, "O": None}
    renamed = [Graph(g.neighbours, [rename[x] for x in g.labels], g.edge_labels) for g in SAMPLE]
    np.testing.assert_array_equal(kernel(renamed), kernel(SAMPLE))


@pytest.mark.parametrize("kernel", COUNTING, ids=repr)
def test_features_multiply_to_the_kernel(kernel):
    train, test = SAMPLE[:6], SAMPLE[6:]
    vectors = kernel.features()
    left = vectors.fit_transform(train)
    np.testing.assert_array_equal((left @ left.T).toarray(), kernel(train))
    np.testing.assert_array_equal(vectors.transform(train).toarray(), left.toarray())
    np.testing.assert_array_equal((vectors.transform(test) @ left.T).toarray(), kernel(test, train))
    both = clone(vectors).fit(SAMPLE).transform(test)
    np.testing.assert_array_equal((both @ both.T).toarray(), kernel(test))
    assert left.shape[1] == vectors.features_.width == len(set(vectors.get_feature_names_out()))


def test_features_of_graphs_feed_linear_models():
    y = [graph.n_nodes > 5 for graph in SAMPLE]
    model = make_pipeline(WeisfeilerLehman(2).features(), LogisticRegression(C=100.0)).fit(SAMPLE, y)
    assert model.score(SAMPLE, y) == 1
    assert pickle.loads(pickle.dumps(model)).score(SAMPLE, y) == 1


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_rows_and_tiles_of_the_gram_matrix_agree_with_the_whole(kernel):
    K = kernel(SAMPLE)
    gram = Gram(kernel, SAMPLE)
    np.testing.assert_allclose(gram.rows([7, 2, 2]), K[[7, 2, 2]], rtol=1e-14)
    np.testing.assert_allclose(gram.part([8, 3, 5]).dense(), K[np.ix_([8, 3, 5], [8, 3, 5])], rtol=1e-14)
    np.testing.assert_allclose(kernel(SAMPLE[4:], SAMPLE[:7]), K[4:, :7], rtol=1e-14)


def test_many_rounds_separate_what_the_test_of_isomorphism_separates():
    path, star = Graph.from_edges([(0, 1), (1, 2), (2, 3)]), Graph.from_edges([(0, 1), (0, 2), (0, 3)])
    assert WeisfeilerLehman(9).distance([path], [star]) > 0
    # Two triangles and a hexagon look alike from every node, however far one looks.
    hexagon = Graph.from_edges([(i, (i + 1) % 6) for i in range(6)])
    triangles = Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    assert WeisfeilerLehman(9).distance([hexagon], [triangles]) == 0
    assert ShortestPath().distance([hexagon], [triangles]) > 0


def test_a_graph_without_nodes_is_the_origin():
    for kernel in KERNELS:
        np.testing.assert_array_equal(kernel([Graph([]), SAMPLE[3]])[0], 0)


# -- learners ------------------------------------------------------------------------------------------------------

LEARNERS = ["SVC", "KernelRidgeClassifier", "KernelLogisticRegression", "KernelNeighborsClassifier"]


def rings_and_trees(n=16):
    rng = np.random.default_rng(5)
    rings = [Graph.from_edges([(i, (i + 1) % m) for i in range(m)]) for m in rng.integers(4, 9, n)]
    trees = [Graph.from_edges([(i, int(rng.integers(i))) for i in range(1, m)]) for m in rng.integers(4, 9, n)]
    return rings + trees, np.repeat([0, 1], n)


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_tell_rings_from_trees(name):
    X, y = rings_and_trees()
    model = getattr(mercer, name)(kernel=WeisfeilerLehman(2).normalize())
    assert cross_val_score(model, X, y, cv=4).min() >= 0.9
    fitted = make_pipeline(clone(model)).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


def test_components_and_searches_take_graphs():
    X, y = rings_and_trees(8)
    assert mercer.KernelPCA(n_components=2, kernel=WeisfeilerLehmanAssignment(2)).fit_transform(X).shape == (16, 2)
    search = GridSearchCV(mercer.SVC(kernel=WeisfeilerLehman(0)), {"kernel__iterations": [0, 2]}, cv=2).fit(X, y)
    assert search.best_params_ == {"kernel__iterations": 2}


def test_bags_of_graphs_are_objects_too():
    bags = [SAMPLE[:3], SAMPLE[3:4], SAMPLE[5:]]
    K = WeisfeilerLehman(1)(SAMPLE)
    np.testing.assert_allclose(MeanEmbedding(WeisfeilerLehman(1))(bags)[0, 1], K[:3, 3].mean(), rtol=1e-14)


# -- forms ---------------------------------------------------------------------------------------------------------


class Networkx:
    """The part of a networkx graph that is used."""

    def __init__(self, nodes, adjacency, multi=False):
        self._nodes, self._adjacency, self._multi = nodes, adjacency, multi

    def nodes(self, data):
        return list(self._nodes.items())

    def adjacency(self):
        return iter(self._adjacency.items())

    def is_multigraph(self):
        return self._multi


def test_networkx_graphs_are_read_with_their_labels():
    kind = {"label": "-", "length": 2.0}
    nodes = {"a": {"label": "C"}, "b": {"label": "O"}}
    given_ = Networkx(nodes, {"a": {"b": kind}, "b": {"a": kind}})
    assert Graph.from_networkx(given_) == Graph([[1], [0]], "CO", [["-"], ["-"]])
    assert Graph.from_networkx(given_, edge_label="length").edge_labels == ((2.0,), (2.0,))
    assert Graph.from_networkx(given_, label="none", edge_label="none") == Graph([[1], [0]])
    twice = {0: kind, 1: {"label": "="}}
    parallel = Networkx(nodes, {"a": {"b": twice}, "b": {"a": twice}}, multi=True)
    assert Graph.from_networkx(parallel) == Graph([[1, 1], [0, 0]], "CO", [["-", "="], ["-", "="]])
    one = Graph([[1], [0]], "CO", [["-"], ["-"]])
    np.testing.assert_array_equal(WeisfeilerLehman(2)([given_, one]), WeisfeilerLehman(2)([one, one]))


def test_networkx_graphs_with_some_labels_are_refused():
    with pytest.raises(ValueError, match="1 of 2 nodes have the attribute 'label'"):
        Graph.from_networkx(Networkx({0: {"label": 1}, 1: {}}, {0: {}, 1: {}}))
    with pytest.raises(ValueError, match="1 of 2 edges have the attribute 'label'"):
        Graph.from_networkx(Networkx({0: {}, 1: {}}, {0: {1: {"label": 1}}, 1: {0: {}}}))


def test_all_forms_of_a_graph_are_equal():
    graph = Graph([[1, 2], [0], [0]], labels="OHH")
    assert graph == Graph({"O": ["H1", "H2"], "H1": ["O"], "H2": ["O"]}, {"H1": "H", "H2": "H", "O": "O"})
    assert graph == Graph.from_edges([(0, 1), (0, 2)], "OHH")
    assert hash(graph) == hash(pickle.loads(pickle.dumps(graph)))
    assert Graph({0: {1: "="}, 1: {0: "="}}) == Graph([[1], [0]], edge_labels={(0, 1): "="})
    assert Graph({0: {1: "="}, 1: {0: "="}}) == Graph.from_edges([(0, 1, "=")])
    assert Graph([np.array([1]), np.array([0])], np.array([3, 4])) == Graph([[1], [0]], [3, 4])
    with pytest.raises(AttributeError):
        graph.labels = None


def test_adjacency_lists_are_graphs():
    kernel = WeisfeilerLehman(2)
    plain = [[[1], [0]], [[1, 2], [0, 2], [0, 1]]]
    as_graphs = [Graph(lists) for lists in plain]
    np.testing.assert_array_equal(kernel(plain), kernel(as_graphs))
    mappings = [dict(enumerate(lists)) for lists in plain]
    np.testing.assert_array_equal(kernel(mappings, as_graphs), kernel(as_graphs))


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (Graph([[1], [0]]), "<Graph of 2 nodes and 1 edge>"),
        (Graph([[1], []], "ab"), "<Graph of 2 nodes and 1 directed edge, nodes labelled>"),
        (Graph([[0]], "a", [["x"]]), "<Graph of 1 node and 1 edge, nodes and edges labelled>"),
    ],
)
def test_graphs_describe_themselves(graph, text):
    assert repr(graph) == text


# -- mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[1], [2]],), ValueError, r"node 1 has the neighbour 2, which is not a node; the nodes are \[0, 1\]"),
        (([[[]]],), ValueError, r"node 0 has the neighbour \[\], which is not a node"),
        (("ab",), TypeError, "neighbours must be a list of lists"),
        (([1, 0],), TypeError, "the neighbours of node 0 must be a list of nodes, got 1"),
        (([[1], [0]], ["a"]), ValueError, "1 labels are given for 2 nodes"),
        (([[1], [0]], {0: "a"}), ValueError, "node 1 has no label"),
        (([[1], [0]], {0: "a", 1: "b", 2: "c"}), ValueError, "2 is labelled but is no node"),
        (([[1], [0]], [["a"], ["b"]]), TypeError, r"node label \['a'\] is not hashable"),
        (([[1], [0]], ["a", float("nan")]), ValueError, "a node label is nan"),
        (([[1], [0]], None, {}), ValueError, "the edge between 0 and 1 has no label"),
        (
            ([[1], [0]], None, {(0, 1): "-", (1, 2): "-"}),
            ValueError,
            r"edge_labels names \(1, 2\), but there is no such",
        ),
        (([[1], [0]], None, [["-"], []]), ValueError, "one label for each neighbour"),
        (({0: {1: "-"}, 1: {0: "-"}}, None, {(0, 1): "-"}), ValueError, "edge labels are given twice"),
        (({0: {1: "-"}, 1: [0]},), TypeError, "node 1 only lists them"),
    ],
)
def test_mistakes_in_a_graph_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        Graph(*arguments)


def test_mistakes_in_edges_are_named():
    with pytest.raises(ValueError, match=r"an edge is \(node, node\) or \(node, node, label\), got 3"):
        Graph.from_edges([3])
    with pytest.raises(ValueError, match="ends at 2, which has no label"):
        Graph.from_edges([(0, 2)], labels="ab")
    with pytest.raises(ValueError, match="some edges have labels and some have none"):
        Graph.from_edges([(0, 1), (1, 2, "-")])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_objects_that_are_no_graphs_are_named(kernel):
    with pytest.raises(TypeError, match=r"needs graphs, but object 1 is 'CCO' of type str; give mercer.kernels.Graph"):
        kernel([Graph([]), "CCO"])
    with pytest.raises(ValueError, match=r"object 0 is not a graph. Graph: node 0 has the neighbour 5"):
        kernel([[[5]]])
    with pytest.raises(TypeError, match="needs graphs, but object 0 is"):
        kernel(np.eye(3))


def test_graphs_with_and_without_labels_do_not_mix():
    with pytest.raises(ValueError, match="graph 0 has node labels, but graph 2"):
        WeisfeilerLehman()([Graph([[]], "a")], [Graph([]), Graph([[]])])
    with pytest.raises(ValueError, match="graph 1 has edge labels, but graph 0"):
        ShortestPath()([Graph([[1], [0]]), Graph([[1], [0]], edge_labels={(0, 1): "-"})])


@pytest.mark.parametrize("kind", [WeisfeilerLehman, WeisfeilerLehmanAssignment])
@pytest.mark.parametrize("iterations", [-1, 1.5, "2", None])
def test_rounds_are_whole_numbers(kind, iterations):
    with pytest.raises(ValueError, match="iterations must be a whole number of at least 0"):
        kind(iterations)


@pytest.mark.parametrize("decay", [0, -1.0, np.inf, "a"])
def test_the_decay_is_positive(decay):
    with pytest.raises(ValueError, match="decay must be a positive finite number"):
        RandomWalk(decay)


@pytest.mark.parametrize(
    "matrix",
    [[[0, 1], [1, 0]], [[0, 1], [0, 0]], [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0.0, 1.0], [1.0, 0.0]], [[1, 1, 1]] * 3,
     [np.array([0, 1]), np.array([1, 0])]],
    ids=repr,
)  # fmt: skip
def test_an_adjacency_matrix_is_not_taken_for_lists_of_neighbours(matrix):
    with pytest.raises(ValueError, match=r"adjacency matrix as well as lists of neighbours; use Graph\.from_matrix"):
        Graph(matrix)
    graph = Graph.from_matrix(matrix)
    assert [list(row) for row in graph.neighbours] == [np.flatnonzero(row).tolist() for row in matrix]
    assert pickle.loads(pickle.dumps(graph)) == graph


def test_lists_that_only_look_like_a_matrix_may_be_given_as_a_mapping():
    assert Graph({0: [0, 1], 1: [1, 0]}).neighbours == ((0, 1), (1, 0))
    assert Graph([[1, 1], [0, 0]]).neighbours == ((1, 1), (0, 0))  # parallel edges
    with pytest.raises(ValueError, match="an adjacency matrix is a square table of numbers"):
        Graph.from_matrix([[0, 1]])
