"""The page: what a fitted automatic model has to say, from the result to the lines that load it."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from string import Template

import numpy
import scipy
import sklearn
from sklearn.base import BaseEstimator

import mercer
from mercer.auto.report import Report
from mercer.files import check_free, replacing
from mercer.words import count_things, show_duration

from . import _sections as sections
from ._html import Markup, code, section, tag, text
from ._style import CSS
from ._words import write_headline

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
            sections.write_warnings(report),
            sections.write_scores(report),
            sections.write_held_out(report),
            sections.write_importances(report),
            sections.write_dependences(report),
            sections.write_data(report),
            sections.write_candidates(report),
            sections.write_kernel(report),
            sections.write_solution(report, getattr(model, "model_", None)),
            sections.write_advice(report),
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
