"""``mercer fit``: from a table to a saved model, with an honest estimate of how good it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mercer.words import count_things

from . import _fitted, _show
from ._errors import CommandError
from ._large import fit_ridge, is_large, open_large, refuse_model, refuse_options, show_large
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
from .completion import complete_columns
from .files.writing import check_output, replacing
from .reading.options import ReadingOptions, check_columns, parse_types, reading_options
from .reading.sources import PARQUET
from .reading.tables import Table, read_table
from .reading.target import TargetCells, parse_target

if TYPE_CHECKING:
    import pandas as pd

    from mercer.auto.judging.targets import ReadTargets
    from mercer.losses import Loss

TASKS = ("auto", "regression", "classification")
MODELS = ("auto", "ridge", "svm", "logistic", "import_vector", "neighbors", "parzen")


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
@click.option(
    "--target", required=True, metavar="COLUMN", shell_complete=complete_columns, help="The column to predict."
)
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
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="NUMBER",
    default=0,
    show_default=True,
    help="Seed of everything random.",
)
@click.option("-o", "--output", metavar="FILE", help="Where to save the model  [default: the name of DATA, .mercer]")
@click.option("--report", metavar="FILE", help="Also write a report in HTML there.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option(
    "--types", multiple=True, metavar="COLUMN=KIND", shell_complete=complete_columns,
    help="What a column holds: number, category, date or text. May be repeated.",
)  # fmt: skip
@click.option(
    "--drop", multiple=True, metavar="COLUMN", shell_complete=complete_columns,
    help="A column not to learn from. May be repeated.",
)  # fmt: skip
@reading_options
@json_option
def fit(
    data: str, target: str, task: str, model: str, loss: str | None, kernel: str | None, test: float,
    budget: str | None, memory: str | None, seed: int, output: str | None, report: str | None, force: bool,
    types: tuple[str, ...], drop: tuple[str, ...], reading: ReadingOptions, quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    """Fit a model to the table DATA (.csv, .tsv, .xlsx, .json, .parquet, …; - for standard input), and save it.

    Columns may be numbers, categories, texts or dates, with missing values. The model is chosen on training rows only;
    rows held out show how good it is, next to a constant and to gradient boosting. Then it is fitted to all rows.

    A Parquet file that is larger than --memory, or a folder of such files, is read a piece at a time: everything is
    chosen on a sample of its rows, and fitted to all rows but those held out, and then to all. --model ridge takes
    columns of numbers alone, and a fit of it that was killed goes on where it was when it is started again.
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
    if is_large(data, memory):
        refuse_model(data, model)
        source = open_large(data, target, (*reading.ids, *drop))
        if model == "ridge" and asked is None:
            refuse_options(data, {"--budget": budget, "--report": report, "--types": types, "--json": as_json}, reading)
            large, judged = fit_ridge(source, target, task, found, memory, seed, test, quiet)
            save_model(large, files[0], None, force)
            if not quiet:
                show_large(large, judged)
                show_files(files[0], None, ".parquet")
            return
        refuse_options(data, {}, reading)
        task, reason = _check_task(task, asked, parse_target(source.head[target]), model)
        if not (as_json or quiet):
            source.show(memory, f"{task.capitalize()}, because {reason}.", whole=source.fits(target, memory))
        kinds = parse_types(types, source.columns, target, data)
        options: dict[str, Any] = {"model": model, "kernel": found, "budget": budget, "memory": memory, "test": test}
        options |= {"loss": asked, "random_state": seed, "types": kinds or None}
        fitted = fit_model(task, source.table, target, options, quiet)
        fitted.report_ = replace(fitted.report_, data=Path(data).name)
        _finish(fitted, files, report, force, ".parquet", source.n - fitted.report_.n_rows, quiet, as_json)
        return
    written = tuple(text.rpartition("=")[0] for text in types if not text.endswith("=number"))
    table = read_table(data, replace(reading, strings=written))
    X, y = split_table(table, target, reading.ids, drop)
    kinds = parse_types(types, list(X.columns), target, table.name)
    cells = parse_target(y)
    task, reason = _check_task(task, asked, cells, model)
    read = cells.read(task)
    if not (as_json or quiet):
        _show_table(table, X, read, f"{task.capitalize()}, because {reason}.", target)
    options = {"model": model, "kernel": found, "budget": budget, "memory": memory, "test": test}
    options |= {"loss": asked, "random_state": seed, "types": kinds or None}
    with table.name_rows(read.kept):
        X, y = X.iloc[read.kept].reset_index(drop=True), pd.Series(read.values, name=target)
        fitted = fit_model(task, X, y, options, quiet)
    texts = tuple(name for name, kind in X.dtypes.items() if str(kind) in ("str", "object"))
    fitted.reading_ = replace(reading, strings=texts).to_record()
    name_places(fitted, read, table)
    ending = ".parquet" if Path(data).suffix in PARQUET else ".csv"
    _finish(fitted, files, report, force, ending, len(cells.cells) - len(y), quiet, as_json)


def _check_task(task: str, loss: Loss | None, cells: TargetCells, model: str) -> tuple[str, str]:
    """Return whether numbers or classes are predicted, and why, if loss and model are for that."""
    task, reason = choose_task(task, loss, cells)
    if loss is not None:
        cells.check_loss(loss)
    known = _get_class(task).models
    if model not in known:
        raise CommandError(f"--model {model} is not for {task}, which has {', '.join(known)}; see --task")
    return task, reason


def _finish(
    fitted: Any, files: list[Path], report: str | None, force: bool, ending: str, dropped: int, quiet: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Save a model and its report, and show what was found."""
    save_model(fitted, files[0], files[1] if report else None, force)
    if as_json:
        beside = {"temperature": getattr(fitted, "temperature_", None), "dropped_rows": dropped}
        there = {"model": str(files[0]), "report": report}
        _show.as_json({**_fitted.export_report(fitted.report_), **beside, "files": there})
    elif quiet:
        _fitted.show_result(fitted.report_, str(files[0]))
    else:
        _fitted.show_report(fitted.report_)
        show_files(files[0], files[1] if report else None, ending)


def _show_table(table: Table, X: pd.DataFrame, read: ReadTargets, why: str, target: str) -> None:
    """Say what was read, before it takes time."""
    said, dropped = f" ({table.said})" if table.said else "", len(read.missing)
    size = f"{count_things(len(read.kept), 'row')}, {count_things(X.shape[1], 'column')}"
    _show.paragraph(f"{table.name}: {size}{said}. {why}")
    if dropped:
        _show.paragraph(f"{count_things(dropped, 'row')} without a {target} left out.")


def fit_model(task: str, X: Any, y: Any, options: dict[str, Any], quiet: bool = False) -> Any:
    """Return a fitted automatic model, with a bar on the way unless it is to be quiet."""
    estimator = _get_class(task)(**options)
    with FitProgress(quiet) as progress:
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


def show_files(path: Path, report: Path | None, ending: str = ".csv") -> None:
    """Say where everything is, and what can be done with it: predict tables with such an ending."""
    _show.heading("Saved")
    pairs = [("model", str(path))] + ([("report", str(report))] if report is not None else [])
    _show.facts(pairs)
    _show.heading("Now")
    _show.line(f"  mercer predict {path} NEW{ending} -o predictions{ending}")
    _show.line(f"  mercer inspect {path}")


def split_table(table: Table, target: str, ids: Sequence[str], drop: Sequence[str]) -> tuple[pd.DataFrame, pd.Series]:
    """Return the columns to learn from, and the target."""
    y, left = table.get_column(target), [*ids, *drop]
    check_columns(left, list(table.frame.columns), table.name)
    if target in left:
        option = "--id" if target in ids else "--drop"
        raise CommandError(f"{option} {target} is the target, which cannot be left out; choose another with --target")
    X = table.frame.drop(columns=[target, *left])
    if X.shape[1] == 0:
        raise CommandError(
            f"{table.name} has no column beside {target!r} to predict it from; add columns that say something about it"
        )
    if not y.notna().any():
        raise CommandError(f"{table.name}: column {target!r} is empty; fill it in, or choose another with --target")
    return X, y


def choose_task(task: str, loss: Loss | None, cells: TargetCells) -> tuple[str, str]:
    """Return whether numbers or classes are predicted, and why."""
    if task != "auto":
        return task, "it was asked for"
    if loss is not None:
        return loss.task, f"{loss!r} is a loss of {'numbers' if loss.task == 'regression' else 'classes'}"
    task, reason = cells.guess_task()
    if not cells.numeric:
        return task, reason
    other = "regression if they are amounts" if task == "classification" else "classification if they are classes"
    return task, f"{reason} (--task {other})"


def name_places(model: Any, read: ReadTargets, table: Table) -> None:
    """Let the report name the data, tell of targets that were left out, and name places in the file, not rows."""
    from mercer.auto.judging.targets import describe_targets
    from mercer.auto.tables.columns import write_stray

    def show(row: int) -> str:
        return table.locate(int(read.kept[row]))

    report = model.report_
    own = describe_targets(read, report.target, table.locate)
    others = (table.place_rows(sentence, read.kept) for sentence in report.warnings)
    columns = tuple(
        replace(column, treatment=column.treatment.removesuffix(write_stray(column.stray, column.n_stray))
                + write_stray(column.stray, column.n_stray, show))
        for column in report.columns
    )  # fmt: skip
    model.report_ = replace(report, warnings=(*others, *own), columns=columns, data=Path(table.name).name)
