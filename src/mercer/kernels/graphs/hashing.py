"""Kernels on graphs whose nodes carry numbers: nodes are put into bins by random projections, and bins are counted.

A projection h(x) = ⌊(vᵀx + b)/w⌋ with v of a p-stable distribution, normal for ‖·‖₂ and Cauchy for ‖·‖₁, gives close
points the same bin with a probability that falls with their distance (Datar et al., SCG 2004).  What is drawn depends
on the seed and, for labels, on the label itself, but never on the other graphs: values do not change with the
collection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse, special

from mercer.formula.parameters import Count, Flag, Natural, Positive

from .book import Book, Numbers, join
from .counts import Counted, count_columns, count_labels, join_counts, sum_squares
from .kernels import CountKernel
from .table import GraphTable

REASON = (
    "k(G, H) = φ(G)ᵀφ(H) for every draw of the projections, where φ counts the nodes in each bin, so Σ aᵢaⱼk = "
    "‖Σ aᵢφ‖² ≥ 0"
)


def draw_uniform(seed: int, name: str, size: int) -> np.ndarray:
    """Return numbers in (0, 1) that depend on the seed and the name alone, on every machine.

    Examples
    --------
    >>> draw_uniform(0, "a", 2).round(3), draw_uniform(0, "a", 3).round(3)
    (array([0.892, 0.457]), array([0.892, 0.457, 0.779]))
    """
    key = hashlib.blake2b(f"{seed} {name}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
    raw = np.random.PCG64(int.from_bytes(key, "little")).random_raw(size)
    return (np.atleast_1d(raw) >> np.uint64(12)).astype(float) * 2.0**-52 + 2.0**-53


def draw_stable(seed: int, name: str, size: int, norm: int) -> np.ndarray:
    """Return numbers of the 1-stable distribution, Cauchy, or of the 2-stable one, normal."""
    uniform = draw_uniform(seed, name, size)
    return np.asarray(np.tan(np.pi * (uniform - 0.5)) if norm == 1 else special.ndtri(uniform))


def name_label(label: Any, owner: str) -> str:
    """Return a text that equal labels share, whatever the process."""
    if isinstance(label, bool | int | float):
        exact = abs(label) < 2**1000 and float(label) == label  # above that a float may not hold it
        return f"number {float(label) + 0.0!r}" if exact else f"number {label!r}"  # −0 is 0
    if isinstance(label, str | bytes | None):
        return f"text {label!r}"
    if isinstance(label, tuple):
        return f"tuple {[name_label(part, owner) for part in label]}"
    raise TypeError(
        f"{owner}: the label {label!r} is of the type {type(label).__name__}; what is drawn for a label depends on its "
        "text, so labels must be strings, numbers or tuples of them"
    )


def require_attributes(table: GraphTable, owner: str) -> np.ndarray:
    """Return the attributes of all nodes, or raise if there are none."""
    if table.attributes.shape[1] == 0 and len(table.labels):
        raise ValueError(
            f"{owner} compares the attributes of nodes, and these graphs have none; give them as Graph(…, "
            "attributes=…) or Graph.from_networkx(graph, attributes=…)"
        )
    return table.attributes


class Propagation(CountKernel):
    """The propagation kernel: distributions of labels, or attributes, flow along edges, and nodes are binned each time.

    k(G, H) = (1/m) Σ_{r=1}^{m} Σ_{t=0}^{h} Σ_{u∈G} Σ_{v∈H} 1[h_rt(p_t(u)) = h_rt(p_t(v))], where p_0(u) is the
    indicator of the label of a node, or its attributes, p_{t+1}(u) is the mean of p_t over the neighbours of u weighted
    by edges, and h_rt(p) = ⌊(vᵀp + b)/w⌋ are random bins.  A node without neighbours keeps what it has.  See Neumann et
    al., Machine Learning 102 (2016).

    Parameters
    ----------
    iterations : int, default=5
        The number h of times that distributions flow.
    width : float, default=1e-5
        The width w of bins.  For labels a small one lets nodes agree only if their distributions do; for attributes it
        is a distance that counts as close.
    attributes : bool, default=False
        Whether attributes flow rather than labels.
    hashes : int, default=1
        The number m of draws that the kernel is the mean of.
    norm : {1, 2}, default=2
        The norm in which close nodes share bins.
    random_state : int, default=0
        The seed of the draws.
    missing : {"refuse", "own"}, default="refuse"
        Missing graphs (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    Examples
    --------
    >>> from mercer.kernels import Graph, Propagation
    >>> water, hydrogen = Graph([[1, 2], [0], [0]], labels="OHH"), Graph([[1], [0]], labels="HH")
    >>> Propagation(iterations=1)([water, hydrogen])
    array([[10.,  6.],
           [ 6.,  8.]])
    """

    iterations: Count = 5
    width: Positive = 1e-5
    attributes: Flag = False
    hashes: Natural = 1
    norm: int = 2
    random_state: Count = 0
    because = REASON

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm not in (1, 2):
            raise ValueError(f"Propagation: norm must be 1 or 2, got {self.norm!r}")

    def counts(self, table: GraphTable, book: Book) -> tuple[sparse.csr_array, np.ndarray]:
        """Histograms of bins, for each draw and each time."""
        draws = int(self.hashes) * (int(self.iterations) + 1)
        start, directions = self._find_start(table, draws)
        shifts = draw_uniform(int(self.random_state), "shift", draws).reshape(int(self.hashes), -1)
        directions = directions.reshape(-1, *shifts.shape)
        parts = []
        for t, points in enumerate(spread_along_edges(table, start, int(self.iterations))):
            for r in range(len(shifts)):
                bins = np.floor(points @ directions[:, r, t] / float(self.width) + shifts[r, t])
                parts.append(count_bins(table, book.number((t, r), bins)))
        return average(join_counts(parts), len(shifts))

    def _find_start(self, table: GraphTable, draws: int) -> tuple[Any, np.ndarray]:
        """Return the points p_0 of all nodes, and for each coordinate its entry of each direction v."""
        seed, norm = int(self.random_state), int(self.norm)
        if self.attributes:
            points: Any = require_attributes(table, repr(self))
            names = [f"attribute {i}" for i in range(points.shape[1])]
        else:
            names = [name_label(label, repr(self)) for label in table.names] or ["no label"]
            n = len(table.labels)
            points = sparse.csr_array((np.ones(n), table.labels, np.arange(n + 1)), shape=(n, len(names)))
        drawn = [draw_stable(seed, name, draws, norm) for name in names]
        return points, np.array(drawn, dtype=float).reshape(len(names), draws)


def spread_along_edges(table: GraphTable, points: Any, iterations: int) -> Iterator[Any]:
    """Yield p_0, and then again and again the mean of each node's neighbours, weighted by edges."""
    n = len(table.labels)
    arcs = sparse.csr_array((table.weight, table.end, table.start), shape=(n, n))
    total = arcs.sum(axis=1)
    alone = (total == 0).astype(float)
    flow = sparse.diags_array(1.0 / np.where(total > 0, total, 1.0)) @ arcs + sparse.diags_array(alone)
    yield points
    for _ in range(iterations):
        points = flow @ points
        yield points


def count_bins(table: GraphTable, bins: Numbers) -> Counted:
    """Return how many nodes of each graph are in each bin."""
    return count_columns(table.graph_of_node(), np.ones(len(table.labels)), bins, len(table))


def average(counted: Counted, draws: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Return features whose dot products are means over draws, and the squared norms of these and of others."""
    known, fresh = counted
    return known / np.sqrt(draws), (sum_squares(known) + sum_squares(fresh)) / draws


class HashedWeisfeilerLehman(CountKernel):
    """The Weisfeiler–Lehman kernel of attributes: they are binned at random, and bins are labels that are refined.

    k(G, H) = (1/m) Σ_{r=1}^{m} WL(G_r, H_r), the mean of :class:`WeisfeilerLehman` over m draws of bins
    h_r(a) = ⌊(vᵀa + b)/w⌋ of the attributes a of nodes, which become part of their labels.  See Morris et al.,
    International Conference on Data Mining (2016).

    Parameters
    ----------
    iterations : int, default=3
        The number of rounds of refinement; 0 compares nodes only.
    width : float, default=1.0
        The width w of bins: attributes that differ by much less are in the same bin mostly.
    hashes : int, default=20
        The number m of draws.
    random_state : int, default=0
        The seed of the draws.
    missing : {"refuse", "own"}, default="refuse"
        Missing graphs (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    Examples
    --------
    >>> from mercer.kernels import Graph, HashedWeisfeilerLehman
    >>> shapes = [Graph([[1], [0]], attributes=[[0.0], [x]]) for x in (0.1, 0.2, 5.0)]
    >>> HashedWeisfeilerLehman(iterations=1).normalize()(shapes).round(2)
    array([[1.  , 0.97, 0.34],
           [0.97, 1.  , 0.34],
           [0.34, 0.34, 1.  ]])
    """

    iterations: Count = 3
    width: Positive = 1.0
    hashes: Natural = 20
    random_state: Count = 0
    because = REASON

    def counts(self, table: GraphTable, book: Book) -> tuple[sparse.csr_array, np.ndarray]:
        """Histograms of refined labels, for each draw."""
        points = require_attributes(table, repr(self))
        draws, seed = int(self.hashes), int(self.random_state)
        drawn = [draw_stable(seed, f"attribute {i}", draws, 2) for i in range(points.shape[1])]
        directions = np.array(drawn, dtype=float).reshape(points.shape[1], draws)
        shifts = draw_uniform(seed, "shift", draws)
        parts = []
        for r in range(draws):
            bins = np.floor(points @ directions[:, r] / float(self.width) + shifts[r])
            own = book.chapter(r)
            labels, found = own.number("names", table.labels), own.number("bins", bins)
            codes = join(labels.codes, found.codes, found.known, found.fresh)
            parts.append(count_labels(replace(table, labels=codes), int(self.iterations), own))
        return average(join_counts(parts), draws)
