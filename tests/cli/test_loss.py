"""``mercer fit --loss``: a model of the loss that was asked for, and what can be wrong with one."""

import json

import pytest

import mercer as library

from .conftest import one_line

KERNEL = ("--kernel", "Gaussian(2)")


@pytest.mark.parametrize(
    ("target", "loss", "model"),
    [("price", "Expectile(.9)", "KernelRegressor"), ("sold", "Hinge", "KernelClassifier")],
)
def test_a_loss_is_fitted_and_named(mercer, houses, target, loss, model):
    result = mercer("fit", houses, "--target", target, "--loss", loss, *KERNEL, "-o", "loss.mercer", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    asked = library.losses.parse_loss(loss)
    for part in (model, repr(asked), "penalty alpha=", "relative duality gap"):
        assert part in told["model"]
    found = library.load(houses.with_name("loss.mercer"))
    assert found.model_.loss_ == asked
    shown = mercer("inspect", "loss.mercer")
    assert shown.exit_code == 0, shown.stderr
    assert repr(asked) in shown.stdout


@pytest.mark.parametrize(
    ("target", "options", "text"),
    [
        ("price", ["--loss", "Quantil(.9)"], "did you mean Quantile?"),
        ("price", ["--loss", "Quantile(1.9)"], "Quantile"),
        ("price", ["--loss", "Hinge"], "is a loss of classes, and column 'price' holds"),
        ("sold", ["--loss", "Huber"], "is a loss of numbers, and column 'sold' holds"),
        ("price", ["--loss", "Huber", "--model", "ridge"], "leave out model='ridge'"),
        ("price", ["--loss", "Hinge", "--task", "regression"], "loss of classes"),
    ],
)
def test_losses_that_do_not_fit_are_one_line(mercer, houses, target, options, text):
    result = mercer("fit", houses, "--target", target, *options, *KERNEL)
    assert text in one_line(result, result.exit_code)
    assert result.exit_code != 0
