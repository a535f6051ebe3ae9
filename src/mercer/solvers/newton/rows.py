"""Labelled rows in explicit features: the sums that Newton's equations are made of, a block of rows at a time.

This is all that Newton's method in features asks of the data, so that rows may be on the host, on a device or in
partitions, each with the same sums of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import cast, einsum, namespace
from mercer.arrays.tensors import is_tensor
from mercer.linalg.triangles import square

from .sums import LossSums, WeightedLoss

Equations = tuple[Array, Array, Array]

CACHED = 2**20  # bytes of rows that are converted at a time


class FeatureBlocks(ABC):
    """Features of all points, a block of rows at a time."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Points and features."""

    @abstractmethod
    def blocks(self) -> Iterable[tuple[slice, Array]]:
        """Yield rows of the features, with their places."""

    def some(self, positions: np.ndarray) -> Iterator[tuple[slice, Array]]:
        """Yield the features of points at ascending positions, with their places among those."""
        for rows, phi in self.blocks():
            part = slice(*np.searchsorted(positions, (rows.start, rows.stop)))
            if part.start < part.stop:
                yield part, phi[positions[part] - rows.start]

    def apply(self, weights: Array) -> Array:
        """Return Φw, in the precision of w."""
        out = _make_zeros(weights, self.shape[0], weights.shape[1])
        for rows, phi in cast_blocks(self.blocks(), weights):
            out[rows] = phi @ weights
        return out

    def pull(self, values: Array) -> Array:
        """Return ΦᵀV, in the precision of V."""
        total = _make_zeros(values, self.shape[1], values.shape[1])
        for rows, phi in cast_blocks(self.blocks(), values):
            total += phi.T @ values[rows]
        return total


class WeightedRows(Protocol):
    """Rows that sum up; outputs are those of the loss."""

    @property
    def loss(self) -> LossSums:
        """The loss of the rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """Features and functions."""

    def judge_by(self, loss: Any) -> WeightedRows:
        """Return the rows with another loss."""

    def start(self) -> tuple[Array, Array]:
        """Return weights of 0, and their values."""

    def values(self, weights: Array) -> Array:
        """Return Φw."""

    def gradient(self, outputs: Array) -> Array:
        """Return ΦᵀR for the residuals R."""

    def hessian(self, outputs: Array, joint: bool, above: bool = False) -> Equations:
        """Return ΦᵀWΦ (of all pairs of functions, or not joint), ΦᵀW1 and 1ᵀW1 for the curvatures W.

        Not joint it is of each function alone, or of functions that are judged together one for all of them, as a
        preconditioner of the whole.  ``above`` asks for the curvatures of parabolas that touch the losses and are
        nowhere below them.
        """

    def curve(self, outputs: Array, V: Array) -> Array:
        """Return ΦᵀWΦV."""


class FeatureRows:
    """Rows on one machine."""

    def __init__(self, loss: WeightedLoss, features: FeatureBlocks) -> None:
        self.loss, self.features = loss, features

    @property
    def shape(self) -> tuple[int, int]:
        """Features and functions."""
        return self.features.shape[1], self.loss.outputs

    def judge_by(self, loss: WeightedLoss) -> FeatureRows:
        """Return the rows with another loss."""
        return FeatureRows(loss, self.features)

    def start(self) -> tuple[Array, Array]:
        """Return weights of 0, and their values."""
        return self.loss.zeros(*self.shape), self.loss.zeros(self.features.shape[0], self.loss.outputs)

    def values(self, weights: Array) -> Array:
        """Return Φw, in float64, as a gradient must be."""
        return self.features.apply(weights)

    def gradient(self, outputs: Array) -> Array:
        """Return ΦᵀR for the residuals R."""
        return self.features.pull(self.loss.residuals(outputs))

    def hessian(self, outputs: Array, joint: bool, above: bool = False) -> Equations:
        """Return ΦᵀWΦ (of all pairs of functions, or not joint), ΦᵀW1 and 1ᵀW1 for the curvatures W."""
        (m, q), W = self.shape, self.loss.curvature(outputs, above=above).blocks()
        alone = share_curvature(W) if self.loss.joint else einsum("nii->ni", W)
        H = self.loss.zeros(m * q, m * q) if joint else self.loss.zeros(alone.shape[1], m, m)
        B = self.loss.zeros(m * q, q)
        for rows, phi in self.features.blocks():
            for some, part in cast_blocks([(rows, phi)], W):
                B += (part.T @ W[some].reshape(-1, q * q)).reshape(m * q, q)
            if not joint:
                for i in range(alone.shape[1]):
                    H[i] += weigh_features(phi, alone[rows, i])
                continue
            for i in range(q):
                for j in range(i + 1):
                    part = weigh_features(phi, W[rows, i, j], signed=i != j)
                    H[i::q, j::q] += part
                    if j < i:
                        H[j::q, i::q] += part.T
        return H, B, W.sum(axis=0)

    def curve(self, outputs: Array, V: Array) -> Array:
        """Return ΦᵀWΦV."""
        W, total = self.loss.curvature(outputs).blocks(), self.loss.zeros(*self.shape)
        for rows, phi in cast_blocks(self.features.blocks(), V):
            total += phi.T @ einsum("nij,nj->ni", W[rows], phi @ V)
        return total


def cast_blocks(blocks: Iterable[tuple[slice, Array]], like: Array) -> Iterator[tuple[slice, Array]]:
    """Yield rows in the precision of something else; on the host, if that converts them, as many as caches hold."""
    for rows, phi in blocks:
        if is_tensor(phi) or phi.dtype == like.dtype:
            yield rows, cast(phi, like)
            continue
        step = max(1, CACHED // (like.itemsize * phi.shape[1]))
        for start in range(0, len(phi), step):
            part = phi[start : start + step]
            yield slice(rows.start + start, rows.start + start + len(part)), cast(part, like)


def _make_zeros(like: Array, *shape: int) -> Array:
    return namespace(like).zeros(shape, dtype=like.dtype, device=like.device)


def share_curvature(W: Array) -> Array:
    """Return one curvature of each point for all its functions together, of shape (n, 1): half the trace.

    That is the curvature of a point between two classes, which is where most points that curve at all are.
    """
    return 0.5 * einsum("nii->n", W)[:, None]


def weigh_features(phi: Array, weights: Array, signed: bool = False) -> Array:
    """Return Φᵀ diag(w) Φ in the precision of Φ.

    Weights that are not ``signed`` go to both sides by their roots: a matrix times its own transpose takes half the
    operations.
    """
    weights = cast(weights[:, None], phi)
    if signed:
        return phi.T @ (phi * weights)
    rooted = phi * weights.clip(0.0) ** 0.5
    return rooted.T @ rooted if is_tensor(rooted) else square(rooted.T)
