"""A report is plain data."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mercer.auto import Candidate, Column, HeldOut, Report, Score


@pytest.fixture
def report():
    return Report(
        task="classification",
        target="risk",
        n_rows=10,
        n_train=8,
        n_test=2,
        columns=(Column("age", "numeric", "standardised", 0, 9),),
        candidates=(Candidate("ridge", "Gaussian()", 0.5, 0.1, True),),
        metric="accuracy",
        scores=(Score("mercer SVC", {"accuracy": 0.5, "log-loss": 0.7}, 0.1),),
        model="SVC",
        kernel="Gaussian()",
        plan="SMO",
        certificate="Proved",
        advice=("more rows",),
        seconds=0.2,
        held_out=HeldOut(np.array(["a", "b"]), np.array(["a", "a"]), np.array([[0.9, 0.1], [0.6, 0.4]])),
    )


def test_a_report_goes_through_json(report):
    found = json.loads(json.dumps(report.to_dict()))
    assert found["held_out"] == {
        "truth": ["a", "b"],
        "prediction": ["a", "a"],
        "probabilities": [[0.9, 0.1], [0.6, 0.4]],
    }
    assert found["columns"] == [
        {"name": "age", "kind": "numeric", "treatment": "standardised", "missing": 0, "distinct": 9}
        | {"stray": [], "n_stray": 0}
    ]
    assert found["candidates"][0]["chosen"] is True
    assert found["advice"] == ["more rows"]


def test_reports_cannot_be_changed(report):
    with pytest.raises(AttributeError):
        report.metric = "RMSE"


def test_which_way_is_better_depends_on_the_metric(report):
    assert not report.lower_is_better
