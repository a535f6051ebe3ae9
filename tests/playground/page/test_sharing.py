"""What can be taken away: a link, a program, pictures."""

import subprocess
import sys

import numpy as np
import pytest

from mercer.playground.fitting import fit_state
from mercer.playground.links import decode

pytestmark = pytest.mark.browser


def test_a_link_restores_everything(page, visit):
    page.page.select_option("#preset", "sine")
    page.until("document.querySelector('input[name=task][value=regression]').checked")
    page.page.select_option("#learner", "svm")
    page.write_kernel("Gaussian(0.3) + 0.5*Linear()")
    link = page.link()
    other = visit("#" + link.partition("#")[2])
    assert other.page.input_value("#kernel") == "Gaussian(0.3) + 0.5*Linear()"
    assert other.page.input_value("#learner") == "svm"
    assert other.column("points", "y") == pytest.approx(page.column("points", "y"), rel=1e-5)
    assert other.text("#numbers").partition("time")[0] == page.text("#numbers").partition("time")[0]


def test_two_pages_at_once_do_not_know_of_each_other(visit):
    first, second = visit(), visit()
    first.write_kernel("Linear()")
    first.page.select_option("#learner", "ridge")
    first.settle()
    assert second.page.input_value("#kernel") != "Linear()"
    assert second.page.input_value("#learner") == "svm"


@pytest.mark.parametrize("learner", ["svm", "ridge", "perceptron"])
def test_the_program_runs_and_gives_the_same_model(page, tmp_path, learner):
    page.page.select_option("#learner", learner)
    page.settle()
    page.page.click("#code")
    page.page.wait_for_selector("#script[open]")
    source = page.text("#source")
    page.page.click("#closescript")
    program = tmp_path / "copied.py"
    program.write_text(source + "\nimport numpy\nnumpy.save('predicted.npy', model.predict(x))\n", encoding="utf-8")
    subprocess.run([sys.executable, program.name], cwd=tmp_path, check=True, capture_output=True)
    fit = fit_state(decode(page.link()))
    np.testing.assert_array_equal(np.load(tmp_path / "predicted.npy"), fit.model.predict(fit.state.x))


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_pictures_are_saved(page, tmp_path, kind):
    for name in ("plane", "matrix", "eigenvalues"):
        with page.page.expect_download() as started:
            page.page.click(f'[data-save="{name}"][data-type="{kind}"]')
        data = started.value.path().read_bytes()
        assert started.value.suggested_filename == f"mercer-{name}.{kind}"
        assert data.startswith(b"\x89PNG") if kind == "png" else b"<svg" in data[:500]


@pytest.mark.parametrize(
    "fragment",
    ["#state=%00%01", "#state=AAAA", "#state=" + "A" * 5000, "#state=<img src=x onerror=alert(1)>", "#state=%E0%A4%A"],
)
def test_a_broken_link_is_said_to_be_one_and_the_page_works(visit, fragment):
    page = visit(fragment)
    assert page.page.is_visible("#note")
    page.write_kernel("Linear()")
    assert page.count() > 0
