"""Means of features: comparing distributions, thinning samples and weighing points, all from sums of kernel values."""

from typing import TYPE_CHECKING, Any

from mercer.messages import MODELS, list_public, refuse_name

from .compression import herd, quadrature_weights, thin
from .conditional import ConditionalTest
from .dependence import hsic
from .discrepancy import mmd, witness
from .independence import HSICTest
from .outcome import Outcome
from .stein import SteinTest, stein_discrepancy
from .two_sample import MMDTest

__all__ = [
    "ConditionalTest",
    "HSICTest",
    "MMDTest",
    "Outcome",
    "SteinTest",
    "herd",
    "hsic",
    "mmd",
    "quadrature_weights",
    "stein_discrepancy",
    "thin",
    "witness",
]

if not TYPE_CHECKING:  # for which there is no name that is not above

    def __getattr__(name: str) -> Any:
        raise refuse_name(globals(), name, MODELS)

    def __dir__() -> list[str]:
        return list_public(globals())
