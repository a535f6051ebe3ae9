"""Tables that are larger than memory: ``fit`` and ``predict`` read them a piece at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer.arrays.budget import parse_memory, show_bytes

from . import _show
from ._errors import CommandError
from ._progress import FitProgress
from .reading.options import check_columns
from .reading.sources import PARQUET
from .reading.target import parse_target

if TYPE_CHECKING:
    import pandas as pd

    from mercer.kernels import Kernel

COPIES = 4  # of a table that learning from it in memory takes
HEAD = 10_000  # rows whose targets tell the task


def is_large(name: str, memory: str | None = None) -> bool:
    """Whether a table is a folder of Parquet files, or a Parquet file that is larger than the budget."""
    path = Path(name)
    if path.is_dir():
        return any(child.suffix.lower() in PARQUET for child in path.rglob("*"))
    if path.suffix.lower() not in PARQUET or not path.is_file():
        return False
    return COPIES * _measure_cells(path) > parse_memory(memory)


def _measure_cells(path: Path) -> int:
    """Return the bytes of a Parquet file when it is unpacked; that of a damaged one, which is refused later on."""
    from pyarrow import ArrowException, parquet

    try:
        metadata = parquet.read_metadata(path)
    except (OSError, ArrowException):
        return path.stat().st_size
    return sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))


class PieceProgress(FitProgress):
    """Counts pieces that were read; how many more there will be, nobody knows."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Wait for the first piece."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count one more."""
        self._done += 1
        self._progress.update(self._bar, total=None, description="reading", step=f"{self._done:,} pieces")


def fit_large(
    data: str, target: str, task: str, kernel: Kernel | None, memory: str | None, seed: int, left: Sequence[str],
    quiet: bool,
) -> Any:  # fmt: skip
    """Return a ridge model or ridge classifier of all rows; its kernel and penalty are chosen on some of them."""
    from mercer import KernelRidgeClassifier, KernelRidgeCV
    from mercer.stored import StoredTable

    rows: Any = StoredTable(data).open()
    check_columns([target, *left], rows.names, data)
    if target in left:
        raise CommandError(f"{target} is the target, which cannot be left out; choose another with --target")
    columns = [name for name in rows.names if name not in (target, *left)]
    if not columns:
        raise CommandError(f"{data} has no column beside {target!r} to predict it from")
    rows.cut(HEAD)
    if not rows.pieces:
        raise CommandError(f"{data} has no rows")
    head = rows.read(rows.pieces[0], [target, *columns])
    _check_numbers(head[columns], data)
    reason = "it was asked for"
    if task == "auto":
        task, reason = parse_target(head[target]).guess_task()
    if not quiet:
        size, room = f"{rows.n:,} rows, {len(columns)} columns", show_bytes(parse_memory(memory))
        _show.paragraph(f"{data}: {size}, read piece by piece within {room}. {task.capitalize()}, because {reason}.")
    kind = KernelRidgeCV if task == "regression" else KernelRidgeClassifier
    model = kind(kernel=kernel, memory=memory, random_state=seed)
    with PieceProgress(quiet) as progress:
        model.set_callbacks(progress).fit(StoredTable(data, columns=columns), target)
    return model.set_callbacks()


def _check_numbers(frame: pd.DataFrame, name: str) -> None:
    others = [column for column, kind in frame.dtypes.items() if kind.kind not in "fiub"]
    if others:
        raise CommandError(
            f"{name}: a table that is larger than memory is learned from numbers, and {', '.join(map(repr, others))} "
            "holds something else; leave it out with --drop, write it as numbers, or give more --memory"
        )


def show_large(model: Any) -> None:
    """Print what was found."""
    _show.heading("The model")
    score = getattr(model, "loo_score_", None)
    facts = [
        ("model", type(model).__name__), ("kernel", repr(model.kernel_)), ("alpha", f"{model.alpha_:.4g}"),
        ("plan", str(model.plan_)),
    ]  # fmt: skip
    judged = [("R², each row left out", f"{score:.4f}")] if isinstance(score, float) else []
    _show.facts([*facts, *judged])


def predict_large(
    model: Any, data: str, output: str, ids: Sequence[str], force: bool, predict: Callable[[Any], pd.DataFrame]
) -> int:
    """Write predictions for all rows of a table, and return how many they are."""
    from mercer.stored import StoredTable
    from mercer.stored.predict import read_pieces, write_pieces

    if Path(output).suffix.lower() not in PARQUET:
        raise CommandError(f"{data} is larger than memory; write predictions to Parquet, with -o predictions.parquet")
    table = StoredTable(data)
    check_columns(ids, table.open().names or [], data)

    def make(points: Any) -> pd.DataFrame:
        found = predict(points)
        taken = [name for name in ids if name in found.columns]
        if taken:
            raise CommandError(f"--id {taken[0]}: predictions have a column of that name; rename the one of the table")
        return found

    return write_pieces(read_pieces(model, table, tuple(ids)), make, Path(output), force)
