"""A path shows what the model kept, and a star where it chose."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    SVC,
    SVCCV,
    SVRCV,
    KernelClassifierCV,
    KernelLogisticRegressionCV,
    KernelRegressorCV,
    KernelRidgeClassifier,
    KernelRidgeCV,
)
from mercer.inspection import PathDisplay
from mercer.kernels import Gaussian, Matern
from mercer.losses import SquaredHinge, as_loss


def star_of(ax):
    (star,) = [line for line in ax.lines if str(line.get_label()).startswith("chosen")]
    return np.ravel(star.get_data())


def test_each_length_scale_of_a_ridge_path_has_a_line(wave, is_legible):
    X, y = wave
    model = KernelRidgeCV(kernel=Gaussian(), length_scales=[0.1, 0.5, 2.0]).fit(X, y)
    ax = PathDisplay.from_estimator(model).ax_
    for line, errors in zip(ax.lines, model.path_["errors"], strict=False):
        np.testing.assert_array_equal(line.get_xdata(), model.path_["alphas"])
        np.testing.assert_allclose(line.get_ydata(), np.sqrt(errors))  # in units of the target
    assert [line.get_label() for line in ax.lines[:3]] == ["length scale 0.1", "length scale 0.5", "length scale 2"]
    np.testing.assert_allclose(star_of(ax), [model.alpha_, np.sqrt(np.mean((y - model.loo_predictions_) ** 2))])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("penalty α", "leave-one-out RMSE")
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines[:3]}) == 3
    is_legible(ax.figure)


def test_several_kernels_are_named(wave):
    model = KernelRidgeCV(kernel=[Gaussian(0.5), Matern(1.5, 0.5)]).fit(*wave)
    ax = PathDisplay.from_estimator(model).ax_
    assert [line.get_label()[:8] for line in ax.lines[:2]] == ["Gaussian", "Matern(n"]


def test_one_kernel_has_one_line_with_its_name(wave):
    model = KernelRidgeCV(kernel=Gaussian()).fit(*wave)
    ax = PathDisplay.from_estimator(model).ax_
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        repr(Gaussian()),
        f"chosen: α = {model.alpha_:.3g}",
    ]


def test_errors_have_the_unit_of_the_target(wave):
    X, y = wave
    one, thousand = (KernelRidgeCV(kernel=Gaussian(), alphas=[0.1, 1.0]).fit(X, unit * y) for unit in (1, 1000))
    once, larger = PathDisplay.from_estimator(one), PathDisplay.from_estimator(thousand)
    np.testing.assert_allclose(1000 * once.errors, larger.errors)
    assert larger.chosen[1] == pytest.approx(1000 * once.chosen[1])


@pytest.mark.parametrize("loss", ["squared", "huber(.5)", "absolute"])
def test_regressions_with_any_loss_are_shown_by_it(wave, loss):
    X, y = wave
    model = KernelRegressorCV(loss, alphas=[0.01, 0.1, 1.0], kernel=Gaussian(), length_scales=[0.3, 1.0]).fit(X, y)
    display = PathDisplay.from_estimator(model)
    root = np.sqrt if loss == "squared" else np.asarray
    np.testing.assert_allclose(display.errors, root(model.path_["losses"]))
    np.testing.assert_allclose(star_of(display.ax_), [model.alpha_, root(-model.best_score_)])
    words = {"leave-one-out": "leave-one-out", "folds": "cross-validated"}[model.path_["by"]]
    name = "RMSE" if loss == "squared" else f"loss {as_loss(loss)!r}"
    assert display.ax_.get_ylabel() == f"{words} {name}"


def test_classifiers_with_any_loss_are_shown_by_it(moons):
    model = KernelClassifierCV("squared_hinge", alphas=[0.1, 1.0], kernel=Gaussian()).fit(*moons)
    display = PathDisplay.from_estimator(model)
    np.testing.assert_allclose(display.errors, model.path_["losses"])
    assert display.error_name.endswith(f" loss {SquaredHinge()!r}")


@pytest.mark.parametrize(
    ("scoring", "name", "unit"),
    [
        ("neg_mean_squared_error", "RMSE", lambda s: np.sqrt(-s)),
        ("neg_root_mean_squared_error", "RMSE", lambda s: -s),
        ("neg_mean_absolute_error", "mean absolute error", lambda s: -s),
        (None, "R²", lambda s: s),
    ],
)
def test_scores_that_are_minus_errors_are_shown_as_errors(wave, scoring, name, unit):
    model = SVRCV([0.1, 1.0, 10.0], kernel=Gaussian(), scoring=scoring).fit(*wave)
    display = PathDisplay.from_estimator(model)
    np.testing.assert_allclose(display.errors[0], unit(model.cv_results_["mean_test_score"]))
    assert display.ax_.get_ylabel() == f"cross-validated {name}"
    assert display.ax_.get_xlabel() == "weight of errors C"
    assert display.larger_is_better == (scoring is None)
    assert display.ax_.get_legend().get_texts()[0].get_text() == repr(Gaussian())


def test_several_targets_are_said_to_be_over_their_deviation(wave):
    X, y = wave
    model = KernelRidgeCV(kernel=Gaussian()).fit(X, np.column_stack([y, 100 * X[:, 0]]))
    assert PathDisplay.from_estimator(model).error_name == "leave-one-out RMSE of targets over their deviation"


def test_a_grid_of_machines_is_a_map(moons, is_legible):
    X, y = moons
    Cs, scales = [100.0, 1.0, 0.1], [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2]  # neither has to be in order
    model = SVCCV(Cs, scales[::-1]).fit(X, y)
    display = PathDisplay.from_estimator(model)
    (mesh,) = [c for c in display.ax_.collections if c.get_array() is not None]
    table = model.cv_results_
    pairs = zip(table["params"], table["mean_test_score"], strict=True)
    cells = {(cell["C"], cell["length_scale"]): score for cell, score in pairs}
    expected = [[cells[C, scale] for scale in scales] for C in sorted(Cs)]
    np.testing.assert_allclose(np.asarray(mesh.get_array()).reshape(3, 7), expected)
    np.testing.assert_allclose(star_of(display.ax_), [model.length_scale_, model.C_])
    assert display.figure_.axes[1].get_ylabel() == "cross-validated accuracy"
    is_legible(display.figure_)


def test_a_star_is_in_the_middle_of_its_cell(moons):
    model = SVCCV([1.0, 10.0], [0.1, 1.0]).fit(*moons)
    ax = PathDisplay.from_estimator(model, kind="map").ax_
    (mesh,) = [c for c in ax.collections if c.get_array() is not None]
    corners = mesh.get_coordinates()
    np.testing.assert_allclose(corners[0, :, 0], [10**-1.5, 10**-0.5, 10**0.5])
    np.testing.assert_allclose(corners[:, 0, 1], [10**-0.5, 10**0.5, 10**1.5])


def test_a_grid_of_penalties_alone_has_a_line(wave):
    model = SVRCV([0.1, 1.0, 10.0], kernel=Gaussian()).fit(*wave)
    display = PathDisplay.from_estimator(model)
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), model.cv_results_["mean_test_score"])
    assert display.ax_.get_ylabel() == "cross-validated R²"
    assert display.ax_.get_yscale() == "linear"


def test_logistic_regression_shows_its_log_losses(moons):
    model = KernelLogisticRegressionCV().fit(*moons)
    display = PathDisplay.from_estimator(model)
    np.testing.assert_allclose(display.errors, model.path_["log_losses"])
    np.testing.assert_allclose(star_of(display.ax_), [model.alpha_, -model.best_score_])
    words = {"leave-one-out": "leave-one-out log-loss", "folds": "cross-validated log-loss"}
    assert display.error_name == words[model.path_["by"]]
    folds = KernelLogisticRegressionCV(cv=3).fit(*moons)
    assert PathDisplay.from_estimator(folds).error_name == "cross-validated log-loss"


def test_the_ridge_classifier_shows_its_errors(moons):
    model = KernelRidgeClassifier().fit(*moons)
    display = PathDisplay.from_estimator(make_pipeline(StandardScaler(), model).fit(*moons))
    assert display.errors.shape == (1, 19)
    assert display.error_name == "leave-one-out RMSE of targets ±1"
    np.testing.assert_allclose(star_of(display.ax_)[1], np.min(display.errors))


def test_a_scoring_of_your_own_is_shown_as_a_score(wave):
    model = KernelRidgeCV(kernel=Gaussian(), length_scales=[0.3, 1.0], scoring="r2").fit(*wave)
    display = PathDisplay.from_estimator(model)
    assert display.larger_is_better
    assert display.ax_.get_ylabel() == "leave-one-out R²"
    assert display.chosen[1] >= np.nanmax(display.errors) - 1e-12


def test_mistakes_are_explained(moons, wave):
    with pytest.raises(ValueError, match="SVC keeps no path; fit KernelRidgeCV"):
        PathDisplay.from_estimator(SVC().fit(*moons))
    display = PathDisplay.from_estimator(KernelRidgeCV(kernel=Gaussian()).fit(*wave))
    with pytest.raises(ValueError, match="kind must be"):
        display.plot(kind="bars")
    with pytest.raises(ValueError, match="several length scales"):
        display.plot(kind="map")
