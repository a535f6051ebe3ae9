"""The length scales of a kernel, wherever it has them: which they are, and the same kernel with others."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from mercer.arrays.tensors import host_array
from mercer.formula.data import Rows, length, pick
from mercer.kernels import Gaussian, Kernel, Matern

SAMPLE = 1000  # points whose distances are looked at


def make_families(X: np.ndarray) -> list[Kernel]:
    """Return Gaussian and Matérn kernels, with one length scale for each feature to start from: √d deviations.

    A constant feature gets 1, as it has no scale of its own and no influence either.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.learning.length_scales import make_families
    >>> [type(kernel).__name__ for kernel in make_families(np.eye(3))]
    ['Matern', 'Matern', 'Gaussian']
    """
    spread, varies = measure_columns(host_array(X))
    scales = (spread * np.sqrt(max(1, np.sum(varies)))).tolist()
    return [Matern(1.5, scales), Matern(2.5, scales), Gaussian(scales)]


def measure_columns(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the deviation of each column, 1 where it is constant to rounding, and which are not.

    Examples
    --------
    >>> import numpy as np
    >>> measure_columns(np.array([[0.0, 5.0], [4.0, 5.0]]))
    (array([2., 1.]), array([ True, False]))
    """
    spread = np.asarray(X, dtype=np.float64).std(axis=0)
    varies = spread > 1e-12 * np.abs(X).max(axis=0, initial=0.0)
    return np.where(varies, spread, 1.0), varies


def median_distance(X: Rows) -> float:
    """Return the median Euclidean distance between different rows, of some of them if there are many; 1 without any.

    Examples
    --------
    >>> import numpy as np
    >>> median_distance(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    distances = euclidean_distances(host_array(pick(X, spread_positions(length(X)))))
    positive = distances[np.triu_indices(len(distances), 1)]
    positive = positive[positive > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def spread_positions(n: int) -> np.ndarray:
    """Return positions of points all over a collection, all of a small one."""
    return np.unique(np.arange(min(n, SAMPLE)) * n // min(n, SAMPLE))


class Logarithms:
    """The logarithms of a penalty and of all length scales of a kernel, in which a search takes its steps.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> steps = Logarithms(3.0 * Gaussian([1.0, 2.0]))
    >>> at = steps.locate(3.0 * Gaussian([1.0, 2.0]), 0.5)
    >>> steps.place(at + np.log(2.0))
    (3.0 * Gaussian(length_scale=[2.0, 4.0]), 1.0)
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.names = [name for name in kernel.hyperparameters() if is_length_scale(name)]

    def locate(self, kernel: Kernel, alpha: float) -> np.ndarray:
        """Return the logarithms of a penalty and of the length scales of such a kernel."""
        values = kernel.hyperparameters()
        return np.log([alpha, *(values[name] for name in self.names)])

    def place(self, at: np.ndarray) -> tuple[Kernel, float]:
        """Return the kernel and the penalty of such logarithms."""
        scales = dict(zip(self.names, np.exp(at[1:]).tolist(), strict=True))
        return self.kernel.with_hyperparameters(scales), float(np.exp(at[0]))

    def gradient(self, found: Any) -> np.ndarray:
        """Return slopes by these logarithms, of something that has them by name."""
        return np.array([found.by_log_alpha, *(found.by_log_hyperparameter[name] for name in self.names)])


def split_length_scales(kernel: Kernel, d: int) -> Kernel:
    """Return the kernel with one length scale for each of d features wherever it looks at all of them with one.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear, Matern
    >>> from mercer.learning.length_scales import split_length_scales
    >>> split_length_scales(2.0 * Gaussian(length_scale=3.0) + Matern().on([0]) * Linear(), 2)
    2.0 * Gaussian(length_scale=[3.0, 3.0]) + Matern(nu=1.5, length_scale=1.0).on([0]) * Linear()
    """
    probe = np.zeros((1, d))
    for name, value in kernel.hyperparameters().items():
        if not is_length_scale(name) or "[" in name:
            continue
        try:
            wider = kernel.with_params(**{name: [value] * d})
            wider(probe)
        except (ValueError, TypeError):  # it looks at other columns than these, or takes one number only
            continue
        kernel = wider
    return kernel


def with_length_scale(kernel: Kernel, value: Any) -> Kernel:
    """Return the kernel with this length scale, a number or one for each feature, wherever it has one.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.learning.length_scales import with_length_scale
    >>> with_length_scale(Gaussian() + Linear(), 2.0)
    Gaussian(length_scale=2.0) + Linear()
    """
    names = [name for name in kernel.get_params() if is_length_scale(name)]
    if not names:
        raise ValueError(
            f"{kernel!r} has no length scale to choose; leave out length_scales, or give a kernel that has one, like "
            "Gaussian()"
        )
    return kernel.with_params(**dict.fromkeys(names, value))


def length_scale_of(kernel: Kernel) -> Any:
    """Return the first length scale parameter of a kernel, None if it has none."""
    params = kernel.get_params()
    return next((params[name] for name in params if is_length_scale(name)), None)


def stretch(kernel: Kernel, factor: float) -> Kernel:
    """Return a kernel with all its length scales multiplied.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.learning.length_scales import stretch
    >>> stretch(Gaussian([1.0, 3.0]) + Linear(), 2.0)
    Gaussian(length_scale=[2.0, 6.0]) + Linear()
    """
    values = kernel.hyperparameters()
    longer = {name: factor * value for name, value in values.items() if is_length_scale(name)}
    return kernel.with_hyperparameters(longer) if longer else kernel


def is_length_scale(name: str) -> bool:
    """Whether a hyperparameter of this name is a length scale.

    Examples
    --------
    >>> from mercer.learning.length_scales import is_length_scale
    >>> is_length_scale("k1__length_scale[2]"), is_length_scale("alpha")
    (True, False)
    """
    return name.rpartition("__")[2].partition("[")[0] == "length_scale"
