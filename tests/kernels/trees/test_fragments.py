"""Fragments of trees beyond tables: in strips of Δ, and in numbers without end."""

import math
import random
from collections import Counter
from functools import cache

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import Gram, KernelRidge, _native
from mercer.arrays.budget import MemoryBudgetError
from mercer.kernels import Gaussian, PartialTree, SubsetTree, Subtree
from mercer.kernels.trees import fragments

labels = st.sampled_from("ab")
random_trees = st.recursive(
    st.tuples(labels),
    lambda inner: st.builds(
        lambda label, children: (label, *children), labels, st.lists(inner, min_size=1, max_size=4)
    ),
    max_leaves=25,
)
KERNELS = [SubsetTree(0.4), SubsetTree(0.8, leaves=False), PartialTree(0.5, 0.3), PartialTree(0.4, 0.4, 5.0)]


def grow_chain(nodes):
    return "(a" * (nodes - 1) + " a" + ")" * (nodes - 1)


def grow_comb(nodes):
    return "".join(f"(a x{i} " for i in range(nodes // 2)) + "x" + ")" * (nodes // 2)


def grow_balanced(depth, name=""):
    return (
        f"x{name}"
        if depth == 0
        else f"(a {grow_balanced(depth - 1, name + '0')} {grow_balanced(depth - 1, name + '1')})"
    )


def grow_bushy(nodes, rng):
    """A random tree of few labels, whose small subtrees occur often."""
    if nodes <= 1:
        return (rng.choice("xy"),)
    first = rng.randint(1, nodes - 1)
    rest = [grow_bushy(nodes - 1 - first, rng)] if nodes - 1 > first else []
    return (rng.choice("ab"), grow_bushy(first, rng), *rest)


def count_kept(tree, pairs):
    """How many pairs of subtrees are kept at most, how many there are, and how many subtrees."""
    A, _ = PartialTree().prepare(trees := [tree], trees)
    table = A.table
    widths = np.bincount(table.group)[table.group]
    arrays = table.start, table.child, table.group
    return _native.tree_pairs(*arrays, *A.native, *A.native, pairs), int(widths.sum()), int(widths.max())


# -- strips --------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.lists(random_trees, min_size=1, max_size=3), st.lists(random_trees, min_size=1, max_size=3))
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_strips_have_the_values_of_the_table(kernel, X, Z):
    K, own = kernel(X, Z), kernel.diag(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fragments, "PAIRS", 1)
        np.testing.assert_allclose(kernel(X, Z), K, rtol=1e-14)
        np.testing.assert_allclose(kernel.diag(X), own, rtol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("pairs", [1, 3000, 20000])
def test_subtrees_that_are_computed_again_count_once(kernel, pairs, monkeypatch):
    trees = [grow_bushy(400, random.Random(seed)) for seed in range(2)]
    K = kernel(trees)
    monkeypatch.setattr(fragments, "PAIRS", pairs)
    monkeypatch.setattr(fragments, "default_threads", lambda: 2)
    np.testing.assert_allclose(kernel(trees), K, rtol=1e-13)


def test_two_rows_of_a_chain_are_kept_and_a_logarithm_of_a_balanced_tree():
    kept, all_pairs, widest = count_kept(grow_chain(2000), 1)
    assert all_pairs > 2000 * 1999
    assert kept <= 2 * widest
    assert count_kept(grow_comb(2000), 1)[0] <= 2 * count_kept(grow_comb(2000), 1)[2]
    kept, _, widest = count_kept(grow_balanced(9), 1)
    assert kept <= 10 * widest


def test_subtrees_that_occur_often_are_kept_where_there_is_room():
    tree = grow_bushy(3000, random.Random(0))
    kept = {pairs: count_kept(tree, pairs)[0] for pairs in (1, 150_000, 10**9)}
    assert kept[1] < 0.2 * kept[150_000] < kept[10**9]
    assert kept[150_000] <= 150_000
    assert kept[10**9] == count_kept(tree, 10**9)[1]


def sum_chains(first, step, n, m):
    """Σ Δ over two chains: Δ of two nodes depends on the smaller of their heights, and grows by ``step``."""
    values = [first]
    for _ in range(min(n, m) - 1):
        values.append(step(values[-1]))
    shorter, longer = sorted((n, m))
    return sum(value * (longer - height + shorter - height - 1) for height, value in enumerate(values))


def test_a_deep_tree_stays_inside_the_memory_budget():
    X = [grow_chain(3000), grow_chain(200)]  # Δ of the first alone would take 72 MB
    gram = Gram(PartialTree(0.5, 0.3), X, memory="40MB")
    expected = [[sum_chains(0.075, lambda value: 0.3 * (0.25 + value), n, m) for m in (3000, 200)] for n in (3000, 200)]
    np.testing.assert_allclose(gram.dense(), expected, rtol=1e-12)
    gram = Gram(SubsetTree(0.5, leaves=False), X, memory="40MB")  # a leaf has height 0 and no fragment
    expected = [[sum_chains(0.5, lambda value: 0.5 * (1 + value), n, m) for m in (2999, 199)] for n in (2999, 199)]
    np.testing.assert_allclose(gram.dense(), expected, rtol=1e-12)


def test_what_does_not_fit_even_in_strips_is_refused_with_the_number(monkeypatch):
    star = "(r " + " ".join(f"(a x{i})" for i in range(2500)) + ")"  # all children are needed at once
    with pytest.raises(MemoryBudgetError, match=r"needs 10\d\.\d MB, but the memory budget is 50.0 MB"):
        Gram(PartialTree().normalize(), [star], memory="50MB")
    monkeypatch.setattr(fragments, "LARGE", 1)
    monkeypatch.setattr(fragments, "parse_memory", lambda memory: 10**7)
    with pytest.raises(MemoryBudgetError, match=r"distinct subtrees needs 10\d\.\d MB.*use smaller trees"):
        PartialTree()([star])


# -- logarithms ----------------------------------------------------------------------------------------------------


def nodes(tree):
    yield tree
    for child in tree[1:]:
        yield from nodes(child)


def subtree_values(decay):
    def delta(s, t):
        return decay ** max(1, sum(len(node) > 1 for node in nodes(s))) if s == t else 0

    return delta


def subset_values(decay):
    @cache
    def delta(s, t):
        if len(s) == 1 or len(t) == 1:
            return decay if s == t else 0
        if [s[0], *(c[0] for c in s[1:])] != [t[0], *(c[0] for c in t[1:])]:
            return 0
        pairs = zip(s[1:], t[1:], strict=True)
        return decay * math.prod(1 if len(a) == 1 or len(b) == 1 else 1 + delta(a, b) for a, b in pairs)

    return delta


def partial_values(decay, vertical_decay):
    """For nodes of at most two children."""

    @cache
    def delta(s, t):
        if s[0] != t[0]:
            return 0
        total = decay**2 + sum(delta(a, b) for a in s[1:] for b in t[1:])
        if len(s) == len(t) == 3:
            total += delta(s[1], t[1]) * delta(s[2], t[2])
        return vertical_decay * total

    return delta


def normalize_widely(delta, X):
    """The definition in numbers of 50 digits, whose exponents have no end."""

    def sum_pairs(x, z):
        return sum(n * m * delta(s, t) for s, n in counts[x].items() for t, m in counts[z].items())

    counts = {x: Counter(nodes(x)) for x in X}
    own = {x: sum_pairs(x, x) for x in X}
    return [[float(sum_pairs(x, z) / mpmath.sqrt(own[x] * own[z])) for z in X] for x in X]


def complete(depth):
    return ("a",) if depth == 0 else ("a", complete(depth - 1), complete(depth - 1))


def make_alike():
    """Trees that have much in common: large ones, and a small one."""
    other = ("a", ("a", complete(4), ("b", ("a",), ("a",))), complete(5))
    return [complete(6), other, ("a", ("a",), complete(2))]


@pytest.mark.parametrize(
    ("kernel", "values"),
    [
        (SubsetTree(2.0**20), subset_values),
        (SubsetTree(2.0**-600), subset_values),
        (SubsetTree(0.5), subset_values),
        (PartialTree(4.0, 2.0**12), partial_values),
        (PartialTree(2.0**-540, 0.5), partial_values),
        (Subtree(2.0**30), subtree_values),
        (Subtree(2.0**-700), subtree_values),
        (Subtree(0.5), subtree_values),
    ],
    ids=lambda value: repr(value) if hasattr(value, "normalize") else "",
)
def test_normalised_values_are_right_where_the_values_leave_float64(kernel, values):
    trees, names = make_alike(), ("decay", "vertical_decay")
    K = kernel.normalize()(trees)
    with mpmath.workdps(50):
        params = [mpmath.mpf(getattr(kernel, name)) for name in names if hasattr(kernel, name)]
        expected = normalize_widely(values(*params), trees)
    np.testing.assert_allclose(K, expected, rtol=1e-11)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    np.testing.assert_allclose(kernel.normalize().distance(trees), 2.0 - 2.0 * K, atol=1e-11)


def test_numbers_without_end_agree_with_doubles_where_both_can():
    trees = [grow_bushy(200, random.Random(seed)) for seed in range(4)]
    for kernel in KERNELS:
        A, _ = kernel.prepare(trees, trees)
        for pairs in (1, 10**6):
            table = A.table.start, A.table.child, A.table.group
            found = np.empty((len(trees), len(trees)))
            keeping = {"pairs": pairs, "logarithms": True, "threads": 1}
            _native.tree_block(*table, *A.native, *A.native, **kernel.rule(), **keeping, out=found)
            np.testing.assert_allclose(found, np.log(kernel(trees)), rtol=1e-13, atol=1e-13)


def test_products_are_normalised_factor_by_factor():
    trees = make_alike()
    with pytest.raises(OverflowError, match="use SubsetTree"):
        SubsetTree(2.0**20)(trees)
    sizes = Gaussian(3.0).after(lambda tree: [float(len(str(tree)))])
    K = (3.0 * SubsetTree(2.0**20) * sizes).normalize()(trees)
    np.testing.assert_allclose(K, SubsetTree(2.0**20).normalize()(trees) * sizes(trees), rtol=1e-12)


def test_trees_without_fragments_stay_orthogonal_to_all():
    for kernel in (Subtree(0.5, leaves=False), SubsetTree(0.5, leaves=False)):
        np.testing.assert_array_equal(kernel.normalize()(["x", "(S x)"]), [[0, 0], [0, 1]])


def test_models_predict_where_the_values_leave_float64():
    trees = make_alike()
    for kernel in (SubsetTree(2.0**20).normalize(), Subtree(2.0**30).normalize()):
        model = KernelRidge(alpha=0.5, kernel=kernel).fit(trees, [0.0, 1.0, 2.0])
        expected = kernel(trees) @ np.linalg.solve(kernel(trees) + 0.5 * np.eye(3), [0.0, 1.0, 2.0])
        np.testing.assert_allclose(model.predict(trees), expected, rtol=1e-10)
