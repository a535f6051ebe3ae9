"""Products of stored matrices are what they should be, in the part that was asked for and nowhere else."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from mercer import _native
from mercer.linalg import products
from mercer.linalg.products import add_product, divide, multiply, multiply_symmetric, quiet_blas

KEPT = {"all": np.ones_like, "lower": np.tril, "upper": np.triu}
DIGITS = {np.float32: 2e-6, np.float64: 4e-15}


@pytest.fixture(params=[True, False], ids=["own", "blocks of NumPy's"])
def way(request, monkeypatch):
    """Both ways to multiply, the second one in blocks that small matrices have several of."""
    monkeypatch.setattr(products, "WIDE", request.param)
    monkeypatch.setattr(products, "BLOCK", 7)


def draw(rng, shape, dtype, order, part=False):
    """Return a matrix in this order, or a part of a larger one."""
    if not part:
        return np.asarray(rng.normal(size=shape), dtype=dtype, order=order)
    whole = np.asarray(rng.normal(size=(shape[0] + 5, shape[1] + 3)), dtype=dtype, order=order)
    return whole[2 : 2 + shape[0], 1 : 1 + shape[1]]


@settings(deadline=None, max_examples=150)
@given(
    sizes=st.tuples(st.integers(0, 70), st.integers(0, 70), st.integers(0, 300)),
    dtype=st.sampled_from([np.float32, np.float64]),
    orders=st.lists(st.sampled_from("FC"), min_size=3, max_size=3),
    part=st.sampled_from(list(KEPT)),
    inside=st.booleans(),
    wide=st.booleans(),
    scale=st.integers(-30, 30),
    seed=st.integers(0, 99),
)
def test_a_sum_grows_by_a_product_in_its_part_alone(sizes, dtype, orders, part, inside, wide, scale, seed):
    (m, n, k), rng = sizes, np.random.default_rng(seed)
    shapes = ((m, n), (m, k), (k, n))
    C, A, B = (draw(rng, shape, dtype, order, inside) for shape, order in zip(shapes, orders, strict=True))
    C *= dtype(2.0**scale)
    before, around = C.copy(), None if C.base is None else C.base.copy()
    kept = KEPT[part](np.ones((m, n))).astype(bool)
    change = -(2.0**scale) * (A.astype(float) @ B.astype(float))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "WIDE", wide)
        patch.setattr(products, "BLOCK", 16)
        add_product(C, A, B, -(2.0**scale), part=part)
    np.testing.assert_array_equal(C[~kept], before[~kept])
    size = 2.0**scale * (1 + np.abs(A).astype(float) @ np.abs(B)) + np.abs(before)
    assert (np.abs(C - before - change) <= DIGITS[dtype] * 4 * size)[kept].all()
    if inside and around is not None and around.shape != C.shape:
        around[2 : 2 + m, 1 : 1 + n] = C
        np.testing.assert_array_equal(C.base, around)


@pytest.mark.parametrize("isa", _native.isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "n", "k"), [(3200, 30, 40), (30, 500, 700), (401, 403, 260)])
def test_large_products_agree_for_all_instructions_and_any_number_of_threads(m, n, k, dtype, isa):
    rng = np.random.default_rng(m)
    A, B = rng.normal(size=(k, m)).astype(dtype), rng.normal(size=(n, k)).astype(dtype).T
    expected = A.astype(float).T @ B
    for part, keep in KEPT.items():
        found = []
        for threads in (1, 2, 5):
            found.append(np.zeros((m, n), dtype))
            _native.add_product(found[-1], A, B, 1.0, part, False, threads, isa)
        np.testing.assert_allclose(found[0], expected * keep(np.ones((m, n))), atol=1e4 * DIGITS[dtype])
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize(("n", "columns"), [(1, 1), (6, 2), (7, 3), (40, 9), (300, 5), (700, 30)])
def test_of_a_symmetric_matrix_one_triangle_is_read(n, columns, order, way):
    rng = np.random.default_rng(n)
    S = rng.normal(size=(n, n))
    S += S.T
    half = np.asarray(np.where(np.tri(n, dtype=bool), S, np.nan), order=order)
    V = rng.normal(size=(n, columns))
    np.testing.assert_allclose(multiply_symmetric(half, V), S @ V, atol=1e-11)


@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "columns"), [(0, 3), (1, 1), (6, 200), (30, 7), (61, 33), (300, 50)])
def test_a_triangular_system_is_solved_in_its_place(n, columns, dtype, order, way):
    rng = np.random.default_rng(n)
    L = np.asarray(rng.normal(size=(n, n)) / (1 + n) + 2 * np.eye(n), dtype=dtype, order=order)
    expected = draw(rng, (n, columns), np.float64, "C")
    whole = np.full((n + 2, columns + 3), 7.0, dtype=dtype, order=order)
    V = whole[1 : n + 1, 2 : columns + 2]
    V[...] = np.tril(L).astype(float) @ expected
    divide(np.where(np.tri(n, dtype=bool), L, np.nan), V)
    np.testing.assert_allclose(V, expected, atol=100 * DIGITS[dtype])
    V[...] = 7.0
    assert (whole == 7.0).all()


@pytest.mark.parametrize("isa", _native.isas())
@pytest.mark.parametrize("n", [1, 8, 9, 250])
def test_triangular_systems_agree_for_all_instructions_and_any_number_of_threads(n, isa):
    rng = np.random.default_rng(n)
    L, V = rng.normal(size=(n, n)) / n + 2 * np.eye(n), rng.normal(size=(n, 700))
    found = [V.copy() for _ in range(3)]
    for threads, solved in enumerate(found, 1):
        _native.divide_by_triangle(L, solved, threads, isa)
        np.testing.assert_array_equal(solved, found[0])
    np.testing.assert_allclose(np.tril(L) @ found[0], V, atol=1e-12)
    with pytest.raises(ValueError, match=r"triangle must have shape"):
        _native.divide_by_triangle(L, V[1:].copy(), 1)


def test_sums_in_double_precision_take_numbers_in_single_precision(way):
    A = np.float32([[1.0, 2.0], [3.0, 4.0]])
    C = np.zeros((2, 2))
    add_product(C, A, A.T)
    assert C.tolist() == [[5.0, 11.0], [11.0, 25.0]]
    assert multiply(A, A.T).dtype == np.float32


@pytest.mark.parametrize(
    ("C", "mirrored", "message"),
    [
        (np.zeros((4, 6))[::2, ::2], False, r"rows or columns in one piece each, got shape \(2, 3\)"),
        (np.zeros((2, 3), order="F"), True, "with its rows in one piece each"),
        (np.zeros((2, 3))[::-1], False, "rows or columns in one piece each"),
    ],
)
def test_sums_that_lie_scattered_are_refused(C, mirrored, message):
    with pytest.raises(ValueError, match=message):
        add_product(C, np.zeros((2, 3)), np.zeros((3, 3)), mirrored=mirrored)


def test_what_native_code_cannot_add_up_is_refused():
    out, left, right = np.zeros((2, 3)), np.zeros((4, 2)), np.zeros((4, 3))
    add = _native.add_product
    with pytest.raises(ValueError, match=r"right must have shape \(4, 3\), got \(3, 3\)"):
        add(out, left, right[:3], 1.0, "all", False, 1)
    with pytest.raises(ValueError, match="part must be 'all', 'lower' or 'upper', got 'left'"):
        add(out, left, right, 1.0, "left", False, 1)
    with pytest.raises(ValueError, match="right must be square to be symmetric"):
        add(out, left, right, 1.0, "all", True, 1)
    with pytest.raises(TypeError, match="left must have dtype float64, got float32"):
        add(out, left.astype(np.float32), right, 1.0, "all", False, 1)
    with pytest.raises(ValueError, match="rows of out must be in one piece"):
        add(out.T.copy().T, left, right, 1.0, "all", False, 1)
    with pytest.raises(TypeError, match="got a read-only array"):
        add(np.broadcast_to(0.0, (2, 3)), left, right, 1.0, "all", False, 1)


def test_neither_a_sum_nor_a_factor_is_copied(way, monkeypatch):
    monkeypatch.setattr(products, "BLOCK", 64)
    A, C = np.ones((500, 400)), np.zeros((500, 500), order="F")
    tracemalloc.start()
    add_product(C, A, A.T, part="lower")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < C.nbytes / 2


def test_blas_has_its_threads_back_whatever_happens():
    def count():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    def work():
        with quiet_blas():
            assert not products.WIDE or set(count()) == {1}
            raise KeyboardInterrupt

    with threadpool_limits(2, user_api="blas"):
        before = count()
        with pytest.raises(KeyboardInterrupt):
            work()
        assert count() == before
