"""Feature maps as transformers: exact where a kernel has finitely many features, approximate for the others."""

from typing import TYPE_CHECKING, Any

from mercer.messages import MODELS, list_public, refuse_name

from . import graphs as graphs  # these register the maps of kernels on objects
from . import strings as strings
from . import trees as trees
from .base import FeatureMap
from .explicit import ExplicitMap, explicit_map
from .hashing import MinMaxHash
from .nystroem import Nystroem
from .polynomial import Polynomial
from .random_fourier import RandomFourier
from .sinc import Sinc
from .sketch import TensorSketch
from .trigonometric import Fourier, Trigonometric

__all__ = [
    "ExplicitMap",
    "FeatureMap",
    "Fourier",
    "MinMaxHash",
    "Nystroem",
    "Polynomial",
    "RandomFourier",
    "Sinc",
    "TensorSketch",
    "Trigonometric",
    "explicit_map",
]

if not TYPE_CHECKING:  # for which there is no name that is not above

    def __getattr__(name: str) -> Any:
        raise refuse_name(globals(), name, MODELS)

    def __dir__() -> list[str]:
        return list_public(globals())
