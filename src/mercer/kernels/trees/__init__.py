"""Kernels on trees."""

from .complete import Subtree
from .fragments import PartialTree, SubsetTree

__all__ = ["PartialTree", "SubsetTree", "Subtree"]
