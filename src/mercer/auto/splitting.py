"""Which rows of a table are learned from, compared on, and held out."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import train_test_split

from .report import Task

FEWEST = 10  # rows from which some are held out


def hold_out(targets: np.ndarray, share: float, task: Task, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn from, and those held out; the only row of a class is learned from."""
    every, n = np.arange(len(targets)), len(targets)
    if share == 0 or n < FEWEST:
        return every, every[:0]
    common = find_common(targets, task)
    train, held = _split(every[common], targets[common], task, seed, max(1, round(share * n)))
    return np.sort(np.concatenate([train, every[~common]])), np.sort(held)


def sample_rows(rows: np.ndarray, targets: np.ndarray, count: int, task: Task, seed: int) -> np.ndarray:
    """Return some rows, of classes about their share, and of every class one at least."""
    if count >= len(rows):
        return rows
    if task == "regression":
        return np.sort(np.random.RandomState(seed).permutation(rows)[:count])
    common = find_common(targets[rows], task)
    kept = rows[common]
    if count < len(kept):
        kept = _split(kept, targets[kept], task, seed, count)[1]
    lost = np.setdiff1d(targets[rows], targets[kept])
    first = [rows[np.flatnonzero(targets[rows] == code)[0]] for code in lost]
    return np.sort(np.concatenate([kept, np.array(first, dtype=int)]))


def find_common(targets: np.ndarray, task: Task) -> np.ndarray:
    """Return which rows are not the only one of their class."""
    if task == "regression":
        return np.ones(len(targets), dtype=bool)
    return np.asarray(np.bincount(targets)[targets] > 1)


def _split(rows: np.ndarray, targets: np.ndarray, task: Task, seed: int, second: int) -> tuple[np.ndarray, np.ndarray]:
    """Split rows at random, with the same share of each class in both parts where there are rows enough."""
    second = min(second, len(rows) - 1)
    classes = len(np.unique(targets)) if task == "classification" else 0
    strata = targets if classes and min(second, len(rows) - second) >= classes else None
    return tuple(train_test_split(rows, test_size=second, random_state=seed, stratify=strata))
