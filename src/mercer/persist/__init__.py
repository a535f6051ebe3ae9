"""Model files that cannot run code: ``mercer.save``, ``mercer.load`` and what a file says about itself."""

from ._files import load, read_header, save
from .errors import ModelFileError

__all__ = ["ModelFileError", "load", "read_header", "save"]
