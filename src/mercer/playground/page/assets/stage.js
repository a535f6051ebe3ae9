// The main picture: click to draw, drag to move, in another mode erase.  One move is on its way at a time, and the latest
// follows when it was answered, so that nothing piles up however slow a fit is.

import { ask, element, find, listen, viewOf } from "./bridge.js";
import { chosenClass, mode } from "./controls.js";

const NEAR = 14; // pixels within which a point is meant
export const latencies = []; // milliseconds from a move of the pointer to the picture it makes

let held = null; // the point that is dragged
let next = null; // where it is to go when the last move was answered
let flying = null;
let drags = 0;

export function startStage() {
  const plane = find("plane");
  plane.on_event("tap", ({ x, y, sx, sy }) => {
    const i = nearest(sx, sy);
    if (mode() === "erase") { if (i !== null) ask({ do: "erase", i }); } else if (i === null) ask({ do: "add", x, y, label: chosenClass() });
  });
  plane.on_event("panstart", ({ sx, sy }) => {
    held = nearest(sx, sy);
    drags += 1;
  });
  plane.on_event("pan", ({ x, y, sx, sy }) => {
    if (mode() === "erase") {
      const i = nearest(sx, sy);
      if (i !== null && flying === null) fly({ do: "erase", i });
    } else if (held !== null) move(x, y);
  });
  plane.on_event("panend", () => { held = null; });
  plane.on_event("mousemove", ({ sx, sy }) => { element("stage").toggleAttribute("data-over", nearest(sx, sy) !== null); });
  listen("answered", (number) => {
    if (flying === null || number !== flying.number) return;
    flying = null;
    if (next !== null) {
      const request = next;
      next = null;
      fly(request);
    }
  });
  listen("fitted", measure);
}

function nearest(sx, sy) {
  const { data } = find("points");
  const { x_scale: across, y_scale: up } = viewOf("plane").frame;
  let best = null;
  let least = NEAR ** 2;
  for (let i = 0; i < data.x.length; i += 1) {
    const distance = (across.compute(data.x[i]) - sx) ** 2 + (up.compute(data.y[i]) - sy) ** 2;
    if (distance <= least) [best, least] = [i, distance];
  }
  return best;
}

function move(x, y) {
  const points = find("points");
  points.data.x[held] = x; // at once, before Python knows
  points.data.y[held] = y;
  points.change.emit();
  const request = { do: "move", i: held, x, y, drag: drags, since: performance.now() };
  if (flying === null) fly(request);
  else next = request;
}

let since = null;
function fly({ since: start = null, ...request }) {
  since ??= start;
  flying = { number: ask(request) };
}

function measure() {
  if (since === null) return;
  const start = since;
  since = null;
  requestAnimationFrame(() => setTimeout(() => latencies.push(performance.now() - start))); // after it is painted
}
