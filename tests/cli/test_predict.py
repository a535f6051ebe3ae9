"""``mercer predict`` gives what the model gives, for any table with the right columns."""

import io

import numpy as np
import pandas as pd
import pytest

import mercer as library
from mercer.kernels import Gaussian

from .conftest import make_houses, one_line


def test_predictions_are_those_of_the_model(mercer, trained):
    result = mercer("predict", trained / "houses.mercer", trained / "houses.csv", "-o", "out.csv", "--interval", "0.8")
    assert result.exit_code == 0, result.stderr
    assert "90 predictions written to out.csv" in result.stderr
    written = pd.read_csv("out.csv")
    model, X = library.load(trained / "houses.mercer"), make_houses().drop(columns="price")
    np.testing.assert_allclose(written["prediction"], model.predict(X), rtol=1e-12)
    np.testing.assert_allclose(written[["lower", "upper"]], model.predict_interval(X, coverage=0.8), rtol=1e-12)


def test_probabilities_have_a_column_for_each_class(mercer, trained):
    result = mercer("predict", trained / "sold.mercer", trained / "houses.csv", "--proba")
    lines = result.stdout.splitlines()
    assert lines[0] == "prediction,probability of no,probability of yes"
    assert len(lines) == 91
    assert lines[1].split(",")[0] in ("yes", "no")
    assert sum(map(float, lines[1].split(",")[1:])) == pytest.approx(1)


def test_the_order_of_columns_does_not_matter_and_pipes_work(mercer, trained):
    frame = make_houses()
    text = frame[["town", "sold", "rooms", "area"]].to_csv(index=False)
    straight = mercer("predict", trained / "houses.mercer", trained / "houses.csv").stdout
    assert mercer("predict", trained / "houses.mercer", "-", input=text).stdout == straight


def test_parquet_is_written_by_its_name(mercer, trained):
    mercer("predict", trained / "houses.mercer", trained / "houses.csv", "-o", "out.parquet")
    assert len(pd.read_parquet("out.parquet")) == 90


def test_the_name_of_the_output_tells_how_it_is_written(mercer, trained):
    model, data = trained / "houses.mercer", trained / "houses.csv"
    expected = pd.read_csv(io.StringIO(mercer("predict", model, data, "--id", "town").stdout))
    for name, separator in (("out.tsv", "\t"), ("out.csv.gz", ",")):
        assert mercer("predict", model, data, "--id", "town", "-o", name).exit_code == 0
        pd.testing.assert_frame_equal(pd.read_csv(name, sep=separator), expected)
    assert "written as CSV or Parquet" in one_line(mercer("predict", model, data, "-o", "out.xlsx"))


def test_models_of_the_library_predict_too(mercer, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = library.KernelRidge(0.1, kernel=Gaussian()).fit(X, X[:, 0])
    library.save(model, tmp_path / "m.mercer")
    pd.DataFrame(X, columns=["a", "b"]).to_csv("t.csv", index=False)
    written = [float(line) for line in mercer("predict", "m.mercer", "t.csv").stdout.splitlines()[1:]]
    np.testing.assert_allclose(written, model.predict(X))
    pd.DataFrame(X[:, :1], columns=["a"]).to_csv("narrow.csv", index=False)
    assert "has 1 columns, but the model was fitted to 2" in one_line(mercer("predict", "m.mercer", "narrow.csv"))
    library.save(Gaussian(), tmp_path / "k.mercer")
    assert "predicts nothing" in one_line(mercer("predict", "k.mercer", "t.csv"))


def test_what_cannot_be_predicted_is_one_line(mercer, trained, tmp_path):
    def says(*arguments):
        return one_line(mercer("predict", *arguments))

    model, data = trained / "houses.mercer", trained / "houses.csv"
    make_houses().drop(columns="town").rename(columns={"rooms": "room"}).to_csv("less.csv", index=False)
    make_houses().assign(area="large").to_csv("words.csv", index=False)
    (tmp_path / "broken.mercer").write_bytes(model.read_bytes()[:200])
    (tmp_path / "text.mercer").write_text("no model")
    (tmp_path / "out.csv").write_text("precious")
    assert "none of these 2 columns: 'rooms' (did you mean 'room'?), 'town'; it has 'area', " in says(model, "less.csv")
    assert "column 'area'" in says(model, "words.csv")
    assert "does not exist" in says("none.mercer", data)
    assert "broken.mercer" in says("broken.mercer", data)
    assert "text.mercer" in says("text.mercer", data)
    assert "houses.csv" in says(data, data)
    assert "is a folder" in says(tmp_path, data)
    assert "--proba is for classification" in says(model, data, "--proba")
    assert "--interval is for regression" in says(trained / "sold.mercer", data, "--interval", "0.9")
    assert "not a number between 0 and 1" in says(model, data, "--interval", "90")
    assert "out.csv exists already; --force" in says(model, data, "-o", "out.csv")
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert mercer("predict", model, data, "-o", "out.csv", "--force").exit_code == 0


def test_labels_are_no_formulas_unless_they_are_written_verbatim(mercer, tmp_path):
    frame = make_houses(40)
    labels = frame["sold"].map({"yes": '=HYPERLINK("x")', "no": "-no"})
    frame.assign(sold=labels, ref=[f"@{i}" for i in range(40)]).to_csv("t.csv", index=False)
    arguments = ["--target", "sold", "--id", "ref", "--model", "logistic", "--kernel", "Gaussian(2)"]
    assert mercer("fit", "t.csv", *arguments).exit_code == 0
    for verbatim in (False, True):
        done = mercer("predict", "t.mercer", "t.csv", "--proba", "-o", "out.csv", "--force", *["--verbatim"] * verbatim)
        assert done.exit_code == 0, done.stderr
        written = pd.read_csv("out.csv")
        mark = "" if verbatim else "'"
        assert set(written["prediction"]) == {f'{mark}=HYPERLINK("x")', f"{mark}-no"}
        assert written["ref"].tolist()[:2] == [f"{mark}@0", f"{mark}@1"]
        assert list(written.columns) == ["ref", "prediction", "probability of -no", 'probability of =HYPERLINK("x")']
    mercer("predict", "t.mercer", "t.csv", "-o", "out.parquet")
    assert "-no" in set(pd.read_parquet("out.parquet")["prediction"])  # nothing to protect


def test_ids_that_are_asked_for_must_be_there_and_have_a_name_of_their_own(mercer, trained):
    model, data = trained / "houses.mercer", trained / "houses.csv"
    assert "has no column 'ref'" in one_line(mercer("predict", model, data, "--id", "ref"))
    make_houses().assign(prediction=1).to_csv("t.csv", index=False)
    assert "--id prediction: predictions have a column" in one_line(
        mercer("predict", model, "t.csv", "--id", "prediction")
    )
    lines = mercer("predict", model, data, "--id", "town", "--id", "rooms").stdout.splitlines()
    assert lines[0] == "town,rooms,prediction"
