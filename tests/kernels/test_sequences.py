"""The global alignment kernel against sums over alignments one by one, at any length, and in every learner."""

import math
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import mercer
from mercer import Gram, _native
from mercer.kernels import Gaussian, GlobalAlignment, Linear
from mercer.testing import check_kernel

RNG = np.random.default_rng(2)
SERIES = [RNG.normal(size=(m, 2)).cumsum(axis=0) for m in (1, 4, 7, 3, 12, 5, 9, 30)]


def alignments(p, q):
    """Yield every path of pairs from (0, 0) to (p − 1, q − 1)."""
    if p == 1 and q == 1:
        yield [(0, 0)]
    for di, dj in ((1, 0), (0, 1), (1, 1)):
        if p - di >= 1 and q - dj >= 1:
            for path in alignments(p - di, q - dj):
                yield [*path, (p - 1, q - 1)]


def local(a, b, scale):
    g = math.exp(-(np.linalg.norm((np.asarray(a) - b) / scale) ** 2) / 2)
    return g / (2 - g)


def by_definition(x, z, scale):
    return sum(math.prod(local(x[i], z[j], scale) for i, j in path) for path in alignments(len(x), len(z)))


def by_logarithms(x, z, scale):
    """Return the logarithm of the sum, by a recursion on logarithms."""
    half = ((x[:, None] - z[None, :]) ** 2).sum(axis=2) / (2 * scale**2)
    M = np.full((len(x) + 1, len(z) + 1), -np.inf)
    M[0, 0] = 0
    for i in range(len(x)):
        for j in range(len(z)):
            kappa = -half[i, j] - math.log(2 - math.exp(-half[i, j]))
            M[i + 1, j + 1] = kappa + logsumexp([M[i, j], M[i, j + 1], M[i + 1, j]])
    return M[-1, -1]


short_series = hnp.arrays(float, st.tuples(st.integers(1, 4), st.just(2)), elements=st.floats(-3, 3))


@settings(max_examples=40, deadline=None)
@given(st.lists(short_series, min_size=1, max_size=3), st.floats(0.3, 5))
def test_the_kernel_sums_over_all_alignments(sample, scale):
    expected = [[by_definition(x, z, scale) for z in sample] for x in sample]
    np.testing.assert_allclose(GlobalAlignment(scale)(sample), expected, rtol=1e-11)


def test_equal_elements_count_alignments():
    # The number of alignments of sequences of lengths m and n is the Delannoy number D(m − 1, n − 1), OEIS A008288.
    zeros = [np.zeros(m) for m in (1, 2, 3, 4)]
    delannoy = [[1, 1, 1, 1], [1, 3, 5, 7], [1, 5, 13, 25], [1, 7, 25, 63]]
    np.testing.assert_allclose(GlobalAlignment()(zeros), delannoy, rtol=1e-14)


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0, 1000.0])
def test_long_and_distant_sequences_neither_overflow_nor_vanish(spread):
    rng = np.random.default_rng(0)
    x, z = spread * rng.normal(size=(60, 2)), spread * rng.normal(size=(45, 2))
    out = np.empty((1, 1))
    sizes = np.array([60]), np.array([45])
    zero = np.array([0])
    _native.alignments(x, zero, sizes[0], z, zero, sizes[1], 0, False, out, 1)
    np.testing.assert_allclose(out[0, 0], by_logarithms(x, z, 1.0), rtol=1e-12)


def test_normalised_values_come_from_logarithms():
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(1500, 1)) / 10, rng.normal(size=(1400, 1)) / 10
    K = GlobalAlignment().normalize()([x, z])
    np.testing.assert_array_equal(np.diag(K), 1)
    assert 0 < K[0, 1] < 1
    short = [s[:6] for s in SERIES]
    raw = GlobalAlignment(0.8)(short)
    expected = raw / np.sqrt(np.outer(np.diag(raw), np.diag(raw)))
    np.testing.assert_allclose(GlobalAlignment(0.8).normalize()(short), expected, rtol=1e-12)


def test_values_beyond_float64_are_refused_with_the_remedy():
    with pytest.raises(OverflowError, match=r"overflows float64.*GlobalAlignment\(length_scale=1.0\).normalize\(\)"):
        GlobalAlignment()([np.zeros(500)])


@pytest.mark.parametrize("kernel", [GlobalAlignment(), GlobalAlignment([0.5, 2.0]), GlobalAlignment(2.0).normalize()])
def test_the_laws_of_kernels_hold(kernel):
    check_kernel(kernel, SERIES)
    check_kernel(0.3 * kernel + kernel * Gaussian().after(lambda x: [len(x)]), SERIES)
    assert type(kernel.certificate()).__name__ == "Proved"
    assert "κ/(1 + κ) = g/2" in kernel.certificate().explain()


def test_with_the_plain_gaussian_as_local_kernel_it_would_be_none():
    sample = [np.array(word) for m in (1, 2, 3) for word in product([0.0, 1.0, 2.0], repeat=m)]
    g = {(a, b): math.exp(-((a - b) ** 2) / 8) for a, b in product([0.0, 1.0, 2.0], repeat=2)}
    paths = {(p, q): list(alignments(p, q)) for p, q in product((1, 2, 3), repeat=2)}

    def plain(x, z):
        return sum(math.prod(g[x[i], z[j]] for i, j in path) for path in paths[len(x), len(z)])

    K = np.array([[plain(x, z) for z in sample] for x in sample])
    norms = np.sqrt(np.diag(K))
    assert np.linalg.eigvalsh(K / np.outer(norms, norms))[0] < -1e-5
    assert np.linalg.eigvalsh(GlobalAlignment(2.0).normalize()(sample))[0] > -1e-13


@settings(max_examples=15, deadline=None)
@given(
    st.lists(hnp.arrays(float, st.integers(1, 5), elements=st.sampled_from([0.0, 0.5, 3.0])), min_size=2, max_size=12)
)
def test_gram_matrices_have_no_negative_eigenvalues(sample):
    K = GlobalAlignment().normalize()(sample)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * len(sample)


def test_length_scales_divide_the_elements():
    scaled = [s / [0.5, 2.0] for s in SERIES[:5]]
    np.testing.assert_allclose(GlobalAlignment([0.5, 2.0])(SERIES[:5]), GlobalAlignment()(scaled), rtol=1e-13)


def test_time_reversal_changes_nothing():
    kernel = GlobalAlignment(1.5).normalize()
    np.testing.assert_allclose(kernel([s[::-1] for s in SERIES]), kernel(SERIES), rtol=1e-11)


@pytest.mark.parametrize("kernel", [GlobalAlignment(3.0), GlobalAlignment(3.0).normalize()])
def test_rows_tiles_and_calls_agree_with_the_whole(kernel, monkeypatch):
    K = kernel(SERIES)
    gram = Gram(kernel, SERIES)
    np.testing.assert_allclose(gram.rows([5, 2, 2]), K[[5, 2, 2]], rtol=1e-12)
    np.testing.assert_allclose(gram.part([6, 1]).dense(), K[np.ix_([6, 1], [6, 1])], rtol=1e-12)
    np.testing.assert_allclose(kernel(SERIES[3:], SERIES[:6]), K[3:, :6], rtol=1e-12)
    monkeypatch.setattr("mercer.kernels.sequences.data.CELLS", 50.0)
    np.testing.assert_array_equal(kernel(SERIES), K)


def test_sequences_come_as_lists_arrays_and_tables():
    kernel = GlobalAlignment()
    table = RNG.normal(size=(4, 5))
    expected = kernel(list(table))
    np.testing.assert_array_equal(kernel(table), expected)
    np.testing.assert_array_equal(kernel(table.tolist()), expected)
    np.testing.assert_array_equal(kernel(table[:, :, None]), expected)
    np.testing.assert_allclose(kernel([tuple(row) for row in table], list(table)), expected, rtol=1e-14)


def test_the_number_of_threads_changes_nothing():
    table = np.concatenate(SERIES)
    size = np.array([len(s) for s in SERIES])
    start = np.cumsum(size) - size
    results = []
    for threads in (1, 2, 5):
        out = np.empty((len(SERIES), len(SERIES)))
        _native.alignments(table, start, size, table, start, size, -len(SERIES), False, out, threads)
        results.append(out)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


# -- learners ------------------------------------------------------------------------------------------------------


def waves(n=12):
    """Return series of random length and speed: rising or falling first."""
    rng = np.random.default_rng(0)
    y = np.arange(2 * n) % 2
    X = np.empty(2 * n, dtype=object)
    for i, sign in enumerate(2 * y - 1):
        X[i] = sign * np.sin(np.linspace(0, 2 * np.pi, rng.integers(12, 30))) + 0.2 * rng.normal()
    return X, y


@pytest.mark.parametrize(
    "name", ["SVC", "KernelRidgeClassifier", "KernelLogisticRegression", "KernelNeighborsClassifier"]
)
def test_learners_tell_rising_from_falling(name):
    X, y = waves()
    model = getattr(mercer, name)(kernel=GlobalAlignment(2.0).normalize())
    assert cross_val_score(model, X, y, cv=3).min() >= 0.9
    fitted = make_pipeline(clone(model)).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


def test_components_and_searches_take_sequences():
    X, y = waves(6)
    kernel = GlobalAlignment().normalize()
    assert mercer.KernelPCA(n_components=2, kernel=kernel).fit_transform(X).shape == (12, 2)
    search = GridSearchCV(mercer.SVC(kernel=kernel), {"kernel__kernel__length_scale": [1.0, 3.0]}, cv=2).fit(X, y)
    assert (
        search.best_estimator_.kernel
        == GlobalAlignment(search.best_params_["kernel__kernel__length_scale"]).normalize()
    )


# -- mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "error", "message"),
    [
        ([[1.0], []], ValueError, "sequence 1 is empty"),
        ([[1.0, np.nan]], ValueError, "sequence 0 holds NaN or infinity"),
        (["abc"], TypeError, "object 0 is 'abc' of type str; for strings and other tokens there is Subsequence"),
        ([[1.0], [[1.0], [1.0, 2.0]]], TypeError, "object 1 is"),
        ([3.0], TypeError, "object 0 is 3.0 of type float"),
        ([[1.0], [[1.0, 2.0]]], ValueError, "sequence 0 have 1 features, but those of sequence 1 have 2"),
        ([np.zeros((2, 2, 2))], TypeError, "needs sequences of numbers or of vectors"),
    ],
)
def test_mistakes_in_sequences_are_named(sample, error, message):
    for kernel in (GlobalAlignment(), GlobalAlignment().normalize()):
        with pytest.raises(error, match=message):
            kernel(sample)


def test_mistakes_in_features_are_named():
    with pytest.raises(ValueError, match="elements of X have 2 features but those of Z have 1"):
        GlobalAlignment()(SERIES, [[1.0]])
    with pytest.raises(ValueError, match="has 2 length scales but elements have 1 features"):
        GlobalAlignment([1.0, 2.0])([[1.0]])
    with pytest.raises(ValueError, match="length_scale must be"):
        GlobalAlignment(0.0)


def test_native_arguments_are_checked():
    rows, start, size, out = np.zeros((3, 1)), np.array([0]), np.array([3]), np.empty((1, 1))
    with pytest.raises(ValueError, match="sequence 0 of left_frames lies outside its 3 rows"):
        _native.alignments(rows, np.array([1]), size, rows, start, size, 0, False, out, 1)
    with pytest.raises(ValueError, match=r"right_frames must have shape \(3, 1\)"):
        _native.alignments(rows, start, size, np.zeros((3, 2)), start, size, 0, False, out, 1)
    with pytest.raises(ValueError, match=r"out must have shape \(1, 1\)"):
        _native.alignments(rows, start, size, rows, start, size, 0, False, np.empty((1, 2)), 1)


def test_normalising_twice_is_normalising_once():
    kernel = GlobalAlignment(2.0).normalize()
    assert kernel.normalize() == kernel
    assert repr(kernel) == "GlobalAlignment(length_scale=2.0).normalize()"
    assert kernel.with_params(kernel__length_scale=3.0) == GlobalAlignment(3.0).normalize()
    assert (kernel * Linear()).normalize() != kernel
