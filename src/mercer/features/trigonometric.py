"""Points moved to circles: the features (cos θx, sin θx) of trigonometric kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from mercer.arrays.shapes import Axes, Inside, Number
from mercer.formula.parameters import check_integer, check_positive
from mercer.kernels import Fourier as FourierKernel

from .base import FeatureMap


@dataclass(frozen=True, eq=False)
class Waves:
    """√w_j (cos θ_j(x_d − m_d), sin θ_j(x_d − m_d)): all cosines first, frequency by frequency, then all sines."""

    n_inputs: Annotated[int, Number("d")]
    frequencies: Annotated[np.ndarray, Axes("m+")]  # the θ_j
    labels: Annotated[list[str], Axes("m")]  # the text of each frequency in names
    weights: Annotated[np.ndarray, Axes("m")] | None = None  # the w_j; all 1 if not given
    # the m_d, which no value depends on; large angles have large rounding errors
    centre: Annotated[np.ndarray, Axes("d")] | None = None

    @property
    def width(self) -> int:
        """The number of features."""
        return 2 * len(self.frequencies) * self.n_inputs

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the features of every row."""
        A = X.astype(np.float64) if self.centre is None else X - self.centre
        angles = (self.frequencies[:, None] * A[:, None, :]).reshape(len(A), self.width // 2)
        out = np.empty((len(A), self.width), dtype=X.dtype)
        out[:, : self.width // 2] = np.cos(angles)
        out[:, self.width // 2 :] = np.sin(angles)
        if self.weights is not None:
            out *= np.tile(np.repeat(np.sqrt(self.weights), self.n_inputs), 2).astype(X.dtype)
        return out

    def names(self, inputs: list[str]) -> list[str]:
        """``cos(1.5 x0)`` and so on, then ``sin(1.5 x0)``."""
        inputs = [f"({name})" if " " in name and not name.endswith(")") else name for name in inputs]
        if self.centre is not None:
            inputs = [
                name if middle == 0 else f"({name} {'-' if middle > 0 else '+'} {abs(middle):.6g})"
                for name, middle in zip(inputs, self.centre, strict=True)
            ]
        inside = [f"{label} {name}".strip() for label in self.labels for name in inputs]
        return [f"{wave}({text})" for wave in ("cos", "sin") for text in inside]


def build_wave(n_inputs: int, frequency: float) -> Waves:
    """Return the features of Σ_d cos θ(x_d − z_d)."""
    label = "" if frequency == 1 else repr(float(frequency)).removesuffix(".0")
    return Waves(n_inputs, np.array([float(frequency)]), [label])


def build_harmonics(n_inputs: int, order: int) -> Waves:
    """Return the features of Σ_l Σ_d cos((2πl/L)(x_d − z_d)), l = 0, …, L."""
    labels = [f"2π·{i}/{order}" for i in range(order + 1)]
    return Waves(n_inputs, np.array(FourierKernel(order).frequencies), labels)


class Trigonometric(FeatureMap):
    """The features φ_θ(x) = (cos θx_d, sin θx_d)_d of the kernel Σ_d cos θ(x_d − z_d).

    Parameters
    ----------
    frequency : float, default=1.0
        θ, zero or more.

    Attributes
    ----------
    waves_ : Waves
        The frequencies and the map itself.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import Trigonometric
    >>> phi = Trigonometric(frequency=1.5).fit([[0.0, 0.0]])
    >>> phi.get_feature_names_out().tolist()
    ['cos(1.5 x0)', 'cos(1.5 x1)', 'sin(1.5 x0)', 'sin(1.5 x1)']
    >>> phi.transform([[0.0, np.pi]]).round(4)
    array([[ 1., -0.,  0., -1.]])
    """

    waves_: Annotated[Waves, Inside(d="d")]

    _node = "waves_"

    def __init__(self, frequency: float = 1.0) -> None:
        self.frequency = frequency

    def _learn(self, X: np.ndarray) -> None:
        check_positive(self, "frequency", allow_zero=True)
        self.waves_ = build_wave(X.shape[1], self.frequency)


class Fourier(FeatureMap):
    """The features φ_L(x) = (cos(2πl/L · x_d), sin(2πl/L · x_d)) for l = 0, …, L and every input.

    Their dot product is Σ_l Σ_d cos((2πl/L)(x_d − z_d)).  Times 2π/L it converges to the kernel of :class:`Sinc`, but
    slowly: the error falls like 1/L.

    Parameters
    ----------
    order : int, default=4
        L, which makes L + 1 frequencies and 2(L + 1) features for each input.

    Attributes
    ----------
    waves_ : Waves
        The frequencies and the map itself.

    Examples
    --------
    >>> from mercer.features import Fourier
    >>> phi = Fourier(order=2).fit([[0.0]])
    >>> phi.get_feature_names_out().tolist()
    ['cos(2π·0/2 x0)', 'cos(2π·1/2 x0)', 'cos(2π·2/2 x0)', 'sin(2π·0/2 x0)', 'sin(2π·1/2 x0)', 'sin(2π·2/2 x0)']
    >>> phi.transform([[0.5]]).round(4)
    array([[ 1.,  0., -1.,  0.,  1.,  0.]])
    """

    waves_: Annotated[Waves, Inside(d="d")]

    _node = "waves_"

    def __init__(self, order: int = 4) -> None:
        self.order = order

    def _learn(self, X: np.ndarray) -> None:
        check_integer(self, "order", 1)
        self.waves_ = build_harmonics(X.shape[1], int(self.order))
