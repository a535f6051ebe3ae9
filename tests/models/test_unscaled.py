"""Columns of size 1,000 under polynomial kernels: answers are right, or there is a warning with what to do."""

import warnings
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import mercer
from mercer.kernels import Polynomial

RNG = np.random.default_rng(0)
X, NEW = (1000 * RNG.normal(size=(n, 2)).astype(np.float32) for n in (12, 4))  # the same numbers in both types
Y = np.sin(X[:, 0] / 700) + 0.1 * RNG.normal(size=12)
REMEDY = r"make_pipeline\(StandardScaler\(\), model\)"


@cache
def solve_exactly(degree, alpha):
    """Predictions of ridge in fractions, without any rounding."""
    points, new = ([[Fraction(float(value)) for value in row] for row in rows] for rows in (X, NEW))

    def k(a, b):
        return (sum(x * z for x, z in zip(a, b, strict=True)) + 1) ** degree

    system = [
        [k(a, b) + Fraction(alpha) * (i == j) for j, b in enumerate(points)] + [Fraction(float(Y[i]))]
        for i, a in enumerate(points)
    ]
    for i, pivot in enumerate(system):
        for j, row in enumerate(system):
            if j != i:
                factor = row[i] / pivot[i]
                system[j] = [a - factor * b for a, b in zip(row, pivot, strict=True)]
    coef = [row[-1] / row[i] for i, row in enumerate(system)]
    return np.array([float(sum(c * k(x, z) for c, x in zip(coef, points, strict=True))) for z in new])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", ["auto", "spectral", "cg"])
@pytest.mark.parametrize(("degree", "alpha"), [(3, 1e-6), (3, 1e3), (5, 1e-6), (5, 1.0)])
def test_predictions_are_right_or_there_is_a_warning(degree, alpha, dtype, solver):
    model = mercer.KernelRidge(alpha, kernel=Polynomial(degree), solver=solver, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = model.fit(X.astype(dtype), Y).predict(NEW.astype(dtype))
    expected = solve_exactly(degree, alpha)
    error = np.abs(found - expected).max() / np.abs(expected).max()
    assert solver != "auto" or (degree, alpha) == (5, 1e-6) or not caught
    assert model.converged_ == (not caught)
    if not caught:
        assert error < (1e-4 if dtype == np.float32 else 1e-6)
    for warning in caught:
        assert "make_pipeline(StandardScaler(), model)" in str(warning.message)


def test_values_that_float32_loses_are_warned_of():
    points = X / 10  # so that float64 has digits to spare, whichever way a processor rounds
    model = mercer.KernelRidge(1.0, kernel=Polynomial(5), solver="nystroem", random_state=0)
    with pytest.warns(UserWarning, match=rf"lose the function in rounding.*pass float64 data, or .*{REMEDY}"):
        found = model.fit(points, Y).predict(points)
    wide = points.astype(np.float64)
    precise = model.fit(wide, Y).predict(wide)  # which is not warned of
    assert np.abs(found - precise).max() > 10 * np.ptp(Y)


@pytest.mark.parametrize(
    ("model", "goal"),
    [
        (mercer.KernelRidge(1e-6, kernel=Polynomial(3), solver="cholesky"), Y),
        (mercer.KernelLogisticRegression(1e-6, kernel=Polynomial(3)), Y > 0),
        (mercer.KernelRegressor("Huber(.3)", 1e-6, kernel=Polynomial(3)), Y),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_matrix_without_a_factor_is_an_error_with_the_remedy(model, goal):
    with pytest.raises(np.linalg.LinAlgError, match=REMEDY):
        model.fit(X, goal)
