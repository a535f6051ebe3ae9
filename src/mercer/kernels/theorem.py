"""Why a kernel is positive semi-definite: a claim, its reason, and the claims the reason rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True)
class Theorem:
    """A node of a proof.

    Parameters
    ----------
    claim : str
        What holds; for a kernel simply its formula, which is then claimed to be positive semi-definite.
    because : str
        The theorem or closure rule that gives it.
    parts : tuple of Theorem
        What the rule needs.
    """

    claim: str
    because: str
    parts: tuple[Theorem, ...] = ()

    def __post_init__(self) -> None:
        # Kept, because a proof may be deep, and a hash would go down to its leaves each time.
        vars(self)["_hash"] = hash((self.claim, self.because, self.parts))

    def __hash__(self) -> int:
        return cast(int, vars(self)["_hash"])

    def __reduce__(self) -> tuple[Any, ...]:
        return Theorem, (self.claim, self.because, self.parts)

    def __deepcopy__(self, memo: object) -> Theorem:
        return self  # texts and theorems only: a copy of a long proof would be nothing but slow


SCHOENBERG = "exp(−t·ψ) is positive semi-definite if ψ is conditionally negative definite (Schoenberg)"
PULL_BACK = "pull-back: k(g(x), g(z)) is a kernel for every map g, here "
SQUARED_DISTANCE = Theorem(
    "‖x−z‖² is conditionally negative definite",
    "Σ aᵢaⱼ‖xᵢ−xⱼ‖² = −2‖Σ aᵢxᵢ‖² ≤ 0 whenever Σ aᵢ = 0",
)
