"""Points are drawn, dragged, erased and taken back."""

import statistics

import pytest

pytestmark = pytest.mark.browser


def drag(page, start, end, steps=12):
    page.page.mouse.move(*start)
    page.page.mouse.down()
    page.page.mouse.move(*end, steps=steps)
    page.page.mouse.up()
    page.settle()


def test_a_click_draws_a_point_of_the_chosen_class(page):
    before = page.count()
    page.page.check('input[name="label"][value="2"]')
    page.page.mouse.click(*page.place(2.3, 1.1))
    page.until(f"{'Bokeh.documents[0].get_model_by_name'}('points').data.x.length === {before + 1}")
    assert page.column("points", "x")[-1] == pytest.approx(2.3, abs=0.05)
    assert page.column("points", "colour")[-1] != page.column("points", "colour")[0]


def test_dragging_a_point_moves_it_and_what_is_learned(page):
    before, boundary = page.column("points", "x"), page.page.evaluate(BOUNDARY)
    start = page.locate(3)
    drag(page, start, (start[0] + 90, start[1] + 60))
    after = page.column("points", "x")
    assert after[3] > before[3] + 0.2
    assert [a for i, a in enumerate(after) if i != 3] == pytest.approx([b for i, b in enumerate(before) if i != 3])
    assert page.page.evaluate(BOUNDARY) != boundary


BOUNDARY = "JSON.stringify(Bokeh.documents[0].get_model_by_name('boundary').data.xs)"


def test_erasing_and_undo_and_redo(page):
    before = page.count()
    page.page.check('input[name="mode"][value="erase"]')
    page.page.mouse.click(*page.locate(0))
    page.until(f"Bokeh.documents[0].get_model_by_name('points').data.x.length === {before - 1}")
    page.page.click("#undo")
    page.until(f"Bokeh.documents[0].get_model_by_name('points').data.x.length === {before}")
    page.page.click("#redo")
    page.until(f"Bokeh.documents[0].get_model_by_name('points').data.x.length === {before - 1}")


def test_a_drag_is_one_step_back(page):
    before = page.column("points", "x")
    start = page.locate(5)
    drag(page, start, (start[0] + 40, start[1] - 30))
    page.page.keyboard.press("Control+z")
    page.settle()
    assert page.column("points", "x") == pytest.approx(before)


def test_presets_and_their_sizes(page):
    page.page.select_option("#preset", "sine")
    page.until("document.querySelector('input[name=task][value=regression]').checked")
    page.page.fill("#count", "37")
    page.until("Bokeh.documents[0].get_model_by_name('points').data.x.length === 37")
    first = page.column("points", "y")
    page.page.click("#again")
    page.settle()
    assert page.column("points", "y") != first


def test_a_table_of_ones_own_is_drawn_and_never_run(page, tmp_path):
    table = tmp_path / "own.csv"
    table.write_text(
        'a<img src=x onerror="document.title=1">,b,c\n1,2,<script>alert(1)</script>\n2,1,=1+1\n0,0,=1+1\n3,3,=1+1\n'
    )
    page.page.set_input_files("#table", table)
    page.until("Bokeh.documents[0].get_model_by_name('points').data.x.length === 4")
    assert page.page.title() == "mercer play"
    table.write_text("not a table")
    page.page.set_input_files("#table", table)
    page.until("!document.getElementById('note').hidden")
    assert page.count() == 4


def test_the_time_from_a_move_to_its_picture(page):
    page.page.fill("#count", "200")
    page.until("Bokeh.documents[0].get_model_by_name('points').data.x.length === 200")
    page.page.wait_for_timeout(1500)  # what the other pictures need is not what a drag needs
    start = page.locate(10)
    page.page.mouse.move(*start)
    page.page.mouse.down()
    for i in range(40):
        page.page.mouse.move(start[0] + 2 * i, start[1] + i)
        page.page.wait_for_timeout(40)
    page.page.mouse.up()
    page.settle()
    times = page.page.evaluate("mercer.latencies")
    assert times
    tenth = statistics.quantiles(times, n=10)
    print(
        f"\n200 points, {len(times)} frames: median {statistics.median(times):.0f} ms, nine of ten {tenth[-1]:.0f} ms"
    )


def test_many_points_are_said_to_be_slower(page):
    page.page.evaluate("document.getElementById('count').max = 2000")
    page.page.fill("#count", "2000")
    page.until("document.getElementById('slow').textContent.includes('2,000 points')")
