"""The logistic losses: values, residuals, curvature and the best intercept, for two classes and for more.

A function has Q outputs: one for two classes, the log-odds of the second, and otherwise one for each class.  With the
probabilities p of the classes and T the indicators of those observed, the loss of all points is −Σ wᵢ ln pᵢ(yᵢ), its
negative derivative by the outputs is the residual R = w(T − p), and its curvature at each point is w(diag(p) − ppᵀ).
Outputs are arrays, or tensors on the device that :meth:`LogisticLoss.on` has taken labels and weights to.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer.arrays.columns import like
from mercer.arrays.namespace import (
    counts,
    einsum,
    entries,
    expit,
    identity,
    indicators,
    log_softmax,
    logsumexp,
    orthonormal,
    softmax,
    softplus,
    stack,
    where,
)
from mercer.arrays.tensors import host_array, is_tensor, load_torch, on_device

FLOOR = 1e-8  # of p(1 − p) in a curvature, so that its square root can be divided by
STEPS = 200  # of the search for one intercept, which takes about five
SWEEPS = 25  # of the search for those of all classes
COOLING = 1.5  # of the temperature, from one solution to the next


class Curvature(ABC):
    """The curvature W = SSᵀ of a loss at all points, by its root S, and what of it an intercept takes away.

    If the intercept is always the best one, the curvature is what is left of W beside the constants: SΨSᵀ, where Ψ
    projects away the span of the columns of ``constants``.

    Parameters
    ----------
    weights : array of shape (n, 1)
        Weights of the points.
    p : array of shape (n, Q)
        Probabilities of the classes.
    intercept : bool
        Whether there is an intercept.
    """

    root: Any
    constants: Any  # (n, Q, r), orthonormal

    @abstractmethod
    def project(self, V: Any) -> Any:
        """Return the part of V that S does not forget."""

    @abstractmethod
    def blocks(self) -> Any:
        """Return W, of shape (n, Q, Q)."""

    def half(self, V: Any) -> Any:
        """Return SV."""
        return self.root * self.project(V)

    def half_transposed(self, V: Any) -> Any:
        """Return SᵀV."""
        return self.project(self.root * V)

    def divide(self, R: Any) -> Any:
        """Return V with SV = R, for an R that S can give."""
        return self.project(R / self.root)

    def remove_constants(self, V: Any) -> Any:
        """Return ΨV."""
        if self.constants.shape[2] == 0:
            return V
        return V - self.constants @ einsum("nqr,nq->r", self.constants, V)

    def _orthonormal(self, columns: int) -> Any:
        n, q = self.root.shape
        if columns == 0:
            return (0.0 * self.root)[:, :, None][:, :, :0]
        images = [self.half_transposed(0.0 * self.root + unit) for unit in identity(self.root, q)[:columns]]
        return orthonormal(stack(images, 2).reshape(n * q, columns)).reshape(n, q, columns)


class BinaryCurvature(Curvature):
    """W = w p(1 − p), with S its square root."""

    def __init__(self, weights: Any, p: Any, intercept: bool) -> None:
        self.root = (weights * (p * (1 - p)).clip(FLOOR)) ** 0.5
        self.constants = self._orthonormal(1 if intercept else 0)

    def project(self, V: Any) -> Any:
        """Return V, because S forgets nothing."""
        return V

    def blocks(self) -> Any:
        """Return W, of shape (n, 1, 1)."""
        return (self.root**2)[:, :, None]


class MultinomialCurvature(Curvature):
    """W = w(diag(p) − ppᵀ) = SSᵀ with S = √w diag(s)(I − ssᵀ), where s = √p has length 1 at every point."""

    def __init__(self, weights: Any, p: Any, intercept: bool) -> None:
        p = p.clip(FLOOR)
        self._direction = (p / p.sum(axis=1)[:, None]) ** 0.5
        self.root = weights**0.5 * self._direction
        # The constants of all classes together change no probability, so that one of them says nothing new.
        self.constants = self._orthonormal(p.shape[1] - 1 if intercept else 0)

    def project(self, V: Any) -> Any:
        """Return (I − ssᵀ)V at every point."""
        s = self._direction
        return V - s * einsum("nq,nq->n", s, V)[:, None]

    def blocks(self) -> Any:
        """Return W, of shape (n, Q, Q)."""
        s = self._direction
        inner = identity(s, s.shape[1]) - s[:, :, None] * s[:, None, :]
        return self.root[:, :, None] * inner * self.root[:, None, :]


@dataclass(frozen=True)
class Share:
    """Residuals Σ wᵢ(tᵢ − 1/(1 + exp(−vᵢ − b))) of one class as a function of b.

    Parameters
    ----------
    values : array or tensor of shape (n,)
        v.
    weights : array or tensor of shape (n,)
        w.
    hits : boolean array or tensor of shape (n,)
        Which points are of the class, t.
    """

    values: Any
    weights: Any
    hits: Any

    def range(self) -> tuple[float, float, float]:
        """Return the log-odds of the class by its weight, and the smallest and the largest of the values."""
        inside, outside = (float(where(hits, self.weights, 0.0).sum()) for hits in (self.hits, ~self.hits))
        return math.log(inside) - math.log(outside), float(self.values.min()), float(self.values.max())

    def at(self, b: float) -> tuple[float, float, float]:
        """Return the sum, how fast it falls with b, and the sum of its sizes, which its rounding is a share of.

        Residuals are summed, not probabilities: beside a point of weight 10¹³ those of all others would be rounded.
        """
        p, rest = expit(self.values + b), expit(-self.values - b)
        size = self.weights * where(self.hits, rest, p)
        return float(where(self.hits, size, -size).sum()), float(self.weights @ (p * rest)), float(size.sum())


@dataclass(frozen=True)
class LogisticLoss(ABC):
    """−Σ wᵢ ln pᵢ(yᵢ) of labelled points.

    Parameters
    ----------
    codes : int array or tensor of shape (n,)
        The class of each point, counted from 0; every class occurs.
    classes : int
        Their number.
    weights : array or tensor of shape (n,)
        Positive weights of the points.
    """

    codes: Any
    classes: int
    weights: Any

    def on(self, device: Any) -> Self:
        """Return the loss with labels and weights on a device, for outputs that are there; None is the host."""
        if device is None:
            return self
        codes = load_torch().as_tensor(host_array(self.codes), device=device).long()
        return replace(self, codes=codes, weights=on_device(self.weights, device, np.float64))

    @property
    def outputs(self) -> int:
        """The number Q of functions."""
        return 1 if self.classes == 2 else self.classes

    @abstractmethod
    def losses(self, outputs: Any) -> Any:
        """Return −ln p(y) of each point, from outputs of shape (n, Q)."""

    @abstractmethod
    def residuals(self, outputs: Any) -> Any:
        """Return R = w(T − p), accurate also where p is close to T."""

    @abstractmethod
    def entropy(self, outputs: Any) -> float:
        """Return Σ wᵢ H(pᵢ), the part of the dual that is not a norm."""

    @abstractmethod
    def curvature(self, outputs: Any, intercept: bool) -> Curvature:
        """Return the curvature at all points."""

    @abstractmethod
    def best_intercept(self, values: Any, start: np.ndarray) -> np.ndarray:
        """Return the b that minimises the loss at values + b, which makes the residuals of each output sum to 0."""

    def value(self, outputs: Any) -> float:
        """Return the loss of all points."""
        return float(self.weights @ self.losses(outputs))

    # -- what the search for intercepts needs of all points: sums of a few numbers ---------------------------------

    def mass(self) -> np.ndarray:
        """Return the weight of each class."""
        return counts(self.codes, self.weights, self.classes)

    def residual_sums(self, values: Any, b: np.ndarray) -> np.ndarray:
        """Return the sum of residuals of each output at values + b, and the sum of their sizes, of shape (2, Q)."""
        return sums_of(self.residuals(values + like(values, b)))

    def curvature_sums(self, values: Any, b: np.ndarray) -> np.ndarray:
        """Return the sum of curvatures at values + b, of shape (Q, Q)."""
        blocks = self.curvature(values + like(values, b), intercept=False).blocks()
        return np.asarray(host_array(blocks.sum(axis=0)))

    def share(self, values: Any, b: np.ndarray, q: int) -> Share:
        """Return the share of class q as a function of its intercept, those of others staying as they are."""
        if self.outputs == 1:
            return Share(values[:, 0], self.weights, self.codes == 1)
        others = values + like(values, b)
        others[:, q] = -np.inf
        return Share(values[:, q] - logsumexp(others), self.weights, self.codes == q)

    def spread(self, values: Any) -> float:
        """Return the largest of all values minus the smallest."""
        return float(values.max() - values.min())


class BinaryLoss(LogisticLoss):
    """Σ wᵢ ln(1 + exp(−yᵢ gᵢ)) with yᵢ = ±1."""

    @property
    def _signs(self) -> Any:
        return 2.0 * self.codes - 1.0 if not is_tensor(self.codes) else 2.0 * self.codes.double() - 1.0

    def losses(self, outputs: Any) -> Any:
        """Return ln(1 + exp(−yg))."""
        return softplus(-self._signs * outputs[:, 0])

    def residuals(self, outputs: Any) -> Any:
        """Return w(t − p) = w y p(−yg)."""
        signs = self._signs
        return (self.weights * signs * expit(-signs * outputs[:, 0]))[:, None]

    def entropy(self, outputs: Any) -> float:
        """Return Σ w H(p)."""
        size = abs(outputs[:, 0])
        return float(self.weights @ (softplus(-size) + size * expit(-size)))

    def curvature(self, outputs: Any, intercept: bool) -> Curvature:
        """Return w p(1 − p)."""
        return BinaryCurvature(self.weights[:, None], expit(outputs), intercept)

    def best_intercept(self, values: Any, start: np.ndarray) -> np.ndarray:
        """Return the root of a monotone function."""
        return np.array([shift_to(self.share(values, start, 0), float(start[0]))])


class MultinomialLoss(LogisticLoss):
    """Σ wᵢ (ln Σ_q exp(g_iq) − g_i(yᵢ)), the softmax."""

    def losses(self, outputs: Any) -> Any:
        """Return ln(1 + Σ exp(g − g(y))) over the other classes, which keeps its digits where it is tiny."""
        others = where(indicators(self.codes, self.classes), -np.inf, outputs)
        return softplus(logsumexp(others) - entries(outputs, self.codes))

    def residuals(self, outputs: Any) -> Any:
        """Return w(T − p), where 1 − p of the class observed is the sum of all others."""
        hit = indicators(self.codes, self.classes)
        p = softmax(outputs)
        others = where(hit, 0.0, p)
        return self.weights[:, None] * where(hit, others.sum(axis=1)[:, None], -p)

    def entropy(self, outputs: Any) -> float:
        """Return Σ w H(p)."""
        logs = log_softmax(outputs)
        return -float(self.weights @ einsum("nq,nq->n", softmax(outputs), logs))

    def curvature(self, outputs: Any, intercept: bool) -> Curvature:
        """Return w(diag(p) − ppᵀ)."""
        return MultinomialCurvature(self.weights[:, None], softmax(outputs), intercept)

    def best_intercept(self, values: Any, start: np.ndarray) -> np.ndarray:
        """Return the minimum, with mean 0.

        Where nearly all points are certain, the loss has corners for any search.  The problem is then solved with
        values divided by a temperature first, from hot, where the loss is smooth, to cold.
        """
        b, found = self._intercept_near(values, start)
        if not found:
            temperature = self.spread(values)
            while temperature > 1.0:
                b = temperature * self._intercept_near(values / temperature, b / temperature)[0]
                temperature /= COOLING
            b, _ = self._intercept_near(values, b)
        return np.asarray(b - b.mean())

    def _intercept_near(self, values: Any, b: np.ndarray) -> tuple[np.ndarray, bool]:
        """Take Newton steps where they halve the sums of residuals, else one class at a time; say if they vanish."""
        sums, sizes = self.residual_sums(values, b)
        for _ in range(SWEEPS):
            size, total = float(np.abs(sums).max()), float(sizes.sum())
            if size <= 4 * np.finfo(float).eps * total:
                return b, True
            hessian = self.curvature_sums(values, b)
            trial = b + np.linalg.lstsq(hessian, sums, rcond=1e-12)[0]
            after, sizes = self.residual_sums(values, trial)
            if not np.abs(after).max() <= 0.5 * size:
                if size <= 1e-12 * max(1.0, self.spread(values)) * total:  # nothing but rounding is left
                    return b, True
                trial = b.copy()
                for q in range(self.classes):
                    trial[q] = shift_to(self.share(values, trial, q), float(trial[q]))
                after, sizes = self.residual_sums(values, trial)
            b, sums = trial, after
        return b, bool(np.abs(sums).max() <= 1e-9 * sizes.sum())


def sums_of(residuals: Any) -> np.ndarray:
    """Return the sums of residuals (n, Q) over the points, and those of their sizes, of shape (2, Q)."""
    return np.stack([np.asarray(host_array(part.sum(axis=0))) for part in (residuals, abs(residuals))])


def shift_to(share: Share, start: float) -> float:
    """Return the b at which the residuals of a class sum to 0, by Newton steps inside a bracket.

    Examples
    --------
    >>> import numpy as np
    >>> abs(shift_to(Share(np.array([-5.0, 5.0]), np.ones(2), np.array([True, False])), 3.0)) < 1e-12
    True
    """
    odds, least, most = share.range()
    low, high = odds - most, odds - least
    b = min(max(start, low), high)
    for _ in range(STEPS):
        miss, bend, size = share.at(b)
        if miss > 0:
            low = b
        else:
            high = b
        step = miss / bend if bend > 0 else np.inf
        after = b + step if low < b + step < high else 0.5 * (low + high)
        if after == b or abs(miss) <= np.finfo(float).eps * size:
            break
        b = after
    return float(b)


def make_loss(codes: np.ndarray, classes: int, weights: np.ndarray) -> LogisticLoss:
    """Return the loss of two classes or of more.

    Examples
    --------
    >>> import numpy as np
    >>> loss = make_loss(np.array([0, 1, 1]), 2, np.ones(3))
    >>> loss.best_intercept(np.zeros((3, 1)), np.zeros(1)).round(6)  # ln 2, the log-odds of two against one
    array([0.693147])
    """
    kind = BinaryLoss if classes == 2 else MultinomialLoss
    return kind(np.asarray(codes), classes, np.asarray(weights, dtype=np.float64))
