"""Which rows of a table are learned from, compared on, and held out."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import train_test_split

from .report import Task

FEWEST = 10  # rows from which some are held out


def hold_out(targets: np.ndarray, share: float, task: Task, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn from, of every class one at least, and those held out."""
    every, n = np.arange(len(targets)), len(targets)
    common = find_common(targets, task)
    if share == 0 or n < FEWEST or not common.any():
        return every, every[:0]
    held = _split(every[common], targets[common], task, seed, max(1, round(share * n)))[1]
    if task == "classification":
        held = np.setdiff1d(held, _take_first(held, targets, np.delete(targets, held)))
    return np.setdiff1d(every, held), np.sort(held)


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
    return np.sort(np.concatenate([kept, _take_first(rows, targets, targets[kept])]))


def show_rows(n: int, most: int) -> np.ndarray:
    """Return some of n rows to look at, in their order, and always the same ones."""
    return np.sort(np.random.RandomState(0).permutation(n)[:most]) if n > most else np.arange(n)


def find_common(targets: np.ndarray, task: Task) -> np.ndarray:
    """Return which rows are not the only one of their class."""
    if task == "regression":
        return np.ones(len(targets), dtype=bool)
    return np.asarray(np.bincount(targets)[targets] > 1)


def _take_first(rows: np.ndarray, targets: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the first of some rows for each of their classes that is not among the known ones."""
    codes, first = np.unique(targets[rows], return_index=True)
    return np.asarray(rows[first[~np.isin(codes, known)]])


def _split(rows: np.ndarray, targets: np.ndarray, task: Task, seed: int, second: int) -> tuple[np.ndarray, np.ndarray]:
    """Split rows at random, with the same share of each class in both parts where there are rows enough."""
    second = min(second, len(rows) - 1)
    classes = len(np.unique(targets)) if task == "classification" else 0
    strata = targets if classes and min(second, len(rows) - second) >= classes else None
    return tuple(train_test_split(rows, test_size=second, random_state=seed, stratify=strata))
