"""Kernels of a distance against scikit-learn and an integral, close up, far away and for any smoothness."""

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln, logsumexp
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from mercer.certify.verdict import Proved
from mercer.kernels import Gaussian, Laplacian, Matern, PowerExponential, RationalQuadratic

LENGTHS = [0.3, 1.0, 4.0, [0.5, 2.0, 1.3]]
NUS = [0.3, 0.5, 1.0, 1.5, 2.0, 2.5, 3.2, math.inf]


@pytest.mark.parametrize("length", LENGTHS, ids=repr)
def test_gaussian_is_that_of_scikit_learn(points, others, length):
    expected = gp.RBF(length)(points, others)
    np.testing.assert_allclose(Gaussian(length)(points, others), expected, rtol=1e-11)


def test_gamma_is_that_of_scikit_learn(points, others):
    np.testing.assert_allclose(Gaussian.from_gamma(0.3)(points, others), rbf_kernel(points, others, 0.3), rtol=1e-12)


@pytest.mark.parametrize("length", [0.3, 1.0, 4.0])
def test_laplacian_is_that_of_scikit_learn(points, others, length):
    expected = laplacian_kernel(points, others, gamma=1 / length)
    np.testing.assert_allclose(Laplacian(length)(points, others), expected, rtol=1e-12)


@pytest.mark.parametrize("length", LENGTHS, ids=repr)
@pytest.mark.parametrize("nu", NUS)
def test_matern_is_that_of_scikit_learn(points, others, nu, length):
    expected = gp.Matern(length, nu=nu)(points, others)
    np.testing.assert_allclose(Matern(nu, length)(points, others), expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("length", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("alpha", [0.1, 1.0, 20.0])
def test_rational_quadratic_is_that_of_scikit_learn(points, others, length, alpha):
    expected = gp.RationalQuadratic(length, alpha)(points, others)
    np.testing.assert_allclose(RationalQuadratic(length, alpha)(points, others), expected, rtol=1e-11)


def matern_integral(nu, distance):
    """Return the profile from K_ν(u) = ∫₀^∞ exp(−u cosh t) cosh(νt) dt, summed in logarithms."""
    u = math.sqrt(2 * nu) * distance
    t, step = np.linspace(0, 25 + math.log1p(2 * nu / u), 400_001, retstep=True)
    log_cosh = np.logaddexp(nu * t, -nu * t) - math.log(2)
    with np.errstate(over="ignore"):
        terms = -u * np.cosh(t) + log_cosh
    terms[0] -= math.log(2)
    log_k = logsumexp(terms) + math.log(step)
    return math.exp(log_k + nu * math.log(u) - (nu - 1) * math.log(2) - gammaln(nu))


@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0, 1.5, 2.5, 3.2, 20.0, 50.0, 59.9, 60.1, 100.0, 200.0, 1000.0])
def test_matern_of_any_smoothness_is_the_integral(nu):
    distances = [1e-6, 1e-3, 0.02, 0.3, 1.0, 3.0, 8.0]
    expected = [matern_integral(nu, distance) for distance in distances]
    got = Matern(nu)([[0.0]], np.array(distances)[:, None])[0]
    np.testing.assert_allclose(got, expected, rtol=5e-11)


@pytest.mark.parametrize("nu", [0.01, 0.3, 1.0, 3.2, 50.0, 59.0, 61.0, 171.0, 1e4, 1e8])
def test_matern_falls_from_one_to_zero_without_jumps(nu):
    distances = np.concatenate([[0.0], np.logspace(-300, 300, 3001)])
    values = Matern(nu)([[0.0]], distances[:, None])[0]
    assert values[0] == 1
    assert values[-1] == 0
    assert (np.diff(values) <= 1e-12).all()
    assert values[distances > 1e4].max() == 0 or nu < 0.05


def test_a_very_smooth_matern_is_almost_gaussian(points):
    np.testing.assert_allclose(Matern(1e8)(points), Gaussian()(points), atol=1e-8)
    np.testing.assert_array_equal(Matern(math.inf)(points), Gaussian()(points))


def test_a_rational_quadratic_of_large_alpha_is_almost_gaussian(points):
    np.testing.assert_allclose(RationalQuadratic(alpha=1e6)(points), Gaussian()(points), atol=1e-5)


def test_special_and_general_smoothness_agree(points, others):
    for nu in (0.5, 1.5, 2.5):
        near = Matern(nu + 1e-9)(points, others)
        np.testing.assert_allclose(Matern(nu)(points, others), near, atol=1e-7)


@pytest.mark.parametrize("kind", [Gaussian, Laplacian, Matern, RationalQuadratic, PowerExponential])
def test_equal_length_scales_are_one_length_scale(points, others, kind):
    many, one = kind(length_scale=[0.7] * 3), kind(length_scale=0.7)
    np.testing.assert_allclose(many(points, others), one(points, others), rtol=1e-12)
    shares = many.gradient(points, others)
    total = sum(shares[f"length_scale[{d}]"] for d in range(3))
    np.testing.assert_allclose(total, one.gradient(points, others)["length_scale"], rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("kind", [Gaussian, Laplacian, Matern, RationalQuadratic, PowerExponential])
def test_tiny_and_huge_length_scales_reach_their_limits(points, kind):
    np.testing.assert_allclose(kind(length_scale=1e-150)(points), np.eye(7), atol=1e-250)
    np.testing.assert_array_equal(kind(length_scale=1e150)(points), 1)
    np.testing.assert_allclose(kind(length_scale=[1e-20] * 3)(points), np.eye(7), atol=1e-30)


def test_tiny_distances_are_not_lost():
    X = np.array([[1.0], [1.0 + 2.0**-50]])
    np.testing.assert_allclose(Gaussian(2.0**-50)(X)[0, 1], math.exp(-0.5), rtol=1e-14)
    np.testing.assert_allclose(Laplacian(2.0**-50)(X)[0, 1], math.exp(-1), rtol=1e-14)
    np.testing.assert_allclose(PowerExponential(1.5, 0.7, 2.0**-50)(X)[0, 1], math.exp(-1), rtol=1e-14)
    np.testing.assert_allclose(Gaussian(1e-100)([[0.0], [1e-100]])[0, 1], math.exp(-0.5), rtol=1e-14)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(),
        Gaussian([0.5, 2.0, 1.3]),
        Matern(0.5),
        Matern(3.2, [1.0, 2.0, 3.0]),
        RationalQuadratic(),
        PowerExponential(2.0, 0.7),
    ],
    ids=repr,
)
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
def test_sparse_data_gives_the_dense_result(points, others, kernel, form):
    X, Z = points * (points > 0), others * (others < 0.5)
    X, Z = np.concatenate([X, Z[:2]]), np.concatenate([Z, X[:2]])  # duplicates across both
    expected = kernel(X, Z)
    for result in (kernel(form(X), form(Z)), kernel(form(X), Z), kernel(X, form(Z))):
        np.testing.assert_allclose(result, expected, rtol=1e-12)
        assert result[-1, 1] == result[0, -2] == 1
    np.testing.assert_allclose(kernel(form(X)), kernel(X), rtol=1e-12)
    np.testing.assert_array_equal(np.diag(kernel(form(X))), 1)
    for name, values in kernel.gradient(form(X), form(Z)).items():
        np.testing.assert_allclose(values, kernel.gradient(X, Z)[name], rtol=1e-11, atol=1e-14)


def test_laplacian_refuses_sparse_data():
    with pytest.raises(TypeError, match=r"Laplacian.* does not work on sparse matrices.*X\.toarray\(\)"):
        Laplacian()(sparse.csr_array(np.eye(3)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_sparse_data_must_be_finite(bad):
    with pytest.raises(ValueError, match="needs finite numbers, but the sparse matrix holds NaN or infinity"):
        Gaussian()(sparse.csr_array([[1.0, bad]]))


@pytest.mark.parametrize("kind", [Gaussian, Laplacian, Matern, RationalQuadratic, PowerExponential])
@pytest.mark.parametrize(
    "length",
    [0, 0.0, -1.0, math.nan, math.inf, -math.inf, None, "a", [], [1.0, -1.0], [1.0, 0.0], [[1.0]], [math.nan], ["a"]],
    ids=repr,
)
def test_length_scales_are_positive_numbers(kind, length):
    with pytest.raises(ValueError, match=f"{kind.__name__}: length_scale must be a positive .*, got"):
        kind(length_scale=length)


@pytest.mark.parametrize("length", [1e-200, 1e200, [1.0, 1e-320]], ids=repr)
def test_length_scales_whose_squares_are_no_numbers_are_refused(length):
    with pytest.raises(ValueError, match=r"must lie between 1e-150 and 1e\+150.*other units"):
        Gaussian(length)


@pytest.mark.parametrize("kind", [Gaussian, Laplacian, Matern, RationalQuadratic, PowerExponential])
def test_there_is_one_length_scale_or_one_for_each_feature(points, kind):
    with pytest.raises(ValueError, match="has 2 length scales but the data has 3 features; give one length scale"):
        kind(length_scale=[1.0, 2.0])(points)
    with pytest.raises(ValueError, match="has 1 length scales but the data has 3 features"):
        kind(length_scale=[1.0])(points)


@pytest.mark.parametrize("gamma", [0.0, -1.0, math.nan])
def test_gamma_is_positive(gamma):
    with pytest.raises(ValueError, match="gamma must be positive, got"):
        Gaussian.from_gamma(gamma)


@pytest.mark.parametrize("value", [0, -0.5, math.nan, -math.inf, "1"], ids=repr)
def test_nu_and_alpha_are_positive(value):
    with pytest.raises(ValueError, match="Matern: nu must be a positive finite number, got"):
        Matern(nu=value)
    with pytest.raises(ValueError, match="RationalQuadratic: alpha must be a positive finite number, got"):
        RationalQuadratic(alpha=value)


# -- powers of sums of powers ----------------------------------------------------------------------------------------

POWERS = [(2.0, 1.0), (2.0, 2.0), (2, 0.3), (1.0, 1.0), (1, 0.5), (1.5, 1.5), (1.5, 0.7), (0.5, 0.5), (0.3, 0.1)]


@pytest.mark.parametrize("length", LENGTHS, ids=repr)
@pytest.mark.parametrize(("p", "q"), POWERS)
def test_a_power_exponential_is_its_definition(points, others, p, q, length):
    X, Z = (np.asarray(side, dtype=np.longdouble) for side in (points, others))
    powers = (np.abs(X[:, None] - Z[None]) / np.asarray(length, dtype=np.longdouble)) ** np.longdouble(p)
    expected = np.exp(-(powers.sum(axis=2) ** (np.longdouble(q) / np.longdouble(p))))
    np.testing.assert_allclose(PowerExponential(p, q, length)(points, others), expected.astype(float), rtol=2e-13)


@pytest.mark.parametrize("length", LENGTHS, ids=repr)
def test_a_power_exponential_has_known_kernels_as_special_cases(points, others, length):
    cases = [
        (PowerExponential(2, 1, length), Matern(0.5, length)),
        (PowerExponential(1, 1, length), Laplacian(length)),
        (PowerExponential(2, 2, length), Gaussian(np.asarray(length) / math.sqrt(2))),
        (PowerExponential(2 - 1e-12, 2 - 1e-12, length), Gaussian(np.asarray(length) / math.sqrt(2))),
        (PowerExponential(1 + 1e-12, 1 + 1e-12, length), Laplacian(length)),
    ]
    for kernel, known in cases:
        np.testing.assert_allclose(kernel(points, others), known(points, others), rtol=1e-9)


@pytest.mark.parametrize("length", [0.7, [0.5, 2.0, 1.3]], ids=repr)
@pytest.mark.parametrize(("p", "q"), POWERS)
def test_slopes_of_a_power_exponential_are_those_of_its_values(points, others, p, q, length):
    kernel, step = PowerExponential(p, q, length), 1e-6
    for name, slope in kernel.gradient(points, others).items():
        value = kernel.hyperparameters()[name]
        up, down = (kernel.with_hyperparameters({name: value * math.exp(t)})(points, others) for t in (step, -step))
        np.testing.assert_allclose(slope, (up - down) / (2 * step), atol=1e-8)


@pytest.mark.parametrize(("p", "q"), POWERS)
def test_a_power_exponential_is_proved_and_positive_definite(p, q):
    X = np.random.default_rng(0).normal(size=(40, 4))
    kernel = PowerExponential(p, q, 1.5)
    verdict = kernel.certificate()
    assert isinstance(verdict, Proved)
    assert verdict.strict is True
    assert np.linalg.eigvalsh(kernel(X)).min() > 1e-9


def _least_at_a_cross(p, q):
    """Return the least eigenvalue of exp(−‖x−z‖_p^q) for small ‖·‖, at points that a longer step has between others."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1e-3], [1.0, 1e-3]])
    powers = (np.abs(X[:, None] - X[None]) ** p).sum(axis=2)
    D = powers ** (q / p)
    P = np.eye(4) - 0.25
    return np.linalg.eigvalsh(-P @ D @ P).min()


def test_what_is_refused_is_no_kernel():
    # ψ(x+y) + ψ(x−y) − 2ψ(x) ≤ 2ψ(y) for every ψ of which exp(−tψ) are kernels; (1 + t^p)^(q/p) − 1 > t^q if q > p.
    assert _least_at_a_cross(1.0, 1.5) < -1e-4
    assert _least_at_a_cross(1.5, 1.0) > -1e-15
    with pytest.raises(ValueError, match=r"q must be at most p, got q=1.5 and p=1.0.*two features.*raise p or lower q"):
        PowerExponential(1.0, 1.5)
    with pytest.raises(ValueError, match=r"p must be at most 2, got 3.*three features or more.*take p = 2"):
        PowerExponential(3, 1)


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "1", None], ids=repr)
def test_powers_are_positive_numbers(value):
    with pytest.raises(ValueError, match="PowerExponential: p must be a positive finite number, got"):
        PowerExponential(p=value)
    with pytest.raises(ValueError, match="PowerExponential: q must be a positive finite number, got"):
        PowerExponential(q=value)
