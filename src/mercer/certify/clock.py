"""How long a verdict may take: every loop of a proof or a search asks the clock, and time that is up means Unknown."""

from __future__ import annotations

import math
import time

PROOF_SECONDS = 4.0  # proofs that anyone would read take milliseconds
SEARCH_SECONDS = 1.0  # of looking at points; sets that would not fit are left out
LAST_SECONDS = 5.0  # when even a set of points that seemed to fit is given up


class OutOfTimeError(Exception):
    """The time for a proof or a search is up."""


class ProofClock:
    """A time limit."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def check(self) -> None:
        """Raise OutOfTimeError if the time is up."""
        if time.monotonic() > self.end:
            raise OutOfTimeError


UNHURRIED = ProofClock(math.inf)
