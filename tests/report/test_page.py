"""The page says everything, escapes everything, and loads nothing."""

import ast
import html
import re
from dataclasses import replace

import numpy as np
import pytest

import mercer
from mercer import SVC, KernelRidge
from mercer.auto.report import HeldOut
from mercer.inspection.eigen import count_degrees
from mercer.kernels import Gaussian
from mercer.report import render_report

from .conftest import Outline, rows_of


def test_a_regression_has_all_its_parts_in_order(regression):
    outline = Outline(render_report(regression, model_path="price.mercer"))
    assert outline.headings[1:] == [
        "Scores", "On rows it has not seen", "Data", "What was tried", "Kernel", "How it was solved",
        "What to try next", "Load it in three lines",
    ]  # fmt: skip
    assert "RMSE 0.11 on 20 held-out rows: 50 % below HistGradientBoosting." in outline.texts
    assert len(outline.all("svg")) == 6  # bars, predictions, errors, path, eigenvalues, degrees of freedom


def test_tables_hold_what_the_report_holds(regression):
    page, report = render_report(regression), regression.report_
    scores = rows_of(page, "Scores on held-out rows")
    assert scores[0] == ["mercer KernelRidgeCV", "0.11", "0.98", "4 s"]
    assert [row[0] for row in scores] == [score.name for score in report.scores]
    columns = rows_of(page, "Columns")
    assert columns[1] == [report.columns[1].name, "categorical", report.columns[1].treatment, "0", "3"]
    tried = rows_of(page, "Models that were tried")
    assert tried[0][:3] == ["ridge (chosen)", "0.12", "3 s"]
    assert report.candidates[0].kernel in tried[0][3]  # the whole formula, behind its beginning


def test_warnings_come_first_and_loud(combined):
    page = render_report(combined)
    outline = Outline(page)
    assert outline.headings[1:3] == ["Look at this first", "Scores"]
    assert {"class": "warning", "role": "alert"} in outline.all("section")
    assert any("alone gives the target away" in words for words in outline.texts)
    assert "1, counted as missing" in outline.texts


def test_a_combination_shows_the_weights_of_its_parts(combined):
    page = render_report(combined)
    tried = rows_of(page, "Models that were tried")
    assert [row[0] for row in tried[:2]] == ["ridge", "support vectors"]
    assert [row[1] for row in tried] == ["→ 75%", "→ 25%", ""]
    assert len(re.findall('<tr class="best">', page.split("Models that were tried")[1])) == 2
    assert "weighted so" in page


def test_importances_are_bars_with_errors(combined):
    page = render_report(combined)
    bars = next(svg for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL) if "Importance of columns" in svg)
    assert bars.count("<rect") == bars.count('class="error"') == 12
    assert "0.99 ± 0.02" in bars
    assert "4 other columns matter less" in page
    lengths = [float(width) for width in re.findall(r'<rect[^>]*width="([\d.]+)"', bars)]
    assert lengths == sorted(lengths, reverse=True)


def test_a_comparison_shows_its_interval(combined):
    texts = Outline(render_report(combined)).texts
    assert "Better than HistGradientBoosting by 50 % in RMSE (90 % interval: 30 to 70 %)." in texts
    unsure = replace(combined.report_.comparison, low=-0.1)
    combined.report_ = replace(combined.report_, comparison=unsure)
    texts = Outline(render_report(combined)).texts
    said = "RMSE 0.11 on 20 held-out rows: no difference from HistGradientBoosting that these rows could show."
    assert said in texts
    assert any(words.startswith("No difference from HistGradientBoosting that these 20 rows") for words in texts)


def test_the_page_names_the_data_its_size_and_when_it_was_fitted(combined):
    combined.report_ = replace(combined.report_, data="houses.csv")
    outline = Outline(render_report(combined))
    assert "Data: houses.csv, 100 rows, 3 columns." in outline.texts
    assert any(words.endswith("fitted in 7.5 s, 2026-01-01 12:00 UTC.") for words in outline.texts)
    assert outline.headings[0].startswith("price")
    page = render_report(combined, data="other.csv")
    assert "<title>other.csv, price" in page
    assert "houses.csv" not in page


def test_two_rows_held_out_show_no_gain_no_importance_and_say_why(combined):
    compared = replace(combined.report_.comparison, rows=2)
    combined.report_ = replace(combined.report_, n_test=2, comparison=compared, dependences=())
    outline = Outline(render_report(combined))
    said = " ".join(outline.texts)
    assert "RMSE 0.11 on 2 held-out rows: no difference from HistGradientBoosting that these rows could show." in said
    assert "2 rows held out cannot tell whether HistGradientBoosting is better." in said
    assert "2 rows held out cannot tell which columns matter." in said
    assert not any(words in said for words in ("interval", "% below", "% above", "better here"))
    assert not any("Importance of columns" in svg["aria-label"] for svg in outline.all("svg"))


def test_reliability_shows_counts_intervals_and_the_error(classification):
    page, found = render_report(classification), classification.report_.calibration
    picture = next(svg for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL) if "Reliability" in svg)
    assert picture.count('class="span"') == len(found.counts)
    assert f"({found.low[0]:.2f} to {found.high[0]:.2f}) of {found.counts[0]} rows" in picture
    assert f"in {len(found.counts)} groups of" in page
    few = HeldOut(
        *(getattr(classification.report_.held_out, name)[:2] for name in ("truth", "prediction", "probabilities"))
    )
    classification.report_ = replace(classification.report_, held_out=few)
    page = render_report(classification)
    assert "2 rows held out cannot tell whether probabilities are true." in page
    assert "Reliability" not in page


@pytest.mark.parametrize("kind", ["regression", "classification", "combined"])
def test_what_comes_from_the_data_is_escaped(kind, request):
    page = render_report(request.getfixturevalue(kind), model_path='a "quoted" <name>.mercer')
    outline = Outline(page)
    assert not outline.all("script")
    assert "<script" not in page
    assert "\x00" not in page
    assert any("<script>alert('x')</script>�\"&" in words for words in outline.texts)
    assert all(not key.startswith("on") for _, attributes in outline.tags for key in attributes)


@pytest.mark.parametrize("kind", ["regression", "classification", "combined"])
def test_the_page_loads_nothing_and_runs_nothing(kind, request):
    page = render_report(request.getfixturevalue(kind))
    outline = Outline(page)
    links = [attributes[key] for _, attributes in outline.tags for key in ("src", "href") if key in attributes]
    assert links == ["data:,"]
    assert "url(" not in page
    assert "@import" not in page
    assert re.findall(r"https?://[^\s\"<]+", page) == ["http://www.w3.org/2000/svg"] * len(outline.all("svg"))
    policy = next(a["content"] for a in outline.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")


@pytest.mark.parametrize("kind", ["regression", "classification", "combined"])
def test_every_picture_is_described_and_every_table_scrolls(kind, request):
    outline = Outline(render_report(request.getfixturevalue(kind)))
    assert all(len(attributes["aria-label"]) > 20 for attributes in outline.all("svg"))
    assert all(attributes["role"] == "img" for attributes in outline.all("svg"))
    scrolling = [attributes for attributes in outline.all("div") if attributes.get("class") == "scroll"]
    assert len(scrolling) == len(outline.all("table")) > 0
    assert outline.all("html") == [{"lang": "en"}]
    assert "width=device-width" in next(a["content"] for a in outline.all("meta") if a.get("name") == "viewport")


def test_both_colour_schemes_and_paper_are_there(regression):
    page = render_report(regression)
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


@pytest.mark.parametrize("path", ["model.mercer", "C:\\models\\new.mercer", 'it\'s "here".mercer'])
def test_three_lines_load_the_model(path, regression):
    page = render_report(regression, model_path=path)
    lines = html.unescape(re.search(r"three lines</h2><pre[^>]*><code>(.*?)</code>", page, re.DOTALL)[1])
    assert len(lines.splitlines()) == 3
    call = ast.parse(lines).body[1].value
    assert ast.unparse(call.func) == "mercer.load"
    assert call.args[0].value == path


def test_a_model_without_a_file_is_to_be_saved_first(regression):
    assert "mercer.save(model, 'model.mercer')" in html.unescape(render_report(regression))


def test_confusions_are_counted(classification):
    held = classification.report_.held_out
    table = rows_of(render_report(classification), "Confusions of classes")
    labels = [row[0].replace("�", "\x00") for row in table]
    for row, label in zip(table, labels, strict=True):
        for cell, other in zip(row[1:], labels, strict=True):
            assert int(cell) == np.sum((held.truth == label) & (held.prediction == other))


def test_classes_that_are_numbers_are_in_their_order(classification):
    truth = np.array([10, 2, 1, 2])
    classification.report_ = replace(classification.report_, held_out=HeldOut(truth, truth, None))
    table = rows_of(render_report(classification), "Confusions of classes")
    assert table == [["1", "1", "0", "0"], ["2", "0", "2", "0"], ["10", "0", "0", "1"]]


def test_of_many_classes_the_most_frequent_are_shown(classification):
    truth = np.concatenate([np.full(3, i) for i in range(20)] + [[20], [21]])
    held = HeldOut(truth, truth, None)
    classification.report_ = replace(classification.report_, held_out=held)
    page = render_report(classification)
    assert len(rows_of(page, "Confusions of classes")) == 20
    assert "The 20 most frequent of 22 classes are shown." in page
    assert "Reliability" not in page  # there are no probabilities


def test_reliability_of_a_model_that_is_always_sure_and_right(classification):
    truth = np.repeat(["a", "b"], 50)
    chances = np.eye(2)[np.repeat([0, 1], 50)]
    classification.report_ = replace(classification.report_, held_out=HeldOut(truth, truth, chances))
    assert "mean gap is 0." in render_report(classification)


def test_degrees_of_freedom_are_those_of_the_model(regression):
    ridge = regression.model_.ridge_
    values = np.linalg.eigvalsh(ridge.kernel_(ridge.X_fit_))
    (expected,) = count_degrees(values, np.array([ridge.alpha]))
    shown = re.search(r"The penalty leaves (\S+) effective degrees of freedom", render_report(regression))[1]
    assert float(shown) == pytest.approx(expected, rel=0.02)


def test_models_without_a_path_or_points_leave_those_pictures_out(regression):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    regression.model_ = KernelRidge(0.1, kernel=Gaussian()).fit(X, y)
    page = render_report(regression)
    assert "Eigenvalues" in page
    assert "How the penalty was chosen" not in page
    regression.model_ = SVC().fit(X, y > 0)
    assert "Eigenvalues" not in render_report(regression)


def test_a_report_without_held_out_rows_says_so(regression):
    regression.report_ = replace(regression.report_, scores=(), held_out=None, candidates=(), advice=(), n_test=0)
    outline = Outline(render_report(regression))
    assert outline.headings[1:] == ["Data", "Kernel", "How it was solved", "Load it in three lines"]
    assert "Fitted to 100 rows; none were held out, so there is no score." in outline.texts


def test_predictions_that_are_not_finite_or_all_equal_do_not_break_the_page(regression):
    for truth, prediction in (([1.0, 1.0], [1.0, 1.0]), ([np.nan], [np.inf]), ([5.0], [5.0])):
        held = HeldOut(np.array(truth), np.array(prediction))
        regression.report_ = replace(regression.report_, held_out=held)
        page = render_report(regression)
        assert "nan" not in page
        Outline(page)


def test_versions_and_time_are_in_the_foot(regression):
    page = render_report(regression)
    assert f"mercer {mercer.__version__}" in page
    assert "Fitted in 7.5 s." in page
    assert re.search(r'<time datetime="\d{4}-\d\d-\d\dT\d\d:\d\dZ">', page)


def test_other_models_are_refused():
    with pytest.raises(TypeError, match="fitted AutoRegressor or AutoClassifier, which has report_; got SVC"):
        render_report(SVC())


def test_a_kernel_of_many_numbers_is_counted_before_it_is_unfolded(combined):
    page = render_report(combined)
    summaries = re.findall(r"<summary>(.*?)</summary>", page)
    assert "Matern(nu=2.5, [60 values])" in summaries
    assert combined.report_.kernel in page
    assert "Of the heaviest part, ridge; so is how it was solved, below." in page


def test_degrees_of_freedom_are_only_those_of_least_squares(classification):
    assert "degrees of freedom" not in render_report(classification)
