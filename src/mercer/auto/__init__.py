"""Models for tables that find their own kernel, and say what they did."""

from .classifier import AutoClassifier
from .encoder import TableEncoder
from .regressor import AutoRegressor
from .report import Candidate, Column, HeldOut, Report, Score

__all__ = [
    "AutoClassifier",
    "AutoRegressor",
    "Candidate",
    "Column",
    "HeldOut",
    "Report",
    "Score",
    "TableEncoder",
]
