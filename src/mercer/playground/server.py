"""The playground as a server on this machine: one address, one token, nobody else."""

from __future__ import annotations

import html
import secrets
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mercer.needs import load_package

from .links import encode
from .state import State

HOST = "127.0.0.1"
LARGEST_MESSAGE = 4_000_000  # bytes that a page may send at once: a table, or the longest link
START = 30.0  # seconds until a server that does not answer is given up
ASSETS = Path(__file__).parent / "page" / "assets"


class Playground:
    """A running playground: it has an :attr:`address`, shows itself in a notebook, and can be stopped.

    It listens on 127.0.0.1 only.  The address holds a token that nobody can guess; whatever is asked without it, under
    another host's name or from a page of another origin is refused.  Pages may ask nobody but this server for anything.

    Parameters
    ----------
    state : State, optional
        What a page shows first; two moons if not given.
    port : int, default=0
        Where to listen; 0 takes a free one.

    Attributes
    ----------
    address : str
        What to open in a browser.
    """

    def __init__(self, state: State | None = None, port: int = 0) -> None:
        load_package("bokeh.server.server", "the playground")
        self._token = secrets.token_urlsafe(24)
        self._fragment = "" if state is None else f"#state={encode(state)}"
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(port,), name="mercer play", daemon=True)
        self._thread.start()
        if not self._ready.wait(START):
            raise RuntimeError(f"the playground did not start within {START:g} seconds; try again")
        if self._failure is not None:
            raise self._failure

    @property
    def address(self) -> str:
        """The address of the page, with the token and what it shows first."""
        return f"http://{HOST}:{self.port}/{self._token}/{self._fragment}"

    def open(self) -> bool:
        """Open the page in the browser of whoever started it; False if there is none."""
        return webbrowser.open(self.address)

    def wait(self) -> None:
        """Wait until the server is stopped, also by Ctrl-C."""
        while self._thread.is_alive():
            self._thread.join(0.5)  # a join without an end would not hear Ctrl-C everywhere

    def stop(self) -> None:
        """Stop serving; pages that are open say so."""
        if self._thread.is_alive():
            self._loop.add_callback(self._finish)
            self._thread.join(START)

    def _repr_html_(self) -> str:
        frame = "width:100%;height:900px;border:1px solid #8884;border-radius:6px"
        return f'<iframe src="{html.escape(self.address)}" title="mercer play" style="{frame}"></iframe>'

    def __repr__(self) -> str:
        return f"<Playground at {self.address}>"

    def _run(self, port: int) -> None:
        import asyncio

        from tornado.ioloop import IOLoop

        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            self._loop = IOLoop.current()
            self._server = self._make_server(port)
            self._server.start()
        except BaseException as error:
            self._failure = _explain(error, port)
            self._ready.set()
            loop.close()
            return
        self._ready.set()
        try:
            self._loop.start()
        finally:
            self._loop.close(all_fds=True)

    def _finish(self) -> None:
        self._server.unlisten()
        self._server.stop(wait=False)
        self._loop.stop()

    def _make_server(self, port: int) -> Any:
        from bokeh.server.server import BaseServer
        from bokeh.server.tornado import BokehTornado
        from tornado.httpserver import HTTPServer
        from tornado.web import StaticFileHandler

        from .page.session import open_session

        listening = _listen(port)
        self.port = listening.getsockname()[1]
        hosts = [f"{name}:{self.port}" for name in (HOST, "localhost")]
        application = BokehTornado(
            {"/": open_session},
            prefix=self._token,
            use_index=False,
            extra_websocket_origins=hosts,
            extra_patterns=[(r"/assets/([a-z]+\.(?:js|css))", StaticFileHandler, {"path": str(ASSETS)})],
            websocket_max_message_size_bytes=LARGEST_MESSAGE,
            transforms=[_make_guard(hosts)],
        )
        server = HTTPServer(application)
        server.add_socket(listening)
        return BaseServer(self._loop, application, server)


def play(link: str | State | None = None, *, port: int = 0, open_browser: bool | None = None) -> Playground:
    """Start the playground: draw points, compose a kernel, choose a learner, and see what happens.

    In a notebook the page appears below the cell.  Elsewhere it opens in the browser.

    Parameters
    ----------
    link : str or State, optional
        A link that a page gave out, which restores all of it.
    port : int, default=0
        Where to listen on this machine; 0 takes a free port.
    open_browser : bool, optional
        Whether to open the page in a browser; by default unless this is a notebook.

    Returns
    -------
    Playground
        It has an ``address``, and ``stop()``.

    Examples
    --------
    >>> import mercer
    >>> playground = mercer.play()  # doctest: +SKIP
    >>> playground.stop()  # doctest: +SKIP
    """
    from .links import decode

    playground = Playground(decode(link) if isinstance(link, str) else link, port)
    if open_browser if open_browser is not None else not _is_notebook():
        playground.open()
    return playground


def _is_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _listen(port: int) -> socket.socket:
    """Return a socket of this machine alone; the port is known before anything is served, because origins have it."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # where it would let two programs have one port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen(128)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


def _explain(error: BaseException, port: int) -> BaseException:
    if isinstance(error, OSError) and port:
        return OSError(
            f"cannot listen on port {port} of {HOST}: {error.strerror or error}; leave the port out to get a free one"
        )
    return error


def _make_guard(hosts: list[str]) -> type:
    """Return what every answer of the server passes: it asks for the host, and forbids pages all that is elsewhere."""
    from tornado.web import OutputTransform

    sockets = " ".join(f"ws://{host}" for host in hosts)
    headers = {
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
            f"img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' {sockets}; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"
        ),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }

    class Guard(OutputTransform):  # type: ignore[misc]
        def __init__(self, request: Any) -> None:
            self._known = urlsplit(f"//{request.host}").netloc in hosts

        def transform_first_chunk(
            self, status: int, sent: Any, chunk: bytes, finishing: bool
        ) -> tuple[int, Any, bytes]:
            if not self._known:  # a name of elsewhere that leads here
                status, chunk = 403, b""
                sent["Content-Length"] = "0"
            for name, value in headers.items():
                sent[name] = value
            return status, sent, chunk

        def transform_chunk(self, chunk: bytes, finishing: bool) -> bytes:
            return chunk if self._known else b""

    return Guard
