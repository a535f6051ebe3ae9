"""The tables in the wheel are what their descriptions say."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest

from mercer.datasets import load_credit, load_energy


def test_energy_has_the_rows_and_the_mean_of_the_published_table():
    energy = load_energy()
    assert energy.data.shape == (768, 8)
    assert list(energy.frame.columns) == [*energy.feature_names, energy.target_name]
    assert energy.target.mean() == pytest.approx(22.3072, abs=1e-4)
    assert energy.data.iloc[0].tolist() == [0.98, 514.5, 294.0, 110.25, 7.0, 2.0, 0.0, 0.0]
    assert energy.target.iloc[:4].tolist() == [15.55] * 4


def test_every_building_of_energy_is_there_once():
    data = load_energy(as_frame=False).data
    assert len(np.unique(data, axis=0)) == 768
    assert [len(np.unique(column)) for column in data.T] == [12, 12, 7, 4, 2, 4, 4, 6]


def test_a_building_s_surface_is_its_walls_and_two_roofs():
    data = load_energy().data
    np.testing.assert_allclose(data["surface_area"], data["wall_area"] + 2 * data["roof_area"])


def test_credit_is_mixed_and_has_seven_good_risks_of_ten():
    credit = load_credit()
    assert credit.data.shape == (1000, 20)
    assert sum(kind.kind in "iuf" for kind in credit.data.dtypes) == 7
    assert (credit.target == "good").sum() == 700
    assert not credit.frame.isna().any().any()


@pytest.mark.parametrize("load", [load_energy, load_credit])
def test_arrays_hold_the_same_values_as_frames(load):
    frame, array = load(), load(as_frame=False)
    assert array.frame is None
    np.testing.assert_array_equal(array.data, frame.data.to_numpy())
    np.testing.assert_array_equal(array.target, frame.target.to_numpy())


@pytest.mark.parametrize("load", [load_energy, load_credit])
def test_source_and_licence_are_stated(load):
    bunch = load()
    assert "CC BY 4.0" in bunch.DESCR
    readme = files("mercer.datasets").joinpath("data", "README.md").read_text(encoding="utf-8")
    assert bunch.filename in readme
    assert "https://doi.org/10.24432/" in readme
