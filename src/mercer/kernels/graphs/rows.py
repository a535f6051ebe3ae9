"""Rows of counted features, and their dot products."""

from __future__ import annotations

import numpy as np
from scipy import sparse

FREQUENT = 0.1  # share of rows above which a column costs less in a dense product than in a sparse one


class CountRows:
    """Rows of a feature matrix, ready for products: columns that occur in many rows are stored densely.

    Parameters
    ----------
    frequent : array of shape (n, columns)
        The columns in many rows.
    rare : csr_array of shape (n, other columns)
        The others.
    """

    def __init__(self, frequent: np.ndarray, rare: sparse.csr_array) -> None:
        self.frequent, self.rare = frequent, rare

    @classmethod
    def of(cls, features: sparse.csr_array) -> CountRows:
        """Split a feature matrix."""
        occurs = np.bincount(features.indices, minlength=features.shape[1])
        often = occurs > FREQUENT * features.shape[0]
        columns = features.tocsc()
        return cls(columns[:, np.flatnonzero(often)].toarray(order="C"), columns[:, np.flatnonzero(~often)].tocsr())

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.rare.shape[0], self.rare.shape[1] + self.frequent.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        held = (self.frequent, self.rare.data, self.rare.indices, self.rare.indptr)
        return sum(a.nbytes for a in held)

    def __len__(self) -> int:
        return self.rare.shape[0]

    def __getitem__(self, index: slice | np.ndarray) -> CountRows:
        return CountRows(self.frequent[index], self.rare[index])

    def product(self, other: CountRows) -> np.ndarray:
        """Return the dot products of all rows with all rows of the other."""
        values = self.frequent @ other.frequent.T
        values += (self.rare @ other.rare.T).toarray()
        return np.asarray(values)

    def squares(self) -> np.ndarray:
        """Return the dot product of every row with itself."""
        return np.asarray((self.frequent**2).sum(axis=1) + (self.rare**2).sum(axis=1)).ravel()
