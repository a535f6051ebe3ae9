"""Tables that are larger than memory: ``fit`` and ``predict`` read them a piece at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer.arrays.budget import parse_memory, show_bytes

from . import _show
from ._errors import CommandError
from ._progress import FitProgress
from .reading.options import OPTIONS, ReadingOptions, check_columns
from .reading.sources import PARQUET
from .reading.target import parse_target

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from mercer.kernels import Kernel
    from mercer.stored import StoredTable

HEAD = 10_000  # rows whose targets tell the task
MOST = 100_000  # rows held out: more tell nothing more of the score
KEEPING = ("import_vector", "neighbors", "parzen")  # models that look at all rows at once


def is_large(name: str, memory: str | None = None) -> bool:
    """Whether a table is a folder of Parquet files, or a Parquet file that is larger than the budget."""
    from mercer.stored.table import COPIES

    path = Path(name)
    if path.is_dir():
        return any(child.suffix.lower() in PARQUET for child in path.rglob("*"))
    if path.suffix.lower() not in PARQUET or not path.is_file():
        return False
    return COPIES * _measure_cells(path) > parse_memory(memory)


def _measure_cells(path: Path) -> int:
    """Return the bytes of the cells of a Parquet file; those of a damaged one, which is refused later on."""
    from pyarrow import ArrowException, parquet

    try:
        metadata = parquet.read_metadata(path)
    except (OSError, ArrowException):
        return path.stat().st_size
    written = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    return max(written, 8 * metadata.num_rows * metadata.num_columns)  # cells that repeat take no room in a file


class PieceProgress(FitProgress):
    """Counts pieces that were read; how many more there will be, nobody knows."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Wait for the first piece."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count one more."""
        self._done += 1
        self._progress.update(self._bar, total=None, description="reading", step=f"{self._done:,} pieces")


@dataclass(frozen=True)
class LargeScore:
    """How rows were predicted that a fit has not seen."""

    score: float  # R², or the share of classes that are right
    measure: str  # which of them
    count: int  # rows

    def show(self) -> tuple[str, str]:
        """Return what it is, and its value."""
        return f"{self.measure}, {self.count:,} rows held out", f"{self.score:.4f}"


def refuse_options(data: str, given: dict[str, Any], reading: ReadingOptions) -> None:
    """Raise if there are options that would change nothing for a table that is read a piece at a time."""
    texts = {OPTIONS[name]: getattr(reading, name) for name in ("encoding", "separator", "decimal", "missing", "sheet")}
    for option, value in (given | texts).items():
        if value:
            raise CommandError(f"{option} is not there for {data}, which is read a piece at a time; leave it out")


@dataclass(frozen=True)
class LargeSource:
    """A table that is larger than memory: its rows, those columns that are learned from, and its first rows."""

    name: str
    table: StoredTable
    columns: list[str]
    n: int
    head: pd.DataFrame

    def fits(self, target: str, memory: str | None) -> bool:
        """Whether automatic models read it whole, as those of small folders."""
        from mercer.stored.table import fits_whole

        return fits_whole(self.table, target, parse_memory(memory))

    def show(self, memory: str | None, why: str, *, whole: bool = False) -> None:
        """Say what will be read, before it takes time."""
        size, room = f"{self.n:,} rows, {len(self.columns)} columns", show_bytes(parse_memory(memory))
        _show.paragraph(f"{self.name}: {size}, read {'whole' if whole else 'piece by piece'} within {room}. {why}")


def open_large(data: str, target: str, left: Sequence[str]) -> LargeSource:
    """Return a table without the columns that are left out, if there is something to learn from."""
    from mercer.stored import StoredTable

    rows: Any = StoredTable(data).open()
    check_columns([target, *left], rows.names, data)
    if target in left:
        raise CommandError(f"{target} is the target, which cannot be left out; choose another with --target")
    columns = [name for name in rows.names if name not in (target, *left)]
    if not columns:
        raise CommandError(
            f"{data} has no column beside {target!r} to predict it from; add columns that say something about it"
        )
    rows.cut(HEAD)
    if not rows.pieces:
        raise CommandError(f"{data} has no rows; look at what wrote it")
    head = rows.read(rows.pieces[0], [target, *columns])
    return LargeSource(data, StoredTable(data, columns=columns), columns, rows.n, head)


def refuse_model(data: str, model: str) -> None:
    """Raise if a model keeps all rows that it learns from."""
    if model in KEEPING:
        raise CommandError(
            f"--model {model} keeps the rows it learns from, and {data} is larger than memory; choose auto, ridge, svm "
            "or logistic, or give more --memory"
        )


def fit_ridge(
    source: LargeSource, target: str, task: str, kernel: Kernel | None, memory: str | None, seed: int, test: float,
    quiet: bool,
) -> tuple[Any, LargeScore | None]:  # fmt: skip
    """Return a ridge model or ridge classifier of all rows, and how one of the others predicts rows held out.

    Kernel and penalty are chosen on some rows.
    """
    import numpy as np

    from mercer import KernelRidgeClassifier, KernelRidgeCV

    _check_numbers(source.head[source.columns], source.name)
    reason = "it was asked for"
    if task == "auto":
        task, reason = parse_target(source.head[target]).guess_task()
    if not quiet:
        source.show(memory, f"{task.capitalize()}, because {reason}.")
    kind = KernelRidgeCV if task == "regression" else KernelRidgeClassifier
    model, table = kind(kernel=kernel, memory=memory, random_state=seed), source.table
    held, judged = min(MOST, round(test * source.n)), None
    with PieceProgress(quiet) as progress:
        model.set_callbacks(progress)
        if held > 1:
            mask = np.zeros(source.n, dtype=bool)
            mask[np.random.default_rng(seed).choice(source.n, held, replace=False)] = True
            model.fit(table, target, sample_weight=(~mask).astype(np.float32))
            judged = _judge(model, table, target, mask)
        model.fit(table, target)
    return model.set_callbacks(), judged


def _judge(model: Any, table: StoredTable, target: str, mask: np.ndarray) -> LargeScore:
    """Score a model on the rows that a mask names, a piece at a time."""
    import numpy as np
    from sklearn.metrics import accuracy_score, r2_score

    from mercer.stored.predict import read_pieces

    truth, found, first = [], [], 0
    for points, others in read_pieces(model, table, (target,)):
        chosen = mask[first : first + len(points)]
        first += len(points)
        if chosen.any():
            truth.append(others[target].to_pandas().to_numpy()[chosen])
            found.append(model.predict(points[chosen]))
    score, measure = (accuracy_score, "accuracy") if hasattr(model, "classes_") else (r2_score, "R²")
    return LargeScore(float(score(np.concatenate(truth), np.concatenate(found))), measure, int(mask.sum()))


def _check_numbers(frame: pd.DataFrame, name: str) -> None:
    others = [column for column, kind in frame.dtypes.items() if kind.kind not in "fiub"]
    if others:
        raise CommandError(
            f"{name}: --model ridge learns from numbers where a table is larger than memory, and "
            f"{', '.join(map(repr, others))} holds something else; take --model auto, or leave it out with --drop"
        )


def show_large(model: Any, judged: LargeScore | None) -> None:
    """Print what was found."""
    _show.heading("The model")
    score = getattr(model, "loo_score_", None)
    facts = [
        ("model", type(model).__name__), ("kernel", repr(model.kernel_)), ("alpha", f"{model.alpha_:.4g}"),
        ("plan", str(model.plan_)),
    ]  # fmt: skip
    left_out = [("R², each row left out", f"{score:.4f}")] if isinstance(score, float) else []
    _show.facts([*facts, *left_out, *([] if judged is None else [judged.show()])])
    if judged is None:
        _show.paragraph("No rows were held out: how well new rows are predicted is not known.")


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
