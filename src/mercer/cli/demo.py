"""``mercer demo``: the main job, on real data that comes with the library."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from . import _fitted, _show
from ._options import command
from .files.writing import replacing
from .fit import fit_model, save_model, show_files

FOLDER = "mercer-demo"
BUDGET = "20s"


@command("demo", "Show the whole way on data that comes along.", ["mercer demo", "mercer demo --folder elsewhere"])
@click.option("--folder", default=FOLDER, show_default=True, help="Where the files go; earlier ones are replaced.")
def demo(folder: str) -> None:
    """Read real data, tune and fit a model, compare it with baselines, and save model and report: in under a minute.

    The data are the heating loads of 768 buildings (Tsanas and Xifara 2012, UCI Machine Learning Repository).
    """
    from mercer.datasets import load_energy

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    energy = load_energy()
    frame = energy.frame
    table, path, report = place / "energy.csv", place / "energy.mercer", place / "energy.html"
    with replacing(table, force=True) as temporary:
        frame.to_csv(temporary, index=False)
    _show.line(f"$ mercer fit {table} --target {energy.target_name} -o {path} --report {report}")
    X, y = frame.drop(columns=[energy.target_name]), frame[energy.target_name]
    model = fit_model("regression", X, y, {"random_state": 0, "budget": BUDGET})
    model.report_ = replace(model.report_, data=table.name)
    save_model(model, path, report, force=True)
    _fitted.show_report(model.report_)
    _show.line(
        "A simulation computed these loads from the columns: nothing leaks, and they can be predicted that well."
    )
    show_files(path, report)
