"""Models of any loss in files: every attribute and every prediction comes back, and functions are asked for."""

import pickle
from functools import cache

import numpy as np
import pytest

import mercer
from mercer import KernelClassifier, KernelQuantileRegressor, KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import CustomLoss, Huber, NormBound, Quantile
from mercer.persist import read_header

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=40)
LABELS = np.array(["a", "b", "c"])[np.digitize(Y, [-0.4, 0.4])]
K = Gaussian(1.3)


def pseudo_huber(y, f):
    return np.sqrt(1 + (y - f) ** 2) - 1


def power(r):
    return r**1.5


CASES = {
    "text": (KernelRegressor("Huber(.3)", kernel=K), Y),
    "loss": (KernelRegressor(Quantile(0.3), kernel=K), Y),
    "several": (KernelRegressor(Huber(0.3), kernel=K, n_centers=9, random_state=0), np.c_[Y, -Y]),
    "default kernel": (KernelRegressor("Poisson"), np.round(np.exp(2 * Y))),
    "custom": (KernelRegressor(CustomLoss(pseudo_huber, name="pseudo-Huber"), kernel=K), Y),
    "bound": (KernelRegressor("Squared", kernel=K, penalty=NormBound(1.0)), Y),
    "function": (KernelRegressor("Squared", kernel=K, penalty=power), Y),
    "hinge": (KernelClassifier("Hinge", kernel=K), Y > 0),
    "rest": (KernelClassifier("SquaredHinge", kernel=K), LABELS),
    "softmax": (KernelClassifier("Softmax", kernel=K), LABELS),
    "quantiles": (KernelQuantileRegressor([0.2, 0.9], kernel=K), Y),
    "quantile": (KernelQuantileRegressor(0.9, kernel=K), Y),
}
FUNCTIONS = {"pseudo_huber": pseudo_huber, "power": power}


@cache
def fitted(name):
    model, y = CASES[name]
    return model.fit(X, y)


def answers(model):
    names = ("predict", "decision_function", "predict_proba")
    return {name: getattr(model, name)(X.copy()) for name in names if hasattr(model, name)}


@pytest.mark.parametrize("name", CASES)
def test_a_file_keeps_attributes_and_predictions_bit_for_bit(name, tmp_path):
    model, path = fitted(name), tmp_path / "model.mercer"
    mercer.save(model, path)
    needed = {note["name"] for note in read_header(path)["functions"]}
    assert needed == {"custom": {"pseudo_huber"}, "function": {"power"}}.get(name, set())
    again = mercer.load(path, functions={each: FUNCTIONS[each] for each in needed})
    for key, found in answers(again).items():
        np.testing.assert_array_equal(found, answers(model)[key])
    assert vars(again).keys() == vars(model).keys()
    assert again.loss_ == model.loss_
    for attribute in ("objective_", "duality_gap_", "multiplier_", "converged_", "n_iter_", "plan_", "intercept_"):
        np.testing.assert_equal(getattr(again, attribute), getattr(model, attribute))
    assert (again.objective_.loss, again.objective_.penalty) == (model.objective_.loss, model.objective_.penalty)
    assert repr(again.get_params()) == repr(model.get_params())
    assert again.fit(X, CASES[name][1]).converged_


@pytest.mark.parametrize("name", CASES)
def test_pickle_keeps_predictions(name):
    again = pickle.loads(pickle.dumps(fitted(name)))
    for key, found in answers(again).items():
        np.testing.assert_array_equal(found, answers(fitted(name))[key])


@pytest.mark.parametrize("name", ["text", "softmax", "quantiles"])
def test_skops_keeps_predictions(name):
    skops = pytest.importorskip("skops.io")
    data = skops.dumps(fitted(name))
    again = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    np.testing.assert_array_equal(again.predict(X.copy()), fitted(name).predict(X.copy()))


def test_functions_that_are_not_given_are_asked_for(tmp_path):
    for name, function in (("custom", "pseudo_huber"), ("function", "power")):
        mercer.save(fitted(name), tmp_path / name)
        with pytest.raises(mercer.ModelFileError, match=f"function.*{function}"):
            mercer.load(tmp_path / name)
