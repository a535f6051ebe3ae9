"""Kernels and their algebra: what similarity means, on vectors and on any objects."""

from .algebra import Constant, exp
from .base import Kernel, ObjectKernel
from .categorical import Overlap
from .custom import Custom, FromFeatures, Precomputed
from .dot import Linear, Polynomial, Sigmoid
from .histogram import Chi2, Intersection
from .radial import Gaussian, Laplacian, Matern, RationalQuadratic
from .trigonometric import Cosine, Fourier, Periodic, Sinc

__all__ = [
    "Chi2",
    "Constant",
    "Cosine",
    "Custom",
    "Fourier",
    "FromFeatures",
    "Gaussian",
    "Intersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "ObjectKernel",
    "Overlap",
    "Periodic",
    "Polynomial",
    "Precomputed",
    "RationalQuadratic",
    "Sigmoid",
    "Sinc",
    "exp",
]
