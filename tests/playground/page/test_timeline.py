"""Steps back and forward, against a list of everything that was done."""

from hypothesis import given
from hypothesis import strategies as st

from mercer.playground.page.timeline import LONGEST, Timeline


@given(st.lists(st.one_of(st.integers(0, 1000), st.sampled_from(["undo", "redo"])), max_size=60))
def test_history_is_a_list_with_a_place_in_it(steps):
    history, known, place = Timeline(-1), [-1], 0
    for step in steps:
        if step == "undo":
            history.undo()
            place = max(place - 1, 0)
        elif step == "redo":
            history.redo()
            place = min(place + 1, len(known) - 1)
        else:
            history.keep(step)
            known = [*known[: place + 1], step]
            place += 1
        assert history.state == known[place]
        assert (history.can_undo, history.can_redo) == (place > 0, place < len(known) - 1)


def test_changes_of_one_kind_in_a_row_are_one_step():
    history = Timeline(0)
    for value in (1, 2, 3):
        history.keep(value, "drag")
    history.keep(4, "other")
    history.undo()
    assert history.state == 3
    history.undo()
    assert history.state == 0


def test_the_past_has_an_end():
    history = Timeline(0)
    for value in range(2 * LONGEST):
        history.keep(value)
    for _ in range(3 * LONGEST):
        history.undo()
    assert history.state == LONGEST - 1
    assert not history.can_undo
