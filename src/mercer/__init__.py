"""Kernel methods: kernels as an algebra with proofs, lazy Gram matrices, and expansions."""

from . import kernels
from .certify.search import certify
from .expansion import Expansion
from .gram import Gram, MemoryBudgetError

__version__ = "0.1.0"
__all__ = ["Expansion", "Gram", "MemoryBudgetError", "certify", "kernels"]
