"""The two-sample test: its level, its power, its kernels and what it says."""

import itertools

import numpy as np
import pytest
from scipy import stats

from mercer import MMDTest
from mercer.embeddings import mmd
from mercer.kernels import Constant, Gaussian, Laplacian, Linear, Spectrum

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 2)), RNG.normal(size=(30, 2))


def count_rejections(test, draw, repetitions=100, seed=0):
    rng = np.random.default_rng(seed)
    return sum(test(seed=i).test(*draw(rng)).rejected for i in range(repetitions))


def within_level(count, repetitions=100, level=0.05):
    """Whether a count is one that the level gives 999 times of 1,000."""
    low, high = stats.binom.interval(0.999, repetitions, level)
    return low <= count <= high


@pytest.mark.parametrize("kernel", [None, Gaussian(0.5)], ids=["several", "one"])
def test_the_level_is_exact(kernel):
    def draw(rng):
        return rng.normal(size=(12, 2)), rng.normal(size=(9, 2))

    found = count_rejections(lambda seed: MMDTest(kernel, n_permutations=99, random_state=seed), draw)
    assert within_level(found)


def test_p_values_are_uniform_without_a_difference():
    rng = np.random.default_rng(0)
    found = [
        MMDTest([Gaussian(), Linear()], n_permutations=19, random_state=i).test(*rng.normal(size=(2, 8, 1))).p_value
        for i in range(300)
    ]
    counts = np.bincount(np.round(20 * np.array(found)).astype(int) - 1, minlength=20)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_the_p_value_is_the_share_of_all_ways_to_deal_out_the_points():
    X, Y, k = np.array([[0.0], [0.4], [1.0]]), np.array([[2.0], [2.2], [5.0], [0.1]]), Gaussian()
    points = np.concatenate([X, Y])
    ways = [mmd(points[list(way)], np.delete(points, way, axis=0), k) for way in itertools.combinations(range(7), 3)]
    share = np.mean(np.array(ways) >= ways[0] - 1e-12)
    outcome = MMDTest(k, n_permutations=4000, random_state=0).test(X, Y)
    assert outcome.statistic == pytest.approx(ways[0])
    assert outcome.p_value == pytest.approx(share, abs=5 * np.sqrt(share / 4000))
    assert {round(value, 9) for value in outcome.null} <= {round(value, 9) for value in ways}


def test_a_difference_of_means_is_found_and_a_larger_one_sooner():
    def rejected(shift):
        return count_rejections(
            lambda seed: MMDTest(n_permutations=99, random_state=seed),
            lambda rng: (rng.normal(size=(20, 1)), rng.normal(size=(20, 1)) + shift), 20,
        )  # fmt: skip

    assert rejected(0.5) < rejected(1.0) <= rejected(2.0) == 20


def test_several_kernels_find_what_one_at_the_median_does_not():
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(300, 1))
    y = (rng.integers(5, size=(300, 1)) + 0.5 + 0.25 * rng.uniform(-1, 1, size=(300, 1))) / 5  # with gaps
    outcome = MMDTest(random_state=0).test(x, y)
    assert outcome.p_value <= 0.01
    assert outcome.kernel == min(outcome.kernels, key=lambda k: k.length_scale)
    assert MMDTest(outcome.kernels[2], random_state=0).test(x, y).p_value > 0.05


def test_the_same_seed_gives_the_same_answer_and_copies_of_seeds_do_too():
    one, two = (MMDTest(random_state=3).test(X, Y) for _ in range(2))
    assert one.p_value == two.p_value
    np.testing.assert_array_equal(one.null, two.null)
    assert MMDTest(random_state=np.random.RandomState(3)).test(X, Y).p_value <= 1
    assert MMDTest(random_state=np.random.default_rng(3)).test(X, Y).p_value == one.p_value


def test_scales_of_kernels_do_not_matter():
    found = [MMDTest([factor * Gaussian(), Laplacian()], random_state=0).test(X, Y) for factor in (1.0, 1e6)]
    assert found[0].p_value == found[1].p_value


@pytest.mark.parametrize("kernel", [Constant(3.0), [Constant(1.0), Constant(2.0)]])
def test_a_constant_kernel_never_rejects(kernel):
    assert MMDTest(kernel, random_state=0).test(X, X + 10.0).p_value == 1.0


def test_identical_samples_are_not_told_apart():
    assert MMDTest(random_state=0).test(X, X).p_value > 0.5
    assert MMDTest(random_state=0).test(np.ones((5, 2)), np.ones((6, 2))).p_value == 1.0


def test_equal_objects_are_ties():
    words = ["ab", "ba"] * 6
    assert MMDTest(Spectrum(1), random_state=0).test(words, words[::-1]).p_value == 1.0


def test_float32_values_of_many_points_give_the_p_value_of_float64(monkeypatch):
    from mercer.embeddings import samples

    rng = np.random.default_rng(5)
    A, B = rng.normal(size=(250, 3)), rng.normal(size=(150, 3))
    exact = MMDTest(Gaussian(), random_state=0).test(A, B)
    monkeypatch.setattr(samples, "SINGLE", 1)
    rough = MMDTest(Gaussian(), random_state=0).test(A, B)
    assert rough.p_value == pytest.approx(exact.p_value, abs=0.005)
    np.testing.assert_allclose(rough.null, exact.null, atol=1e-3 * exact.null.std())


def make_series(rng, n=100, memory=0.8, shift=0.0):
    noise, x = rng.normal(size=n), np.zeros(n)
    for i in range(1, n):
        x[i] = memory * x[i - 1] + noise[i]
    return x[:, None] + shift


def test_series_that_depend_on_their_past_need_weights_that_do_too():
    def draw(rng):
        return make_series(rng), make_series(rng)

    def rejected(null):
        return count_rejections(
            lambda seed: MMDTest(Gaussian(1.5), null=null, n_permutations=99, random_state=seed), draw, 60
        )

    assert rejected("permutation") > 24  # points dealt out again have no past
    assert rejected("wild") <= 9


def test_weights_find_a_shift_of_a_series():
    rng = np.random.default_rng(0)
    outcome = MMDTest(Gaussian(2.0), null="wild", random_state=0).test(make_series(rng), make_series(rng, shift=5.0))
    assert outcome.rejected
    assert "draws of weights" in outcome.explain()


def test_the_outcome_says_what_was_done():
    outcome = MMDTest([Gaussian(), Gaussian(2.0)], n_permutations=99, random_state=0).test(X, Y + 2.0)
    text = outcome.explain()
    assert text.startswith("Rejected: X and Y come from one distribution (p = 0.01).")
    assert "0 of 99 permutations" in text
    assert "among 2 kernels" in text
    assert str(outcome) == text
    assert repr(outcome) == "<rejected: X and Y come from one distribution (p = 0.01)>"
    assert "0.01" in outcome._repr_html_()
    assert "no proof" in MMDTest(random_state=0).test(X, Y).explain()
    with pytest.raises(AttributeError):
        outcome.p_value = 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"null": "bootstrap"}, "null must be 'permutation' or 'wild'"),
        ({"n_permutations": 0}, "n_permutations must be a whole number of at least 1"),
        ({"level": 5}, "level must be between 0 and 1"),
        ({"null": "wild", "lag": -1.0}, "lag must be a number of points that is not negative"),
        ({"random_state": "now"}, "random_state must be"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MMDTest(**options).test(X, Y)


def test_samples_of_one_point_and_of_other_features_are_refused():
    with pytest.raises(ValueError, match="MMDTest needs at least 2 points in Y, got 1"):
        MMDTest().test(X, Y[:1])
    with pytest.raises(ValueError, match="X has 2 features and Y has 1"):
        MMDTest().test(X, Y[:, :1])
    with pytest.raises(TypeError, match="or a list of them"):
        MMDTest([Gaussian(), "rbf"]).test(X, Y)
