"""Tables as people have them: stray cells, odd targets, texts, dates, many categories, leaks, and nothing to learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer import AutoClassifier, AutoRegressor

N = 70
PLACES = np.arange(N)
AREA = PLACES * 13 % 97 + 3.0
COLOUR = PLACES % 3
TABLE = pd.DataFrame(
    {
        "area": [f"${1000 * int(each):,}" for each in AREA],
        "rate": [f"{each * 7 % 50}.06%" for each in PLACES],
        "day": pd.date_range("2021-03-01", periods=N, freq="3D").strftime("%d/%m/%Y"),
        "sold": pd.date_range("2020-01-31", periods=N, freq="9D").strftime("%Y-%m-%d"),
        "town": [f"town {each * 31 % 37}" for each in PLACES],
        "said": [f"{['good', 'bad', 'fine'][each % 3]} service at number {each * 7919}" for each in PLACES],
        "colour": np.array(["red", "green", None], dtype=object)[COLOUR],
    }
)
STRAY = {"area": {4: "?", 11: "unknown"}, "rate": {7: "-", 20: "n/a", 33: "see note"}, "day": {50: "soon"}}
for name, cells in STRAY.items():
    for row, text in cells.items():
        TABLE.loc[row, name] = text
PRICE = AREA / 10 + 3.0 * (COLOUR == 1)
KINDS = {
    "area": "numeric",
    "rate": "numeric",
    "day": "numeric",
    "sold": "numeric",
    "town": "categorical",
    "said": "text",
    "colour": "categorical",
}


@pytest.fixture(scope="module")
def quick():
    with pytest.MonkeyPatch.context() as patch:
        from mercer.auto.search import base
        from mercer.auto.search.learned import list_families

        patch.setattr(base, "list_families", lambda rows: {"thresholds": list_families(rows)["thresholds"]})
        yield


@pytest.fixture(scope="module")
def fitted(quick):
    return AutoRegressor(random_state=0).fit(TABLE, pd.Series(PRICE, name="price"))


def test_columns_are_what_people_take_them_for(fitted):
    assert {column.name: column.kind for column in fitted.report_.columns} == KINDS
    assert fitted.report_.scores[0].values["R²"] > 0.5


def test_stray_cells_are_named_and_usual_marks_are_not(fitted):
    found = "\n".join(fitted.report_.warnings)
    assert "Column 'area' has 1 cell that is not like its other numbers and counted as missing: row 11" in found
    assert "row 33 ('see note')" in found
    assert "row 50 ('soon')" in found
    assert "row 4 " not in found
    assert {column.name: column.missing for column in fitted.report_.columns}["area"] == 2


def test_stray_cells_are_missing_ones_for_predictions_too(fitted):
    row = TABLE.iloc[[12]]
    for name, text in (("area", "who knows"), ("area", "?"), ("rate", "later"), ("day", "never")):
        np.testing.assert_array_equal(
            fitted.predict(row.assign(**{name: text})), fitted.predict(row.assign(**{name: None}))
        )
    np.testing.assert_allclose(fitted.predict(row.assign(area="56000")), fitted.predict(row.assign(area="$56,000")))


@pytest.fixture(scope="module")
def expected():
    """What a fit with a given kernel predicts."""
    return fit_quickly(TABLE).predict(TABLE)


def fit_quickly(table, target=PRICE):
    return AutoRegressor("ridge", kernel="Gaussian(3)", random_state=0).fit(table, target)


def test_a_fit_of_missing_cells_is_the_fit_of_stray_ones(expected):
    clean = TABLE.copy()
    for name, cells in STRAY.items():
        clean.loc[list(cells), name] = None
    np.testing.assert_allclose(fit_quickly(clean).predict(clean), expected, rtol=1e-9)


def test_polars_gives_what_pandas_gives(expected):
    table = pl.from_pandas(TABLE)
    again = fit_quickly(table, pl.Series("price", PRICE))
    np.testing.assert_allclose(again.predict(table), expected, rtol=1e-9)
    assert again.report_.target == "price"


def test_arrays_of_objects_give_what_frames_give(expected):
    table = TABLE.to_numpy(dtype=object)
    again = fit_quickly(table)
    np.testing.assert_allclose(again.predict(table), expected, rtol=1e-9)
    assert [column.name for column in again.report_.columns] == [f"x{j}" for j in range(len(KINDS))]


def test_new_texts_days_and_towns_are_predicted(fitted):
    new = TABLE.iloc[:3].assign(said="never heard of", town="elsewhere", day="24/12/2030", colour="mauve")
    assert np.isfinite(fitted.predict(new)).all()


def test_classes_of_such_tables_are_predicted(quick):
    labels = pd.Series(np.where(np.median(PRICE) < PRICE, "dear", "cheap"), name="class")
    model = AutoClassifier(random_state=0).fit(TABLE, labels)
    np.testing.assert_allclose(model.predict_proba(TABLE).sum(axis=1), 1.0)
    assert {column.name: column.kind for column in model.report_.columns} == KINDS
    assert model.score(TABLE, labels) > 0.8


def test_odd_and_missing_targets_are_left_out_and_their_rows_named():
    cost = pd.Series([f"${each:.2f}" for each in PRICE], name="cost")
    cost[[4, 9]], cost[11] = "sold", None
    model = fit_quickly(TABLE, cost)
    assert model.report_.n_rows == N - 3
    assert model.report_.warnings[:2] == (
        "2 rows left out because 'cost' is no number there: row 4 ('sold'), row 9 ('sold').",
        "1 row left out because 'cost' is missing there: row 11.",
    )
    kept = np.delete(PLACES, [4, 9, 11])
    clean = fit_quickly(TABLE.iloc[kept], PRICE[kept].round(2))
    some = TABLE[60:]
    np.testing.assert_allclose(model.predict(some), clean.predict(some), rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "target", "leak"),
    [
        (AutoRegressor, PRICE, 2.0 * PRICE + 1.0),
        (AutoClassifier, np.where(PRICE > 6, "a", "b"), np.where(PRICE > 6, "yes", "no")),
    ],
)
def test_a_column_that_gives_the_target_away_is_named_first(make, target, leak):
    table = TABLE[["rate", "colour"]].assign(leak=leak)
    model = make(kernel="Gaussian(2)", random_state=0).fit(table, pd.Series(target, name="goal"))
    assert model.report_.warnings[0].startswith("Column 'leak' alone gives 'goal' away.")


MAKERS = [AutoRegressor, AutoClassifier]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("X", "y", "reason"),
    [
        (np.ones((20, 2)), PLACES[:20] % 2, "all 2 columns are the same in every row.*add columns"),
        (np.ones((20, 1)), PLACES[:20] % 2, "the only column is the same in every row.*add columns"),
        (TABLE[:1], [1.0], "needs at least 2 rows with a target, got n_samples = 1; add rows"),
        (TABLE[:20], [1.0] + [None] * 19, "needs at least 2 rows with a target, got n_samples = 1; add rows"),
        (TABLE[:0], [], r"needs at least one row and one column, got shape \(0, 7\)"),
        (np.empty((0, 2)), [], "0 sample"),
        (TABLE, np.full(N, 3.0), "'y' is always 3; there is nothing to learn .* choose another target"),
        (TABLE, [None] * N, "the target is missing in all 70 rows"),
    ],
)  # fmt: skip
def test_tables_with_nothing_to_learn_get_the_true_reason(make, X, y, reason):
    with pytest.raises(ValueError, match=reason):
        make().fit(X, y)


def test_columns_that_are_the_same_among_the_rows_with_a_target_are_found_out():
    table = pd.DataFrame({"a": [1.0] * 10 + [2.0]})
    with pytest.raises(ValueError, match="the only column is the same in every row"):
        AutoRegressor().fit(table, [*np.arange(10.0), None])
