"""Pictures of samples: the witness function, and what a test says."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from mercer import HSICTest, MMDTest
from mercer.embeddings import witness
from mercer.inspection import OutcomeDisplay, WitnessDisplay
from mercer.kernels import Constant, Gaussian

mpl.use("Agg")
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 2)), RNG.normal(size=(50, 2)) * [1.0, 0.4] + [1.0, 0.0]


def test_along_one_feature_the_witness_is_a_curve_over_both_samples(is_legible):
    display = WitnessDisplay.from_samples(X[:, :1], Y[:, :1], Gaussian(), labels=("old", "new"))
    np.testing.assert_allclose(display.values, witness(X[:, :1], Y[:, :1], Gaussian())(display.grid[0][:, None]))
    shown = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert shown == ["old, 60 points", "new, 50 points", "witness f(x)"]
    is_legible(display.figure_)


def test_along_two_features_it_is_a_map_with_the_second_upwards(is_legible):
    display = WitnessDisplay.from_samples(X, Y, Gaussian(), grid_resolution=20)
    f = witness(X, Y, Gaussian())
    assert display.values[3, 7] == pytest.approx(f([[display.grid[0][7], display.grid[1][3]]])[0])
    is_legible(display.figure_)


def test_other_features_stay_at_their_medians_and_are_said_to():
    wide = np.column_stack([X, X[:, 0]]), np.column_stack([Y, Y[:, 0]])
    display = WitnessDisplay.from_samples(*wide, features=[0, 2], fixed={1: 0.5}, grid_resolution=10)
    assert "x1 = 0.5" in display.note
    with pytest.raises(ValueError, match="WitnessDisplay"):
        WitnessDisplay.from_samples(*wide, features=[0, 1, 2])


@pytest.mark.parametrize("kernel", [None, Gaussian()], ids=["several", "one"])
def test_an_outcome_is_a_histogram_with_the_observed_value(kernel, is_legible):
    outcome = MMDTest(kernel, random_state=0).test(X, Y)
    display = OutcomeDisplay.from_outcome(outcome)
    lines = [line.get_xdata()[0] for line in display.ax_.get_lines() if len(set(line.get_xdata())) == 1]
    assert outcome.observed in lines
    drawn = sum(patch.get_height() for patch in display.ax_.patches)
    assert drawn == len(outcome.null)
    assert ("deviations" in display.ax_.get_xlabel()) == (kernel is None)
    is_legible(display.figure_)


def test_a_null_of_one_value_is_drawn_too():
    OutcomeDisplay.from_outcome(HSICTest(Constant(1.0), n_permutations=20, random_state=0).test(X, X))


def test_pictures_are_drawn_on_the_axes_given():
    _, (left, right) = plt.subplots(1, 2)
    assert WitnessDisplay.from_samples(X, Y, ax=left, grid_resolution=10).ax_ is left
    assert OutcomeDisplay.from_outcome(MMDTest(random_state=0).test(X, Y), ax=right).ax_ is right


def test_what_is_no_outcome_is_refused():
    with pytest.raises(TypeError, match="draws what the test method of a test returns"):
        OutcomeDisplay.from_outcome(0.05)
