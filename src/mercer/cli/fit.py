"""``mercer fit``: from a table to a saved model, with an honest estimate of how good it is."""

from __future__ import annotations

import math
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import _fitted, _show
from ._errors import CommandError
from ._options import (
    check_duration,
    command,
    json_option,
    memory_option,
    parse_kernel_text,
    parse_loss_text,
    parse_share_or_none,
)
from ._progress import FitProgress
from ._tables import get_column, name_lines, read_table
from ._write import check_output, replacing

if TYPE_CHECKING:
    import pandas as pd

    from mercer.losses import Loss

TASKS = ("auto", "regression", "classification")
MODELS = ("auto", "ridge", "svm", "logistic", "import_vector", "neighbors", "parzen")
FEW_CLASSES = 10  # different whole numbers up to which they are taken for classes
LEAST_REPEATS = 5  # rows that each of them has on average, at least


@command(
    "fit",
    "Fit a table: tune, compare with baselines, save the model.",
    [
        "mercer fit houses.csv --target price",
        "mercer fit houses.csv --target price -o houses.mercer --report houses.html --force",
        'mercer fit houses.csv --target price --model ridge --kernel "Matern(2.5)" -o matern.mercer',
        'mercer fit houses.csv --target price --loss "Quantile(0.9)" -o high.mercer',
        "mercer fit houses.csv --target sold --budget 2m --memory 4GB -o sold.mercer --json",
    ],
)
@click.argument("data")
@click.option("--target", required=True, metavar="COLUMN", help="The column to predict.")
@click.option(
    "--task", type=click.Choice(TASKS), default="auto", show_default=True,
    help="Whether to predict numbers or classes; auto looks at the target.",
)  # fmt: skip
@click.option("--model", type=click.Choice(MODELS), default="auto", show_default=True, help="Kind of model to tune.")
@click.option("--loss", metavar="LOSS", help='Fit this loss, such as "Quantile(0.9)", instead of choosing a model.')
@click.option("--kernel", metavar="EXPRESSION", help="Use this kernel instead of choosing one.")
@click.option(
    "--test", "test", type=parse_share_or_none, metavar="FRACTION", default=0.2, show_default=True,
    help="Share of rows held out for the estimate; 0 for none.",
)  # fmt: skip
@click.option("--budget", type=check_duration, metavar="TIME", help="Time to spend, such as 90s, 5m or 1h.")
@memory_option
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything random.")
@click.option("-o", "--output", metavar="FILE", help="Where to save the model  [default: the name of DATA, .mercer]")
@click.option("--report", metavar="FILE", help="Also write a report in HTML there.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@json_option
def fit(
    data: str, target: str, task: str, model: str, loss: str | None, kernel: str | None, test: float,
    budget: str | None, memory: str | None, seed: int, output: str | None, report: str | None, force: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Fit a model to the table DATA (.csv, .tsv, .csv.gz or .parquet; - for standard input), and save it.

    Columns may be numbers, categories, texts or dates, with missing values. The model is chosen on training rows only;
    rows held out show how good it is, next to a constant and to gradient boosting. Then it is fitted to all rows.
    """
    default = "model.mercer" if data == "-" else Path(data).name.split(".")[0] + ".mercer"
    files = [Path(output or default), *([Path(report)] if report else [])]
    for path in files:
        check_output(path, force, regular=True)
    if len({path.resolve() for path in files}) < len(files):
        raise CommandError(f"the model and the report cannot both be {files[0]}")
    found = None if kernel is None else parse_kernel_text(kernel)
    asked = None if loss is None else parse_loss_text(loss)
    X, y, kept = _split(table := read_table(data), target, data)
    dropped = len(table) - len(kept)
    if task == "auto" and asked is not None:
        task, reason = asked.task, f"{asked!r} is a loss of {'numbers' if asked.task == 'regression' else 'classes'}"
    else:
        task, reason = (task, "it was asked for") if task != "auto" else guess_task(y)
    if asked is not None:
        _check_loss(asked, y, target)
    _check_target(y, task, target)
    known = _get_class(task).models
    if model not in known:
        raise CommandError(f"--model {model} is not for {task}, which has {', '.join(known)}; see --task")
    if not as_json:
        _show.paragraph(f"{data}: {len(X):,} rows, {X.shape[1]} columns. {task.capitalize()}, because {reason}.")
        if dropped:
            _show.paragraph(f"{dropped:,} row{'s' * (dropped > 1)} without a {target} left out.")
    options: dict[str, Any] = {"model": model, "kernel": found, "budget": budget, "memory": memory, "test": test}
    options["loss"] = asked
    with name_lines(data, kept):
        fitted = fit_model(task, X, y, options | {"random_state": seed})
    save_model(fitted, files[0], files[1] if report else None, force)
    if as_json:
        written = {"model": str(files[0]), "report": report}
        _show.as_json({**_fitted.export_report(fitted.report_), "dropped_rows": dropped, "files": written})
        return
    _fitted.show_report(fitted.report_)
    show_files(files[0], files[1] if report else None)


def fit_model(task: str, X: pd.DataFrame, y: pd.Series, options: dict[str, Any]) -> Any:
    """Return a fitted automatic model, with a bar on the way."""
    estimator = _get_class(task)(**options)
    with FitProgress() as progress:
        estimator.set_callbacks(progress).fit(X, y)
    return estimator.set_callbacks()


def _get_class(task: str) -> Any:
    import mercer

    return mercer.AutoRegressor if task == "regression" else mercer.AutoClassifier


def save_model(model: Any, path: Path, report: Path | None, force: bool) -> None:
    """Write the model and the report: both, or none of them."""
    import mercer

    with ExitStack() as files:
        mercer.save(model, files.enter_context(replacing(path, force)))
        if report is not None:
            from mercer.report import write_report

            write_report(model, files.enter_context(replacing(report, force)), model_path=path)


def show_files(path: Path, report: Path | None) -> None:
    """Say where everything is, and what can be done with it."""
    _show.heading("Saved")
    pairs = [("model", str(path))] + ([("report", str(report))] if report is not None else [])
    _show.facts(pairs)
    _show.heading("Now")
    _show.line(f"  mercer predict {path} NEW.csv -o predictions.csv")
    _show.line(f"  mercer inspect {path}")


def guess_task(y: pd.Series) -> tuple[str, str]:
    """Return the task that a target asks for, and why.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.cli.fit import guess_task
    >>> guess_task(pd.Series([0.5, 1.25, 7.0]))
    ('regression', 'the target holds numbers')
    >>> guess_task(pd.Series(["yes", "no", "no"]))
    ('classification', 'the target holds 2 different values that are not numbers')
    """
    import pandas as pd

    distinct = int(y.nunique())
    if pd.api.types.is_bool_dtype(y) or not pd.api.types.is_numeric_dtype(y):
        return "classification", f"the target holds {distinct} different values that are not numbers"
    whole = bool((y == y.round()).all())
    if whole and distinct <= FEW_CLASSES and len(y) >= LEAST_REPEATS * distinct:
        return "classification", f"the target holds only {distinct} different whole numbers"
    return "regression", "the target holds numbers"


def _split(table: pd.DataFrame, target: str, name: str) -> tuple[pd.DataFrame, pd.Series, Any]:
    """Return columns and target of the rows that have a target, and which rows those are."""
    y = get_column(table, target, name)
    X = table.drop(columns=[target])
    if X.shape[1] == 0:
        raise CommandError(f"{name} has no column beside {target!r} to predict it from")
    present = y.notna()
    if not present.any():
        raise CommandError(f"{name}: column {target!r} is empty")
    return X[present].reset_index(drop=True), y[present].reset_index(drop=True), present.to_numpy().nonzero()[0]


def _check_target(y: pd.Series, task: str, target: str) -> None:
    import pandas as pd

    numeric = pd.api.types.is_numeric_dtype(y) and not pd.api.types.is_bool_dtype(y)
    if task == "regression" and not numeric:
        wrong = next((value for value in y.tolist() if not _is_number(value)), y.tolist()[0])
        raise CommandError(
            f"column {target!r} holds {wrong!r}, which is not a number; correct it, or use --task classification"
        )
    if task == "regression" and any(math.isinf(value) for value in y.tolist()):
        raise CommandError(f"column {target!r} holds an infinite value; replace it by a number, or leave it empty")
    if y.nunique() < 2:
        raise CommandError(f"column {target!r} is always {y.tolist()[0]!r}; there is nothing to learn")
    if task == "classification" and y.nunique() > max(2, len(y) // 2):
        remedy = "use --task regression" if numeric else "choose a column with fewer different values"
        raise CommandError(f"column {target!r} has {y.nunique()} different values in {len(y)} rows; {remedy}")


def _check_loss(loss: Loss, y: pd.Series, target: str) -> None:
    """Raise if a loss is one of numbers and the target holds none, or one of classes and it holds nothing else."""
    numeric, distinct = guess_task(y)[0] == "regression", int(y.nunique())
    if loss.task == "classification" and numeric and distinct > max(2, len(y) // 2):
        raise CommandError(
            f"{loss!r} is a loss of classes, and column {target!r} holds {distinct} different numbers; use one of "
            'numbers such as --loss "Huber(1.0)"'
        )
    if loss.task == "regression" and not all(map(_is_number, y.tolist())):
        wrong = next(value for value in y.tolist() if not _is_number(value))
        raise CommandError(
            f"{loss!r} is a loss of numbers, and column {target!r} holds {wrong!r}; use one of classes such as "
            "--loss Logistic"
        )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
