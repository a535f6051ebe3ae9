"""Proofs by closure rules, by multiplying out, and by lemmas inside a composition."""

from importlib import import_module

import numpy as np
import pytest

from mercer.certify import Proved
from mercer.certify.expand import Expansions, format_monomial
from mercer.certify.rules import prove, suggest_telling_spacings
from mercer.kernels import Constant, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Sigmoid, exp
from mercer.kernels.algebra import Scaled


def test_what_the_kernels_prove_themselves_is_taken_over():
    kernel = (exp(Linear()) * Laplacian(2.0) + 3.0).normalize()
    assert prove(kernel).proof.claim == repr(kernel)
    assert prove(kernel).dim is None


@pytest.mark.parametrize(
    "kernel",
    [
        (Linear() + 1.0) ** 2 - 1.0,
        3.0 * Linear() - Linear(),
        Polynomial(2, 1.0) - 2.0 * Linear(),
        (-1.0 * Linear()) * (-2.0 * Gaussian()),
        (Linear() - 1.0) ** 2 + 2.0 * Linear(),
        Linear() - Linear(),
        exp((Linear() + 1.0) ** 2 - 1.0).normalize(),
    ],
    ids=repr,
)
def test_differences_that_cancel_are_proved_by_multiplying_out(kernel):
    assert prove(kernel) is not None


@pytest.mark.parametrize(
    "kernel", [(Linear() - 1.0) ** 2, Linear() - 0.5, Sigmoid(), Gaussian(1.0) - 0.1, Linear() - Gaussian()], ids=repr
)
def test_what_is_no_kernel_is_not_proved(kernel):
    assert prove(kernel) is None
    assert prove(kernel, dim=1) is None


def test_weights_are_added_exactly():
    # 0.1 + 0.2 > 0.3 in floating point: what remains is not what was written, so the sign is decided exactly.
    assert prove(0.1 * Linear() + 0.2 * Linear() - 0.3 * Linear()) is not None
    assert prove(0.3 * Linear() - 0.1 * Linear() - 0.2 * Linear()) is None


def test_a_spectral_lemma_serves_inside_a_composition():
    difference = 3.0 * Gaussian(1.0) - Gaussian(2.0)
    assert prove(difference * Linear() + 2.0, dim=1).dim == 1
    assert prove(difference * Linear() + 2.0) is None
    assert prove(exp(difference) + Linear(), dim=1) is not None
    assert prove(difference + Linear(), dim=1) is not None


def test_columns_fix_the_dimension_of_what_looks_at_them():
    verdict = prove((3.0 * Gaussian(1.0) - Gaussian(2.0)).on([3]) * Linear())
    assert isinstance(verdict, Proved)
    assert verdict.dim is None
    assert verdict.proof.parts


def test_a_matrix_serves_inside_a_composition():
    assert prove(2.0 * Precomputed([[1.0, 2.0], [2.0, 4.0]]) + 1.0) is not None
    assert prove(2.0 * Precomputed([[0.0, 1.0], [1.0, 0.0]]) + 1.0) is None


def test_nested_sums_and_multiples_become_one_step():
    parts = prove(Linear() + 2.0 * Gaussian() + (Laplacian() + 1.0)).proof.parts
    assert [part.claim for part in parts] == [
        "Linear()", "Gaussian(length_scale=1.0)", "Laplacian(length_scale=1.0)", "Constant(value=1.0)",
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_a_kernel_multiplied_out_has_the_same_values(seed):
    rng = np.random.default_rng(seed)
    atoms = [Linear(), Gaussian(), Constant(0.5), Polynomial(2, 0.5), Laplacian()]

    def tree(depth):
        if depth == 0:
            return atoms[rng.integers(len(atoms))]
        a, b = tree(depth - 1), tree(depth - 1)
        return [a + b, a - b, a * b, a**2, -2.0 * a][rng.integers(5)]

    kernel, X = tree(3), rng.normal(size=(5, 2))
    terms = Expansions().multiply_out(kernel)
    if terms is None:
        return
    total = np.zeros((5, 5))
    for monomial, weight in terms.items():
        total += float(weight) * np.prod([atom(X) ** power for atom, power in monomial] or [np.ones((5, 5))], axis=0)
    np.testing.assert_allclose(kernel(X), total, rtol=1e-9, atol=1e-9 * np.abs(total).max())


def test_a_polynomial_too_long_to_read_is_not_multiplied_out():
    many = sum((Gaussian(float(i)) for i in range(1, 9)), Linear())
    assert Expansions().multiply_out(many**6) is None
    assert format_monomial(()) == ""


def test_spacings_are_suggested_where_the_spectrum_is_negative():
    assert suggest_telling_spacings(3.0 * Gaussian(1.0) - Gaussian(2.0), 2)
    assert suggest_telling_spacings(3.0 * Gaussian(1.0) - Gaussian(2.0), 1) == ()
    assert suggest_telling_spacings(Linear(), 2) == ()


def nested(times, kernel, wrap):
    for i in range(times):
        kernel = wrap(kernel, i)
    return kernel


@pytest.mark.parametrize(
    "kernel",
    [
        nested(30, Linear(), lambda k, i: exp(k + Gaussian(1.0 + i))),
        nested(30, Linear(), lambda k, i: exp(k - 1.0)),
        nested(30, Linear() - Linear(), lambda k, i: exp(k + Linear() - Linear())),
        sum((Gaussian(1.0 + i) for i in range(1000)), Linear()),
        nested(300, Linear(), lambda k, i: exp(k)),
        ((1e200 * Linear()) ** 2) ** 3 - Linear() ** 6,
    ],
    ids=["sums", "constants", "cancelled sums", "many terms", "deep", "large weights"],
)
def test_a_long_proof_is_found_from_the_inside_to_the_outside(kernel):
    assert isinstance(kernel.certificate(), Proved)


@pytest.mark.parametrize(
    "kernel",
    [
        nested(30, Sigmoid(), lambda k, i: exp(k - 1.0)),
        nested(30, Sigmoid(), lambda k, i: exp(k - Gaussian(1.0 + i))),
        nested(40, Linear(), lambda k, i: exp(k + k)),
        nested(40, Sigmoid(), lambda k, i: k * k - k),
        (Linear() - Gaussian() + Laplacian() - Sigmoid()) ** 50,
        ((((1e300 * Gaussian()) ** 60) ** 60) ** 60) ** 60 - Gaussian(),
        (Linear() - 1.0) ** 1_000_000,
    ],
    ids=["constants", "differences", "shared sums", "shared products", "power", "huge weights", "huge power"],
)
@pytest.mark.parametrize("dim", [None, 2])
def test_an_expression_of_any_size_gets_a_verdict(kernel, dim):
    assert not isinstance(kernel.certificate(dim=dim), Proved)


def test_a_proof_that_takes_too_long_is_not_given(monkeypatch):
    kernel = 3.0 * Gaussian(1.0) - Gaussian(2.0)
    monkeypatch.setattr(import_module("mercer.certify.rules"), "PROOF_SECONDS", -1.0)
    assert prove(kernel, dim=1) is None
    assert suggest_telling_spacings(kernel, 2) == ()


def test_multiples_of_multiples_keep_their_sign_however_small():
    tiny = Scaled(Scaled(Linear(), 1e-200), -1e-200)
    assert not isinstance(exp(tiny - 1.0).certificate(), Proved)
    assert exp(tiny - 1.0).theorem() is None
    assert exp(Linear() - 1.0).theorem() is not None


def test_what_is_shown_of_a_weight_is_not_limited_to_floats():
    text = ((1e200 * Linear()) ** 2 + (1e-200 * Gaussian()) ** 2 - Linear() ** 2).certificate().explain()
    assert "1e+400·Linear()²" in text
    assert "1e−400·Gaussian" in text


def test_a_kernel_derived_from_another_is_not_multiplied_out_as_that_one():
    class Shifted(Polynomial):
        def formula(self, pair):
            return super().formula(pair) - 5.0

    assert len(Expansions().multiply_out(Polynomial(2, 1.0))) == 3
    assert list(Expansions().multiply_out(Shifted(2, 1.0))) == [((Shifted(2, 1.0), 1),)]
