"""Kernels and their algebra: what similarity means, on vectors and on any objects."""

# ruff: noqa: F403  (each folder lists its kernels)

from typing import TYPE_CHECKING, Any

from mercer.messages import KERNELS, list_public, refuse_name

from . import fingerprints, graphs, processes, sequences, sets, strings, trees
from . import pullback as pullback  # which enters on and after among the compositions of kernels
from .algebra import Constant, exp
from .base import Kernel
from .categorical import Coregionalization, Overlap
from .custom import Custom, FromFeatures, Precomputed
from .dot import Linear, Polynomial, Sigmoid
from .fingerprints import *
from .graphs import *
from .histogram import Chi2, Hellinger, Intersection
from .mapping import LinearMap
from .prepared import ObjectKernel
from .processes import *
from .radial import Gaussian, Laplacian, Matern, PowerExponential, RationalQuadratic
from .sequences import *
from .sets import *
from .strings import *
from .trees import *
from .trigonometric import Cosine, Fourier, Periodic, Sinc

__all__ = [
    "Chi2",
    "Constant",
    "Coregionalization",
    "Cosine",
    "Custom",
    "Fourier",
    "FromFeatures",
    "Gaussian",
    "Hellinger",
]
__all__ += [
    "Intersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "LinearMap",
    "Matern",
    "ObjectKernel",
    "Overlap",
    "Periodic",
    "Polynomial",
]
__all__ += ["PowerExponential", "Precomputed", "RationalQuadratic", "Sigmoid", "Sinc", "exp"]
__all__ += strings.__all__ + trees.__all__ + graphs.__all__ + sequences.__all__ + sets.__all__
__all__ += fingerprints.__all__ + processes.__all__

if not TYPE_CHECKING:  # for which there is no name that is not above

    def __getattr__(name: str) -> Any:
        raise refuse_name(globals(), name, KERNELS)

    def __dir__() -> list[str]:
        return list_public(globals())
