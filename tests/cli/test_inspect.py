"""``mercer inspect`` shows what a model file holds, whatever the model."""

import json
from dataclasses import replace

import numpy as np
import pytest

import mercer as library


def test_inspect_shows_kernel_proof_and_spectrum(mercer, trained):
    out = mercer("inspect", trained / "houses.mercer").stdout
    for part in ("KernelRidge", "Gaussian(length_scale=2)", "Schoenberg", "eigenvalues", "degrees of freedom",
                 "centres", "90 of 90", "town"):  # fmt: skip
        assert part in out


def test_inspect_as_json(mercer, trained):
    told = json.loads(mercer("inspect", trained / "sold.mercer", "--json").stdout)
    assert told["verdict"] == "proved"
    assert told["report"]["target"] == "sold"
    assert told["eigenvalues"] == sorted(told["eigenvalues"], reverse=True)


def test_inspect_shows_the_parts_of_a_combination(mercer, trained):
    model = library.load(trained / "sold.mercer")
    only = model.members_[0]
    model.members_ = [replace(only, name="one of them", weight=0.75), replace(only, name="another", weight=0.25)]
    model.temperature_ = 1.25
    library.save(model, "both.mercer")
    out = mercer("inspect", "both.mercer").stdout
    for part in ("the weighted mean of 2 models", "75%   one of them", "25%   another", "p^(1/1.25)",
                 "Its heaviest part: one of them"):  # fmt: skip
        assert part in out
    told = json.loads(mercer("inspect", "both.mercer", "--json").stdout)
    assert told["temperature"] == 1.25
    assert [(part["name"], part["weight"]) for part in told["members"]] == [("one of them", 0.75), ("another", 0.25)]
    assert told["members"][0]["kernel"] == told["kernel"]


@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM", "KernelPCA", "ImportVectorMachine", "KernelPerceptron",
                                  "KernelNeighborsClassifier", "ParzenDensity", "ParzenClassifier",
                                  "KernelRidgeCV", "SVCCV"])  # fmt: skip
def test_every_kind_of_model_can_be_inspected(mercer, tmp_path, name):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = getattr(library, name)().fit(X, X[:, 0] > 0)
    library.save(model, tmp_path / "m.mercer")
    result = mercer("inspect", "m.mercer")
    assert result.exit_code == 0, result.stderr
    assert name in result.stdout
    assert mercer("inspect", "m.mercer", "--json").exit_code == 0
