"""Conformance suites: what every kernel, Gram matrix, loss and solver must satisfy, for ours and for yours.

Each check raises ``AssertionError`` with a sentence that says which law is broken, and where.
"""

from .gram import check_gram
from .kernels import check_kernel
from .losses import check_loss
from .solvers import check_solver

__all__ = ["check_gram", "check_kernel", "check_loss", "check_solver"]
