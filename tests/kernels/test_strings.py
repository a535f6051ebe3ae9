"""Kernels on strings: each against its definition by enumeration, the laws of kernels, and every kind of sequence."""

import itertools
import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from mercer import (
    SVC,
    Expansion,
    Gram,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelPCA,
    KernelRidgeClassifier,
    _native,
)
from mercer.arrays.threads import default_threads
from mercer.certify.verdict import Proved, Refuted, Unknown
from mercer.kernels import Edit, GappedKmer, Gaussian, Mismatch, Spectrum, Subsequence, WeightedDegree
from mercer.kernels.strings.base import Part
from mercer.testing import check_kernel

LETTERS = "ACGT"
INTEGERS = {"length", "gaps", "mismatches", "degree"}
strings = st.text(alphabet=LETTERS, max_size=9)
COUNTING = [
    Spectrum(1),
    Spectrum(3),
    Spectrum(3, shortest=1),
    Mismatch(2, 1),
    Mismatch(3, 2),
    GappedKmer(3, 1),
    GappedKmer(4, 2),
    GappedKmer(3, 0),
]
POSITIVE = [*COUNTING, Subsequence(2, 0.7), Subsequence(3, 1.0), WeightedDegree(1), WeightedDegree(4)]
EVERY = [*POSITIVE, Edit(0.4)]


def random_strings(count, seed=0, longest=12, letters=LETTERS):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), size=rng.integers(0, longest + 1))) for _ in range(count)]


X, Z = random_strings(14), [*random_strings(8, seed=1), ""]


# -- definitions ---------------------------------------------------------------------------------------------------


def windows(s, size):
    return [tuple(s[i : i + size]) for i in range(len(s) - size + 1)]


def dot(a, b):
    return sum(value * b[key] for key, value in a.items())


def words_of(kernel, s):
    """The features of a string by enumeration of all words, with gaps, or all words of the alphabet."""
    if isinstance(kernel, Spectrum):
        return Counter(
            w for size in range(kernel.shortest or kernel.length, kernel.length + 1) for w in windows(s, size)
        )
    if isinstance(kernel, GappedKmer):
        hidden = list(itertools.combinations(range(kernel.length), kernel.gaps))
        return Counter(
            tuple("-" if i in gaps else token for i, token in enumerate(w))
            for w in windows(s, kernel.length)
            for gaps in hidden
        )
    if isinstance(kernel, Mismatch):
        return Counter(
            {
                word: sum(
                    sum(a != b for a, b in zip(word, w, strict=True)) <= kernel.mismatches
                    for w in windows(s, kernel.length)
                )
                for word in itertools.product(kernel.alphabet, repeat=kernel.length)
            }
        )
    features = Counter()
    if isinstance(kernel, WeightedDegree):
        total = sum(range(1, kernel.degree + 1))
        for size in range(1, kernel.degree + 1):
            for place, w in enumerate(windows(s, size)):
                features[place, w] += math.sqrt((kernel.degree - size + 1) / total)
        return features
    for places in itertools.combinations(range(len(s)), kernel.length):
        features[tuple(s[i] for i in places)] += kernel.decay ** (places[-1] - places[0] + 1)
    return features


def by_definition(kernel, X, Z):
    left, right = [words_of(kernel, x) for x in X], [words_of(kernel, z) for z in Z]
    return np.array([[dot(a, b) for b in right] for a in left])


def levenshtein(s, t):
    """The textbook table."""
    row = list(range(len(t) + 1))
    for i, a in enumerate(s, start=1):
        before, row = row, [i]
        for j, b in enumerate(t, start=1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b)))
    return row[-1]


@pytest.mark.parametrize("kernel", POSITIVE, ids=repr)
def test_values_are_those_of_the_definition(kernel):
    expected = by_definition(kernel, X, Z)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(kernel(X), by_definition(kernel, X, X), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(kernel.diag(Z), by_definition(kernel, Z, Z).diagonal(), rtol=1e-12, atol=1e-300)


@given(strings, strings, st.integers(1, 5), st.floats(0.05, 1.0))
@settings(max_examples=30, deadline=None)
def test_the_dynamic_programme_equals_enumeration_of_subsequences(x, z, length, decay):
    kernel = Subsequence(length, decay)
    np.testing.assert_allclose(kernel([x], [z]), by_definition(kernel, [x], [z]), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("isa", _native.isas())
def test_every_instruction_set_computes_the_same_subsequences(isa):
    texts = random_strings(40, seed=2, longest=30)
    A, _ = Subsequence(3).prepare(texts, texts)
    n = len(A.table.sizes)
    ids, first, out = np.arange(n), np.zeros(n, dtype=np.int64), np.zeros((n, n))
    _native.subsequences(A.table.native, ids, ids, first, first + n, 3, 0.5, out, 2, isa)
    np.testing.assert_allclose(out[np.ix_(A.ids, A.ids)], Subsequence(3, 0.5)(texts), rtol=1e-13)


@pytest.mark.parametrize("decay", [0.1, 0.5, 1.0])
def test_cat_and_car_share_one_subsequence_of_two_letters(decay):
    value = Subsequence(2, decay).normalize()(["cat"], ["car"])[0, 0]
    assert value == pytest.approx(1 / (2 + decay**2), rel=1e-14)


@given(strings, strings)
@settings(max_examples=30, deadline=None)
def test_edit_distances_are_those_of_the_table(x, z):
    np.testing.assert_allclose(-np.log(Edit(1.0)([x], [z])), levenshtein(x, z), atol=1e-12)


@pytest.mark.parametrize("sizes", [(63, 64), (64, 65), (65, 200), (128, 130), (1, 129), (0, 70)])
def test_edit_distances_of_long_strings_cross_machine_words(sizes):
    rng = np.random.default_rng(3)
    x, z = ("".join(rng.choice(list("ab"), size=size)) for size in sizes)
    np.testing.assert_allclose(-np.log(Edit(0.01)([x, z]))[0, 1], 0.01 * levenshtein(x, z), rtol=1e-12)


@pytest.mark.parametrize("length", range(1, 6))
def test_without_gaps_or_mismatches_words_with_gaps_are_words(length):
    expected = Spectrum(length)(X, Z)
    np.testing.assert_array_equal(GappedKmer(length, 0)(X, Z), expected)
    np.testing.assert_array_equal(Mismatch(length, 0)(X, Z), expected)


def test_a_bag_of_words_is_the_sum_of_its_lengths():
    np.testing.assert_array_equal(Spectrum(4, shortest=2)(X), sum(Spectrum(size)(X) for size in (2, 3, 4)))


def test_many_tokens_and_long_words_are_hashed_without_collisions():
    rng = np.random.default_rng(0)
    texts = [rng.integers(0, 3000, size=60).tolist() for _ in range(5)]
    texts = [*texts, texts[0][10:40] + texts[1][5:35]]
    for kernel in (Spectrum(12), GappedKmer(5, 1), Spectrum(25, shortest=20)):
        np.testing.assert_array_equal(kernel(texts), by_definition(kernel, texts, texts))


def test_words_that_occur_more_often_than_a_short_number_holds_are_counted():
    np.testing.assert_array_equal(Spectrum(1)(["a" * 70_000], ["a" * 66_000, "b"]), [[70_000.0 * 66_000.0, 0.0]])


def test_the_alphabet_of_mismatches_may_be_any_tokens():
    texts = [("to", "be", "or"), ("or", "not", "to", "be")]
    kernel = Mismatch(2, 1, alphabet=("be", "not", "or", "to", "unseen"))
    np.testing.assert_array_equal(kernel(texts), by_definition(kernel, texts, texts))


# -- laws ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", POSITIVE, ids=repr)
def test_the_laws_of_kernels_hold(kernel):
    check_kernel(kernel, X)
    check_kernel(kernel.normalize(), X)


def test_the_laws_hold_for_the_edit_kernel_but_for_the_one_it_breaks():
    check_kernel(Edit(0.4), X, psd=False)


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_repeated_strings_have_repeated_values(kernel):
    chosen = [3, 0, 3, 3, 1, 0]
    some = [X[i] for i in chosen]
    K = kernel(X)
    np.testing.assert_array_equal(kernel(some), kernel(some).T)
    np.testing.assert_allclose(kernel(some), K[np.ix_(chosen, chosen)], rtol=1e-13)
    np.testing.assert_allclose(kernel(some, [*X, X[3]]), K[chosen][:, [*range(len(X)), 3]], rtol=1e-13)


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_blocks_of_any_rows_and_columns_are_parts_of_the_matrix(kernel):
    A, B = kernel.prepare(X, Z)
    whole = kernel.block(A, B)
    for rows, columns in (([5, 2, 2, 9], slice(1, 6)), ([0], slice(0, 1)), (slice(3, 9), slice(4, 9))):
        np.testing.assert_allclose(kernel.block(A[rows], B[columns]), whole[rows, columns], rtol=1e-13)


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_a_lazy_gram_matrix_in_little_memory_is_the_same(kernel):
    V = np.cos(np.arange(len(Z) * 2.0)).reshape(-1, 2)
    memory = 20_000 + 10_000 * default_threads()  # each of which has room of its own
    np.testing.assert_allclose(Gram(kernel, X, Z, memory=memory) @ V, kernel(X, Z) @ V, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kernel", [k for k in EVERY if not isinstance(k, Mismatch)], ids=repr)
def test_only_equality_of_tokens_matters(kernel):
    expected = kernel(X)
    names = {"A": "red", "C": 7, "G": ("a", "tuple"), "T": frozenset("b")}
    for change in (list, tuple, str.encode, str.lower, lambda s: [names[c] for c in s], lambda s: s.replace("A", "𝔸")):
        np.testing.assert_allclose(kernel([change(x) for x in X]), expected, rtol=1e-13)


def test_rows_of_an_array_are_sequences():
    codes = np.random.default_rng(0).integers(0, 3, size=(6, 8))
    np.testing.assert_array_equal(Spectrum(2)(codes), Spectrum(2)([tuple(row) for row in codes.tolist()]))
    letters = np.array(list("abc"))[codes]
    np.testing.assert_array_equal(Spectrum(2)(letters), Spectrum(2)(codes))


@pytest.mark.parametrize("kernel", POSITIVE, ids=repr)
def test_strings_without_words_have_the_value_zero(kernel):
    np.testing.assert_array_equal(kernel([""], [*X, ""]), 0)
    np.testing.assert_array_equal(kernel.normalize()(["", ""]), 0)


def test_the_empty_string_is_as_far_as_a_string_is_long():
    np.testing.assert_allclose(Edit(0.5)([""], ["", "a", "abc"]), np.exp([[0, -0.5, -1.5]]), rtol=1e-15)


@given(strings, strings)
@settings(max_examples=40, deadline=None)
def test_reading_both_backwards_changes_nothing(x, z):
    for kernel in (Spectrum(3, shortest=1), GappedKmer(4, 2), Mismatch(3, 1), Subsequence(3, 0.6), Edit(0.3)):
        np.testing.assert_allclose(kernel([x], [z]), kernel([x[::-1]], [z[::-1]]), rtol=1e-12)


# -- certificates --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", POSITIVE, ids=repr)
def test_kernels_with_features_are_proved(kernel):
    assert isinstance(kernel.certificate(), Proved)
    assert isinstance((2.0 * kernel.normalize() + Gaussian().after(len)).certificate(), Proved)


@pytest.mark.parametrize("gamma", [0.05, 0.3, 1.0])
def test_the_edit_kernel_is_refuted_with_words_that_can_be_checked(gamma):
    verdict = Edit(gamma).certificate()
    assert isinstance(verdict, Refuted)
    table = np.array([[math.exp(-gamma * levenshtein(x, z)) for z in verdict.points] for x in verdict.points])
    a = np.asarray(verdict.coefficients, dtype=float)
    assert a @ table @ a < 0


def test_the_edit_kernel_is_not_refuted_where_it_has_no_negative_eigenvalue():
    assert isinstance(Edit(5.0).certificate(), Unknown)
    assert isinstance(Edit(0.1).certificate(sample=["a", "b", "ab"]), Unknown)


def test_a_machine_that_needs_a_kernel_refuses_the_edit_kernel_where_it_is_none():
    words = ["".join(w) for w in itertools.product("ab", repeat=5)]
    with pytest.raises(ValueError, match="needs a positive semi-definite kernel"):
        KernelRidgeClassifier(kernel=Edit(0.1)).fit(words, [w.count("a") % 2 for w in words])


# -- features ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [*COUNTING, WeightedDegree(3)], ids=repr)
def test_features_give_the_kernel_with_every_string_of_the_fit(kernel):
    phi = kernel.features().fit(X)
    np.testing.assert_allclose((phi.transform(Z) @ phi.transform(X).T).toarray(), kernel(Z, X), rtol=1e-12)
    np.testing.assert_allclose((phi.transform(X) @ phi.transform(X).T).toarray(), kernel(X), rtol=1e-12)


def test_features_compose_as_kernels_do():
    kernel = (Spectrum(2) + 0.5 * GappedKmer(3, 1)).normalize()
    phi = kernel.features().fit(X)
    np.testing.assert_allclose((phi.transform(X) @ phi.transform(X).T).toarray(), kernel(X), rtol=1e-12, atol=1e-14)


def test_a_fitted_map_can_be_stored_and_cloned():
    phi = GappedKmer(3, 1).features().fit(X)
    again = pickle.loads(pickle.dumps(phi))
    np.testing.assert_array_equal(again.transform(Z).toarray(), phi.transform(Z).toarray())
    np.testing.assert_array_equal(clone(phi).fit_transform(X).toarray(), phi.transform(X).toarray())


def test_features_of_long_words_of_many_tokens_are_found_again():
    rng = np.random.default_rng(0)
    texts = rng.integers(0, 2000, size=(4, 40)).tolist()
    kernel = Spectrum(15)
    phi = kernel.features().fit(texts)
    np.testing.assert_array_equal((phi.transform(texts[::-1]) @ phi.transform(texts).T).toarray(), kernel(texts)[::-1])


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (Spectrum(2), ["ab", "ba"]),
        (GappedKmer(3, 1), ["ab.", "ba.", "a.a", "b.b", ".ab", ".ba"]),
        (WeightedDegree(1), ["0:a", "1:b", "2:a", "3:b"]),
    ],
)
def test_features_are_named_by_their_words(kernel, names):
    assert kernel.features().fit(["abab"]).features_.names([]) == names


def test_a_linear_model_on_features_is_a_machine_with_the_kernel():
    labels = np.array([x.count("A") > x.count("C") for x in X]).astype(int)
    primal = make_pipeline(Spectrum(3, shortest=1).features(), RidgeClassifier(1.0, tol=1e-12)).fit(X, labels)
    dual = KernelRidgeClassifier(1.0, kernel=Spectrum(3, shortest=1)).fit(X, labels)
    np.testing.assert_allclose(primal.decision_function(Z), dual.decision_function(Z), rtol=1e-6, atol=1e-8)


def test_kernels_without_few_features_say_so():
    for kernel in (Subsequence(3), Edit()):
        with pytest.raises(ValueError, match=r"has no feature map with few features.*Nystroem"):
            kernel.features().fit(X)
    with pytest.raises(ValueError, match=r"only data tells which there are; use k\.features\(\)\.fit\(X\)"):
        Spectrum(2).feature_map(4)
    with pytest.raises(ValueError, match="none of the objects is long enough for a word"):
        Spectrum(5).features().fit(["abc"])


# -- machines ------------------------------------------------------------------------------------------------------


def motif_data(count=120, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    texts = []
    for label in labels:
        letters = rng.choice(list(LETTERS), size=30)
        if label:
            place = rng.integers(0, 22)
            letters[place : place + 8] = list("GATTACAG")
        texts.append("".join(letters))
    return texts, labels


@pytest.mark.parametrize(
    "model",
    [
        SVC(kernel=Subsequence(5, 0.5).normalize()),
        SVC(kernel=GappedKmer(5, 1).normalize()),
        KernelRidgeClassifier(kernel=Spectrum(4).normalize()),
        KernelLogisticRegression(0.1, kernel=Mismatch(5, 1).normalize()),
        KernelNeighborsClassifier(5, kernel=Spectrum(5).normalize()),
        make_pipeline(KernelPCA(8, kernel=Spectrum(4).normalize()), RidgeClassifier()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_machine_learns_a_motif_from_strings(model):
    texts, labels = motif_data()
    assert cross_val_score(model, texts, labels, cv=3).mean() > 0.7  # a coin reaches 0.5 ± 0.05


def test_kernels_on_strings_compose_with_others():
    k = 2.0 * Spectrum(2).after(str.lower) + Subsequence(2) * Gaussian().after(len)
    sizes = np.array([[len(x)] for x in X], dtype=float)
    expected = 2 * Spectrum(2)(X) + Subsequence(2)(X) * np.exp(-0.5 * (sizes - sizes.T) ** 2)
    np.testing.assert_allclose(k(X), expected, rtol=1e-12)
    f = Expansion(k, X, np.ones(len(X)))
    np.testing.assert_allclose(f(Z), k(Z, X).sum(axis=1), rtol=1e-12)


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Spectrum(2), Subsequence(2), WeightedDegree(2), Edit()], ids=repr)
@pytest.mark.parametrize(
    ("objects", "error", "message"),
    [
        (["ab", ("a", "b")], TypeError, r"mixed types: 'ab' is a string, \('a', 'b'\) is a sequence of tokens"),
        (["ab", b"ab"], TypeError, "mixed types: 'ab' is a string, b'ab' is bytes"),
        ([["a", "b"], ["a", ["b"]]], TypeError, r"token 1 of object 1 is \['b'\], of type list"),
        (["ab", None], TypeError, "object 1 is None, of type NoneType"),
        ([3, 4], TypeError, "object 0 is 3, of type int"),
        ([{"ab"}], TypeError, "of type set"),
        ([[1.0, math.nan]], ValueError, r"a token is missing \(nan\)"),
        ("ab", TypeError, "needs a collection of objects such as a list, got str"),
        ([], ValueError, "at least one object"),
    ],
    ids=lambda value: str(value) if isinstance(value, str | list) else None,
)
def test_what_is_no_collection_of_sequences_is_refused(kernel, objects, error, message):
    with pytest.raises(error, match=message):
        kernel(objects)


def test_unhashable_tokens_of_new_strings_are_counted_from_their_own_start():
    with pytest.raises(TypeError, match=r"token 0 of object 0 is \['b'\]"):
        Spectrum(2)([["a"], ["b"]], [[["b"]]])


def test_tokens_outside_the_alphabet_are_refused():
    with pytest.raises(ValueError, match=r"the token 'N' of object 1 is not in the alphabet 'ACGT'; pass alphabet="):
        Mismatch(3, 1)(["ACGT", "ACNT"])
    with pytest.raises(ValueError, match="the token 'a' of object 0 is not in the alphabet"):
        Mismatch(2, 1).features().fit(["ACGT"]).transform(["acgt"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Spectrum(0), "length must be a whole number of at least 1"),
        (lambda: Spectrum(2, shortest=3), "shortest must be at most length"),
        (lambda: Spectrum(2, shortest=0), "shortest must be a whole number of at least 1"),
        (lambda: GappedKmer(3, 3), "gaps must be fewer than length"),
        (lambda: GappedKmer(3, -1), "gaps must be a whole number of at least 0"),
        (lambda: Mismatch(3, 3), "mismatches must be fewer than length"),
        (lambda: Mismatch(3, 1, "AAC"), "alphabet must hold every token once"),
        (lambda: Mismatch(3, 1, ""), "alphabet must hold every token once, and at least one"),
        (lambda: Subsequence(2, 0.0), "decay must be a positive finite number"),
        (lambda: Subsequence(2, 1.5), "decay must be at most 1"),
        (lambda: WeightedDegree(0), "degree must be a whole number of at least 1"),
        (lambda: Edit(-1.0), "gamma must be a positive finite number"),
    ],
)
def test_parameters_out_of_range_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": (np.array([0, 5], dtype=np.int32), np.array([0, 2]), 2)}, "codes must lie in 0..1, got 5"),
        ({"table": (np.array([0, 1], dtype=np.int32), np.array([0, 3]), 2)}, "starts must lie in 0..2, got 3"),
        ({"table": (np.array([0, 1], dtype=np.int32), np.array([0, 2, 1]), 2)}, "starts must not decrease"),
        ({"rows": np.array([1])}, "rows must lie in 0..0, got 1"),
        ({"last": np.array([2])}, "last must lie in 0..1, got 2"),
        ({"first": np.array([0, 0])}, r"first must have shape \(1,\)"),
        ({"threads": 0}, "threads must lie in"),
    ],
)
def test_the_compiled_core_refuses_what_would_lead_outside_its_arrays(change, message):
    given = {
        "table": (np.array([0, 1], dtype=np.int32), np.array([0, 2]), 2),
        "rows": np.array([0]),
        "columns": np.array([0]),
        "first": np.array([0]),
        "last": np.array([1]),
        "out": np.zeros((1, 1)),
        "threads": 1,
    }
    _native.edit_distances(**given)
    with pytest.raises(ValueError, match=message):
        _native.edit_distances(**(given | change))


def test_lengths_may_be_whole_numbers_of_any_type():
    for kernel in (
        Spectrum(2.0),
        GappedKmer(np.int64(3), 1.0),
        Mismatch(2.0, 1.0),
        Subsequence(2.0),
        WeightedDegree(2.0),
    ):
        whole = kernel.with_params(**{n: int(v) for n, v in kernel.get_params().items() if n in INTEGERS and v})
        np.testing.assert_array_equal(kernel(X), whole(X))


def test_an_alphabet_that_is_no_collection_is_refused():
    with pytest.raises(TypeError, match="alphabet must be a string or a collection of hashable tokens, got 4"):
        Mismatch(3, 1, 4)


@pytest.mark.parametrize(
    "compute",
    [
        lambda k, X: k(X),
        lambda k, X: k.diag(X),
        lambda k, X: k.distance(X),
        lambda k, X: Gram(k, X) @ np.ones(len(X)),
        lambda k, X: KernelRidgeClassifier(kernel=k).fit(X, [0, 1]),
    ],
)
def test_overflow_on_strings_advises_what_can_be_done_with_strings(compute):
    with pytest.raises(
        OverflowError, match=r"use k\.normalize\(\), shorter strings or words, or a smaller decay"
    ) as raised:
        compute(1e300 * Subsequence(2, 1.0) ** 9, ["ab" * 60, "ba" * 60])
    assert "StandardScaler" not in str(raised.value)


def test_overflow_of_a_product_with_strings_advises_the_same():
    with pytest.raises(OverflowError, match="shorter strings or words"):
        Gram(1e300 * Spectrum(2), ["abab", "baba"]) @ np.full(2, 1e9)


# -- two ways to count -----------------------------------------------------------------------------------------------


def block_of(kernel, texts):
    """Every pair of distinct sequences, as a part that asks for all values."""
    A, _ = kernel.prepare(texts, texts)
    n = len(A.table.sizes)
    ids, first = np.arange(n), np.zeros(n, dtype=np.int64)
    return Part(A.table, ids, ids, first, first + n, np.zeros((n, n)))


@pytest.mark.parametrize("isa", _native.isas())
@pytest.mark.parametrize(
    "kernel", [GappedKmer(4, 2), GappedKmer(13, 7), Mismatch(5, 2), Mismatch(9, 4, "ACGT"), GappedKmer(1, 0)], ids=repr
)
def test_comparing_windows_along_diagonals_counts_what_sorting_them_by_masks_does(kernel, isa):
    texts = [*random_strings(25, seed=3, longest=40), *random_strings(6, seed=4, longest=200)]
    compared, sorted_ = block_of(kernel, texts), block_of(kernel, texts)
    values = np.array(kernel.values())
    _native.close_windows(*compared.arguments, kernel.masks()[0].span, values, compared.out, 2, isa)
    kernel.sort(sorted_, kernel.masks())
    np.testing.assert_array_equal(compared.out, sorted_.out)


@pytest.mark.parametrize("isa", _native.isas())
def test_windows_that_differ_at_more_places_than_there_are_values_count_nothing(isa):
    values, span = np.arange(16, 0, -1), 40
    part = block_of(Spectrum(span), random_strings(8, seed=11, longest=120))
    _native.close_windows(*part.arguments, span, values, part.out, 1, isa)

    def count(x, z):
        x, z = (np.lib.stride_tricks.sliding_window_view(s, span) for s in (x, z))
        return np.append(values, np.zeros(span - 15))[(x[:, None] != z[None]).sum(axis=2)].sum()

    texts = [part.table.codes[a:b] for a, b in itertools.pairwise(part.table.starts)]
    enough = [i for i, text in enumerate(texts) if len(text) >= span]
    assert len(enough) > 2
    for i in enough:
        for j in enough:
            assert part.out[i, j] == count(texts[i], texts[j])


@pytest.mark.parametrize("isa", _native.isas())
def test_sums_of_the_largest_values_over_many_windows_do_not_overflow(isa):
    value, n = 2**48 - 1, 400
    part = block_of(Spectrum(2), ["a" * n])
    _native.close_windows(*part.arguments, 2, np.array([value]), part.out, 1, isa)
    np.testing.assert_allclose(part.out, float(value) * (n - 1) ** 2, rtol=1e-12)


def test_windows_of_one_letter_are_counted_by_a_kernel_with_mismatches():
    kernel, texts = Mismatch(5, 3, "a"), ["a" * n for n in range(4, 40)]
    assert min(kernel.values()) < 0
    np.testing.assert_allclose(kernel(texts), Spectrum(5)(texts))


def test_words_may_be_so_long_that_no_number_says_how_many_there_can_be():
    size, text = 250, "".join(map(chr, range(200, 400))) * 3
    texts = [text[start:stop] for start in range(20) for stop in (300, 600)]
    kernel = Spectrum(size)
    counts = [Counter(text[i : i + size] for i in range(len(text) - size + 1)) for text in texts]
    np.testing.assert_array_equal(kernel.diag(texts), [sum(c**2 for c in count.values()) for count in counts])
    function = Expansion(kernel, texts, np.ones(len(texts)))
    np.testing.assert_allclose(function(texts), kernel(texts).sum(axis=1))


def test_windows_with_many_masks_are_compared_and_those_with_few_are_sorted(monkeypatch):
    texts, ways = random_strings(60, seed=5, longest=60), []
    for name in ("close_windows", "window_matches"):
        function = getattr(_native, name)
        monkeypatch.setattr(_native, name, lambda *a, f=function, n=name: (ways.append(n), f(*a)))
    GappedKmer(13, 7)(texts)
    assert set(ways) == {"close_windows"}
    ways.clear()
    GappedKmer(6, 0)(texts)
    assert set(ways) == {"window_matches"}


def test_values_too_large_or_too_many_to_compare_are_sorted():
    texts = random_strings(6, seed=6, longest=24)
    kernel = GappedKmer(18, 16)
    assert len(kernel.values()) > 15
    np.testing.assert_array_equal(kernel(texts), by_definition(kernel, texts, texts))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"span": 0}, "span must lie in 1..254, got 0"),
        ({"values": np.arange(17)}, "there may be 16 values, got 17"),
        ({"values": np.array([-1])}, "values must lie in 0.."),
    ],
)
def test_the_core_refuses_windows_it_cannot_compare(change, message):
    part = block_of(Spectrum(2), ["ab", "ba"])
    asked = {"span": 2, "values": np.array([1])} | change
    with pytest.raises(ValueError, match=message):
        _native.close_windows(*part.arguments, asked["span"], asked["values"], part.out, 1)
