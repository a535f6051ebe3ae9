"""Verdicts read well, and say no more than is known."""

from fractions import Fraction

import numpy as np

from mercer.certify import Proved, Refuted, Unknown, Verdict, certify
from mercer.certify.layout import DEEPEST, format_number, format_point
from mercer.kernels import Gaussian, Linear, Periodic, Polynomial, Sigmoid, exp
from mercer.kernels.theorem import Theorem

from ..page import read_page


def test_all_verdicts_explain_themselves_and_print_as_their_explanation():
    verdicts = [Linear().certificate(), Sigmoid().certificate(), certify(lambda x, z: float(x @ z))]
    assert [type(v) for v in verdicts] == [Proved, Refuted, Unknown]
    for verdict in verdicts:
        assert isinstance(verdict, Verdict)
        assert str(verdict) == verdict.explain()
        assert repr(verdict).startswith(f"<{type(verdict).__name__}: ")
        assert "\n" not in repr(verdict)


def test_a_proof_is_a_tree_with_each_claim_under_what_it_serves():
    text = (2.0 * Gaussian(1.5) + Polynomial(2, 1.0) * Linear()).certificate().explain()
    assert text.splitlines()[0] == "Proved: this is a kernel."
    assert "├─ Gaussian(length_scale=1.5)" in text
    assert "└─ Polynomial(degree=2, offset=1.0) * Linear()" in text
    assert "Schoenberg" in text
    assert "Schur" in text


def test_a_claim_shown_before_is_only_named():
    shared = Theorem("k is a kernel", "of a long and winding argument that nobody wants to read twice")
    verdict = Proved(Theorem("both", "conical sum", (shared, shared)))
    assert verdict.explain().count("winding") == 1
    assert "k is a kernel  (shown above)" in verdict.explain()


def test_a_proof_for_one_dimension_says_so():
    verdict = (3.0 * Gaussian(1.0) - Gaussian(2.0)).certificate(dim=1)
    assert verdict.dim == 1
    assert "points with 1 feature only" in verdict.explain()
    assert Linear().certificate(dim=1).dim is None


def test_a_refutation_shows_points_coefficients_gram_matrix_value_and_check():
    text = certify(lambda x, z: (x - z) @ (x - z)).explain()
    for part in ("x₁   1    (0, 0)", "x₂   −1   (1, 0)", "  0   1\n  1   0", "= −2 < 0", "exact rational arithmetic"):
        assert part in text


def test_a_large_gram_matrix_is_not_printed():
    verdict = (3.0 * Gaussian(1.0) - Gaussian(2.0)).certificate(dim=2)
    assert len(verdict.coefficients) > 8
    assert "attribute gram" in verdict.explain()
    assert verdict.gram.shape == (len(verdict.coefficients),) * 2


def test_a_refutation_says_in_which_arithmetic_it_was_checked():
    assert "extended precision" in certify(lambda x, z: np.tanh(x @ z + 1)).check
    assert "exact rational" in certify(lambda x, z: (x @ z - 1) ** 2).check
    assert "float64" in certify(lambda x, z: float(np.tanh(x @ z + 1))).check


def test_coefficients_mean_nothing_for_an_asymmetric_function_and_are_not_shown():
    verdict = certify(lambda x, z: x[0])
    assert not verdict.symmetric
    assert "aᵢ" not in verdict.explain()


def test_unknown_never_sounds_like_a_proof():
    text = certify(lambda x, z: float(x @ z)).explain()
    assert "not a proof" in text
    assert "Tried:" in text


def test_long_claims_and_objects_are_wrapped_or_shortened():
    kernel = sum((exp(Gaussian(float(i))) for i in range(1, 12)), Linear())
    assert max(map(len, kernel.certificate().explain().splitlines())) <= 130
    verdict = certify(lambda a, b: -1.0, sample=["x" * 1000])
    assert max(map(len, verdict.explain().splitlines())) <= 130


def test_numbers_are_shown_in_few_digits_however_large_they_are():
    assert format_number(-0.1234567) == "−0.12346"
    assert format_number(Fraction(10) ** 400 / 3) == "3.3333e+399"
    assert format_number(-0.0) == "0"


def test_a_proof_unfolds_in_a_notebook_and_only_the_conclusion_is_open():
    verdict = ((Gaussian() + 2.0 * Linear()) * Periodic()).normalize().certificate()
    page = read_page(verdict)
    assert page.tags.count("details") == len(list_theorems(verdict.proof))
    assert [name for name, _ in page.attributes].count("open") == 1
    for theorem in list_theorems(verdict.proof):
        assert theorem.claim in page.text
        assert theorem.because in page.text
    assert "Strictly positive definite" in page.text


def list_theorems(proof):
    """Every claim of a proof, once."""
    return {proof}.union(*map(list_theorems, proof.parts))


def test_a_claim_that_was_shown_is_only_named_again_and_long_proofs_end():
    page = read_page((Gaussian() * Gaussian()).certificate())
    assert page.text.count("(shown above)") == 1
    kernel = Linear()
    for _ in range(60):
        kernel = exp(kernel)
    page = read_page(kernel.certificate())
    assert "print the certificate" in page.text
    assert page.tags.count("details") == DEEPEST


def test_a_refutation_shows_points_coefficients_matrix_and_bound_in_a_notebook():
    verdict = Sigmoid().certificate()
    page = read_page(verdict)
    for number in (*verdict.coefficients, *verdict.gram.ravel(), verdict.value, verdict.error_bound):
        assert format_number(number) in page.text
    for point in verdict.points:
        assert format_point(point) in page.text
    assert "< 0" in page.text


def test_a_function_that_is_not_symmetric_has_no_coefficients_in_a_notebook():
    page = read_page(certify(lambda x, z: x[0] - 2 * z[0]))
    assert "aᵢ" not in page.text
    assert "k(x₂, x₁)" in page.text


def test_many_points_are_counted_in_a_notebook():
    n = 30
    refuted = Refuted(np.arange(n * 1.0)[:, None], np.ones(n), -1.0, 0.0, "why", "how", np.eye(n), "<i>f</i>")
    page = read_page(refuted)
    assert "and 10 more" in page.text
    assert "<i>f</i>" in page.text
    assert "exactly" in page.text
    assert "details" not in page.tags


def test_what_is_unknown_says_in_a_notebook_what_was_tried():
    page = read_page(Unknown(("a proof <b>", "a search"), "f"))
    assert page.tags.count("li") == 2
    assert "a proof <b>" in page.text
    assert "not a proof" in page.text
