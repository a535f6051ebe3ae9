"""What a playground may hold, and the error that says so to whoever plays."""

from __future__ import annotations

import numpy as np

MOST_POINTS = 5000  # an exact fit of more keeps people waiting
MOST_CLASSES = 6  # colours that are told apart
LONGEST_KERNEL = 500  # characters of a kernel's text
LONGEST_NAME = 80  # characters of the name of an axis
LONGEST_LINK = 200_000  # characters
LARGEST = 1e6  # coordinate, beyond which squares of distances have no digits left for small ones
DIGITS = 6  # of coordinates in links and in source, enough for any screen


class PlayError(ValueError):
    """Something that cannot be played with; the text says what, where, and what to do.

    Parameters
    ----------
    message : str
        The text, for whoever plays.
    column : int, optional
        Where in the text of the kernel, from 1 up.

    Examples
    --------
    >>> from mercer.playground.limits import PlayError
    >>> PlayError("did you mean Gaussian?", 3).column
    3
    """

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.column = column


def round_number(value: float) -> float:
    """Return a number with as many digits as links keep.

    Examples
    --------
    >>> from mercer.playground.limits import round_number
    >>> round_number(3.14159265), round_number(123456.7)
    (3.14159, 123457.0)
    """
    return float(f"{value:.{DIGITS}g}")


def round_numbers(values: np.ndarray) -> np.ndarray:
    """Return numbers with as many digits as links keep.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.playground.limits import round_numbers
    >>> round_numbers(np.array([3.14159265]))
    array([3.14159])
    """
    return np.array([round_number(value) for value in values.ravel().tolist()], dtype=np.float64).reshape(values.shape)


def pick_some(n: int, most: int) -> np.ndarray:
    """Return the positions of n points, or of so many of them at equal distances.

    Examples
    --------
    >>> from mercer.playground.limits import pick_some
    >>> pick_some(3, 5).tolist(), pick_some(10, 4).tolist()
    ([0, 1, 2], [0, 2, 5, 7])
    """
    return np.arange(min(n, most)) * n // max(min(n, most), 1)
