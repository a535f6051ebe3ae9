"""Callbacks hear that a fit ends, also if it fails, and what they say themselves is heard as it is."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import models


class Listener:
    """A callback that counts tasks that are open."""

    max_propagation_depth = 0
    open = begun = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, *args, **kwargs):
        self.open += 1
        self.begun += 1

    def on_fit_task_end(self, *args, **kwargs):
        self.open -= 1


ESTIMATORS = {
    name: kind
    for name, kind in {**vars(models), **vars(mercer)}.items()
    if inspect.isclass(kind) and hasattr(kind, "set_callbacks") and hasattr(kind, "fit")
}


def _what_goes_wrong():
    for name, kind in ESTIMATORS.items():
        for bad in ("data", "targets", "kernel"):
            if bad != "targets" or kind is not models.OneClassSVM:  # which has none
                yield pytest.param(kind(), bad, id=f"{name}-{bad}")


@pytest.mark.parametrize(("model", "bad"), list(_what_goes_wrong()))
def test_a_fit_that_fails_has_ended_for_callbacks(model, bad):
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    if bad == "data":
        X[3] = np.inf
    if bad == "kernel":
        name = "kernel" if "kernel" in model.get_params() else "kernels"
        model = clone(model).set_params(**{name: "no such kernel"})
    heard = Listener()
    y = y[:-1] if bad == "targets" else y
    with pytest.raises((TypeError, ValueError)):
        model.set_callbacks(heard).fit(X, y)
    assert heard.open == 0


class Complainer(Listener):
    """A callback that warns and fails."""

    def __init__(self, hook):
        self.hook, self.error = hook, KeyError("mine")

    def on_fit_task_begin(self, *args, **kwargs):
        self.complain("begin")

    def on_fit_task_end(self, *args, **kwargs):
        self.complain("end")

    def complain(self, hook):
        if hook == self.hook:
            warnings.warn("the callback is not happy", stacklevel=1)
            raise self.error


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("hook", ["begin", "end"])
def test_what_goes_wrong_in_a_callback_points_to_the_callback(name, hook):
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    complainer = Complainer(hook)
    with pytest.warns(UserWarning, match="not happy") as heard, pytest.raises(KeyError) as caught:
        ESTIMATORS[name]().set_callbacks(complainer).fit(X, y)
    assert caught.value is complainer.error
    assert caught.traceback[-1].name == "complain"
    said = [warning for warning in heard if "not happy" in str(warning.message)]
    assert {warning.filename for warning in said} == {__file__}
