"""Kernels on graphs that count what two graphs have in common: refined labels, or shortest paths.

Whatever is counted, k(G, H) = φ(G)ᵀφ(H) with one integer feature for each thing that occurs, so that the Gram matrix
is a product of sparse matrices.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from mercer.formula.data import Rows
from mercer.formula.parameters import Count, Flag

from .book import Book, Numbers, join
from .counts import CountRows, count_columns, count_labels, count_paths, sum_squares, write_unary
from .lengths import find_paths
from .table import GraphKernel, GraphTable, read_graphs


class CountKernel(GraphKernel):
    """A kernel on graphs whose features are counts; subclasses say what is counted."""

    def counts(self, table: GraphTable, book: Book) -> tuple[sparse.csr_array, np.ndarray]:
        """Return the features of all graphs of a table that a book has, and k(G, G), for which others count, too.

        An open book takes all of them, a closed one no more than it has.
        """
        raise NotImplementedError

    def learn(self, X: Rows) -> tuple[Book, sparse.csr_array]:
        """Return a closed book of everything that occurs in graphs, and their features."""
        book = Book()
        table, _ = read_graphs(X, None, repr(self), book)
        found, _ = self.counts(table, book)
        book.close()
        return book, found

    def look_up(self, X: Rows, book: Book) -> tuple[sparse.csr_array, np.ndarray]:
        """Return the features of other graphs that a closed book has, and k(G, G) of each of them."""
        return self.counts(read_graphs(X, None, repr(self), book.relabel())[0], book)

    def prepare(self, X: Rows, Z: Rows) -> tuple[CountRows, CountRows]:
        """Count everything that occurs in X or Z."""
        table, n = read_graphs(X, None if Z is X else Z, repr(self))
        rows = CountRows.of(self.counts(table, Book())[0])
        return (rows, rows) if Z is X else (rows[slice(0, n)], rows[slice(n, len(rows))])

    def block(self, A: CountRows, B: CountRows) -> np.ndarray:
        """Dot products of the counts."""
        return A.product(B)

    def block_diag(self, A: CountRows) -> np.ndarray:
        """Squared norms of the counts."""
        return A.squares()


class WeisfeilerLehman(CountKernel):
    """The Weisfeiler–Lehman subtree kernel.

    k(G, H) = Σ_{t=0}^{h} Σ_{u∈G} Σ_{v∈H} 1[ℓ_t(u) = ℓ_t(v)], where ℓ_0 is the label of a node, and ℓ_{t+1}(u) is the
    pair of ℓ_t(u) and the multiset of (edge label, ℓ_t) of the neighbours of u: two nodes agree in round t if their
    surroundings look the same up to distance t.  See Shervashidze et al., Journal of Machine Learning Research 12
    (2011).

    Parameters
    ----------
    iterations : int, default=5
        The number h of rounds; 0 compares labels only.
    missing : {"refuse", "own"}, default="refuse"
        Missing graphs (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    See Also
    --------
    WeisfeilerLehmanAssignment : Counts the best matching of nodes rather than all pairs.

    Examples
    --------
    >>> from mercer.kernels import Graph, WeisfeilerLehman
    >>> water, hydrogen = Graph([[1, 2], [0], [0]], labels="OHH"), Graph([[1], [0]], labels="HH")
    >>> WeisfeilerLehman(iterations=1)([water, hydrogen])
    array([[10.,  4.],
           [ 4.,  8.]])
    """

    iterations: Count = 5
    because = "k(G, H) = φ(G)ᵀφ(H), where φ counts the nodes with each refined label, so Σ aᵢaⱼk = ‖Σ aᵢφ‖² ≥ 0"

    def counts(self, table: GraphTable, book: Book) -> tuple[sparse.csr_array, np.ndarray]:
        """Histograms of refined labels."""
        known, fresh = count_labels(table, int(self.iterations), book)
        return known, sum_squares(known) + sum_squares(fresh)


class WeisfeilerLehmanAssignment(CountKernel):
    """The Weisfeiler–Lehman optimal assignment kernel.

    k(G, H) = max over one-to-one assignments of nodes u of G to nodes v of H of Σ_t 1[ℓ_t(u) = ℓ_t(v)], with the
    refined labels of :class:`WeisfeilerLehman`.  Refined labels form a tree, in which the best assignment is the
    intersection of histograms, Σ_t Σ_ℓ min(count of ℓ in G, count of ℓ in H).  See Kriege, Giscard and Wilson,
    Advances in Neural Information Processing Systems 29 (2016).

    Parameters
    ----------
    iterations : int, default=5
        The number of rounds; 0 compares labels only.
    missing : {"refuse", "own"}, default="refuse"
        Missing graphs (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    Examples
    --------
    >>> from mercer.kernels import Graph, WeisfeilerLehmanAssignment
    >>> water, hydrogen = Graph([[1, 2], [0], [0]], labels="OHH"), Graph([[1], [0]], labels="HH")
    >>> WeisfeilerLehmanAssignment(iterations=1)([water, hydrogen])
    array([[6., 2.],
           [2., 4.]])
    """

    iterations: Count = 5
    because = (
        "k(G, H) = Σ min(c, c') over counts of refined labels, and min(c, c') = Σ_t 1[t ≤ c] 1[t ≤ c'] is an inner "
        "product of indicators"
    )

    def counts(self, table: GraphTable, book: Book) -> tuple[sparse.csr_array, np.ndarray]:
        """Histograms of refined labels, each count c as c ones, which are their own squares."""
        known, fresh = count_labels(table, int(self.iterations), book)
        return write_unary(known, book), known.sum(axis=1) + fresh.sum(axis=1)


class ShortestPath(CountKernel):
    """The shortest-path kernel.

    k(G, H) = Σ_{u≠v∈G} Σ_{s≠t∈H} 1[ℓ(u) = ℓ(s)] 1[ℓ(v) = ℓ(t)] 1[d(u, v) = d(s, t)] over ordered pairs of nodes of
    which the first reaches the second, where d is the number of edges of a shortest path, or the least sum of their
    weights.  Labels of edges are not looked at.  See Borgwardt and Kriegel, International Conference on Data Mining
    (2005).

    Parameters
    ----------
    weighted : bool, default=False
        Whether d is a sum of weights rather than a number of edges.  Sums are rounded to ten digits.
    missing : {"refuse", "own"}, default="refuse"
        Missing graphs (None, NaN) are refused, or are one object of their own, with k = 1 to itself and k = 0 to all
        others.  By name only.

    See Also
    --------
    ShortestPathLengths : Compares distances by a kernel, so that they need not be equal.

    Examples
    --------
    >>> from mercer.kernels import Graph, ShortestPath
    >>> water, hydrogen = Graph([[1, 2], [0], [0]], labels="OHH"), Graph([[1], [0]], labels="HH")
    >>> ShortestPath()([water, hydrogen])
    array([[12.,  0.],
           [ 0.,  4.]])
    """

    weighted: Flag = False
    because = (
        "k(G, H) = φ(G)ᵀφ(H), where φ counts the pairs of nodes with each triple (label, label, distance), so "
        "Σ aᵢaⱼk = ‖Σ aᵢφ‖² ≥ 0"
    )

    def counts(self, table: GraphTable, book: Book) -> tuple[sparse.csr_array, np.ndarray]:
        """Pairs of nodes by their labels and distance."""
        if self.weighted:
            known, fresh = count_weighted_paths(table, book)
        else:
            known, fresh = count_paths(table, book)
        return known, sum_squares(known) + sum_squares(fresh)


def count_weighted_paths(table: GraphTable, book: Book) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return how many ordered pairs of nodes have each triple (label, label, sum of weights), for each graph."""
    paths = find_paths(table, weighted=True)
    labels = np.unique(table.labels)
    ends = np.concatenate(np.divmod(paths.ends, max(1, len(labels))))
    nodes = book.number("labels", labels[ends])
    first, second = np.split(nodes.codes, 2)
    lengths = book.number("lengths", paths.lengths)
    pairs = join(first, second, nodes.known, nodes.fresh)
    columns = book.number("paths", join(pairs, lengths.codes, lengths.known, lengths.fresh))
    entries = paths.counts.tocoo()
    codes = Numbers(columns.codes[entries.col], columns.known, columns.fresh)
    return count_columns(entries.row, entries.data, codes, len(table))
