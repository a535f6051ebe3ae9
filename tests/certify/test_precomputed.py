"""Finished matrices: eigenvalues where they are clear, exact elimination where they are not."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer.certify import Proved, Refuted, Unknown, certify
from mercer.certify.precomputed import find_exact_rank
from mercer.kernels import Precomputed


def test_clearly_positive_eigenvalues_are_a_proof_that_states_its_bound():
    verdict = Precomputed([[4, 1, 0], [1, 1, 1], [0, 1, 4]]).certificate()
    assert isinstance(verdict, Proved)
    assert "verified eigenvalues" in verdict.explain()


def test_a_negative_eigenvalue_is_a_refutation_by_row_numbers():
    verdict = Precomputed([[0, 1], [1, 0]]).certificate()
    assert isinstance(verdict, Refuted)
    assert verdict.points.tolist() == [0, 1]
    assert verdict.value == -2
    assert verdict.error_bound == 0


def test_a_singular_matrix_is_decided_exactly():
    verdict = Precomputed([[1, 2, 3], [2, 4, 6], [3, 6, 9]]).certificate()
    assert isinstance(verdict, Proved)
    assert "exact elimination" in verdict.explain()
    assert isinstance(Precomputed(np.zeros((3, 3))).certificate(), Proved)
    whole = np.random.default_rng(0).integers(-5, 6, size=(40, 7)).astype(float)
    assert isinstance(Precomputed(whole @ whole.T).certificate(), Proved)


def test_a_matrix_that_is_positive_but_for_rounding_is_unknown():
    features = np.random.default_rng(0).normal(size=(20, 3))
    assert isinstance(Precomputed(features @ features.T).certificate(), Unknown)


def test_a_large_singular_matrix_is_unknown():
    verdict = Precomputed(np.ones((80, 80))).certificate()
    assert isinstance(verdict, Unknown)
    assert "64" in verdict.explain()


def test_a_small_but_real_violation_in_a_large_matrix_is_found():
    K = np.eye(70)
    K[3, 50] = K[50, 3] = 1.001
    verdict = Precomputed(K).certificate()
    assert isinstance(verdict, Refuted)
    assert verdict.points.tolist() == [3, 50]


def test_a_tiny_violation_is_refuted_exactly():
    K = np.array([[1.0, 1.0 + 1e-12], [1.0 + 1e-12, 1.0]])
    verdict = Precomputed(K).certificate()
    assert isinstance(verdict, Refuted)
    assert verdict.coefficients @ K @ verdict.coefficients < 0


@pytest.mark.parametrize("seed", range(20))
def test_exact_elimination_agrees_with_the_rank_and_sign_of_whole_matrices(seed):
    rng = np.random.default_rng(seed)
    features = rng.integers(-3, 4, size=(6, int(rng.integers(1, 7)))).astype(float)
    signs = np.where(rng.random(features.shape[1]) < 0.15, -1.0, 1.0)
    K = features * signs @ features.T
    eigenvalues = np.linalg.eigvalsh(K)
    expected = int(np.linalg.matrix_rank(K)) if eigenvalues[0] > -1e-9 else None
    assert find_exact_rank(K) == expected


def test_a_sample_of_row_numbers_is_looked_at_alone():
    K = Precomputed([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [2.0, 0.0, 1.0]])
    assert isinstance(K.certificate(), Refuted)
    assert isinstance(K.certificate(sample=[0, 1]), Unknown)
    assert isinstance(K.certificate(sample=[0, 2]), Refuted)


# -- matrices as they are given ------------------------------------------------------------------------------------


def test_a_symmetric_matrix_gets_the_verdict_of_the_kernel_it_is():
    for K in ([[4, 1, 0], [1, 1, 1], [0, 1, 4]], [[0, 1], [1, 0]], [[1, 2], [2, 4]]):
        own, other = certify(np.array(K)), Precomputed(K).certificate()
        assert type(own) is type(other)
        assert own.strict == other.strict
    assert isinstance(certify(pd.DataFrame(np.eye(2))), Proved)
    assert isinstance(certify([[1.0, 0.0], [0.0, 1.0]]), Proved)


def test_a_matrix_that_is_not_symmetric_is_refuted_by_the_entries_that_differ_most():
    K = np.eye(4)
    K[3, 1], K[0, 2] = 0.5, 0.25
    verdict = certify(K)
    assert isinstance(verdict, Refuted)
    assert not verdict.symmetric
    assert verdict.points.tolist() == [1, 3]
    assert verdict.value == -0.5
    np.testing.assert_array_equal(verdict.gram, K[np.ix_([1, 3], [1, 3])])
    text = " ".join(verdict.explain().split())
    assert "entry (1, 3) is 0.0 but (3, 1) is 0.5; use (K + K.T) / 2 if the difference is noise" in text
    assert isinstance(certify((K + K.T) / 2), Proved)


def test_a_matrix_that_is_symmetric_but_for_rounding_is_judged_by_its_eigenvalues():
    K = np.eye(3)
    K[0, 1] = 1e-12
    assert isinstance(certify(K), Proved)


def test_a_sample_of_a_matrix_are_some_of_its_rows():
    K = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
    assert isinstance(certify(K), Refuted)
    assert isinstance(certify(K, sample=[1, 2]), Proved)
    with pytest.raises(ValueError, match="row numbers from 0 to 2"):
        certify(K, sample=[3])


@pytest.mark.parametrize(
    ("matrix", "kind", "message"),
    [
        (np.ones((2, 3)), ValueError, r"must be square with a row for each object, got shape \(2, 3\)"),
        (np.ones(3), ValueError, r"must be square .* got shape \(3,\)"),
        ([[1.0, 2.0], [1.0]], ValueError, "different lengths"),
        ([[1.0, np.nan], [np.nan, 1.0]], ValueError, "NaN or infinity"),
        (np.eye(2) * 1j, TypeError, "real numbers"),
        (sparse.eye_array(2), TypeError, "sparse"),
    ],
)
def test_what_is_no_square_matrix_of_numbers_is_refused(matrix, kind, message):
    with pytest.raises(kind, match=f"certify: .*{message}"):
        certify(matrix)
