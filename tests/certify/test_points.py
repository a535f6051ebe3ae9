"""Point sets have the features, the domain and the readable coordinates they should."""

import itertools

import numpy as np
import pytest

from mercer.certify.domain import count_features_inside, count_parts, find_domain, list_likely_dims, list_row_numbers
from mercer.certify.points import generate_point_sets
from mercer.kernels import Chi2, Gaussian, Intersection, Linear, MeanEmbedding, Overlap, PairSum, Precomputed, exp


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
@pytest.mark.parametrize("domain", ["real", "nonnegative", "categories"])
def test_point_sets_lie_in_their_domain(dim, domain):
    sets = list(generate_point_sets(dim, domain))
    assert len(sets) >= 3
    for candidate in sets:
        assert candidate.points.shape[1] == dim
        assert len(np.unique(candidate.points, axis=0)) == len(candidate.points) <= 64
        if domain != "real":
            assert candidate.points.min() >= 0
        if domain == "categories":
            assert len(np.unique(candidate.points)) <= 5


def test_point_sets_are_the_same_every_time():
    for a, b in zip(generate_point_sets(2), generate_point_sets(2), strict=True):
        np.testing.assert_array_equal(a.points, b.points)


def test_suggested_spacings_come_first():
    grids = [s.points for s in generate_point_sets(1, spacings=(0.123,)) if s.shape == "grids"]
    assert np.diff(grids[0][:, 0]) == pytest.approx(0.123)


def test_the_most_demanding_kernel_inside_decides_the_domain():
    assert find_domain(Gaussian() + Linear()) == "real"
    assert find_domain(Gaussian() * Chi2()) == "nonnegative"
    assert find_domain(Overlap().on([0]) + Intersection().on([1])) == "categories"
    assert find_domain(Intersection().after(np.abs)) == "real"
    assert find_domain(2.0 * Precomputed([[1.0]])) == "indices"
    assert list_row_numbers(Precomputed(np.eye(3)) * Precomputed(np.eye(5))).tolist() == [0, 1, 2]


def test_points_of_many_features_are_as_few_as_others():
    assert max(candidate.points.nbytes for candidate in itertools.islice(generate_point_sets(100_000), 6)) < 2**25


def test_kernels_inside_see_the_same_points_only_through_arithmetic_and_columns():
    for kernel in (2.0 * Linear(), Linear() + 1.0, Linear() * Linear(), Linear() ** 2, exp(Linear())):
        assert count_features_inside(kernel, 7) == 7
    assert count_features_inside(Linear().normalize(), 7) == 7
    assert count_features_inside(Linear().on([0, 4]), 7) == 2
    for kernel in (MeanEmbedding(Linear()), PairSum(Linear()), Linear().after(np.abs), Linear()):
        assert count_features_inside(kernel, 7) is None


def test_dimensions_follow_columns_and_length_scales():
    assert list_likely_dims(Linear().on([5])) == [1, 2, 3, 6]
    assert list_likely_dims(Gaussian([1.0] * 4) - Linear()) == [1, 2, 3, 4]


def test_shared_parts_count_each_time_but_are_looked_at_once():
    kernel = Linear()
    for _ in range(100):
        kernel = kernel * kernel
    assert count_parts(kernel, 1000) == 1000
    assert count_parts(exp(Linear() + Linear()), 1000) == 4
