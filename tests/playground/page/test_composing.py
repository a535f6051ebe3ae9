"""Kernels are composed, broken, refuted, and learned with."""

import pytest

pytestmark = pytest.mark.browser


def test_buttons_and_sliders_compose_a_kernel(page):
    page.page.click("#operations button:has-text('× Periodic')")
    page.until("document.getElementById('kernel').value.includes('Periodic')")
    sliders = page.page.locator("#parameters input[type=range]")
    assert sliders.count() == 3  # the length scales of both, and a period
    before = page.page.input_value("#kernel")
    sliders.first.focus()
    sliders.first.press("ArrowRight")
    page.settle()
    assert page.page.input_value("#kernel") != before
    page.until("document.getElementById('verdict').dataset.kind === 'proved'")


def test_text_is_completed_by_the_keyboard(page):
    page.page.fill("#kernel", "")
    page.page.type("#kernel", "Lapl")
    page.page.wait_for_selector("#completions li:has-text('Laplacian')")
    page.page.press("#kernel", "ArrowDown")
    page.page.press("#kernel", "Enter")
    page.settle()
    assert page.page.input_value("#kernel").startswith("Laplacian(")
    assert page.page.is_hidden("#wrong")


def test_what_is_wrong_is_shown_where_it_is_and_the_picture_stays(page):
    before = page.column("points", "x"), page.page.evaluate(IMAGE)
    page.write_kernel("Gaussian(1) + Linnear()")
    assert "did you mean Linear" in page.text("#wrong")
    arrow = page.page.inner_text("#where").splitlines()[-1]
    assert arrow.index("▲") == len("Gaussian(1) + ")
    assert (page.column("points", "x"), page.page.evaluate(IMAGE)) == before
    page.write_kernel("Gaussian(1) + Linear()")
    assert page.page.is_hidden("#wrong")


IMAGE = "Array.from(Bokeh.documents[0].get_model_by_name('regions').data.image[0]).join()"


def test_a_refuted_kernel_shows_its_points_in_the_picture(page):
    page.write_kernel("Gaussian(1) - 2*Gaussian(0.5)")
    page.until("document.getElementById('verdict').dataset.kind === 'refuted'")
    assert len(page.column("refuting", "x")) >= 1
    page.write_kernel("Gaussian(1)")
    page.until("document.getElementById('verdict').dataset.kind === 'proved'")
    assert page.column("refuting", "x") == []


def test_the_perceptron_is_stepped_and_played(page):
    page.page.select_option("#learner", "perceptron")
    page.page.wait_for_selector("#step")
    number = page.page.locator("#settings input[type=number]")
    number.press("Control+a")
    number.type("1")
    number.press("Enter")
    page.settle()
    for _ in range(3):
        page.page.click("#step")
        page.settle()
    assert number.input_value() == "4"
    page.page.click("#animate")
    page.until("Number(document.querySelector('#settings input[type=number]').value) >= 6")
    page.page.click("#animate")
    assert page.page.get_attribute("#animate", "aria-pressed") == "false"


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_learner_draws_something(page, task):
    if task == "regression":
        page.page.select_option("#preset", "sine")
        page.until("document.querySelector('input[name=task][value=regression]').checked")
    keys = page.page.eval_on_selector_all("#learner option", "all => all.map(one => one.value)")
    for key in keys:
        page.page.select_option("#learner", key)
        page.settle()
        page.page.wait_for_timeout(200)
        assert page.page.is_hidden("#note"), (key, page.text("#note"))
        missing = page.page.eval_on_selector_all(".missing:not([hidden])", "all => all.map(one => one.textContent)")
        assert not [text for text in missing if "bug" in text], key
    assert len(keys) >= 6


def test_the_penalty_is_tuned_and_dragged_along_its_curve(page):
    page.page.select_option("#learner", "ridge")
    page.until("document.getElementById('penaltywords').textContent.startsWith('Best')")
    number = page.page.locator("#settings input[type=number]")
    number.press("Control+a")
    number.type("1000")
    number.press("Enter")
    page.settle()
    page.page.click("#tune")
    page.until("Number(document.querySelector('#settings input[type=number]').value) < 100")
    page.page.mouse.move(*page.place(1.0, page.page.evaluate(MIDDLE), "penalties"))
    page.page.mouse.down()
    page.page.mouse.move(*page.place(10.0, page.page.evaluate(MIDDLE), "penalties"), steps=5)
    page.page.mouse.up()
    page.settle()
    assert float(number.input_value()) == pytest.approx(10.0, rel=0.1)


MIDDLE = "(({start, end}) => (start + end) / 2)(Bokeh.documents[0].get_model_by_name('penalties').y_range)"


def test_an_entry_of_the_matrix_lights_its_two_points(page):
    page.until("Bokeh.documents[0].get_model_by_name('order').data.point.length > 0")
    order = page.column("order", "point")
    page.page.mouse.move(*page.place(7.5, len(order) - 2.5, "matrix"))  # row 2 from above, column 7
    page.page.wait_for_timeout(100)
    assert page.column("lit", "x") == pytest.approx([page.column("points", "x")[order[i]] for i in (2, 7)])
    assert f"x{order[2]}" in page.text("#entry")
    page.page.mouse.move(5, 5)
    page.page.wait_for_timeout(100)
    assert page.column("lit", "x") == []


def test_feature_space_turns(page):
    page.until("Bokeh.documents[0].get_model_by_name('images').data.x.length > 0")
    before = page.column("images", "x")
    page.page.focus("#turn")
    page.page.keyboard.press("ArrowRight")
    assert page.column("images", "x") != before


def test_an_eigenfunction_is_chosen(page):
    page.until("document.getElementById('eigenwords').textContent.startsWith('1 (')")
    page.page.focus("#which-eigen")
    page.page.keyboard.press("ArrowRight")
    page.until("document.getElementById('eigenwords').textContent.startsWith('2 (')")


def test_the_posterior_of_ridge_is_drawn_with_some_of_its_functions(page):
    page.page.select_option("#preset", "sine")
    page.until("document.querySelector('input[name=task][value=regression]').checked")
    assert page.column("samples", "ys") == []
    page.page.select_option("#settings select", "posterior")
    page.until("Bokeh.documents[0].get_model_by_name('samples').data.ys.length === 5")
    assert "2σ" in page.text("#legend")
