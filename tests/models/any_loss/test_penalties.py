"""Any growing penalty: what the theorem says, and the certificate of the answer."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mercer import KernelClassifier, KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import NormBound

K = Gaussian(1.3)


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (60, 1))
    return X, np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)


def _best(X, y, loss, penalty, alpha):
    """The least loss plus penalty over all multipliers of the squared norm, by an independent search."""

    def total(place):
        model = KernelRegressor(loss, float(np.exp(place)), kernel=K, tol=1e-9).fit(X, y)
        return model.objective_.loss + alpha * penalty(model.expansion_.norm())

    grid = np.linspace(-8, 8, 33)
    values = [total(place) for place in grid]
    at = int(np.argmin(values))
    found = minimize_scalar(total, bounds=(grid[max(at - 1, 0)], grid[min(at + 1, 32)]), method="bounded")
    return min(found.fun, min(values))


@pytest.mark.parametrize("loss", ["Squared", "Huber(.1)"])
@pytest.mark.parametrize("penalty", [lambda r: r, lambda r: r**1.5, lambda r: r**4, lambda r: r + r**2, np.expm1])
def test_a_function_of_the_norm_that_grows_is_minimised_and_certified(points, loss, penalty):
    X, y = points
    model = KernelRegressor(loss, 0.5, kernel=K, penalty=penalty).fit(X, y)
    assert model.converged_
    assert model.duality_gap_.relative <= 1e-6
    assert model.objective_.penalty == pytest.approx(0.5 * penalty(model.expansion_.norm()), rel=1e-5)
    assert float(model.objective_) <= _best(X, y, loss, penalty, 0.5) * (1 + 1e-6)


def test_the_squared_norm_as_a_function_is_the_squared_norm(points):
    X, y = points
    plain = KernelRegressor("Huber(.1)", 0.3, kernel=K, tol=1e-9).fit(X, y)
    function = KernelRegressor("Huber(.1)", 0.3, kernel=K, tol=1e-9, penalty=lambda r: r**2).fit(X, y)
    np.testing.assert_allclose(function.predict(X), plain.predict(X), atol=1e-5)
    assert function.multiplier_ == pytest.approx(0.3, rel=1e-4)
    assert plain.multiplier_ == 0.3


@pytest.mark.parametrize("loss", ["Squared", "LogCosh", "Quantile(.7)"])
@pytest.mark.parametrize("radius", [0.2, 1.0])
def test_a_bound_of_the_norm_is_kept_and_reached(points, loss, radius):
    X, y = points
    model = KernelRegressor(loss, 1.0, kernel=K, penalty=NormBound(radius)).fit(X, y)
    assert model.expansion_.norm() == pytest.approx(radius, rel=1e-3)
    assert model.expansion_.norm() <= radius * (1 + 1e-6)
    assert model.objective_.penalty == 0
    assert model.converged_
    # Any other function of at most this norm costs more: those on the path of the squared penalty among them.
    for factor in (0.5, 2.0):
        other = KernelRegressor(loss, factor * model.multiplier_, kernel=K).fit(X, y)
        if other.expansion_.norm() <= radius:
            assert other.objective_.loss >= model.objective_.loss * (1 - 1e-3)


def test_a_penalty_can_be_so_high_that_nothing_is_fitted(points):
    X, y = points
    model = KernelRegressor("Squared", 1e3, kernel=K, penalty=lambda r: r).fit(X, y)
    assert model.expansion_.norm() < 1e-6
    np.testing.assert_allclose(model.predict(X), y.mean(), atol=1e-5)


def test_a_penalty_that_is_not_convex_is_minimised_and_says_that_it_is_not_certified(points):
    X, y = points
    with pytest.warns(match="duality gap"):
        model = KernelRegressor("Squared", 0.5, kernel=K, penalty=np.sqrt).fit(X, y)
    assert not model.converged_
    assert float(model.objective_) <= _best(X, y, "Squared", np.sqrt, 0.5) * (1 + 1e-6)


def test_classifiers_take_penalties(points):
    X, y = points
    model = KernelClassifier("Hinge", 0.1, kernel=K, penalty=NormBound(1.0)).fit(X, y > 0)
    assert model.expansion_.norm() == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize(
    ("penalty", "text"),
    [
        (lambda r: -r, "must grow"),
        (lambda r: 1.0, "everywhere"),
        (lambda r: abs(r - 3), "must grow"),
        (lambda r: r / 0, "raised ZeroDivisionError"),
        ("cubed", "penalty must be"),
        (3.0, "penalty must be"),
    ],
)
def test_penalties_that_do_not_grow_are_refused(points, penalty, text):
    X, y = points
    with pytest.raises(ValueError, match=text):
        KernelRegressor("Squared", penalty=penalty).fit(X, y)


def test_a_bound_is_a_positive_number():
    with pytest.raises(ValueError, match="positive"):
        NormBound(0.0)
