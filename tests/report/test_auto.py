"""Reports of models that were really fitted."""

import html

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.auto import AutoClassifier, AutoRegressor
from mercer.report import render_report, write_report


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"size": rng.normal(size=60), "place": rng.choice(["north", "south"], 60)})


def test_a_regression_is_reported_and_its_three_lines_run(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target = pd.Series(frame["size"] + (frame["place"] == "north"), name="price")
    model = AutoRegressor("ridge", kernel="Gaussian(2.0)", random_state=0).fit(frame, target)
    mercer.save(model, "price.mercer")
    write_report(model, "report.html", model_path="price.mercer")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "price: regression" in page
    assert "Gaussian(length_scale=2.0)" in page
    lines = html.unescape(page.split("three lines</h2>")[1].split("<code>")[1].split("</code>")[0])
    names = {"table": frame}
    exec(lines, names)
    np.testing.assert_array_equal(names["predictions"], model.predict(frame))
    again = render_report(names["model"], model_path="price.mercer")
    assert again.split("<footer>")[0] == page.split("<footer>")[0]  # a loaded model tells the same


def test_a_classification_is_reported(frame):
    labels = np.where(frame["size"] + (frame["place"] == "north") > 0.5, "yes", "no")
    model = AutoClassifier("ridge", kernel="Gaussian(2.0)", random_state=0).fit(frame, labels)
    page = render_report(model)
    assert "Confusions of classes" in page
    assert "Log-loss " in page
