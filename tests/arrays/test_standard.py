"""Arrays of other libraries become NumPy's inside, and NumPy's become theirs outside."""

import array_api_strict as strict
import numpy as np
import pytest

import mercer
from mercer.arrays.standard import ArrayKind, bring_home, is_foreign, model_here, send_attributes
from mercer.kernels import Gaussian
from mercer.models import SVC, KernelRidge, ParzenDensity

DEVICES = [strict.Device("CPU_DEVICE"), strict.Device("device1")]
VALUES = [np.arange(6.0).reshape(2, 3), np.arange(3, dtype=np.int32), np.array([True, False]), np.float32([1.5])]


@pytest.mark.parametrize("device", DEVICES, ids=str)
@pytest.mark.parametrize("values", VALUES, ids=lambda values: str(values.dtype))
def test_arrays_come_back_as_they_went(values, device):
    kind = ArrayKind.of(strict.asarray([0.0], device=device))
    there = kind.give(values.T)  # also what is not contiguous
    assert is_foreign(there)
    assert ArrayKind.of(there) == kind
    back = bring_home(there)
    assert back.dtype == values.dtype
    np.testing.assert_array_equal(back, values.T)


def test_what_has_no_place_in_other_libraries_stays():
    kind = ArrayKind.of(strict.asarray([0.0]))
    labels = np.array(["a", "b"])
    assert kind.give(labels) is labels
    assert kind.give(None) is None
    both = kind.give((labels, np.zeros(2)))
    assert both[0] is labels
    assert is_foreign(both[1])


def test_arrays_that_may_not_be_written_are_copied():
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    np.testing.assert_array_equal(bring_home(ArrayKind.of(strict.asarray([0.0])).give(fixed)), fixed)


def test_without_dispatch_arrays_of_the_standard_are_read_as_arrays():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30.0)
    model = KernelRidge(kernel=Gaussian()).fit(X, y)
    assert isinstance(model.predict(strict.asarray(X)), np.ndarray)


def test_a_model_whose_attributes_are_seen_elsewhere_is_the_same_model(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = X[:, 0] > 0
    model = SVC(tol=1e-6).fit(X, y)
    before = model.decision_function(X), model.alpha_, model.dual_coef_
    send_attributes(model, ArrayKind.of(strict.asarray([0.0])))
    assert is_foreign(model.dual_coef_)
    assert is_foreign(model.alpha_)  # a property
    assert model_here(model).dual_coef_ is before[2]
    np.testing.assert_array_equal(model.decision_function(X), before[0])
    np.testing.assert_array_equal(bring_home(model.alpha_), before[1])
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.dual_coef_, before[2])
    np.testing.assert_array_equal(again.decision_function(X), before[0])
    assert isinstance(model.fit(X, y).dual_coef_, np.ndarray)


def test_a_method_without_points_answers_in_the_kind_of_the_fit():
    model = ParzenDensity(length_scale=1.0).fit(np.random.default_rng(0).normal(size=(20, 2)))
    expected = model.sample(3, random_state=0)
    send_attributes(model, ArrayKind.of(strict.asarray([0.0])))
    np.testing.assert_array_equal(bring_home(model.sample(3, random_state=0)), expected)
