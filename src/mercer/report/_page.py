"""The page: what a fitted automatic model has to say, from the result to the lines that load it."""

from __future__ import annotations

import math
import os
import platform
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from string import Template

import numpy
import scipy
import sklearn
from sklearn.base import BaseEstimator

import mercer
from mercer.auto.judging.comparison import write_comparison
from mercer.auto.report import Report, Score
from mercer.files import check_free, replacing
from mercer.words import count_things, round_number, shorten, shorten_formula, show_duration

from . import _columns as columns
from . import _figures as pictures
from ._html import Markup, code, facts, section, side_by_side, table, tag, text
from ._style import CSS
from ._words import find_own_score, write_headline

SHORT, MIDDLE = 80, 200  # letters of a formula that is shown as it is, and of one that was shortened

# Nothing may be loaded and nothing may run: what the page shows is all there is.
PAGE = Template(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="generator" content="mercer $version">
<link rel="icon" href="data:,">
<title>$title</title>
<style>$css</style>
</head>
<body>
<main>
$body
</main>
</body>
</html>
"""
)


def render_report(
    model: BaseEstimator, *, model_path: str | os.PathLike[str] | None = None, data: str | None = None
) -> str:
    """Return the report of a fitted automatic model as one HTML page that loads nothing and runs nothing.

    Parameters
    ----------
    model : AutoRegressor or AutoClassifier
        The fitted model.
    model_path : str or path, optional
        The file it was saved to, for the lines that load it.
    data : str, optional
        The name of the data, such as that of the file; that of the report if not given.

    Returns
    -------
    str

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from mercer.auto.report import Report
    >>> nothing = ((), (), "RMSE", (), "KernelRidgeCV", "Gaussian()", "", "", (), 1.0, None)
    >>> found = Report("regression", "price", 50, 50, 0, *nothing)
    >>> page = render_report(SimpleNamespace(report_=found, model_=None), model_path="price.mercer")
    >>> "model = mercer.load(&#x27;price.mercer&#x27;)" in page
    True
    """
    report = getattr(model, "report_", None)
    if not isinstance(report, Report):
        raise TypeError(
            f"a report is drawn from a fitted AutoRegressor or AutoClassifier, which has report_; got "
            f"{type(model).__name__}. Fit one first."
        )
    data = report.data if data is None else data
    heading = f"{report.target}: {report.task}"
    title = f"{data}, {heading}" if data else heading
    body = "\n".join(
        part
        for part in (
            _write_top(report, heading, data),
            _write_warnings(report),
            _write_scores(report),
            _write_held_out(report),
            _write_importances(report),
            _write_dependences(report),
            _write_data(report),
            _write_candidates(report),
            _write_kernel(report),
            _write_solution(report, getattr(model, "model_", None)),
            _write_advice(report),
            _write_loading(report, model_path),
            _write_versions(report),
        )
        if part
    )
    return PAGE.substitute(version=text(mercer.__version__), title=text(title), css=CSS, body=body)


def write_report(
    model: BaseEstimator,
    path: str | os.PathLike[str],
    *,
    model_path: str | os.PathLike[str] | None = None,
    data: str | None = None,
    overwrite: bool = False,
) -> None:
    """Write the report of a fitted automatic model to one HTML file, complete or not at all.

    Parameters
    ----------
    model : AutoRegressor or AutoClassifier
        The fitted model.
    path : str or path
        The file, for example "report.html".
    model_path : str or path, optional
        The file the model was saved to, for the lines that load it.
    data : str, optional
        The name of the data, such as that of the file; that of the report if not given.
    overwrite : bool, default=False
        Whether a file that is already there is replaced.

    Raises
    ------
    FileExistsError
        If the file is there and ``overwrite`` is False.
    """
    target = Path(os.path.realpath(path))  # so that a link stays a link
    check_free(target, overwrite)
    page = render_report(model, model_path=model_path, data=data).encode()
    with replacing(target, lambda: check_free(target, overwrite)) as temporary:
        temporary.write_bytes(page)


def _write_top(report: Report, heading: str, data: str) -> Markup:
    size = f"{count_things(report.n_rows, 'row')}, {count_things(len(report.columns), 'column')}"
    about = f"Data: {data or 'a table'}, {size}."
    when = f", {report.when}" if report.when else ""
    what = f"{report.model}, chosen and fitted in {show_duration(report.seconds)}{when}."
    return Markup(
        tag("h1", heading)
        + tag("p", write_headline(report), class_="lead")
        + tag("p", about)
        + tag("p", what, class_="soft")
    )


def _write_warnings(report: Report) -> Markup:
    if not report.warnings:
        return Markup("")
    listed = tag("ul", *(tag("li", sentence) for sentence in report.warnings))
    return tag("section", tag("h2", "Look at this first"), listed, class_="warning", role="alert")


def _write_scores(report: Report) -> Markup:
    if not report.scores:
        return Markup("")
    metrics = list(dict.fromkeys([report.metric, *(name for score in report.scores for name in score.values)]))
    rows = [
        [
            score.name,
            *(_show_score(score, m, report.metric) for m in metrics),
            show_duration(score.seconds),
        ]
        for score in report.scores
    ]
    own = next(i for i, score in enumerate(report.scores) if score is find_own_score(report))
    headings = ["model", *metrics, "time"]
    listed = table("Scores on held-out rows", headings, rows, numbers=range(1, len(headings)), best=[own])
    compared = write_comparison(report)
    words = tag("p", compared) if compared else Markup("")
    return section("Scores", words, side_by_side(pictures.draw_scores(report), listed))


def _show_score(score: Score, metric: str, main: str) -> str:
    """Return a score, with its standard error if it is the one that decides."""
    if metric not in score.values:
        return "–"
    error = f" ± {round_number(score.error)}" if metric == main and math.isfinite(score.error) else ""
    return round_number(score.values[metric]) + error


def _write_held_out(report: Report) -> Markup:
    found = report.held_out
    if found is None or not len(found.truth):
        return Markup("")
    if report.task == "regression":
        parts = pictures.draw_predictions(found, report.target), pictures.draw_errors(found)
    else:
        parts = pictures.draw_confusion(found), pictures.draw_reliability(report.calibration)
    return section("On rows it has not seen", side_by_side(*parts))


def _write_importances(report: Report) -> Markup:
    if not report.importances:
        return Markup("")
    note = (
        f"By how much {report.metric} gets worse when the values of a column are dealt out anew among the rows held "
        "out, with its standard error. Columns that say the same share what they are worth."
    )
    return section("Which columns matter", tag("p", note, class_="soft"), columns.draw_importances(report))


def _write_dependences(report: Report) -> Markup:
    if not report.dependences:
        return Markup("")
    rows = count_things(report.dependences[0].rows, "held-out row")
    note = (
        f"The mean prediction for {rows} if all had the same value in a column and kept their others. All pictures "
        "have the same scale; grey shows where rows are. This is what the model says, and not what causes what."
    )
    return section("How predictions depend on them", tag("p", note, class_="soft"), columns.draw_dependences(report))


def _write_data(report: Report) -> Markup:
    kinds = Counter(column.kind for column in report.columns)
    missing = sum(column.missing for column in report.columns)
    pairs = [
        ("target", report.target),
        ("rows", f"{report.n_rows:,}"),
        ("to learn from", f"{report.n_train:,}"),
        ("held out", f"{report.n_test:,}"),
        ("columns", ", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "none"),
        ("missing values", f"{missing:,}"),
    ]
    if stray := sum(column.n_stray for column in report.columns):
        pairs.append(("stray cells", f"{stray:,}, counted as missing"))
    listed = _list_columns(report) if report.columns else Markup("")
    return section("Data", facts(pairs), columns.draw_target(report.target_distribution), listed)


def _list_columns(report: Report) -> Markup:
    """Return the table of columns, with small pictures of the first."""
    spreads = {found.name: found for found in report.distributions}
    headings = ["column", *(["values"] if spreads else []), "taken as", "what was done", "missing", "distinct"]
    rows = [
        [column.name, *([columns.draw_spread(spreads.get(column.name))] if spreads else []), column.kind,
         column.treatment, _show_missing(column.missing, report.n_rows), f"{column.distinct:,}"]
        for column in report.columns
    ]  # fmt: skip
    found = table("Columns", headings, rows, numbers=(len(headings) - 2, len(headings) - 1))
    last = max((i for i, column in enumerate(report.columns) if column.name in spreads), default=0)
    rest = sum(column.kind in ("numeric", "categorical") for column in report.columns[last + 1 :])
    note = tag("p", f"{count_things(rest, 'other column')} have no picture.", class_="soft") if spreads and rest else ""
    return Markup(found + note)


def _show_missing(missing: int, rows: int) -> str:
    return f"{missing:,} ({missing / rows:.0%})" if missing and rows else f"{missing:,}"


def _write_candidates(report: Report) -> Markup:
    if not report.candidates:
        return Markup("")
    chosen = [i for i, candidate in enumerate(report.candidates) if candidate.chosen]
    alone = " (chosen)" if len(chosen) == 1 else ""
    rows = [
        [
            candidate.name + alone * candidate.chosen,
            f"→ {candidate.weight:.0%}" if candidate.chosen else "",
            round_number(candidate.score),
            show_duration(candidate.seconds),
            _fold(candidate.kernel),
            candidate.note,
        ]
        for candidate in report.candidates
    ]
    note = (
        f"Compared by {report.metric} on training rows that were left out, never on the rows held out for the scores."
    )
    if not alone:
        note += " The model is the mean of those with a weight (→), weighted so."
    headings = ["model", "weight", report.metric, "time", "kernel", "note"]
    shown = [name for name in headings if name not in _find_empty(report, bool(alone))]
    rows = [[row[headings.index(name)] for name in shown] for row in rows]
    right = [i for i, name in enumerate(shown) if name in (report.metric, "time", "weight")]
    listed = table("Models that were tried", shown, rows, numbers=right, best=chosen)
    return section("What was tried", tag("p", note, class_="soft"), listed)


def _find_empty(report: Report, alone: bool) -> set[str]:
    """Return the columns of the table of candidates that would say nothing."""
    noted = any(candidate.note for candidate in report.candidates)
    return {name for name, empty in (("weight", alone), ("note", not noted)) if empty}


def _fold(formula: str) -> Markup:
    """Return a formula, all of it behind its beginning if it is long."""
    short = shorten(shorten_formula(formula), MIDDLE)
    if len(formula) <= SHORT or short == formula:
        return tag("span", formula, class_="formula")
    return tag("details", tag("summary", short), formula, class_="formula")


def _write_kernel(report: Report) -> Markup:
    parts = [_fold(report.kernel)] if report.kernel else []
    if parts and (name := _find_heaviest(report)):
        parts.insert(0, tag("p", f"Of the heaviest part, {name}; so is how it was solved, below.", class_="soft"))
    if report.certificate:
        proof = report.certificate if len(report.kernel) <= MIDDLE else shorten_formula(report.certificate)
        parts += [tag("h3", "Why it is a kernel"), code(proof)]
    return section("Kernel", *parts)


def _find_heaviest(report: Report) -> str:
    """Return the name of the heaviest part of a combination; nothing if the model is one alone."""
    parts = [candidate for candidate in report.candidates if candidate.chosen]
    return max(parts, key=lambda part: part.weight).name if len(parts) > 1 else ""


def _write_solution(report: Report, model: BaseEstimator) -> Markup:
    plan = tag("p", report.plan) if report.plan else Markup("")
    if model is None:
        return section("How it was solved", plan)
    eigenvalues, freedom = pictures.draw_spectrum(model)
    return section("How it was solved", plan, side_by_side(pictures.draw_path(model), eigenvalues, freedom))


def _write_advice(report: Report) -> Markup:
    if not report.advice:
        return Markup("")
    return section("What to try next", tag("ul", *(tag("li", sentence) for sentence in report.advice)))


def _write_loading(report: Report, model_path: str | os.PathLike[str] | None) -> Markup:
    path = "model.mercer" if model_path is None else os.fspath(model_path)
    lines = f"import mercer\nmodel = mercer.load({path!r})\npredictions = model.predict(table)"
    used = [column.name for column in report.columns if column.kind != "ignored"]
    shown = ", ".join(used[:8]) + (f" and {count_things(len(used) - 8, 'other')}" if len(used) > 8 else "")
    note = f"table has the columns of the data above: {shown}." if used else "table has the columns of the data above."
    first = f"mercer.save(model, {path!r})"
    saved = Markup("") if model_path is not None else tag("p", "Once it is saved by ", tag("code", first), ":")
    return section("Load it in three lines", saved, code(lines), tag("p", note, class_="soft"))


def _write_versions(report: Report) -> Markup:
    now = datetime.now(UTC)
    parts = {
        "mercer": mercer.__version__,
        "Python": platform.python_version(),
        "NumPy": numpy.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    versions = ", ".join(f"{name} {version}" for name, version in parts.items())
    written = tag("time", f"{now:%Y-%m-%d %H:%M} UTC", datetime=f"{now:%Y-%m-%dT%H:%MZ}")
    return tag("footer", f"Fitted in {show_duration(report.seconds)}. Written ", written, f" by {versions}.")
