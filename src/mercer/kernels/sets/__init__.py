"""Kernels on sets of objects."""
