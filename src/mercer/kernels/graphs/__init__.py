"""Graphs and the kernels on them."""

from .data import Graph
from .kernels import ShortestPath, WeisfeilerLehman, WeisfeilerLehmanAssignment
from .nodes import Diffusion, RegularizedLaplacian
from .walks import RandomWalk

__all__ = ["Diffusion", "Graph", "RandomWalk", "RegularizedLaplacian", "ShortestPath", "WeisfeilerLehman"]
__all__ += ["WeisfeilerLehmanAssignment"]
