"""Ridge models under extreme scales: what they say of themselves, and what they predict, beside extended precision."""

import warnings
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer.kernels import Constant, Gaussian, Linear, Polynomial
from mercer.models import KernelRidge, KernelRidgeClassifier

DIGITS = 80


def in_decimals(A):
    return [[Decimal(value) for value in row] for row in np.asarray(A, dtype=np.float64).tolist()]


def polynomial_values(X, Z, degree, offset):
    """Return (xᵀz + c)^q in decimals, exactly rounded to many digits."""
    return [[(sum(a * b for a, b in zip(x, z, strict=True)) + offset) ** degree for z in Z] for x in X]


def eliminate(A, B):
    """Return A⁻¹B by Gaussian elimination with pivoting, in decimals."""
    n, rows = len(A), [list(a) + list(b) for a, b in zip(A, B, strict=True)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    X = [[Decimal(0)] * len(B[0]) for _ in range(n)]
    for i in reversed(range(n)):
        for j in range(len(B[0])):
            known = sum((rows[i][k] * X[k][j] for k in range(i + 1, n)), Decimal(0))
            X[i][j] = (rows[i][n + j] - known) / rows[i][i]
    return X


def exact_ridge(X, y, alpha, weights, new, degree, offset):
    """Return the predictions of ridge with an exact polynomial kernel at new points, to many digits."""
    with localcontext() as context:
        context.prec = DIGITS
        X, new, offset = in_decimals(X), in_decimals(new), Decimal(offset)
        A = polynomial_values(X, X, degree, offset)
        for i, w in enumerate(weights):
            A[i][i] += Decimal(alpha) / Decimal(float(w))
        c = eliminate(A, in_decimals(np.reshape(y, (-1, 1))))
        cross = polynomial_values(new, X, degree, offset)
        return np.array([float(sum(k * v[0] for k, v in zip(row, c, strict=True))) for row in cross])


def fit_quietly(model, *data):
    """Return the fitted model and the warnings about convergence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*data)
    return model, [one for one in caught if issubclass(one.category, ConvergenceWarning)]


def assert_honest(model, caught):
    """The flag follows the residual, and not converged is one warning that says what to do."""
    assert model.converged_ == (model.residual_ <= 1e-5)
    assert len(caught) == (not model.converged_)
    assert all("has not converged" in str(one.message) and "alpha" in str(one.message) for one in caught)


@pytest.mark.parametrize(("scale", "degree"), [(1.0, 2), (1e3, 4), (1e4, 2), (1e4, 4), (1e-4, 3), (1e6, 2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_polynomial_kernels_on_columns_of_any_size_are_right_or_say_that_they_are_not(scale, degree, weighted):
    rng = np.random.default_rng(0)
    X, new = scale * rng.normal(size=(40, 2)), scale * rng.normal(size=(15, 2))
    y = np.sin(X[:, 0] / scale) + 0.1 * rng.normal(size=40)
    w = 10.0 ** rng.uniform(-3, 3, size=40) if weighted else np.ones(40)
    model, caught = fit_quietly(KernelRidge(1.0, kernel=Polynomial(degree, 1.0)), X, y, w)
    assert_honest(model, caught)
    assert model.converged_
    expected = exact_ridge(X, y, 1.0, w, new, degree, 1.0)
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-6 * np.abs(expected).max())
    np.testing.assert_allclose(model.expansion_(new), model.predict(new), rtol=1e-12)


def test_more_features_than_points_survive_unscaled_columns_too():
    rng = np.random.default_rng(1)
    X, new = 1e3 * rng.normal(size=(20, 5)), 1e3 * rng.normal(size=(5, 5))  # 126 features of 20 points
    y = np.sin(X[:, 0] / 1e3)
    model, caught = fit_quietly(KernelRidge(1.0, kernel=Polynomial(4, 1.0)), X, y)
    assert_honest(model, caught)
    assert model.converged_
    expected = exact_ridge(X, y, 1.0, np.ones(20), new, 4, 1.0)
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-6 * np.abs(expected).max())


def test_a_classifier_on_unscaled_columns_knows_its_training_rows():
    rng = np.random.default_rng(0)
    X = 1e3 * rng.normal(size=(200, 3))
    labels = (X[:, 0] + X[:, 1] ** 2 / 1e3 > 500.0).astype(int)
    scaled = KernelRidgeClassifier(1e-6, kernel=Polynomial(3, 1.0)).fit(X / 1e3, labels)
    model = KernelRidgeClassifier(1.0, kernel=Polynomial(3, 1.0)).fit(X, labels)
    assert model.converged_
    assert model.score(X, labels) >= scaled.score(X / 1e3, labels) - 0.02


@pytest.mark.parametrize("solver", ["auto", "spectral", "cholesky", "cg", "primal"])
@pytest.mark.parametrize("alpha", [1e-16, 1e-9, 1e-3, 1e6])
@pytest.mark.parametrize("weights", [None, "one heavy", "all uneven"])
def test_the_flag_follows_the_certificate_whatever_is_asked(solver, alpha, weights):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    kernel = Polynomial(2, 1.0) if solver == "primal" else Gaussian(2.0)
    w = {None: None, "one heavy": np.where(np.arange(40) == 7, 1e13, 1.0), "all uneven": np.logspace(-10, 13, 40)}
    model = KernelRidge(alpha, kernel=kernel, solver=solver, random_state=0, fit_intercept=True)
    try:
        model, caught = fit_quietly(model, X, y, w[weights])
    except np.linalg.LinAlgError as error:
        assert "alpha" in str(error)  # noqa: PT017
        return
    assert_honest(model, caught) if solver != "cg" else None
    assert model.converged_ or len(caught) == 1
    counts = np.ones(40, dtype=bool) if w[weights] is None else w[weights] >= 1.0
    assert np.abs(model.predict(X[counts])).max() < 10 * np.abs(y).max()  # whatever it is, it is not noise


def test_a_heavy_point_is_left_to_the_solver_that_survives_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 1])])
    w = np.where(np.arange(60) == 3, 1e13, 1.0)
    model = KernelRidge([1e-3, 2e-3], kernel=Gaussian(2.0)).fit(X, Y, w)
    assert model.converged_
    # A weight of 1e13 is a point that f goes through; so is one of 1e9, to nine digits.
    other = KernelRidge([1e-3, 2e-3], kernel=Gaussian(2.0), solver="spectral").fit(X, Y, np.minimum(w, 1e9))
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-6)


@pytest.mark.parametrize("power", [-990, -300, 300, 990])
@pytest.mark.parametrize("solver", ["spectral", "cholesky", "cg", "primal", "nystroem"])
def test_the_unit_of_the_targets_changes_nothing_but_the_unit(solver, power):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    model = KernelRidge(0.1, kernel=Polynomial(2, 1.0), solver=solver, random_state=0, fit_intercept=True)
    one, other = clone(model).fit(X, y), clone(model).fit(X, np.ldexp(y, power))
    assert one.converged_
    assert other.converged_
    assert other.n_iter_ == one.n_iter_
    np.testing.assert_allclose(np.ldexp(other.predict(X), -power), one.predict(X), rtol=1e-12)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.integers(-30, 30), st.integers(-30, 30), st.sampled_from([0.0, 1e8]), st.sampled_from([1e-8, 1e-2, 1.0, 1e4]),
    st.booleans(),
)  # fmt: skip
def test_columns_of_any_size_and_offset_are_solved_or_said_not_to_be(power, kernel_power, offset, alpha, fit_intercept):
    rng = np.random.default_rng(5)
    X = np.ldexp(rng.normal(size=(25, 2)), power) + offset
    y = rng.normal(size=25)
    for kernel in (Linear(), Linear() + Constant(1.0), Gaussian(2.0**power)):
        model = KernelRidge(alpha, kernel=2.0**kernel_power * kernel, fit_intercept=fit_intercept)
        model, caught = fit_quietly(model, X, y)
        assert_honest(model, caught)
        assert np.isfinite(model.predict(X)).all()


def test_expansion_coefficients_and_predictions_are_one_function_after_a_primal_fit():
    rng = np.random.default_rng(3)
    X, new = rng.normal(size=(300, 3)), rng.normal(size=(20, 3))
    y = X @ [1.0, -2.0, 0.5] + 5.0 + 0.3 * rng.normal(size=300)
    for alpha in (1e-15, 1e-12, 1e-6, 1.0):
        for fit_intercept in (False, True):
            kernel = Polynomial(2, 1.0)
            model = KernelRidge(alpha, kernel=kernel, solver="primal", fit_intercept=fit_intercept).fit(X, y)
            f, values = model.expansion_, model.predict(new)
            np.testing.assert_allclose(f(new), values, rtol=1e-12)
            np.testing.assert_allclose(kernel(new, X) @ model.dual_coef_ + model.intercept_, values, atol=1e-3)
            np.testing.assert_allclose((2.0 * f - f + 1.0)(new), values + 1.0, rtol=1e-12)
            np.testing.assert_allclose(f.outputs()[0](new), values, rtol=1e-12)
            assert f.inner(2.0 * f) == pytest.approx(2.0 * f.norm() ** 2)


def test_a_small_residual_is_that_of_exact_arithmetic():
    X = np.array([[1.0], [2.0], [4.0]])
    y = np.array([1.0, 3.0, 2.0])
    model = KernelRidge(0.5, kernel=Linear()).fit(X, y)
    slope = Fraction(1 + 6 + 8) / (Fraction(1 + 4 + 16) + Fraction(1, 2))
    assert model.predict([[1.0]])[0] == pytest.approx(float(slope), rel=1e-15)
    assert model.residual_ < 1e-14
