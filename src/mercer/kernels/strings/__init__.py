"""Kernels on strings and other sequences of tokens."""

from .alignment import Edit, Subsequence, WeightedDegree
from .fisher import Fisher
from .local import LocalAlignment
from .words import GappedKmer, Mismatch, Spectrum

__all__ = ["Edit", "Fisher", "GappedKmer", "LocalAlignment", "Mismatch", "Spectrum", "Subsequence", "WeightedDegree"]
