"""The loss of probabilities, which is the same wherever it is measured."""

from __future__ import annotations

import numpy as np

LEAST = 1e-6  # chance that counts: what was said to be impossible costs −ln of that, and not everything


def raise_chances(chances: np.ndarray) -> np.ndarray:
    """Return probabilities of at least a millionth."""
    return np.asarray(np.clip(chances, LEAST, 1.0))


def measure_log_losses(codes: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """Return −ln p of the true class of each row, with chances of at least a millionth that sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> measure_log_losses(np.array([0, 1]), np.array([[1.0, 0.0], [0.5, 0.5]])).round(4).tolist()  # 0 and ln 2
    [0.0, 0.6931]
    """
    raised = raise_chances(chances)
    return np.asarray(-np.log(raised[np.arange(len(codes)), codes] / raised.sum(axis=1)))


def measure_briers(codes: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """Return Σ_c (p_c − [the row is of class c])² of each row, and half of that for two classes, as scikit-learn does.

    Examples
    --------
    >>> import numpy as np
    >>> measure_briers(np.array([0, 1]), np.array([[1.0, 0.0], [0.5, 0.5]])).tolist()
    [0.0, 0.25]
    """
    truth = codes[:, None] == np.arange(chances.shape[1])
    return np.asarray(((chances - truth) ** 2).sum(axis=1) / (2 if chances.shape[1] == 2 else 1))
