"""Labels of rows in partitions: the classes, their weights, and blocks with classes in place of labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from mercer.estimators.kernel_argument import kernel_argument
from mercer.estimators.targets import encode_labels
from mercer.kernels import Gaussian, Kernel
from mercer.learning.class_penalty import make_targets

from ._block import Moments, RowBlock, measure_block
from .table import RowTable


@dataclass(frozen=True)
class Classes:
    """What the labels of all rows say."""

    names: np.ndarray  # the labels that occur with a weight, in order
    factors: np.ndarray | None  # the factor of the weights of each class, if there are such factors
    mass: np.ndarray  # the weight of each class, factors included

    @classmethod
    def of(cls, owner: Any, table: RowTable) -> Classes:
        """Read the classes from a survey."""
        labels = table.survey.labels
        known = np.array(list(labels))
        check_classification_targets(np.concatenate([known] * 3))
        order = np.argsort(known)
        counts = np.array([labels[label][0] for label in labels], dtype=np.float64)[order]
        weights = np.array([labels[label][1] for label in labels])[order]
        known = known[order]
        present = weights > 0
        names, _ = encode_labels(owner, known[present])
        factors = _weigh_classes(owner, known[present], counts[present])
        mass = weights[present] if factors is None else weights[present] * factors
        return cls(names, factors, mass)

    def make_targets(self, table: RowTable) -> RowTable:
        """Return the table with targets of ±1: one column for two classes, otherwise one for each."""
        count = len(self.names)
        two = count == 2
        total = float(self.mass.sum())
        mean = (2 * self.mass[1:] - total) / total if two else (2 * self.mass - total) / total
        survey = replace(
            table.survey, outputs=1 if two else count, flat=two, weight=total,
            weighted=table.survey.weighted or self.factors is not None,
            y_moments=Moments(total, mean, total * (1 - mean**2)),
        )  # fmt: skip
        return replace(table.with_blocks("targets", _make_block_targets, self), survey=survey)

    def encode(self, table: RowTable) -> RowTable:
        """Return the table with the positions of labels among the classes."""
        survey = replace(table.survey, weight=float(self.mass.sum()), outputs=1, flat=True)
        return replace(table.with_blocks("codes", _encode_block, self), survey=survey)


def _weigh_classes(owner: Any, known: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
    """Return the factor of each label that ``class_weight`` asks for, None if it asks for none."""
    asked = getattr(owner, "class_weight", None)
    if asked is None:
        return None
    if isinstance(asked, str):
        if asked != "balanced":
            raise ValueError(f"{type(owner).__name__}: class_weight must be a dict or 'balanced', got {asked!r}")
        return np.asarray(counts.sum() / (len(counts) * counts))
    factors = np.asarray(compute_class_weight(asked, classes=known, y=known), dtype=np.float64)
    if not (np.isfinite(factors) & (factors > 0)).all():
        raise ValueError(
            f"{type(owner).__name__}: for rows in partitions class weights must be positive, got {asked!r}; leave out "
            "the rows of classes that should not count"
        )
    return factors


def resolve_kernel(owner: Any, table: RowTable) -> Kernel:
    """Return the kernel of a classifier; without one, the Gaussian that adapts to the variance of the data."""
    if owner.kernel is not None:
        return kernel_argument(owner).resolve(table.head, assume_psd=owner.assume_psd)
    moments: Any = table.survey.moments
    if getattr(owner, "class_weight", None) is not None:  # blocks have other weights than those that were surveyed
        moments, *others = table.each("variance", measure_block)
        for other in others:
            moments = moments.merge(other)
    assert isinstance(moments, Moments)  # vectors, or the check of the data would have failed
    spread = table.head.shape[1] * moments.variance
    return Gaussian.from_gamma(1.0 / spread) if spread > 0 else Gaussian()


def _encode_block(block: RowBlock, classes: Classes) -> RowBlock:
    codes = np.searchsorted(classes.names, block.y)
    weights = block.weights
    if classes.factors is not None:
        weights = block.known_weights * classes.factors[codes]
    return replace(block, y=codes, weights=weights)


def _make_block_targets(block: RowBlock, classes: Classes) -> RowBlock:
    block = _encode_block(block, classes)
    return replace(block, y=make_targets(block.y, len(classes.names)))
