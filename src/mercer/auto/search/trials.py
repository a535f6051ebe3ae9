"""Candidates: what may be tried, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mercer.kernels import Kernel

from ..tables.encoder import TableEncoder


@dataclass(frozen=True)
class Trial:
    """A candidate that was tuned, what it made of rows left out, and what that scored, the less the better."""

    name: str
    estimator: BaseEstimator
    encoder: TableEncoder
    kernel: Kernel
    outputs: np.ndarray  # values or probabilities of the rows that are judged
    score: float = math.nan
    way: str = "indicators"  # the encoding of its rows
    family: str = ""  # of its kernel, if that was learned
    extra: dict[str, Any] = field(default_factory=dict)  # what predictions need beside the estimator, as plain values
    seconds: float = 0.0


@dataclass(frozen=True)
class CandidateRecipe:
    """A candidate that may be tried, and how."""

    name: str
    make: Callable[[], Trial]
    cost: float = 1.0  # how long it takes, relative to the first recipe
