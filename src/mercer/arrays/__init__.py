"""Foundations: NumPy and torch as one namespace, places, memory budgets and threads."""

from typing import Any, TypeAlias

Array: TypeAlias = Any  # a NumPy array, or a torch tensor on a device
