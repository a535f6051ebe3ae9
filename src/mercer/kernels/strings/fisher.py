"""The Fisher kernel of a Markov model: how two sequences would change what the model says."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.formula.data import Rows, short
from mercer.formula.parameters import Count
from mercer.formula.statistics import Prepared

from ..prepared import Missing
from .base import StringKernel, Tokens
from .strands import locate
from .table import Coded, TokenTable

MOST_FEATURES = 2**20  # one for each word of order + 1 tokens


class Fisher(StringKernel):
    """The Fisher kernel of a Markov model, in which each token depends on the ``order`` tokens before it.

    With p(a | c) the probability of the token a after the context c, and n_{ca}(x) how often x has a after c, the slope
    of log p(x) in the logits of p(· | c) is u_{ca}(x) = n_{ca}(x) − n_c(x) p(a | c).  The kernel is the product of
    these slopes in the metric of the Fisher information,

    k(x, z) = Σ_c (1/ν_c) Σ_a u_{ca}(x) u_{ca}(z) / p(a | c),

    where ν_c is how often a sequence visits c on average.  Words as frequent as the model expects count nothing,
    and rare ones much.  See Jaakkola and Haussler, Advances in Neural Information Processing Systems 11 (1998).

    Parameters
    ----------
    order : int, default=2
        How many tokens the next one depends on.
    alphabet : str or collection of tokens, default="ACGT"
        The tokens; others are refused.
    probabilities : array of shape (letters^order, letters), optional
        p(a | c), for contexts in the order of ``itertools.product(alphabet, repeat=order)``; all alike if not given.
        :meth:`learn` finds them.
    visits : array of shape (letters^order,), optional
        ν_c, positive; ones if not given.
    skip : str or collection of tokens, default=""
        Tokens that are none, such as ``"N"``: what follows one has no context until ``order`` tokens later.
    missing : {"refuse", "own"}, default="refuse"
        Whether None and NaN are refused or an object of their own.

    Notes
    -----
    There are letters^(order + 1) features, whatever the data, so that sums over many sequences are sums over words.

    Examples
    --------
    >>> from mercer.kernels import Fisher
    >>> genes = ["ACACACAC", "ACACGTGT", "GTGTGTGT"]
    >>> Fisher.learn(genes, order=1).normalize()(genes).round(2)
    array([[1.  , 0.28, 0.  ],
           [0.28, 1.  , 0.59],
           [0.  , 0.59, 1.  ]])
    """

    order: Count = 2
    alphabet: Any = "ACGT"
    probabilities: Any = None
    visits: Any = None
    skip: Tokens = ""
    missing: Missing = "refuse"
    options = ("probabilities", "visits", "skip", "missing")
    because = "k = φ(x)ᵀφ(z) with φ_{ca}(x) = u_{ca}(x) / √(ν_c p(a | c)), the whitened slopes of log p(x)"

    def __post_init__(self) -> None:
        super().__post_init__()
        letters = len(self.alphabet) if hasattr(self.alphabet, "__len__") else 0
        if letters == 0 or len(set(self.alphabet)) != letters:
            raise ValueError(
                f"Fisher: alphabet must hold every token once, and at least one; got {short(self.alphabet)}"
            )
        if letters ** (int(self.order) + 1) > MOST_FEATURES:
            raise ValueError(
                f"Fisher: {letters} letters and order={self.order} make more than {MOST_FEATURES:,} features; use a "
                "smaller order"
            )
        contexts = letters ** int(self.order)
        for name, shape in (("probabilities", (contexts, letters)), ("visits", (contexts,))):
            given = getattr(self, name)
            found = None if given is None else np.asarray(given, dtype=float)
            if found is not None and (found.shape != shape or not (np.isfinite(found).all() and (found > 0).all())):
                raise ValueError(
                    f"Fisher: {name} must be positive numbers of shape {shape} for {letters} letters and "
                    f"order={self.order}, got shape {found.shape}; Fisher.learn(sequences, order=…) finds them"
                )
        if self.probabilities is not None and not np.allclose(np.sum(self.probabilities, axis=1), 1.0):
            raise ValueError("Fisher: every row of probabilities must sum to 1")

    @classmethod
    def learn(
        cls,
        sequences: Rows,
        *,
        order: int = 2,
        alphabet: Any = "ACGT",
        pseudocount: float = 1.0,
        skip: Any = "",
        missing: Any = "refuse",
    ) -> Self:
        """Return the kernel of the model that sequences, such as those of the background, follow.

        Parameters
        ----------
        sequences : collection
            What to count transitions in.
        order, alphabet, skip, missing
            As above.
        pseudocount : float, default=1.0
            What is added to the count of every transition, positive, so that no probability is 0.

        Returns
        -------
        Fisher
            With p(a | c) = (n_{ca} + pseudocount) / Σ_a (n_{ca} + pseudocount), and ν_c the denominator divided by the
            number of sequences.
        """
        if not (np.isfinite(pseudocount) and pseudocount > 0):
            raise ValueError(f"Fisher: pseudocount must be a positive finite number, got {pseudocount!r}")
        plain = cls(order, alphabet, skip=skip, missing=missing)
        coded = plain.encode(sequences, sequences)[0]
        totals = plain.count(coded).sum(axis=0) + pseudocount
        visits = totals.sum(axis=1)
        return plain.with_params(probabilities=totals / visits[:, None], visits=visits / len(coded))

    def encode(self, X: Rows, Z: Rows) -> tuple[Coded, Coded]:
        """Number tokens as the alphabet does."""
        A, B = super().prepare(X, Z)
        return A, B

    def adapt(self, table: TokenTable, A: Coded, B: Coded) -> TokenTable:
        """Raise on tokens that are not in the alphabet."""
        known = set(self.alphabet)
        unknown = next((code for code, token in enumerate(table.tokens) if token not in known), None)
        if unknown is not None:
            raise ValueError(
                f"Fisher: the token {table.tokens[unknown]!r} of object {locate(unknown, table, A, B)} is not in the "
                f"alphabet {short(self.alphabet)}; pass alphabet=… with every token there may be, or skip=… with those "
                "that are none, such as 'N'"
            )
        return table

    def count(self, coded: Coded) -> np.ndarray:
        """Return how often each sequence has each token after each context, of shape (n, contexts, letters)."""
        letters, size = len(self.alphabet), int(self.order) + 1
        place = {token: code for code, token in enumerate(self.alphabet)}
        own = np.array([place[token] for token in coded.table.tokens], dtype=np.int64)
        owners, starts = coded.table.windows(coded.ids, size)
        numbers = owners
        for step in range(size):
            numbers = numbers * letters + own[coded.table.codes[starts + step]]
        found = np.bincount(numbers, minlength=len(coded) * letters**size)
        return found.astype(float).reshape(len(coded), -1, letters)

    def embed(self, X: Rows) -> np.ndarray:
        """Return the features, of shape (n, letters^(order + 1)), and one more for missing objects if they are one."""
        return self._whiten(self.encode(X, X)[0])

    def _whiten(self, coded: Coded) -> np.ndarray:
        counts = self.count(coded)
        letters = len(self.alphabet)
        p = np.full((1, letters), 1.0 / letters) if self.probabilities is None else np.asarray(self.probabilities)
        visits = 1.0 if self.visits is None else np.asarray(self.visits)[:, None]
        slopes = (counts - counts.sum(axis=2, keepdims=True) * p) / np.sqrt(visits * p)
        features = slopes.reshape(len(coded), -1)
        if self.missing == "own":
            features = np.column_stack([features, coded.ids == coded.table.missing])
        return features

    def prepare(self, X: Rows, Z: Rows) -> tuple[Prepared, Prepared]:
        """Features of both collections."""
        A, B = self.encode(X, Z)
        left = self._whiten(A)
        return left, left if B is A else self._whiten(B)

    def block(self, A: Prepared, B: Prepared) -> np.ndarray:
        """Dot products of features."""
        return np.asarray(A @ B.T)

    def block_diag(self, A: Prepared) -> np.ndarray:
        """Squared norms of features."""
        return np.asarray(np.einsum("ij,ij->i", A, A))
