"""Checks of data for estimators: objects are no tables."""

import pytest

from mercer import SVC, KernelRidgeClassifier
from mercer.kernels import SubsetTree

TREES = [("S", ("NP", "x"), "y"), ("S", "y", "z"), ("Q", "x", "y"), ("Q", "z", ("NP", "y"))]


@pytest.mark.parametrize("estimator", [SVC, KernelRidgeClassifier])
@pytest.mark.parametrize("kernel", [SubsetTree(), 2.0 * SubsetTree().normalize() + 1.0], ids=["plain", "composed"])
def test_objects_given_as_tuples_may_have_other_lengths_when_predicting(estimator, kernel):
    model = estimator(kernel=kernel).fit(TREES, [0, 0, 1, 1])
    assert model.predict([("Q", "x", "y"), ("S", "y", "z"), ("Q", "x"), ("S", "z", "y", "z", "x")])[:2].tolist() == [
        1,
        0,
    ]
