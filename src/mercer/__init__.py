"""Kernel methods: kernels as an algebra with proofs, lazy Gram matrices, and expansions."""

__version__ = "0.1.0"
