"""Solvers: one algorithm a file, prepare once and solve for many penalties, each with its certificate."""

from .banded import Banded
from .base import Prepared, PreparedRidge, Problem, Solution, Solver
from .cg import ConjugateGradient
from .cholesky import Cholesky
from .nystroem import Nystroem
from .plan import Plan, plan
from .primal import Primal
from .residuals import relative_residuals
from .spectral import Spectral

__all__ = [
    "Banded",
    "Cholesky",
    "ConjugateGradient",
    "Nystroem",
    "Plan",
    "Prepared",
    "PreparedRidge",
    "Primal",
    "Problem",
    "Solution",
    "Solver",
    "Spectral",
    "plan",
    "relative_residuals",
]
