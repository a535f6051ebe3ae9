"""``mercer predict``: predictions of a saved model for the rows of a table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import _show
from ._errors import CommandError
from ._large import is_large, predict_large, refuse_options
from ._options import command, parse_share
from .files.model import load_model
from .files.writing import check_output, protect_cells, replacing
from .reading.options import ReadingOptions, check_columns, reading_options, write_options
from .reading.sources import FEATHER, JSON, PARQUET, SHEETS, TABS

if TYPE_CHECKING:
    import pandas as pd

    from .reading.tables import Table


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
@click.option("--verbatim", is_flag=True, help="Write texts in CSV as they are, also those that look like formulas.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@reading_options
def predict(
    model: str, data: str, output: str, interval: float | None, proba: bool, verbatim: bool, force: bool,
    reading: ReadingOptions, quiet: bool,
) -> None:  # fmt: skip
    """Predict the rows of the table DATA with a model that mercer fit or mercer.save has written.

    The table is read as that of the fit was, unless options say otherwise. The output has a line for each row, in the
    same order: columns of --id, prediction, with --interval lower and upper, with --proba one column for each class.
    Texts that a spreadsheet would take for formulas begin with an apostrophe, unless they are written --verbatim. A
    Parquet file that is larger than memory, or a folder of such files, is read a piece at a time, and predictions are
    written to Parquet.
    """
    from .reading.tables import read_table

    if output != "-":
        check_output(Path(output), force)
        _check_ending(Path(output))
    fitted = load_model(model)
    _check_wishes(fitted, model, interval, proba)
    record: dict[str, Any] = getattr(fitted, "reading_", {})
    options = reading.follow(record)
    if is_large(data):
        refuse_options(data, {}, reading)
        count = predict_large(
            fitted, data, output, reading.ids, force, lambda rows: _predict_rows(fitted, rows, interval, proba)
        )
        if not quiet:
            _show.note(f"{count:,} predictions written to {output}")
        return
    table = read_table(data, options)
    check_columns(reading.ids, list(table.frame.columns), table.name)
    ids = [name for name in options.ids if name in table.frame.columns]
    if not quiet:
        kept = {name: value for name, value in (record | {"ids": ids}).items() if not getattr(reading, name, True)}
        _show_reading(table, kept)
    inputs = _select_inputs(fitted, table)
    with table.name_rows():
        result = _predict_rows(fitted, inputs, interval, proba)
    result = _add_ids(table, ids, result)
    path, kind = Path(output), Path(output).suffix.lower()
    if not (kind in PARQUET or verbatim):
        result = protect_cells(result)
    if output == "-":
        result.to_csv(sys.stdout, index=False)
        return
    with replacing(path, force) as temporary:
        if kind in PARQUET:
            result.to_parquet(temporary, index=False)
        else:
            result.to_csv(temporary, index=False, sep="\t" if kind in TABS else ",")
    if not quiet:
        _show.note(f"{len(result):,} predictions written to {output}")


def _check_ending(path: Path) -> None:
    """Raise if the name of a file promises what would not be in it."""
    kind = path.suffix.lower()
    if kind in (*JSON, *FEATHER, *SHEETS, ".xls", ".ods"):
        raise CommandError(f"{path}: predictions are written as CSV or Parquet; give a name that ends so")


def _check_wishes(fitted: Any, model: str, interval: float | None, proba: bool) -> None:
    """Raise if a model cannot do what it is asked for."""
    for name, wanted in (("predict_interval", interval is not None), ("predict_proba", proba)):
        # Least squares has intervals of its decision values, which are no columns beside a predicted class.
        if wanted and (not hasattr(fitted, name) or (name == "predict_interval" and hasattr(fitted, "classes_"))):
            option = "--interval is for regression" if name == "predict_interval" else "--proba is for classification"
            raise CommandError(f"{model}: the model in it, {type(fitted).__name__}, gives no {name}; {option}")
    if not hasattr(fitted, "predict"):
        raise CommandError(f"{model}: the model in it, {type(fitted).__name__}, predicts nothing")


def _show_reading(table: Table, kept: dict[str, Any]) -> None:
    """Say what was found out about the table, and what was taken over from the fit."""
    options = write_options(kept)
    said = [*([table.said] if table.said else []), *([f"read as at the fit, with {options}"] if options else [])]
    if said:
        _show.note(f"{table.name}: {'; '.join(said)}")


def _select_inputs(model: Any, table: Table) -> Any:
    """Return the columns that the model was fitted to."""
    names, frame = getattr(model, "feature_names_in_", None), table.frame
    if names is not None:
        wanted = [str(column) for column in names]
        check_columns(wanted, list(frame.columns), table.name)
        return frame[wanted]
    expected = getattr(model, "n_features_in_", frame.shape[1])
    if frame.shape[1] != expected:
        raise CommandError(
            f"{table.name} has {frame.shape[1]} columns, but the model was fitted to {expected} without names"
        )
    return frame.to_numpy()


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


def _add_ids(table: Table, ids: list[str], result: pd.DataFrame) -> pd.DataFrame:
    """Return predictions behind the columns that name their rows."""
    import pandas as pd

    for name in ids:
        if name in result.columns:
            raise CommandError(f"--id {name}: predictions have a column of that name; rename the one of the table")
    return pd.concat([table.frame[ids], result], axis=1) if ids else result
