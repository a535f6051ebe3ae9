"""Lowering folds what can be folded and keeps the meaning."""

import numpy as np
import pytest

from mercer.formula.program import UnsupportedError, lower
from mercer.kernels import Custom, Gaussian, Linear, Matern, Polynomial, RationalQuadratic


def ops(kernel):
    return [step.op for step in lower(kernel.traced()).code]


def test_a_gaussian_is_one_exponential():
    assert ops(Gaussian(3.0)) == ["exp"]


def test_factors_and_shifts_are_absorbed_by_the_next_instruction():
    assert ops(2.0 * (3.0 * Gaussian()) + 0.5 * Gaussian(2.0)) == ["exp", "exp", "add"]
    assert ops(Linear() + 3.0) == ["affine"]
    assert ops((2.0 * Linear()) ** 3) == ["powi", "affine"]


def test_kernels_of_one_metric_share_the_statistic():
    program = lower((Gaussian(1.0) + Gaussian(2.0) * Matern(1.5) + RationalQuadratic()).traced())
    assert len(program.statistics) == 1


def test_different_columns_are_different_statistics():
    program = lower((Gaussian().on([0]) + Gaussian().on([1])).traced())
    assert len(program.statistics) == 2


def test_repeated_parts_are_computed_once():
    k = Gaussian() + Linear()
    assert ops(k * k).count("exp") == 1


def test_norms_become_vectors_outside_the_tile():
    program = lower(Polynomial(2).normalize().traced())
    assert (len(program.left), len(program.right)) == (1, 1)
    assert "recip" not in [step.op for step in program.code]


def test_registers_are_reused():
    k = sum(Gaussian(float(s)) * Linear() for s in np.linspace(1, 2, 40))
    assert max(step.dst for step in lower(k.traced()).code) < 8


def test_what_has_no_instruction_is_refused_with_the_reason():
    with pytest.raises(UnsupportedError, match="Bessel"):
        lower(Matern(1.1).traced())
    with pytest.raises(UnsupportedError, match="no native statistic"):
        lower(Custom(min).traced())
