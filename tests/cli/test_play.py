"""``mercer play`` says in one line what keeps it from starting."""

import sys

from .conftest import one_line


def test_without_bokeh_one_line_says_what_to_install(mercer, monkeypatch):
    monkeypatch.setitem(sys.modules, "bokeh", None)
    done = mercer("play", "--no-browser")
    assert done.exit_code == 2
    assert 'the playground needs bokeh, which is not installed: pip install "bokeh' in one_line(done)


def test_a_link_that_is_none_is_said_to_be(mercer):
    done = mercer("play", "--no-browser", "http://127.0.0.1:1/x/#state=AAAA")
    assert done.exit_code == 2
    assert "link" in one_line(done)


def test_a_port_is_a_number_of_one(mercer):
    assert mercer("play", "--port", "70000").exit_code == 2
