"""Kernels on trees: against their definitions, against values of another implementation, in every form of a tree."""

import math
import pickle
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer import Gram, _native
from mercer.certify.verdict import Proved, Refuted
from mercer.kernels import Gaussian, Linear, PartialTree, SubsetTree, Subtree
from mercer.kernels.trees import fragments as tree_fragments
from mercer.models.logistic import KernelLogisticRegression
from mercer.models.neighbors import KernelNeighborsClassifier
from mercer.models.pca import KernelPCA
from mercer.models.ridge_classifier import KernelRidgeClassifier
from mercer.models.svm import SVC
from mercer.testing import check_kernel

SENTENCES = [
    "(S (NP (N we)) (VP (V saw) (NP (D the) (N stars))))",
    "(S (NP (D the) (N stars)) (VP (V shone)))",
    "(S (NP (N we)) (VP (V slept)))",
    "(Q (W who) (VP (V saw) (NP (D the) (N moon))))",
    "(Q (W who) (VP (V slept)))",
    "(Q (W what) (VP (V shone)))",
    "(S (NP (D the) (N moon)) (VP (V shone) (NP (N stars))))",
    "(S (NP (N we)) (VP (V saw) (NP (D the) (N stars))))",
    "(Q (W who) (VP (V saw) (NP (N stars))))",
]
KINDS = ["q" if s.startswith("(Q") else "s" for s in SENTENCES]
KERNELS = [
    Subtree(0.4), Subtree(0.7, leaves=False), SubsetTree(0.4), SubsetTree(0.8, leaves=False), PartialTree(0.5, 0.3),
    PartialTree(0.4, 0.4, 5.0),
]  # fmt: skip
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


# -- the definitions, on trees as tuples of a label and children ---------------------------------------------------


def nodes(tree):
    yield tree
    for child in tree[1:]:
        yield from nodes(child)


def fragments(tree):
    """All subset trees that grow from the root, as nested tuples of labels; children left alone are bare labels."""
    choices = [[child[0], *(fragments(child) if len(child) > 1 else [])] for child in tree[1:]]
    return [(tree[0], *chosen) for chosen in product(*choices)]


def inner_nodes(fragment):
    return isinstance(fragment, tuple) and len(fragment) > 1 and 1 + sum(map(inner_nodes, fragment[1:]))


def by_features(count, x, z, weight):
    left, right = count(x), count(z)
    return sum(weight(f) * left[f] * right[f] for f in left)


def subset_features(tree, leaves):
    found = Counter(f for node in nodes(tree) if len(node) > 1 for f in fragments(node))
    return found + Counter(node for node in nodes(tree) if len(node) == 1 and leaves)


def subtree_features(tree, leaves):
    return Counter(node for node in nodes(tree) if len(node) > 1 or leaves)


def subset_by_recursion(x, z, decay, leaves):
    @cache
    def delta(s, t):
        if len(s) == 1 and s == t:
            return decay if leaves else 0.0
        if len(s) == 1 or [s[0], *(c[0] for c in s[1:])] != [t[0], *(c[0] for c in t[1:])]:
            return 0.0
        pairs = zip(s[1:], t[1:], strict=True)
        return decay * math.prod(1 if len(a) == 1 or len(b) == 1 else 1 + delta(a, b) for a, b in pairs)

    return sum(delta(s, t) for s in nodes(x) for t in nodes(z))


def partial_by_recursion(x, z, decay, vertical_decay, terminal_factor):
    def skipped(places):
        return places[-1] - places[0] + 1 - len(places)

    @cache
    def delta(s, t):
        if s[0] != t[0]:
            return 0.0
        if len(s) == 1 and len(t) == 1:
            return terminal_factor * vertical_decay * decay**2
        total = decay**2
        for count in range(1, min(len(s), len(t))):
            for left, right in product(combinations(range(1, len(s)), count), combinations(range(1, len(t)), count)):
                gaps = skipped(left) + skipped(right)
                total += decay**gaps * math.prod(delta(s[i], t[j]) for i, j in zip(left, right, strict=True))
        return vertical_decay * total

    return sum(delta(s, t) for s in nodes(x) for t in nodes(z))


labels = st.sampled_from("ab")
random_trees = st.recursive(
    st.tuples(labels),
    lambda inner: st.builds(
        lambda label, children: (label, *children), labels, st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=7,
)
decays = st.floats(0.1, 1.5)


def loops(function, X, Z):
    return [[function(x, z) for z in Z] for x in X]


@settings(max_examples=30, deadline=None)
@given(st.lists(random_trees, min_size=1, max_size=3), st.lists(random_trees, min_size=1, max_size=3), decays)
@pytest.mark.parametrize("leaves", [True, False])
def test_subset_trees_are_counted_as_the_recursion_and_as_the_features_say(leaves, X, Z, decay):
    K = SubsetTree(decay, leaves=leaves)(X, Z)
    np.testing.assert_allclose(K, loops(lambda x, z: subset_by_recursion(x, z, decay, leaves), X, Z), rtol=1e-12)
    count = cache(lambda tree: subset_features(tree, leaves))
    weight = lambda f: decay ** max(1, inner_nodes(f))  # noqa: E731
    np.testing.assert_allclose(K, loops(lambda x, z: by_features(count, x, z, weight), X, Z), rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(random_trees, min_size=1, max_size=3), st.lists(random_trees, min_size=1, max_size=3), decays, decays)
def test_partial_trees_are_counted_as_the_recursion_says(X, Z, decay, vertical_decay):
    K = PartialTree(decay, vertical_decay, 2.5)(X, Z)
    expected = loops(lambda x, z: partial_by_recursion(x, z, decay, vertical_decay, 2.5), X, Z)
    np.testing.assert_allclose(K, expected, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(random_trees, min_size=1, max_size=3), st.lists(random_trees, min_size=1, max_size=3), decays)
@pytest.mark.parametrize("leaves", [True, False])
def test_complete_subtrees_are_counted(leaves, X, Z, decay):
    count = cache(lambda tree: subtree_features(tree, leaves))
    weight = lambda t: decay ** max(1, inner_nodes(t))  # noqa: E731
    expected = loops(lambda x, z: by_features(count, x, z, weight), X, Z)
    np.testing.assert_allclose(Subtree(decay, leaves=leaves)(X, Z), expected, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(random_trees, min_size=2, max_size=6))
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_gram_matrix_of_any_trees_is_positive_semi_definite_and_has_the_diagonal(kernel, X):
    K = kernel(X)
    assert np.linalg.eigvalsh(K).min() >= -1e-12 * np.trace(K)
    np.testing.assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-13)
    np.testing.assert_allclose(K, K.T, rtol=1e-14)


@settings(max_examples=30, deadline=None)
@given(random_trees, random_trees, st.booleans())
def test_complete_subtrees_are_some_of_the_subset_trees(x, z, leaves):
    assert Subtree(0.6, leaves)([x], [z]) <= SubsetTree(0.6, leaves)([x], [z]) * (1 + 1e-12)


# -- values of another implementation ------------------------------------------------------------------------------

# The first four test questions of the question classification data (Li and Roth, 2002), parsed, with the normalised
# kernels between neighbours as published with KeLP: subset tree with decay 0.4 and leaves, partial tree with decay 0.4,
# vertical decay 0.4 and terminal factor 5.
QUESTIONS = [
    "(SYNT##root(SYNT##advmod(SYNT##advmod(POS##WRB(LEX##how::w)))(POS##RB(LEX##far::r)))(POS##VBZ(LEX##be::v))"
    "(SYNT##nsubj(POS##PRP(LEX##it::p)))(SYNT##prep_from(POS##NNP(LEX##denver::n))(SYNT##prep_to(POS##NNP("
    "LEX##aspen::n)))))",
    "(SYNT##root(SYNT##nsubj(SYNT##det(POS##WDT(LEX##what::w)))(POS##NN(LEX##county::n)))(POS##VBZ(LEX##be::v))"
    "(SYNT##nsubj(SYNT##nn(POS##NNP(LEX##modesto::n)))(POS##NNP(LEX##california::n)))(SYNT##prep(POS##IN("
    "LEX##in::i))))",
    "(SYNT##root(POS##WP(LEX##who::w))(SYNT##cop(POS##VBD(LEX##be::v)))(SYNT##nsubj(POS##NNP(LEX##galileo::n))))",
    "(SYNT##root(POS##WP(LEX##what::w))(SYNT##cop(POS##VBZ(LEX##be::v)))(SYNT##nsubj(SYNT##det(POS##DT(LEX##a::d)))"
    "(POS##NN(LEX##atom::n))))",
]
SUBSET_VALUES = [0.07083491, 0.05386461, 0.13852638]
PARTIAL_VALUES = [0.23717473, 0.2333654, 0.26900247]


@pytest.mark.parametrize(
    ("kernel", "values"),
    [(SubsetTree(0.4), SUBSET_VALUES), (PartialTree(0.4, 0.4, 5.0), PARTIAL_VALUES)],
    ids=["subset", "partial"],
)
def test_published_values_are_met_to_their_digits(kernel, values):
    np.testing.assert_allclose(np.diag(kernel.normalize()(QUESTIONS), 1), values, rtol=0, atol=1e-7)


# -- forms of trees ------------------------------------------------------------------------------------------------


@dataclass
class Attributes:
    label: Any
    children: list[Any] = field(default_factory=list)


class Methods:
    def __init__(self, label, *children):
        self._label, self._children = label, children

    def label(self):
        return self._label

    def children(self):
        return self._children


class Listed(list):
    """As NLTK's trees: a list of children with a method that gives the label."""

    def __init__(self, label, children):
        super().__init__(children)
        self._label = label

    def label(self):
        return self._label


FORMS = {
    "spaces": "(S (NP x) (VP (V y) z))",
    "no spaces": "(S(NP(x))(VP(V(y))(z)))",
    "lines": "  (S\n\t(NP x )\n (VP ( V y)(z))\n)\n",
    "tuples": ("S", ("NP", "x"), ("VP", ("V", "y"), "z")),
    "leaves in tuples": ("S", ("NP", ("x",)), ("VP", ("V", ("y",)), ("z",))),
    "lists": ["S", ["NP", "x"], ["VP", ["V", "y"], "z"]],
    "attributes": Attributes("S", [Attributes("NP", ["x"]), Attributes("VP", [Attributes("V", ["y"]), "z"])]),
    "no children": Attributes("S", [Attributes("NP", [Attributes("x", None)]), ("VP", ("V", "y"), "z")]),
    "methods": Methods("S", Methods("NP", Methods("x")), Methods("VP", Methods("V", "y"), "z")),
    "lists with labels": Listed("S", [Listed("NP", ["x"]), Listed("VP", [Listed("V", ["y"]), "z"])]),
}


@each_kernel
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_tree_is_the_same_tree(kernel, form):
    others = ["(S (NP x) (VP slept))", FORMS["spaces"], "(V y)"]
    np.testing.assert_array_equal(kernel([FORMS[form]], others), kernel([FORMS["spaces"]], others))


def test_forms_may_be_mixed_in_one_collection():
    K = SubsetTree().normalize()(list(FORMS.values()))
    np.testing.assert_allclose(K, 1.0, rtol=1e-14)


@pytest.mark.parametrize(("left", "right"), [("x", "(x)"), ("((S x))", ("", ("S", "x"))), (("x",), "x")])
def test_single_nodes_and_brackets_around_a_tree_are_read(left, right):
    np.testing.assert_array_equal(PartialTree()([left]), PartialTree()([left], [right]))
    assert PartialTree()([left])[0, 0] > 0


def test_labels_may_be_any_hashable_values():
    trees = [(1, (2.5, frozenset("a")), True), (1, (2.5, frozenset("a")), "1")]
    # Five fragments of the first; the second shares (2.5 …) and the leaf below it.
    np.testing.assert_allclose(SubsetTree(1.0)(trees), [[5, 2], [2, 5]])


def test_trees_of_numbers_go_through_estimators_that_make_a_table_of_them():
    X, y = [(1, 2), (1, 3), (4, 2), (4, 3)], [0, 0, 1, 1]
    assert SVC(kernel=PartialTree(), C=100.0).fit(X, y).score(X, y) == 1.0


@each_kernel
@pytest.mark.parametrize("as_text", [True, False])
def test_depth_is_not_limited_by_recursion(kernel, as_text):
    depth = 1500
    tree: Any = "a"
    for _ in range(depth):
        tree = ("a", tree)
    text = "(a" * depth + "(a)" + ")" * depth
    assert kernel.normalize()([text if as_text else tree], ["(a (a a))"])[0, 0] > 0


def test_subtrees_shared_by_reference_are_no_cycle():
    shared = ("NP", "x")
    np.testing.assert_array_equal(Subtree()([("S", shared, shared)]), Subtree()(["(S (NP x) (NP x))"]))


# -- laws ----------------------------------------------------------------------------------------------------------


@each_kernel
def test_kernels_obey_the_laws(kernel):
    check_kernel(kernel, SENTENCES)
    check_kernel(kernel.normalize(), SENTENCES)


def test_trees_compose_with_other_kernels():
    k = SubsetTree().normalize() * Gaussian(5.0).after(len) + 0.5 * PartialTree() + Linear().after(lambda s: [len(s)])
    check_kernel(k, SENTENCES)
    assert isinstance(k.certificate(), Proved)
    first_branch = SubsetTree().after(lambda s: s[s.index("(", 1) : -1].split(") (VP")[0] + ")")
    np.testing.assert_allclose(first_branch(SENTENCES[1:2]), SubsetTree()(["(NP (D the) (N stars))"]))


def test_distances_are_those_of_the_features():
    features = Subtree().features().fit_transform(SENTENCES).toarray()
    expected = ((features[:, None, :] - features[None, :, :]) ** 2).sum(axis=2)
    np.testing.assert_allclose(Subtree().distance(SENTENCES), expected, atol=1e-13)


@each_kernel
def test_permuting_trees_permutes_the_matrix(kernel):
    order = np.random.default_rng(0).permutation(len(SENTENCES))
    permuted = kernel([SENTENCES[i] for i in order])
    np.testing.assert_allclose(permuted, kernel(SENTENCES)[np.ix_(order, order)], rtol=1e-14)


@each_kernel
def test_draw_rows_of_the_gram_matrix_are_those_of_all(kernel):
    K = kernel(SENTENCES)
    gram = Gram(kernel, SENTENCES)
    np.testing.assert_allclose(gram.rows([5, 0, 5]), K[[5, 0, 5]], rtol=1e-14)
    np.testing.assert_allclose(gram.rows(slice(2, 4)), K[2:4], rtol=1e-14)
    np.testing.assert_allclose(Gram(kernel, SENTENCES[:3], SENTENCES).dense(), K[:3], rtol=1e-14)


@pytest.mark.parametrize("kernel", [SubsetTree(), PartialTree()], ids=repr)
def test_neither_threads_nor_the_size_of_parts_change_the_values(kernel, monkeypatch):
    X = [("S", *(("NP", word, ("N", word + other)) for word in "abcdef"), ("VP", other)) for other in "stuvwxyz"] * 8
    reference = kernel(X)
    monkeypatch.setattr(tree_fragments, "default_threads", lambda: 3)
    np.testing.assert_array_equal(kernel(X), reference)
    monkeypatch.setattr(tree_fragments, "WORK", 1)
    np.testing.assert_array_equal(kernel(X), reference)


@each_kernel
def test_what_is_proved_and_what_is_not(kernel):
    assert isinstance(kernel.certificate(), Proved)
    assert isinstance(kernel.normalize().certificate(), Proved)


def test_leaves_that_weigh_less_than_other_nodes_make_no_kernel():
    weak = PartialTree(0.4, 0.4, terminal_factor=0.1)
    sample = ["a", "(a b)"]
    assert np.linalg.eigvalsh(weak(sample)).min() < 0
    verdict = weak.certificate(sample=sample)
    assert isinstance(verdict, Refuted)
    assert verdict.value < 0
    with pytest.raises(ValueError, match="needs a positive semi-definite kernel"):
        KernelRidgeClassifier(kernel=weak).fit(sample, [0, 1])


def test_trees_without_fragments_are_orthogonal_to_all():
    K = SubsetTree(leaves=False).normalize()(["x", "(S x)"])
    np.testing.assert_allclose(K, [[0, 0], [0, 1]], rtol=1e-15)


# -- features ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Subtree(0.3), Subtree(0.9, leaves=False)], ids=repr)
def test_features_of_subtrees_give_the_kernel_with_the_fitted_trees(kernel):
    phi = kernel.features().fit(SENTENCES[:4])
    known, new = phi.transform(SENTENCES[:4]), phi.transform(SENTENCES)
    np.testing.assert_allclose((new @ known.T).toarray(), kernel(SENTENCES, SENTENCES[:4]), rtol=1e-13)
    np.testing.assert_array_equal(phi.fit_transform(SENTENCES[:4]).toarray(), known.toarray())
    assert len(phi.get_feature_names_out()) == known.shape[1]
    again = pickle.loads(pickle.dumps(phi))
    np.testing.assert_array_equal(again.transform(SENTENCES).toarray(), new.toarray())


def test_features_feed_a_linear_model():
    model = make_pipeline(Subtree().features(), LogisticRegression(C=100.0)).fit(SENTENCES, KINDS)
    assert model.score(SENTENCES, KINDS) == 1.0


def test_names_of_features_are_trees():
    phi = Subtree(0.5).features().fit(SENTENCES)
    names = phi.get_feature_names_out().tolist()
    np.testing.assert_array_equal(phi.transform(names).diagonal() > 0, True)  # each occurs in the tree it names
    assert SENTENCES[0] in names


# -- estimators ----------------------------------------------------------------------------------------------------


@each_kernel
@pytest.mark.parametrize(
    "model",
    [
        SVC(C=100.0),
        KernelRidgeClassifier(alpha=1e-3),
        KernelLogisticRegression(alpha=1e-3),
        KernelNeighborsClassifier(1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classifiers_take_trees(kernel, model):
    model = pickle.loads(pickle.dumps(model)).set_params(kernel=kernel.normalize()).fit(SENTENCES, KINDS)
    assert model.score(SENTENCES, KINDS) == 1.0
    scores = cross_val_score(make_pipeline(FunctionTransformer(), model), SENTENCES * 2, KINDS * 2, cv=2)
    np.testing.assert_array_equal(scores, 1.0)  # each fold has seen all sentences


@each_kernel
def test_components_of_trees_reproduce_the_centred_kernel(kernel):
    model = KernelPCA(n_components=None, kernel=kernel).fit(SENTENCES)
    projected = model.transform(SENTENCES)
    centring = np.eye(len(SENTENCES)) - 1 / len(SENTENCES)
    np.testing.assert_allclose(projected @ projected.T, centring @ kernel(SENTENCES) @ centring, atol=1e-9)


# -- mistakes ------------------------------------------------------------------------------------------------------


def _cycle():
    node = Attributes("loop")
    node.children = [Attributes("x", [node])]
    return node


def _own_list():
    node: list[Any] = ["a"]
    node.append(node)
    return node


@each_kernel
@pytest.mark.parametrize(
    ("tree", "error", "message"),
    [
        ("", ValueError, "the tree '' is empty; give one tree"),
        ("  ", ValueError, "is empty"),
        ("(S (NP x)", ValueError, r"leaves 1 brackets open; balance"),
        ("(S x))", ValueError, "closes a bracket that was never opened"),
        ("(S ())", ValueError, r"has a node '\(\)' without a label"),
        ("we saw stars", ValueError, "has 3 roots; give one tree in a string"),
        ((), ValueError, r"has a node \(\) without a label"),
        (("S", []), ValueError, r"has a node \[\] without a label"),
        ((("S", "x"), "y"), TypeError, r"begins with \('S', 'x'\) where its label is expected"),
        (("S", {"x": 1}), TypeError, "the label {'x': 1} of type dict is not hashable; use a string"),
        (("S", None), ValueError, "a node with the label None; give every node a label"),
        (("S", math.nan), ValueError, "a node with the label nan"),
        (3.5, TypeError, "3.5 is no tree but of type float; give an s-expression such as"),
        (b"(S x)", TypeError, "of type bytes"),
        (None, TypeError, "None is no tree"),
        (_cycle(), ValueError, "the tree has a cycle: the node 'loop' is among its own descendants"),
        (_own_list(), ValueError, "the tree has a cycle"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_tree_is_refused_with_its_position(kernel, tree, error, message):
    with pytest.raises(error, match=r"Tree\(|Subtree\(") as caught:
        kernel(["(S x)", tree])
    assert caught.match("object 1: ")
    assert caught.match(message)
    with pytest.raises(error, match="object 0: "):
        kernel(["(S x)"], [tree])


def test_a_label_without_children_is_refused():
    class Bare:
        label = "x"

    with pytest.raises(TypeError, match="has a label but neither children nor a way to iterate over them"):
        Subtree()([Bare()])


@pytest.mark.parametrize("kernel", [Subtree, SubsetTree, PartialTree])
@pytest.mark.parametrize("decay", [0.0, -1.0, math.nan, math.inf, "a"])
def test_decay_must_be_positive(kernel, decay):
    with pytest.raises(ValueError, match=r"decay must be a positive finite number, got"):
        kernel(decay)


def test_other_parameters_are_checked():
    with pytest.raises(ValueError, match="PartialTree: vertical_decay must be a positive finite number, got 0"):
        PartialTree(0.4, 0)
    with pytest.raises(ValueError, match="PartialTree: terminal_factor must be a finite number that is not negative"):
        PartialTree(terminal_factor=-1.0)
    with pytest.raises(ValueError, match="leaves must be True or False, got 'no'"):
        SubsetTree(leaves="no")


def test_too_many_fragments_are_reported_with_the_remedy():
    tree: Any = "a"
    for _ in range(13):
        tree = ("a", tree, tree)
    with pytest.raises(OverflowError, match=r"SubsetTree.*beyond float64; use .*normalize\(\).* or a smaller decay"):
        SubsetTree(1.0)([tree])
    with pytest.raises(OverflowError, match="or a smaller decay"):
        SubsetTree(1.0).diag([tree])


def test_the_compiled_core_refuses_tables_that_make_no_sense():
    def block(**changed):
        arrays = {
            "start": [0, 0, 1], "child": [0], "group": [0, 1], "row_start": [0, 2], "row_subtree": [0, 1],
            "column_start": [0, 2], "column_subtree": [0, 1],
        } | changed  # fmt: skip
        out = np.empty((1, 1))
        _native.tree_block(
            **{name: np.array(values, dtype=np.int64) for name, values in arrays.items()},
            row_count=np.ones(2), column_count=np.ones(2), partial=False, decay=0.5, vertical_decay=1.0,
            terminal_factor=1.0, leaves=True, pairs=100, logarithms=False, out=out, threads=1,
        )  # fmt: skip
        return out[0, 0]

    assert block() == 1.0
    for changed, message in [
        ({"child": [1]}, "children must come before their parents"),
        ({"child": [-1]}, "children must come before their parents"),
        ({"start": [0, 2, 1]}, "start must rise from 0 to 1"),
        ({"group": [0, 9]}, "groups must be numbered from 0"),
        ({"group": [0, 0]}, "a production must always have as many children"),
        ({"row_subtree": [1, 0]}, "row_subtree must list children before their parents in every row"),
        ({"column_subtree": [1, 1]}, "column_subtree must list children before their parents in every row"),
        ({"row_subtree": [0, 7]}, "must lie in 0..1, got 7"),
    ]:
        with pytest.raises(ValueError, match=message):
            block(**changed)
