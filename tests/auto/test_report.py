"""A report is plain data."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mercer
from mercer.auto import (
    AutoClassifier,
    Candidate,
    Column,
    Dependence,
    Distribution,
    HeldOut,
    Importance,
    Report,
    RivalComparison,
    Score,
)
from mercer.auto.report import ENOUGH


@pytest.fixture
def report():
    return Report(
        task="classification",
        target="risk",
        n_rows=10,
        n_train=8,
        n_test=2,
        columns=(Column("age", "numeric", "standardised", 0, 9, ((4, "old"),), 1),),
        candidates=(Candidate("ridge", "Gaussian()", 0.5, 0.1, True, weight=0.75),),
        metric="accuracy",
        scores=(Score("mercer SVC", {"accuracy": 0.5, "log-loss": 0.7}, 0.1),),
        model="SVC",
        kernel="Gaussian()",
        plan="SMO",
        certificate="Proved",
        advice=("more rows",),
        seconds=0.2,
        held_out=HeldOut(np.array(["a", "b"]), np.array(["a", "a"]), np.array([[0.9, 0.1], [0.6, 0.4]])),
        importances=(Importance("age", 0.2, 0.05),),
        comparison=RivalComparison("boosting", 0.03, -0.01, 0.07, 2),
        warnings=("age gives the target away",),
        dependences=(Dependence("age", (20.0, 40.0), ((0.2, 0.6),), ("b",), 2),),
        distributions=(Distribution("age", 0.1, (0.25, 0.75), (20.0, 30.0, 40.0), summary=(20.0, 33.0, 40.0)),),
        target_distribution=Distribution("risk", 0.0, (0.5, 0.5), levels=("a", "b")),
        data="people.csv",
        when="2026-01-01 12:00 UTC",
    )


def test_a_report_goes_through_json(report):
    found = json.loads(json.dumps(report.to_dict()))
    assert found["held_out"] == {
        "truth": ["a", "b"],
        "prediction": ["a", "a"],
        "probabilities": [[0.9, 0.1], [0.6, 0.4]],
    }
    plain = {"name": "age", "kind": "numeric", "treatment": "standardised", "missing": 0, "distinct": 9}
    assert found["columns"] == [plain | {"stray": [[4, "old"]], "n_stray": 1}]
    assert found["candidates"][0]["chosen"] is True
    assert found["candidates"][0]["weight"] == 0.75
    assert found["advice"] == ["more rows"]
    assert found["importances"] == [{"name": "age", "value": 0.2, "error": 0.05}]
    assert found["comparison"] == {"rival": "boosting", "gain": 0.03, "low": -0.01, "high": 0.07, "rows": 2}
    assert found["warnings"] == ["age gives the target away"]
    assert found["dependences"][0]["values"] == [[0.2, 0.6]]
    assert found["distributions"][0]["edges"] == [20.0, 30.0, 40.0]
    assert found["target_distribution"]["levels"] == ["a", "b"]
    assert (found["data"], found["when"]) == ("people.csv", "2026-01-01 12:00 UTC")
    assert (found["calibration"]["label"], found["calibration"]["counts"]) == ("b", [2])
    assert found["calibration"]["error"] == pytest.approx(0.25)


def test_reports_cannot_be_changed(report):
    with pytest.raises(AttributeError):
        report.metric = "RMSE"


def test_which_way_is_better_depends_on_the_metric(report):
    assert not report.lower_is_better


@pytest.mark.parametrize(("low", "high", "clear"), [(0.1, 0.2, True), (-0.2, -0.1, True), (-0.1, 0.1, False)])
def test_a_difference_is_clear_where_its_interval_has_no_zero(low, high, clear):
    assert RivalComparison("boosting", 0.0, low, high, ENOUGH).is_clear is clear
    assert not RivalComparison("boosting", 0.0, low, high, ENOUGH - 1).is_clear  # too few rows for that


def test_files_keep_a_report(report, tmp_path):
    model = AutoClassifier("ridge", kernel="Gaussian(2.0)", random_state=0).fit(np.arange(12.0)[:, None], [0, 1] * 6)
    model.report_ = report
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer").report_
    assert again.to_dict() == report.to_dict()
    assert again.comparison == report.comparison
    assert again.dependences == report.dependences
    assert again.distributions == report.distributions
