"""The server as Python has it: an address, a frame for a notebook, and an end."""

import socket
import urllib.error
import urllib.request

import pytest

import mercer
from mercer.playground.presets import PRESETS

pytestmark = pytest.mark.browser


def test_it_answers_until_it_is_stopped():
    playground = mercer.play(open_browser=False)
    with urllib.request.urlopen(playground.address, timeout=20) as answer:
        assert answer.status == 200
    assert f'src="{playground.address}"' in playground._repr_html_()
    playground.stop()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(playground.address, timeout=5)
    playground.stop()  # once more changes nothing


def test_a_state_is_in_its_address():
    playground = mercer.play(PRESETS["rings"].make(), open_browser=False)
    again = mercer.play(playground.address, open_browser=False)
    try:
        assert again.address.partition("#")[2] == playground.address.partition("#")[2] != ""
    finally:
        playground.stop()
        again.stop()


def test_a_port_that_is_taken_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen on port {port} of 127.0.0.1.*leave the port out"):
            mercer.play(port=port, open_browser=False)


def test_a_server_that_is_gone_is_said_to_be(visit, browser):
    playground = mercer.play(open_browser=False)
    page = browser.new_page()
    page.goto(playground.address)
    page.wait_for_selector("html[data-ready]")
    playground.stop()
    page.wait_for_selector("#lost", state="visible")
    page.close()
