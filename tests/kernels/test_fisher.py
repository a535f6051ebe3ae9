"""The Fisher kernel of a Markov model against slopes by differences, and the Fisher information by sampling it."""

import itertools

import numpy as np
import pytest

from mercer import Expansion, KernelRidge
from mercer.certify.verdict import Proved
from mercer.kernels import Fisher
from mercer.testing import check_kernel

LETTERS = "ab"


def random_words(count, seed=0, longest=12, letters="abN"):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), size=rng.integers(0, longest + 1))) for _ in range(count)]


X, Z = random_words(12), [*random_words(6, seed=1), "", "N"]
LEARNED = Fisher.learn(X, order=1, alphabet=LETTERS, skip="N")
UNIFORM = Fisher(0, LETTERS, skip="N")


def log_likelihood(kernel, logits, text):
    """The logarithm of the probability of all tokens that have a whole context."""
    shifted = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    contexts = ["".join(c) for c in itertools.product(LETTERS, repeat=kernel.order)]
    total = 0.0
    for i in range(kernel.order, len(text)):
        word = text[i - kernel.order : i + 1]
        if "N" not in word:
            total += shifted[contexts.index(word[:-1]), LETTERS.index(word[-1])]
    return total


def slopes(kernel, text):
    logits, step = np.log(kernel.probabilities), 1e-6
    found = np.zeros_like(logits)
    for place in np.ndindex(logits.shape):
        moved = [logits.copy(), logits.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        found[place] = (log_likelihood(kernel, moved[0], text) - log_likelihood(kernel, moved[1], text)) / (2 * step)
    return found


@pytest.mark.parametrize("order", [0, 1, 2])
def test_values_are_products_of_slopes_in_the_metric_of_the_information(order):
    kernel = Fisher.learn(X, order=order, alphabet=LETTERS, skip="N")
    # The information of the logits of a context, ν (diag(p) − ppᵀ), is singular along (1, …, 1), where no slope points.
    inverse = [
        np.linalg.pinv(visits * (np.diag(p) - np.outer(p, p)))
        for p, visits in zip(kernel.probabilities, kernel.visits, strict=True)
    ]
    left, right = [slopes(kernel, x) for x in X], [slopes(kernel, z) for z in Z]
    expected = [[sum(a @ J @ b for a, J, b in zip(x, inverse, z, strict=True)) for z in right] for x in left]
    np.testing.assert_allclose(kernel(X, Z), expected, atol=1e-6)


def test_a_model_is_learnt_by_counting():
    kernel = Fisher.learn(["aab", "abNb"], order=1, alphabet=LETTERS, skip="N", pseudocount=0.5)
    counts = np.array([[1.5, 2.5], [0.5, 0.5]])
    np.testing.assert_allclose(kernel.probabilities, counts / counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(kernel.visits, counts.sum(axis=1) / 2)


def test_words_as_frequent_as_the_model_expects_count_nothing():
    text = "ab" * 8
    np.testing.assert_allclose(Fisher(0, LETTERS)([text]), 0, atol=1e-25)


@pytest.mark.parametrize("kernel", [LEARNED, UNIFORM], ids=repr)
def test_the_laws_of_kernels_hold_and_are_proved(kernel):
    check_kernel(kernel, X)
    assert isinstance(kernel.certificate(), Proved)


def test_features_give_the_kernel_and_have_names():
    phi = LEARNED.features().fit(X)
    np.testing.assert_allclose(phi.transform(Z) @ phi.transform(X).T, LEARNED(Z, X), rtol=1e-12, atol=1e-12)
    assert list(phi.get_feature_names_out()) == ["a|a", "b|a", "a|b", "b|b"]


def test_sums_over_many_strings_are_sums_over_words():
    coef = np.cos(np.arange(len(X)))
    for kernel in (LEARNED, LEARNED.normalize(), 2.0 * LEARNED):
        np.testing.assert_allclose(Expansion(kernel, X, coef)(Z), kernel(Z, X) @ coef, rtol=1e-10, atol=1e-10)
    model = KernelRidge(kernel=LEARNED).fit(X, coef)
    assert np.isfinite(model.predict(Z)).all()


def test_missing_strings_are_an_object_of_their_own():
    kernel = LEARNED.with_params(missing="own")
    K = kernel([X[0], None, X[1], None])
    np.testing.assert_allclose(K[np.ix_([0, 2], [0, 2])], LEARNED(X[:2]), rtol=1e-12)
    np.testing.assert_array_equal(K[[1, 3]], [[0, 1, 0, 1]] * 2)


def test_strings_too_short_for_a_context_have_no_features():
    np.testing.assert_array_equal(LEARNED(["", "a"], X), 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fisher(-1), "order must be a whole number of at least 0"),
        (lambda: Fisher(1, "AA"), "alphabet must hold every token once"),
        (lambda: Fisher(1, 4), "alphabet must hold every token once"),
        (lambda: Fisher(20), "use a smaller order"),
        (lambda: Fisher(1, "ab", np.ones((2, 2))), "must sum to 1"),
        (lambda: Fisher(1, "ab", np.ones((2, 3)) / 3), r"positive numbers of shape \(2, 2\)"),
        (lambda: Fisher(1, "ab", visits=[0.0, 1.0]), r"visits must be positive numbers of shape \(2,\)"),
        (lambda: Fisher.learn(X, alphabet="abN", pseudocount=0.0), "pseudocount must be a positive finite number"),
        (lambda: Fisher(1, "ab")(["ab", "abc"]), "the token 'c' of object 1 is not in the alphabet 'ab'"),
    ],
)
def test_what_is_no_model_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
