"""``mercer fit``: from a table to a saved model, with an honest estimate of how good it is."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import replace
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
from ._tables import get_column, locate_row, name_lines, read_table
from ._write import check_output, replacing

if TYPE_CHECKING:
    import pandas as pd

    from mercer.auto.judging.targets import ReadTargets
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
    import pandas as pd

    default = "model.mercer" if data == "-" else Path(data).name.split(".")[0] + ".mercer"
    files = [Path(output or default), *([Path(report)] if report else [])]
    for path in files:
        check_output(path, force, regular=True)
    if len({path.resolve() for path in files}) < len(files):
        raise CommandError(f"the model and the report cannot both be {files[0]}")
    found = None if kernel is None else parse_kernel_text(kernel)
    asked = None if loss is None else parse_loss_text(loss)
    X, cells = _split(read_table(data), target, data)
    if task == "auto" and asked is not None:
        task, reason = asked.task, f"{asked!r} is a loss of {'numbers' if asked.task == 'regression' else 'classes'}"
    else:
        task, reason = (task, "it was asked for") if task != "auto" else guess_task(cells)
    if asked is not None:
        _check_loss(asked, cells, target)
    read = _read_target(cells, task, target)
    X, y, dropped = X.iloc[read.kept].reset_index(drop=True), pd.Series(read.values, name=target), len(read.missing)
    _check_target(X, y, task, target)
    known = _get_class(task).models
    if model not in known:
        raise CommandError(f"--model {model} is not for {task}, which has {', '.join(known)}; see --task")
    if not as_json:
        _show.paragraph(f"{data}: {len(X):,} rows, {X.shape[1]} columns. {task.capitalize()}, because {reason}.")
        if dropped:
            _show.paragraph(f"{dropped:,} row{'s' * (dropped > 1)} without a {target} left out.")
    options: dict[str, Any] = {"model": model, "kernel": found, "budget": budget, "memory": memory, "test": test}
    options["loss"] = asked
    with name_lines(data, read.kept):
        fitted = fit_model(task, X, y, options | {"random_state": seed})
    _add_warnings(fitted, read, data)
    save_model(fitted, files[0], files[1] if report else None, force)
    if as_json:
        beside = {"temperature": getattr(fitted, "temperature_", None), "dropped_rows": len(cells) - len(y)}
        written = {"model": str(files[0]), "report": report}
        _show.as_json({**_fitted.export_report(fitted.report_), **beside, "files": written})
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
    import numpy as np

    from mercer.auto.judging.cells import parse_cells
    from mercer.auto.judging.targets import are_numbers

    cells = y.to_numpy()
    numbers, missing, _ = parse_cells(cells)
    if cells.dtype.kind not in "iuf" and not are_numbers(cells):
        distinct = len(set(cells[~missing].tolist()))
        return "classification", f"the target holds {distinct} different values that are not numbers"
    numbers = numbers[~np.isnan(numbers)]
    distinct = len(np.unique(numbers))
    if np.all(numbers == numbers.round()) and distinct <= FEW_CLASSES and len(numbers) >= LEAST_REPEATS * distinct:
        return "classification", f"the target holds only {distinct} different whole numbers"
    return "regression", "the target holds numbers"


def _split(table: pd.DataFrame, target: str, name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return columns and target of a table."""
    y = get_column(table, target, name)
    X = table.drop(columns=[target])
    if X.shape[1] == 0:
        raise CommandError(
            f"{name} has no column beside {target!r} to predict it from; add columns that say something about it"
        )
    if not y.notna().any():
        raise CommandError(f"{name}: column {target!r} is empty; fill it in, or choose another with --target")
    return X, y


def _read_target(cells: pd.Series, task: str, target: str) -> ReadTargets:
    """Return the targets of the rows that have one."""
    from mercer.auto.judging.targets import read_targets

    wrong = _find_odd(cells) if task == "regression" else None
    if isinstance(wrong, float):
        raise CommandError(f"column {target!r} holds an infinite value; replace it by a number, or leave it empty")
    if wrong is not None:
        raise CommandError(
            f"column {target!r} holds {wrong!r}, which is not a number; correct it, or use --task classification"
        )
    return read_targets(cells, "regression" if task == "regression" else "classification", f"column {target!r}")


def _find_odd(y: pd.Series) -> Any:
    """Return the first cell that is no number if there are too many of them, None if the target is one of numbers."""
    import numpy as np

    from mercer.auto.judging.cells import parse_cells
    from mercer.auto.judging.targets import SHARE

    cells = y.to_numpy()
    numbers, missing, _ = parse_cells(cells)
    odd = np.flatnonzero(~missing & (np.isnan(numbers) | (cells.dtype.kind == "b")))
    return y.tolist()[odd[0]] if len(odd) > (1 - SHARE) * (~missing).sum() else None


def _check_target(X: pd.DataFrame, y: pd.Series, task: str, target: str) -> None:
    """Raise if there is nothing to learn, or no class that is there twice."""
    import numpy as np
    import pandas as pd

    from mercer.auto.judging.cells import parse_cells
    from mercer.auto.judging.checks import check_table_has_something

    check_table_has_something(X, y.to_numpy(), target, "mercer fit")
    if task == "classification" and y.nunique() > max(2, len(y) // 2):
        numbers = parse_cells(y.to_numpy())[0]
        odd = np.flatnonzero(np.isnan(numbers))
        if 0 < len(odd) < len(y) // 2:
            raise CommandError(
                f"column {target!r} holds numbers, but {len(odd)} of {len(y)} cells are none, such as "
                f"{y.tolist()[odd[0]]!r}; correct them, or leave them empty"
            )
        numeric = pd.api.types.is_numeric_dtype(y)
        remedy = "use --task regression" if numeric else "choose a column with fewer different values"
        raise CommandError(f"column {target!r} has {y.nunique()} different values in {len(y)} rows; {remedy}")


def _add_warnings(model: Any, read: ReadTargets, name: str) -> None:
    """Let the report name the data, tell of targets that were left out, and name lines of the file, not rows."""
    from mercer.auto.judging.targets import describe_targets

    def show_line(found: re.Match[str]) -> str:
        return locate_row(name, int(read.kept[int(found[1])]))

    own = describe_targets(read, model.report_.target, lambda row: locate_row(name, row))
    others = (re.sub(r"\brow (\d+)\b", show_line, sentence) for sentence in model.report_.warnings)
    data = "standard input" if name == "-" else Path(name).name
    model.report_ = replace(model.report_, warnings=(*others, *own), data=data)


def _check_loss(loss: Loss, y: pd.Series, target: str) -> None:
    """Raise if a loss is one of numbers and the target holds none, or one of classes and it holds nothing else."""
    numeric, distinct = guess_task(y)[0] == "regression", int(y.nunique())
    if loss.task == "classification" and numeric and distinct > max(2, len(y) // 2):
        raise CommandError(
            f"{loss!r} is a loss of classes, and column {target!r} holds {distinct} different numbers; use one of "
            'numbers such as --loss "Huber(1.0)"'
        )
    wrong = _find_odd(y) if loss.task == "regression" else None
    if wrong is not None:
        raise CommandError(
            f"{loss!r} is a loss of numbers, and column {target!r} holds {wrong!r}; use one of classes such as "
            "--loss Logistic"
        )
