"""Sums of kernels on objects as weights of features: the same values, whatever the kernel is composed of."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import SVC, Expansion, Gram
from mercer.features.collapsed import collapse
from mercer.kernels import (
    Edit,
    GappedKmer,
    Gaussian,
    Graph,
    Graphlet,
    HashedWeisfeilerLehman,
    Mismatch,
    Propagation,
    ShortestPath,
    Spectrum,
    Subsequence,
    Subtree,
    WeightedDegree,
    WeisfeilerLehman,
    WeisfeilerLehmanAssignment,
)
from mercer.kernels.strings import collapsed

RNG = np.random.default_rng(0)


def random_strings(count, longest=30, letters="ACGT", seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), size=rng.integers(0, longest + 1))) for _ in range(count)]


CENTERS = [*random_strings(150), "ACGT" * 5, "ACGT" * 5]
NEW = [*random_strings(30, seed=1), "", "ACGT" * 5]
COEF = RNG.normal(size=(len(CENTERS), 2))


def by_values(kernel, X, centers, coef):
    return kernel(X, centers) @ coef


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max(initial=1.0))


LEAVES = [Spectrum(3), Spectrum(4, shortest=2), GappedKmer(5, 2), Mismatch(4, 1), WeightedDegree(3)]
leaves = st.sampled_from([*LEAVES, Subsequence(2, 0.5)])
kernels = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda k, w: w * k, inner, st.floats(0.1, 3.0)),
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda k, c: k + c, inner, st.floats(0.1, 3.0)),
        inner.map(lambda k: k.normalize()),
        inner.map(lambda k: k.after(str.upper)),
    ),
    max_leaves=4,
)


@given(kernels)
@settings(max_examples=40, deadline=None)
def test_a_collapsed_sum_is_the_sum_whatever_the_kernel_is_composed_of(kernel):
    f = collapse(kernel, CENTERS, COEF, 10**9, by_values)
    if f is not None:
        close(f(NEW), by_values(kernel, NEW, CENTERS, COEF))
        values, squares = f.with_squares(NEW)
        close(values, by_values(kernel, NEW, CENTERS, COEF))
        close(squares, kernel.diag(NEW))


@pytest.mark.parametrize("kernel", LEAVES, ids=repr)
def test_kernels_that_count_words_collapse(kernel):
    assert collapse(kernel, CENTERS, COEF, 10**9, by_values) is not None


@pytest.mark.parametrize("kernel", [GappedKmer(5, 2), Spectrum(3), Mismatch(4, 1), WeightedDegree(4)], ids=repr)
def test_sums_stay_as_they_are_where_memory_does_not_hold_their_words(kernel):
    assert collapse(kernel, CENTERS, COEF, 10**9, by_values) is not None
    assert collapse(kernel, CENTERS, COEF, 1000, by_values) is None


@pytest.mark.parametrize("kernel", [*LEAVES[:3], WeightedDegree(3)], ids=repr)
def test_tokens_that_no_center_has_are_no_words_of_the_sum(kernel):
    strange = ["ACXGTACG", "xyz", "NNNNNNN", "ACGTNACGTTGCA"]
    f = collapse(kernel, CENTERS, COEF, 10**9, by_values)
    close(f(strange), by_values(kernel, strange, CENTERS, COEF))


@pytest.mark.parametrize("letters", ["abcdefghijklmnopqrstuvwxyz", "aéßж中"])
@pytest.mark.parametrize("kernel", [Spectrum(5), GappedKmer(6, 1), WeightedDegree(4)], ids=repr)
def test_long_words_of_many_letters_are_found_in_a_tree(kernel, letters):
    centers = random_strings(900, letters=letters, seed=2)
    new, coef = [*centers[:20], *random_strings(20, letters=letters, seed=3)], RNG.normal(size=(900, 1))
    f = collapse(kernel, centers, coef, 10**9, by_values)
    close(f(new), by_values(kernel, new, centers, coef))


def test_lists_of_words_and_bytes_collapse_too_but_are_not_mixed():
    sentences = [text.replace("A", "to ").replace("C", "be ").split() for text in random_strings(80, seed=4)]
    coef = RNG.normal(size=(80, 1))
    f = collapse(Spectrum(2), sentences, coef, 10**9, by_values)
    close(f(sentences[:9]), by_values(Spectrum(2), sentences[:9], sentences, coef))
    with pytest.raises(TypeError, match="mixed types"):
        f(["to be"])


def test_subtrees_collapse():
    trees = [f"(S (NP {a}) (VP (V {b}) (NP {a})))" for a in "abc" for b in "xyz"] * 3
    coef, kernel = RNG.normal(size=(27, 2)), Subtree().normalize()
    f = collapse(kernel, trees, coef, 10**9, by_values)
    close(f([*trees, "(S (NP q))"]), by_values(kernel, [*trees, "(S (NP q))"], trees, coef))


@pytest.mark.parametrize(
    "kernel", [Edit(0.5), Subsequence(2), Spectrum(2) * Spectrum(3), (-1.0 * Spectrum(2)).normalize()]
)
def test_kernels_without_few_features_of_each_object_stay_as_they_are(kernel):
    assert collapse(kernel, CENTERS, COEF, 10**9, by_values) is None


def test_numbers_beside_strings_are_summed_by_kernel_values():
    X = np.array([[text, i / 10] for i, text in enumerate(CENTERS)], dtype=object)
    kernel = Spectrum(3).on([0]).normalize() + 2.0 * Gaussian().after(lambda X: X[:, 1:].astype(float))
    f = collapse(kernel, X, COEF, 10**9, by_values)
    close(f(X[:7]), by_values(kernel, X[:7], X, COEF))


def test_an_expansion_collapses_when_it_is_asked_and_neither_copies_nor_pickles_know():
    kernel = GappedKmer(5, 1).normalize()
    f = Expansion(kernel, CENTERS, COEF[:, 0], 0.5)
    expected = Gram(kernel, NEW, CENTERS) @ COEF[:, 0] + 0.5
    before = set(vars(f))
    close(f(NEW), expected)
    assert f._collapsed is not None
    assert set(vars(f)) == before
    for again in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        assert not hasattr(again, "_collapsed")
        np.testing.assert_array_equal(again(NEW), f(NEW))


def test_a_machine_decides_by_words_as_it_did_by_support_vectors():
    y = np.array([text.count("A") > text.count("C") for text in CENTERS])
    machine = SVC(kernel=Mismatch(3, 1).normalize()).fit(CENTERS, y)
    f = machine.expansion_
    close(machine.decision_function(NEW), Gram(f.kernel, NEW, f.centers) @ f.coef + f.intercept)


@pytest.mark.parametrize("kernel", [Mismatch(4, 1), WeightedDegree(4)], ids=repr)
def test_strings_are_summed_some_at_a_time_so_that_ctrl_c_is_heard(kernel, monkeypatch):
    f = collapse(kernel, CENTERS, COEF, 10**9, by_values)
    whole, rows = f(NEW), []

    class Counting:
        def sum(self, table, ids, *rest):
            rows.append(len(ids))
            return tree.sum(table, ids, *rest)

    def count_window_sums(table, ids, *rest):
        rows.append(len(ids))
        return window_sums(table, ids, *rest)

    tree, window_sums = f._tree, collapsed._native.window_sums
    monkeypatch.setattr(collapsed._native, "window_sums", count_window_sums)
    f._tree = None if tree is None else Counting()
    monkeypatch.setattr(collapsed, "CALL_STEPS", 20)
    np.testing.assert_array_equal(f(NEW), whole)
    assert len(rows) > 3
    assert sum(rows) == len(set(NEW))
    close(collapse(kernel, CENTERS, COEF, 10**9, by_values)(NEW), whole)  # words are collected some at a time, too


def random_graphs(count, labels="CNO", edges="12", seed=0):
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(rng.integers(0, 9))
        arcs = [[int(j) for j in range(n) if j != i and rng.random() < 0.3] for i in range(n)]
        kinds = [[str(rng.choice(list(edges))) for _ in some] for some in arcs]
        weights = [[float(rng.choice([0.5, 1.0, 1.7])) for _ in some] for some in arcs]
        nodes = [str(rng.choice(list(labels))) for _ in range(n)]
        graphs.append(Graph(arcs, nodes, kinds, weights, rng.normal(size=(n, 2)).round(1)))
    return graphs


GRAPH_KERNELS = [
    WeisfeilerLehman(0),
    WeisfeilerLehman(3),
    WeisfeilerLehmanAssignment(2),
    ShortestPath(),
    ShortestPath(weighted=True),
    Graphlet(3),
    Graphlet(4, connected=False),
    Propagation(2),
    Propagation(2, attributes=True, width=0.5, hashes=2),
    HashedWeisfeilerLehman(2, hashes=3),
]


@pytest.mark.parametrize("kernel", GRAPH_KERNELS, ids=repr)
@pytest.mark.parametrize(
    "composed", [lambda k: k, lambda k: 2.0 * k.normalize() + 0.5, lambda k: k + WeisfeilerLehman(1)]
)
def test_sums_over_graphs_collapse_to_weights_of_what_they_have(kernel, composed):
    kernel, centers = composed(kernel), [*random_graphs(60), Graph([], [], [])]
    # Labels of nodes and of edges that no centre has, more neighbours and longer paths than any of them.
    star = Graph([list(range(1, 12)), *[[0]] * 11], ["C"] * 12, [["1"] * 11, *[["1"]] * 11], None, np.ones((12, 2)))
    arcs = [[1], *[[i - 1, i + 1] for i in range(1, 14)], [13]]
    path = Graph(arcs, ["N"] * 15, [["2" for _ in some] for some in arcs], None, 9.0 * np.ones((15, 2)))
    new = [*random_graphs(20, "CNOX", "123", seed=1), star, path, centers[3], Graph([], [], [])]
    coef = RNG.normal(size=(len(centers), 2))
    f = collapse(kernel, centers, coef, 10**9, by_values)
    close(f(new), by_values(kernel, new, centers, coef))
    close(f(new), by_values(kernel, new, centers, coef))  # nothing of the new graphs was learnt
    close(f(new[-1:]), by_values(kernel, new[-1:], centers, coef))
    close(f.with_squares(new)[1], kernel.diag(new))


@pytest.mark.parametrize("kernel", GRAPH_KERNELS, ids=repr)
def test_features_of_graphs_never_seen_are_those_that_the_kernel_multiplies(kernel):
    centers, new = random_graphs(20), random_graphs(10, "CNOX", "123", seed=1)
    features = kernel.features().fit(centers)
    close((features.transform(new) @ features.transform(centers).T).toarray(), kernel(new, centers))


@pytest.mark.parametrize("kernel", GRAPH_KERNELS, ids=repr)
def test_graphs_with_more_attributes_than_centers_have_are_refused(kernel):
    f = collapse(kernel, random_graphs(40), np.ones((40, 1)), 10**9, by_values)
    with pytest.raises(ValueError, match="earlier graphs have 2 attributes, but those of these graphs have 3"):
        f([Graph([[1], [0]], "CN", [["1"], ["1"]], attributes=np.ones((2, 3)))])


@pytest.mark.parametrize("kernel", GRAPH_KERNELS, ids=repr)
def test_graphs_without_the_labels_that_centers_have_are_refused(kernel):
    f = collapse(kernel, random_graphs(40), np.ones((40, 1)), 10**9, by_values)
    with pytest.raises(ValueError, match="earlier graphs have node labels, but graph 0 has no such; give them to all"):
        f([Graph([[1], [0]])])


@pytest.mark.parametrize("kernel", GRAPH_KERNELS, ids=repr)
def test_sums_over_graphs_stay_as_they_are_where_memory_does_not_hold_their_weights(kernel):
    assert collapse(kernel, random_graphs(40), np.ones((40, 1)), 50, by_values) is None


def test_a_machine_decides_by_substructures_as_it_did_by_support_graphs():
    graphs = random_graphs(80)
    y = np.array([len(graph.labels) > 4 for graph in graphs])
    model = SVC(kernel=WeisfeilerLehman(2).normalize()).fit(graphs, y)
    new = random_graphs(30, "CNOX", seed=2)
    f = model.expansion_
    close(model.decision_function(new), f.kernel(new, f.centers) @ f.coef + f.intercept)
