"""Kernels on sequences of vectors."""

from .alignment import GlobalAlignment
from .signature import Signature, TruncatedSignature
from .warping import DTW, SoftDTW

__all__ = ["DTW", "GlobalAlignment", "Signature", "SoftDTW", "TruncatedSignature"]
