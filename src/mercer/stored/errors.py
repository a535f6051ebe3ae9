"""What goes wrong with files."""

from __future__ import annotations


class DamagedFileError(OSError):
    """A file, or a row group of it, that cannot be read."""


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, without its end."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(". ")
