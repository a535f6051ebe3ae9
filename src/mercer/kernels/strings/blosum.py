"""How alike amino acids are: BLOSUM62, in half bits (Henikoff and Henikoff, 1992)."""

from __future__ import annotations

import numpy as np

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
# Below the diagonal and on it; the matrix is symmetric.
_HALF = """
 4
-1  5
-2  0  6
-2 -2  1  6
 0 -3 -3 -3  9
-1  1  0  0 -3  5
-1  0  0  2 -4  2  5
 0 -2  0 -1 -3 -2 -2  6
-2  0  1 -1 -3  0  0 -2  8
-1 -3 -3 -3 -1 -3 -3 -4 -3  4
-1 -2 -3 -4 -1 -2 -3 -4 -3  2  4
-1  2  0 -1 -3  1  1 -2 -1 -3 -2  5
-1 -1 -2 -3 -1  0 -2 -3 -2  1  2 -1  5
-2 -3 -3 -3 -2 -3 -3 -3 -1  0  0 -3  0  6
-1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4  7
 1 -1  1  0 -1  0  0  0 -1 -2 -2  0 -1 -2 -1  4
 0 -1  0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1  1  5
-3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1  1 -4 -3 -2 11
-2 -2 -2 -3 -2 -1 -2 -3  2 -1 -1 -2 -1  3 -3 -2 -2  2  7
 0 -3 -3 -3 -1 -2 -2 -3 -3  3  1 -2  1 -1 -2 -2  0 -3 -1  4
"""


def read_blosum62() -> np.ndarray:
    """Return the scores of all pairs of amino acids, in the order of ``AMINO_ACIDS``.

    Examples
    --------
    >>> scores = read_blosum62()
    >>> scores.shape, float(scores[AMINO_ACIDS.index("W"), AMINO_ACIDS.index("Y")])
    ((20, 20), 2.0)
    """
    half = np.zeros((len(AMINO_ACIDS),) * 2)
    half[np.tril_indices(len(AMINO_ACIDS))] = [float(number) for number in _HALF.split()]
    return half + np.tril(half, -1).T
