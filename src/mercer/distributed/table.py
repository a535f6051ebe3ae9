"""The rows of a fit, in blocks on workers: counted, picked, gathered and summed up."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.arrays.budget import require
from mercer.estimators.kernel_argument import KernelArgument
from mercer.formula.data import Rows, length, pick

from ._block import Kind, RowBlock, Survey, survey_block
from ._intake import Intake, join_rows, list_rows
from .executor import Executor, Pieces, size_of

HEAD = 5  # rows that are looked at before all others
REMEMBERED = 3  # sets of rows that were picked


@dataclass(frozen=True)
class RowTable:
    """Blocks with their sizes."""

    cluster: Executor  # where they are
    blocks: list[Any]  # one task for each partition that has rows
    survey: Survey  # what one pass over them found
    head: Any  # the first few rows, checked
    # rows that were picked before, a few of the last sets of them, by field
    fetched: dict[str, list[tuple[np.ndarray, Any]]] = field(default_factory=dict)

    @property
    def counts(self) -> np.ndarray:
        """Rows with a weight in each block."""
        return np.array([kept for _, kept, _ in self.survey.sizes if kept], dtype=np.int64)

    @property
    def n(self) -> int:
        """All rows with a weight."""
        return int(self.counts.sum())

    def reduce(self, name: str, function: Callable[..., Any], *shared: Any) -> Any:
        """Return the sum of function(block, *shared) over all blocks."""
        tasks = self.cluster.map(name, function, self.blocks, *shared)
        (total,) = self.cluster.compute([self.cluster.sum(name, tasks)])
        self.cluster.count("sums", len(tasks) * size_of(total))
        return total

    def each(self, name: str, function: Callable[..., Any], *shared: Any) -> list[Any]:
        """Return function(block, *shared) of every block."""
        found = self.cluster.compute(self.cluster.map(name, function, self.blocks, *shared))
        self.cluster.count("values of rows", sum(map(size_of, found)))
        return found

    def column(self, field: str) -> TableColumn:
        """Return the points, targets or weights of all rows as a collection whose rows can be picked."""
        return TableColumn(self, field)

    def pick(self, field: str, positions: np.ndarray) -> Any:
        """Return some rows, in the order given; nothing else moves."""
        positions = np.asarray(positions, dtype=np.int64)
        known = self._recall(field, positions)
        if known is not None:
            return known
        tasks, order = self._make_picks(field, positions)
        if not tasks:
            return pick(self.head, np.empty(0, dtype=np.intp)) if field == "X" else np.empty(0)
        found = join_rows(self.cluster.compute(tasks))
        self.cluster.count("picked rows", size_of(found))
        rows = pick(found, order)
        self.fetched[field] = [*self.fetched.get(field, [])[1 - REMEMBERED :], (positions, rows)]
        return rows

    def _recall(self, field: str, positions: np.ndarray) -> Any:
        """Return rows that were picked before, as centres are from the rows they are chosen among."""
        for before, rows in self.fetched.get(field, []):
            order = np.argsort(before)
            places = order[np.minimum(np.searchsorted(before, positions, sorter=order), len(before) - 1)]
            if np.array_equal(before[places], positions):
                return pick(rows, places)
        return None

    def pick_later(self, field: str, positions: np.ndarray) -> Any:
        """Return the task whose result is some rows, for other tasks: they do not pass through the client."""
        tasks, order = self._make_picks(field, positions)
        return self.cluster.join("rows", _join_picked, tasks, order)

    def _make_picks(self, field: str, positions: np.ndarray) -> tuple[list[Any], np.ndarray]:
        """Return tasks for the rows of each block that are wanted, and where each wanted row is in what they give."""
        positions = np.asarray(positions, dtype=np.int64)
        ends = np.cumsum(self.counts)
        blocks = np.searchsorted(ends, positions, side="right")
        order = np.argsort(blocks, kind="stable")
        which, starts = np.unique(blocks[order], return_index=True)
        groups = np.split(positions[order] - (ends - self.counts)[blocks[order]], starts[1:])
        tasks = [
            self.cluster.map("pick", _pick_rows, [self.blocks[i]], field, local)[0]
            for i, local in zip(which, groups, strict=True)
        ]
        inverse = np.empty(len(order), dtype=np.int64)
        inverse[order] = np.arange(len(order))
        return tasks, inverse

    def gather(self, field: str, what: str, memory: int) -> Any:
        """Return all rows, if they fit into the budget."""
        require(
            2.0 * self.survey.nbytes, memory, f"{what} keeps all {self.n} training rows by definition, which",
            "give more memory, or use a model of few centres such as KernelRidge(solver='nystroem')",
        )  # fmt: skip
        found = join_rows(self.cluster.compute(self.cluster.map("gather", _read_column, self.blocks, field)))
        self.cluster.count("all rows", size_of(found))
        return found

    def without_points(self) -> RowTable:
        """Return a table for passes that look at targets and weights alone."""
        return replace(self, blocks=self.cluster.keep_targets(self.blocks))

    def thin(self, times: int) -> RowTable:
        """Return a table of one row of so many, drawn at random in each block, which stay where they are."""
        sizes = [(rows, _count_drawn(kept, times), index) for rows, kept, index in self.survey.sizes]
        keep = self.cluster.keep if isinstance(self.head, np.ndarray) else self.cluster.keep_rows  # files hold numbers
        blocks = keep(self.cluster.map("thin", _draw_rows, self.blocks, times))
        return replace(self, blocks=blocks, survey=replace(self.survey, sizes=sizes), fetched={})

    def narrow(self, name: str, function: Callable[..., RowBlock], *shared: Any) -> RowTable:
        """Return a table of the rows that a function takes of each block, of some at least."""
        taken = self.each(name, _measure_taken, function, *shared)
        left = iter(taken)
        sizes = [(rows, next(left)[0] if kept else 0, index) for rows, kept, index in self.survey.sizes]
        survey = replace(self.survey, sizes=sizes, weight=sum(weight for _, weight in taken))
        blocks = [block for block, (count, _) in zip(self.blocks, taken, strict=True) if count]
        return replace(self, blocks=self.cluster.map(name, function, blocks, *shared), survey=survey, fetched={})

    def with_blocks(self, name: str, function: Callable[..., RowBlock], *shared: Any) -> RowTable:
        """Return a table whose blocks are functions of these, with as many rows each."""
        same = {field: rows for field, rows in self.fetched.items() if field == "X"}
        return replace(self, blocks=self.cluster.map(name, function, self.blocks, *shared), fetched=same)


@dataclass(frozen=True)
class TableColumn:
    """The points, targets or weights of all rows: has a shape, and gives the rows at some positions."""

    table: RowTable
    field: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, and columns where there are any."""
        survey = self.table.survey
        if self.field == "X":
            tail = tuple(getattr(self.table.head, "shape", ()))[1:]
        else:
            tail = (survey.outputs,) if self.field == "y" else ()
        return (self.table.n, *tail)

    def __len__(self) -> int:
        return self.table.n

    def __getitem__(self, positions: Any) -> Any:
        if isinstance(positions, slice):
            positions = np.arange(*positions.indices(len(self)))
        found = self.table.pick(self.field, positions)
        return found.reshape(-1, *self.shape[1:]) if self.field == "y" else found


def read_table(
    cluster: Executor, argument: KernelArgument, kind: Kind, X: Any, y: Any, sample_weight: Any, *,
    keep_all: bool = False, matrix: bool = False,
) -> RowTable:  # fmt: skip
    """Check the data of a fit where it lives, and count it; sets number and names of columns of the estimator.

    With ``keep_all`` rows without weight stay, because the model counts them; with ``matrix`` rows may be those of a
    precomputed matrix.
    """
    owner = argument.owner
    name = type(owner).__name__
    if argument.is_matrix and not matrix:
        raise ValueError(
            f"{name}: kernel='precomputed' is not possible for rows in partitions, because a matrix "
            "of all pairs has no rows of its own; give a kernel and the points"
        )
    rows, targets, weights = cluster.align(X, y, sample_weight, name)
    head = argument.check(_read_head(cluster, rows, name), reset=True)
    bare = clone(owner)
    for attribute in ("n_features_in_", "feature_names_in_"):
        if attribute in vars(owner):
            setattr(bare, attribute, getattr(owner, attribute))
    argument = copy.copy(argument)
    argument.owner = bare
    intake = Intake(argument, kind, keep_all, cluster.room, cluster.notes)
    blocks = _read_blocks(cluster, intake, rows, targets, weights)
    surveys = cluster.map("survey", survey_block, blocks, kind, keep_all)
    survey: Survey = cluster.compute([cluster.sum("survey", surveys)])[0]
    if survey is None or sum(kept for _, kept, _ in survey.sizes) == 0:
        raise ValueError(f"{name}: all sample weights are zero, so there is nothing to fit; give some points a weight")
    survey.sizes.sort(key=lambda size: size[2])
    return RowTable(cluster, [blocks[index] for _, kept, index in survey.sizes if kept], survey, head)


def _read_blocks(cluster: Executor, intake: Intake, rows: Pieces, targets: Pieces | None, weights: Any) -> list[Any]:
    count = len(rows.tasks)
    ys = [None] * count if targets is None else targets.tasks
    ws = weights.tasks if isinstance(weights, Pieces) else [weights] * count
    given = [[X, y, w, i] for i, (X, y, w) in enumerate(zip(rows.tasks, ys, ws, strict=True))]
    return cluster.map("block", _read_block, given, intake)


def _read_block(given: list[Any], intake: Intake) -> RowBlock:
    return intake.read(*given)


def _read_head(cluster: Executor, rows: Pieces, name: str) -> Rows:
    """Return the first rows there are, looking at one partition after the other."""
    for task in rows.tasks:
        (found,) = cluster.compute(cluster.map("head", _take_first, [task]))
        if found is not None:
            return found
    raise ValueError(f"{name}: X has no rows in any of its {len(rows.tasks)} partitions")


def _take_first(X: Any) -> Rows | None:
    X = list_rows(X)
    return pick(X, np.arange(min(HEAD, length(X)))) if length(X) else None


def _pick_rows(block: RowBlock, field: str, positions: np.ndarray) -> Any:
    return pick(getattr(block, field), positions)


def _count_drawn(count: int, times: int) -> int:
    """Return how many of the rows of a block are drawn: one at least, because blocks have rows."""
    return max(1, count // times) if count else 0


def _draw_rows(block: RowBlock, times: int) -> RowBlock:
    order = np.random.default_rng(block.index).permutation(len(block))
    return block.take(np.sort(order[: _count_drawn(len(block), times)]))


def _measure_taken(block: RowBlock, function: Callable[..., RowBlock], *shared: Any) -> tuple[int, float]:
    taken = function(block, *shared)
    return len(taken), float(taken.known_weights.sum())


def _join_picked(parts: list[Any], order: np.ndarray) -> Any:
    return pick(join_rows(parts), order)


def _read_column(block: RowBlock, field: str) -> Any:
    return getattr(block, field)
