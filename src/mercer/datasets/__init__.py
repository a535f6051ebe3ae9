"""Small real data, shipped with the library, so that examples run without a network."""

from ._files import load_credit, load_energy

__all__ = ["load_credit", "load_energy"]
