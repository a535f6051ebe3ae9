"""The Gram matrix: lazy, in tiles, within a memory budget, on the backend that fits the kernel."""

from mercer.arrays.budget import MemoryBudgetError

from .operator import Gram

__all__ = ["Gram", "MemoryBudgetError"]
