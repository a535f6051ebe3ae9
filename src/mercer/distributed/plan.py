"""What a fit did where: on the workers, on the client, and between them."""

from __future__ import annotations

from dataclasses import dataclass, field

from mercer.arrays.budget import show_bytes
from mercer.solvers.plan import Plan


@dataclass(frozen=True)
class ClusterPlan(Plan):
    """A plan for rows that live in partitions.

    Parameters
    ----------
    partitions : int
        How many partitions there are.
    passes : int
        How many times a computation went over them or asked for some of their rows.
    workers : str
        What ran on the workers.
    client : str
        What ran on the client.
    moved : dict of str to int
        Bytes that left a partition's task, by what they were: at most so many went through the network.
    """

    partitions: int = 1
    passes: int = 0
    workers: str = ""
    client: str = ""
    moved: dict[str, int] = field(default_factory=dict)

    @property
    def bytes_moved(self) -> int:
        """All bytes that moved."""
        return sum(self.moved.values())

    def __str__(self) -> str:
        parts = ", ".join(f"{show_bytes(size)} of {what}" for what, size in self.moved.items()) or "nothing"
        return (
            f"{super().__str__()}. On the workers, over {self.partitions} partitions in {self.passes} passes: "
            f"{self.workers}. On the client: {self.client}. What moves: {parts}."
        )
