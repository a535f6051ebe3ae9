"""The problems of working sets, each on its own small matrix: one Triton program each, or the compiled core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._native import smo as solve_pairs
from mercer.arrays.tensors import host_array, load_torch
from mercer.gram.torch.compiling import fusable

WARP_WORK = 128  # variables of a warp: four in each of its threads


@dataclass(frozen=True)
class WorkingSets:
    """min ½βᵀKβ − … over S variables of each of B problems, until a violation is small or the steps are used up.

    K has shape (B, S, S), in float32 or float64; box, β and slope t − Kβ at the start have shape (B, S), in float64; ε,
    the place where the second group starts (S if there is none), goal and most steps have shape (B,).
    """

    K: Any
    lower: Any
    upper: Any
    beta: Any
    slope: Any
    epsilon: Any
    cut: Any
    goal: Any
    most: Any
    two: bool  # whether any problem has a second group


def solve_sets(sets: WorkingSets) -> tuple[Any, Any]:
    """Return β of the solved sets, and the steps each of them took."""
    return triton_sets(sets) if fusable(sets.K.device) else native_sets(sets)


def triton_sets(sets: WorkingSets) -> tuple[Any, Any]:
    """Solve all sets side by side on the device."""
    from .triton import minimise

    problems, size = sets.beta.shape
    beta, steps = sets.beta.clone(), sets.most.new_zeros(problems)
    minimise[(problems,)](
        sets.K.contiguous(), sets.lower.contiguous(), sets.upper.contiguous(), beta, sets.slope.contiguous(),
        sets.epsilon, sets.cut, sets.goal, sets.most, steps, S=size, TWO=sets.two, num_warps=max(1, size // WARP_WORK),
    )  # fmt: skip
    return beta, steps


def native_sets(sets: WorkingSets) -> tuple[Any, Any]:
    """Solve one set after the other in the compiled core on the host."""
    torch = load_torch()
    K, lower, upper, slope = (host_array(part.contiguous()) for part in (sets.K, sets.lower, sets.upper, sets.slope))
    numbers = (host_array(part).tolist() for part in (sets.epsilon, sets.cut, sets.goal, sets.most))
    beta, slope = host_array(sets.beta).copy(), slope.copy()  # both are changed
    steps = [
        solve_pairs(K[b], lower[b], upper[b], beta[b], slope[b], epsilon, cut, goal, most)[0]
        for b, (epsilon, cut, goal, most) in enumerate(zip(*numbers, strict=True))
    ]
    device = sets.beta.device
    return torch.from_numpy(beta).to(device), torch.tensor(steps, dtype=torch.int32, device=device)
