"""The lazy Gram matrix agrees with the dense one, whatever the tiles, the budget and the backend."""

import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer import Gram, MemoryBudgetError
from mercer.kernels import (
    Chi2,
    Constant,
    Cosine,
    Custom,
    Fourier,
    FromFeatures,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Overlap,
    PartialTree,
    Periodic,
    Polynomial,
    PowerExponential,
    RationalQuadratic,
    Sigmoid,
    Sinc,
    Subsequence,
    exp,
)
from mercer.testing import check_gram

from ..page import read_page

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(53, 4)), rng.normal(size=(31, 4))

NATIVE = [
    Linear(),
    Polynomial(3, 0.5),
    Gaussian(1.3),
    Gaussian([1.0, 2.0, 0.5, 3.0]),
    Laplacian(2.0),
    Laplacian([1.0, 2.0, 0.5, 3.0]),
    Matern(0.5),
    Matern(1.5, [1.0, 2.0, 0.5, 3.0]),
    Matern(2.5, 0.7),
    RationalQuadratic(0.8, 1.7),
    PowerExponential(1.5, 0.7, 2.0),
    PowerExponential(0.5, 0.5, [1.0, 2.0, 0.5, 3.0]),
    PowerExponential(1.2, 1.1),
    PowerExponential(1, 0.5),
    PowerExponential(2, 1.3, [1.0, 2.0, 0.5, 3.0]),
    Periodic(0.9, 2.5),
    Periodic([1.0, 2.0, 0.5, 3.0], 2.5),
    Cosine(1.7),
    Fourier(3),
    Sigmoid(0.3, 0.1),
    Chi2(0.4).after(np.abs),
    Intersection().after(np.abs),
    Overlap().after(np.round),
    FromFeatures(lambda A: A**2),
    2.0 * Gaussian(1.5) + Polynomial(2, 1.0) * Linear(),
    (Gaussian() + Linear()) * (Matern() + 0.5 * Linear() * Gaussian(2.0)) ** 2,
    exp(0.1 * Linear() + Gaussian()),
    (Polynomial(2, 1.0) + Gaussian()).normalize() * Laplacian(),
    Gaussian().on([0, 2]) + Linear().on(1) * Gaussian().on([1, 3]),
    Gaussian(2.0) - 0.5 * Gaussian(1.0),
    (Linear() - 1.0) ** 2,
    Linear() + 3.0,
]
REFERENCE = [Sinc(), Matern(1.2), Constant(2.0), Custom(lambda x, z: float(x[0] * z[0])), Gaussian() + Sinc()]


@pytest.mark.parametrize("kernel", NATIVE, ids=repr)
def test_expressions_over_vectors_run_on_the_native_backend_and_agree_with_numpy(kernel):
    assert Gram(kernel, X).backend_name == "native"
    check_gram(kernel, X)
    check_gram(kernel, X, Z)
    check_gram(kernel, X.astype(np.float32), Z.astype(np.float32))


@pytest.mark.parametrize("kernel", REFERENCE, ids=repr)
def test_what_the_native_backend_cannot_do_runs_on_numpy_and_says_why(kernel):
    gram = Gram(kernel, X)
    assert gram.backend_name == "numpy"
    assert "native backend cannot" in gram.why
    check_gram(kernel, X)
    check_gram(kernel, X, Z)
    with pytest.raises(ValueError, match=r"native backend cannot evaluate.*use backend='auto'"):
        Gram(kernel, X, backend="native")


def leaves():
    scale = st.floats(0.5, 3.0).map(lambda x: round(x, 3))
    return st.one_of(
        st.builds(Gaussian, scale),
        st.builds(Matern, st.sampled_from([0.5, 1.5, 2.5]), scale),
        st.builds(RationalQuadratic, scale, scale),
        st.builds(Laplacian, scale),
        st.builds(PowerExponential, st.floats(1, 2), st.floats(0.3, 1), scale),
        st.builds(Polynomial, st.integers(1, 2), st.floats(0, 1)),
        st.builds(Cosine, scale),
        st.just(Linear()),
    )


def trees(children):
    return st.one_of(
        st.builds(lambda a, b: a + b, children, children),
        st.builds(lambda a, b: a * b, children, children),
        st.builds(lambda a, w: w * a, children, st.floats(0.1, 2)),
        st.builds(lambda a: a**2, children),
        st.builds(lambda a: a.normalize(), children),
        st.builds(lambda a: exp(a.normalize()), children),
        st.builds(lambda a: a.on([0, 2, 3]), children.filter(lambda k: ".on(" not in repr(k))),
    )


@settings(max_examples=50, deadline=None)
@given(st.recursive(leaves(), trees, max_leaves=7))
def test_both_backends_agree_on_random_expressions(kernel):
    points, others = X[:23], Z[:17]
    for pair in ((points, None), (points, others)):
        reference = Gram(kernel, *pair, backend="numpy").dense()
        native = Gram(kernel, *pair)
        scale = np.abs(reference).max()
        np.testing.assert_allclose(native.dense(), reference, rtol=1e-9, atol=1e-12 * scale)
        v = np.linspace(-1, 1, reference.shape[1])
        np.testing.assert_allclose(native @ v, reference @ v, rtol=1e-8, atol=1e-10 * scale)


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("columns", [1, 3, 16, 17, 40])
def test_any_number_of_right_hand_sides_works(backend, columns):
    kernel = Gaussian(1.1) + 0.1 * Linear()
    V = rng.normal(size=(53, columns))
    np.testing.assert_allclose(Gram(kernel, X, backend=backend) @ V, kernel(X) @ V, atol=1e-10)
    W = rng.normal(size=(31, columns))
    np.testing.assert_allclose(Gram(kernel, X, Z, backend=backend) @ W, kernel(X, Z) @ W, atol=1e-10)
    np.testing.assert_allclose(V.T @ Gram(kernel, X, Z, backend=backend), V.T @ kernel(X, Z), atol=1e-10)


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("pair", [(X, None), (X, Z)])
@pytest.mark.parametrize(("columns", "memory"), [(1, "1GB"), (16, "1GB"), (17, "1GB"), (2, 60_000)])
def test_residuals_and_what_they_send_back_are_those_of_two_products(columns, memory, pair, backend):
    gram = Gram(Gaussian(1.1) + 0.1 * Linear(), *pair, backend=backend, memory=memory)
    n, m = gram.shape
    V, Y, weights = rng.normal(size=(m, columns)), rng.normal(size=(n, columns)), rng.random(n)
    given = Y.copy()
    errors, image = gram.residuals(V, Y, weights)
    np.testing.assert_allclose(errors, Y - gram @ V, atol=1e-11)
    np.testing.assert_allclose(image, gram.T @ (weights[:, None] * errors), atol=1e-10)
    np.testing.assert_array_equal(Y, given)


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("memory", [80_000, 200_000, 10**7])
def test_results_do_not_depend_on_the_budget_beyond_rounding(backend, memory):
    points = rng.normal(size=(300, 3))
    V = rng.normal(size=(300, 2))
    kernel = Gaussian() * Linear()
    gram = Gram(kernel, points, points.copy(), backend=backend, memory=memory)
    np.testing.assert_allclose(gram @ V, kernel(points) @ V, atol=1e-10)


def test_single_precision_in_gives_single_precision_out():
    single = X.astype(np.float32)
    gram = Gram(Gaussian(), single)
    assert gram.dtype == np.float32
    assert gram.dense().dtype == np.float32
    assert (gram @ np.ones(53, dtype=np.float32)).dtype == np.float32
    assert (gram @ np.ones(53)).dtype == np.float64
    assert gram.dense(np.float64).dtype == np.float64
    assert Gram(Gaussian(), X).dense("float32").dtype == np.float32


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_the_precision_of_the_values_can_be_chosen(backend):
    exact = Gaussian()(X, Z)
    single = Gram(Gaussian(), X, Z, backend=backend, dtype=np.float32)
    assert single.dense().dtype == np.float32
    assert single.T.dtype == np.float32
    np.testing.assert_allclose(single.dense(), exact, rtol=1e-5)
    double = Gram(Gaussian(), X.astype(np.float32), Z.astype(np.float32), backend=backend, dtype=np.float64)
    expected = Gaussian()(X.astype(np.float32).astype(float), Z.astype(np.float32).astype(float))
    np.testing.assert_allclose(double.dense(), expected, rtol=1e-12)
    with pytest.raises(TypeError, match="float32 or float64"):
        Gram(Gaussian(), X, dtype=int)


def test_sums_over_many_single_precision_values_do_not_drift():
    points = np.zeros((100_000, 1), dtype=np.float32)
    ones = np.full(100_000, 0.1, dtype=np.float32)
    value = (Gram(Gaussian(), points[:3], points) @ ones.astype(np.float64))[0]
    assert value == pytest.approx(100_000 * float(np.float32(0.1)), rel=1e-6)


def test_a_large_offset_costs_no_digits():
    shifted = X + 1e7
    exact = np.array([[math.exp(-0.5 * ((a - b) ** 2).sum()) for b in shifted[:9]] for a in shifted[:9]])
    for backend in ("numpy", "native"):
        np.testing.assert_allclose(Gram(Gaussian(), shifted[:9], backend=backend).dense(), exact, rtol=1e-12)


@pytest.mark.parametrize("d", [3, 40])
def test_near_duplicates_keep_their_relative_distance(d):
    base = rng.normal(size=(1, d)).astype(np.float32)
    points = np.concatenate([base, base, base * (1 + 1e-3), base + 5]).astype(np.float32)
    exact = np.array([[((a - b) ** 2).sum() for b in points.astype(float)] for a in points.astype(float)])
    K = Gram(Matern(0.5), points, backend="native").dense()
    np.testing.assert_allclose(K, np.exp(-np.sqrt(exact)), rtol=2e-5)
    assert K[0, 1] == 1.0


def test_far_points_underflow_to_zero_without_nan():
    points = np.array([[1e30] * 20, [-1e30] * 20, [0.0] * 20], dtype=np.float32)
    np.testing.assert_array_equal(Gram(Gaussian(), points, backend="native").dense(), np.eye(3))


def test_overflow_is_an_error_that_names_the_kernel_and_the_remedy():
    points = np.full((3, 2), 1e15, dtype=np.float32)
    for backend in ("numpy", "native"):
        gram = Gram(Polynomial(3), points, backend=backend)
        with pytest.raises(OverflowError, match=r"Polynomial\(degree=3.*float32.*float64"):
            gram.dense()
        with pytest.raises(OverflowError, match="overflows"):
            gram @ np.ones(3, dtype=np.float32)


def test_rows_are_picked_like_those_of_an_array():
    K = Gaussian()(X, Z)
    gram = Gram(Gaussian(), X, Z)
    for index in (0, -1, 7, slice(3, 9), slice(None, None, 7), [5, 5, 2], np.array([0, 52]), X[:, 0] > 0):
        np.testing.assert_allclose(gram.rows(index), K[index], atol=1e-14)
    with pytest.raises(IndexError, match="does not pick rows of a Gram matrix with 53 rows"):
        gram.rows(53)


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("index", [slice(3, 9), [5, 5, 2], np.array([0, 52])], ids=["slice", "list", "array"])
def test_rows_are_written_to_an_array_that_is_given(backend, index):
    gram = Gram(Gaussian(), X, Z, backend=backend)
    expected = gram.rows(index)
    room = np.full(expected.shape, np.nan)
    assert gram.rows(index, out=room) is room
    np.testing.assert_array_equal(room, expected)
    turned = np.asfortranarray(np.zeros_like(expected))
    np.testing.assert_array_equal(gram.rows(index, out=turned), expected)
    with pytest.raises(ValueError, match=r"do not go into an array of shape \(1, 1\)"):
        gram.rows(index, out=np.zeros((1, 1)))


def test_the_diagonal_needs_one_collection():
    np.testing.assert_allclose(Gram(Linear(), X).diag(), (X**2).sum(1))
    with pytest.raises(ValueError, match="needs Z = X"):
        Gram(Linear(), X, Z).diag()


def test_the_transpose_swaps_the_collections():
    gram = Gram(Gaussian(), X, Z)
    assert gram.T.shape == (31, 53)
    np.testing.assert_allclose(gram.T.dense(), gram.dense().T)
    assert Gram(Gaussian(), X).T.shape == (53, 53)


def test_the_same_object_twice_is_one_collection():
    assert Gram(Gaussian(), X, X).symmetric
    assert not Gram(Gaussian(), X, X.copy()).symmetric


def test_frames_and_sparse_matrices_and_objects_work():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": ["u", "v"] * 26 + ["u"]})
    kernel = Gaussian().on(["a", "b"]) * Overlap().on("kind")
    check_gram(kernel, frame)
    assert Gram(kernel, frame).backend_name == "native"
    matrix = sparse.random_array((30, 10), density=0.3, rng=rng, format="csr")
    check_gram(Gaussian() + Linear(), matrix)
    assert "sparse" in Gram(Gaussian(), matrix).why
    check_gram(Custom(lambda x, z: float(len(set(x) & set(z)))), ["abc", "bcd", "xyz"])


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_the_product_stays_inside_the_budget(backend):
    points = rng.normal(size=(6000, 8))
    V = rng.normal(size=(6000, 2))
    budget = 40 * 10**6  # the matrix itself would take 288 MB
    gram = Gram(Gaussian(), points, backend=backend, memory=budget)
    tracemalloc.start()
    try:
        gram @ V
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < budget


def test_a_budget_below_one_row_is_refused_with_the_numbers():
    with pytest.raises(MemoryBudgetError, match=r"one row of the 53 × 53 Gram matrix needs .* the memory budget is"):
        Gram(Gaussian(), X, memory=3600)


def test_a_dense_matrix_beyond_the_budget_is_refused_before_allocating():
    points = np.zeros((200_000, 1))
    gram = Gram(Gaussian(), points, memory="1GB")
    with pytest.raises(MemoryBudgetError, match=r"200000 × 200000 matrix needs 320.0 GB.*as an operator"):
        gram.dense()
    with pytest.raises(MemoryBudgetError, match="fewer rows"):
        gram.rows(slice(None))


def test_wrong_arguments_say_what_was_expected():
    gram = Gram(Gaussian(), X, Z)
    with pytest.raises(ValueError, match=r"vector of length 31.*got shape \(53,\)"):
        gram @ np.ones(53)
    with pytest.raises(ValueError, match="NaN"):
        gram @ np.full(31, np.nan)
    with pytest.raises(ValueError, match=r"targets of shape \(53, r\) and weights of shape \(53,\); got .* \(3, 1\)"):
        gram.residuals(np.ones((31, 1)), np.ones((3, 1)), np.ones(53))
    with pytest.raises(TypeError, match="Gram needs a mercer kernel"):
        Gram("rbf", X)
    with pytest.raises(ValueError, match="backend must be"):
        Gram(Gaussian(), X, backend="cuda")
    with pytest.raises(TypeError, match="float32 or float64"):
        gram.dense(int)
    with pytest.raises(ValueError, match="4 features but Z has 3"):
        Gram(Gaussian(), X, Z[:, :3])
    with pytest.raises(ValueError, match="at least one"):
        Gram(Gaussian(), X[:0])


def test_one_point_and_constant_columns_are_fine():
    np.testing.assert_array_equal(Gram(Gaussian(), [[1.0, 2.0]]).dense(), [[1.0]])
    np.testing.assert_array_equal(Gram(Gaussian(), np.ones((4, 3))) @ np.ones(4), np.full(4, 4.0))


def chain(length):
    tree = "leaf"
    for _ in range(length):
        tree = ("node", tree)
    return tree


@pytest.mark.parametrize("kernel", [PartialTree(), 2.0 * PartialTree().normalize(), PartialTree() + Constant(1.0)])
def test_the_scratch_of_trees_is_counted_before_it_is_taken(kernel):
    trees = [chain(3000), chain(2900)]
    with pytest.raises(MemoryBudgetError, match=r"needs \d+.* MB, but the memory budget is 5.0 MB"):
        Gram(kernel, trees, memory="5MB")
    assert Gram(kernel, trees, memory="200MB").shape == (2, 2)


def test_the_scratch_of_subsequences_is_counted():
    texts = ["ab" * 20_000, "ba" * 20_000]
    with pytest.raises(MemoryBudgetError, match=r"the memory budget is 5\.0 MB"):
        Gram(Subsequence(20), texts, memory="5MB")
    assert Gram(Subsequence(3), ["abc", "abd"], memory="5MB").dense().shape == (2, 2)


@pytest.mark.parametrize(
    "kernel", [Gaussian(), Linear() + Gaussian([1.0] * 50), Fourier(20), Sinc(), Gaussian().on([0])]
)
@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_the_data_is_not_copied_before_the_budget_is_asked(kernel, backend):
    X = np.zeros((20_000, 50))
    tracemalloc.start()
    try:
        with pytest.raises(MemoryBudgetError, match=r"the memory budget is 200\.0 KB"):
            Gram(kernel, X, backend=backend, memory="200KB")
        assert tracemalloc.get_traced_memory()[1] < 4e5
    finally:
        tracemalloc.stop()


def test_the_numpy_backend_holds_few_matrices_of_a_long_sum_at_once():
    X = np.random.default_rng(0).normal(size=(300, 2))
    long = sum((Linear() ** (i % 3 + 1) * Sinc() for i in range(200)), Constant(1.0))
    tracemalloc.start()
    try:
        long(X)
        assert tracemalloc.get_traced_memory()[1] < 60 * 8 * 300**2
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("kernel", "cheap"), [(Gaussian(), True), (Sinc(), False), (Custom(lambda x, z: 1.0), False)])
def test_a_gram_matrix_says_what_it_can_do(kernel, cheap):
    gram = Gram(kernel, X)
    assert (gram.cheap, gram.exact, gram.where) == (cheap, True, "host")
    assert not Gram(kernel, X.astype(np.float32)).exact
    assert not Gram(Gaussian(), X, backend="numpy").cheap
    assert gram.part([1, 2]).cheap == gram.T.cheap == cheap


class Plain:
    """The least that a backend is, without inheriting from anything."""

    name, why, shape, symmetric, dtype = "plain", "a test", (3, 3), True, np.dtype(np.float64)
    held, entry_bytes = 0, 8

    def tile(self, rows, columns):
        return np.ones((3, 3))[rows, columns]

    def product(self, V, budget):
        return None

    def add_rows(self, index, weights, out):
        return False

    def part(self, index, threads=None):
        return None

    def fill(self, out, rows=None):
        return False


def test_a_backend_that_says_nothing_of_itself_is_taken_to_be_slow_and_exact():
    gram = Gram(Gaussian(), np.zeros((3, 1)), backend=lambda other: Plain())
    assert (gram.cheap, gram.exact, gram.where) == (False, True, "host")
    np.testing.assert_array_equal(gram @ np.ones(3), np.full(3, 3.0))
    np.testing.assert_array_equal(gram.diag(), np.ones(3))


def test_rows_beyond_one_tile_are_computed_in_parts():
    points = np.random.default_rng(0).normal(size=(200, 2))
    gram = Gram(Sinc(), points, memory=500_000)  # where a tile of all rows would take many times that
    np.testing.assert_allclose(gram.rows(slice(None)), Sinc()(points), atol=1e-14)


def test_infinities_on_the_right_hand_side_are_not_taken_for_overflow():
    for backend in ("numpy", "native"):
        with pytest.raises(ValueError, match="the right-hand side holds NaN or infinity"):
            Gram(Gaussian(), X, Z, backend=backend) @ np.full(31, np.inf)


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize(
    ("place", "words"), [(0, "the right-hand side holds"), (1, "the targets hold"), (2, "the weights hold")]
)
def test_residuals_say_which_of_their_arguments_holds_infinities(place, words, backend):
    gram = Gram(Gaussian(), X, Z, backend=backend)
    arguments = [np.ones((31, 1)), np.ones((53, 1)), np.ones(53)]
    arguments[place][3] = np.inf
    with pytest.raises(ValueError, match=f"{words} NaN or infinity"):
        gram.residuals(*arguments)


def test_residuals_of_a_kernel_that_overflows_name_it():
    gram = Gram(exp(Linear()), 40 * X, 40 * Z)
    with pytest.raises(OverflowError, match=r"exp\(Linear\(\)\) overflows float64"):
        gram.residuals(np.ones((31, 1)), np.ones((53, 1)), np.ones(53))


def test_a_notebook_shows_what_is_known_of_a_matrix_and_evaluates_none_of_it():
    def refuse(*points):
        raise AssertionError("evaluated")

    for K in (Gram(Custom(refuse), ["<b>a</b>", "b", "c"]), Gram(Custom(refuse), ["a"], ["b", "c"], memory="1MB")):
        page = read_page(K)
        n, m = K.shape
        assert f"{n} × {m}" in page.text
        assert ("symmetric" in page.text) == K.symmetric
        assert f"{6 if K.symmetric else 2} kernel values" in page.text
        for known in (K.backend_name, K.why, str(K.dtype), repr(K.kernel)):
            assert known in page.text
    assert K._repr_latex_() == r"$K_{i, j} = k\left(x_i, z_j\right)$"


def test_a_notebook_says_whether_the_dense_matrix_is_within_the_budget():
    X = np.zeros((300, 2))
    assert "720.0 KB, beyond the budget" in read_page(Gram(Gaussian(), X, memory="500KB")).text
    assert "720.0 KB, within the budget" in read_page(Gram(Gaussian(), X, memory="1MB")).text


@pytest.mark.parametrize("rows", ["many", "all", "twice", "few"])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Gaussian(2.0) * Polynomial(2).normalize()])
def test_rows_in_any_number_and_order_are_added_like_those_of_the_matrix(kernel, rows):
    points = np.random.default_rng(7).normal(size=(1300, 9))
    index = {
        "many": np.random.default_rng(8).permutation(1300)[:1100],
        "all": np.arange(1300)[::-1],
        "twice": np.append(np.arange(1200), 5),
        "few": np.arange(3),
    }[rows]
    weights = np.random.default_rng(9).normal(size=len(index))
    gram, total = Gram(kernel, points), np.ones(1300)
    gram.add_rows(index, weights, total)
    np.testing.assert_allclose(total, 1 + weights @ gram.dense()[index], atol=1e-11)
