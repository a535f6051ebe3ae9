"""What a test says: the statistic, what it is without an effect, and how often that is as large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels import Kernel
from mercer.markup import show_card, show_facts, show_note
from mercer.words import shorten, show_number

WIDTH = 70  # letters of a kernel in a sentence
ROUNDING = 64  # units in the last place below which two statistics are the same
SHARPNESS = 2.0  # of the soft maximum of several statistics: see docs/decisions/0021


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """The result of a test.

    Parameters
    ----------
    statistic : float
        What was measured, with ``kernel``.
    p_value : float
        How often the hypothesis gives as much: (1 + those of ``null`` that reach ``observed``) / (1 + all of them).
    observed : float
        What is compared with ``null``: the statistic, or with several kernels a soft maximum of the statistics, each in
        units of its own deviation.
    null : array of shape (b,)
        The same under the hypothesis, in the order in which it was drawn.
    kernel : Kernel or tuple of Kernel
        The kernel used; of several the one whose statistic stands out most, and one for each side of a pair.
    kernels : tuple
        All kernels that were tried.
    hypothesis : str
        What a small p-value speaks against.
    name : str
        What the statistic is called.
    method : str
        How ``null`` was found.
    level : float
        The p-value up to which the hypothesis is rejected.

    Examples
    --------
    >>> from mercer.embeddings import MMDTest
    >>> outcome = MMDTest(random_state=0).test([[0.0], [0.1], [0.2], [0.3], [0.4]], [[5.0], [5.1], [5.2], [5.3], [5.4]])
    >>> outcome.rejected, outcome.p_value < 0.05
    (True, True)
    """

    statistic: float
    p_value: float
    observed: float
    null: np.ndarray
    kernel: Any
    kernels: tuple[Any, ...]
    hypothesis: str
    name: str
    method: str
    level: float

    @property
    def rejected(self) -> bool:
        """Whether the p-value is at most the level."""
        return self.p_value <= self.level

    def headline(self) -> str:
        """Return the result in one line."""
        verdict = "rejected" if self.rejected else "not rejected"
        return f"{verdict}: {self.hypothesis} (p = {show_number(self.p_value)})"

    def explain(self) -> str:
        """Return the result as text for a person to read."""
        reached = count_reached(self.observed, self.null)
        lines = [
            self.headline()[0].upper() + self.headline()[1:] + ".",
            f"{self.name} is {show_number(self.statistic)} with {show_kernel(self.kernel)}.",
        ]
        if len(self.kernels) > 1:
            lines.append(
                f"It stands out most among {len(self.kernels)} kernels, whose soft maximum is at "
                f"{show_number(self.observed)} deviations; it is compared with that of all under the hypothesis."
            )
        lines.append(
            f"{reached} of {len(self.null)} {self.method} reach as much, so p = ({reached} + 1)/({len(self.null)} + 1) "
            f"= {show_number(self.p_value)}, and the level is {show_number(self.level)}."
        )
        if not self.rejected:
            lines.append("That is no proof of the hypothesis: a larger sample or another kernel may speak against it.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the result for a notebook."""
        facts = [
            (self.name, show_number(self.statistic)),
            ("p-value", f"{show_number(self.p_value)}, at a level of {show_number(self.level)}"),
            ("kernel", show_kernel(self.kernel)),
            ("compared with", f"{len(self.null):,} {self.method}"),
        ]
        return show_card(self.headline(), show_facts(facts), show_note("explain() says it in sentences."))

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        return f"<{self.headline()}>"


def show_kernel(kernel: Any) -> str:
    """Return the text of a kernel, or of one for each side."""
    sides = (kernel,) if isinstance(kernel, Kernel) else kernel
    return " and ".join(shorten(repr(each), WIDTH) for each in sides)


def count_reached(observed: float, null: np.ndarray) -> int:
    """Return how many of the null reach the observed value, where what only rounding tells apart is equal.

    Examples
    --------
    >>> count_reached(1.0, np.array([0.0, 1.0 - 1e-16, 2.0]))
    2
    """
    sizes = np.abs(null).max(initial=abs(observed))
    return int(np.sum(null >= observed - ROUNDING * np.finfo(np.float64).eps * sizes))


def settle_ties(table: np.ndarray, scale: np.ndarray | float, epsilon: float) -> np.ndarray:
    """Return statistics of shape (kernels, 1 + b) with those equal to the observed that only rounding tells from it.

    ``scale`` is the size of the sums that the statistics are differences of, and ``epsilon`` the rounding of those.
    """
    first = table[:, :1]
    near = np.abs(table - first) <= ROUNDING * epsilon * np.reshape(scale, (-1, 1))
    return np.where(near, first, table)


def compare(table: np.ndarray) -> tuple[int, float, np.ndarray, float]:
    """Return which kernel stands out, the observed value, the null, and the p-value, of shape (kernels, 1 + b).

    The first column is what was observed.  Rows of several kernels are brought to mean 0 and deviation 1 over all
    columns, and each column becomes one number, its soft maximum log(mean exp(tz))/t: kernels that agree add up, and
    one that stands out is heard.  All columns are treated alike: if they are exchangeable, so are these numbers, and
    the level holds.

    Examples
    --------
    >>> which, observed, null, p = compare(np.array([[3.0, 1.0, 0.0, 3.0]]))
    >>> observed, p
    (3.0, 0.5)
    """
    which, fused = 0, table[0]
    if len(table) > 1:
        spread = table.std(axis=1, keepdims=True)
        table = (table - table.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
        which, largest = int(np.argmax(table[:, 0])), table.max(axis=0)
        fused = largest + np.log(np.exp(SHARPNESS * (table - largest)).mean(axis=0)) / SHARPNESS
    observed, null = float(fused[0]), fused[1:]
    return which, observed, null, (1 + count_reached(observed, null)) / (1 + len(null))
