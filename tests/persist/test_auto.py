"""Automatic models keep their answers, their encoder and their report."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mercer
from mercer.auto import TableEncoder
from mercer.auto.search import base as search_base
from mercer.auto.search.learned import list_families
from mercer.kernels import Gaussian, Overlap, Spectrum
from mercer.persist import read_header

N = 40
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "size": np.where(np.arange(N) == 3, np.nan, RNG.normal(size=N)),
        "colour": RNG.choice(["red", "blue", "green"], N),
        "when": pd.date_range("2020-01-01", periods=N),
        "text": [f"word{i} and number {7 * i % 13}" for i in range(N)],
        "one": 1,
    }
)
TARGET = np.nan_to_num(TABLE["size"].to_numpy()) + (TABLE["colour"] == "red") + 0.1 * RNG.normal(size=N)
TABLES = {
    "pandas": TABLE,
    "polars": pl.DataFrame({name: TABLE[name].to_list() for name in TABLE.columns if name != "when"}),
    "array": TABLE[["size"]].to_numpy(),
}
COLUMNS = Gaussian().on("size") * (0.5 + Overlap().on("colour")) + 0.1 * Spectrum(3).normalize().on("text")
KERNELS = {"pandas": COLUMNS, "polars": COLUMNS, "array": Gaussian(1.5)}  # given, because tuning takes its time


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize(
    ("make", "goal"),
    [
        (lambda k: mercer.AutoRegressor("ridge", kernel=k, test=None, random_state=0), TARGET),
        (lambda k: mercer.AutoRegressor("ridge", kernel=k, random_state=0), np.exp(3 * TARGET)),
        (lambda k: mercer.AutoClassifier("svm", kernel=k, test=0, random_state=0), np.where(TARGET > 0.3, "yes", "no")),
        (lambda k: mercer.AutoClassifier("logistic", kernel=k, random_state=0), np.digitize(TARGET, [0.0, 0.6])),
    ],
    ids=["ridge", "logarithm", "machine", "logistic"],
)
def test_automatic_models_come_back(kind, make, goal, roundtrip, same):
    table = TABLES[kind]
    model = make(KERNELS[kind]).fit(table, goal)
    again = roundtrip(model)
    for method in ("predict", "predict_proba", "predict_interval"):
        if hasattr(model, method):
            assert same(getattr(again, method)(table), getattr(model, method)(table))
    assert set(vars(again)) == set(vars(model))
    assert same(again.report_, model.report_)
    assert again.report_.to_dict() == model.report_.to_dict()
    assert same(again.encoder_, model.encoder_)


def test_the_header_tells_what_happens_to_columns(tmp_path):
    model = mercer.AutoRegressor("ridge", kernel=COLUMNS, test=None, random_state=0).fit(TABLE, TARGET)
    mercer.save(model, tmp_path / "model")
    shown = read_header(tmp_path / "model")["preprocessing"]
    assert [text.split(":")[0] for text in shown] == list(TABLE.columns)
    assert "one: ignored: always the same value" in shown


def test_an_encoder_comes_back_alone(roundtrip):
    encoder = TableEncoder("overlap").fit(TABLE)
    assert roundtrip(encoder).transform(TABLE).equals(encoder.transform(TABLE))


def test_an_encoder_comes_back_with_texts_and_statistics(roundtrip):
    table = TABLE.assign(place=[f"place number {i % 11}" for i in range(N)], price=[f"${i},000" for i in range(N)])
    encoder = TableEncoder("statistics").fit(table, TARGET)
    assert {"place: mean", "text: words 1"} <= set(encoder.get_feature_names_out())
    again = roundtrip(encoder)
    np.testing.assert_array_equal(again.transform(table), encoder.transform(table))
    assert again.columns_ == encoder.columns_


@pytest.mark.filterwarnings("ignore:predict_interval. an interval of coverage")  # of eight rows held out
@pytest.mark.parametrize(
    ("make", "goal"),
    [(mercer.AutoRegressor, np.exp(3 * TARGET)), (mercer.AutoClassifier, np.digitize(TARGET, [0.0, 0.6]))],
    ids=["values", "classes"],
)
def test_combinations_come_back_with_every_member(make, goal, roundtrip, same, monkeypatch):
    names = ["thresholds", "mixed columns"]
    some = {name: list_families(np.arange(9.0).reshape(3, 3))[name] for name in names}
    monkeypatch.setattr(search_base, "list_families", lambda rows: some)
    monkeypatch.setattr(
        search_base.TableSearch, "combine", lambda self, trials, most: np.full(len(trials), 1 / len(trials))
    )
    table = TABLE[["size", "colour"]].assign(town=[f"town {i % 17}" for i in range(N)])
    model = make(random_state=0).fit(table, goal)
    assert len(model.members_) > 2
    assert {"statistics"} < {member.encoder.categories for member in model.members_}
    again = roundtrip(model)
    for method in ("predict", "predict_proba", "predict_interval"):
        if hasattr(model, method):
            assert same(getattr(again, method)(table), getattr(model, method)(table))
    for one, other in zip(again.members_, model.members_, strict=True):
        assert (one.name, one.weight, one.extra) == (other.name, other.weight, other.extra)
    assert same(again.report_, model.report_)
    assert getattr(again, "temperature_", None) == getattr(model, "temperature_", None)
