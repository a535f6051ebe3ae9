"""``mercer plan``: which solver, and what it will take."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from mercer.words import show_seconds

from . import _options, _show
from ._options import command, count, json_option, parsed_kernel


@command(
    "plan",
    "Which solver for data of a given size, and what it takes.",
    [
        "mercer plan --n 1e6 --d 20 --kernel gaussian",
        'mercer plan --n 50000 --d 8 --kernel "Polynomial(3) + Linear()" --memory 4GB',
        "mercer plan --n 3000 --d 8 --loo --json",
    ],
)
@click.option("--n", type=count, metavar="NUMBER", required=True, help="Number of training rows.")
@click.option(
    "--d", type=count, metavar="NUMBER", help="Number of columns; leave it out for strings, graphs and other objects."
)
@click.option("--kernel", default="gaussian", show_default=True, metavar="EXPRESSION", help="The kernel.")
@click.option("--outputs", type=count, metavar="NUMBER", default=1, show_default=True, help="Number of targets.")
@click.option(
    "--alphas", type=count, metavar="NUMBER", default=1, show_default=True, help="Number of penalties to solve for."
)
@click.option("--loo", is_flag=True, help="Leave-one-out errors are wanted too.")
@click.option(
    "--memory",
    type=_options.memory,
    metavar="AMOUNT",
    help="Memory budget such as 4GB; 60 % of what is free if not given.",
)
@json_option
def plan(
    n: int, d: int | None, kernel: str, outputs: int, alphas: int, loo: bool, memory: str | None, as_json: bool
) -> None:
    """Say how a ridge problem of a given size would be solved, why, and what it takes; nothing is computed."""
    from mercer.arrays.budget import parse_memory, show_bytes
    from mercer.solvers.plan import plan as choose

    found = parsed_kernel(kernel)
    budget = parse_memory(memory)
    sizes: dict[str, Any] = {"outputs": outputs, "alphas": alphas, "loo": loo, "memory": budget}
    chosen = choose(found, n, d, **sizes)
    others = _all_solvers(found, n, d, sizes)
    if as_json:
        _show.as_json(
            {"kernel": repr(found), "n": n, "d": d, "budget": budget, "plan": asdict(chosen), "solvers": others}
        )
        return
    shape = f"{n:,} rows" + ("" if d is None else f", {d:,} column{'s' * (d != 1)}")
    _show.facts(
        [
            ("kernel", repr(found)),
            ("size", shape),
            ("budget", show_bytes(budget)),
            ("solver", chosen.solver),
            ("because", chosen.reason),
        ]
    )
    _show.heading("What every solver would take on this machine, right to a factor of a few")
    rows = [
        [
            ("→ " if name == chosen.solver else "  ") + name,
            show_bytes(item["memory"]) if item["memory"] is not None else "–",
            show_seconds(item["seconds"]) if item["seconds"] is not None else "–",
            item["note"],
        ]
        for name, item in others.items()
    ]
    _show.table(["solver", "memory", "time", ""], rows, right=["memory", "time"])


def _all_solvers(kernel: Any, n: int, d: int | None, sizes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return memory and time of each solver, and whether it fits; a petabyte is budget enough to ask."""
    from mercer.solvers.plan import SOLVERS
    from mercer.solvers.plan import plan as choose

    found: dict[str, dict[str, Any]] = {}
    for name in SOLVERS:
        try:
            item = choose(kernel, n, d, solver=name, **(sizes | {"memory": 10**24}))
        except ValueError:
            found[name] = {"memory": None, "seconds": None, "fits": False, "note": "needs finitely many features"}
            continue
        fits = item.memory <= sizes["memory"]
        note = "" if fits else "more than the budget"
        found[name] = {"memory": item.memory, "seconds": item.seconds, "fits": fits, "note": note}
    return found
