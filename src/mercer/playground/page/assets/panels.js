// The pictures beside the main one: entries of K light their points, feature space turns, penalties are dragged, all can be saved.

import { ask, element, find, listen, tell, viewOf } from "./bridge.js";
import { current } from "./controls.js";

export function startPanels() {
  startMatrix();
  startSpace();
  startPenalties();
  startSpectrum();
  for (const button of document.querySelectorAll("[data-save]")) button.onclick = () => save(button.dataset.save, button.dataset.type);
}

const format = (value) => (value === null ? "∞" : Number(value.toPrecision(3)).toString());

function startMatrix() {
  const figure = find("matrix");
  const words = element("entry");
  let plain = words.textContent;
  listen("matrix", ({ size, total, low, high }) => {
    const part = size < total ? `${size} of ${total} points. ` : "";
    plain = `${part}From ${format(low)} to ${format(high)}. Point at an entry to see its two points.`;
    words.textContent = plain;
  });
  const light = (i, j) => {
    const { data } = find("points");
    const order = find("order").data.point;
    const there = i >= 0 && j >= 0 && i < order.length && j < order.length;
    const pair = there ? [order[i], order[j]] : [];
    set(find("lit"), { x: pair.map((at) => data.x[at]), y: pair.map((at) => data.y[at]) });
    set(find("entry"), there ? { x: [j + 0.5], y: [order.length - i - 0.5] } : { x: [], y: [] });
    if (there) words.textContent = `k(x${pair[0]}, x${pair[1]}) = ${format(entry(i, j))}`;
    else words.textContent = plain;
  };
  const point = ({ x, y }) => light(find("order").data.point.length - 1 - Math.floor(y), Math.floor(x));
  figure.on_event("mousemove", point);
  figure.on_event("tap", point);
  figure.on_event("mouseleave", () => light(-1, -1));
}

function entry(i, j) {
  const image = find("matrix").renderers.find(({ glyph }) => glyph.type === "Image").data_source.data.image[0];
  const size = Math.sqrt(image.length);
  return image[(size - 1 - i) * size + j]; // rows are kept from below
}

function set(source, columns) {
  source.setv({ data: columns }, { sync: false });
}

function startSpace() {
  const [turn, tilt] = [element("turn"), element("tilt")];
  const images = find("images");
  const axes = find("axes");
  let start = null;
  const draw = () => {
    const a = (turn.valueAsNumber * Math.PI) / 180;
    const b = (tilt.valueAsNumber * Math.PI) / 180;
    const project = (f0, f1, f2) => [f0 * Math.cos(a) - f1 * Math.sin(a), (f0 * Math.sin(a) + f1 * Math.cos(a)) * Math.sin(b) + f2 * Math.cos(b)];
    const { data } = images;
    for (let i = 0; i < data.x.length; i += 1) [data.x[i], data.y[i]] = project(data.f0[i], data.f1[i], data.f2[i]);
    images.change.emit();
    const corner = project(-1.1, -1.1, -1.1);
    const ends = [project(1.35, -1.1, -1.1), project(-1.1, 1.35, -1.1), project(-1.1, -1.1, 1.35)];
    const columns = axes.data;
    for (let i = 0; i < columns.x.length; i += 1) {
      [columns.x0[i], columns.y0[i]] = corner;
      [columns.x[i], columns.y[i]] = ends[i];
    }
    axes.change.emit();
  };
  images.properties.data.change.connect(draw);
  turn.oninput = tilt.oninput = draw;
  const figure = find("space");
  figure.on_event("panstart", ({ sx, sy }) => { start = [sx, sy, turn.valueAsNumber, tilt.valueAsNumber]; });
  figure.on_event("pan", ({ sx, sy }) => {
    if (start === null) return;
    const wrapped = ((start[2] + (sx - start[0]) / 1.5 + 540) % 360) - 180;
    turn.value = wrapped;
    tilt.value = Math.max(-90, Math.min(90, start[3] + (sy - start[1]) / 1.5));
    draw();
  });
}

function startPenalties() {
  const figure = find("penalties");
  listen("penalties", (found) => {
    const words = element("penaltywords");
    if (found.why) {
      words.textContent = found.why;
      return;
    }
    const { value, error } = found.best;
    words.textContent = `Best: ${found.name} = ${format(value)}, ${found.error} ${format(error)} (${found.way}). Drag to change.`;
  });
  const choose = ({ x }) => {
    const state = current();
    const setting = state?.settings.find(({ name }) => name === state.penalty);
    if (!setting) return;
    const inside = Math.min(Math.max(x, setting.low), setting.high);
    ask({ do: "setting", name: setting.name, value: setting.whole ? Math.round(inside) : Number(inside.toPrecision(3)) });
  };
  figure.on_event("tap", choose);
  figure.on_event("pan", choose);
}

function startSpectrum() {
  const slider = element("which-eigen");
  slider.oninput = () => ask({ do: "eigenfunction", j: slider.valueAsNumber - 1 });
  find("eigenvalues").on_event("tap", ({ x }) => {
    slider.value = Math.round(x);
    slider.oninput();
  });
  listen("spectrum", ({ chosen, count, share, freedom }) => {
    slider.max = count;
    element("eigenwords").textContent = `${chosen + 1} (${(100 * share).toPrecision(2)} %)`;
    element("freedom").textContent = freedom === null ? "" : `${format(freedom)} degrees of freedom; the dashed line is the penalty.`;
  });
}

async function save(name, type) {
  const layer = viewOf(name).export(type);
  const blob = await layer.to_blob();
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: `mercer-${name}.${type}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  tell(`Saved ${link.download}.`);
}
