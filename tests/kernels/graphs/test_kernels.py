"""Kernels of weights, attributes and small subgraphs against their definitions, by brute force and networkx."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone

import mercer
from mercer.kernels import (
    Gaussian,
    Graph,
    GraphHopper,
    Graphlet,
    HashedWeisfeilerLehman,
    Linear,
    Polynomial,
    Propagation,
    ShortestPath,
    ShortestPathLengths,
    Sigmoid,
    WeisfeilerLehman,
)
from mercer.kernels.graphs.hashing import name_label
from mercer.testing import check_kernel

networkx = pytest.importorskip("networkx")


def random_graph(seed, n, directed=False):
    """Return a graph of networkx with labels, weights and attributes."""
    rng = np.random.default_rng(seed)
    graph = networkx.gnp_random_graph(n, 0.45, seed=seed, directed=directed)
    for node in graph:
        graph.nodes[node].update(label="CNO"[rng.integers(3)], place=rng.normal(size=2))
    for u, v in graph.edges:
        graph[u][v]["weight"] = float(rng.integers(1, 4)) / 10
    return graph


NETWORKS = [random_graph(seed, n) for seed, n in enumerate((6, 1, 5, 7, 4))] + [random_graph(9, 5, directed=True)]
GRAPHS = [Graph.from_networkx(graph, attributes="place") for graph in NETWORKS] + [Graph([])]
KERNELS = [
    ShortestPath(weighted=True),
    ShortestPathLengths(Gaussian(0.3)),
    Graphlet(3),
    Graphlet(4, connected=False),
    Propagation(2),
    Propagation(2, 0.5, attributes=True, hashes=3, norm=1),
    HashedWeisfeilerLehman(2, 0.5, hashes=3),
    GraphHopper(Gaussian(0.7)),
]
COUNTING = [kernel for kernel in KERNELS if not isinstance(kernel, ShortestPathLengths | GraphHopper)]


# -- laws ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_laws_of_kernels_hold(kernel):
    check_kernel(kernel, GRAPHS)
    check_kernel(0.5 * kernel.normalize() + 1.0, GRAPHS)
    assert type(kernel.certificate()).__name__ == "Proved"
    assert kernel.certificate().explain()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_depend_on_two_graphs_alone_and_not_on_the_numbers_of_nodes(kernel):
    K = kernel(GRAPHS)
    np.testing.assert_allclose(kernel(GRAPHS[3:], GRAPHS[:2]), K[3:, :2], rtol=1e-12, atol=1e-12)
    turned = [Graph.from_networkx(_turn(graph), attributes="place") for graph in NETWORKS]
    np.testing.assert_allclose(kernel(turned), K[:-1, :-1], rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(K[-1], 0)  # a graph without nodes is the origin


def _turn(graph):
    again = graph.__class__()
    again.add_nodes_from(reversed(list(graph.nodes(data=True))))
    again.add_edges_from(reversed(list(graph.edges(data=True))))
    return again


@pytest.mark.parametrize("kernel", COUNTING, ids=repr)
def test_features_multiply_to_the_kernel_for_new_graphs_too(kernel):
    train, test = GRAPHS[:4], GRAPHS[4:]
    vectors = kernel.features()
    left = vectors.fit_transform(train)
    np.testing.assert_allclose((left @ left.T).toarray(), kernel(train), rtol=1e-12)
    np.testing.assert_allclose((vectors.transform(test) @ left.T).toarray(), kernel(test, train), rtol=1e-12)
    assert left.shape[1] == len(vectors.get_feature_names_out())


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_models_predict_and_can_be_saved(kernel, tmp_path):
    model = mercer.KernelRidge(kernel=kernel.normalize()).fit(GRAPHS, np.arange(7.0))
    mercer.save(model, tmp_path / "model")
    np.testing.assert_allclose(mercer.load(tmp_path / "model").predict(GRAPHS), model.predict(GRAPHS), rtol=1e-12)
    assert clone(kernel) == kernel


# -- shortest paths ------------------------------------------------------------------------------------------------


def paths_of(graph, weight):
    """Return (label, label, length) of all ordered pairs of different nodes."""
    labels = networkx.get_node_attributes(graph, "label")
    found = dict(networkx.all_pairs_dijkstra_path_length(graph, weight=weight))
    return [(labels[u], labels[v], d) for u in found for v, d in found[u].items() if u != v]


@pytest.mark.parametrize("weight", ["weight", None])
def test_shortest_paths_have_the_lengths_that_networkx_finds(weight):
    every = [paths_of(graph, weight or (lambda u, v, data: 1)) for graph in NETWORKS]
    counts = [Counter((a, b, round(d, 9)) for a, b, d in found) for found in every]
    expected = [[sum(one[t] * two[t] for t in one) for two in counts] for one in counts]
    np.testing.assert_array_equal(ShortestPath(weighted=weight is not None)(GRAPHS[:-1]), expected)
    soft = [
        [sum(np.exp(-((d - e) ** 2) / 0.18) for a, b, d in one for c, f, e in two if (a, b) == (c, f)) for two in every]
        for one in every
    ]
    kernel = ShortestPathLengths(Gaussian(0.3), weighted=weight is not None)
    np.testing.assert_allclose(kernel(GRAPHS[:-1]), soft, rtol=1e-10)


def test_lengths_are_the_same_a_few_at_a_time(monkeypatch):
    whole = ShortestPathLengths()(GRAPHS)
    monkeypatch.setattr("mercer.kernels.graphs.paths.ENTRIES", 3)
    monkeypatch.setattr("mercer.kernels.graphs.lengths.SOURCES", 5)
    np.testing.assert_allclose(ShortestPathLengths()(GRAPHS), whole, rtol=1e-13)


def test_sums_of_the_same_weights_in_another_order_are_equal():
    steps = [0.1, 0.2, 0.3]
    there, back = (Graph.from_edges([(i, i + 1) for i in range(3)], weights=row) for row in (steps, steps[::-1]))
    assert ShortestPath(weighted=True).distance([there], [back]) == 0
    tiny, huge = (Graph.from_edges([(0, 1)], weights=[weight]) for weight in (5e-324, 1e308))
    np.testing.assert_array_equal(ShortestPath(weighted=True)([tiny, huge]), 4 * np.eye(2))


def test_the_shortest_of_parallel_edges_counts():
    parallel = networkx.MultiGraph([(0, 1, {"weight": 5.0}), (0, 1, {"weight": 2.0})])
    single = Graph.from_edges([(0, 1)], weights=[2.0])
    np.testing.assert_array_equal(ShortestPath(weighted=True)([parallel, single]), np.full((2, 2), 4.0))


# -- graphlets -----------------------------------------------------------------------------------------------------


def graphlets(graph, size, connected):
    """Return how often each graph occurs among all sets of nodes, each in the first of all orders of its nodes."""
    plain, found = networkx.Graph(graph), Counter()
    for nodes in combinations(plain, size):
        if not connected or networkx.is_connected(plain.subgraph(nodes)):
            A = [[plain.has_edge(u, v) for v in nodes] for u in nodes]
            found[min(tuple(A[i][j] for i, j in combinations(order, 2)) for order in permutations(range(size)))] += 1
    return found


@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize("connected", [True, False])
def test_graphlets_are_those_of_all_sets_of_nodes(size, connected):
    several = [*NETWORKS, networkx.complete_graph(5), networkx.cycle_graph(4), networkx.star_graph(4)]
    counts = [graphlets(graph, size, connected) for graph in several]
    expected = [[sum(one[s] * two[s] for s in one) for two in counts] for one in counts]
    plain = [Graph.from_networkx(graph, label="none") for graph in several]
    np.testing.assert_array_equal(Graphlet(size, connected)(plain), expected)


def test_edges_to_oneself_and_parallel_edges_make_no_graphlets():
    clean, messy = Graph([[1], [0, 2], [1]]), Graph([[0, 1, 1], [0, 0, 2], [1]])
    np.testing.assert_array_equal(Graphlet(3)([clean], [messy, clean]), [[1, 1]])


@pytest.mark.parametrize("size", [2, 5, 3.5, "4", True])
def test_graphlets_have_three_or_four_nodes(size):
    with pytest.raises(ValueError, match="size must be 3 or 4"):
        Graphlet(size)


# -- hashing -------------------------------------------------------------------------------------------------------


def distributions(graph, times):
    """Return the distribution of labels around each node after each time, as exact fractions."""
    labels = networkx.get_node_attributes(graph, "label")
    now = {node: {labels[node]: Fraction(1)} for node in graph}
    yield [frozenset(p.items()) for p in now.values()]
    for _ in range(times):
        after = {}
        for node in graph:
            edges = {v: Fraction(graph[node][v]["weight"]).limit_denominator(10) for v in graph[node]}
            mixed = Counter()
            for other, weight in edges.items():
                for label, share in now[other].items():
                    mixed[label] += share * weight / sum(edges.values())
            after[node] = mixed if edges else now[node]
        now = after
        yield [frozenset(p.items()) for p in now.values()]


def test_narrow_bins_hold_nodes_with_the_same_distribution_of_labels():
    times = [list(distributions(graph, 3)) for graph in NETWORKS]
    expected = [
        [sum(p == q for a, b in zip(one, two, strict=True) for p, q in product(a, b)) for two in times] for one in times
    ]
    for kernel in (Propagation(3), Propagation(3, norm=1, random_state=5), Propagation(3, hashes=2)):
        np.testing.assert_allclose(kernel(GRAPHS[:-1]), expected, rtol=1e-12)


def collide(distance, stable):
    """Return the probability that bins of width 1 hold both of two points, of Datar et al."""
    t = 1.0 / distance
    if stable == 1:
        return 2 * np.arctan(t) / np.pi - np.log1p(t**2) / (np.pi * t)
    return 1 - 2 * norm.cdf(-t) - 2 / (np.sqrt(2 * np.pi) * t) * (1 - np.exp(-(t**2) / 2))


@pytest.mark.parametrize("stable", [1, 2])
def test_attributes_share_bins_as_often_as_their_distance_says(stable):
    shift = np.array([0.6, -0.8])
    pair = [Graph([[]], attributes=[[0.3, 0.1]]), Graph([[]], attributes=[np.array([0.3, 0.1]) + 1.5 * shift])]
    far = 1.5 * np.abs(shift).sum() if stable == 1 else 1.5
    kernels = [Propagation(0, 1.0, attributes=True, hashes=800, norm=stable)]
    kernels += [HashedWeisfeilerLehman(0, 1.0, hashes=800)] if stable == 2 else []
    for kernel in kernels:
        np.testing.assert_allclose(kernel(pair)[0, 1], collide(far, stable), atol=0.05)


def test_bins_of_any_width_lie_between_labels_alone_and_exact_attributes():
    rng = np.random.default_rng(2)
    rows = [rng.integers(0, 2, size=(g.n_nodes, 1)).astype(float) for g in GRAPHS]
    plain = [Graph(g.neighbours, g.labels) for g in GRAPHS]
    given = [Graph(g.neighbours, g.labels, attributes=a) for g, a in zip(GRAPHS, rows, strict=True)]
    joined = [
        Graph(g.neighbours, [(label, float(x[0])) for label, x in zip(g.labels or (), a, strict=True)])
        for g, a in zip(GRAPHS, rows, strict=True)
    ]
    exact = HashedWeisfeilerLehman(2, 1e-9, hashes=2)(given)
    np.testing.assert_allclose(exact, WeisfeilerLehman(2)(joined), rtol=1e-12)
    np.testing.assert_allclose(HashedWeisfeilerLehman(2, 1e9, hashes=2)(given), WeisfeilerLehman(2)(plain), rtol=1e-12)


def test_seeds_change_the_draws_and_nothing_else_does():
    kernel = HashedWeisfeilerLehman(1, 0.5, hashes=2)
    np.testing.assert_array_equal(kernel(GRAPHS), clone(kernel)(GRAPHS))
    assert (kernel(GRAPHS) != kernel.with_params(random_state=1)(GRAPHS)).any()
    renamed = [Graph([[1], [0]], labels) for labels in ([1, 2.5], [1.0, 2.5], [True, 2.5])]
    assert len(set(Propagation(1)(renamed).ravel())) == 1


def test_equal_labels_are_drawn_alike_however_they_are_written():
    for one, other in ((0.0, -0.0), (1, True), (2, 2.0), ((0.0, "a"), (-0.0, "a")), (10**400, 10**400)):
        assert name_label(one, "k") == name_label(other, "k")
    assert len({name_label(label, "k") for label in (1, "1", b"1", (1,), ("1",), None, 2**60, 2**60 + 1)}) == 8


def test_what_hashing_cannot_take_is_named():
    for kernel in (HashedWeisfeilerLehman(), Propagation(attributes=True), GraphHopper()):
        with pytest.raises(
            ValueError, match=r"compares the attributes of nodes, .*from_networkx\(graph, attributes=…\)"
        ):
            kernel([Graph([[1], [0]])])
    with pytest.raises(TypeError, match="labels must be strings, numbers or tuples"):
        Propagation()([Graph([[]], [frozenset("ab")])])
    with pytest.raises(ValueError, match="norm must be 1 or 2, got 3"):
        Propagation(norm=3)
    with pytest.raises(ValueError, match="width must be a positive finite number"):
        HashedWeisfeilerLehman(width=0.0)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_graphs_without_nodes_have_no_likeness_to_any(kernel):
    for graphs in ([Graph([])], [Graph([])] * 2, [Graph([]), GRAPHS[0]]):
        assert (kernel(graphs)[0] == 0).all()
        assert kernel.diag(graphs)[0] == 0


# -- GraphHopper ---------------------------------------------------------------------------------------------------


def hop(one, two, base):
    """Sum the kernel of nodes along all pairs of shortest paths with as many edges."""
    total = 0.0
    compared = base([one.nodes[u]["place"] for u in one], [two.nodes[v]["place"] for v in two])
    paths = [
        [path for u in g for v in g if networkx.has_path(g, u, v) for path in networkx.all_shortest_paths(g, u, v)]
        for g in (one, two)
    ]
    for left, right in product(*paths):
        if len(left) == len(right):
            for u, v in zip(left, right, strict=True):
                total += compared[u, v] if one.nodes[u]["label"] == two.nodes[v]["label"] else 0.0
    return total


@pytest.mark.parametrize("base", [Gaussian(0.7), Linear(), Polynomial(2).on([0])], ids=repr)
def test_graph_hopper_compares_shortest_paths_node_by_node(base):
    few = [0, 1, 2, 5] if base == Gaussian(0.7) else [1, 2]
    expected = [[hop(NETWORKS[i], NETWORKS[j], base) for j in few] for i in few]
    kernel = GraphHopper(base)
    np.testing.assert_allclose(kernel([GRAPHS[i] for i in few]), expected, rtol=1e-10, atol=1e-12)


def test_kernels_inside_decide_whether_it_is_proved():
    assert GraphHopper(Sigmoid()).theorem() is None
    assert ShortestPathLengths(Sigmoid()).theorem() is None
    with pytest.raises(TypeError, match="base must be a kernel"):
        GraphHopper(2.0)
