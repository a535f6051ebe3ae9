"""Kernels on strings and other sequences of tokens."""

from .alignment import Edit, Subsequence, WeightedDegree
from .words import GappedKmer, Mismatch, Spectrum

__all__ = ["Edit", "GappedKmer", "Mismatch", "Spectrum", "Subsequence", "WeightedDegree"]
