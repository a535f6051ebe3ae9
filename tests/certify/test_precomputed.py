"""Finished matrices: eigenvalues where they are clear, exact elimination where they are not."""

import numpy as np
import pytest

from mercer.certify import Proved, Refuted, Unknown
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
