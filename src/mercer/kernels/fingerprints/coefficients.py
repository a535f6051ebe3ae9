"""Coefficients of similarity between bits, as chemists have named them, and which of them are kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from mercer.formula.expression import Expression, power, reciprocal
from mercer.formula.pair import Pair

from ..base import Kernel
from ..dot import Linear
from ..theorem import Definiteness, Theorem
from .ratios import EMPTY, INTEGRAL
from .statistics import Common, Width, mark_empty, read_source


@dataclass(frozen=True)
class Parts:
    """How many bits x has (a), z has (b), both have (c), and there are (d); 1 where both are empty, or full."""

    a: Expression
    b: Expression
    c: Expression
    d: Expression
    empty: Expression
    full: Expression

    @property
    def matches(self) -> Expression:
        """In how many places both have the same."""
        return self.d - self.a - self.b + 2.0 * self.c

    def smaller_inverse(self) -> Expression:
        """1 / max(a, b) = min(1/a, 1/b)."""
        return 0.5 * (reciprocal(self.a) + reciprocal(self.b) - self.gap())

    def gap(self) -> Expression:
        """|1/a − 1/b|."""
        return power(power(reciprocal(self.a) - reciprocal(self.b), 2), 0.5)

    def halves(self) -> Expression:
        """½ Dice of the bits, and ½ of what is not there."""
        none = self.d - self.a - self.b + self.c
        rest = none / (2.0 * self.d - self.a - self.b) + 0.5 * self.full
        return self.c / (self.a + self.b) + 0.5 * self.empty + rest


@dataclass(frozen=True)
class Coefficient:
    """A coefficient: its formula, and the theorem if it is a kernel."""

    formula: Callable[[Parts], Expression]
    because: str | None
    needs_width: bool = False  # whether places that neither has count


MATCHES = "m = xᵀz + (1 − x)ᵀ(1 − z), the number of places that agree, is an inner product of (x, 1 − x)"
COEFFICIENTS: dict[str, Coefficient] = {
    "dice": Coefficient(lambda p: 2.0 * p.c / (p.a + p.b) + p.empty, INTEGRAL + EMPTY),
    "cosine": Coefficient(
        lambda p: p.c * power(reciprocal(p.a), 0.5) * power(reciprocal(p.b), 0.5) + p.empty,
        "normalised: c/√(ab) is the inner product of x/‖x‖ and z/‖z‖" + EMPTY,
    ),
    "sokal-sneath": Coefficient(lambda p: p.c / (2.0 * (p.a + p.b) - 3.0 * p.c) + p.empty, INTEGRAL + EMPTY),
    "braun-blanquet": Coefficient(
        lambda p: p.c * p.smaller_inverse() + p.empty,
        "product: c times min(1/a, 1/b) = ∫₀^∞ 1[t ≤ 1/a] 1[t ≤ 1/b] dt, an inner product of functions of t" + EMPTY,
    ),
    "forbes": Coefficient(
        lambda p: p.c * p.d * reciprocal(p.a) * reciprocal(p.b) + p.empty,
        "d·c/(ab) is d times the inner product of x/a and z/b" + EMPTY,
        needs_width=True,
    ),
    "russell-rao": Coefficient(
        lambda p: p.c / p.d, "non-negative multiple of xᵀz: d is the number of places", needs_width=True
    ),
    "sokal-michener": Coefficient(
        lambda p: p.matches / p.d, "non-negative multiple of a kernel: " + MATCHES, needs_width=True
    ),
    "rogers-tanimoto": Coefficient(
        lambda p: p.matches / (2.0 * p.d - p.matches),
        "m/(2d − m) = Σ_{n≥1} (m/2d)ⁿ, a limit of conical sums of powers, as m ≤ d; " + MATCHES,
        needs_width=True,
    ),
    "hamann": Coefficient(
        lambda p: (2.0 * p.matches - p.d) / p.d,
        "(2m − d)/d is the inner product of 2x − 1 and 2z − 1, divided by d",
        needs_width=True,
    ),
    "rogot-goldberg": Coefficient(
        lambda p: p.halves(),
        "conical sum: c/(a + b) is half of Dice's coefficient, and the other part that of 1 − x and 1 − z",
        needs_width=True,
    ),
    "sokal-sneath-2": Coefficient(lambda p: 2.0 * p.matches / (p.d + p.matches), None, needs_width=True),
    "kulczynski": Coefficient(lambda p: 0.5 * p.c * (reciprocal(p.a) + reciprocal(p.b)) + p.empty, None),
    "mcconnaughey": Coefficient(
        lambda p: (p.c * (p.a + p.b) - p.a * p.b) * reciprocal(p.a) * reciprocal(p.b) + p.empty, None
    ),
    "simpson": Coefficient(lambda p: 0.5 * p.c * (reciprocal(p.a) + reciprocal(p.b) + p.gap()) + p.empty, None),
}


def check_coefficient(kernel: object, name: str) -> None:
    """Raise unless a coefficient is one of the table."""
    value = getattr(kernel, name)
    if value not in COEFFICIENTS:
        listed = ", ".join(map(repr, COEFFICIENTS))
        raise ValueError(f"BitSimilarity: coefficient must be one of {listed}; got {value!r}")


Name = Annotated[str, check_coefficient]


class BitSimilarity(Kernel):
    """A coefficient of similarity between rows of bits, by its name; the certificate says whether it is a kernel.

    With a and b the number of bits of x and z, c that of both, d that of all places and m = d − a − b + 2c that of
    places that agree:

    ===================  =============================  =======================================================
    coefficient          k(x, z)                        a kernel?
    ===================  =============================  =======================================================
    ``dice``             2c / (a + b)                   yes: 1/(a + b) = ∫ e^(−ta) e^(−tb) dt
    ``cosine``           c / √(ab)                      yes: normalised; also called Ochiai
    ``sokal-sneath``     c / (2a + 2b − 3c)             yes, as Tanimoto
    ``braun-blanquet``   c / max(a, b)                  yes: min(1/a, 1/b) is one
    ``forbes``           dc / (ab)                      yes: an inner product of x/a and z/b
    ``russell-rao``      c / d                          yes: a multiple of xᵀz
    ``sokal-michener``   m / d                          yes: m counts agreement of bits, and of their absence
    ``rogers-tanimoto``  m / (2d − m)                   yes: a geometric series in m/2d
    ``hamann``           (2m − d) / d                   yes: an inner product of signs
    ``rogot-goldberg``   c/(a + b) + (d − a − b + c)    yes: Dice of bits and of their absence
                         / (2d − a − b)
    ``sokal-sneath-2``   2m / (d + m)                   no
    ``kulczynski``       (c/a + c/b) / 2                no
    ``mcconnaughey``     c/a + c/b − 1                  no
    ``simpson``          c / min(a, b)                  no
    ===================  =============================  =======================================================

    Those that are no kernels are kept because they are in use; their certificates are Refuted, with the points.
    Tanimoto and Tversky have classes of their own.  A ratio of 0 to 0 is 1 for two rows without bits, and 0 elsewhere.

    Parameters
    ----------
    coefficient : str, default="dice"
        One of the names above.

    Examples
    --------
    >>> from mercer.kernels import BitSimilarity
    >>> BitSimilarity("dice")([[1, 1, 0, 1]], [[1, 0, 0, 1], [0, 0, 1, 0]])
    array([[0.8, 0. ]])
    >>> print(BitSimilarity("simpson").certificate(dim=3))
    Refuted: BitSimilarity(coefficient='simpson') is not a kernel.
    ...
    """

    coefficient: Name = "dice"

    domain = "bits"
    definite = Definiteness(None)

    def formula(self, pair: Pair) -> Expression:
        """The formula of the table."""
        chosen = COEFFICIENTS[self.coefficient]
        common = pair.statistic(Common, True, not chosen.needs_width)
        width = pair.left(pair.statistic(Width, read_source(common)))
        sides = pair.left(common), pair.right(common)
        return chosen.formula(
            Parts(*sides, common, width, mark_empty(pair, common), mark_empty(pair, common, full=True))
        )

    def theorem(self) -> Theorem | None:
        """That of the table."""
        because = COEFFICIENTS[self.coefficient].because
        return None if because is None else self.prove(because, Linear().theorem())
