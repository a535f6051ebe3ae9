"""The rows of a fit, in blocks on workers: counted, picked, gathered and summed up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.arrays.budget import require
from mercer.estimators.kernels import checked_rows
from mercer.formula.data import is_frame, pick

from ._block import Block, Intake, joined
from ._cluster import Cluster
from ._collections import Pieces, aligned
from ._graph import constant, mapped, together, tree
from ._survey import Survey, size_of, survey_of

HEAD = 5  # rows that are looked at before all others
REMEMBERED = 3  # sets of rows that were picked


@dataclass(frozen=True)
class Table:
    """Blocks with their sizes.

    Parameters
    ----------
    cluster : Cluster
        Where they are.
    blocks : list
        One task for each partition that has rows.
    survey : Survey
        What one pass over them found.
    head : collection
        The first few rows, checked.
    fetched : dict
        Rows that were picked before, a few of the last sets of them, by field.
    """

    cluster: Cluster
    blocks: list[Any]
    survey: Survey
    head: Any
    fetched: dict[str, list[tuple[np.ndarray, Any]]] = field(default_factory=dict)

    @property
    def counts(self) -> np.ndarray:
        """Rows with a weight in each block."""
        return np.array([kept for _, kept, _ in self.survey.sizes], dtype=np.int64)

    @property
    def n(self) -> int:
        """All rows with a weight."""
        return int(self.counts.sum())

    def reduce(self, name: str, function: Callable[..., Any], *shared: Any) -> Any:
        """Return the sum of function(block, *shared) over all blocks."""
        tasks = mapped(name, function, self.blocks, *shared)
        (total,) = self.cluster.compute([tree(name, tasks)])
        self.cluster.count("sums", len(tasks) * size_of(total))
        return total

    def each(self, name: str, function: Callable[..., Any], *shared: Any) -> list[Any]:
        """Return function(block, *shared) of every block."""
        found = self.cluster.compute(mapped(name, function, self.blocks, *shared))
        self.cluster.count("values of rows", sum(map(size_of, found)))
        return found

    def column(self, field: str) -> Column:
        """Return the points, targets or weights of all rows as a collection whose rows can be picked."""
        return Column(self, field)

    def pick(self, field: str, positions: np.ndarray) -> Any:
        """Return some rows, in the order given; nothing else moves."""
        positions = np.asarray(positions, dtype=np.int64)
        known = self._known(field, positions)
        if known is not None:
            return known
        tasks, order = self._picks(field, positions)
        if not tasks:
            return pick(self.head, np.empty(0, dtype=np.intp)) if field == "X" else np.empty(0)
        found = joined(self.cluster.compute(tasks))
        self.cluster.count("picked rows", size_of(found))
        rows = pick(found, order)
        self.fetched[field] = [*self.fetched.get(field, [])[1 - REMEMBERED :], (positions, rows)]
        return rows

    def _known(self, field: str, positions: np.ndarray) -> Any:
        """Return rows that were picked before, as centres are from the rows they are chosen among."""
        for before, rows in self.fetched.get(field, []):
            order = np.argsort(before)
            places = order[np.minimum(np.searchsorted(before, positions, sorter=order), len(before) - 1)]
            if np.array_equal(before[places], positions):
                return pick(rows, places)
        return None

    def picked(self, field: str, positions: np.ndarray) -> Any:
        """Return the task whose result is some rows, for other tasks: they do not pass through the client."""
        tasks, order = self._picks(field, positions)
        return together("rows", _joined, tasks, order)

    def _picks(self, field: str, positions: np.ndarray) -> tuple[list[Any], np.ndarray]:
        """Return tasks for the rows of each block that are wanted, and where each wanted row is in what they give."""
        positions = np.asarray(positions, dtype=np.int64)
        ends = np.cumsum(self.counts)
        blocks = np.searchsorted(ends, positions, side="right")
        order = np.argsort(blocks, kind="stable")
        which, starts = np.unique(blocks[order], return_index=True)
        groups = np.split(positions[order] - (ends - self.counts)[blocks[order]], starts[1:])
        tasks = [
            mapped("pick", _some_of, [self.blocks[i]], field, local)[0] for i, local in zip(which, groups, strict=True)
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
        found = joined(self.cluster.compute(mapped("gather", _all_of, self.blocks, field)))
        self.cluster.count("all rows", size_of(found))
        return found

    def with_blocks(self, name: str, function: Callable[..., Block], *shared: Any) -> Table:
        """Return a table whose blocks are functions of these, with as many rows each."""
        same = {field: rows for field, rows in self.fetched.items() if field == "X"}
        return replace(self, blocks=mapped(name, function, self.blocks, *shared), fetched=same)


@dataclass(frozen=True)
class Column:
    """The points, targets or weights of all rows: has a shape, and gives the rows at some positions."""

    table: Table
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


def make_table(model: Any, cluster: Cluster, intake: Intake, X: Any, y: Any, sample_weight: Any) -> Table:
    """Check the data of a fit where it lives, and count it; sets number and names of columns of the model."""
    name = type(model).__name__
    rows, targets, weights = aligned(X, y, sample_weight, name)
    head = checked_rows(model, _head(cluster, intake, rows), intake.argument, reset=True)
    owner = clone(model)
    for attribute in ("n_features_in_", "feature_names_in_"):
        if attribute in vars(model):
            setattr(owner, attribute, getattr(model, attribute))
    intake = replace(intake, owner=owner)
    shared = constant(intake)
    blocks = _blocks(shared, rows, targets, weights)
    survey: Survey = cluster.compute([tree("survey", mapped("survey", survey_of, blocks, intake))])[0]
    if survey is None or sum(kept for _, kept, _ in survey.sizes) == 0:
        raise ValueError(f"{name}: all sample weights are zero, so there is nothing to fit; give some points a weight")
    survey.sizes.sort(key=lambda size: size[2])
    present = [size for size in survey.sizes if size[1] > 0]
    places = [size[2] for size in present]
    return Table(cluster, [blocks[i] for i in places], replace(survey, sizes=present, every=survey.sizes), head)


def copy_columns(model: Any, inner: Any, head: Any) -> None:
    """Tell a model inside another what it is given: a frame if rows stay in frames, and otherwise an array."""
    names = ("n_features_in_", "feature_names_in_") if is_frame(head) else ("n_features_in_",)
    for name in names:
        if hasattr(model, name):
            setattr(inner, name, getattr(model, name))


def _blocks(intake: Any, rows: Pieces, targets: Pieces | None, weights: Any) -> list[Any]:
    from uuid import uuid4

    from dask import delayed

    token = f"mercer-block-{uuid4().hex}"
    count = len(rows.tasks)
    ys = [None] * count if targets is None else targets.tasks
    ws = weights.tasks if isinstance(weights, Pieces) else [weights] * count
    call = delayed(_block, pure=True, traverse=False)
    return [
        call(intake, X, y, w, i, dask_key_name=(token, i))
        for i, (X, y, w) in enumerate(zip(rows.tasks, ys, ws, strict=True))
    ]


def _block(intake: Intake, X: Any, y: Any, weights: Any, index: int) -> Block:
    return intake.block(X, y, weights, index)


def _head(cluster: Cluster, intake: Intake, rows: Pieces) -> Any:
    """Return the first rows there are, looking at one partition after the other."""
    for task in rows.tasks:
        (found,) = cluster.compute(mapped("head", _first_of, [task], intake))
        if found is not None:
            return found
    raise ValueError(f"{type(intake.owner).__name__}: X has no rows in any of its {len(rows.tasks)} partitions")


def _first_of(X: Any, intake: Intake) -> Any:
    return intake.head(X, HEAD)


def _some_of(block: Block, field: str, positions: np.ndarray) -> Any:
    return pick(getattr(block, field), positions)


def _joined(parts: list[Any], order: np.ndarray) -> Any:
    return pick(joined(parts), order)


def _all_of(block: Block, field: str) -> Any:
    return getattr(block, field)
