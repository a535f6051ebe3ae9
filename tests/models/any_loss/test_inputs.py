"""What can be wrong with what a model of any loss is given, and what it says then."""

import numpy as np
import pytest

from mercer import KernelClassifier, KernelQuantileRegressor, KernelRegressor
from mercer.losses import Huber

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2))
Y = np.sin(X[:, 0])
HOLE = np.where(np.arange(20) == 3, np.nan, Y)


@pytest.mark.parametrize(
    ("model", "y", "text"),
    [
        (KernelQuantileRegressor([0.1, 1.0]), Y, "between 0 and 1.*1.0"),
        (KernelQuantileRegressor(0.0), Y, "between 0 and 1.*0.0"),
        (KernelQuantileRegressor([0.9, 0.1]), Y, r"levels must grow .*got \[0.9, 0.1\]"),
        (KernelQuantileRegressor([]), Y, "levels must grow"),
        (KernelQuantileRegressor(), np.c_[Y, Y], "one target for each point, got 2.*MultiOutputRegressor"),
        (KernelRegressor("Hubber"), Y, "did you mean Huber"),
        (KernelRegressor("pinball(.9)"), Y, "did you mean Quantile"),
        (KernelRegressor("Logistic"), Y, "is a loss of classes, .* of numbers; use KernelClassifier"),
        (KernelClassifier("Huber"), Y > 0, "is a loss of numbers, .* of classes; use KernelRegressor"),
        (KernelRegressor("Poisson"), Y, "needs counts, which are not negative, but .* row .*use another loss"),
        (KernelRegressor("Poisson"), 0 * Y, "all counts are 0"),
        (KernelRegressor("Gamma"), 0 * Y, "Gamma.. needs"),
        (KernelClassifier(), np.ones(20), "at least two classes .*only one class, 1.0"),
        (KernelClassifier(), Y, "Unknown label type"),
        (KernelRegressor(alpha=0.0), Y, "alpha must be a positive number, got 0.0"),
        (KernelRegressor(alpha=-1), Y, "alpha must be a positive number, got -1"),
        (KernelRegressor(tol=0), Y, "tol must be a positive number, got 0"),
        (KernelRegressor(max_iter=0), Y, "max_iter must be a whole number of at least 1 or None; got 0"),
        (KernelRegressor(n_centers=1.5), Y, "n_centers must be a whole number of at least 1 or None; got 1.5"),
        (KernelRegressor(scaling="max"), Y, "scaling must be 'sum' or 'mean', got 'max'"),
        (KernelRegressor(solver="lbfgs"), Y, "solver must be 'auto' or one of 'newton'.*got 'lbfgs'"),
        (KernelRegressor("Huber", solver="smo"), Y, "'smo' is for piecewise linear losses.*use solver='auto'"),
        (KernelRegressor("Absolute", solver="newton"), Y, "losses without corners; Absolute.. has some: use 'auto'"),
        (KernelRegressor("Squared", solver="proximal"), Y, "losses with corners; Squared.. has none: use 'auto'"),
        (KernelRegressor("Absolute", fit_intercept=False, solver="smo"), Y, "fit_intercept is False"),
        (KernelRegressor(penalty="l1"), Y, "penalty must be 'squared', a function.*got 'l1'"),
        (KernelRegressor(), HOLE, "Input y contains NaN"),
        (KernelRegressor(), Y[:9], r"X has 20 points, so y must have shape \(20,\)"),
        (KernelRegressor(), None, "requires y to be passed"),
        (KernelClassifier(), [0, 1], "X has 20 points, so y must have 20 labels; got 2"),
    ],
)  # fmt: skip
def test_errors_say_what_was_given_and_what_to_do(model, y, text):
    with pytest.raises(ValueError, match=text):
        model.fit(X, y)
    assert not hasattr(model, "expansion_")


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        (lambda y, f: (y - f) ** 2, r"wrap a function of y and f as CustomLoss\(function\)"),
        (Huber, r"make one of the class, Huber\(\)"),
        (3.0, "those there are stand in mercer.losses"),
    ],
)
def test_what_is_no_loss_is_refused_with_the_way_to_one(loss, text):
    with pytest.raises(TypeError, match=text):
        KernelRegressor(loss).fit(X, Y)


def test_losses_without_probabilities_have_none():
    model = KernelClassifier("Hinge").fit(X, Y > 0)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        _ = model.predict_proba
