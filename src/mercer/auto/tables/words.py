"""Texts as a few numbers: hashed runs of letters and words, weighed by how rare they are, and their main directions.

A text x is counted as φ(x), one entry for each of 4,096 hashes of its runs of three and four letters, within words and
with a blank at either end, and of its words.  Counts c become 1 + log c, are multiplied by idf = 1 + log((1+n)/(1+df))
where df of n texts have an entry, and φ(x) is divided by its length.  V are the first directions of the singular value
decomposition of the φ(x) of some texts, and

    z(x) = (Vᵀφ(x) − m) / s,    m the mean of Vᵀφ,    s² = Σⱼ var(Vᵀφ)ⱼ,

so that the whole block has a total variance of 1, as one standardised number has, and its columns keep the weights of
their singular values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

BITS = 12  # of a hash
SAMPLE = 20_000  # texts that directions are learned from, at most
CHUNK = 20_000  # texts that are counted at a time, at most
CHUNK_LETTERS = 2_000_000  # and their letters
LETTERS = 500  # of a text; the rest is not read
ROWS_PER_DIRECTION = 10
RUNS = (3, 4)

_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that its powers have inverses among 64-bit numbers
_INVERSE = np.uint64(pow(int(_BASE), -1, 2**64))
_MIX = np.uint64(0xD6E8FEB86659FD93)
_SEEDS = {run: np.uint64(run * int(_MIX) % 2**64) for run in RUNS}
_BLANK = ord(" ")


def learn_words(texts: Sequence[str], most: int, seed: int = 0) -> dict[str, Any]:
    """Return what :func:`embed_words` needs to turn texts into at most ``most`` numbers, fewer for few texts.

    Examples
    --------
    >>> step = learn_words([f"{size} {thing}" for size in ("red", "blue") for thing in ("shoes", "hats")] * 20, most=3)
    >>> rows = embed_words(step, ["red shoes", "red shoe", "blue hats", ""])
    >>> rows.shape
    (4, 3)
    >>> bool(np.linalg.norm(rows[1] - rows[0]) < np.linalg.norm(rows[2] - rows[0]))
    True
    """
    if len(texts) > SAMPLE:
        some = np.random.default_rng(seed).choice(len(texts), SAMPLE, replace=False)
        texts = [texts[i] for i in np.sort(some).tolist()]
    counts = sparse.vstack([count_runs(chunk) for chunk in _split(texts)], format="csr")
    rows = np.bincount(counts.indices, minlength=counts.shape[1])
    idf = 1.0 + np.log((1.0 + len(texts)) / (1.0 + rows))
    weighed = _weigh(counts, idf)
    directions = max(1, min(most, len(texts) // ROWS_PER_DIRECTION))
    found = TruncatedSVD(directions, random_state=seed).fit(weighed).components_.T
    placed = weighed @ found
    spread = float(np.sqrt(placed.var(axis=0).sum()))
    return {"idf": idf, "directions": found, "center": placed.mean(axis=0), "scale": spread if spread > 0 else 1.0}


def embed_words(step: dict[str, Any], texts: Sequence[str]) -> np.ndarray:
    """Return texts as rows of numbers, as :func:`learn_words` found them."""
    placed = [_weigh(count_runs(chunk), step["idf"]) @ step["directions"] for chunk in _split(texts)]
    joined = np.concatenate(placed) if placed else np.empty((0, len(step["center"])))
    return (joined - step["center"]) / step["scale"]


def count_runs(texts: Sequence[str]) -> sparse.csr_matrix:
    """Return how often each hash occurs in each text, of shape (texts, 4096)."""
    cleaned = [f" {' '.join(text[:LETTERS].lower().split())} " for text in texts]
    letters = np.frombuffer("".join(cleaned).encode("utf-32-le", "replace"), dtype=np.uint32)
    owner = np.repeat(np.arange(len(cleaned), dtype=np.int32), np.fromiter(map(len, cleaned), np.int64, len(cleaned)))
    blank = letters == _BLANK
    wide = letters.astype(np.uint64) + np.uint64(1)
    found = []
    for run in RUNS:
        last = max(0, len(letters) - run + 1)
        # A blank inside would join two words, or two texts, which have blanks around them.
        inside = ~np.logical_or.reduce([blank[i : last + i] for i in range(1, run - 1)])
        starts = np.flatnonzero(inside)
        found.append((starts, sum((wide[starts + i] * _power(i) for i in range(run)), start=_SEEDS[run])))
    begins, ends = (np.flatnonzero(blank[:-1] != blank[1:]) + 1).reshape(-1, 2).T
    with np.errstate(over="ignore"):
        powers = np.cumprod(np.full(len(letters), _BASE))
        undone = np.cumprod(np.full(len(letters), _INVERSE))
        sums = np.concatenate([[np.uint64(0)], np.cumsum(wide * powers)])
        found.append((begins, (sums[ends] - sums[begins]) * undone[begins]))
        starts, hashes = (np.concatenate(part) for part in zip(*found, strict=True))
        buckets = (hashes ^ (hashes >> np.uint64(29))) * _MIX >> np.uint64(64 - BITS)
    places = (owner[starts], buckets.astype(np.int32))
    return sparse.coo_matrix((np.ones(len(starts)), places), shape=(len(texts), 2**BITS)).tocsr()


def _power(i: int) -> np.uint64:
    return np.uint64(pow(int(_BASE), i, 2**64))


def _weigh(counts: sparse.csr_matrix, idf: np.ndarray) -> sparse.csr_matrix:
    """Return counts as entries of vectors of length 1; a text of nothing is zero."""
    weighed = counts.copy()
    weighed.data = (1.0 + np.log(weighed.data)) * idf[weighed.indices]
    squares = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
    weighed.data /= np.repeat(np.where(squares > 0, squares, 1.0), np.diff(weighed.indptr))
    return weighed


def _split(texts: Sequence[str]) -> list[Sequence[str]]:
    """Return texts in chunks that are quickly counted."""
    longest = max((min(len(text), LETTERS) for text in texts), default=0)
    size = max(1, min(CHUNK, CHUNK_LETTERS // max(1, longest)))
    return [texts[i : i + size] for i in range(0, len(texts), size)]
