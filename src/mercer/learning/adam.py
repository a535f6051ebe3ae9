"""Directions of descent that do not depend on the size of a gradient."""

from __future__ import annotations

import math

import numpy as np

MEMORY = (0.9, 0.99)  # of the mean of gradients, and of that of their squares


class Adam:
    """Means of gradients, each number divided by its own typical size (Kingma and Ba's method).

    Examples
    --------
    >>> import numpy as np
    >>> Adam().direct(np.array([1e-6, -50.0])).round(3)
    array([ 1., -1.])
    """

    def __init__(self) -> None:
        self.count = 0
        self._mean: np.ndarray | float = 0.0
        self._square: np.ndarray | float = 0.0

    def direct(self, gradient: np.ndarray) -> np.ndarray:
        """Return the direction of ascent after one more gradient."""
        self.count += 1
        self._mean = self._mean + (1 - MEMORY[0]) * (gradient - self._mean)
        self._square = self._square + (1 - MEMORY[1]) * (gradient**2 - self._square)
        size = np.sqrt(self._square / (1 - MEMORY[1] ** self.count))
        return np.asarray(self._mean / (1 - MEMORY[0] ** self.count) / (size + 1e-12))


def fall(rate: float, step: int, steps: int) -> float:
    """Return the rate of a step, which falls from the first to the last as a cosine does.

    Examples
    --------
    >>> [round(fall(1.0, step, 3), 2) for step in (1, 2, 3)]
    [0.85, 0.5, 0.15]
    """
    return rate * 0.5 * (1 + math.cos(math.pi * step / (steps + 1)))
