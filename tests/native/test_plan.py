"""The native plan against brute force in NumPy, in double precision."""

import itertools
import multiprocessing
import re
import threading
import time
import warnings

import numpy as np
import pytest

from mercer import _native

ISAS = _native.isas()
KINDS = ["dot", "sqdist", "absdist", "powdist", "chi2", "min", "match"]
DTYPES = [np.float32, np.float64]
GAUSS = [("exp", 0, 0, 0, -0.5, 0.0)]
SHAPES = [(1, 1), (5, 13), (13, 5), (100, 517), (517, 100), (1, 517), (97, 96)]
DIMENSIONS = [1, 3, 8, 17, 33, 130]


@pytest.fixture(params=ISAS)
def isa(request):
    return request.param


def points(rng, n, d, dtype, kind="sqdist"):
    if kind == "match":
        return rng.integers(0, 3, (n, d)).astype(dtype)
    if kind == "chi2":
        return (rng.random((n, d)) * (rng.random((n, d)) < 0.7)).astype(dtype)
    return (rng.standard_normal((n, d)) / np.sqrt(d)).astype(dtype)


def statistic(kind, A, B, exponent=1.0):
    a, b = A[:, None, :].astype(float), B[None, :, :].astype(float)
    if kind == "dot":
        return (a * b).sum(-1)
    if kind == "sqdist":
        return ((a - b) ** 2).sum(-1)
    if kind == "powdist":
        return (abs(a - b) ** exponent).sum(-1)
    if kind == "absdist":
        return abs(a - b).sum(-1)
    if kind == "chi2":
        total = a + b
        return ((a - b) ** 2 / np.where(total == 0, 1, total)).sum(-1)
    if kind == "min":
        return np.minimum(a, b).sum(-1)
    return (a == b).sum(-1).astype(float)


def dense(plan, rows=None, start=0, stop=None, threads=2):
    n, m = plan.shape
    rows = np.arange(n) if rows is None else np.asarray(rows, dtype=np.int64)
    stop = m if stop is None else stop
    out = np.full((len(rows), stop - start), np.nan, plan.dtype)
    plan.dense(out, rows, start, stop, threads)
    return out


def product(plan, V, threads=2):
    out = np.full((plan.shape[0], V.shape[1]), np.nan)
    plan.product(V, out, 0, plan.shape[0], threads)
    return out


def symmetric_product(plan, V, threads=2):
    out = np.zeros((plan.shape[0], V.shape[1]))
    plan.symmetric_product(V, out, 0, plan.shape[0], threads)
    return out


def residuals(plan, V, weights, Y, threads=2, step=None):
    """Return Y - KV and KᵀW of that, of all rows, some at a time."""
    errors, out, n = Y.copy(), np.zeros(V.shape), len(Y)
    for start in range(0, n, step or n):
        plan.residuals(V, weights, errors, out, start, min(n, start + (step or n)), threads)
    return errors, out


def symmetric_dense(plan, threads=2):
    out = np.full(plan.shape, np.nan, plan.dtype)
    middle = len(out) // 2 // plan.row_block * plan.row_block  # in two ranges, in any order
    plan.symmetric_dense(out, middle, len(out), threads)
    plan.symmetric_dense(out, 0, middle, threads)
    return out


def tolerance(dtype):
    return 30 * np.finfo(dtype).eps


def apply_to(values, code, dtype=np.float64, isa=""):
    """Run a program on given numbers: with one column [1], the dot statistic is the number itself."""
    x = np.asarray(values, dtype=dtype).reshape(-1, 1)
    plan = _native.Plan([("dot", x, np.ones((1, 1), dtype))], [], [], code, isa)
    return dense(plan)[:, 0]


# ---------------------------------------------------------------- statistics


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_statistic_equals_its_definition_for_odd_shapes_and_dimensions(kind, dtype, isa):
    rng = np.random.default_rng(1)
    for n, m in SHAPES:
        for d in DIMENSIONS if n * m < 5000 else [3, 17, 33]:
            A, B = points(rng, n, d, dtype, kind), points(rng, m, d, dtype, kind)
            plan = _native.Plan([(kind, A, B)], [], [], [], isa)
            expected = statistic(kind, A, B)
            assert plan.shape == (n, m)
            np.testing.assert_allclose(dense(plan), expected, rtol=tolerance(dtype), atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", [0.1, 0.5, 0.75, 1.0, 1.3, 1.5, 2.0, 3.7])
def test_powers_of_differences_equal_their_definition(exponent, dtype, isa):
    rng = np.random.default_rng(5)
    for n, m, d in ((5, 13, 3), (100, 117, 8), (97, 1, 1)):
        A, B = points(rng, n, d, dtype), points(rng, m, d, dtype)
        A[0] = B[0]
        A[1] = B[0] * dtype(1e-20)
        A[2] = B[0] * dtype(1e8)
        plan = _native.Plan([("powdist", A, B, exponent)], [], [], [], isa)
        expected = (abs(A[:, None].astype(np.longdouble) - B[None]) ** np.longdouble(exponent)).sum(-1)
        limit = 1e-13 if dtype is np.float64 else 3e-5
        np.testing.assert_allclose(dense(plan), expected.astype(float), rtol=limit)
        assert dense(plan)[0, 0] == 0


@pytest.mark.parametrize("exponent", [0, -1.0, np.inf, np.nan])
def test_exponents_are_positive(exponent):
    with pytest.raises(ValueError, match=r"statistics\[0\]: the exponent must be positive and finite, got"):
        _native.Plan([("powdist", np.eye(2), None, exponent)], [], [], [])


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_and_dense_pieces_agree_with_brute_force_for_all_shapes(dtype, isa):
    rng = np.random.default_rng(2)
    for n in (1, 5, 13, 100, 517):
        for d in DIMENSIONS:
            X = points(rng, n, d, dtype)
            V = rng.standard_normal((n, 3)).astype(dtype)
            K = np.exp(-0.5 * statistic("sqdist", X, X)) if n * n * d < 1e7 else None
            plan = _native.Plan([("sqdist", X, None)], [], [], GAUSS, isa)
            D = dense(plan)
            if K is not None:
                np.testing.assert_allclose(D, K, rtol=tolerance(dtype))
            bound = tolerance(dtype) * (D.astype(float) @ abs(V) + 1)
            exact = D.astype(float) @ V.astype(float)
            assert np.all(abs(product(plan, V) - exact) <= bound)
            assert np.all(abs(symmetric_product(plan, V) - exact) <= bound)
            assert np.array_equal(symmetric_dense(plan), D)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [3, 40])
def test_the_dense_matrix_is_exactly_symmetric(d, dtype, isa):
    X = points(np.random.default_rng(3), 203, d, dtype)
    X[50:60] = X[10:20] + dtype(1e-3)  # near neighbours, where the product form of the distance cancels
    D = dense(_native.Plan([("sqdist", X, None)], [], [], GAUSS, isa))
    assert np.array_equal(D, D.T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [2, 16, 17, 40, 200])
def test_identical_points_have_distance_exactly_zero_even_far_from_the_origin(d, dtype, isa):
    rng = np.random.default_rng(4)
    X = (1000 + rng.standard_normal((60, d))).astype(dtype)
    X = np.ascontiguousarray(np.concatenate([X, X[::-1]]))
    S = dense(_native.Plan([("sqdist", X, None)], [], [], [], isa))
    assert np.all(np.diag(S) == 0)
    assert np.all(np.diag(S[:, ::-1]) == 0)
    assert np.all(S >= 0)
    np.testing.assert_allclose(S, statistic("sqdist", X, X), rtol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_squared_distances_of_near_neighbours_are_accurate_in_relative_terms(dtype, isa):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((50, 64)).astype(dtype)
    Z = np.concatenate([(X + s * rng.standard_normal(X.shape)).astype(dtype) for s in (1e-1, 1e-2, 1e-3)])
    S = dense(_native.Plan([("sqdist", X, Z)], [], [], [], isa))
    np.testing.assert_allclose(S, statistic("sqdist", X, Z), rtol=64 * 10 * np.finfo(dtype).eps)


@pytest.mark.parametrize("d", [4, 40])
def test_points_that_overflow_single_precision_are_infinitely_far_apart(d, isa):
    rng = np.random.default_rng(6)
    X = (rng.standard_normal((40, d)) * 1e25).astype(np.float32)
    K = dense(_native.Plan([("sqdist", X, None)], [], [], GAUSS, isa))
    assert np.array_equal(K, np.eye(40, dtype=np.float32))


def test_an_entry_does_not_depend_on_the_tile_it_is_computed_in(isa):
    rng = np.random.default_rng(7)
    X = np.repeat(rng.standard_normal((40, 33)), 5, axis=0).astype(np.float32)
    X += (1e-2 * rng.standard_normal(X.shape)).astype(np.float32)
    plan = _native.Plan([("sqdist", X, None)], [], [], [], isa)
    D = dense(plan)
    rows = rng.permutation(200)[:77]
    assert np.array_equal(dense(plan, rows), D[rows])
    shifted = _native.Plan([("sqdist", X, np.ascontiguousarray(X[7:]))], [], [], [], isa)
    assert np.array_equal(dense(shifted), D[:, 7:])


def test_arrays_that_start_at_the_same_address_are_still_two_arrays(isa):
    X = np.random.default_rng(8).standard_normal((150, 4))
    for A, B in [(X, X[:20]), (X[:20], X), (X, X)]:
        plan = _native.Plan([("sqdist", A, B)], [], [], [], isa)
        np.testing.assert_allclose(dense(plan), statistic("sqdist", A, B), rtol=1e-13)


# ---------------------------------------------------------------- programs

OPERATIONS = {
    "affine": (lambda x: -2.5 * x + 0.5, (-2.5, 0.5)),
    "exp": (lambda x: np.exp(-0.7 * x + 0.1), (-0.7, 0.1)),
    "log": (np.log, (0.0, 0.0)),
    "sqrt": (np.sqrt, (0.0, 0.0)),
    "tanh": (np.tanh, (0.0, 0.0)),
    "recip": (lambda x: 1 / x, (0.0, 0.0)),
    "pow": (lambda x: x**-1.7, (-1.7, 0.0)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", OPERATIONS)
def test_every_unary_operation_equals_numpy(op, dtype, isa):
    x = np.random.default_rng(9).gamma(1.0, 2.0, 1000).astype(dtype)
    function, (c0, c1) = OPERATIONS[op]
    y = apply_to(x, [(op, 0, 0, 0, c0, c1)], dtype, isa)
    np.testing.assert_allclose(y, function(x.astype(float)), rtol=tolerance(dtype), atol=np.finfo(dtype).eps)


@pytest.mark.parametrize("power", [1, 2, 3, 4, 7, 10, 16])
def test_integer_powers_keep_the_sign_of_a_negative_base(power, isa):
    x = np.linspace(-2, 2, 101)
    np.testing.assert_allclose(apply_to(x, [("powi", 0, 0, 0, power, 0.0)], isa=isa), x**power, rtol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
def test_operations_are_defined_at_the_edges_of_their_domains(dtype, isa):
    inf, nan = np.inf, np.nan

    def run(op, values, c0=1.0, c1=0.0):
        return apply_to(values, [(op, 0, 0, 0, c0, c1)], dtype, isa)

    assert np.array_equal(run("exp", [-inf, -1e30, inf, nan, 0, 1e5]), [0, 0, inf, nan, 1, inf], equal_nan=True)
    assert np.array_equal(run("log", [0, -1, inf, nan, 1]), [-inf, nan, inf, nan, 0], equal_nan=True)
    assert np.array_equal(run("log1p", [0, -1, -2, inf, nan]), [0, -inf, nan, inf, nan], equal_nan=True)
    assert np.array_equal(run("recip", [0, -0.0, 2, inf]), [0, 0, 0.5, 0])
    assert np.array_equal(run("sqrt", [-1, 0, 4, -inf, nan]), [0, 0, 2, 0, nan], equal_nan=True)
    assert np.array_equal(run("pow", [0, 1, inf], 0.5), [0, 1, inf])
    assert np.array_equal(run("pow", [0, 1, inf, 3], 0.0), [1, 1, 1, 1])
    assert np.array_equal(run("tanh", [-inf, 0, inf]), [-1, 0, 1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_and_log_are_accurate_to_two_units_in_the_last_place(dtype, isa):
    rng = np.random.default_rng(10)
    low, high = (-87.0, 88.5) if dtype == np.float32 else (-708.0, 709.5)
    x = np.concatenate([rng.uniform(low, high, 40000), rng.uniform(-1, 1, 40000)]).astype(dtype)
    exact = np.exp(x.astype(np.longdouble))
    y = apply_to(x, [("exp", 0, 0, 0, 1.0, 0.0)], dtype, isa)
    # In single precision log2(e) and x log2(e) are rounded, each an error of up to x units.
    units = 2 + 2 * abs(x) if dtype == np.float32 else 2
    eps = np.finfo(dtype).eps
    assert np.all(abs(y - exact)[x <= 0] < eps)  # what kernel values are off by, beside their largest
    assert np.all(abs(y - exact) / np.spacing(exact.astype(dtype)) < units)
    x = np.concatenate([np.exp(rng.uniform(low, high, 40000)), rng.uniform(0.5, 2, 40000)]).astype(dtype)
    exact = np.log(x.astype(np.longdouble))
    y = apply_to(x, [("log", 0, 0, 0, 0.0, 0.0)], dtype, isa)
    assert np.max(abs(y - exact) / np.spacing(abs(exact).astype(dtype))) < 3
    x = np.concatenate([np.exp(rng.uniform(low / 2, high / 2, 40000)), rng.uniform(-0.5, 2, 40000)]).astype(dtype)
    exact = np.log1p(x.astype(np.longdouble))
    y = apply_to(x, [("log1p", 0, 0, 0, 0.0, 0.0)], dtype, isa)
    assert np.max(abs(y - exact) / np.spacing(abs(exact).astype(dtype))) < 5


def test_exp_vanishes_monotonically_below_the_normal_range(isa):
    for dtype, low, high in [(np.float32, -110, -86), (np.float64, -760, -707)]:
        y = apply_to(np.linspace(low, high, 5001), [("exp", 0, 0, 0, 1.0, 0.0)], dtype, isa)
        assert np.all(np.diff(y) >= 0)
        assert y[0] == 0
        assert np.all((y == 0) | (y >= np.finfo(dtype).tiny * 0.99))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [5, 150])
def test_a_program_may_combine_statistics_factors_and_reuse_registers(n, dtype, isa):
    rng = np.random.default_rng(11)
    m = n + 7
    A, B = points(rng, n, 5, dtype), points(rng, m, 5, dtype)
    C, D = points(rng, n, 20, dtype), points(rng, m, 20, dtype)
    u, v = rng.random(n).astype(dtype), rng.random(n).astype(dtype)
    w = rng.random(m).astype(dtype)
    code = [
        ("exp", 0, 0, 0, -0.5, 0.0),  # r0 = exp(-s0 / 2)
        ("sqrt", 1, 1, 0, 0.0, 0.0),  # r1 = |c - d|
        ("left", 7, 1, 0, 0.0, 0.0),  # r7 = v
        ("mul", 1, 1, 7, 0.0, 0.0),
        ("right", 7, 0, 0, 0.0, 0.0),  # r7 = w
        ("add", 31, 1, 7, 1.0, 0.5),  # weighted
        ("left", 3, 0, 0, 0.0, 0.0),
        ("mul", 0, 0, 3, 0.0, 0.0),
        ("add", 2, 31, 0, 1.0, 1.0),
    ]
    plan = _native.Plan([("sqdist", A, B), ("sqdist", C, D)], [u, v], [w], code, isa)
    distance = np.sqrt(statistic("sqdist", C, D))
    K = u[:, None] * np.exp(-0.5 * statistic("sqdist", A, B)) + distance * v[:, None] + 0.5 * w
    np.testing.assert_allclose(dense(plan), K, rtol=tolerance(dtype))
    V = rng.standard_normal((m, 2)).astype(dtype)
    np.testing.assert_allclose(product(plan, V), K @ V, rtol=0, atol=tolerance(dtype) * n * 3)


def test_factors_follow_the_rows_asked_for(isa):
    rng = np.random.default_rng(12)
    X, u = rng.standard_normal((300, 3)), rng.random(300)
    code = [("left", 1, 0, 0, 0.0, 0.0), ("right", 2, 0, 0, 0.0, 0.0), ("mul", 0, 0, 1, 0, 0), ("mul", 0, 0, 2, 0, 0)]
    plan = _native.Plan([("dot", X, None)], [u], [u], code, isa)
    K = (X @ X.T) * u[:, None] * u
    rows = rng.integers(0, 300, 130)
    np.testing.assert_allclose(dense(plan, rows, 37, 211), K[rows, 37:211], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(symmetric_dense(plan), K, rtol=1e-12, atol=1e-12)
    V = rng.standard_normal((300, 2))
    np.testing.assert_allclose(symmetric_product(plan, V), K @ V, rtol=1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sides", [1, 2, 5])
def test_residuals_and_what_they_send_back_agree_with_two_products(sides, dtype, isa):
    rng = np.random.default_rng(23)
    for n, m, d in ((1, 1, 2), (5, 13, 9), (100, 517, 3), (1700, 30, 3), (97, 96, 20)):
        A, B = points(rng, n, d, dtype), points(rng, m, d, dtype)
        V, Y, weights = rng.standard_normal((m, sides)).astype(dtype), rng.standard_normal((n, sides)), rng.random(n)
        plan = _native.Plan([("sqdist", A, B)], [], [], GAUSS, isa)
        K = dense(plan).astype(float)
        expected = Y - K @ V.astype(float)
        bound = tolerance(dtype) * (abs(K) @ abs(V) + 1)
        for step in (None, 96, 130):
            errors, out = residuals(plan, V, weights, Y, step=step)
            assert np.all(abs(errors - expected) <= bound)
            back = weights[:, None] * expected
            assert np.all(abs(out - K.T @ back) <= tolerance(dtype) * (K.T @ abs(back) + 1) + K.T @ bound)


def test_padding_never_leaks_into_a_result(isa):
    X = np.full((13, 3), 2.0)
    plan = _native.Plan([("dot", X, None)], [], [], [("log", 0, 0, 0, 0.0, 0.0)], isa)  # log(0) in the padding
    V = np.ones((13, 2))
    for result in (product(plan, V), symmetric_product(plan, V)):
        np.testing.assert_allclose(result, 13 * np.log(12))
    for result in residuals(plan, V / np.log(12), np.ones(13), np.full((13, 2), 14.0)):
        assert np.allclose(result, 1) or np.allclose(result, 13 * np.log(12))


# ---------------------------------------------------------------- ranges


def test_a_product_over_a_row_range_leaves_other_rows_alone(isa):
    rng = np.random.default_rng(13)
    A, B = rng.standard_normal((400, 6)), rng.standard_normal((123, 6))
    V = rng.standard_normal((123, 2))
    plan = _native.Plan([("sqdist", A, B)], [], [], GAUSS, isa)
    whole = product(plan, V)
    for start, stop in [(0, 1), (17, 250), (399, 400), (96, 192), (50, 50)]:
        out = np.full((400, 2), 7.0)
        plan.product(V, out, start, stop, 2)
        assert np.array_equal(out[start:stop], whole[start:stop])
        assert np.all(np.delete(out, np.s_[start:stop], axis=0) == 7)


@pytest.mark.parametrize("n", [60, 96, 500, 1000])
def test_consecutive_symmetric_ranges_add_up_to_the_whole_product(n, isa):
    rng = np.random.default_rng(14)
    X, V = rng.standard_normal((n, 4)), rng.standard_normal((n, 3))
    plan = _native.Plan([("sqdist", X, None)], [], [], GAUSS, isa)
    block = plan.row_block
    for ranges in ([0, n], [*range(0, n, block), n], [*range(0, n, 3 * block), n]):
        out = np.zeros((n, 3))
        for start, stop in itertools.pairwise(ranges):
            plan.symmetric_product(V, out, start, stop, 2)
        np.testing.assert_allclose(out, product(plan, V), rtol=1e-11, atol=1e-12)


def test_symmetric_ranges_of_a_wide_matrix_meet_all_columns():
    rng = np.random.default_rng(15)
    X, V = rng.standard_normal((6000, 2)).astype(np.float32), rng.standard_normal((6000, 1)).astype(np.float32)
    plan = _native.Plan([("sqdist", X, None)], [], [], GAUSS)
    expected = product(plan, V)
    for step in (5 * 96, 20 * 96):
        out = np.zeros((6000, 1))
        for start in range(0, 6000, step):
            plan.symmetric_product(V, out, start, min(6000, start + step), 2)
        np.testing.assert_allclose(out, expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_takes_any_rows_in_any_order_and_any_range_of_columns(dtype, isa):
    rng = np.random.default_rng(16)
    A, B = points(rng, 211, 18, dtype), points(rng, 530, 18, dtype)
    plan = _native.Plan([("sqdist", A, B)], [], [], GAUSS, isa)
    D = dense(plan)
    rows = rng.integers(0, 211, 500)
    for start, stop in [(0, 530), (1, 2), (47, 513), (96, 529), (200, 200)]:
        assert np.array_equal(dense(plan, rows, start, stop), D[rows, start:stop])
    assert dense(plan, []).shape == (0, 530)


def test_empty_sides_and_no_right_hand_sides_are_handled():
    X = np.ones((5, 2))
    plan = _native.Plan([("dot", X, np.ones((0, 2)))], [], [], [])
    assert np.all(product(plan, np.ones((0, 3))) == 0)
    plan = _native.Plan([("dot", np.ones((0, 2)), None)], [], [], [])
    assert symmetric_product(plan, np.ones((0, 3))).shape == (0, 3)
    assert symmetric_dense(plan).shape == (0, 0)
    plan = _native.Plan([("dot", X, None)], [], [], [])
    assert product(plan, np.ones((5, 0))).shape == (5, 0)
    assert symmetric_product(plan, np.ones((5, 0))).shape == (5, 0)
    assert residuals(plan, np.ones((5, 0)), np.ones(5), np.ones((5, 0)))[1].shape == (5, 0)
    plan = _native.Plan([("dot", X, np.ones((0, 2)))], [], [], [])
    assert np.all(residuals(plan, np.ones((0, 3)), np.ones(5), np.ones((5, 3)))[0] == 1)


# ---------------------------------------------------------------- threads and processes


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_are_identical_to_the_last_bit_for_any_number_of_threads(dtype):
    rng = np.random.default_rng(17)
    X = points(rng, 2500, 7, dtype)
    V = rng.standard_normal((2500, 3)).astype(dtype)
    plan = _native.Plan([("sqdist", X, None)], [], [], GAUSS)
    few = _native.Plan([("sqdist", X[:3], np.tile(X, (14, 1)))], [], [], GAUSS)  # columns are split
    W = np.tile(V, (14, 1))
    references = product(plan, V, 1), symmetric_product(plan, V, 1), symmetric_dense(plan, 1), product(few, W, 1)
    weights, Y = rng.random(2500), rng.standard_normal((2500, 3))
    left = residuals(plan, V, weights, Y, 1)
    for threads in (2, 3, 5):
        assert np.array_equal(product(plan, V, threads), references[0])
        assert np.array_equal(symmetric_product(plan, V, threads), references[1])
        assert np.array_equal(symmetric_dense(plan, threads), references[2])
        assert np.array_equal(product(few, W, threads), references[3])
        assert all(map(np.array_equal, residuals(plan, V, weights, Y, threads), left))


def test_a_long_row_is_summed_alike_with_few_rows_and_with_many():
    rng = np.random.default_rng(18)
    A, B = rng.standard_normal((3200, 2)).astype(np.float32), rng.standard_normal((20000, 2)).astype(np.float32)
    V = rng.standard_normal((20000, 1)).astype(np.float32)
    plan = _native.Plan([("sqdist", A, B)], [], [], GAUSS)
    some = np.zeros((3200, 1))
    plan.product(V, some, 100, 110, 2)
    assert np.array_equal(product(plan, V)[100:110], some[100:110])


def test_calls_from_several_python_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(19)
    X = rng.standard_normal((1500, 5))
    plan = _native.Plan([("sqdist", X, None)], [], [], GAUSS)
    inputs = [rng.standard_normal((1500, 2)) for _ in range(4)]
    expected = [symmetric_product(plan, V) for V in inputs]
    wrong = []

    def call(V, reference):
        for _ in range(10):
            if not np.array_equal(symmetric_product(plan, V), reference):
                wrong.append(1)

    threads = [threading.Thread(target=call, args=pair) for pair in zip(inputs, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_python_threads_run_while_a_plan_works():
    X = np.random.default_rng(20).standard_normal((6000, 40))
    plan = _native.Plan([("sqdist", X, None)], [], [], GAUSS)
    ticks, finished = [0], threading.Event()

    def tick():
        while not finished.wait(0.0005):
            ticks[0] += 1

    def count_ticks():
        before = ticks[0]
        while ticks[0] == before:  # the ticker is alive
            time.sleep(0.0005)  # a loop that never rests may keep the ticker from its core
        before = ticks[0]
        product(plan, np.ones((6000, 1)), 1)
        return ticks[0] - before

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        assert any(count_ticks() > 2 for _ in range(20))  # a busy machine may not let the ticker run each time
    finally:
        finished.set()
        ticker.join()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_a_forked_child_starts_its_own_threads():
    X = np.random.default_rng(21).standard_normal((1500, 3))
    plan = _native.Plan([("sqdist", X, None)], [], [], GAUSS)
    V = np.ones((1500, 1))
    expected = symmetric_product(plan, V)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def child():
        queue.put(symmetric_product(plan, V))

    process = context.Process(target=child)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    process.join(30)
    assert process.exitcode == 0
    assert np.array_equal(queue.get(), expected)
    assert np.array_equal(symmetric_product(plan, V), expected)


def test_a_plan_keeps_its_points_alive():
    X = np.random.default_rng(22).standard_normal((200, 3))
    expected = statistic("dot", X, X)
    plan = _native.Plan([("dot", X.copy(), None)], [], [], [])
    np.testing.assert_allclose(dense(plan, np.arange(200)), expected, rtol=1e-12, atol=1e-12)


def test_read_only_points_are_accepted():
    X = np.ones((4, 2))
    X.flags.writeable = False
    plan = _native.Plan([("dot", X, None)], [X[:, 0].copy()], [], [])
    assert np.all(product(plan, np.broadcast_to(1.0, (4, 1)).copy()) == 8)


# ---------------------------------------------------------------- attributes and errors


def test_a_plan_tells_its_shape_instruction_set_and_dtype(isa):
    plan = _native.Plan([("dot", np.ones((3, 2), np.float32), np.ones((4, 2), np.float32))], [], [], [], isa)
    assert (plan.shape, plan.isa, plan.dtype, plan.symmetric) == ((3, 4), isa, "float32", False)
    assert _native.Plan([("dot", np.ones((3, 2)), None)], [], [], []).isa == ISAS[0]


def test_the_workspace_grows_with_right_hand_sides_and_threads_but_not_with_the_matrix():
    X = np.ones((20000, 3))
    plan = _native.Plan([("dot", X, None)], [], [], [])
    for workspace in (plan.workspace, plan.residual_workspace):
        assert workspace(1, 1) < workspace(1, 2) < workspace(9, 2) < 100e6


X32, X64 = np.ones((3, 2), np.float32), np.ones((3, 2))
BAD_PLANS = [
    (([], [], [], []), ValueError, "at least one statistic"),
    (([("dot", np.ones((3, 0)), None)], [], [], []), ValueError, r"at least one dimension, got shape \(3, 0\)"),
    (([("cosine", X64, None)], [], [], []), ValueError, "unknown statistic 'cosine'.*sqdist"),
    (([("dot", X64, X32)], [], [], []), TypeError, r"statistics\[0\].B must have dtype float64, got float32"),
    (([("dot", X64.astype(int), None)], [], [], []), TypeError, "float32 or float64, got int64"),
    (([("dot", X64.tolist(), None)], [], [], []), TypeError, "must be a NumPy array, got list"),
    (([("dot", X64[0], None)], [], [], []), ValueError, r"2 dimensions, got shape \(2,\)"),
    (([("dot", np.ones((3, 4))[:, ::2], None)], [], [], []), ValueError, "C-contiguous"),
    (([("dot", X64, np.ones((3, 5)))], [], [], []), ValueError, r"must have shape \(3, 2\), got \(3, 5\)"),
    (([("dot", X64, None), ("dot", np.ones((4, 2)), None)], [], [], []), ValueError, r"\(3, 2\), got \(4, 2\)"),
    (([("dot", X64)], [], [], []), TypeError, "must be a tuple"),
    (([("dot", X64, None)], [np.ones(4)], [], []), ValueError, r"left\[0\] must have shape \(3,\), got \(4,\)"),
    (([("dot", X64, None)], [], [], [("sin", 0, 0, 0, 0.0, 0.0)]), ValueError, "unknown operation 'sin'"),
    (([("dot", X64, None)], [], [], [("exp", 0, 1, 0, 0.0, 0.0)]), ValueError, "register 1.*nothing yet"),
    (([("dot", X64, None)], [], [], [("exp", 32, 0, 0, 0.0, 0.0)]), ValueError, "writes register 32"),
    (([("dot", X64, None)], [], [], [("powi", 0, 0, 0, 1.5, 0.0)]), ValueError, "integer exponent"),
    (([("dot", X64, None)], [], [], [("left", 0, 0, 0, 0.0, 0.0)]), ValueError, "there are 0 left factors"),
    (([("dot", X64, None)], [], [], [("exp", 0)]), TypeError, "must be a tuple"),
    (([("dot", X64, None)], [], [], [], "mmx"), ValueError, "'mmx' is not available.*baseline"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD_PLANS)
def test_a_plan_that_makes_no_sense_is_refused_with_the_reason(arguments, error, message):
    with pytest.raises(error, match=message):
        _native.Plan(*arguments)


def misaligned(array):
    """Return a copy that starts one byte after where its numbers could."""
    view = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_whose_numbers_start_between_those_of_the_memory_are_refused(dtype):
    X, rows = np.ones((5, 2), dtype), np.arange(5)
    plan, V, out = _native.Plan([("dot", X, None)], [], [], []), np.ones((5, 1), dtype), np.zeros((5, 1))
    for name, call in {
        "statistics[0].A": lambda: _native.Plan([("dot", misaligned(X), None)], [], [], []),
        "left[0]": lambda: _native.Plan([("dot", X, None)], [misaligned(X[:, 0])], [], []),
        "V": lambda: plan.product(misaligned(V), out, 0, 5, 1),
        "out": lambda: plan.product(V, misaligned(out), 0, 5, 1),
        "rows": lambda: plan.dense(np.zeros((5, 5), dtype), misaligned(rows), 0, 5, 1),
    }.items():
        with pytest.raises(ValueError, match=rf"^{re.escape(name)} must be aligned.* np.require\({re.escape(name)}"):
            call()


def test_arguments_of_products_and_dense_pieces_are_checked():
    X = np.ones((200, 2))
    plan = _native.Plan([("dot", X, None)], [], [], [])
    V, out = np.ones((200, 1)), np.zeros((200, 1))
    frozen = np.zeros((200, 1))
    frozen.flags.writeable = False
    rows = np.arange(3)
    cases = [
        (lambda: plan.product(V[:9], out, 0, 200, 1), ValueError, r"V must have shape \(200, 1\), got \(9, 1\)"),
        (lambda: plan.product(V.astype("f4"), out, 0, 200, 1), TypeError, "V must have dtype float64, got float32"),
        (lambda: plan.product(V, out.astype("f4"), 0, 200, 1), TypeError, "out must have dtype float64"),
        (lambda: plan.product(V, frozen, 0, 200, 1), TypeError, "writable"),
        (lambda: plan.product(V, out, 0, 201, 1), ValueError, "row_stop <= 200, got 0 and 201"),
        (lambda: plan.product(V, out, -1, 20, 1), ValueError, "got -1 and 20"),
        (lambda: plan.product(V, out, 0, 200, 0), ValueError, "threads must lie in"),
        (lambda: plan.symmetric_product(V, out, 0, 100, 1), ValueError, "multiples of row_block"),
        (
            lambda: plan.dense(np.zeros((3, 5)), rows, 0, 4, 1),
            ValueError,
            r"out must have shape \(3, 4\), got \(3, 5\)",
        ),
        (lambda: plan.dense(np.zeros((3, 4)), rows + 198, 0, 4, 1), ValueError, "0..199, got 200"),
        (lambda: plan.dense(np.zeros((3, 4)), rows.astype("i4"), 0, 4, 1), TypeError, "int64, got int32"),
        (lambda: plan.dense(np.zeros((3, 4)), rows, 198, 202, 1), ValueError, "col_stop <= 200"),
        (lambda: plan.symmetric_dense(np.zeros((200, 199)), 0, 200, 1), ValueError, r"\(200, 200\)"),
        (lambda: plan.workspace(-1, 1), ValueError, "negative"),
        (lambda: plan.residual_workspace(-1, 1), ValueError, "negative"),
        (lambda: plan.residuals(V, V, out, out, 0, 200, 1), ValueError, "weights must have 1 dimension"),
        (lambda: plan.residuals(V[:9], rows, out, out, 0, 200, 1), ValueError, r"V must have shape \(200, 1\)"),
        (lambda: plan.residuals(V, V[:, 0].copy(), frozen, out, 0, 200, 1), TypeError, "errors must be a writable"),
        (lambda: plan.residuals(V, V[:, 0].copy(), out, out[:9], 0, 200, 1), ValueError, r"out must have shape"),
        (lambda: plan.residuals(V, V[:, 0].copy(), out, out, 0, 201, 1), ValueError, "row_stop <= 200"),
    ]
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()
    rectangular = _native.Plan([("dot", X, X)], [], [], [])
    with pytest.raises(ValueError, match="B = None"):
        rectangular.symmetric_product(V, out, 0, 200, 1)
    with pytest.raises(ValueError, match="B = None"):
        rectangular.symmetric_dense(np.zeros((200, 200)), 0, 200, 1)
