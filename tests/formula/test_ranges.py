"""Results that are ordinary numbers are right, however large or small the numbers on the way to them are."""

import decimal
from decimal import Decimal

import numpy as np
import pytest

from mercer.formula.evaluation import Evaluation
from mercer.gram import Gram
from mercer.kernels import Gaussian, Intersection, Laplacian, Linear, Polynomial, exp

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).maxexp <= np.finfo(np.float64).maxexp, reason="there is no wider type on this machine"
)


@pytest.fixture(autouse=True)
def many_digits():
    with decimal.localcontext(decimal.Context(prec=60, Emin=-999999, Emax=999999)):
        yield


def dot(x, z):
    return sum(Decimal(float(a)) * Decimal(float(b)) for a, b in zip(x, z, strict=True))


# Kernels of a weight w and a power p, with their values in Decimal.
FORMS = {
    "(w k)^p": (lambda w, p: (w * Linear()) ** p, lambda w, p, x, z: (Decimal(w) * dot(x, z)) ** p),
    "w k^p": (lambda w, p: w * Linear() ** p, lambda w, p, x, z: Decimal(w) * dot(x, z) ** p),
    "w (k + 1)^p": (lambda w, p: w * Polynomial(p, 1.0), lambda w, p, x, z: Decimal(w) * (dot(x, z) + 1) ** p),
    "(w k) k": (lambda w, p: (w * Linear()) * Linear() ** p, lambda w, p, x, z: Decimal(w) * dot(x, z) ** (p + 1)),
    "(w k) (w k)": (lambda w, p: (w * Linear()) * (w * Linear()), lambda w, p, x, z: (Decimal(w) * dot(x, z)) ** 2),
    "normalised": (
        lambda w, p: (w * Linear() ** p + w * Linear()).normalize(),
        lambda w, p, x, z: (
            (dot(x, z) ** p + dot(x, z)) / ((dot(x, x) ** p + dot(x, x)) * (dot(z, z) ** p + dot(z, z))).sqrt()
        ),
    ),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(8))
def test_every_backend_gives_ordinary_results_to_rounding(form, dtype, seed):
    rng = np.random.default_rng(seed)
    make, definition = FORMS[form]
    reach = 18 if dtype == np.float32 else 150
    kind, ordinary = np.finfo(dtype), False
    while not ordinary:
        p = int(rng.integers(2, 6))
        scale = 10.0 ** rng.uniform(-reach, reach)
        # The weight brings the result back to the middle of the range.
        back = -2.0 * np.log10(scale) * (p if form in ("w k^p", "w (k + 1)^p") else p + 1 if form == "(w k) k" else 1)
        w = float(10.0 ** np.clip(back, -300, 300))
        X = (scale * rng.uniform(0.5, 2.0, size=(3, 2))).astype(dtype)
        expected = [[definition(w, p, x, z) for z in X] for x in X]
        ordinary = all(4 * float(kind.tiny) < value < float(kind.max) / 4 for row in expected for value in row)
    expected = np.array([[float(value) for value in row] for row in expected])
    rtol = 2e-5 if dtype == np.float32 else 1e-12
    for backend in ("auto", "numpy"):
        gram = Gram(make(w, p), X, backend=backend)
        np.testing.assert_allclose(gram.dense(), expected, rtol=rtol, err_msg=f"{backend}: {gram.why}")
        np.testing.assert_allclose(gram @ np.ones(3), expected.sum(axis=1), rtol=rtol)
    np.testing.assert_allclose(make(w, p).diag(X), np.diag(expected), rtol=rtol)


def test_the_cases_that_were_lost():
    X = np.array([[1e-5], [2e-5]], dtype=np.float32)
    expected = (1e6 * (X.astype(float) @ X.T.astype(float))) ** 5
    np.testing.assert_allclose(Gram((1e6 * Linear()) ** 5, X).dense(), expected, rtol=1e-5)
    np.testing.assert_allclose(Gram((1e200 * Linear()) ** 2, [[1e-100]]).dense(), [[1.0]], rtol=1e-14)
    np.testing.assert_allclose(Linear().normalize()([[1e-160], [-3e-200], [1e200]])[0], [1.0, -1.0, 1.0], rtol=1e-15)
    np.testing.assert_allclose(exp(Linear()).normalize()([[30.0], [31.0]]), Gaussian()([[30.0], [31.0]]), rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-160, 1e-80, 1.0, 1e80, 1e150])
def test_normalised_kernels_do_not_see_the_scale_of_homogeneous_ones(scale):
    X = np.random.default_rng(0).uniform(0.1, 1.0, size=(4, 3))
    for kernel in (Linear(), Linear() ** 3, Polynomial(4, 0.0), 1e-200 * Linear() * Intersection(), Intersection()):
        expected = kernel.normalize()(X)
        np.testing.assert_allclose(kernel.normalize()(scale * X), expected, rtol=1e-13, err_msg=repr(kernel))
        np.testing.assert_allclose(Gram(kernel.normalize(), scale * X).dense(), expected, rtol=1e-13)
        np.testing.assert_allclose(kernel.normalize().diag(scale * X), 1.0, rtol=1e-14)


@pytest.mark.parametrize("size", [1.0, 10.0, 60.0])
def test_normalised_exponentials_are_computed_in_logarithms(size):
    X = size * np.random.default_rng(1).normal(size=(4, 2))
    np.testing.assert_allclose(exp(Linear()).normalize()(X), Gaussian()(X), rtol=1e-11)
    np.testing.assert_allclose(Gram(exp(2.0 * Linear() + 3.0).normalize(), X).dense(), (Gaussian() ** 2)(X), rtol=1e-11)
    together = (exp(Linear()) * Linear() ** 2).normalize()
    np.testing.assert_allclose(together(X), (Gaussian() * Linear().normalize() ** 2)(X), rtol=1e-10, atol=1e-300)


def test_far_points_of_a_large_multiple_are_not_lost_in_single_precision():
    X = np.array([[0.0], [14.0]], dtype=np.float32)
    for kernel in (1e30 * Gaussian(), 1e30 * Laplacian(0.14)):
        np.testing.assert_allclose(Gram(kernel, X).dense(), kernel(X.astype(float)), rtol=1e-4)


def test_ordinary_data_stays_in_the_native_core():
    X = np.random.default_rng(2).normal(size=(20, 3))
    for points in (X, 1e6 * X, 1e-3 * X + 50.0, X.astype(np.float32), 1e3 * X.astype(np.float32)):
        for kernel in (
            Gaussian(),
            1e4 * Gaussian(3.0),
            (Linear() + 1.0).normalize(),
            Polynomial(3) + Gaussian(),
            exp(Linear()),
        ):
            try:
                assert Gram(kernel, points).backend_name == "native"
            except OverflowError:
                assert kernel == exp(Linear())
        assert not Evaluation(Polynomial(3).traced(), points, None, "k").leaves_range


def test_results_outside_the_range_are_still_refused():
    with pytest.raises(OverflowError, match="overflows float64"):
        (Linear() ** 3)([[1e60]])
    with pytest.raises(OverflowError, match="overflows float64"):
        Gram(exp(Linear()), [[40.0]]).dense()
