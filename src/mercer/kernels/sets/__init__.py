"""Kernels on sets of objects."""

from .kernels import MeanEmbedding, PairSum

__all__ = ["MeanEmbedding", "PairSum"]
