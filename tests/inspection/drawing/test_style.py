"""The look: colours that everyone can tell apart, and a clear message without matplotlib."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from mercer.inspection import KernelDisplay
from mercer.inspection.drawing.style import count_columns, pick_colour, pick_marker
from mercer.kernels import Gaussian
from mercer.palette import PALETTE

# Machado, Oliveira and Fernandes (2009): what people without one kind of cone see, in linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(colour, matrix):
    """Return a colour as someone sees it, in a space where distances are differences to the eye."""
    code = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(matrix) @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
    f = np.cbrt(np.maximum(xyz / [0.9505, 1.0, 1.089], 0.008856))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("kind", BLINDNESS)
def test_colours_stay_apart_for_everyone(kind):
    seen = [lab(colour, BLINDNESS[kind]) for colour in PALETTE]
    distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]
    assert min(distances) > 10  # 2 is about what can be seen at all
    first = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen[:3], 2)]
    assert min(first) > 15


def test_56_classes_have_different_pairs_of_colour_and_marker():
    assert len({(pick_colour(i), pick_marker(i)) for i in range(56)}) == 56


def test_legend_entries_that_do_not_fit_in_a_row_are_stacked():
    assert count_columns([4] * 5, 100) == 5
    assert count_columns([60, 60], 100) == 1
    assert count_columns([10] * 12, 100) == 6


def test_importing_the_displays_does_not_import_matplotlib():
    code = "import sys, mercer.inspection; print('matplotlib' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "False"


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'^KernelDisplay needs matplotlib.*pip install "matplotlib>=\d\S*"$'):
        KernelDisplay.from_kernel(Gaussian())


def test_two_panels_need_a_pair_of_axes():
    with pytest.raises(ValueError, match="a pair of axes"):
        KernelDisplay.from_kernel(Gaussian(), ax=object())
