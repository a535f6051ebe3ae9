"""Small real data, shipped with the library, so that examples run without a network."""

from ._files import load_credit, load_energy
from ._isomers import load_isomers

__all__ = ["load_credit", "load_energy", "load_isomers"]
