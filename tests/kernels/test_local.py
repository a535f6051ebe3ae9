"""The local alignment kernel against a sum over all alignments, in logarithms, and where it is a kernel."""

import itertools
import math

import numpy as np
import pytest

from mercer import KernelNeighborsClassifier
from mercer.certify.verdict import Proved, Refuted, Unknown
from mercer.kernels import LocalAlignment
from mercer.kernels.strings.blosum import AMINO_ACIDS, read_blosum62
from mercer.testing import check_kernel

DNA = np.array([[2.0, -1.0, -1.0], [-1.0, 2.0, -0.5], [-1.0, -0.5, 3.0]])
OWN = {"substitution": DNA, "alphabet": "ACG", "gap_open": 1.5, "gap_extend": 0.4}
SHORT = LocalAlignment(**OWN, beta=0.7)
PEPTIDES = ["HEAGAWGHEE", "PAWHEAE", "MKLVINGKTL", "W", "", "WWWW"]


def random_words(count, seed=0, longest=6, letters="ACG"):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), size=rng.integers(0, longest + 1))) for _ in range(count)]


X, Z = random_words(9), random_words(6, seed=1)


def by_definition(kernel, x, z):
    """Every choice of as many places of x as of z."""
    letters, total = kernel.letters, 0.0

    def cost(places):
        gaps = [b - a - 1 for a, b in itertools.pairwise(places)]
        return sum(kernel.gap_open + (gap - 1) * kernel.gap_extend for gap in gaps if gap)

    for pairs in range(min(len(x), len(z)) + 1):
        for left in itertools.combinations(range(len(x)), pairs):
            for right in itertools.combinations(range(len(z)), pairs):
                found = (
                    kernel.scores[letters.index(x[i]), letters.index(z[j])] for i, j in zip(left, right, strict=True)
                )
                total += math.exp(kernel.beta * (sum(found) - cost(left) - cost(right)))
    return total


def test_values_are_sums_over_all_alignments():
    expected = [[by_definition(SHORT, x, z) for z in Z] for x in X]
    np.testing.assert_allclose(SHORT(X, Z), expected, rtol=1e-12)
    np.testing.assert_allclose(SHORT.with_params(log=True)(X, Z), np.log(expected) / 0.7, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(SHORT.diag(X), SHORT(X).diagonal(), rtol=1e-14)


def test_blosum_is_symmetric_and_scores_what_everybody_knows():
    scores = read_blosum62()
    np.testing.assert_array_equal(scores, scores.T)
    assert (scores.diagonal().sum(), scores.sum()) == (116.0, scores[::-1, ::-1].sum())
    assert scores[AMINO_ACIDS.index("I"), AMINO_ACIDS.index("V")] == 3
    assert scores[AMINO_ACIDS.index("D"), AMINO_ACIDS.index("L")] == -4


@pytest.mark.parametrize("kernel", [SHORT, LocalAlignment(), LocalAlignment(beta=0.1)], ids=repr)
def test_the_laws_of_kernels_hold_and_are_proved(kernel):
    texts = X if kernel is SHORT else PEPTIDES
    check_kernel(kernel, texts)
    check_kernel(kernel.normalize(), texts)
    assert isinstance(kernel.certificate(), Proved)
    assert isinstance(kernel.normalize().certificate(), Proved)


def test_the_best_alignment_alone_is_left_as_beta_grows():
    def smith_waterman(x, z):
        choices = [
            sum(SHORT.scores["ACG".index(x[i]), "ACG".index(z[j])] for i, j in zip(left, right, strict=True))
            - sum(
                SHORT.gap_open + (b - a - 2) * SHORT.gap_extend
                for side in (left, right)
                for a, b in itertools.pairwise(side)
                if b - a > 1
            )
            for pairs in range(min(len(x), len(z)) + 1)
            for left in itertools.combinations(range(len(x)), pairs)
            for right in itertools.combinations(range(len(z)), pairs)
        ]
        return max(choices)

    values = LocalAlignment(**OWN, beta=40.0, log=True)(X, Z)
    np.testing.assert_allclose(values, [[smith_waterman(x, z) for z in Z] for x in X], atol=0.1)


def test_long_sequences_are_compared_in_logarithms():
    rng = np.random.default_rng(0)
    one, other = ("".join(rng.choice(list(AMINO_ACIDS), size=300)) for _ in range(2))
    # Both parts of x are in z, in the other order: no alignment has both, and each of them alone overflows.
    x, z = one + other, other + one
    kernel = LocalAlignment(beta=0.5)
    log = kernel.with_params(log=True)([x, one, other], [z, one, other]) * kernel.beta
    np.testing.assert_allclose(log[0, 0], np.logaddexp(log[1, 1], log[2, 2]), rtol=1e-4)
    K = kernel.normalize()([x, z, one])
    np.testing.assert_array_equal(K.diagonal(), 1)
    np.testing.assert_allclose(np.log(K[0, 2]), log[0, 1] - 0.5 * (log[1, 1] + float(_own(kernel, x))), rtol=1e-6)
    with pytest.raises(OverflowError, match=r"a sum over alignments is e\^.*Use its normalize\(\) or log=True"):
        kernel([x])


def _own(kernel, x):
    return kernel.with_params(log=True).diag([x])[0] * kernel.beta


def test_scores_without_a_kernel_are_not_proved():
    scores = np.array([[0.0, 3.0], [3.0, 0.0]])  # letters are more alike others than themselves
    kernel = LocalAlignment(scores, "ab", gap_open=2.0, gap_extend=1.0, beta=1.0)
    verdict = kernel.certificate()
    assert isinstance(verdict, Refuted)
    a = np.asarray(verdict.coefficients, dtype=float)
    table = np.array([[by_definition(kernel, x, z) for z in verdict.points] for x in verdict.points])
    assert a @ table @ a < 0


@pytest.mark.parametrize("alphabet", [["to", "be", "or"], ["a", 1, "b"], [0, 1, 2]])
def test_certificates_take_letters_of_any_kind(alphabet):
    assert isinstance(LocalAlignment(DNA, alphabet).certificate(), Proved)
    assert isinstance(LocalAlignment(3.0 - 3.0 * np.eye(3), alphabet, beta=1.0).certificate(), Refuted)


def test_logarithms_are_not_claimed_to_be_a_kernel():
    assert isinstance(SHORT.with_params(log=True).certificate(), Refuted | Unknown)
    check_kernel(SHORT.with_params(log=True), X, psd=False)


def test_a_machine_learns_families():
    rng = np.random.default_rng(1)
    motifs, texts = ("HEAGAWGHEE", "MKLVINGKTL"), []
    for i in range(24):
        ends = ["".join(rng.choice(list(AMINO_ACIDS), size=rng.integers(0, 8))) for _ in range(2)]
        texts.append(ends[0] + motifs[i % 2] + ends[1])
    machine = KernelNeighborsClassifier(1, kernel=LocalAlignment().normalize()).fit(texts[:16], np.arange(16) % 2)
    assert machine.score(texts[16:], np.arange(8) % 2) == 1.0


def test_missing_sequences_are_an_object_of_their_own():
    for kernel in (LocalAlignment(missing="own"), LocalAlignment(missing="own", log=True)):
        K = kernel.normalize()(["WY", None, "WWYY", None])
        np.testing.assert_allclose(K[[1, 3]], [[0, 1, 0, 1]] * 2)
        np.testing.assert_allclose(K.diagonal(), 1, rtol=1e-14)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: LocalAlignment("PAM"), ValueError, "substitution must be 'BLOSUM62'"),
        (lambda: LocalAlignment(DNA), ValueError, "needs a row and a column for each token of alphabet"),
        (lambda: LocalAlignment(DNA, "AACG"), ValueError, "every token once"),
        (lambda: LocalAlignment(DNA + [[0, 1, 0]] * 3, "ACG"), ValueError, "finite and symmetric"),
        (lambda: LocalAlignment(DNA * np.nan, "ACG"), ValueError, "finite and symmetric"),
        (lambda: LocalAlignment([["a"]], "a"), TypeError, "'BLOSUM62' or an array of scores"),
        (lambda: LocalAlignment(beta=100.0), ValueError, "use a smaller beta"),
        (lambda: LocalAlignment(gap_open=-1.0), ValueError, "gap_open must be a finite number that is not negative"),
        (lambda: LocalAlignment()(["WW"] * 5 + ["WXW"]), ValueError, "'X' of object 5 has no substitution scores"),
    ],
)
def test_what_has_no_scores_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
