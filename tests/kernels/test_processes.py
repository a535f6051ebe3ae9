import math

import numpy as np
import pytest
from scipy.integrate import quad

from mercer import Gram
from mercer.certify.verdict import Proved, Refuted
from mercer.kernels import (
    Anova,
    ArcCosine,
    FractionalBrownian,
    Gaussian,
    Geodesic,
    Hellinger,
    Intersection,
    Linear,
    Polynomial,
    Precomputed,
    SpectralMixture,
    Spline,
    WeightedLinear,
    Wendland,
    White,
    Wiener,
)
from mercer.testing import check_kernel

from ..latex import compute

rng = np.random.default_rng(5)
POINTS = np.round(16 * rng.normal(size=(12, 3))) / 16
LINE = np.round(16 * rng.normal(size=(14, 1))) / 16
TIMES = np.round(16 * rng.uniform(0, 3, size=(14, 1))) / 16
BARS = np.abs(POINTS)


def angle(x, z):
    return 2 * math.atan2(np.linalg.norm(x / norm(x) - z / norm(z)), np.linalg.norm(x / norm(x) + z / norm(z)))


def norm(x):
    return math.sqrt(x @ x)


def mix(x, z):
    t = float(x[0] - z[0])
    return 2 * math.exp(-(t**2) / 0.5) * math.cos(2 * math.pi * 0.3 * t) + math.exp(-(t**2) / 8) * math.cos(
        2 * math.pi * t
    )


def integrate(x, z):
    a, b = float(x[0]), float(z[0])
    return 1 + a * b + quad(lambda t: max(a - t, 0) * max(b - t, 0), 0, min(a, b))[0]


MIXTURE = SpectralMixture([2.0, 1.0], [0.3, 1.0], [0.5, 2.0])
TABLE = [  # kernel, points, formula of a pair
    (ArcCosine(0), POINTS, lambda x, z: 1 - angle(x, z) / math.pi),
    (
        ArcCosine(1), POINTS,
        lambda x, z: norm(x) * norm(z) / math.pi * (math.sin(t := angle(x, z)) + (math.pi - t) * math.cos(t)),
    ),
    (
        ArcCosine(2), POINTS,
        lambda x, z: (x @ x) * (z @ z) / math.pi
        * (3 * math.sin(t := angle(x, z)) * math.cos(t) + (math.pi - t) * (1 + 2 * math.cos(t) ** 2)),
    ),
    (Geodesic(1.0, 0.7), POINTS, lambda x, z: math.exp(-angle(x, z) / 0.7)),
    (Geodesic(0.5), POINTS, lambda x, z: math.exp(-math.sqrt(angle(x, z)))),
    (Wiener(), TIMES, lambda x, z: min(x[0], z[0])),
    (Spline(), TIMES, integrate),
    (
        FractionalBrownian(0.3), POINTS,
        lambda x, z: (norm(x) ** 0.6 + norm(z) ** 0.6 - np.linalg.norm(x - z) ** 0.6) / 2,
    ),
    (FractionalBrownian(1.0), POINTS, lambda x, z: x @ z),
    (White(), np.repeat(POINTS[:6], 2, axis=0), lambda x, z: float((x == z).all())),
    (WeightedLinear([1.0, 2.0, 0.5]), POINTS, lambda x, z: (x * z / np.array([1.0, 4.0, 0.25])).sum()),
    (WeightedLinear(2.0), POINTS, lambda x, z: x @ z / 4),
    (Anova(3, 0.8), POINTS, lambda x, z: np.exp(-((x - z) ** 2) / 1.28).sum() ** 3),
    (Hellinger(), BARS, lambda x, z: np.sqrt(x * z).sum()),
    (MIXTURE, LINE, mix),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "X", "formula"), TABLE, ids=[repr(row[0]) for row in TABLE])
def test_values_are_those_of_the_formula_and_the_kernel_conforms(kernel, X, formula):
    np.testing.assert_allclose(kernel(X), [[formula(x, z) for z in X] for x in X], rtol=1e-9, atol=1e-12)
    assert isinstance(kernel.certificate(), Proved)
    check_kernel(kernel, X)


@pytest.mark.parametrize(("kernel", "X", "formula"), TABLE, ids=[repr(row[0]) for row in TABLE])
def test_slopes_are_those_of_finite_differences(kernel, X, formula):
    if isinstance(kernel, White):
        assert not kernel.gradient_x(X).any()
        return
    X, Z, step = X[:4] + 0.011, X[4:8] + 0.003, 1e-6
    for d in range(X.shape[1]):
        move = step * np.eye(X.shape[1])[d]
        expected = (kernel(X + move, Z) - kernel(X - move, Z)) / (2 * step)
        np.testing.assert_allclose(kernel.gradient_x(X, Z)[:, :, d], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("smoothness", range(4))
@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_wendland_has_its_support_its_smoothness_and_no_negative_eigenvalue(dim, smoothness):
    kernel = Wendland(dim, smoothness, 1.5)
    X = rng.uniform(0, 2, size=(40, dim))
    K = kernel(X)
    assert np.linalg.eigvalsh(K).min() > 0
    apart = np.linalg.norm(X[:, None] - X[None], axis=2)
    assert not K[apart >= 1.5].any()
    assert (K[apart < 1.4] > 0).all()
    sparse = kernel.sparse_gram(X)
    np.testing.assert_allclose(sparse.toarray(), K, atol=1e-13)
    assert sparse.nnz == (K > 0).sum()
    np.testing.assert_allclose(kernel.sparse_gram(X[:9], X[9:]).toarray(), K[:9, 9:], atol=1e-13)
    # All derivatives up to 2k are continuous at 0 and at the edge: differences of that order have no jump.
    r = np.linspace(0, 1.6, 1601)[:, None] @ np.ones((1, dim)) / math.sqrt(dim)
    values = kernel(r, np.zeros((1, dim)))[:, 0]
    if smoothness:
        mirrored = np.concatenate([values[:0:-1], values])
        slopes = np.diff(mirrored, 2) / 1e-6
        assert np.abs(np.diff(slopes)).max() < 0.05 * np.abs(slopes).max()


def test_wendland_conforms_and_refuses_more_features_than_it_is_a_kernel_for():
    check_kernel(Wendland(3, 1, 2.0), POINTS)
    check_kernel(Wendland(3, 2, [2.0, 1.5, 3.0]), POINTS)
    for evaluate in (Wendland(2), Wendland(2).distance, Wendland(2).sparse_gram):
        with pytest.raises(ValueError, match=r"up to 2 features, and the data has 3; take Wendland\(dim=3\)"):
            evaluate(POINTS)
    with pytest.raises(ValueError, match="smoothness must be a whole number from 0 to 3"):
        Wendland(smoothness=4)


def test_arc_cosines_are_means_over_random_units():
    W = np.random.default_rng(0).normal(size=(200_000, 3))
    x, z = POINTS[0], POINTS[1]
    for order in (0, 1, 2):
        layer = [np.where(W @ point > 0, (W @ point) ** order, 0.0) for point in (x, z)]
        expected = 2 * np.mean(layer[0] * layer[1])
        assert ArcCosine(order)([x], [z])[0, 0] == pytest.approx(expected, rel=0.05)


def test_arc_cosines_at_the_origin_are_those_of_units_that_are_half_on():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [-2.0, 0.0]])
    assert ArcCosine(0)(X).tolist() == [[0.5, 0.5, 0.5], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]
    np.testing.assert_allclose(ArcCosine(1)(X), [[0, 0, 0], [0, 1, 0], [0, 0, 4]], atol=1e-12)
    np.testing.assert_array_equal(ArcCosine(0).diag(X), np.diag(ArcCosine(0)(X)))


@pytest.mark.parametrize("exponent", [2.0, 3.0])
def test_a_gaussian_of_angles_is_no_kernel(exponent):
    verdict = Geodesic(exponent).certificate(dim=2)
    assert isinstance(verdict, Refuted)
    a = np.asarray(verdict.coefficients)
    assert a @ Geodesic(exponent)(np.asarray(verdict.points)) @ a < 0


def test_angles_keep_their_digits_near_each_other_and_opposite():
    x = np.array([[3.0, 0.0]])
    for turn in (1e-9, 1e-5, math.pi - 1e-5):
        z = 2 * np.array([[math.cos(turn), math.sin(turn)]])
        assert -math.log(Geodesic(1.0)(x, z)[0, 0]) == pytest.approx(turn, rel=1e-6, abs=1e-15)


def test_one_feature_is_asked_for_where_a_kernel_takes_one():
    for kernel in (Wiener(), Spline(), MIXTURE):
        with pytest.raises(ValueError, match=r"one feature.*got 3; pick a column with k.on\(0\)"):
            kernel(BARS)
    for kernel in (Wiener(), Spline()):
        with pytest.raises(ValueError, match=r"times from 0 on, but row 1 is -2.0"):
            kernel([[1.0], [-2.0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ArcCosine(3), "order must be 0, 1 or 2, got 3"),
        (lambda: FractionalBrownian(1.5), "hurst must be at most 1"),
        (lambda: Geodesic()([[0.0, 0.0]]), "row 0 is 0 everywhere"),
        (lambda: SpectralMixture([1.0, 2.0], [1.0], [1.0]), "got 2, 1 and 1"),
        (lambda: SpectralMixture([-1.0], [1.0], [1.0]), "weights must be a list of numbers that are not negative"),
        (lambda: SpectralMixture([1.0], [1.0], [0.0]), "length_scales must be"),
        (lambda: Hellinger()([[-1.0]]), "not negative"),
        (lambda: WeightedLinear([1.0, 2.0])([[1.0]]), "2 length scales but the data has 1"),
    ],
)
def test_what_makes_no_kernel_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_mathematics_of_compact_support_says_where_it_ends():
    text = Wendland(3, 1, 2.0)._repr_latex_()
    for far in (0.5, 1.9, 2.5):
        x, z = np.zeros(3), np.array([far, 0.0, 0.0])
        assert compute(text, x, z) == pytest.approx(Wendland(3, 1, 2.0)([x], [z])[0, 0], abs=1e-12)
    assert Wiener()._repr_latex_() == r"$\min\left(x, z\right)$"


def test_relatives_agree_where_they_are_the_same():
    np.testing.assert_allclose(Wiener()(TIMES), Intersection()(TIMES))
    np.testing.assert_allclose(FractionalBrownian(0.5)(TIMES), Wiener()(TIMES), atol=1e-14)
    np.testing.assert_allclose(Anova(1, 1.0)(LINE), Gaussian()(LINE))
    np.testing.assert_allclose(WeightedLinear()(POINTS), Linear()(POINTS))
    scaled = Linear().after(lambda X: np.asarray(X) / np.array([1.0, 2.0, 0.5]))
    np.testing.assert_allclose(WeightedLinear([1.0, 2.0, 0.5])(POINTS), scaled(POINTS))


def test_several_outputs_are_one_kernel_of_points_and_numbers_of_outputs():
    B = np.array([[2.0, 1.0], [1.0, 1.5]])
    kernel = Precomputed(B).on(-1) * Gaussian().on(slice(0, -1))
    X = np.column_stack([POINTS[:6], np.arange(6) % 2])
    expected = B[np.ix_(np.arange(6) % 2, np.arange(6) % 2)] * Gaussian()(POINTS[:6])
    np.testing.assert_allclose(kernel(X), expected)
    assert isinstance(kernel.certificate(sample=X), Proved)


def test_native_tiles_of_new_kernels_are_those_of_the_reference():
    for kernel, X in (
        (Wendland(3, 2, 2.0), POINTS),
        (MIXTURE, LINE),
        (Spline(), TIMES),
        (Wiener() + Polynomial(), TIMES),
    ):
        gram = Gram(kernel, X, backend="native")
        np.testing.assert_allclose(gram.dense(), kernel(X), rtol=1e-9, atol=1e-12)
