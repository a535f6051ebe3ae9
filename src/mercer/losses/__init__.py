"""Losses: what a wrong answer costs, how fast that changes, and its convex conjugate, of single points.

A loss is a value without data, as a kernel is: it prints as what rebuilds it, and compares by its parameters.
"""

from typing import TYPE_CHECKING, Any

from mercer.messages import list_public, refuse_name

from .base import Loss
from .count.gamma import Gamma
from .count.poisson import Poisson
from .custom import CustomLoss
from .margin.exponential import Exponential
from .margin.hinge import Hinge
from .margin.logistic import Logistic
from .margin.squared_hinge import SquaredHinge
from .penalty import NormBound
from .residual.absolute import Absolute
from .residual.epsilon_insensitive import EpsilonInsensitive
from .residual.expectile import Expectile
from .residual.huber import Huber
from .residual.log_cosh import LogCosh
from .residual.quantile import Quantile
from .residual.squared import Squared
from .residual.squared_epsilon import SquaredEpsilonInsensitive
from .softmax import Softmax
from .text import OTHER_NAMES, as_loss, parse_loss

__all__ = [
    "Absolute",
    "CustomLoss",
    "EpsilonInsensitive",
    "Expectile",
    "Exponential",
    "Gamma",
    "Hinge",
    "Huber",
    "LogCosh",
    "Logistic",
    "Loss",
    "NormBound",
    "Poisson",
    "Quantile",
    "Softmax",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "as_loss",
    "parse_loss",
]

if not TYPE_CHECKING:  # for which there is no name that is not above

    def __getattr__(name: str) -> Any:
        raise refuse_name(globals(), name, OTHER_NAMES)

    def __dir__() -> list[str]:
        return list_public(globals())
