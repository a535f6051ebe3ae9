"""Kernels, losses and estimators that are not mercer's are in files by name, and come back if classes are given."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import mercer
from mercer import ModelFileError
from mercer.features.params import KernelParams
from mercer.kernels import Gaussian, Kernel
from mercer.losses import CustomLoss, Huber
from mercer.losses.penalty import NormBound
from mercer.losses.residual import ResidualLoss
from mercer.losses.text import find_losses

X = np.random.default_rng(0).normal(size=(20, 2))


class Cauchy(Kernel):
    """k(x, z) = 1 / (1 + ‖x − z‖²/σ²)."""

    length_scale: float = 1.0

    def formula(self, pair):
        return 1.0 / (1.0 + pair.squared_distance("length_scale"))


class Mean(KernelParams, BaseEstimator):
    """The mean value of a kernel with all training points."""

    points_: np.ndarray

    def __init__(self, kernel=None):
        self.kernel = kernel

    def fit(self, X, y=None):
        self.points_ = np.asarray(X)
        return self

    def predict(self, X):
        return self.kernel(X, self.points_).mean(axis=1)


def test_a_kernel_of_ones_own_comes_back_in_a_model_and_in_compositions(tmp_path):
    model = mercer.KernelRidge(0.1, kernel=2.0 * Cauchy(0.7) + Gaussian()).fit(X, X[:, 0])
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model", kernels=[Cauchy])
    assert again.kernel_ == model.kernel_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_an_estimator_of_ones_own_comes_back_with_what_its_class_annotates(tmp_path):
    model = Mean(Cauchy(2.0)).fit(X)
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model", kernels=[Cauchy], estimators=[Mean])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


class Fourth(ResidualLoss):
    """(y − f)⁴."""

    def of(self, r):
        return r**4


def cubes(y, f):
    return np.abs(y - f) ** 3


def test_losses_come_back_and_functions_of_ones_own_are_given_to_load(tmp_path):
    mercer.save(Huber(1.5), tmp_path / "huber")
    assert mercer.load(tmp_path / "huber") == Huber(1.5)
    own = CustomLoss(cubes, name="cubes")
    mercer.save(own, tmp_path / "cubes")
    with pytest.raises(ModelFileError, match=r"'cubes', which was .*cubes at value"):
        mercer.load(tmp_path / "cubes")
    again = mercer.load(tmp_path / "cubes", functions={"cubes": cubes})
    assert again == own
    np.testing.assert_array_equal(again.slope(X[:, 0], X[:, 1]), own.slope(X[:, 0], X[:, 1]))
    mercer.save(Fourth(), tmp_path / "fourth")
    with pytest.raises(ModelFileError, match=r"losses=\[Fourth\]"):
        mercer.load(tmp_path / "fourth")
    assert mercer.load(tmp_path / "fourth", losses=[Fourth]) == Fourth()


def test_every_loss_is_in_the_table(tmp_path):
    for name, cls in find_losses().items():
        mercer.save(cls(), tmp_path / name)
        assert mercer.load(tmp_path / name) == cls()


def test_penalties_and_losses_of_ones_own_come_back_in_a_model(tmp_path):
    model = mercer.KernelRegressor(CustomLoss(cubes), kernel=Gaussian(), penalty=NormBound(2.0)).fit(X, X[:, 0])
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model", functions={"cubes": cubes})
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_class_that_is_not_given_is_asked_for_by_name(tmp_path):
    mercer.save(Cauchy(), tmp_path / "kernel")
    with pytest.raises(ModelFileError, match=r"of the class Cauchy, which is not mercer's.*kernels=\[Cauchy\]"):
        mercer.load(tmp_path / "kernel")
    with pytest.raises(TypeError, match="is neither"):
        mercer.load(tmp_path / "kernel", kernels=[dict])
    # The name of one of ours is no way to it.
    with pytest.raises(ModelFileError, match="not mercer's"):
        mercer.load(tmp_path / "kernel", kernels=[type("Gaussian", (Cauchy,), {})])
