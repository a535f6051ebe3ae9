"""Budgets are read, printed and enforced."""

import pytest

from mercer.arrays.budget import MemoryBudgetError, available_memory, parse_memory, require, show_bytes


@pytest.mark.parametrize(
    ("given", "expected"), [("2GB", 2 * 10**9), (" 1.5 MiB ", int(1.5 * 2**20)), ("64", 64), (1e6, 10**6), (7, 7)]
)
def test_budgets_are_read_from_numbers_and_texts(given, expected):
    assert parse_memory(given) == expected


@pytest.mark.parametrize("given", ["much", "2 parsecs", "", 0, -5, float("nan")])
def test_nonsense_budgets_are_refused(given):
    with pytest.raises(ValueError, match="memory must be"):
        parse_memory(given)


def test_the_default_is_a_share_of_what_is_free():
    assert 0.5 * available_memory() < parse_memory(None) < 0.7 * available_memory()


def test_too_large_a_need_is_refused_with_the_numbers_and_the_remedy():
    with pytest.raises(MemoryBudgetError, match=r"the matrix needs 2.0 GB, but .* 1.0 GB; use less"):
        require(2e9, 10**9, "the matrix", "use less")
    require(1e9, 10**9, "the matrix", "use less")


def test_sizes_are_printed_as_people_write_them():
    assert show_bytes(2.5e12) == "2.5 TB"
    assert show_bytes(999) == "999 bytes"
