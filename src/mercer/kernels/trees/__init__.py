"""Kernels on trees."""

from .kernels import PartialTree, SubsetTree, Subtree

__all__ = ["PartialTree", "SubsetTree", "Subtree"]
