"""Kernels on fingerprints of molecules, and on other rows of bits and counts."""

from .coefficients import BitSimilarity
from .ratios import MinMax, Tanimoto, Tversky

__all__ = ["BitSimilarity", "MinMax", "Tanimoto", "Tversky"]
