"""What every fit leaves: a plan that is a Plan, a gap that is a DualityGap, and nothing that no annotation names."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from mercer import models
from mercer.solvers.evidence import DualityGap
from mercer.solvers.plan import Plan

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
NUMBERS, LABELS = np.sin(X[:, 0]), (X[:, 0] > 0).astype(int)


def annotated(cls):
    return {name for base in cls.__mro__ for name in vars(base).get("__annotations__", {})}


@pytest.mark.parametrize("name", models.__all__)
def test_plans_gaps_and_attributes_are_what_the_class_says(name):
    cls = getattr(models, name)
    model = cls().fit(X, LABELS if is_classifier(cls()) else NUMBERS)
    plan, gap = getattr(model, "plan_", None), getattr(model, "duality_gap_", None)
    assert plan is None or isinstance(plan, Plan)
    assert gap is None or isinstance(gap, DualityGap)
    given = set(model.get_params(deep=False)) | {"n_features_in_"}
    left = {attribute for attribute in vars(model) if not attribute.startswith("_skl")}
    rows = {"_rows", "_examples"}  # that machines keep for intervals and sets, and leave out of their files
    assert left - given - rows <= annotated(cls)
