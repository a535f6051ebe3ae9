"""Rows of the kernel matrix for many machines at once: the whole matrix stored, or the rows of a round computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from mercer.arrays.tensors import load_torch
from mercer.gram.torch.compiling import fusable

ROWS, COLUMNS = 16, 128  # of a tile that one program adds up
TOGETHER = 256  # rows added up at a time without Triton
STRIPS = 16  # parts that rows are computed in


class DeviceRows(Protocol):
    """Where problems find the rows of their points."""

    def take(self, points: Any) -> tuple[Any, Any]:
        """Return a matrix that holds the rows of some points, and where in it each of them is."""

    def blocks(self, points: Any, weights: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Yield the rows of points with a weight: matrices, places in them, and weights of those that are there."""


class StoredRows:
    """The whole matrix on the device."""

    def __init__(self, gram: Any) -> None:
        self._matrix = gram.dense()

    def take(self, points: Any) -> tuple[Any, Any]:
        """Return the matrix, in which points are where they are."""
        return self._matrix, points

    def blocks(self, points: Any, weights: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Yield the matrix."""
        yield self._matrix, points, weights


class ComputedRows:
    """Rows computed when they are asked for, so many held at a time, because all of them do not fit."""

    def __init__(self, gram: Any, most: int) -> None:
        self._gram, self._most = gram, most

    def take(self, points: Any) -> tuple[Any, Any]:
        """Compute the rows of some points, once for all problems that share them."""
        torch = load_torch()
        unique, places = torch.unique(points, return_inverse=True)
        return self._rows(unique), places

    def blocks(self, points: Any, weights: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Yield rows, as many as may be held at a time."""
        torch = load_torch()
        for unique in torch.unique(points[weights != 0]).split(self._most):
            places = torch.searchsorted(unique, points).clamp_(max=len(unique) - 1)
            there = unique[places] == points
            yield self._rows(unique), places, weights * there

    def _rows(self, index: Any) -> Any:
        """Compute rows a few at a time, because those being computed take several times their memory."""
        parts = index.split(max(1, self._most // STRIPS))
        out = load_torch().empty(
            len(index), self._gram.shape[1], dtype=getattr(load_torch(), self._gram.dtype.name), device=index.device
        )
        start = 0
        for part in parts:
            out[start : start + len(part)] = self._gram.rows(part)
            start += len(part)
        return out


def add_rows(matrix: Any, rows: Any, columns: Any, weights: Any, out: Any) -> None:
    """Add Σᵣ weights[b, r] · matrix[rows[b, r], columns[b, :]] to ``out[b]`` for every problem b, in float64.

    Rows without a weight are not read.
    """
    torch = load_torch()
    # Rows with a weight come first, so that the others cost nothing.
    order = torch.argsort((weights == 0).to(torch.int8), dim=1, stable=True)
    rows, weights, counts = rows.gather(1, order), weights.gather(1, order), (weights != 0).sum(1)
    if fusable(matrix.device):
        from .triton import add_weighted

        grid = (-(-columns.shape[1] // COLUMNS), len(columns))
        add_weighted[grid](
            matrix, matrix.stride(0), rows, columns, weights, counts, out, rows.shape[1], columns.shape[1],
            ROWS=ROWS, COLUMNS=COLUMNS, num_warps=4,
        )  # fmt: skip
        return
    for b, count in enumerate(counts.tolist()):
        for start in range(0, count, TOGETHER):
            part = slice(start, min(start + TOGETHER, count))
            out[b] += weights[b, part] @ matrix[rows[b, part]][:, columns[b]].double()
