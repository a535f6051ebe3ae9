"""How a broken law is told: ``AssertionError`` with a sentence that says which law, and where."""

from __future__ import annotations

import numpy as np


def expect(holds: bool, subject: object, message: str) -> None:
    """Raise unless a law holds for a subject."""
    if not holds:
        raise AssertionError(f"{subject}: {message}")


def expect_close(
    actual: np.ndarray, expected: np.ndarray, tolerance: float | np.ndarray, subject: object, what: str
) -> None:
    """Raise unless two arrays have the same shape and agree to a tolerance."""
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    expect(actual.shape == expected.shape, subject, f"{what} have shapes {actual.shape} and {expected.shape}")
    tolerance = np.broadcast_to(np.asarray(tolerance, dtype=float), expected.shape)
    gap = np.abs(actual - expected)
    if not (gap <= tolerance).all():
        where = np.unravel_index(int(np.argmax(np.where(np.isnan(gap), np.inf, gap))), gap.shape)
        raise AssertionError(
            f"{subject}: {what} differ at {tuple(int(i) for i in where)}: "
            f"{actual[where]} and {expected[where]} (allowed: {tolerance[where]:.2g})"
        )
