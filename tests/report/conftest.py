import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from mercer import KernelLogisticRegressionCV, KernelRidgeCV
from mercer.auto.figures import Dependence, Distribution
from mercer.auto.report import Candidate, Column, HeldOut, Importance, Report, RivalComparison, Score
from mercer.kernels import Gaussian

VOID = {"meta", "link", "br", "hr", "img", "line", "rect", "circle", "path", "polyline"}


class Outline(HTMLParser):
    """What a page is made of; raises if elements do not nest."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.headings, self.texts, self._heading = [], [], [], [], False
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open and self.open[-1] in ("h1", "h2"):
            self.headings.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def rows_of(page, label):
    """Return the cells of the table with a label."""
    inner = re.search(rf'aria-label="{label}".*?<tbody>(.*?)</tbody>', page, re.DOTALL)[1]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in re.findall(r"<tr.*?</tr>", inner)]
    return [[html.unescape(re.sub("<title>.*?</title>|<[^>]*>", "", cell)) for cell in row] for row in cells]


EVIL = "<script>alert('x')</script>\x00\"&"


@pytest.fixture
def regression():
    """Return what a fitted AutoRegressor shows of itself, with names that try to be code."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    model = KernelRidgeCV(kernel=Gaussian(), length_scales=[1.0, 3.0]).fit(X, y)
    columns = (
        Column(EVIL, "numeric", "standardised", 3, 80),
        Column("a_very_long_name_" * 12, "categorical", "3 categories, as indicators of 0 and 1", 0, 3),
        Column("notes", "ignored", f"left out: {EVIL}", 80, 0),
    )
    long = "Matern(nu=2.5, length_scale=[" + ", ".join(f"{i}.25" for i in range(60)) + "])"
    candidates = (
        Candidate("ridge", long, 0.12, 3.0, chosen=True),
        Candidate(EVIL, "Gaussian(length_scale=1.0)", 0.3, 0.4, chosen=False, note=EVIL),
    )
    scores = (
        Score("mercer KernelRidgeCV", {"RMSE": 0.11, "R²": 0.98}, 4.0),
        Score("mean", {"RMSE": 1.02, "R²": -0.01}, 0.0),
        Score("HistGradientBoosting", {"RMSE": 0.22, "R²": 0.95}, 0.5),
    )
    report = Report(
        "regression", f"price {EVIL}", 100, 80, 20, columns, candidates, "RMSE", scores, "KernelRidgeCV", long,
        "spectral, because all penalties come from one decomposition", f"Proved: this is a kernel.\n  {long}",
        (f"More rows would help. {EVIL}",), 7.5, HeldOut(y[:20], y[:20] + 0.1 * rng.normal(size=20)),
    )  # fmt: skip
    return SimpleNamespace(report_=report, model_=model)


@pytest.fixture(scope="session")
def three_classes():
    rng = np.random.default_rng(1)
    X, codes = rng.normal(size=(90, 2)), np.repeat([0, 1, 2], 30)
    X[np.arange(90), codes % 2] += 3.0 * (codes - 1)
    return KernelLogisticRegressionCV(cv=3).fit(X, codes)


@pytest.fixture
def classification(three_classes):
    """Return what a fitted AutoClassifier shows of itself."""
    labels, codes = np.array(["good", "bad", EVIL]), np.repeat([0, 1, 2], 30)
    model = three_classes
    chances = model.predict_proba(model.X_fit_)
    held = HeldOut(labels[codes], labels[chances.argmax(axis=1)], chances)
    scores = (
        Score("majority", {"accuracy": 0.33, "log-loss": 1.1}, 0.0),
        Score("HistGradientBoosting", {"accuracy": 0.9, "log-loss": 0.3}, 0.5),
        Score("mercer KernelLogisticRegressionCV", {"accuracy": 0.85, "log-loss": 0.2}, 1.0),
    )
    report = Report(
        "classification", "risk", 180, 90, 90, (), (), "accuracy", scores, "KernelLogisticRegressionCV",
        "Gaussian(length_scale=1.0)", "", "", (), 100.0, held,
        dependences=(
            Dependence(EVIL, (0.0, 1.0, 4.0), ((0.2, 0.3, 0.5), (0.5, 0.5, 0.1), (0.3, 0.2, 0.4)), tuple(labels)),
        ),
        distributions=(Distribution(EVIL, 0.1, (0.2, 0.5, 0.3), (-0.5, 0.5, 2.5, 5.5), summary=(0.0, 1.0, 4.0)),),
        target_distribution=Distribution("risk", 0.0, (0.5, 0.25, 0.125), levels=("good", "bad", EVIL), others=2),
        data=EVIL, when="2026-01-01 12:00 UTC",
    )  # fmt: skip
    return SimpleNamespace(report_=report, model_=model)


@pytest.fixture
def combined(regression):
    """Return a regression with warnings, a combination of models, importances and a comparison."""
    found = regression.report_
    parts = (
        replace(found.candidates[0], weight=0.75),
        Candidate("support vectors", "Gaussian(length_scale=1.0)", 0.2, 0.4, chosen=True, weight=0.25),
        *found.candidates[1:],
    )
    names = [EVIL, "a_very_long_name_" * 12, *(f"column {j}" for j in range(14))]
    importances = tuple(Importance(name, 1.0 / (1 + j) ** 2 - 0.01, 0.02) for j, name in enumerate(names))
    stray = replace(found.columns[0], stray=((3, EVIL),), n_stray=1)
    regression.report_ = replace(
        found, candidates=parts, importances=importances, columns=(stray, *found.columns[1:]),
        comparison=RivalComparison("HistGradientBoosting", 0.11, 0.066, 0.154, 20),
        warnings=(f"Column {EVIL!r} alone gives the target away.", "2 rows left out: " + "a_very_long_name_" * 12),
        dependences=(
            Dependence(EVIL, tuple(float(j) for j in range(20)), (tuple(3.0 + 0.1 * j for j in range(20)),), (), 15),
            Dependence(names[1], ("north", EVIL, "a_very_long_name_" * 12), ((3.5, 4.0, 3.0),), (), 15),
            Dependence("sold", (17000.0, 18000.0, 19000.0), ((3.0, 4.0, 5.0),), (), 15, dates=True),
        ),
        distributions=(
            Distribution(EVIL, 0.03, (0.1, 0.4, 0.5), (0.0, 5.0, 10.0, 30.0), summary=(-1e9, 9.0, 1e9)),
            Distribution(names[1], 0.0, (0.5, 0.3), levels=("north", EVIL), others=7),
        ),
        target_distribution=Distribution("price", 0.0, (0.25, 0.75), (1.0, 2.0, 3.0), summary=(1.0, 2.5, 3.0)),
        data=f"{EVIL}.csv", when="2026-01-01 12:00 UTC",
    )  # fmt: skip
    return regression
