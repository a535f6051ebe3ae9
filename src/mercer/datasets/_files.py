"""Readers of the tables in ``data/``; where they come from and their licence stand in ``data/README.md``."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.utils import Bunch

ENERGY = """Heating load of buildings.

768 simulated residential buildings of the same volume, 12 shapes by 4 orientations by 16 ways of glazing.

Columns: relative_compactness; surface_area, wall_area and roof_area in m²; overall_height in m; orientation, a code
from 2 to 5; glazing_area as a share of the floor area; glazing_area_distribution, a code from 0 (no glazing) to 5.
Target: heating_load in kWh per m² and year.

Source: A. Tsanas and A. Xifara, Energy Efficiency, UCI Machine Learning Repository, 2012,
https://doi.org/10.24432/C51307, licensed under CC BY 4.0.
Reference: A. Tsanas and A. Xifara, Accurate quantitative estimation of energy performance of residential buildings
using statistical machine learning tools, Energy and Buildings 49, 560-567, 2012.
"""

CREDIT = """Credit risk of 1,000 customers of a bank in Germany, recorded in the 1970s.

13 columns are categories (checking account, history, purpose, savings, employment, …) and 7 are numbers (duration in
months, amount in DM, age in years, …).  Target: risk, "good" (700 rows) or "bad" (300 rows).  Bad risks are
over-represented, and some columns are personal: the table is for trying out methods, not for decisions about people.

Source: H. Hofmann, Statlog (German Credit Data), UCI Machine Learning Repository, 1994,
https://doi.org/10.24432/C5NC77, licensed under CC BY 4.0.  The codes of the categories were replaced by short texts.
"""


def load_energy(*, as_frame: bool = True) -> Bunch:
    """Return the heating load of 768 buildings and eight numbers about each.

    Parameters
    ----------
    as_frame : bool, default=True
        Whether ``data`` is a pandas frame and ``target`` a series; arrays otherwise, which need no pandas.

    Returns
    -------
    Bunch
        ``data`` (768, 8); ``target`` (768,); ``frame``, both together, or None; ``feature_names``; ``target_name``; and
        ``DESCR``, which says what the columns are, where they come from and under which licence.

    Examples
    --------
    >>> from mercer.datasets import load_energy
    >>> energy = load_energy()
    >>> energy.data.shape, energy.target_name, float(energy.target.max())
    ((768, 8), 'heating_load', 43.1)
    """
    return _load("energy.csv", ENERGY, as_frame)


def load_credit(*, as_frame: bool = True) -> Bunch:
    """Return 1,000 customers of a bank, 13 categories and 7 numbers about each, and whether their credit went well.

    Parameters
    ----------
    as_frame : bool, default=True
        As for :func:`load_energy`; without a frame ``data`` is an array of objects.

    Returns
    -------
    Bunch
        As for :func:`load_energy`, with ``data`` (1000, 20) and ``target``, "good" or "bad".

    Examples
    --------
    >>> from mercer.datasets import load_credit
    >>> credit = load_credit()
    >>> credit.data["purpose"].iloc[0], credit.target.iloc[0]
    ('radio or television', 'good')
    """
    return _load("credit.csv", CREDIT, as_frame)


def _load(name: str, description: str, as_frame: bool) -> Bunch:
    with files(__package__).joinpath("data", name).open(encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    columns = {title: _parse_numbers(values) for title, values in zip(header, zip(*rows, strict=True), strict=True)}
    *features, target = header
    frame: Any = None
    if as_frame:
        import pandas as pd

        frame = pd.DataFrame(columns)
        data, truth = frame[features], frame[target]
    else:
        texts = any(columns[title].dtype == object for title in features)
        data = np.column_stack([columns[title].astype(object if texts else np.float64) for title in features])
        truth = columns[target]
    return Bunch(
        data=data,
        target=truth,
        frame=frame,
        feature_names=features,
        target_name=target,
        DESCR=description,
        filename=name,
    )


def _parse_numbers(values: tuple[str, ...]) -> np.ndarray:
    """Return texts as whole numbers or numbers if they all are, and otherwise as they are."""
    for kind in (np.int64, np.float64):
        try:
            return np.array(values).astype(kind)
        except ValueError:
            continue
    return np.array(values, dtype=object)
