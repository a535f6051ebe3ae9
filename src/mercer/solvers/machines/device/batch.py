"""Many dual problems on their way to solutions at once, in rounds on a device.

Every problem is a row of the tensors here, padded to the longest by variables whose box is the point 0: they can
neither rise nor fall and so are never moved.  A round does for all problems what those of
:class:`mercer.solvers.machines.rounds.Run` do for one, and waits for the device once, to learn which are finished.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array, load_torch

from ..dual import DualProblem, DualSolution
from ..rounds import INNER, Course
from .inner import WorkingSets, solve_sets
from .rows import DeviceRows, add_rows

PASSES = 16  # steps of a round for each variable of a working set, so that no problem keeps the others waiting


@dataclass(frozen=True, eq=False)
class BatchEntry:
    """A problem with its number, the positions of its points, and how it goes on."""

    number: int
    points: np.ndarray
    course: Course

    @property
    def problem(self) -> DualProblem:
        """The problem in its own unit."""
        return self.course.problem


class Batch:
    """Problems side by side, each with a working set of ``size`` variables, a power of two, in a round."""

    def __init__(self, entries: list[BatchEntry], size: int, place: Place) -> None:
        torch, device = load_torch(), place.device
        self.entries, self.size = entries, size
        longest = max(size, max(entry.problem.n for entry in entries))
        shape, courses = (len(entries), longest), [entry.course for entry in entries]

        def pad(name: str) -> Array:
            values = np.zeros(shape)
            for row, entry in zip(values, entries, strict=True):
                row[: entry.problem.n] = getattr(entry.problem, name)
            return place.put(values)

        points = np.zeros(shape, dtype=np.int64)
        for row, entry in zip(points, entries, strict=True):
            row[: entry.problem.n] = entry.points
        self.points = torch.from_numpy(points).to(device)
        self.target, self.lower, self.upper, self.beta = map(pad, ("target", "lower", "upper", "start"))
        self.slope = self.target.clone()
        counts = np.array([entry.problem.n for entry in entries])
        cuts = [entry.problem.n if entry.problem.second is None else entry.problem.second for entry in entries]
        self.two = bool((counts != cuts).any())
        self.counts, self.cuts = (torch.as_tensor(np.array(v), device=device)[:, None] for v in (counts, cuts))
        self.epsilon = place.put([[entry.problem.epsilon] for entry in entries])
        self.n_iter, self.most = (
            torch.as_tensor([getattr(course, name) for course in courses], device=device) for name in ("n_iter", "most")
        )
        self.tolerance, self.units = (
            place.put([getattr(course, name) for course in courses]) for name in ("tolerance", "unit")
        )
        # From a start that is not 0 the free variables are the ones that go on moving.
        self.inside = (self.beta > self.lower) & (self.beta < self.upper) & (self.beta != 0)
        self.entered = torch.zeros(shape, dtype=torch.int32, device=device)
        self.steps = torch.ones(len(entries), dtype=torch.int32, device=device)  # of the last round
        self.rounds = 0

    def __len__(self) -> int:
        return len(self.entries)

    def keep(self, which: np.ndarray) -> None:
        """Go on with some of the problems."""
        where = load_torch().as_tensor(which, device=self.beta.device)
        for name, value in vars(self).items():
            if hasattr(value, "index_select"):
                setattr(self, name, value.index_select(0, where))
        self.entries = [self.entries[i] for i in which]

    # -- the state of all problems ----------------------------------------------------------------------------------

    def scores(self) -> tuple[Array, Array]:
        """Return what :meth:`mercer.solvers.machines.dual.DualProblem.scores` does, for all problems."""
        torch, infinite = load_torch(), float("inf")
        rise = self.slope - torch.where(self.beta >= 0, self.epsilon, -self.epsilon)
        fall = self.slope - torch.where(self.beta > 0, self.epsilon, -self.epsilon)
        return rise.masked_fill(self.beta >= self.upper, -infinite), fall.masked_fill(self.beta <= self.lower, infinite)

    def groups(self, rise: Array, fall: Array) -> list[tuple[Array, Array]]:
        """Return rises and falls of each group, with all others ruled out."""
        if not self.two:
            return [(rise, fall)]
        infinite = float("inf")
        later = load_torch().arange(rise.shape[1], device=rise.device) >= self.cuts
        return [(rise.masked_fill(other, -infinite), fall.masked_fill(other, infinite)) for other in (later, ~later)]

    def violation(self, rise: Array, fall: Array) -> Array:
        """Return the largest violation of each problem."""
        torch = load_torch()
        return torch.stack([up.amax(1) - down.amin(1) for up, down in self.groups(rise, fall)]).amax(0)

    def recompute(self, rows: DeviceRows, which: np.ndarray) -> Array:
        """Compute the slopes t − Kβ of some problems afresh, and return their violations."""
        where = load_torch().as_tensor(which, device=self.beta.device)
        points, beta = self.points[where], self.beta[where]
        values = beta.new_zeros(beta.shape)
        for matrix, places, weights in rows.blocks(points, beta):
            add_rows(matrix, places, points, weights, values)
        self.slope[where] = self.target[where] - values
        rise, fall = self.scores()
        return self.violation(rise, fall)[where]

    def solution(self, i: int, dtype: type) -> DualSolution:
        """Return where a problem stands; its slopes must have been recomputed."""
        problem, course = self.entries[i].problem, self.entries[i].course
        beta, slope = (host_array(part[i, : problem.n]).copy() for part in (self.beta, self.slope))
        course.n_iter = int(self.n_iter[i])
        return course.certify(beta, problem.target - slope, dtype)

    # -- a round ------------------------------------------------------------------------------------------------------

    def round(self, rows: DeviceRows, rise: Array, fall: Array, violation: Array, enough: Array, left: Array) -> None:
        """Choose working sets, solve their problems, and carry the changes to all slopes."""
        torch = load_torch()
        chosen = self._select(rise, fall)
        points = self.points.gather(1, chosen)
        matrix, places = rows.take(points)
        lower, upper, beta, slope = (part.gather(1, chosen) for part in (self.lower, self.upper, self.beta, self.slope))
        inner = torch.maximum(INNER * violation, 0.5 * self.tolerance)
        goal = torch.where(self.counts[:, 0] <= self.size, 0.95 * enough, inner)
        found, self.steps = solve_sets(
            WorkingSets(
                matrix[places[:, :, None], points[:, None, :]],
                lower,
                upper,
                beta,
                slope,
                self.epsilon[:, 0].contiguous(),
                # Positions are in order, so that the first group comes first here too; padding is no harm in either.
                (chosen < self.cuts).sum(1).to(torch.int32) if self.two else torch.full_like(self.steps, self.size),
                goal,
                left.clamp(max=PASSES * self.size).to(torch.int32),
                self.two,
            )
        )
        self.beta.scatter_(1, chosen, found)
        add_rows(matrix, places, self.points, beta - found, self.slope)
        self.n_iter = self.n_iter + self.steps

    def _select(self, rise: Array, fall: Array) -> Array:
        """Return the variables of the next round in order: the worst violators, and some of the last round.

        Half of the places are for violators that were not in the last round.  Of that round free variables stay first,
        and those that came last: they are the ones that go on moving.
        """
        torch, size = load_torch(), self.size
        self.rounds += 1
        free = (self.beta > self.lower) & (self.beta < self.upper)
        recent = self.entered.float() / self.rounds
        rank = torch.where(self.inside, 1.0 + free + 0.9 * recent, 0.0)
        groups = self.groups(rise, fall)
        few = max(1, size // (4 * len(groups)))
        first = torch.arange(2 * few, device=rank.device) < few
        levels = torch.where(first, 4.0, 0.5).expand(len(rank), -1)  # those beyond the first take places left over
        for up, down in groups:
            for gain, limit in ((up, down.amin(1, keepdim=True)), (-down, -up.amax(1, keepdim=True))):
                best = gain.masked_fill(self.inside, -float("inf")).topk(2 * few, dim=1)
                rank.scatter_reduce_(1, best.indices, levels * (best.values > limit), "amax")
                # The pair that violates most takes part whatever else does, so that every round makes progress.
                rank.scatter_(1, gain.argmax(1, keepdim=True), 5.0)
        rank.masked_fill_(torch.arange(rank.shape[1], device=rank.device) >= self.counts, -1.0)
        chosen = rank.topk(size, dim=1, sorted=False).indices.sort(1).values
        new = torch.zeros_like(self.inside).scatter_(1, chosen, True)
        self.entered.masked_fill_(new & ~self.inside, self.rounds)
        self.inside = new
        return chosen
