"""One page that is open: what its people do becomes another state, which is shown."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from jinja2 import Template

from ..composing import OPERATIONS, combine, complete, list_parameters, set_parameter
from ..links import decode, encode
from ..presets import PRESETS
from ..source import write_source
from ..state import PlayError, State
from ..tables import read_table
from ..views.leave_one_out import tune
from .bridge import Bridge
from .describe import describe_state
from .pictures.look import CLASSES
from .screen import Screen
from .timeline import Timeline

FIRST = "moons"
TEMPLATE = Path(__file__).parent / "page.html"
LOGGER = logging.getLogger("mercer.playground")


def open_session(document: Any) -> None:
    """Fill a document of Bokeh's with a page."""
    session = Session(document)
    document.title = "mercer play"
    document.template = Template(TEMPLATE.read_text(encoding="utf-8"))
    document.on_session_destroyed(lambda session_context: session.close())


class Session:
    """A state with its past; whatever people do arrives as a request by name (``_on_…``) and makes another state."""

    def __init__(self, document: Any) -> None:
        self._bridge = Bridge(name="bridge")
        self._screen = Screen(document, self._bridge)
        self._history = Timeline(PRESETS[FIRST].make())
        self._preset = FIRST  # whose points are shown, "" if they are people's own
        self._bridge.on_change("request", self._receive)

    @property
    def state(self) -> State:
        """What is shown."""
        return self._history.state

    def close(self) -> None:
        """Compute nothing more."""
        self._screen.close()

    def _receive(self, attribute: str, old: str, new: str) -> None:
        """Do what the page asks for; what cannot be done is said, and nothing changes."""
        serial = None
        try:
            request = json.loads(new)
            serial, name = request.pop("serial"), request.pop("do")
            getattr(self, f"_on_{name}")(**request)
        except PlayError as error:
            self._screen.refuse(error)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
            LOGGER.debug("a request that cannot be read", exc_info=True)
            self._screen.refuse(PlayError("The page asked for something that cannot be read. Load it again."))
        self._bridge.tell(answered=serial)

    def _change(self, state: State, kind: str = "", *, placed: bool = False) -> None:
        """Keep a new state, and show it; changes of one kind in a row are one step back."""
        self._history.keep(state, kind)
        self._refresh(placed)

    def _refresh(self, placed: bool = False, **more: Any) -> None:
        state = self.state
        parameters = [asdict(one) for one in list_parameters(state.kernel)]
        parts = {**describe_state(state), "parameters": parameters, "preset": self._preset, **more}
        parts |= {"undo": self._history.can_undo, "redo": self._history.can_redo}
        self._bridge.tell(state=parts, link=encode(state), note=None)
        self._screen.show(state, placed=placed)

    # -- points -----------------------------------------------------------------------------------------------------

    def _on_start(self, link: str = "") -> None:
        failure = None
        if link:
            try:
                self._history, self._preset = Timeline(decode(link)), ""
            except PlayError as error:
                failure = error
        presets = [[one.key, one.title, one.noise] for one in PRESETS.values()]
        self._refresh(presets=presets, operations=OPERATIONS, colours=CLASSES)
        if failure is not None:
            self._screen.refuse(failure)

    def _on_preset(self, key: str, count: float | None = None, noise: float | None = None, seed: int = 0) -> None:
        size = None if count is None else int(count), None if noise is None else float(noise)
        state = PRESETS[key].make(*size, seed=int(seed))
        if key == self._preset:  # other points, and whatever was made of the kernel and the learner stays
            state = replace(self.state, x=state.x, y=state.y, view=state.view)
        self._preset = key
        self._change(state, f"points {key}")

    def _on_add(self, x: float, y: float, label: int = 0) -> None:
        self._change(self.state.add_point((float(x), float(y)), int(label)))

    def _on_move(self, i: int, x: float, y: float, drag: int = 0) -> None:
        # While it is dragged the page has moved the point already.
        self._change(self.state.move_point(int(i), (float(x), float(y))), f"move {i} {drag}", placed=bool(drag))

    def _on_erase(self, i: int) -> None:
        self._change(self.state.erase_point(int(i)))

    def _on_clear(self) -> None:
        state, self._preset = self.state, ""
        self._change(state.with_points(state.x[:0], state.y[:0]))

    def _on_table(self, text: str, name: str) -> None:
        state = read_table(str(text), str(name))
        self._preset = ""
        self._change(state)

    def _on_task(self, task: Any) -> None:
        state, self._preset = self.state.with_task(task), ""
        self._change(state)

    # -- kernel and learner -----------------------------------------------------------------------------------------

    def _on_kernel(self, text: str) -> None:
        self._change(self.state.with_kernel(str(text)), "kernel")

    def _on_parameter(self, path: str, value: float) -> None:
        text = set_parameter(self.state.kernel, str(path), float(value))
        self._change(self.state.with_kernel(text), f"parameter {path}")

    def _on_combine(self, operation: str) -> None:
        self._change(self.state.with_kernel(combine(self.state.kernel, str(operation))))

    def _on_complete(self, text: str, cursor: int) -> None:
        found = complete(str(text), int(cursor))
        self._bridge.tell(completions={"text": text, "items": [asdict(one) for one in found]})

    def _on_learner(self, key: str) -> None:
        self._change(self.state.with_learner(str(key)))

    def _on_setting(self, name: str, value: float | str) -> None:
        self._change(self.state.with_setting(str(name), value), f"setting {name}")

    def _on_tune(self) -> None:
        state = self.state
        self._screen.ask("tune", lambda stop: tune(state, stop), self._change)

    # -- looking back, around and away ------------------------------------------------------------------------------

    def _on_undo(self) -> None:
        self._history.undo()
        self._refresh()

    def _on_redo(self) -> None:
        self._history.redo()
        self._refresh()

    def _on_eigenfunction(self, j: int) -> None:
        self._screen.choose_eigenfunction(max(0, int(j)))

    def _on_source(self) -> None:
        self._bridge.tell(source=write_source(self.state))
