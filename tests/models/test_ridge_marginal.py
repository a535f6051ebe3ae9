"""KernelRidgeCV by the marginal likelihood: kernel, size and noise of the process that the targets come from."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp

import mercer
from mercer.kernels import Gaussian, Matern
from mercer.models.ridge_cv import KernelRidgeCV


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.uniform(-4.0, 4.0, size=(150, 2))
    y = 3.0 * np.sin(1.5 * X[:, 0]) + 0.3 * rng.normal(size=150)  # the second feature is noise
    return X, y


@pytest.fixture(scope="module")
def model(data):
    kernel = Gaussian([1.0, 1.0])
    return KernelRidgeCV(
        kernel=kernel, length_scales="auto", criterion="marginal", fit_intercept=False, random_state=0
    ).fit(*data)


def test_it_reaches_the_likelihood_that_scikit_learn_reaches(data, model):
    X, y = data
    bounds = (1e-3, 1e5)
    kernel = gp.ConstantKernel(1.0, bounds) * gp.RBF([1.0, 1.0], bounds) + gp.WhiteKernel(1.0, (1e-6, 1e3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the length scale of the feature that does not matter reaches its bound
        theirs = GaussianProcessRegressor(kernel, alpha=1e-12).fit(X, y)
    assert model.log_marginal_likelihood_ > theirs.log_marginal_likelihood_value_ - 0.01
    assert model.alpha_ == pytest.approx(0.3**2, rel=0.3)  # the noise, in the unit of the targets
    near, far = model.kernel_.kernel.length_scale
    assert far > 5.0 * near


def test_the_score_is_the_likelihood_of_each_point_and_the_size_its_best(data, model):
    assert 150 * model.best_score_ == pytest.approx(model.log_marginal_likelihood_)
    assert model.path_["errors"].min() >= -model.best_score_ - 1e-9
    # Size and noise together: the likelihood does not grow when both are multiplied.
    _, gradient = model.log_marginal_likelihood(eval_gradient=True)
    names = list(model.kernel_.hyperparameters())
    assert gradient[names.index("weight")] + gradient[-1] == pytest.approx(0.0, abs=1e-6)
    assert np.abs(gradient).max() < 0.5


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_the_targets_only_scale_the_kernel_and_the_noise(data, scale):
    X, y = data
    one, two = (
        KernelRidgeCV(kernel=[Gaussian(1.0), Matern(1.5, 2.0)], criterion="marginal").fit(X, factor * y)
        for factor in (1.0, scale)
    )
    assert two.alpha_ == pytest.approx(scale**2 * one.alpha_)
    np.testing.assert_allclose(two.predict(X[:5], return_std=True)[1], scale * one.predict(X[:5], return_std=True)[1])
    assert two.best_score_ == pytest.approx(one.best_score_ - np.log(scale))
    assert 149 * two.best_score_ == pytest.approx(two.log_marginal_likelihood_)


def test_several_targets_share_the_size_and_the_noise(data):
    X, y = data
    Y = np.column_stack([y, 2.0 * y])
    model = KernelRidgeCV(kernel=Gaussian(1.0), criterion="marginal").fit(X, Y)
    assert 2 * 149 * model.best_score_ == pytest.approx(model.log_marginal_likelihood_)


def test_deviations_are_as_wide_as_the_errors(data):
    X, y = data
    rng = np.random.default_rng(9)
    model = KernelRidgeCV(criterion="marginal", random_state=0).fit(X, y)
    Z = rng.uniform(-4.0, 4.0, size=(400, 2))
    seen = 3.0 * np.sin(1.5 * Z[:, 0]) + 0.3 * rng.normal(size=400)
    mean, std = model.predict(Z, return_std=True)
    z = (seen - mean) / np.sqrt(std**2 + model.alpha_)
    assert 0.8 < z.std() < 1.25


def test_what_has_no_meaning_for_a_likelihood_is_refused(data):
    X, y = data
    for options, message in (
        ({"criterion": "bayes"}, "'loo' or 'marginal', got 'bayes'"),
        ({"criterion": "marginal", "cv": 3}, "leave out cv and scoring"),
        ({"criterion": "marginal", "scoring": "r2"}, "leave out cv and scoring"),
        ({"criterion": "marginal", "kernel": "precomputed"}, "Precomputed"),
    ):
        with pytest.raises(ValueError, match=message):
            KernelRidgeCV(**options).fit(X @ X.T if "kernel" in options else X, y)


def test_a_saved_model_knows_as_much(data, model, tmp_path):
    X, _ = data
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_allclose(loaded.predict(X[:4], return_std=True)[1], model.predict(X[:4], return_std=True)[1])
    assert loaded.criterion == "marginal"
