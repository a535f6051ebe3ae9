"""Kernels and their algebra: what similarity means, on vectors and on any objects."""

from .algebra import Constant, exp
from .base import Kernel, ObjectKernel
from .categorical import Overlap
from .custom import Custom, FromFeatures, Precomputed
from .dot import Linear, Polynomial, Sigmoid
from .graphs.data import Graph
from .graphs.kernels import ShortestPath, WeisfeilerLehman, WeisfeilerLehmanAssignment
from .graphs.walks import RandomWalk
from .histogram import Chi2, Intersection
from .radial import Gaussian, Laplacian, Matern, RationalQuadratic
from .sequences.alignment import GlobalAlignment
from .sets.kernels import MeanEmbedding, PairSum
from .strings.alignment import Edit, Subsequence, WeightedDegree
from .strings.windows import GappedKmer, Mismatch, Spectrum
from .trees.kernels import PartialTree, SubsetTree, Subtree
from .trigonometric import Cosine, Fourier, Periodic, Sinc

__all__ = [
    "Chi2",
    "Constant",
    "Cosine",
    "Custom",
    "Edit",
    "Fourier",
    "FromFeatures",
    "GappedKmer",
    "Gaussian",
    "GlobalAlignment",
    "Graph",
    "Intersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "MeanEmbedding",
    "Mismatch",
    "ObjectKernel",
    "Overlap",
    "PairSum",
    "PartialTree",
    "Periodic",
    "Polynomial",
    "Precomputed",
    "RandomWalk",
    "RationalQuadratic",
    "ShortestPath",
    "Sigmoid",
    "Sinc",
    "Spectrum",
    "Subsequence",
    "SubsetTree",
    "Subtree",
    "WeightedDegree",
    "WeisfeilerLehman",
    "WeisfeilerLehmanAssignment",
    "exp",
]
