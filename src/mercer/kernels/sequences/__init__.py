"""Kernels on sequences of vectors."""
