"""Signature kernels against tensors of iterated integrals, at any length, and in learners."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mercer
from mercer import Gram, _native
from mercer.certify.verdict import Proved, Refuted
from mercer.kernels import (
    Constant,
    Custom,
    Gaussian,
    Linear,
    Matern,
    Overlap,
    Polynomial,
    Sigmoid,
    Signature,
    TruncatedSignature,
)
from mercer.kernels.sequences.tables import tabulate
from mercer.testing import check_kernel

RNG = np.random.default_rng(3)
SERIES = [0.3 * RNG.normal(size=(m, 2)).cumsum(axis=0) for m in (1, 4, 7, 3, 12, 5, 9, 30, 2, 6)]
EVERY = [Signature(), Signature(Gaussian(), 2), TruncatedSignature(3), TruncatedSignature(3, Gaussian(0.5), 1)]


def tensors(x, levels, order):
    """Return all entries of Πᵢ Σ_{m≤order} vᵢ^⊗m/m! up to a level, with vᵢ the segments of a path."""
    product = [np.array(1.0)] + [np.zeros((x.shape[1],) * m) for m in range(1, levels + 1)]
    for v in np.diff(x, axis=0):
        powers = [np.array(1.0)]
        for m in range(1, order + 1):
            powers.append(np.multiply.outer(powers[-1], v) / m)
        product = [
            sum(np.multiply.outer(product[m - r], powers[r]) for r in range(min(m, order) + 1))
            for m in range(levels + 1)
        ]
    return np.concatenate([entries.ravel() for entries in product])


@pytest.mark.parametrize(("levels", "order"), [(1, 1), (2, 2), (3, 3), (4, 4), (4, 2), (4, 1)])
def test_truncated_kernels_are_inner_products_of_tensors(levels, order):
    features = np.array([tensors(x, levels, order) for x in SERIES])
    K = TruncatedSignature(levels, order=order)(SERIES)
    np.testing.assert_allclose(K, features @ features.T, rtol=1e-12, atol=1e-13)
    if order == levels:
        np.testing.assert_array_equal(TruncatedSignature(levels)(SERIES), K)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 7])
def test_kernels_are_inner_products_of_tensors_of_every_level(order):
    short = [0.5 * x[:4] for x in SERIES]
    features = np.array([tensors(x, 14, order) for x in short])
    np.testing.assert_allclose(Signature(order=order)(short), features @ features.T, rtol=1e-12)


def test_one_segment_has_the_series_of_a_bessel_function():
    # ⟨exp(v), exp(w)⟩ = Σ ⟨v, w⟩ᵐ/m!² = I₀(2 √⟨v, w⟩), which solves k_st = ⟨v, w⟩ k.
    expected = sum(1.5**m / math.factorial(m) ** 2 for m in range(30))
    assert Signature(order=16)([[0.0, 1.0]], [[0.0, 1.5]])[0, 0] == pytest.approx(expected, rel=1e-15)


def test_errors_of_low_orders_stay_below_the_bound_of_the_docstring():
    exact = Signature(order=14)
    for x in SERIES[1:]:
        steps = np.linalg.norm(np.diff(x, axis=0), axis=1)
        for order in (1, 2, 3, 4):
            bound = math.exp(steps.sum()) * (steps ** (order + 1)).sum() / math.factorial(order + 1)
            missing = math.sqrt(exact.diag([x])[0]) - math.sqrt(Signature(order=order).diag([x])[0])
            assert abs(missing) <= bound


def test_a_static_kernel_lifts_paths_into_its_features():
    # (xᵀz + 1)² has the features 1, √2 x₁, √2 x₂, x₁², x₂², √2 x₁x₂.
    def lift(x):
        a, b = x.T
        return np.column_stack([np.ones(len(x)), 2**0.5 * a, 2**0.5 * b, a**2, b**2, 2**0.5 * a * b])

    lifted = [lift(x) for x in SERIES]
    for kernel in (Signature, TruncatedSignature):
        K = kernel(static=Polynomial(2))(SERIES)
        np.testing.assert_allclose(K, kernel()(lifted), rtol=1e-10)
        np.testing.assert_allclose(kernel(static=2.0 * Linear())(SERIES), kernel()([2**0.5 * x for x in SERIES]))


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_the_laws_of_kernels_hold(kernel):
    check_kernel(kernel, SERIES)
    check_kernel(0.3 * kernel.normalize() + kernel * Gaussian().after(lambda x: [len(x)]), SERIES)


short_series = hnp.arrays(float, st.tuples(st.integers(1, 6), st.just(2)), elements=st.floats(-1, 1))


@settings(max_examples=20, deadline=None)
@given(st.lists(short_series, min_size=2, max_size=9), st.sampled_from(EVERY))
def test_gram_matrices_have_no_negative_eigenvalues(sample, kernel):
    K = kernel(sample)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.trace(K)
    np.testing.assert_array_equal(K, K.T)


def test_finite_differences_of_the_equation_would_be_no_kernel():
    def solve(x, z):
        k = np.ones((len(x), len(z)))
        for i in range(len(x) - 1):
            for j in range(len(z) - 1):
                a = (x[i + 1] - x[i]) * (z[j + 1] - z[j])
                k[i + 1, j + 1] = (k[i + 1, j] + k[i, j + 1]) * (1 + a / 2 + a * a / 12) - k[i, j] * (1 - a * a / 12)
        return k[-1, -1]

    x, z = np.array([0.0, 300.0]), np.array([0.0, 0.2, 0.4])
    assert solve(x, z) ** 2 > 1.2 * solve(x, x) * solve(z, z)
    for order in (1, 2, 3):
        K = Signature(order=order)([x, z])
        assert K[0, 1] ** 2 <= K[0, 0] * K[1, 1]


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_paths_do_not_notice_how_fast_they_are_run_through(kernel):
    repeated = [np.repeat(x, RNG.integers(1, 4, size=len(x)), axis=0) for x in SERIES]
    np.testing.assert_allclose(kernel(repeated), kernel(SERIES), rtol=1e-11)


def test_linear_paths_may_begin_anywhere_and_be_run_in_halves():
    for kernel in (Signature(), TruncatedSignature(3)):
        moved = [x + np.array([1e6, -1e6]) for x in SERIES]
        np.testing.assert_allclose(kernel(moved), kernel(SERIES), rtol=1e-8)
    np.testing.assert_allclose(TruncatedSignature(3)(SERIES), TruncatedSignature(3)([split(x) for x in SERIES]))
    np.testing.assert_allclose(Signature(order=12)(SERIES), Signature(order=12)([split(x) for x in SERIES]), rtol=1e-9)


def split(x):
    """Return a path with the middle of every segment added."""
    out = np.repeat(x, 2, axis=0)[: 2 * len(x) - 1]
    out[1::2] = (x[:-1] + x[1:]) / 2
    return out


def test_a_path_and_its_way_back_cancel():
    # Chen: S(x followed by z) = S(x) S(z), and S of the way back is the inverse of S(x).
    there_and_back = [np.concatenate([x, x[::-1]]) for x in SERIES]
    np.testing.assert_allclose(Signature(order=14)(there_and_back), 1.0, rtol=1e-10)


def test_series_of_one_element_are_paths_that_stay():
    for kernel in EVERY:
        np.testing.assert_array_equal(kernel([[[1.0, 2.0]], [[3.0, 1.0]]]), np.ones((2, 2)))
        np.testing.assert_array_equal(kernel([[[1.0, 2.0]]], SERIES), np.ones((1, len(SERIES))))


@pytest.mark.parametrize("kernel", [*EVERY, Signature(order=6).normalize()], ids=repr)
def test_rows_tiles_and_parts_agree_with_the_whole(kernel, monkeypatch):
    K = kernel(SERIES)
    gram = Gram(kernel, SERIES)
    np.testing.assert_allclose(gram.rows([5, 2, 2]), K[[5, 2, 2]], rtol=1e-11)
    np.testing.assert_allclose(gram.part([6, 1]).dense(), K[np.ix_([6, 1], [6, 1])], rtol=1e-11)
    np.testing.assert_allclose(kernel(SERIES[3:], SERIES[:6]), K[3:, :6], rtol=1e-11)
    np.testing.assert_allclose(kernel.diag(SERIES), np.diag(K), rtol=1e-11)
    monkeypatch.setattr("mercer.kernels.sequences.lanes.CELLS", 100.0)
    np.testing.assert_allclose(kernel(SERIES), K, rtol=1e-11)
    monkeypatch.setattr("mercer.kernels.sequences.lanes.KEPT", 1000)
    monkeypatch.setattr("mercer.kernels.sequences.signature.TILE_ENTRIES", 10)
    np.testing.assert_allclose(kernel(SERIES), K, rtol=1e-11)


def test_long_series_take_memory_in_proportion_to_their_length():
    import tracemalloc

    x = np.sin(np.linspace(0, 60, 3000))[:, None] / 10
    for kernel in (Signature(order=1), Signature(Gaussian(), order=1)):
        tracemalloc.start()
        kernel([x[:20]], [x])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3000 * 3000 * 8 / 4
    assert Signature().scratch(*Signature().prepare([x], [x])) < 3000 * 3000


@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline"])
@pytest.mark.parametrize("levels", [0, 3])
def test_instruction_sets_and_threads_agree(isa, levels):
    rows, columns = RNG.normal(size=(12, 2)) / 4, RNG.normal(size=(9, 2, 8)) / 4
    ends = np.array([0, 5]), np.array([5, 7]), np.zeros(2, dtype=np.int64)
    groups = np.array([0, 4]), np.array([4, 5])
    results = []
    for name, threads in ((isa, 1), (isa, 3), ("baseline", 1)):
        state = np.zeros((2, 9, max(1, levels) * 3, 8))
        state[:, :, 0] = levels == 0
        try:
            _native.advance_signatures(rows, *ends, columns, *groups, levels, 3, state, threads, name)
        except ValueError:
            pytest.skip(f"no {isa} here")
        results.append(state)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], results[2], rtol=1e-13, atol=1e-15)


# -- certificates and learners -------------------------------------------------------------------------------------


def test_certificates_rest_on_that_of_the_static_kernel():
    for kernel in EVERY:
        verdict = kernel.certificate()
        assert isinstance(verdict, Proved)
        assert verdict.strict is False
        assert "repeated in place" in verdict.explain().replace("\n", " ")
    assert isinstance(Signature(Sigmoid()).certificate(sample=SERIES[:3]), Refuted)


def test_learners_tell_loops_by_their_sense():
    t = np.linspace(0, 2 * np.pi, 25)
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    X = [
        np.column_stack([np.cos(t + shift), sign * np.sin(t + shift)])[: rng.integers(20, 26)]
        for sign, shift in zip(2 * y - 1, rng.uniform(0, 6, size=24), strict=True)
    ]
    model = mercer.SVC(kernel=TruncatedSignature(2).normalize()).fit(X[:12], y[:12])
    assert model.score(X[12:], y[12:]) == 1
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


# -- mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "error", "message"),
    [
        ([[1.0, 2.0], []], ValueError, "sequence 1 is empty"),
        ([[1.0, np.nan]], ValueError, "sequence 0 holds NaN or infinity"),
        ([[1.0, np.inf]], ValueError, "sequence 0 holds NaN or infinity"),
        (["abc"], TypeError, "object 0 is 'abc' of type str"),
        ([[1.0], [[1.0, 2.0]]], ValueError, "sequence 0 have 1 features, but those of sequence 1 have 2"),
        ([[0.0, 1e200]], OverflowError, "overflows float64.*Divide the series"),
    ],
)
def test_mistakes_in_series_are_named(sample, error, message):
    for kernel in (Signature(), TruncatedSignature()):
        with pytest.raises(error, match=message):
            kernel(sample)


def test_mistakes_in_parameters_are_named():
    with pytest.raises(ValueError, match="order goes up to 16, got 17"):
        Signature(order=17)
    with pytest.raises(ValueError, match="order must be a whole number of at least 1"):
        Signature(order=0)
    with pytest.raises(ValueError, match="order must be at most levels=3, got 4"):
        TruncatedSignature(3, order=4)
    with pytest.raises(ValueError, match="levels goes up to 16"):
        TruncatedSignature(20)
    with pytest.raises(TypeError, match="static must be a kernel"):
        Signature("linear")
    with pytest.raises(ValueError, match="elements of X have 2 features but those of Z have 1"):
        Signature()(SERIES, [[1.0, 2.0]])


def test_parameters_of_the_static_kernel_are_set_by_name():
    kernel = Signature(Gaussian(2.0)).with_params(static__length_scale=3.0, order=2)
    assert kernel == Signature(Gaussian(3.0), 2)
    assert repr(kernel) == "Signature(static=Gaussian(length_scale=3.0), order=2)"


def test_read_only_strided_and_whole_numbers_are_taken():
    table = np.arange(24.0).reshape(2, 6, 2)[:, ::2] / 20
    table.setflags(write=False)
    np.testing.assert_array_equal(Signature()(table), Signature()([part.tolist() for part in table]))
    np.testing.assert_array_equal(Signature()([[0, 1, 2]]), Signature()([[0.0, 1.0, 2.0]]))


def test_native_arguments_are_checked():
    rows, zero, one = np.zeros((3, 1)), np.array([0]), np.array([1])
    columns, state = np.zeros((4, 1, 8)), np.zeros((1, 4, 2, 8))
    call = _native.advance_signatures
    with pytest.raises(ValueError, match="series 0 lies outside its 3 places"):
        call(rows, zero, np.array([4]), zero, columns, zero, one, 0, 2, state, 1)
    with pytest.raises(ValueError, match="group 0 lies outside its 4 places"):
        call(rows, zero, one, zero, columns, zero, np.array([5]), 0, 2, state, 1)
    with pytest.raises(ValueError, match="state must have shape"):
        call(rows, zero, one, zero, columns, zero, one, 0, 3, state, 1)
    with pytest.raises(ValueError, match="groups must not overlap"):
        call(rows, zero, one, zero, columns, np.array([0, 1]), np.array([2, 2]), 0, 2, state, 1)
    with pytest.raises(ValueError, match=r"order must lie in 1\.\.16"):
        call(rows, zero, one, zero, columns, zero, one, 0, 17, state, 1)
    lanes = np.zeros(8, dtype=np.int64), np.full(8, 3)
    with pytest.raises(ValueError, match="lanes must fit their group"):
        _native.advance_lifted(np.zeros((3, 9)), zero, one, zero, *lanes, zero, one, 0, 2, state, 1)


@pytest.mark.parametrize(
    "static",
    [
        Gaussian([0.5, 2.0]), 2.0 * Matern(1.5) + Linear(), Polynomial(2).normalize(), Gaussian() - 0.0,
        Gaussian().on(0) * Overlap().on(1), Custom(lambda x, z: float(min(x[0], z[0]))), Constant(2.0),
    ],
    ids=repr,
)  # fmt: skip
def test_tables_of_static_kernels_hold_its_values(static):
    X, Z = np.concatenate(SERIES[1:4]), np.concatenate(SERIES[4:6])
    np.testing.assert_allclose(tabulate(static, X, Z), static(X, Z), rtol=1e-13)
