"""Tables that are larger than memory: everything is chosen on some of their rows, and the last fits read them all."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from mercer.arrays.budget import MemoryBudgetError, require
from mercer.formula.data import Rows, length, pick
from mercer.stored.arrays import open_array
from mercer.stored.plan import size_pieces
from mercer.stored.table import COPIES, StoredTable, choose_columns

from .fitting import SHARE
from .report import Report, Task
from .search.base import TableSearch
from .search.encodings import Encodings
from .search.members import LastFit, TableMember, fit_member, plan_last_fit
from .search.trials import Trial
from .tables.encoder import TableEncoder

SAMPLE, FEWEST = 50_000, 300  # rows that everything is chosen on, at most and at least
EACH = 10  # rows of a class that are among them at least, if there are so many
CENTERS = 1000  # that stand for all rows where no time is given
AT_ONCE = 2**20  # targets that are looked at at a time


class EncodedTable(StoredTable):
    """A stored table whose rows are encoded as they are read.

    Parameters
    ----------
    table : StoredTable
        The table as it is.
    columns : list of str or None
        The columns that the encoder has learned, None where columns have no names.
    encoder : TableEncoder
        What encodes them.
    """

    def __init__(self, table: StoredTable, columns: list[str] | None, encoder: TableEncoder) -> None:
        super().__init__(table.source)
        self._given, self._encoder = columns, encoder

    def open(self) -> Any:
        """Return the rows, encoded when they are read."""
        rows: Any = super().open()
        return EncodedPieces(rows, self._given, self._encoder)


class EncodedPieces:
    """The pieces of a table, encoded; as those of an array, because what is made of columns has no names there."""

    names: list[str] | None = None

    def __init__(self, rows: Any, columns: list[str] | None, encoder: TableEncoder) -> None:
        self._rows, self._columns, self._encoder = rows, columns, encoder
        self.name, self.n, self.locate = rows.name, rows.n, rows.locate
        self.width = max(len(encoder.get_feature_names_out()), rows.width if columns is None else len(columns))

    @property
    def pieces(self) -> list[Any]:
        """Rows that are read at a time."""
        return list(self._rows.pieces)

    def __getstate__(self) -> Any:
        return self.describe()

    def describe(self) -> Any:
        """Return what tells these rows from others."""
        return self._rows.describe(), self._columns, self._encoder

    def cut(self, rows: int) -> None:
        """Let pieces have at most so many rows."""
        self._rows.cut(rows)

    def read(self, piece: Any, columns: Any) -> Any:
        """Return the rows of a piece, encoded."""
        return self._encoder.transform(self._rows.read(piece, self._columns or []))


@dataclass(frozen=True)
class TableSample:
    """Rows that everything is chosen on: their cells, their targets, and where they are in the table."""

    X: Any
    y: Any
    positions: np.ndarray


class LargeTable:
    """A stored table with a target, which is read once before anything else.

    Parameters
    ----------
    table : StoredTable
        The rows.
    y : str, Path or array of shape (n,)
        Their targets: a column, the path of a ``.npy`` file, or an array.
    task : {"regression", "classification"}
        What targets are.
    memory : int
        The budget in bytes.
    owner : str
        Who asks, for messages.
    """

    def __init__(self, table: StoredTable, y: Any, task: Task, memory: int, owner: str) -> None:
        self._table, self._memory, self._task, self._owner = table, memory, task, owner
        rows: Any = table.open()
        self._rows = rows
        self._columns = choose_columns(self._rows, table.columns, y)
        self.n, self.name = self._rows.n, y if self._is_column(y) else "y"
        if not self.n:
            raise ValueError(f"{owner}: {self._rows.name} has no rows to learn from; look at what wrote it")
        self._width = self._rows.width if self._columns is None else len(self._columns)
        self._rows.cut(size_pieces(memory, self._width))
        self._given = self._open_targets(y)
        self._labels: list[Any] = []  # of classes, as they were met
        self.sample_count = 0

    def __enter__(self) -> LargeTable:
        with ExitStack() as ends:
            self._folder = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="mercer-auto-")))
            self._codes = self._make_file("codes", np.float64 if self._task == "regression" else np.int64)
            first = 0
            for piece in self._rows.pieces:
                self._codes[first : first + piece.count] = self._read_targets(piece, first)
                first += piece.count
            self.known = int(self._has_target(self._codes).sum())
            if not self.known:
                raise ValueError(f"{self._owner}: no row of {self._rows.name} has a {self.name}; choose another target")
            self._ends = ends.pop_all()  # and if anything was wrong, nothing is left
        return self

    def __exit__(self, *error: Any) -> None:
        self._ends.close()

    # -- some rows ----------------------------------------------------------------------------------------------------

    def take_sample(self, seed: int) -> TableSample:
        """Return rows from all over the table that fit into the budget, of every class some at least."""
        each = 16 * COPIES * self._width
        count = max(FEWEST, min(SAMPLE, self._memory // each))
        rng, known = np.random.default_rng(seed), np.flatnonzero(self._has_target(self._codes))
        chosen = [rng.choice(known, min(count, len(known)), replace=False)]
        if self._labels:
            counts = np.bincount(self._codes[chosen[0]], minlength=len(self._labels))
            chosen += self._find_first(np.where(counts < EACH, EACH, 0))
        positions = np.unique(np.concatenate(chosen))
        self.sample_count = len(positions)
        require(
            float(each * len(positions)), max(self._memory, each * FEWEST),
            f"{self._owner} looks at {len(positions):,} rows of {self._rows.name} at once, of each class some, which",
            "give more memory, or a target of fewer classes",
        )  # fmt: skip
        y: Any = (
            self._codes[positions] if self._task == "regression" else np.array(self._labels)[self._codes[positions]]
        )
        return TableSample(self._read_rows(positions), _name(y, self.name), positions)

    def _find_first(self, wanted: np.ndarray) -> list[np.ndarray]:
        """Return where the first rows of each class are, as many as are wanted of it, in one pass over all rows."""
        left, found = np.array(wanted), []
        for start in range(0, self.n, AT_ONCE):
            codes = np.array(self._codes[start : start + AT_ONCE])
            rows = np.flatnonzero(codes >= 0)
            rows = rows[left[codes[rows]] > 0]
            rows = rows[np.argsort(codes[rows], kind="stable")]
            own = codes[rows]
            rank = np.arange(len(own)) - np.searchsorted(own, own)
            found.append(start + rows[rank < left[own]])
            left = np.maximum(0, left - np.bincount(own, minlength=len(left)))
            if not left.any():
                break
        return found

    def _read_rows(self, positions: np.ndarray) -> Any:
        parts, first = [], 0
        for piece in self._rows.pieces:
            start, stop = np.searchsorted(positions, [first, first + piece.count])
            if stop > start:
                parts.append(pick(self._rows.read(piece, self._columns or []), positions[start:stop] - first))
            first += piece.count
        if self._columns is None:
            return np.concatenate(parts)
        import pandas as pd

        return pd.concat(parts, ignore_index=True)

    # -- all rows -----------------------------------------------------------------------------------------------------

    def fit_members(
        self, search: TableSearch, trials: list[Trial], weights: np.ndarray, encoder: TableEncoder, X: Rows,
        targets: np.ndarray, held: np.ndarray, seconds: float,
    ) -> tuple[list[TableMember], list[str]]:  # fmt: skip
        """Fit the chosen candidates, heaviest first, to all rows but those held out, and say how that was done.

        X and their targets are the rows of the sample that are not held out: encodings are learned from them.
        """
        kept = self._make_file("weights", np.float32)
        kept[:] = self._has_target(self._codes)
        kept[held] = 0.0
        kept.flush()
        chosen = [i for i in np.argsort(-weights, kind="stable") if weights[i] > 0]
        encodings, notes = Encodings(encoder, X, search.make_goals(targets)), dict[str, None]()
        members = []
        for i in chosen:
            trial, view = trials[i], encodings.encode(trials[i].way)
            estimator: Any = clone(trial.estimator)
            if "n_centers" in estimator.get_params():
                estimator.set_params(n_centers=self._count_centers(trial, search, SHARE * seconds / len(chosen)))
            try:
                if not (hasattr(estimator, "_fit_cluster") and has_fit_parameter(estimator, "sample_weight")):
                    raise MemoryBudgetError("it reads no pieces")
                stream = EncodedTable(self._table, self._columns, view.encoder)
                estimator.fit(
                    stream, self._write_targets(search, trial), sample_weight=self._folder / "weights.npy",
                    checkpoint=self._folder,
                )  # fmt: skip
            except MemoryBudgetError:
                shown = search.show_targets(targets, trial.extra)
                members.append(fit_member(trial, float(weights[i]), LastFit(None, len(targets)), view, shown))
                notes[
                    f"{type(estimator).__name__} cannot learn from pieces within the memory there is, so that it has "
                    f"learned from {len(targets):,} rows of the sample alone."
                ] = None
            else:
                members.append(TableMember(trial.name, float(weights[i]), estimator, view.encoder, trial.extra))
        return members, list(notes)

    def _count_centers(self, trial: Trial, search: TableSearch, seconds: float) -> int:
        """Return how many centres stand for all rows: as many as time and memory allow."""
        most = max(1, min(CENTERS, self.sample_count // 2, int((self._memory / 400) ** 0.5)))
        if not np.isfinite(seconds):
            return most
        columns = max(1, len(trial.encoder.get_feature_names_out()))
        how = plan_last_fit(trial.kernel, search.noun, self.n, columns, search.functions, self._memory, seconds)
        return min(most, how.centers or most)

    def describe(self, report: Report, held: int, refitted: bool) -> tuple[Report, str]:
        """Return the report with the rows of the whole table, and a sentence on which rows were seen by what."""
        scale = self.known / max(1, self.sample_count)
        columns = tuple(replace(column, missing=round(scale * column.missing)) for column in report.columns)
        last = "and then to all rows" if refitted and held else ""
        judged = f" It was fitted to all but {held:,} rows, which judge it{', ' * bool(last)}{last}." if held else ""
        said = (
            f"The table has {self.known:,} rows and is larger than memory: columns were understood, candidates and "
            f"baselines compared, and kernels and penalties chosen, on a sample of {self.sample_count:,} rows from all "
            f"over it; the model then read all rows, a piece at a time.{judged} What is said of columns is estimated "
            "from the sample, and rows that are named are counted in it."
        )
        return replace(report, n_rows=self.known, n_train=self.known - held, columns=columns), said

    # -- targets ------------------------------------------------------------------------------------------------------

    def _is_column(self, y: Any) -> bool:
        return isinstance(y, str) and self._rows.names is not None

    def _open_targets(self, y: Any) -> Any:
        """Return the column, or an array of as many targets as there are rows."""
        if self._is_column(y):
            return y
        if y is None:
            raise ValueError(f"{self._owner} requires y to be passed, but the target y is None")
        if isinstance(y, str | Path):
            y = open_array(Path(y))
        if length(y) != self.n:
            raise ValueError(f"{self._owner}: X has {self.n} rows, but y has {length(y)}; they must be the same")
        return np.asarray(y)

    def _read_targets(self, piece: Any, first: int) -> np.ndarray:
        """Return numbers, NaN where there are none; or the numbers of classes, −1 where there is none."""
        import pandas as pd

        column = isinstance(self._given, str)
        cells = self._rows.read(piece, [self._given])[self._given] if column else self._given[first:][: piece.count]
        cells = pd.Series(cells)
        if self._task == "regression":
            try:
                numbers = cells.to_numpy(dtype=np.float64, na_value=np.nan)
            except (TypeError, ValueError):
                raise ValueError(
                    f"{self._owner}: {self.name} holds {cells.dtype}, and a table that is larger than memory needs "
                    "numbers to predict; write them as numbers, or take AutoClassifier"
                ) from None
            return np.where(np.isfinite(numbers), numbers, np.nan)
        codes, labels = pd.factorize(cells)
        places = {label: number for number, label in enumerate(self._labels)}
        for label in labels:
            if label not in places:
                places[label] = len(self._labels)
                self._labels.append(label)
        numbers = np.array([*(places[label] for label in labels), -1], dtype=np.int64)
        return np.asarray(numbers[codes])

    def _has_target(self, codes: np.ndarray) -> np.ndarray:
        return np.asarray(~np.isnan(codes) if self._task == "regression" else codes >= 0)

    def _write_targets(self, search: TableSearch, trial: Trial) -> Path:
        """Write the targets of all rows as a candidate sees them, any where there is none, and return the file."""
        shown = search.show_targets(search.y[:1], trial.extra)
        shown = np.asarray(shown.tolist()) if shown.dtype == object else shown
        classes = np.asarray(search.classes)
        kind = shown.dtype if self._task == "regression" else np.asarray(classes.tolist()).dtype
        out, place = self._make_file("targets", kind), np.zeros(max(1, len(self._labels)), dtype=np.int64)
        place[: len(self._labels)] = np.searchsorted(classes, np.array(self._labels)) if self._labels else 0
        for start in range(0, self.n, AT_ONCE):
            codes = np.array(self._codes[start : start + AT_ONCE])
            known = self._has_target(codes)
            codes = np.where(known, codes, search.y.mean() if self._task == "regression" else 0)
            codes = codes if self._task == "regression" else place[codes]
            out[start : start + len(codes)] = search.show_targets(codes, trial.extra)
        out.flush()
        return self._folder / "targets.npy"

    def _make_file(self, name: str, kind: Any) -> Any:
        """Return a new array of a value for each row, in a file."""
        path = self._folder / f"{name}.npy"
        path.unlink(missing_ok=True)  # what is mapped still has the one before
        return np.lib.format.open_memmap(path, mode="w+", dtype=kind, shape=(self.n,))


def _name(values: np.ndarray, name: str) -> Any:
    import pandas as pd

    return pd.Series(values, name=name)
