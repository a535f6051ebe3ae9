"""What every loss must satisfy."""

from __future__ import annotations

import copy
import pickle
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays.tensors import host_array, load_torch
from mercer.losses import Loss, parse_loss
from mercer.losses.text import find_losses

from .laws import expect, expect_close

CLASSES = 3  # of losses of several classes, unless targets are given
STEP = 1e-5  # of finite differences, relative to 1 + |f|
WIDTHS = (0.01, 1.0, 30.0)  # of proximal points
FAR = np.array([10.0, 30.0, 100.0, 600.0, 1e3, 1e4, 1e6])


def check_loss(
    loss: Loss, y: ArrayLike | None = None, *, n: int = 200, rtol: float = 1e-8, random_state: int = 0
) -> None:
    """Check the laws of a loss at random outputs.

    The slope is the derivative of the value, and the curvature that of the slope; the loss is convex; values and
    conjugates satisfy ℓ(y, f) + ℓ*(y, s) ≥ sf, with equality where s is the slope at f; the conjugate is ∞ outside of
    its domain; proximal points are minima; a majorant is nowhere below; formulas stay numbers far out; tensors have the
    same numbers as arrays, if torch is installed; and the loss is a value, which prints as what rebuilds it.

    Parameters
    ----------
    loss : Loss
        The loss to check.
    y : array of shape (n,), optional
        Targets; by default both signs, numbers of classes, or normal numbers, made positive if the loss refuses others.
    n : int, default=200
        How many targets there are by default.
    rtol : float, default=1e-8
        Allowed error of identities, relative to the numbers in them.
    random_state : int, default=0
        The seed of outputs and targets.

    Raises
    ------
    AssertionError
        If a law is broken; it says which, and where.

    Examples
    --------
    >>> from mercer.losses import Huber
    >>> from mercer.testing import check_loss
    >>> check_loss(Huber(1.5))
    """
    rng = np.random.default_rng(random_state)
    targets = _draw_targets(loss, n, rng) if y is None else np.asarray(y)
    columns = (max(CLASSES, int(targets.max()) + 1),) if loss.joint else ()
    outputs = 2.0 * rng.normal(size=(len(targets), *columns))
    laws = _Laws(loss, targets, outputs, rng.normal(size=outputs.shape), rtol)
    laws.check_convexity()
    laws.check_slope()
    laws.check_curvature()
    laws.check_conjugate()
    laws.check_far_out()
    if not loss.joint:  # proximal points and ends of slopes of several outputs at once are not asked for
        laws.check_domain()
        laws.check_prox()
        laws.check_majorant()
    if find_spec("torch") is not None:
        laws.check_tensors()
    _check_value(loss)


def _draw_targets(loss: Loss, n: int, rng: np.random.Generator) -> np.ndarray:
    if loss.joint:
        return np.arange(n) % CLASSES
    numbers = 2.0 * rng.normal(size=n)
    if loss.task == "classification":
        return np.where(numbers < 0, -1.0, 1.0)
    try:
        loss.check_targets(numbers)
    except ValueError:
        numbers = np.abs(numbers) + 0.1
    loss.check_targets(numbers)
    return numbers


class _Laws:
    """The laws of a loss at some targets and outputs, along a direction of outputs."""

    def __init__(self, loss: Loss, y: np.ndarray, f: np.ndarray, direction: np.ndarray, rtol: float) -> None:
        self.loss, self.y, self.f, self.direction, self.rtol = loss, y, f, direction, rtol
        self.values, self.slopes = np.asarray(loss.value(y, f)), np.asarray(loss.slope(y, f))
        expect(self.values.shape == y.shape, loss, f"values have shape {self.values.shape} for {y.shape} targets")
        expect(self.slopes.shape == f.shape, loss, f"slopes have shape {self.slopes.shape} for {f.shape} outputs")
        self.expect("the value is a finite number", np.isfinite(self.values), value=self.values)

    def expect(self, law: str, holds: np.ndarray, **numbers: np.ndarray) -> None:
        """Raise with the numbers of the first target at which a law is broken."""
        if not np.all(holds):
            i = int(np.argmin(holds))
            shown = {"y": self.y, "f": self.f} | numbers
            listed = ", ".join(f"{name} = {each[i]}" for name, each in shown.items())
            raise AssertionError(f"{self.loss}: {law}, but not where {listed}")

    def multiply(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return products of slopes and outputs, summed over the outputs of a point."""
        return (a * b).sum(axis=1) if self.loss.joint else a * b

    def check_slope(self) -> None:
        """Differences of values lie between the slopes at both ends, also where there are corners."""
        y, f, loss = self.y, self.f, self.loss
        step = STEP * (1.0 + np.abs(f)) * self.direction
        up, down = loss.value(y, f + step), loss.value(y, f - step)
        rise, room = up - down, 1e-14 * (np.abs(up) + np.abs(down))
        ends = [self.multiply(loss.slope(y, f + sign * step), 2.0 * step) for sign in (-1.0, 1.0)]
        room = room + 1e-6 * (np.abs(ends[0]) + np.abs(ends[1]))
        law = "the slope is the derivative of the value: differences of values are between slopes times steps"
        least, most = np.minimum(*ends) - room, np.maximum(*ends) + room
        self.expect(
            law, (least <= rise) & (rise <= most), slope=self.slopes, difference=rise, slopes_times_step=ends[1]
        )
        here = self.multiply(self.slopes, 2.0 * step)
        self.expect("slopes grow with f", (least <= here) & (here <= most), slope=self.slopes)

    def check_curvature(self) -> None:
        """Differences of slopes lie among the curvatures around."""
        y, f, loss = self.y, self.f, self.loss
        if not loss.smooth:
            return
        step = STEP * (1.0 + np.abs(f)) * self.direction
        rise = (loss.slope(y, f + step) - loss.slope(y, f - step)) / 2.0
        around = []
        for shift in (-1.0, -0.5, 0.0, 0.5, 1.0):
            bend = np.asarray(loss.curvature(y, f + shift * step))
            around.append(np.einsum("ijk,ik->ij", bend, step) if loss.joint else bend * step)
        least, most = np.min(around, axis=0), np.max(around, axis=0)
        room = 1e-5 * np.abs(around).max(axis=0) + 1e-14 * (1.0 + np.abs(self.slopes))
        holds = (least - room <= rise) & (rise <= most + room)
        law = "the curvature is the derivative of the slope"
        self.expect(law, holds.reshape(len(y), -1).all(axis=1), curvature_times_step=around[2], difference=rise)

    def check_convexity(self) -> None:
        """The middle of a chord is nowhere below the loss."""
        y, f, loss = self.y, self.f, self.loss
        for length in (0.1, 1.0, 5.0):
            other = f + length * self.direction
            ends, middle = (self.values, loss.value(y, other)), loss.value(y, 0.5 * (f + other))
            chord = 0.5 * (ends[0] + ends[1])
            room = 1e-12 * (np.abs(ends[0]) + np.abs(ends[1]))
            self.expect(
                "the loss is convex: the middle of a chord is not below it", middle <= chord + room,
                other=other, value=ends[0], other_value=ends[1], value_between=middle,
            )  # fmt: skip

    def check_conjugate(self) -> None:
        """ℓ(y, f) + ℓ*(y, s) ≥ sf, with equality at the slope."""
        y, f, loss = self.y, self.f, self.loss
        for share in (1.0, 0.0, 0.3, -0.7, 1.5):
            slopes = self.slopes if share == 1.0 else loss.slope(y, share * f)
            conjugate, product = np.asarray(loss.conjugate(y, slopes)), self.multiply(slopes, f)
            room = self.rtol * (np.abs(self.values) + np.abs(product) + np.abs(conjugate))
            total = self.values + conjugate
            numbers = {"slope": slopes, "value": self.values, "conjugate": conjugate, "product": product}
            self.expect("value plus conjugate is at least slope times f", total >= product - room, **numbers)
            if share == 1.0:
                law = "value plus conjugate is slope times f, at the slope there"
                self.expect(law, np.abs(total - product) <= room, **numbers)

    def check_domain(self) -> None:
        """Slopes are between the ends, and the conjugate is ∞ beyond."""
        y, loss = self.y, self.loss
        low, high = (np.broadcast_to(end, y.shape) for end in loss.domain(y))
        room = 1e-12 * np.abs(self.slopes)
        inside = (low - room <= self.slopes) & (self.slopes <= high + room)
        self.expect("slopes are inside of the domain", inside, slope=self.slopes, low=low, high=high)
        for end, sign in ((low, -1.0), (high, 1.0)):
            beyond = np.where(np.isfinite(end), end + sign * 0.01 * (1.0 + np.abs(end)), sign)
            found = np.asarray(loss.conjugate(y, beyond))
            holds = np.isposinf(found) | ~np.isfinite(end)
            self.expect("the conjugate is infinite outside of the domain", holds, slope=beyond, conjugate=found)

    def check_prox(self) -> None:
        """No output near the proximal point costs less."""
        y, f, loss = self.y, self.f, self.loss
        for width in WIDTHS:
            z = np.asarray(loss.prox(y, f, width))
            least = loss.value(y, z) + (z - f) ** 2 / (2.0 * width)
            for step in (1e-4, -1e-4, 0.3, -0.3):
                near = z + step * (1.0 + np.abs(z))
                other = loss.value(y, near) + (near - f) ** 2 / (2.0 * width)
                room = 1e-12 * (np.abs(least) + np.abs(other))
                law = f"the proximal point of width {width} is a minimum"
                self.expect(law, least <= other + room, prox=z, cost=least, near=near, cost_near=other)

    def check_majorant(self) -> None:
        """The parabola of the majorant is nowhere below the loss."""
        y, f, loss = self.y, self.f, self.loss
        if not loss.has_majorant:
            return
        for g in np.linspace(-8.0, 8.0, 33):
            terms = np.array([self.values, self.slopes * (g - f), loss.majorant(y, f) * (g - f) ** 2 / 2.0])
            above, below = terms.sum(axis=0), loss.value(y, np.full_like(f, g))
            room = 1e-12 * (np.abs(terms).sum(axis=0) + np.abs(below))
            self.expect("the majorant is nowhere below", above >= below - room, at=np.full_like(f, g), majorant=above)

    def check_far_out(self) -> None:
        """Values are numbers far out, and finite where slopes have an end."""
        y, loss = self.y, self.loss
        ends = (-1.0, 1.0) if loss.joint else loss.domain(y)
        rounding = 1e-13 * np.mean(np.abs(self.values))  # where values are tiny
        for distance in FAR:
            for sign, end in ((-1.0, ends[0]), (1.0, ends[1])):
                f = np.zeros_like(self.f)
                f[(..., 0) if loss.joint else ...] = sign * distance
                with np.errstate(all="ignore"):
                    value, slope = np.asarray(loss.value(y, f)), np.asarray(loss.slope(y, f))
                finite = np.isfinite(value) | (np.isposinf(value) & ~np.isfinite(end))
                law = "the value is a number at large outputs, finite if slopes have an end"
                self.expect(law, finite, output=f, value=value)
                usable = ~np.isnan(slope) | np.isposinf(value).reshape(-1, *[1] * (f.ndim - 1))
                self.expect("slopes are numbers at large outputs", usable.reshape(len(y), -1).all(axis=1), output=f)
                some = np.isfinite(value) & np.isfinite(slope).reshape(len(y), -1).all(axis=1)
                slope = np.where(np.isfinite(slope), slope, 0.0)
                conjugate, product = np.asarray(loss.conjugate(y, slope)), self.multiply(slope, f)
                with np.errstate(all="ignore"):
                    room = self.rtol * (np.abs(value) + np.abs(product) + np.abs(conjugate)) + rounding
                    holds = ~some | (np.abs(value + conjugate - product) <= room)
                law = "value plus conjugate is slope times f, also at large outputs"
                self.expect(law, holds, output=f, slope=slope, value=value, conjugate=conjugate)

    def check_tensors(self) -> None:
        """Tensors give the numbers that arrays give."""
        torch, loss = load_torch(), self.loss
        calls: list[tuple[str, tuple[Any, ...]]] = [("value", (self.y, self.f)), ("slope", (self.y, self.f))]
        calls += [("curvature", (self.y, self.f))] if loss.smooth else []
        calls += [("conjugate", (self.y, self.slopes))]
        calls += [] if loss.joint else [("prox", (self.y, self.f, 0.5))]
        for name, given in calls:
            expected = np.asarray(getattr(loss, name)(*given))
            put = [torch.as_tensor(np.array(each)) if isinstance(each, np.ndarray) else each for each in given]
            room = (1e-9 if name in ("prox", "conjugate") else 1e-12) * (1.0 + np.abs(expected))
            expect_close(
                host_array(getattr(loss, name)(*put)), expected, room, loss, f"{name} of tensors and of arrays"
            )


def _check_value(loss: Loss) -> None:
    rebuilt = loss.with_params(**loss.get_params(deep=False))
    expect(rebuilt == loss, loss, "with_params(**get_params()) gives another loss")
    expect(hash(rebuilt) == hash(loss), loss, "an equal loss has another hash")
    expect(copy.deepcopy(loss) == loss, loss, "a copy is another loss")
    if type(loss) in find_losses().values() and not any(map(callable, loss.get_params().values())):
        expect(parse_loss(repr(loss)) == loss, loss, "it prints as something that is read as another loss")
    try:
        text = pickle.dumps(loss)
    except (AttributeError, TypeError, pickle.PicklingError):
        return  # a lambda or another local function inside; the loss cannot help it
    expect(pickle.loads(text) == loss, loss, "pickling changes it")
