"""Estimators look at where data lives, and otherwise stay as they are."""

import inspect

import numpy as np
import pytest

from mercer.estimators.engine import lives_elsewhere
from mercer.kernels import Gaussian
from mercer.models import SVC, KernelRidge, KernelRidgeCV


@pytest.mark.parametrize("estimator", [KernelRidge, KernelRidgeCV, SVC])
def test_a_hook_leaves_the_signature_alone(estimator):
    own = ["checkpoint"] if estimator is KernelRidge else []
    assert list(inspect.signature(estimator.fit).parameters) == ["self", "X", "y", "sample_weight", *own]
    assert "client" not in str(KernelRidge().get_metadata_routing())


def test_only_collections_of_dask_live_elsewhere():
    da = pytest.importorskip("dask.array")
    assert lives_elsewhere(da.zeros(3))
    for data in (np.zeros(3), [1.0], None, "dask"):
        assert not lives_elsewhere(data)


def test_the_number_of_centres_is_a_wish_for_a_nystroem_model():
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = KernelRidge(0.1, kernel=Gaussian(), n_centers=7, random_state=0).fit(X, X[:, 0])
    assert model.plan_.solver == "nystroem"
    assert "7 centres were asked for" in model.plan_.reason
    assert len(model.dual_coef_) == 7
    again = KernelRidge(0.1, kernel=Gaussian(), solver="nystroem", n_centers=7, random_state=0).fit(X, X[:, 0])
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)
    assert len(KernelRidge(0.1, kernel=Gaussian(), solver="cholesky", n_centers=7).fit(X, X[:, 0]).dual_coef_) == 80


def test_a_ridge_fit_tells_callbacks_that_it_begins_and_ends():
    heard = []

    class Listener:
        def setup(self, estimator, context):
            heard.append("setup")

        def teardown(self, estimator, context):
            heard.append("teardown")

        def on_fit_task_begin(self, *args, **kwargs):
            heard.append("begin")

        def on_fit_task_end(self, *args, **kwargs):
            heard.append("end")

    KernelRidge().set_callbacks(Listener()).fit([[1.0], [2.0]], [1.0, 2.0])
    assert heard == ["setup", "begin", "end", "teardown"]
