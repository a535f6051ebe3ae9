"""Kernels on DNA: letters that are none, both strands, weights from the centre, shifts, and missing strings."""

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

from mercer import (
    SVC,
    SVCCV,
    Expansion,
    KernelLogisticRegressionCV,
    KernelNeighborsClassifier,
    KernelPCA,
    KernelRidge,
    KernelRidgeCV,
    _native,
)
from mercer.certify.verdict import Proved
from mercer.kernels import Edit, GappedKmer, Mismatch, Spectrum, Subsequence, WeightedDegree
from mercer.testing import check_kernel

ACROSS = dict(zip("ACGTNRYSWKM", "TGCANYRSWMK", strict=True))
LONG = {"count": 40, "longest": 60}
COUNTING = [
    Spectrum(3, shortest=1, skip="N"),
    Spectrum(2, reverse_complement=True),
    Spectrum(3, skip="N", reverse_complement=True),
    Mismatch(3, 1, skip="N"),
    Mismatch(3, 1, skip="N", reverse_complement=True),
    GappedKmer(3, 1, skip="N"),
    GappedKmer(4, 2, reverse_complement=True),
    GappedKmer(4, 2, skip="N", reverse_complement=True),
    GappedKmer(3, 1, center_weights=4.0),
    GappedKmer(4, 2, skip="N", reverse_complement=True, center_weights=3.0),
]
PLACED = [WeightedDegree(3, skip="N"), WeightedDegree(3, shift=2), WeightedDegree(2, shift=5, skip="N")]
EVERY = [*COUNTING, *PLACED, Subsequence(2, 0.7, skip="N")]


def random_dna(count=12, seed=0, longest=14, letters="ACGT", often=0.1):
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        text = rng.choice(list(letters), size=rng.integers(0, longest + 1))
        texts.append("".join(np.where(rng.random(len(text)) < often, "N", text)))
    return texts


def suited(kernel, texts):
    """Without N where that is a letter outside the alphabet."""
    return [t.replace("N", "") for t in texts] if isinstance(kernel, Mismatch) and not kernel.skip else texts


X, Z = random_dna(), [*random_dna(7, seed=1), "", "NNNN", "ACGN"]


# -- definitions -----------------------------------------------------------------------------------------------------


def flip(text):
    return "".join(ACROSS[letter] for letter in reversed(text))


def windows(kernel, text, size):
    """Every window that holds no letter that is none, with its weight."""
    half_life = getattr(kernel, "center_weights", None)
    for i in range(len(text) - size + 1):
        far = abs(i + (size - 1) / 2 - (len(text) - 1) / 2)
        if not set(text[i : i + size]) & set(kernel.skip):
            yield i, text[i : i + size], 1.0 if half_life is None else 2.0 ** (-far / half_life)


def words_of(kernel, text):
    """Features by enumeration, of one strand."""
    features = Counter()
    if isinstance(kernel, Spectrum):
        for size in range(kernel.shortest or kernel.length, kernel.length + 1):
            for _, w, weight in windows(kernel, text, size):
                features[w] += weight
    elif isinstance(kernel, GappedKmer):
        for _, w, weight in windows(kernel, text, kernel.length):
            for gaps in itertools.combinations(range(kernel.length), kernel.gaps):
                features["".join("-" if i in gaps else c for i, c in enumerate(w))] += weight
    elif isinstance(kernel, Mismatch):
        for _, w, _ in windows(kernel, text, kernel.length):
            for word in itertools.product("ACGT", repeat=kernel.length):
                features[word] += sum(a != b for a, b in zip(word, w, strict=True)) <= kernel.mismatches
    elif isinstance(kernel, Subsequence):
        for places in itertools.combinations(range(len(text)), kernel.length):
            word = tuple(text[i] for i in places)
            if not set(word) & set(kernel.skip):
                features[word] += kernel.decay ** (places[-1] - places[0] + 1)
    return features


def dot(a, b):
    return sum(value * b[key] for key, value in a.items())


def value(kernel, x, z):
    if not isinstance(kernel, WeightedDegree):
        once = dot(words_of(kernel, x), words_of(kernel, z))
        return once + dot(words_of(kernel, x), words_of(kernel, flip(z))) if both(kernel) else once
    total = 0.0
    for size in range(1, kernel.degree + 1):
        weight = 2 * (kernel.degree - size + 1) / (kernel.degree * (kernel.degree + 1))
        for (i, a, _), (j, b, _) in itertools.product(windows(kernel, x, size), windows(kernel, z, size)):
            if a == b and abs(i - j) <= kernel.shift:
                total += weight * (1.0 if i == j else 1 / (2 * (abs(i - j) + 1)))
    return total


def both(kernel):
    return getattr(kernel, "reverse_complement", False)


def by_definition(kernel, X, Z):
    return np.array([[value(kernel, x, z) for z in Z] for x in X])


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_values_are_those_of_the_definition(kernel):
    A, B = suited(kernel, X), suited(kernel, Z)
    np.testing.assert_allclose(kernel(A, B), by_definition(kernel, A, B), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(B), by_definition(kernel, B, B).diagonal(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", [k for k in COUNTING if isinstance(k, GappedKmer | Mismatch)], ids=repr)
@pytest.mark.parametrize("isa", _native.isas())
def test_comparing_windows_and_sorting_them_count_the_same(kernel, isa):
    A, _ = kernel.prepare(*[suited(kernel, random_dna(**LONG))] * 2)
    n, table = A.table.strands or len(A.table.sizes), A.table
    rows, first = np.arange(n), np.zeros(n, dtype=np.int64)
    asked, masks = (rows, rows + table.strands, first, first + n), kernel.masks()
    compared, sorted_ = np.zeros((n, n)), np.zeros((n, n))
    _native.close_windows(table.native, *asked, masks[0].span, np.array(kernel.values()), compared, 2, isa)
    _native.window_matches(table.native, *asked, [mask.native for mask in masks], sorted_, 2)
    np.testing.assert_allclose(compared, sorted_, rtol=1e-12)
    assert compared.any()


@pytest.mark.parametrize("kernel", EVERY, ids=repr)
def test_the_laws_of_kernels_hold_and_are_proved(kernel):
    check_kernel(kernel, suited(kernel, X))
    check_kernel(kernel.normalize(), suited(kernel, X))
    assert isinstance(kernel.certificate(), Proved)


# -- strands -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [k for k in COUNTING if both(k)], ids=repr)
def test_a_string_read_from_the_other_strand_is_the_same_string(kernel):
    A, B = suited(kernel, X), suited(kernel, Z)
    np.testing.assert_allclose(kernel([flip(x) for x in A], B), kernel(A, B), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel([flip(x) for x in A]), kernel(A), rtol=1e-12, atol=1e-12)


def test_bytes_lists_and_small_letters_have_strands_too():
    kernel = GappedKmer(3, 1, reverse_complement=True)
    for change in (str.encode, list, str.lower):
        np.testing.assert_array_equal(kernel([change(x) for x in X]), kernel(X))


def test_codes_of_ambiguity_are_letters_of_their_own_with_a_complement():
    kernel = Spectrum(2, reverse_complement=True)
    assert kernel(["AR"], ["YT"]) == 1
    assert kernel(["AR"], ["AG"]) == 0
    assert kernel.with_params(skip="R")(["AR"], ["YT"]) == 0


def test_weights_from_the_centre_vanish_as_they_fall_more_slowly():
    np.testing.assert_allclose(GappedKmer(4, 2, center_weights=1e12)(X, Z), GappedKmer(4, 2)(X, Z), rtol=1e-9)


def test_without_shifts_positions_are_compared_as_before():
    np.testing.assert_array_equal(WeightedDegree(3, shift=0)(X, Z), WeightedDegree(3)(X, Z))


def test_shifts_beyond_all_strings_cost_nothing_and_change_nothing():
    longest = max(map(len, [*X, *Z]))
    np.testing.assert_array_equal(WeightedDegree(2, shift=10**15)(X, Z), WeightedDegree(2, shift=longest)(X, Z))


def test_the_weights_of_shifts_are_a_positive_definite_function():
    angle = np.linspace(0, math.pi, 2001)
    for shift in range(1, 12):
        weights = WeightedDegree(1, shift=shift).shifts()
        series = weights[0] + 2 * np.cos(np.outer(angle, np.arange(1, shift + 1))) @ weights[1:]
        assert series.min() >= 0.5 - 1e-12


# -- features and sums -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [*COUNTING, WeightedDegree(3, skip="N")], ids=repr)
def test_features_give_the_kernel(kernel):
    A, B = suited(kernel, X), suited(kernel, Z)
    phi = kernel.features().fit(A)
    np.testing.assert_allclose((phi.transform(B) @ phi.transform(A).T).toarray(), kernel(B, A), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", [*EVERY, Spectrum(9, skip="N", reverse_complement=True)], ids=repr)
def test_sums_over_many_strings_are_those_of_kernel_values(kernel):
    many = suited(kernel, random_dna(150, seed=3, longest=40))
    coef, new = np.cos(np.arange(len(many))), suited(kernel, Z)
    for k in (kernel, kernel.normalize()):
        np.testing.assert_allclose(Expansion(k, many, coef)(new), k(new, many) @ coef, rtol=1e-9, atol=1e-9)


# -- missing strings -------------------------------------------------------------------------------------------------

OWN = [k.with_params(missing="own") for k in (*EVERY, Edit(0.5), Spectrum(2), Subsequence(2))]


@pytest.mark.parametrize("kernel", OWN, ids=repr)
@pytest.mark.parametrize("nothing", [None, math.nan, pd.NA], ids=str)
def test_missing_strings_are_like_themselves_and_like_no_other(kernel, nothing):
    some = suited(kernel, X)
    mixed = [*some[:3], nothing, *some[3:], nothing]
    rest = [i for i, x in enumerate(mixed) if x is not nothing]
    K, expected = kernel(mixed), np.zeros((len(mixed),) * 2)
    expected[np.ix_(rest, rest)] = kernel(some)
    expected[np.ix_([3, len(mixed) - 1], [3, len(mixed) - 1])] = 1
    np.testing.assert_allclose(K, expected, rtol=1e-13)
    np.testing.assert_allclose(kernel.diag(mixed), K.diagonal(), rtol=1e-13)
    np.testing.assert_allclose(kernel([nothing, some[0]], mixed), K[[3, 0]], rtol=1e-13)
    np.testing.assert_array_equal(kernel([nothing]), [[1.0]])


def test_missing_strings_have_a_feature_of_their_own():
    kernel = Spectrum(2, missing="own")
    phi = kernel.features().fit([*X, None])
    features = phi.transform([*Z, None])
    np.testing.assert_array_equal((features @ phi.transform([*X, None]).T).toarray(), kernel([*Z, None], [*X, None]))
    assert phi.features_.names([])[-1] == "missing"


def test_machines_learn_from_strings_some_of_which_are_missing():
    texts = ["GATTACA", "GATTAGA", None, "CCGGCCG", "CCGGTCG", None] * 20
    labels = [1, 1, 1, 0, 0, 1] * 20
    machine = SVC(kernel=Spectrum(3, missing="own").normalize()).fit(texts, labels)
    assert machine.predict(["TGATTACA", None, "CCGGCC"]).tolist() == [1, 1, 0]
    k = Spectrum(3, missing="own")
    f = Expansion(k, texts, np.arange(len(texts), dtype=float))
    np.testing.assert_allclose(f([None, "GATT"]), k([None, "GATT"], texts) @ np.arange(len(texts)))


def test_a_series_with_holes_is_a_collection_of_strings_some_of_which_are_missing():
    series = pd.Series(["GATTACA", None, "GATT"])
    np.testing.assert_array_equal(Spectrum(2, missing="own")(series), [[6, 0, 3], [0, 1, 0], [3, 0, 3]])


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Spectrum(2, missing="drop"), ValueError, "missing must be 'refuse', or 'own'"),
        (lambda: Spectrum(2, skip=4), TypeError, "skip must be a string or a collection of hashable tokens, got 4"),
        (lambda: Spectrum(2, reverse_complement="yes"), ValueError, "reverse_complement must be True or False"),
        (lambda: GappedKmer(3, 1, center_weights=0.0), ValueError, "center_weights must be a positive finite number"),
        (lambda: WeightedDegree(2, shift=-1), ValueError, "shift must be a whole number of at least 0"),
        (lambda: WeightedDegree(2, shift=1).features().fit(X), ValueError, "where words may be shifted"),
    ],
)
def test_parameters_out_of_range_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_options_are_written_where_they_are_used():
    assert repr(Spectrum(2)) == "Spectrum(length=2, shortest=None)"
    assert repr(GappedKmer(3, 1, skip="N", reverse_complement=True)) == (
        "GappedKmer(length=3, gaps=1, skip='N', reverse_complement=True)"
    )


@pytest.mark.parametrize("where", [0, 17])
def test_messages_name_the_object_that_was_given(where):
    texts = ["GATTACA"] * where + ["GATTXCA"] + ["ACGT"] * 3
    for kernel in (Mismatch(3, 1), Spectrum(2, reverse_complement=True)):
        with pytest.raises(ValueError, match=f"'X' of object {where} "):
            kernel(texts)
        with pytest.raises(ValueError, match=f"'X' of object {where} "):
            kernel(["ACGT"], texts)
        with pytest.raises(ValueError, match=f"'X' of object {where} "):
            KernelRidge(kernel=kernel).fit(texts, np.arange(len(texts)))
    texts[where] = None
    with pytest.raises(TypeError, match=rf"object {where} is None.*missing='own'"):
        Spectrum(2)(texts)


MODELS = [
    lambda k: SVC(kernel=k),
    lambda k: SVCCV(Cs=[1.0], kernel=k, cv=2),
    lambda k: KernelRidgeCV(kernel=k),
    lambda k: KernelRidge(kernel=k, solver="nystroem"),
    lambda k: KernelLogisticRegressionCV(alphas=[1.0], kernel=k, cv=2),
    lambda k: KernelNeighborsClassifier(kernel=k.normalize()),
    lambda k: make_pipeline(KernelPCA(2, kernel=k), RidgeClassifier()),
]


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("bad", [None, "GATTXCA"])
def test_models_name_the_object_that_was_given_however_they_sort_and_split(make, bad):
    texts = random_dna(24, seed=5, longest=9, often=0.0)
    labels = np.arange(24) % 3 % 2  # classes are sorted, and folds taken of each
    broken = [*texts[:17], bad, *texts[18:]]
    model = make(Mismatch(2, 1))
    with pytest.raises((TypeError, ValueError), match="object 17 "):
        model.fit(broken, labels)
    with pytest.raises((TypeError, ValueError), match="object 17 "):
        model.fit(texts, labels).predict(broken)
