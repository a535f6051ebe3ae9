"""Kernels on strings beside the straightforward way to compute them, and Biopython's score of a local alignment."""

from collections import Counter
from functools import partial
from itertools import combinations
from math import exp

import numpy as np

from mercer.kernels import Fisher, GappedKmer, LocalAlignment, WeightedDegree

from .measure import race, verdict

COUNT, SIZE = 12, 100  # strings: Python takes seconds for the pairs of a few
PROTEIN, DNA = "ARNDCQEGHILKMFPSTWYV", "ACGT"
ACROSS = str.maketrans(DNA, DNA[::-1])
GAIN = 20.0  # at least, over Python


def random_strings(letters, count=COUNT, size=SIZE):
    rng = np.random.default_rng(0)
    return ["".join(rng.choice(list(letters), size=size)) for _ in range(count)]


def sum_local(kernel, place, scores, x, z):
    """The recursion of Saigo and others, pair by pair: sums that end aligned, or in a gap of either string."""
    opened, extended = exp(-kernel.beta * kernel.gap_open), exp(-kernel.beta * kernel.gap_extend)
    row, total = [(0.0, 0.0, 0.0)] * (len(z) + 1), 1.0
    for a in x:
        before, row = row, [(0.0, 0.0, 0.0)]
        for j, b in enumerate(z):
            up, left = before[j + 1], row[j]
            aligned = scores[place[a]][place[b]] * (1.0 + sum(before[j]))
            down = opened * up[0] + extended * up[1]
            row.append((aligned, down, opened * (left[0] + left[1]) + extended * left[2]))
            total += aligned
    return total


def count_gapped(kernel, x):
    """Return how often each word with gaps occurs, windows near the middle of the string more."""
    found, length = Counter(), kernel.length
    for kept in combinations(range(length), length - kernel.gaps):
        for i in range(len(x) - length + 1):
            apart = abs(i + (length - 1) / 2 - (len(x) - 1) / 2)
            weight = 1.0 if kernel.center_weights is None else 2.0 ** (-apart / kernel.center_weights)
            found[kept, tuple(x[i + place] for place in kept)] += weight
    return found


def compare_gapped(kernel, X):
    left, right = [count_gapped(kernel, x) for x in X], [count_gapped(kernel, x) for x in X]
    if kernel.reverse_complement:
        right = [count + count_gapped(kernel, x.translate(ACROSS)[::-1]) for count, x in zip(right, X, strict=True)]
    return np.array([[sum(count * z[word] for word, count in x.items()) for z in right] for x in left])


def compare_degrees(kernel, X):
    """By NumPy: where two strings agree, one moved along the other, and where they still do d tokens later."""
    codes = [np.frombuffer(x.encode(), dtype=np.uint8) for x in X]

    def weigh(x, z):
        agree = x[: len(z)] == z[: len(x)]
        total, run = 0.0, agree
        for d, weight in enumerate(kernel.weights()):
            run = run if d == 0 else run[:-1] & agree[d:]
            total += weight * run.sum()
        return total

    def value(x, z):
        apart = kernel.shifts()[1:]
        return weigh(x, z) + sum(w * (weigh(x[s:], z) + weigh(x, z[s:])) for s, w in enumerate(apart, start=1))

    return np.array([[value(x, z) for z in codes] for x in codes])


def compare_slopes(kernel, X):
    contexts, letters = len(kernel.probabilities), len(kernel.alphabet)
    u = np.zeros((len(X), contexts, letters))
    for n, x in enumerate(X):
        for i in range(kernel.order, len(x)):
            context = 0
            for token in x[i - kernel.order : i]:
                context = context * letters + kernel.alphabet.index(token)
            u[n, context, kernel.alphabet.index(x[i])] += 1.0
    u -= u.sum(axis=2, keepdims=True) * kernel.probabilities
    whole = u / kernel.probabilities / kernel.visits[:, None]
    return np.einsum("ica,jca->ij", u, whole)


def plain_row(kernel, X, plain, goal=GAIN) -> None:
    """Both in turns; the straightforward way goes through all pairs, and ours has symmetry and threads too."""
    K, expected = kernel(X), plain(kernel, X)
    seconds, other = race([lambda: kernel(X), lambda: plain(kernel, X)], 2)
    error = np.abs(K - expected).max() / np.abs(expected).max()
    print(f"{repr(kernel)[:80]}, {len(X)} strings of {len(X[0])}: {1e3 * seconds:.2f} ms, ", end="")
    print(f"in Python {1e3 * other:.0f}: {verdict(other / seconds, goal)}, difference {error:.0e}", flush=True)


def compare_local(kernel, X):
    place = {token: row for row, token in enumerate(kernel.letters)}
    scores = np.exp(kernel.beta * kernel.scores).tolist()
    value = partial(sum_local, kernel, place, scores)
    return np.array([[value(x, z) for z in X] for x in X])


def aligner_row(X, beta=10.0) -> None:
    """The score of the best alignment, which log k / β tends to as β grows."""
    try:
        from Bio import Align
        from Bio.Align import substitution_matrices
    except ImportError:
        print("Biopython is not installed", flush=True)
        return
    aligner = Align.PairwiseAligner(mode="local", substitution_matrix=substitution_matrices.load("BLOSUM62"))
    aligner.open_gap_score, aligner.extend_gap_score = -11.0, -1.0
    soft = LocalAlignment(beta=beta, log=True)

    def score():
        return np.array([[aligner.score(x, z) for z in X] for x in X])

    seconds, other = race([lambda: soft(X), score], 3)
    print(f"LocalAlignment(beta={beta:g}, log=True), {len(X)} strings of {len(X[0])}: {1e3 * seconds:.1f} ms, ", end="")
    print(f"Biopython's best scores {1e3 * other:.1f}: {verdict(other / seconds, 1.0)}, ", end="")
    print(f"largest difference {np.abs(soft(X) - score()).max():.2f}", flush=True)


def main() -> None:
    proteins, genes = random_strings(PROTEIN), random_strings(DNA)
    plain_row(LocalAlignment(), proteins, compare_local)
    aligner_row(proteins)
    both = GappedKmer(6, 2, reverse_complement=True)
    for kernel in (GappedKmer(6, 2), both, both.with_params(center_weights=20.0)):
        plain_row(kernel, genes, compare_gapped)
    genes = random_strings(DNA, 5 * COUNT)  # of which NumPy, and loops that count, take more
    plain_row(WeightedDegree(6), genes, compare_degrees)
    plain_row(WeightedDegree(6, shift=8), genes, compare_degrees)
    plain_row(Fisher.learn(genes, order=3), genes, compare_slopes, goal=3.0)
