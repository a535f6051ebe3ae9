"""Models that keep all training rows by definition: the rows are fetched if they fit, and the fit is the ordinary one.

Queries are what is large then, and predictions run over their partitions.
"""

from __future__ import annotations

from typing import Any

from mercer.arrays.budget import parse_memory
from mercer.estimators.gathered import GatheredRows
from mercer.estimators.kernel_argument import KernelArgument
from mercer.solvers.plan import Plan

from .executor import Executor
from .table import read_table


def gather_rows(cluster: Executor, argument: KernelArgument, X: Any, y: Any, sample_weight: Any) -> GatheredRows:
    """Check rows where they live, and fetch all of them if they fit into the budget of their estimator."""
    table = read_table(cluster, argument, "raw", X, y, sample_weight, keep_all=True, matrix=True)
    owner = argument.owner
    name, memory = type(owner).__name__, parse_memory(owner.memory)

    def gather(field: str, given: Any) -> Any:
        return None if given is None else table.gather(field, name, memory)

    def plan(own: Plan | None) -> Plan:
        size = 2 * int(table.survey.nbytes)
        whole = own or Plan("gathered", "the model keeps all rows by definition", size, 0.0, 0.0)
        return cluster.plan(whole, len(table.blocks), "nothing but reading the rows", "the whole fit, to all rows")

    names = vars(owner).get("feature_names_in_")
    return GatheredRows(gather("X", X), gather("y", y), gather("weights", sample_weight), names, plan)
