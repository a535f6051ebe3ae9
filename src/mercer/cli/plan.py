"""``mercer plan``: which solver, and what it will take."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from mercer.words import count_things, show_seconds

from . import _show
from ._options import command, count_option, json_option, memory_option, parse_kernel_text

if TYPE_CHECKING:
    from mercer.kernels import Kernel


@command(
    "plan",
    "Which solver for data of a given size, and what it takes.",
    [
        "mercer plan --n 1e6 --d 20 --kernel gaussian",
        'mercer plan --n 50000 --d 8 --kernel "Polynomial(3) + Linear()" --memory 4GB',
        "mercer plan --n 3000 --d 8 --loo --json",
    ],
)
@count_option("--n", "Number of training rows.", required=True)
@count_option("--d", "Number of columns; leave it out for strings, graphs and other objects.")
@click.option("--kernel", default="gaussian", show_default=True, metavar="EXPRESSION", help="The kernel.")
@count_option("--outputs", "Number of targets.", default=1)
@count_option("--alphas", "Number of penalties to solve for.", default=1)
@click.option("--loo", is_flag=True, help="Leave-one-out errors are wanted too.")
@memory_option
@json_option
def plan(
    n: int, d: int | None, kernel: str, outputs: int, alphas: int, loo: bool, memory: str | None, as_json: bool
) -> None:
    """Say how a ridge problem of a given size would be solved, why, and what it takes; nothing is computed."""
    from mercer.arrays.budget import parse_memory, show_bytes
    from mercer.solvers.plan import plan as choose

    found = parse_kernel_text(kernel)
    budget = parse_memory(memory)
    sizes: dict[str, Any] = {"outputs": outputs, "alphas": alphas, "loo": loo, "memory": budget}
    chosen = choose(found, n, d, **sizes)
    others = _compare_solvers(found, n, d, sizes)
    if as_json:
        _show.as_json(
            {"kernel": repr(found), "n": n, "d": d, "budget": budget, "plan": asdict(chosen), "solvers": others}
        )
        return
    shape = f"{n:,} rows" + ("" if d is None else f", {count_things(d, 'column')}")
    facts = {"kernel": repr(found), "size": shape, "budget": show_bytes(budget), "solver": chosen.solver}
    _show.facts([*facts.items(), ("because", chosen.reason)])
    _show.heading("What every solver would take on this machine, right to a factor of a few")
    rows = []
    for name, item in others.items():
        taken = ["–"] * 2 if item["memory"] is None else [show_bytes(item["memory"]), show_seconds(item["seconds"])]
        rows.append([("→ " if name == chosen.solver else "  ") + name, *taken, item["note"]])
    _show.table(["solver", "memory", "time", ""], rows, right=["memory", "time"])


def _compare_solvers(kernel: Kernel, n: int, d: int | None, sizes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return memory and time of each solver, and whether it fits; of those that do not, what they would take."""
    from mercer.arrays.budget import MemoryBudgetError
    from mercer.solvers.plan import SOLVERS
    from mercer.solvers.plan import plan as choose

    found: dict[str, dict[str, Any]] = {}
    for name in SOLVERS:
        try:
            item, fits = choose(kernel, n, d, solver=name, **sizes), True
        except ValueError:
            found[name] = {"memory": None, "seconds": None, "fits": False, "note": "needs finitely many features"}
            continue
        except MemoryBudgetError:
            item, fits = choose(kernel, n, d, solver=name, **(sizes | {"memory": 10**24})), False
        note = "" if fits else "more than the budget"
        found[name] = {"memory": item.memory, "seconds": item.seconds, "fits": fits, "note": note}
    return found
