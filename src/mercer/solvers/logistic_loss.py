"""The logistic losses: values, residuals, curvature and the best intercept, for two classes and for more.

A function has Q outputs: one for two classes, the log-odds of the second, and otherwise one for each class.  With the
probabilities p of the classes and T the indicators of those observed, the loss of all points is −Σ wᵢ ln pᵢ(yᵢ), its
negative derivative by the outputs is the residual R = w(T − p), and its curvature at each point is w(diag(p) − ppᵀ).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_softmax, logsumexp, softmax

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

    root: np.ndarray
    constants: np.ndarray  # (n, Q, r), orthonormal

    @abstractmethod
    def project(self, V: np.ndarray) -> np.ndarray:
        """Return the part of V that S does not forget."""

    @abstractmethod
    def blocks(self) -> np.ndarray:
        """Return W, of shape (n, Q, Q)."""

    def half(self, V: np.ndarray) -> np.ndarray:
        """Return SV."""
        return np.asarray(self.root * self.project(V))

    def half_transposed(self, V: np.ndarray) -> np.ndarray:
        """Return SᵀV."""
        return self.project(self.root * V)

    def divide(self, R: np.ndarray) -> np.ndarray:
        """Return V with SV = R, for an R that S can give."""
        return self.project(R / self.root)

    def remove_constants(self, V: np.ndarray) -> np.ndarray:
        """Return ΨV."""
        if self.constants.shape[2] == 0:
            return V
        return np.asarray(V - self.constants @ np.einsum("nqr,nq->r", self.constants, V))

    def _orthonormal(self, columns: int) -> np.ndarray:
        n, q = self.root.shape
        images = np.zeros((n, q, columns))
        for j in range(columns):
            unit = np.zeros((n, q))
            unit[:, j] = 1.0
            images[:, :, j] = self.half_transposed(unit)
        return np.linalg.qr(images.reshape(n * q, columns))[0].reshape(n, q, columns)


class BinaryCurvature(Curvature):
    """W = w p(1 − p), with S its square root."""

    def __init__(self, weights: np.ndarray, p: np.ndarray, intercept: bool) -> None:
        self.root = np.sqrt(weights * np.maximum(p * (1 - p), FLOOR))
        self.constants = self._orthonormal(1 if intercept else 0)

    def project(self, V: np.ndarray) -> np.ndarray:
        """Return V, because S forgets nothing."""
        return V

    def blocks(self) -> np.ndarray:
        """Return W, of shape (n, 1, 1)."""
        return np.asarray(self.root**2)[:, :, None]


class MultinomialCurvature(Curvature):
    """W = w(diag(p) − ppᵀ) = SSᵀ with S = √w diag(s)(I − ssᵀ), where s = √p has length 1 at every point."""

    def __init__(self, weights: np.ndarray, p: np.ndarray, intercept: bool) -> None:
        p = np.maximum(p, FLOOR)
        self._direction = np.sqrt(p / p.sum(axis=1, keepdims=True))
        self.root = np.sqrt(weights) * self._direction
        # The constants of all classes together change no probability, so that one of them says nothing new.
        self.constants = self._orthonormal(p.shape[1] - 1 if intercept else 0)

    def project(self, V: np.ndarray) -> np.ndarray:
        """Return (I − ssᵀ)V at every point."""
        s = self._direction
        return np.asarray(V - s * np.einsum("nq,nq->n", s, V)[:, None])

    def blocks(self) -> np.ndarray:
        """Return W, of shape (n, Q, Q)."""
        s = self._direction
        inner = np.eye(s.shape[1]) - s[:, :, None] * s[:, None, :]
        return np.asarray(self.root[:, :, None] * inner * self.root[:, None, :])


@dataclass(frozen=True)
class LogisticLoss(ABC):
    """−Σ wᵢ ln pᵢ(yᵢ) of labelled points.

    Parameters
    ----------
    codes : int array of shape (n,)
        The class of each point, counted from 0; every class occurs.
    classes : int
        Their number.
    weights : array of shape (n,)
        Positive weights of the points.
    """

    codes: np.ndarray
    classes: int
    weights: np.ndarray

    @property
    def outputs(self) -> int:
        """The number Q of functions."""
        return 1 if self.classes == 2 else self.classes

    @abstractmethod
    def losses(self, outputs: np.ndarray) -> np.ndarray:
        """Return −ln p(y) of each point, from outputs of shape (n, Q)."""

    @abstractmethod
    def residuals(self, outputs: np.ndarray) -> np.ndarray:
        """Return R = w(T − p), accurate also where p is close to T."""

    @abstractmethod
    def entropy(self, outputs: np.ndarray) -> float:
        """Return Σ wᵢ H(pᵢ), the part of the dual that is not a norm."""

    @abstractmethod
    def curvature(self, outputs: np.ndarray, intercept: bool) -> Curvature:
        """Return the curvature at all points."""

    @abstractmethod
    def best_intercept(self, values: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return the b that minimises the loss at values + b, which makes the residuals of each output sum to 0."""

    def value(self, outputs: np.ndarray) -> float:
        """Return the loss of all points."""
        return float(self.weights @ self.losses(outputs))


class BinaryLoss(LogisticLoss):
    """Σ wᵢ ln(1 + exp(−yᵢ gᵢ)) with yᵢ = ±1."""

    @property
    def _signs(self) -> np.ndarray:
        return 2.0 * self.codes - 1.0

    def losses(self, outputs: np.ndarray) -> np.ndarray:
        """Return ln(1 + exp(−yg))."""
        return np.logaddexp(0.0, -self._signs * outputs[:, 0])

    def residuals(self, outputs: np.ndarray) -> np.ndarray:
        """Return w(t − p) = w y p(−yg)."""
        signs = self._signs
        return np.asarray(self.weights * signs * expit(-signs * outputs[:, 0]))[:, None]

    def entropy(self, outputs: np.ndarray) -> float:
        """Return Σ w H(p)."""
        size = np.abs(outputs[:, 0])
        return float(self.weights @ (np.logaddexp(0.0, -size) + size * expit(-size)))

    def curvature(self, outputs: np.ndarray, intercept: bool) -> Curvature:
        """Return w p(1 − p)."""
        return BinaryCurvature(self.weights[:, None], expit(outputs), intercept)

    def best_intercept(self, values: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return the root of a monotone function."""
        wanted = float(self.weights @ self.codes)
        return np.array([shift_to_share(values[:, 0], self.weights, wanted, float(start[0]))])


class MultinomialLoss(LogisticLoss):
    """Σ wᵢ (ln Σ_q exp(g_iq) − g_i(yᵢ)), the softmax."""

    @property
    def _indicators(self) -> np.ndarray:
        return self.codes[:, None] == np.arange(self.classes)

    def losses(self, outputs: np.ndarray) -> np.ndarray:
        """Return ln Σ exp(g) − g(y)."""
        return np.asarray(-log_softmax(outputs, axis=1)[np.arange(len(self.codes)), self.codes])

    def residuals(self, outputs: np.ndarray) -> np.ndarray:
        """Return w(T − p), where 1 − p of the class observed is the sum of all others."""
        hit = self._indicators
        p = softmax(outputs, axis=1)
        others = np.where(hit, 0.0, p)
        return np.asarray(self.weights[:, None] * np.where(hit, others.sum(axis=1, keepdims=True), -p))

    def entropy(self, outputs: np.ndarray) -> float:
        """Return Σ w H(p)."""
        logs = log_softmax(outputs, axis=1)
        return float(-self.weights @ np.einsum("nq,nq->n", np.exp(logs), logs))

    def curvature(self, outputs: np.ndarray, intercept: bool) -> Curvature:
        """Return w(diag(p) − ppᵀ)."""
        return MultinomialCurvature(self.weights[:, None], softmax(outputs, axis=1), intercept)

    def best_intercept(self, values: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return the minimum, with mean 0.

        Where nearly all points are certain, the loss has corners for any search.  The problem is then solved with
        values divided by a temperature first, from hot, where the loss is smooth, to cold.
        """
        b, found = self._intercept_near(values, start)
        if not found:
            temperature = float(np.ptp(values))
            while temperature > 1.0:
                b = temperature * self._intercept_near(values / temperature, b / temperature)[0]
                temperature /= COOLING
            b, _ = self._intercept_near(values, b)
        return np.asarray(b - b.mean())

    def _intercept_near(self, values: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, bool]:
        """Take Newton steps where they halve the sums of residuals, else one class at a time; say if they vanish."""
        total = float(self.weights.sum())
        wanted = np.bincount(self.codes, weights=self.weights, minlength=self.classes)
        sums = self.residuals(values + b).sum(axis=0)
        for _ in range(SWEEPS):
            size = float(np.abs(sums).max())
            if size <= 4 * np.finfo(float).eps * total:
                return b, True
            hessian = self.curvature(values + b, intercept=False).blocks().sum(axis=0)
            trial = b + np.linalg.lstsq(hessian, sums, rcond=1e-12)[0]
            after = self.residuals(values + trial).sum(axis=0)
            if not np.abs(after).max() <= 0.5 * size:
                if size <= 1e-12 * total:  # nothing but rounding is left
                    return b, True
                trial = b.copy()
                for q in range(self.classes):
                    others = logsumexp(np.delete(values + trial, q, axis=1), axis=1)
                    trial[q] = shift_to_share(values[:, q] - others, self.weights, float(wanted[q]), float(trial[q]))
                after = self.residuals(values + trial).sum(axis=0)
            b, sums = trial, after
        return b, bool(np.abs(sums).max() <= 1e-9 * total)


def shift_to_share(values: np.ndarray, weights: np.ndarray, wanted: float, start: float) -> float:
    """Return the b at which Σ wᵢ/(1 + exp(−vᵢ − b)) is what is wanted, by Newton steps inside a bracket.

    Examples
    --------
    >>> import numpy as np
    >>> abs(shift_to_share(np.array([-5.0, 5.0]), np.ones(2), 1.0, 3.0)) < 1e-12
    True
    """
    odds = np.log(wanted) - np.log(weights.sum() - wanted)
    low, high = odds - float(values.max()), odds - float(values.min())
    b = min(max(start, low), high)
    for _ in range(STEPS):
        p = expit(values + b)
        miss = wanted - float(weights @ p)
        if miss > 0:
            low = b
        else:
            high = b
        bend = float(weights @ (p * expit(-values - b)))
        step = miss / bend if bend > 0 else np.inf
        after = b + step if low < b + step < high else 0.5 * (low + high)
        if after == b or abs(miss) <= np.finfo(float).eps * wanted:
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
