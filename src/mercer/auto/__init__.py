"""Models for tables that find their own kernel, and say what they did."""

from .classifier import AutoClassifier
from .figures import Calibration, Dependence, Distribution
from .regressor import AutoRegressor
from .report import Candidate, Column, HeldOut, Importance, Report, RivalComparison, Score
from .tables.encoder import TableEncoder

__all__ = [
    "AutoClassifier",
    "AutoRegressor",
    "Calibration",
    "Candidate",
    "Column",
    "Dependence",
    "Distribution",
    "HeldOut",
    "Importance",
    "Report",
    "RivalComparison",
    "Score",
    "TableEncoder",
]
