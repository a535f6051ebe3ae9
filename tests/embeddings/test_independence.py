"""The criterion of independence and its test, by permutations, shifts and factors."""

import itertools

import numpy as np
import pytest
from scipy import stats

from mercer import HSICTest, MemoryBudgetError
from mercer.embeddings import hsic
from mercer.embeddings.dependence import center_unbiased, permuted_products, shifted_products
from mercer.kernels import Constant, Gaussian, Linear, Spectrum

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(25, 2)), RNG.normal(size=(25, 3))


def test_the_biased_criterion_is_that_of_its_definition():
    H = np.eye(25) - 1 / 25
    expected = np.trace(Gaussian()(X) @ H @ Gaussian(2.0)(Y) @ H) / 25**2
    assert hsic(X, Y, Gaussian(), Gaussian(2.0), estimator="biased") == pytest.approx(expected)


def test_of_linear_kernels_it_is_the_sum_of_squared_covariances():
    covariances = np.cov(X.T, Y.T, bias=True)[:2, 2:]
    assert hsic(X, Y, Linear(), Linear(), estimator="biased") == pytest.approx((covariances**2).sum())


def test_the_unbiased_criterion_is_the_mean_over_four_different_points():
    K, L = Gaussian()(X[:7]), Gaussian()(Y[:7])
    quadruples = list(itertools.permutations(range(7), 4))
    expected = np.mean([K[i, j] * (L[i, j] + L[q, r] - 2 * L[i, q]) for i, j, q, r in quadruples])
    assert hsic(X[:7], Y[:7], Gaussian(), Gaussian()) == pytest.approx(expected)


def test_strips_of_rows_give_the_criterion_of_the_whole(monkeypatch):
    from mercer.embeddings import dependence

    expected = [hsic(X, Y, estimator=estimator) for estimator in ("biased", "unbiased")]
    monkeypatch.setattr(dependence, "STRIP", 60)
    assert [hsic(X, Y, estimator=estimator) for estimator in ("biased", "unbiased")] == pytest.approx(expected)


@pytest.mark.parametrize("n", [4, 5, 8, 13])
def test_transforms_give_the_products_of_all_shifts(n, monkeypatch):
    from mercer.embeddings import dependence

    monkeypatch.setattr(dependence, "DIAGONALS", 2 * n)
    A, B = (M + M.T for M in RNG.normal(size=(2, n, n)))
    expected = [(A * np.roll(B, (-k, -k), (0, 1))).sum() for k in range(n)]
    np.testing.assert_allclose(shifted_products(A, B), expected, atol=1e-12)


def test_permuted_products_are_those_of_matrices_in_another_order():
    A, B = RNG.normal(size=(2, 6, 6))
    found = permuted_products(A, B, 3, np.random.default_rng(5))
    orders = [np.arange(6), *(np.random.default_rng(5).permutation(6) for _ in range(1))]
    np.testing.assert_allclose(found[:2], [(A * B[np.ix_(p, p)]).sum() for p in orders])


def test_matrices_centred_without_bias_give_the_unbiased_criterion():
    A, B = center_unbiased(Gaussian()(X)), center_unbiased(Gaussian()(Y))
    assert (A * B).sum() / (25 * 22) == pytest.approx(hsic(X, Y, Gaussian(), Gaussian()))


@pytest.mark.parametrize("permutations", [19, 39], ids=["shifts of a random order", "permutations"])
def test_the_level_is_exact(permutations):
    rng, rejected = np.random.default_rng(0), 0
    for i in range(120):
        test = HSICTest([Gaussian(0.5), Gaussian(2.0)], n_permutations=permutations, random_state=i)
        rejected += test.test(*rng.normal(size=(2, 20, 1))).rejected
    low, high = stats.binom.interval(0.999, 120, 0.05)
    assert low <= rejected <= high


@pytest.mark.parametrize("permutations", [50, 999])
def test_dependence_without_correlation_is_found(permutations):
    angle = np.random.default_rng(1).uniform(0, 2 * np.pi, size=(100, 1))
    outcome = HSICTest(n_permutations=permutations, random_state=0).test(np.cos(angle), np.sin(angle))
    assert outcome.rejected
    assert outcome.statistic == pytest.approx(hsic(np.cos(angle), np.sin(angle)))


def test_shifts_and_permutations_have_the_same_null():
    rng = np.random.default_rng(3)
    A, B = rng.normal(size=(2, 200, 1))
    one = HSICTest(n_permutations=200, random_state=0).test(A, B)
    two = HSICTest(n_permutations=199, random_state=0).test(A, B)
    assert "cyclic" not in one.method
    assert "cyclic" in two.method
    assert one.statistic == pytest.approx(two.statistic)
    assert stats.ks_2samp(one.null, two.null).pvalue > 1e-3


def test_factors_of_matrices_that_do_not_fit_give_the_p_value_of_those_that_do():
    rng = np.random.default_rng(4)
    A = rng.normal(size=(300, 1))
    B = 0.08 * A + rng.normal(size=(300, 1))
    whole = HSICTest(Gaussian(), Gaussian(), n_permutations=300, random_state=0).test(A, B)
    parts = HSICTest(Gaussian(), Gaussian(), n_permutations=300, random_state=0, memory="1MB").test(A, B)
    assert "factors" in parts.method
    assert parts.statistic == pytest.approx(hsic(A, B, Gaussian(), Gaussian(), estimator="biased"), rel=1e-4)
    assert parts.p_value == pytest.approx(whole.p_value, abs=0.08)


def test_what_does_not_fit_and_has_no_small_factor_is_refused():
    with pytest.raises(MemoryBudgetError, match="give more memory or fewer points"):
        HSICTest(Gaussian(0.01), Gaussian(0.01), memory="1MB").test(*RNG.normal(size=(2, 400, 3)))
    with pytest.raises(MemoryBudgetError, match="give more memory or fewer points"):
        HSICTest(null="shift", memory="1MB").test(*RNG.normal(size=(2, 400, 3)))


def test_series_with_a_past_of_their_own_are_shifted():
    def walk(rng, n=150):
        x = np.zeros(n)
        for i in range(1, n):
            x[i] = 0.9 * x[i - 1] + rng.normal()
        return x[:, None]

    rng, counts = np.random.default_rng(0), {"shift": 0, "permutation": 0}
    for i in range(40):
        one, two = walk(rng), walk(rng)
        for null in counts:
            counts[null] += HSICTest(null=null, n_permutations=100, random_state=i).test(one, two).rejected
    assert counts["shift"] <= 7
    assert counts["permutation"] > 9  # which takes what each has with its past for dependence
    one = walk(rng)
    assert HSICTest(null="shift").test(one, one + 0.3 * rng.normal(size=one.shape)).rejected


def test_several_pairs_of_kernels_name_the_one_that_stands_out():
    x = np.random.default_rng(0).uniform(-3, 3, size=(150, 1))
    y = np.sin(4 * x) + 0.1 * np.random.default_rng(1).normal(size=x.shape)
    outcome = HSICTest([Gaussian(3.0), Gaussian(0.2)], [Gaussian(), Linear()], random_state=0).test(x, y)
    assert len(outcome.kernels) == 4
    assert outcome.kernel[0] == Gaussian(0.2)
    assert "among 4 kernels" in outcome.explain()


def test_texts_and_numbers_are_pairs():
    texts = ["ab" * (i % 5 + 1) for i in range(30)]
    outcome = HSICTest(Spectrum(2), Gaussian(), random_state=0).test(texts, [[i % 5] for i in range(30)])
    assert outcome.rejected


def test_a_constant_kernel_never_rejects():
    assert HSICTest(Constant(2.0), random_state=0).test(X, X).p_value == 1.0
    assert HSICTest(Constant(2.0), n_permutations=5, random_state=0).test(X, X).p_value == 1.0


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        (X, Y[:20], {}, "X has 25, Y has 20"),
        (X[:3], Y[:3], {}, "HSICTest needs at least 4 points in X, got 3"),
        (X, Y, {"null": "bootstrap"}, "null must be 'permutation' or 'shift'"),
        (X, Y, {"null": "shift", "lag": 13}, "lag must be between 0 and half the 25 points"),
        (X, Y, {"n_permutations": 1.5}, "n_permutations must be a whole number"),
    ],
)
def test_what_is_no_pair_of_samples_is_refused(first, second, options, message):
    with pytest.raises(ValueError, match=message):
        HSICTest(**options).test(first, second)


def test_the_criterion_of_samples_of_other_lengths_is_refused():
    with pytest.raises(ValueError, match="hsic compares pairs"):
        hsic(X, Y[:20])
    with pytest.raises(ValueError, match="estimator must be"):
        hsic(X, Y, estimator="linear")
