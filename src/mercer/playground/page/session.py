"""One page that is open: what its people do, and what they are shown of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from jinja2 import Template

from ..composing import OPERATIONS, combine, complete, list_parameters, set_parameter
from ..fitting import Fit, fit_state
from ..links import decode, encode
from ..presets import PRESETS
from ..source import write_source
from ..state import PlayError, State
from ..tables import read_table
from ..views.certificate import certify_state
from ..views.features import draw_features
from ..views.gram import draw_gram
from ..views.leave_one_out import trace_penalty, tune
from ..views.numbers import list_numbers
from ..views.residuals import draw_residuals
from ..views.spectrum import draw_spectrum
from ..views.surface import draw_surface
from .bridge import Bridge
from .describe import describe_certificate, describe_state
from .history import History
from .lanes import Lane, Stop
from .pictures.matrix import Matrix
from .pictures.penalties import Penalties
from .pictures.plane import Plane
from .pictures.residuals import Errors
from .pictures.space import Space
from .pictures.spectrum import Eigenfunction, Eigenvalues

WORKERS = 3  # threads of a page: one for what is dragged, the others for pictures beside it
FINE, COARSE = 90, 48  # points along each side of a grid, with few and with many points
MANY = 1000  # points from which on the page says that it is slower
FIRST = "moons"
TEMPLATE = Path(__file__).parent / "page.html"
LOGGER = logging.getLogger("mercer.playground")


def open_session(document: Any) -> None:
    """Fill a document of Bokeh's with a page."""
    Session(document)


class Session:
    """A state with its past, and the pictures of it.

    Whatever people do arrives as a request by name (``_on_…``) and makes another state.  The fit and the main picture
    come first; every other picture has a lane of its own, so that a slow one holds up no other.
    """

    def __init__(self, document: Any) -> None:
        self._document = document
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="mercer play")
        self._bridge = Bridge(name="bridge")
        self._history = History(PRESETS[FIRST].make())
        self._preset = FIRST  # whose points are shown, "" if they are people's own
        self._chosen = 0  # the eigenfunction that is drawn
        self._fit: Fit | None = None
        self._plane, self._matrix, self._space = Plane(), Matrix(), Space()
        self._eigenvalues, self._eigenfunction = Eigenvalues(), Eigenfunction()
        self._penalties, self._errors = Penalties(), Errors()
        self._lanes: dict[str, Lane] = {}
        self._missing: set[str] = set()  # pictures that say why they are not there
        self._certified: tuple[str, int] | None = None
        pictures = (self._plane, self._matrix, self._space, self._penalties, self._errors)
        for picture in (*pictures, self._eigenvalues, self._eigenfunction):
            document.add_root(picture.figure)
        self._plane.figure.tags = [self._bridge]
        self._bridge.on_change("request", self._receive)
        document.title = "mercer play"
        document.template = Template(TEMPLATE.read_text(encoding="utf-8"))
        document.on_session_destroyed(self._close)

    @property
    def state(self) -> State:
        """What is shown."""
        return self._history.state

    # -- requests ---------------------------------------------------------------------------------------------------

    def _receive(self, attribute: str, old: str, new: str) -> None:
        """Do what the page asks for; what cannot be done is said, and nothing changes."""
        try:
            request = json.loads(new)
            name = request.pop("do")
            handle = getattr(self, f"_on_{name}", None) if isinstance(name, str) else None
            if handle is None:
                raise PlayError("the page asked for something that there is not; load it again")
            handle(**{key: value for key, value in request.items() if key != "serial"})
        except PlayError as error:
            self._refuse(error)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            LOGGER.debug("a request that cannot be read", exc_info=True)
            self._refuse(PlayError("the page asked for something that cannot be read; load it again"))
        self._bridge.tell(answered=json.loads(new).get("serial") if new.startswith("{") else None)

    def _on_start(self, link: str = "") -> None:
        if link:
            try:
                self._history, self._preset = History(decode(link)), ""
            except PlayError as error:
                self._refresh(everything=True)
                self._refuse(error)
                return
        self._refresh(everything=True)

    def _on_preset(self, key: str, count: float | None = None, noise: float | None = None, seed: int = 0) -> None:
        if key not in PRESETS:
            raise PlayError(f"there are no points called {str(key)[:60]!r}; choose some from the list")
        size = None if count is None else int(count), None if noise is None else float(noise)
        state = PRESETS[key].make(*size, seed=int(seed))
        if key == self._preset:  # other points, and whatever was made of the kernel and the learner stays
            state = replace(self.state, x=state.x, y=state.y, view=state.view)
        self._preset = key
        self._change(state, f"points {key}")

    def _on_add(self, x: float, y: float, label: int = 0) -> None:
        self._change(self.state.add_point((float(x), float(y)), int(label)))

    def _on_move(self, i: int, x: float, y: float, drag: int = 0) -> None:
        self._change(self.state.move_point(int(i), (float(x), float(y))), f"move {i} {drag}")

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
        self._ask("tune", lambda stop: tune(state, stop), self._change)

    def _on_eigenfunction(self, j: int) -> None:
        self._chosen = max(0, min(int(j), 5))
        self._show_spectrum()

    def _on_undo(self) -> None:
        self._history.undo()
        self._refresh()

    def _on_redo(self) -> None:
        self._history.redo()
        self._refresh()

    def _on_source(self) -> None:
        self._bridge.tell(source=write_source(self.state))

    def _on_link(self) -> None:
        self._bridge.tell(shared=encode(self.state))

    # -- showing ----------------------------------------------------------------------------------------------------

    def _change(self, state: State, kind: str = "") -> None:
        """Keep a new state; changes of one kind in a row are one step back."""
        self._history.keep(state, kind)
        self._refresh()

    def _refresh(self, everything: bool = False) -> None:
        """Show the state at once, and have everything computed again that follows from it."""
        state = self.state
        self._plane.place(state)
        parts = describe_state(state, self._history)
        parts["parameters"] = [asdict(one) for one in list_parameters(state.kernel)]
        parts["preset"] = self._preset
        if everything:
            parts["operations"] = OPERATIONS
            parts["presets"] = [[one.key, one.title, one.noise] for one in PRESETS.values()]
        self._bridge.tell(state=parts, link=encode(state), note=None)
        self._ask("fit", lambda stop: self._learn(state), self._show_fit)
        if self._certified != (state.kernel, state.dim):
            self._certified = (state.kernel, state.dim)
            self._ask("certificate", lambda stop: certify_state(state, stop), self._show_certificate)

    def _learn(self, state: State) -> tuple[Fit, Any]:
        fit = fit_state(state)
        return fit, draw_surface(fit, FINE if len(state.y) <= MANY else COARSE)

    def _show_fit(self, found: tuple[Fit, Any]) -> None:
        fit, surface = found
        self._fit = fit
        if len(fit.state.y) == len(self.state.y):  # else it is of points that are no longer there
            self._plane.show(self.state, surface)
        labels = [getattr(surface, name, "") for name in ("vectors_label", "margin_label", "band_label")]
        self._bridge.tell(
            fitted={"legend": [label for label in labels if label], "notes": list(fit.notes)}, slow=_warn(fit)
        )
        self._ask("numbers", lambda stop: list_numbers(fit), self._show_numbers)
        self._ask("matrix", lambda stop: draw_gram(fit), self._show_matrix)
        self._ask("space", lambda stop: draw_features(fit), lambda view: self._space.show(fit.state, view))
        self._ask("errors", lambda stop: draw_residuals(fit), lambda view: self._errors.show(fit.state, view))
        self._show_spectrum()
        self._ask("penalties", lambda stop: trace_penalty(fit, stop), self._show_penalties)

    def _show_spectrum(self) -> None:
        fit, chosen = self._fit, self._chosen
        if fit is None:
            return

        def compute(stop: Stop) -> Any:
            view = draw_spectrum(fit)
            return view, view.eigenfunctions(min(chosen, len(view.eigenvalues) - 1))

        def show(found: Any) -> None:
            view, values = found
            self._eigenvalues.show(view, chosen)
            self._eigenfunction.show(fit.state, values)
            share = float(view.eigenvalues[chosen] / view.eigenvalues.sum()) if chosen < len(view.eigenvalues) else 0.0
            self._bridge.tell(spectrum={"chosen": chosen, "share": share, "freedom": view.degrees_of_freedom})

        self._ask("spectrum", compute, show)

    def _show_numbers(self, found: Any) -> None:
        self._bridge.tell(numbers=[[one.name, one.text, one.meaning] for one in found])

    def _show_matrix(self, view: Any) -> None:
        self._matrix.show(view)
        self._bridge.tell(matrix={"size": len(view.matrix), "total": view.total, "low": view.low, "high": view.high})

    def _show_penalties(self, curve: Any) -> None:
        self._penalties.show(curve)
        parts = None
        if curve is not None:
            parts = {"name": curve.name, "way": curve.way, "error": curve.error_name,
                     "current": curve.current, "best": curve.best}  # fmt: skip
        self._bridge.tell(penalties=clean(parts))

    def _show_certificate(self, found: Any) -> None:
        points = getattr(found, "points", None)
        _, _, bottom, top = self.state.view
        self._plane.refute(points, getattr(found, "coefficients", None), (bottom + top) / 2)
        self._bridge.tell(certificate=describe_certificate(found, self.state))

    def _refuse(self, error: PlayError) -> None:
        self._bridge.tell(note={"text": str(error), "column": getattr(error, "column", None)})

    # -- work -------------------------------------------------------------------------------------------------------

    def _ask(self, name: str, work: Callable[[Stop], Any], show: Callable[[Any], None]) -> None:
        """Have something computed in the lane of a picture, and shown when it is there."""
        if name not in self._lanes:
            self._lanes[name] = Lane(self._pool, self._deliver, lambda error: self._fail(name, error))

        def present(result: Any) -> None:
            show(result)
            if name in self._missing:
                self._missing.discard(name)
                self._bridge.tell(there=name)

        self._lanes[name].ask(work, present)

    def _deliver(self, call: Callable[[], None]) -> None:
        self._document.add_next_tick_callback(call)

    def _fail(self, name: str, error: BaseException) -> None:
        if isinstance(error, PlayError):
            if name in ("fit", "tune"):
                self._refuse(error)
                return
            text = str(error)
        else:
            LOGGER.error("the picture %r could not be made", name, exc_info=error)
            text = f"An error that should not happen, a bug: {error}"
        self._missing.add(name)
        self._bridge.tell(missing={"panel": name, "text": text})

    def _close(self, context: Any) -> None:
        for lane in self._lanes.values():
            lane.close()
        self._pool.shutdown(wait=False, cancel_futures=True)


def clean(value: Any) -> Any:
    """Return numbers that JSON has, None for others, in whatever holds them."""
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    if isinstance(value, float) and not (value == value and abs(value) != float("inf")):
        return None
    return value.item() if hasattr(value, "item") else value


def _warn(fit: Fit) -> str:
    n = len(fit.state.y)
    if n <= MANY:
        return ""
    return (
        f"{n:,} points: pictures come later, because a fit looks at {n * n / 1e6:.0f} million pairs of points "
        f"(the last took {fit.seconds:.2g} s)."
    )
