"""Kernels on sequences of vectors."""

from .alignment import GlobalAlignment

__all__ = ["GlobalAlignment"]
