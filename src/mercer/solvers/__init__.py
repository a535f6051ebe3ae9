"""Solvers: one algorithm a file, prepare once and solve for many penalties, each with its certificate."""

from .banded import Banded
from .base import Prepared, Problem, Solution, Solver
from .cg import ConjugateGradient
from .cholesky import Cholesky
from .nystroem import Nystroem
from .plan import Plan, plan
from .primal import Primal
from .spectral import Spectral

__all__ = [
    "Banded",
    "Cholesky",
    "ConjugateGradient",
    "Nystroem",
    "Plan",
    "Prepared",
    "Primal",
    "Problem",
    "Solution",
    "Solver",
    "Spectral",
    "plan",
]
