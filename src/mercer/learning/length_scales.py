"""The length scales of a kernel, wherever it has them: which they are, and the same kernel with others."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays.tensors import host_array
from mercer.kernels import Gaussian, Kernel, Matern


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
