"""Nobody else gets in: no token, no other host, no other origin."""

import http.client
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.browser


def ask(address, path=None, host=None, **headers):
    """Return the status and the headers of an answer."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    connection.request("GET", parts.path if path is None else path, headers={"Host": host or parts.netloc, **headers})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def shake(address, origin):
    """Return the status with which a WebSocket is answered."""
    path = urlsplit(address).path.rstrip("/") + "/ws"
    key = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "bWVyY2VyIGlzIGEgbGliLg==",
    }
    protocol = {"Sec-WebSocket-Protocol": "bokeh, " + get_session(address)}
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    connection.request("GET", path, headers={"Host": parts.netloc, "Origin": origin, **key, **protocol})
    status = connection.getresponse().status
    connection.close()
    return status


def get_session(address):
    body = ask(address)[2].decode()
    start = body.index('"token":"') + len('"token":"')
    return body[start : body.index('"', start)]


@pytest.mark.parametrize(
    "path", ["/", "/ws", "/metadata", "/autoload.js", "/static/js/bokeh.min.js", "/assets/play.js", "/x" * 20]
)
def test_without_the_token_there_is_nothing(address, path):
    status, _, body = ask(address, path)
    assert status == 404
    assert b"bokeh-session" not in body


def test_with_the_token_the_page_is_there_and_may_ask_nobody_else(address):
    status, headers, _ = ask(address)
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("host", ["example.org", "example.org:80", "127.0.0.1.example.org", "127.0.0.1", "localhost"])
def test_a_name_of_elsewhere_that_leads_here_is_refused(address, host):
    assert ask(address, host=host)[0] == 403
    assert ask(address, host=host)[2] == b""


@pytest.mark.parametrize(
    "origin", ["http://example.org", "http://127.0.0.1:1", "null", "https://127.0.0.1.example.org"]
)
def test_a_page_of_another_origin_is_refused(address, origin):
    assert shake(address, origin) == 403


def test_a_page_of_our_own_is_not(address):
    assert shake(address, f"http://{urlsplit(address).netloc}") == 101


@pytest.mark.parametrize("path", ["assets/../session.py", "assets/%2e%2e/session.py", "assets/page.html", "assets/"])
def test_no_other_file_is_served(address, path):
    assert ask(address, urlsplit(address).path + path)[0] in (403, 404)


def test_nobody_but_this_machine_is_listened_to(address):
    assert urlsplit(address).hostname == "127.0.0.1"
    assert len(urlsplit(address).path.strip("/")) >= 32
