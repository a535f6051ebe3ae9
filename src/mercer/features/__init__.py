"""Feature maps as transformers: exact where a kernel has finitely many features, approximate for the others."""

from mercer.messages import list_public

from . import graphs as graphs  # these register the maps of kernels on objects
from . import strings as strings
from . import trees as trees
from .base import FeatureMap
from .explicit import ExplicitMap, explicit_map
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
    "Nystroem",
    "Polynomial",
    "RandomFourier",
    "Sinc",
    "TensorSketch",
    "Trigonometric",
    "explicit_map",
]


def __dir__() -> list[str]:
    return list_public(globals())
