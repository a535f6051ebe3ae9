"""The problems of working sets, each on its own small matrix: one Triton program each, or the compiled core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.arrays.tensors import host_array, load_torch
from mercer.gram.torch.fused import fusable

WARP_WORK = 128  # variables of a warp: four in each of its threads


@dataclass(frozen=True)
class WorkingSets:
    """min ½βᵀKβ − … over a few variables of each of B problems, S of them; slope = t − Kβ at the start.

    Parameters
    ----------
    K : tensor of shape (B, S, S)
        The small matrices, float32 or float64.
    lower, upper, beta, slope : tensors of shape (B, S), float64
        The boxes, the start and its slopes.
    epsilon : tensor of shape (B,), float64
        ε of each problem.
    cut : tensor of shape (B,), int32
        Where the second group of each problem starts; S if there is none.
    goal : tensor of shape (B,), float64
        The violation to stop at.
    most : tensor of shape (B,), int32
        Steps to stop at.
    two : bool
        Whether any problem has a second group.
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
    two: bool


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
    import mercer._native as _native

    torch = load_torch()
    K, lower, upper, slope = (host_array(part.contiguous()) for part in (sets.K, sets.lower, sets.upper, sets.slope))
    numbers = (host_array(part).tolist() for part in (sets.epsilon, sets.cut, sets.goal, sets.most))
    beta, slope = host_array(sets.beta).copy(), slope.copy()  # both are changed
    steps = [
        _native.smo(K[b], lower[b], upper[b], beta[b], slope[b], epsilon, cut, goal, most)[0]
        for b, (epsilon, cut, goal, most) in enumerate(zip(*numbers, strict=True))
    ]
    device = sets.beta.device
    return torch.from_numpy(beta).to(device), torch.tensor(steps, dtype=torch.int32, device=device)
