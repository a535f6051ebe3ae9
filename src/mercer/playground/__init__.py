"""A playground for kernels: points, a kernel and a learner as one value, and all that can be drawn of it."""

from .server import Playground, play

__all__ = ["Playground", "play"]
