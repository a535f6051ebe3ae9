"""Graphs and the kernels on them."""

from .data import Graph
from .kernels import ShortestPath, WeisfeilerLehman, WeisfeilerLehmanAssignment
from .walks import RandomWalk

__all__ = ["Graph", "RandomWalk", "ShortestPath", "WeisfeilerLehman", "WeisfeilerLehmanAssignment"]
