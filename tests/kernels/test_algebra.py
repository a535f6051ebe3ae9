"""Operators, exponentials, normalisation and pull-backs; random expressions against an interpreter in plain NumPy."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import mercer.kernels
from mercer.kernels import (
    Constant,
    Cosine,
    Custom,
    FromFeatures,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Overlap,
    Periodic,
    Polynomial,
    exp,
)

# -- random expressions --------------------------------------------------------------------------------------------
# A specification is a nested tuple.  `build` turns it into a kernel with the operators a user writes, `interpret`
# into numbers with NumPy alone.


def _wave(t):
    return np.sin(np.pi * t / 2.5)


LEAVES = {
    "linear": (Linear(), lambda X, Z: X @ Z.T),
    "square": (Polynomial(2, 1.0), lambda X, Z: (X @ Z.T + 1) ** 2),
    "gaussian": (Gaussian(0.7), lambda X, Z: np.exp(-((X[:, None] - Z[None]) ** 2).sum(-1) / 0.98)),
    "laplacian": (Laplacian(1.3), lambda X, Z: np.exp(-np.abs(X[:, None] - Z[None]).sum(-1) / 1.3)),
    "matern": (Matern(0.5, 1.1), lambda X, Z: np.exp(-np.sqrt(((X[:, None] - Z[None]) ** 2).sum(-1)) / 1.1)),
    "periodic": (Periodic(0.9, 2.5), lambda X, Z: np.exp(-2 * (_wave(X[:, None] - Z[None]) ** 2).sum(-1) / 0.81)),
    "cosine": (Cosine(0.4), lambda X, Z: np.cos(0.4 * (X[:, None] - Z[None])).sum(-1)),
    "minimum": (Intersection(), lambda X, Z: np.minimum(X[:, None], Z[None]).sum(-1)),
    "constant": (Constant(0.5), lambda X, Z: np.full((len(X), len(Z)), 0.5)),
}
X = np.random.default_rng(3).uniform(0.1, 1.0, size=(4, 3))
Z = np.random.default_rng(4).uniform(0.1, 1.0, size=(3, 3))
COLUMNS = {"first": [0], "last": -1, "slice": slice(0, 1)}  # these exist however many columns are left


def build(spec):
    op, *args = spec
    if op == "leaf":
        return LEAVES[args[0]][0]
    if op == "on":
        return build(args[1]).on(COLUMNS[args[0]])
    k = build(args[0])
    second = build(args[1]) if len(args) > 1 and isinstance(args[1], tuple) else (args[1] if len(args) > 1 else None)
    return {
        "add": lambda: k + second,
        "radd": lambda: second + k,
        "sub": lambda: k - second,
        "rsub": lambda: second - k,
        "mul": lambda: k * second,
        "rmul": lambda: second * k,
        "div": lambda: k / second,
        "neg": lambda: -k,
        "pow": lambda: k**second,
        "exp": lambda: exp(k),
        "normalize": lambda: k.normalize(),
    }[op]()


def interpret(spec, X, Z):
    op, *args = spec
    if op == "leaf":
        return LEAVES[args[0]][1](X, Z)
    if op == "on":
        column = {"first": slice(0, 1), "last": slice(X.shape[1] - 1, None), "slice": slice(0, 1)}[args[0]]
        return interpret(args[1], X[:, column], Z[:, column])
    K = interpret(args[0], X, Z)
    second = args[1] if len(args) > 1 else None
    if isinstance(second, tuple):
        second = interpret(second, X, Z)
    if op == "normalize":
        left = np.array([interpret(args[0], x[None], x[None])[0, 0] for x in X])
        right = np.array([interpret(args[0], z[None], z[None])[0, 0] for z in Z])
        return K / np.sqrt(left[:, None] * right[None, :])
    with np.errstate(over="ignore"):
        return {
            "add": lambda: K + second, "radd": lambda: second + K, "sub": lambda: K - second,
            "rsub": lambda: second - K, "mul": lambda: K * second, "rmul": lambda: second * K,
            "div": lambda: K / second, "neg": lambda: -K, "pow": lambda: K**second, "exp": lambda: np.exp(K),
        }[op]()  # fmt: skip


leaves = st.sampled_from(sorted(LEAVES)).map(lambda name: ("leaf", name))
weights = st.floats(0.1, 3.0)


def _positive(children):
    return st.one_of(
        st.tuples(st.sampled_from(["add", "mul"]), children, children | weights),
        st.tuples(st.sampled_from(["radd", "rmul", "div"]), children, weights),
        st.tuples(st.just("pow"), children, st.integers(1, 3)),
        st.tuples(st.sampled_from(["exp", "normalize"]), children),
        st.tuples(st.just("on"), st.sampled_from(sorted(COLUMNS)), children),
    )


def _signed(children):
    return st.one_of(
        st.tuples(st.sampled_from(["add", "sub", "mul"]), children, children),
        st.tuples(st.sampled_from(["sub", "rsub", "add", "radd", "mul", "rmul", "div"]), children, st.floats(-3, -0.1)),
        st.tuples(st.sampled_from(["neg", "exp"]), children),
        st.tuples(st.just("pow"), children, st.integers(1, 3)),
        st.tuples(st.just("on"), st.sampled_from(sorted(COLUMNS)), children),
    )


positive_trees = st.recursive(leaves, _positive, max_leaves=8)
trees = st.recursive(positive_trees, _signed, max_leaves=6)
unhurried = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])


@unhurried
@given(trees)
@example(("normalize", ("exp", ("exp", ("leaf", "square")))))
def test_random_expressions_equal_plain_numpy(spec):
    with np.errstate(all="ignore"):  # what overflows is left out
        expected, own = interpret(spec, X, Z), interpret(spec, X, X)
        # Differences of large terms cancel: what is left is exact relative to the terms, which absolute() bounds.
        size = np.abs(interpret(absolute(spec), X, Z))
    assume(np.isfinite(expected).all() and np.abs(expected).max() < 1e60)
    assume(np.isfinite(own).all() and np.isfinite(size).all())
    assert (np.abs(build(spec)(X, Z) - expected) <= 1e-9 * size).all()


def absolute(spec):
    """Replace every difference by a sum: a bound for the terms that cancel."""
    op, *args = spec
    op = {"sub": "add", "rsub": "radd", "neg": "add"}.get(op, op)
    args = [absolute(a) if isinstance(a, tuple) else abs(a) if isinstance(a, float) else a for a in args]
    if spec[0] == "neg":
        args.append(0.0)
    if op == "leaf" and args[0] == "cosine":
        return ("mul", ("leaf", "constant"), 2.0 * 3.0)
    if op == "exp":  # exp(k) errs by |k| exp(k) relative to the error of k
        return ("mul", ("add", args[0], 1.0), ("exp", args[0]))
    return (op, *args)


@unhurried
@given(positive_trees)
def test_random_positive_expressions_equal_plain_numpy_closely(spec):
    expected, own = interpret(spec, X, Z), interpret(spec, X, X)
    assume(np.isfinite(expected).all() and np.isfinite(own).all() and max(expected.max(), own.max()) < 1e30)
    kernel = build(spec)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(kernel(X), own, rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(kernel.diag(X), np.diag(own), rtol=1e-10, atol=1e-300)


@unhurried
@given(trees)
def test_random_expressions_are_rebuilt_by_their_text_and_survive_copies(spec):
    kernel = build(spec)
    names = {name: getattr(mercer.kernels, name) for name in mercer.kernels.__all__}
    for other in (eval(repr(kernel), names), pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel), clone(kernel)):
        assert other == kernel
        assert hash(other) == hash(kernel)
        assert repr(other) == repr(kernel)
    assert kernel.with_params(**kernel.get_params(deep=False)) == kernel
    assert kernel.with_params(**kernel.get_params()) == kernel


@unhurried
@given(trees)
def test_gradients_of_random_expressions_are_finite_differences(spec):
    kernel = build(spec)
    assume(len(kernel.hyperparameters()) > 0)
    size = np.abs(interpret(absolute(spec), X, Z))
    assume(np.isfinite(size).all() and size.max() < 1e6)
    assume(np.isfinite(interpret(spec, X, X)).all())
    name = max(kernel.hyperparameters())
    value, step = kernel.hyperparameters()[name], 1e-4
    up, down = (kernel.with_hyperparameters({name: value * math.exp(s)})(X, Z) for s in (step, -step))
    numeric = (up - down) / (2 * step)
    scale = max(1.0, size.max(), np.abs(numeric).max())
    np.testing.assert_allclose(kernel.gradient(X, Z)[name], numeric, rtol=1e-4, atol=1e-4 * scale)


@unhurried
@given(trees)
def test_slopes_of_random_expressions_are_finite_differences_in_extended_precision(spec):
    size = np.abs(interpret(absolute(spec), X, Z))
    assume(np.isfinite(size).all() and size.max() < 1e6)
    assume(np.isfinite(interpret(spec, X, X)).all())
    wide, others, step = X.astype(np.longdouble), Z.astype(np.longdouble), 2.0**-12
    expected = np.empty((*size.shape, X.shape[1]))
    for d, direction in enumerate(np.eye(X.shape[1])):
        at = {s: interpret(spec, wide + s * step * direction, others) for s in (-2, -1, 1, 2)}
        expected[:, :, d] = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step)
    scale = max(1.0, size.max(), np.abs(expected).max())
    np.testing.assert_allclose(build(spec).gradient_x(X, Z), expected, rtol=0, atol=1e-9 * scale)


# -- operators -----------------------------------------------------------------------------------------------------

a, b, c, d, e = Linear(), Gaussian(), Polynomial(), Laplacian(), Cosine()


def test_a_sum_of_products_is_not_flattened():
    A, B, C, D, E = (k(X, Z) for k in (a, b, c, d, e))
    np.testing.assert_allclose(((a + b) * (c + d * e) ** 2)(X, Z), (A + B) * (C + D * E) ** 2, rtol=1e-13)
    np.testing.assert_allclose((a + b * (c - (d - e)))(X, Z), A + B * (C - (D - E)), rtol=1e-12)
    np.testing.assert_allclose((a - b - c)(X, Z), A - B - C, rtol=1e-12)
    np.testing.assert_allclose((a - (b - c))(X, Z), A - (B - C), rtol=1e-12)
    np.testing.assert_allclose((-((a + b) ** 2))(X, Z), -((A + B) ** 2), rtol=1e-13)


def test_the_python_sum_adds_kernels():
    assert sum([a, b, c]) == a + b + c
    np.testing.assert_allclose(sum([a, b, c])(X), a(X) + b(X) + c(X), rtol=1e-13)


@pytest.mark.parametrize("two", [2, 2.0, np.float64(2), np.float32(2), np.int64(2), np.uint8(2)], ids=lambda n: repr(n))
def test_numbers_of_any_kind_work_on_both_sides(two):
    A = a(X, Z)
    for kernel, expected in (
        (two * a, 2 * A), (a * two, 2 * A), (a + two, A + 2), (two + a, A + 2), (a - two, A - 2), (two - a, 2 - A),
        (a / two, A / 2),
    ):  # fmt: skip
        assert isinstance(kernel, mercer.kernels.Kernel)
        np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-13)


def test_multiples_of_multiples_are_one_multiple():
    assert 2 * (3 * a) == 6 * a
    assert -(2 * a) == -2 * a
    assert 2 * a / 4 == 0.5 * a
    assert repr(2 * (3 * a)) == "6.0 * Linear()"


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (a - 2 * b, "Linear() - 2.0 * Gaussian(length_scale=1.0)"),
        (a - 1, "Linear() - Constant(value=1.0)"),
        (1 - a, "Constant(value=1.0) - Linear()"),
        (-a, "-1.0 * Linear()"),
        (a - (b + a), "Linear() - (Gaussian(length_scale=1.0) + Linear())"),
        ((a + b) * a, "(Linear() + Gaussian(length_scale=1.0)) * Linear()"),
        (a * (b * a), "Linear() * (Gaussian(length_scale=1.0) * Linear())"),
        ((a * b) ** 2, "(Linear() * Gaussian(length_scale=1.0)) ** 2"),
        ((a**2) ** 3, "(Linear() ** 2) ** 3"),
        ((2 * a).normalize(), "(2.0 * Linear()).normalize()"),
        (exp(a + b).on("age"), "exp(Linear() + Gaussian(length_scale=1.0)).on('age')"),
    ],
)
def test_the_text_reads_like_the_formula(kernel, text):
    assert repr(kernel) == text


@pytest.mark.parametrize("exponent", [0.5, 0, -1, math.nan, math.inf, True, "2", b], ids=repr)
def test_powers_are_whole_and_positive(exponent):
    with pytest.raises(ValueError, match="Power: exponent must be a whole number of at least 1, got "):
        b**exponent


def test_a_kernel_is_no_exponent():
    with pytest.raises(TypeError, match="unsupported operand"):
        2**b


@pytest.mark.parametrize("thing", ["a", [1.0, 2.0], np.array([1, 2]), np.ones((2, 2)), (1,)], ids=repr)
def test_arrays_and_sequences_are_refused_on_both_sides(thing):
    for operation in (lambda: thing * b, lambda: b * thing):
        with pytest.raises(TypeError, match="a kernel can be multiplied by a number or another kernel, got"):
            operation()
    for operation in (lambda: thing + b, lambda: b + thing):
        with pytest.raises(TypeError, match="a kernel can be added to a number or another kernel, got"):
            operation()
    for operation in (lambda: thing - b, lambda: b - thing, lambda: thing / b, lambda: b / thing):
        with pytest.raises(TypeError):
            operation()


@pytest.mark.parametrize("thing", [None, 1j, object(), {}], ids=["None", "complex", "object", "dict"])
def test_other_types_are_left_to_python(thing):
    for operation in (lambda: thing * b, lambda: b + thing, lambda: b - thing, lambda: b / thing, lambda: b / b):
        with pytest.raises(TypeError, match="unsupported operand"):
            operation()


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_weights_and_constants_must_be_finite(number):
    with pytest.raises(ValueError, match="weight must be a finite number, got"):
        number * b
    with pytest.raises(ValueError, match="value must be a finite number that is not negative, got"):
        b + number


def test_dividing_by_zero_is_refused():
    with pytest.raises(ZeroDivisionError, match="cannot divide the kernel Linear"):
        a / 0


def test_a_negative_constant_kernel_is_refused_but_a_difference_may_be_written():
    with pytest.raises(ValueError, match="Constant: value must be a finite number that is not negative, got -1"):
        Constant(-1.0)
    np.testing.assert_array_equal((-1 * Constant(2.0))(X), -2.0)


def test_exp_takes_kernels_only():
    with pytest.raises(TypeError, match=r"exp takes a kernel, got 3\.0; for numbers and arrays use numpy\.exp"):
        exp(3.0)


def test_parts_must_be_kernels():
    with pytest.raises(TypeError, match="Sum: k2 must be a kernel, got 'x'"):
        (a + b).with_params(k2="x")


# -- normalisation -------------------------------------------------------------------------------------------------


def test_normalised_kernels_are_cosines(points):
    K = Linear().normalize()(points)
    norms = np.linalg.norm(points, axis=1)
    np.testing.assert_allclose(K, points @ points.T / np.outer(norms, norms), rtol=1e-13)
    np.testing.assert_allclose(Polynomial(3).normalize().diag(points), 1, rtol=1e-15)


def test_normalisation_looks_at_each_side_on_its_own(points, others):
    k = Polynomial(2, 0.5)
    expected = k(points, others) / np.sqrt(np.outer(k.diag(points), k.diag(others)))
    np.testing.assert_allclose(k.normalize()(points, others), expected, rtol=1e-13)
    np.testing.assert_allclose(k.normalize().normalize()(points, others), expected, rtol=1e-12)


def test_a_point_without_length_normalises_to_zero():
    K = Linear().normalize()([[0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(K, [[0, 0], [0, 1]], rtol=1e-15)
    gradient = (2 * Linear()).normalize().gradient([[0.0], [1.0]])["kernel__weight"]
    np.testing.assert_allclose(gradient, 0, atol=1e-15)


def test_normalised_sparse_data_equals_dense(points):
    np.testing.assert_allclose(
        Polynomial().normalize()(sparse.csr_array(points)), Polynomial().normalize()(points), rtol=1e-13
    )


# -- columns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "same_as"),
    [
        (0, [0]), (-1, [2]), ([0, 2], [0, 2]), ([2, 0], [2, 0]), ((1,), [1]), (slice(0, 2), [0, 1]),
        (slice(3), [0, 1, 2]), (slice(0, 3, 2), [0, 2]), (range(1, 3), [1, 2]), (np.array([0, 1]), [0, 1]),
        (np.int64(1), [1]), ([-3, -1], [0, 2]),
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("make", [np.asarray, np.ndarray.tolist, sparse.csr_array, sparse.coo_array, pd.DataFrame])
def test_columns_by_position(points, columns, same_as, make):
    K = Gaussian().on(columns)(make(points))
    np.testing.assert_allclose(K, Gaussian()(points[:, same_as]), rtol=1e-13)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("columns", ["age", ["age", "height"], np.array(["height"]), ["age", 2], 0, -1], ids=repr)
def test_columns_by_name_or_position_of_a_frame_with_text(points, frame, columns):
    X = frame({"age": points[:, 0], "city": ["a", "b", "a", "c", "a", "b", "a"], "height": points[:, 1]})
    wanted = {"age": 0, "height": 1, 0: 0, -1: 1, 2: 1}
    positions = [wanted[c] for c in ([columns] if isinstance(columns, str | int) else columns)]
    np.testing.assert_allclose(Gaussian().on(columns)(X), Gaussian()(points[:, positions]), rtol=1e-13)
    mixed = Gaussian().on(columns) * Overlap().on("city")
    cities = Overlap()([["a"], ["b"], ["a"], ["c"], ["a"], ["b"], ["a"]])
    np.testing.assert_allclose(mixed(X), Gaussian()(points[:, positions]) * cities, rtol=1e-13)


def test_columns_of_columns(points):
    np.testing.assert_allclose(Linear().on(0).on([2, 1])(points), Linear()(points[:, [2]]), rtol=1e-13)


def test_length_scales_belong_to_the_chosen_columns(points):
    k = Gaussian([0.5, 2.0]).on([2, 0])
    np.testing.assert_allclose(k(points), Gaussian([2.0, 0.5])(points[:, [0, 2]]), rtol=1e-13)


def test_an_object_kernel_sees_the_values_of_its_column():
    X = pd.DataFrame({"n": [1.0, 2.0], "word": ["abc", "bcd"]})
    common = Custom(lambda x, z: len(set(x) & set(z)))
    np.testing.assert_array_equal(common.on("word")(X), [[3, 2], [2, 3]])
    np.testing.assert_array_equal(common.on("word")(pl.DataFrame({"word": ["abc", "bcd"]})), [[3, 2], [2, 3]])


@pytest.mark.parametrize("columns", [[0, 0], ["a", "a"], [1, 0, 1]], ids=repr)
def test_columns_given_twice_are_refused(columns):
    with pytest.raises(ValueError, match=r"is given more than once in .*; name it once"):
        Gaussian().on(columns)


def test_columns_that_turn_out_to_be_the_same_are_refused(points):
    with pytest.raises(ValueError, match="column 0 is chosen more than once"):
        Gaussian().on([0, -3])(points)
    with pytest.raises(ValueError, match="column 'a' is chosen more than once"):
        Gaussian().on(["a", 0])(pd.DataFrame({"a": [1.0], "b": [2.0]}))


@pytest.mark.parametrize(
    "columns",
    [
        5.5,
        None,
        [],
        [0.0],
        True,
        [True, False],
        slice("a", "c"),
        slice(2, 2),
    ],
    ids=repr,
)
def test_columns_that_are_neither_positions_nor_names_are_refused(columns):
    with pytest.raises(
        TypeError, match=r"on: columns must be positions or names, got .*; for example k\.on\(\[0, 3\]\)"
    ):
        Gaussian().on(columns)


@pytest.mark.parametrize("column", [3, -4])
def test_columns_out_of_range_are_refused(points, column):
    for X in (points, points.tolist(), sparse.csr_array(points), pd.DataFrame(points, columns=list("abc"))):
        with pytest.raises(ValueError, match=f"there is no column {column}; the data has 3 columns"):
            Gaussian().on(column)(X)


def test_unknown_names_are_refused_with_the_known():
    for frame in (pd.DataFrame, pl.DataFrame):
        with pytest.raises(ValueError, match=r"there is no column 'size'; the columns are \['age'\]"):
            Gaussian().on("size")(frame({"age": [1.0]}))


def test_names_need_a_frame(points):
    with pytest.raises(TypeError, match=r"\['age'\] are names, but the data is a ndarray without column names"):
        Gaussian().on("age")(points)
    with pytest.raises(TypeError, match="the data is a Series without column names"):
        Gaussian().on("age")(pd.Series([1.0, 2.0], name="age"))


def test_several_columns_of_one_name_are_refused():
    X = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "b"])
    for columns in ("a", 0):
        with pytest.raises(ValueError, match="several columns named 'a'; rename them first"):
            Gaussian().on(columns)(X)
    np.testing.assert_array_equal(Linear().on("b")(X), [[9.0]])


def test_columns_need_a_table():
    with pytest.raises(ValueError, match=r"shape \(2,\), but columns need two dimensions"):
        Overlap().on(0)(["abc", "de"])
    with pytest.raises(ValueError, match=r"different lengths, so they have no columns|columns need two dimensions"):
        Overlap().on(0)([["a", "b"], ["c"]])


# -- pull-backs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "features"),
    [
        (lambda x: x[:2], lambda P: P[:, :2]),
        (lambda x: x[::-1], lambda P: P[:, ::-1]),
        (lambda x: x[0], lambda P: P[:, :1]),
        (lambda x: [x[0], x[1] * x[2]], lambda P: np.c_[P[:, 0], P[:, 1] * P[:, 2]]),
        (lambda x: (x[:2], 1.0), lambda P: np.c_[P[:, :2], np.ones(len(P))]),
        (lambda x: x / np.linalg.norm(x), lambda P: P / np.linalg.norm(P, axis=1, keepdims=True)),
        (lambda x: np.sort(x), lambda P: np.sort(P, axis=1)),
        (lambda x: float(x.sum()), lambda P: P.sum(axis=1, keepdims=True)),
        (lambda P: P[:, :2], lambda P: P[:, :2]),
        (lambda P: np.c_[P, P**2], lambda P: np.c_[P, P**2]),
        (lambda P: P @ np.ones((3, 2)), lambda P: P @ np.ones((3, 2))),
        (lambda P: P.sum(axis=1, keepdims=True), lambda P: P.sum(axis=1, keepdims=True)),
        (np.tanh, np.tanh),
    ],
)  # fmt: skip
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_functions_of_a_point_and_of_an_array_mean_the_same_for_any_number_of_points(points, function, features, n):
    k = Gaussian(np.arange(1.0, 1.0 + features(points).shape[1]))
    P = points[-n:]
    expected = k(features(P), features(points))
    np.testing.assert_allclose(k.after(function)(P, points), expected, rtol=1e-12)
    linear = features(P) @ features(P).T
    np.testing.assert_allclose(FromFeatures(function)(P), linear, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(Linear().after(function)(P), linear, rtol=1e-12, atol=1e-12)


def test_functions_of_a_point_also_work_on_frames(points):
    X = pd.DataFrame(points[:2], columns=list("abc"))
    np.testing.assert_allclose(Linear().after(lambda x: x[:2])(X), points[:2, :2] @ points[:2, :2].T, rtol=1e-13)
    np.testing.assert_allclose(Linear().after(lambda df: df[["a"]])(X), points[:2, :1] @ points[:2, :1].T, rtol=1e-13)


def test_a_fitted_transformer_comes_first(points):
    scaler = StandardScaler().fit(points)
    np.testing.assert_allclose(Gaussian().after(scaler)(points), Gaussian()(scaler.transform(points)), rtol=1e-13)


def test_columns_and_maps_apply_from_the_outside_in(points):
    inner = Linear().after(np.exp).on(1)  # first the column, then the exponential
    np.testing.assert_allclose(inner(points), np.exp(points[:, [1]]) @ np.exp(points[:, [1]]).T, rtol=1e-13)
    np.testing.assert_allclose(inner(points.tolist()), inner(points), rtol=1e-13)
    twice = Linear().after(np.sqrt).after(np.square)
    np.testing.assert_allclose(twice(points), np.abs(points) @ np.abs(points).T, rtol=1e-13)


def test_strings_may_be_mapped_to_strings_and_to_numbers():
    words = ["Abc", "Bcd"]
    common = Custom(lambda x, z: len(set(x) & set(z)))
    np.testing.assert_array_equal(common(words), [[3, 1], [1, 3]])  # only the c
    np.testing.assert_array_equal(common.after(str.upper)(words), [[3, 2], [2, 3]])
    np.testing.assert_array_equal(Linear().after(len)(["a", "bcd"]), [[1, 3], [3, 9]])
    np.testing.assert_array_equal(Overlap().after(lambda w: [w[0], w[-1]])(["ab", "cb"]), [[2, 1], [1, 2]])
    np.testing.assert_array_equal(Overlap().after(lambda w: [w[0], w[-1]]).diag(["ab", "cb"]), [2, 2])


def test_vectors_may_be_mapped_to_strings(points):
    signs = Custom(lambda x, z: sum(p == q for p, q in zip(x, z, strict=True)))
    k = signs.after(lambda x: "".join("+" if t > 0 else "-" for t in x))
    np.testing.assert_array_equal(k(points), ((points[:, None] > 0) == (points[None] > 0)).sum(-1))


def test_a_map_that_raises_is_named_with_the_object():
    with pytest.raises(ValueError, match=r"the function raised ZeroDivisionError: .* on object 1, 0"):
        Linear().after(lambda x: 1 / x)([1, 0])


def test_images_of_different_lengths_are_refused_by_numeric_kernels():
    with pytest.raises(ValueError, match="rows of equal length"):
        Linear().after(lambda w: [float(ord(letter)) for letter in w])(["a", "bc"])


@pytest.mark.parametrize("thing", [3, "f", None, [1]], ids=repr)
def test_only_functions_and_transformers_map(thing):
    with pytest.raises(TypeError, match="after: expected a function or a fitted transformer, got"):
        Linear().after(thing)


def test_a_map_need_not_be_hashable(points):
    class Doubling:
        __hash__ = None

        def __eq__(self, other):
            return isinstance(other, Doubling)

        def __call__(self, x):
            return 2 * x

    k = Linear().after(Doubling())
    np.testing.assert_allclose(k(points), 4 * Linear()(points), rtol=1e-13)
    assert isinstance(hash(k), int)


def test_a_transformer_that_loses_points_is_refused(points):
    class Dropping:
        def transform(self, X):
            return X[1:]

    with pytest.raises(ValueError, match="made 6 rows of 7 objects; it must keep"):
        Linear().after(Dropping())(points)


# -- NumPy's functions and numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(2.0) + Linear() ** 2], ids=repr)
def test_numpy_exp_of_a_kernel_is_its_exponential(kernel):
    assert np.exp(kernel) == exp(kernel)
    np.testing.assert_allclose(np.exp(kernel)(X), np.exp(kernel(X)), rtol=1e-12)


@pytest.mark.parametrize("number", [np.float64(2.0), np.float32(2.0), np.int64(2), np.array(2.0)], ids=repr)
def test_numbers_of_numpy_are_numbers_on_both_sides(number):
    k = Gaussian()
    assert number * k == k * number == 2.0 * k
    assert number + k == 2.0 + k
    assert k + number == k + 2.0
    assert number - k == 2.0 - k
    assert k - number == k - 2.0
    assert k / number == 0.5 * k
    assert k ** np.int64(2) == k**2


def test_functions_of_numpy_do_what_the_operators_do():
    k, h = Gaussian(), Linear()
    assert np.add(k, h) == k + h
    assert np.multiply(2.0, k) == 2.0 * k
    assert np.subtract(k, h) == k - h
    assert np.divide(k, 2.0) == k / 2.0
    assert np.power(k, 3) == k**3
    assert np.negative(k) == -k
    assert np.sum([k, h]) == k + h


@pytest.mark.parametrize(
    "make",
    [
        lambda k: np.sin(k),
        lambda k: np.log(k),
        lambda k: np.float64(2.0) / k,
        lambda k: np.float64(2.0) ** k,
        lambda k: np.float64(2.0) < k,
        lambda k: np.ones(2) @ k,
        lambda k: np.add(k, 1.0, out=np.zeros(())),
        lambda k: np.add.outer(k, k),
    ],
)
def test_other_functions_of_numpy_are_refused_with_the_list_of_what_there_is(make):
    with pytest.raises(TypeError, match=r"kernels have \+, - and \* .* numpy\.exp"):
        make(Gaussian())


def test_arrays_beside_a_kernel_are_refused_or_differ_from_it():
    k = Gaussian()
    for make in (lambda a: a * k, lambda a: k * a, lambda a: a + k, lambda a: a - k):
        with pytest.raises(TypeError, match=r"a number or another kernel, got array\(\[1., 2.\]\)"):
            make(np.array([1.0, 2.0]))
    for other in (np.array([1.0, 2.0]), np.float64(1.0)):
        assert (other == k) is (k == other) is False
        assert (other != k) is (k != other) is True
