"""What a page shows of a state: every picture in a lane of its own, the fit first."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import Any

from ..fitting import Fit, fit_state
from ..state import PlayError, State
from ..views.certificate import Certificate, certify_state
from ..views.features import draw_features
from ..views.gram import GramPicture, draw_gram
from ..views.leave_one_out import PenaltyCurve, trace_penalty
from ..views.numbers import Quantity, list_numbers
from ..views.residuals import draw_residuals
from ..views.spectrum import draw_spectrum
from ..views.surface import draw_surface
from .bridge import Bridge
from .describe import describe_certificate, describe_curve, warn_of_size
from .lanes import Lane, Stop
from .pictures.matrix import Matrix
from .pictures.penalties import Penalties
from .pictures.plane import Plane
from .pictures.residuals import Errors
from .pictures.space import Space
from .pictures.spectrum import Eigenfunction, Eigenvalues

WORKERS = 4  # threads of a page for everything but the fit, which has one of its own
FINE, COARSE = 90, 48  # points along each side of a grid, with few and with many points
MANY = 1000  # points
REST = 0.2  # seconds without a change before other pictures are begun, so that a drag has the machine for itself
PAUSE = 0.3  # … and before a curve of refits is
LOGGER = logging.getLogger("mercer.playground")


class Screen:
    """The pictures of a page, and who computes them.

    The fit and the main picture come first.  What follows has a lane for each picture, in which only the latest state
    counts, so that a slow one holds up no other.

    Parameters
    ----------
    document : Document of Bokeh's
        What the page shows.
    bridge : Bridge
        How words and numbers get there.
    """

    def __init__(self, document: Any, bridge: Bridge) -> None:
        self._document, self._bridge = document, bridge
        self._first = ThreadPoolExecutor(1, thread_name_prefix="mercer play, fit")
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="mercer play")
        self._lanes: dict[str, Lane] = {}
        self._missing: set[str] = set()  # pictures that say why they are not there
        self._state: State | None = None
        self._certified: tuple[str, int] | None = None
        self._chosen = 0  # the eigenfunction that is drawn
        self._plane, self._matrix, self._space = Plane(), Matrix(), Space()
        self._eigenvalues, self._eigenfunction = Eigenvalues(), Eigenfunction()
        self._penalties, self._errors = Penalties(), Errors()
        pictures = (self._plane, self._matrix, self._space, self._penalties, self._errors)
        for picture in (*pictures, self._eigenvalues, self._eigenfunction):
            document.add_root(picture.figure)
        self._plane.figure.tags = [bridge]  # so that the document has it

    def show(self, state: State, *, placed: bool = False) -> None:
        """Show the points at once, unless the page has placed them itself, and have computed what follows."""
        self._state = state
        if not placed:
            self._plane.place(state)
        self.ask("fit", lambda stop: _learn(state), self._show_fit)
        if self._certified != (state.kernel, state.dim):
            self.ask("certificate", lambda stop: certify_state(state, stop), self._show_certificate)

    def choose_eigenfunction(self, j: int) -> None:
        """Draw another eigenfunction."""
        self._chosen = j
        if self._state is not None:
            self._ask_spectrum(self._state)

    def ask(self, name: str, work: Callable[[Stop], Any], show: Callable[[Any], None]) -> None:
        """Have something computed in the lane of that name, and shown when it is there."""
        if name not in self._lanes:
            pool = self._first if name == "fit" else self._pool
            self._lanes[name] = Lane(pool, self._deliver, lambda error: self._fail(name, error))

        def present(result: Any) -> None:
            show(result)
            if name in self._missing:
                self._missing.discard(name)
                self._bridge.tell(there=name)

        self._lanes[name].ask(work, present)

    def _follow(self, name: str, work: Callable[[], Any], show: Callable[[Any], None]) -> None:
        """Have a picture drawn that follows from the fit, when nothing has changed for a moment."""

        def present(found: tuple[Any] | None) -> None:
            if found is not None:  # else something newer was asked for
                show(*found)

        self.ask(name, lambda stop: (work(),) if _rest(REST, stop) else None, present)

    def refuse(self, error: PlayError) -> None:
        """Say what cannot be done, and where."""
        self._bridge.tell(note={"text": str(error), "column": error.column})

    def close(self) -> None:
        """Compute nothing more."""
        for lane in self._lanes.values():
            lane.close()
        for pool in (self._first, self._pool):
            pool.shutdown(wait=False, cancel_futures=True)

    # -- what follows -----------------------------------------------------------------------------------------------

    def _show_fit(self, found: tuple[Fit, Any]) -> None:
        fit, surface = found
        state = fit.state
        if self._state is not None and state.n == self._state.n and state.task == self._state.task:
            self._document.hold("combine")  # so that all parts of the picture come in one message
            try:
                self._plane.show(self._state, surface)  # else it is of points that are no longer there
            finally:
                self._document.unhold()
        labels = [getattr(surface, name, "") for name in ("vectors_label", "margin_label", "band_label")]
        words = {"legend": [label for label in labels if label], "notes": list(fit.notes)}
        self._bridge.tell(fitted=words, slow=warn_of_size(fit, MANY))
        self._follow("numbers", lambda: list_numbers(fit), self._show_numbers)
        self._follow("errors", lambda: draw_residuals(fit), lambda view: self._errors.show(state, view))
        self.ask("penalties", lambda stop: _trace_patiently(fit, stop), lambda pair: self._show_penalties(state, pair))
        self._ask_matrix(state)

    def _ask_matrix(self, state: State) -> None:
        """Have everything drawn that needs the kernel and no fit."""
        self._follow("matrix", lambda: draw_gram(state), self._show_matrix)
        self._follow("space", lambda: draw_features(state), lambda view: self._space.show(state, view))
        self._ask_spectrum(state)

    def _ask_spectrum(self, state: State) -> None:
        def compute() -> Any:
            view = draw_spectrum(state)
            chosen = min(self._chosen, view.count - 1)
            return view, chosen, view.eigenfunctions(chosen)

        def show(found: Any) -> None:
            view, chosen, values = found
            self._eigenvalues.show(view, chosen)
            self._eigenfunction.show(state, values)
            share = float(view.eigenvalues[chosen] / abs(view.eigenvalues).sum())
            words = {"chosen": chosen, "count": view.count, "share": share, "freedom": view.degrees_of_freedom}
            self._bridge.tell(spectrum=words)

        self._follow("spectrum", compute, show)

    def _show_numbers(self, found: list[Quantity]) -> None:
        self._bridge.tell(numbers=[[one.name, one.text, one.meaning] for one in found])

    def _show_matrix(self, view: GramPicture) -> None:
        self._matrix.show(view)
        self._bridge.tell(matrix={"size": len(view.matrix), "total": view.total, "low": view.low, "high": view.high})

    def _show_penalties(self, state: State, found: tuple[PenaltyCurve | None, bool]) -> None:
        curve, stopped = found
        if curve is not None or not stopped:  # else the next is on its way
            self._penalties.show(curve)
            self._bridge.tell(penalties=describe_curve(curve, state))

    def _show_certificate(self, found: Certificate | None) -> None:
        if found is None or self._state is None:  # the next is on its way
            return
        self._certified = (self._state.kernel, self._state.dim)
        self._plane.refute(found.points, found.coefficients)
        self._bridge.tell(certificate=describe_certificate(found))

    # -- work -------------------------------------------------------------------------------------------------------

    def _deliver(self, call: Callable[[], None]) -> None:
        self._document.add_next_tick_callback(call)

    def _fail(self, name: str, error: BaseException) -> None:
        if not isinstance(error, PlayError):
            LOGGER.error("the picture %r could not be made", name, exc_info=error)
            error = PlayError(f"An error that should not happen, a bug: {error}")
        if name == "fit" and self._state is not None:
            self._bridge.tell(fitted={"legend": [], "notes": [str(error)]})
            self._ask_matrix(self._state)
        elif name == "tune":
            self.refuse(error)
        else:
            self._missing.add(name)
            self._bridge.tell(missing={"panel": name, "text": str(error)})


def _learn(state: State) -> tuple[Fit, Any]:
    fit = fit_state(state)
    return fit, draw_surface(fit, FINE if state.n <= MANY else COARSE)


def _trace_patiently(fit: Fit, stop: Stop) -> tuple[PenaltyCurve | None, bool]:
    """Return the curve of penalties, begun when nothing changed for a moment, and whether it was given up."""
    if not _rest(PAUSE, stop):
        return None, True
    return trace_penalty(fit, stop), stop()


def _rest(seconds: float, stop: Stop) -> bool:
    """Wait for a moment, and say whether nobody asked for something newer meanwhile."""
    for _ in range(round(seconds / 0.01)):
        if stop():
            return False
        sleep(0.01)
    return not stop()
