"""What is raised about model files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A file is no model that can be loaded, or a model holds something that no file can.

    The message names the file and says what is wrong with it.
    """
