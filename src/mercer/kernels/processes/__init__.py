"""Kernels known from Gaussian processes and neural networks: paths, angles, compact support, mixtures of waves."""

from .angles import ArcCosine, Geodesic
from .compact import Wendland
from .paths import FractionalBrownian, Spline, White, Wiener
from .sums import Anova, SpectralMixture, WeightedLinear

__all__ = ["Anova", "ArcCosine", "FractionalBrownian", "Geodesic", "SpectralMixture", "Spline", "WeightedLinear"]
__all__ += ["Wendland", "White", "Wiener"]
