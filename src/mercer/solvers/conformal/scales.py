"""The jackknife+ with errors divided by their scale, where every model without some points follows from one matrix."""

from __future__ import annotations

import numpy as np

LEAST = 1e-3  # of the mean error: smaller ones say no more than that they are small


def measure_sizes(errors: np.ndarray) -> np.ndarray:
    """Return the logarithms of absolute errors, column by column; those near 0 are taken for a thousandth of the mean.

    Examples
    --------
    >>> measure_sizes(np.array([[1.0], [-1.0], [0.0]])).round(2).tolist()
    [[0.0], [0.0], [-7.31]]
    """
    sizes = np.abs(errors)
    mean = sizes.mean(axis=0)
    return np.asarray(np.log(np.maximum(sizes, LEAST * np.where(mean > 0, mean, 1.0))))


def leave_two_out(inverse: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Return the error at each point j of the model without i and j, shape (n, n), from G and c = Gy.

    Without the points of a set S errors there are (G_SS)⁻¹c_S.  On the diagonal only that point is left out.

    Parameters
    ----------
    inverse : array of shape (n, n)
        G, as in :class:`~mercer.solvers.ridge.interval.Jackknife`.
    coef : array of shape (n,)
        c.

    Examples
    --------
    The mean of other points, whose G is I − 11ᵀ/n:

    >>> y = np.array([0.0, 1.0, 5.0])
    >>> G = np.eye(3) - 1.0 / 3.0
    >>> leave_two_out(G, G @ y).round(6).tolist()
    [[-3.0, -5.0, -1.0], [-4.0, -1.5, 1.0], [4.0, 5.0, 4.5]]
    """
    diagonal = np.diagonal(inverse)
    alone = coef / diagonal
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = (coef[:, None] * diagonal - inverse * coef) / (diagonal[:, None] * diagonal - inverse**2)
    # Of two points that are the same to rounding each stands for the other.
    errors = np.where(np.isfinite(errors), errors, alone[:, None])
    np.fill_diagonal(errors, alone)
    return errors


def fit_left_out(inverse: np.ndarray, share: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the n ridge fits without one point each, of which each has targets of its own: coefficients and constants.

    The fit without point i is the one in which the target of i is what the fit says there.  That target is written to
    the diagonal of the targets.

    Parameters
    ----------
    inverse, share : arrays of shape (n, n) and (n,)
        G and η/1ᵀη of the scale, so that c = Gt and b = shareᵀt.
    targets : array of shape (n, n)
        Those of fit i in column i; the diagonal is overwritten.

    Returns
    -------
    coef : array of shape (n, n)
        In column i the coefficients of fit i.
    intercept : array of shape (n,)

    Examples
    --------
    >>> T = np.array([[9.0, 0.0, 0.0], [1.0, 9.0, 1.0], [5.0, 5.0, 9.0]])
    >>> fit_left_out(np.eye(3) - 1.0 / 3.0, np.full(3, 1.0 / 3.0), T)[1].round(6).tolist()
    [3.0, 2.5, 0.5]
    """
    own = np.einsum("ij,ji->i", inverse, targets) / np.diagonal(inverse)
    targets[np.diag_indices(len(targets))] -= own
    coef = inverse @ targets
    np.fill_diagonal(coef, 0.0)
    return coef, share @ targets
