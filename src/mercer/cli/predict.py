"""``mercer predict``: predictions of a saved model for the rows of a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import _show
from ._errors import CommandError
from ._model import load_model
from ._options import command, parse_share
from ._tables import PARQUET, get_column, name_lines, read_table
from ._write import check_output, replacing

if TYPE_CHECKING:
    import pandas as pd


@command(
    "predict",
    "Predict the rows of a table with a saved model.",
    [
        "mercer predict houses.mercer houses.csv -o predictions.csv --force",
        "mercer predict houses.mercer houses.csv --interval 0.9",
        "mercer predict sold.mercer houses.csv --proba",
    ],
)
@click.argument("model")
@click.argument("data")
@click.option(
    "-o", "--output", metavar="FILE", default="-", help="Where to write CSV or Parquet  [default: the screen]"
)
@click.option(
    "--interval", type=parse_share, metavar="COVERAGE", help="Add intervals that hold this share of true values."
)
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def predict(model: str, data: str, output: str, interval: float | None, proba: bool, force: bool) -> None:
    """Predict the rows of the table DATA with a model that mercer fit or mercer.save has written.

    The output has a line for each row, in the same order: prediction, with --interval lower and upper, with --proba one
    column for each class.
    """
    if output != "-":
        check_output(Path(output), force)
    fitted = load_model(model)
    for name, wanted in (("predict_interval", interval is not None), ("predict_proba", proba)):
        if wanted and not hasattr(fitted, name):
            option = "--interval is for regression" if name == "predict_interval" else "--proba is for classification"
            raise CommandError(f"{model} holds a {type(fitted).__name__}, which has no {name}; {option}")
    if not hasattr(fitted, "predict"):
        raise CommandError(f"{model} holds a {type(fitted).__name__}, which predicts nothing")
    inputs = _select_inputs(fitted, read_table(data), data)
    with name_lines(data):
        result = _predict_rows(fitted, inputs, interval, proba)
    if output == "-":
        result.to_csv(sys.stdout, index=False)
        return
    path = Path(output)
    with replacing(path, force) as temporary:
        if path.suffix.lower() in PARQUET:
            result.to_parquet(temporary, index=False)
        else:
            result.to_csv(temporary, index=False)
    _show.note(f"{len(result):,} predictions written to {output}")


def _select_inputs(model: Any, table: pd.DataFrame, name: str) -> Any:
    """Return the columns that the model was fitted to."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        for column in names:
            get_column(table, str(column), name)
        return table[[str(column) for column in names]]
    expected = getattr(model, "n_features_in_", table.shape[1])
    if table.shape[1] != expected:
        raise CommandError(f"{name} has {table.shape[1]} columns, but the model was fitted to {expected} without names")
    return table.to_numpy()


def _predict_rows(model: Any, X: Any, interval: float | None, proba: bool) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {"prediction": model.predict(X)}
    if interval is not None:
        ends = model.predict_interval(X, coverage=interval)
        columns |= {"lower": ends[:, 0], "upper": ends[:, 1]}
    if proba:
        chances = model.predict_proba(X)
        columns |= {f"probability of {label}": chances[:, i] for i, label in enumerate(model.classes_)}
    return pd.DataFrame(columns)
