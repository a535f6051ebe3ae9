"""Graphs and the kernels on them."""

from .data import Graph
from .graphlets import Graphlet
from .hashing import HashedWeisfeilerLehman, Propagation
from .kernels import ShortestPath, WeisfeilerLehman, WeisfeilerLehmanAssignment
from .nodes import Diffusion, RegularizedLaplacian
from .paths import GraphHopper, ShortestPathLengths
from .walks import RandomWalk

__all__ = ["Diffusion", "Graph", "GraphHopper", "Graphlet", "HashedWeisfeilerLehman", "Propagation", "RandomWalk"]
__all__ += [
    "RegularizedLaplacian",
    "ShortestPath",
    "ShortestPathLengths",
    "WeisfeilerLehman",
    "WeisfeilerLehmanAssignment",
]
