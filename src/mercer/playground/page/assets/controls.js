// Points and learner: controls that say what people want, and show what is.

import { ask, element, listen, tell } from "./bridge.js";
import { makeSlider } from "./slider.js";

const LARGEST_TABLE = 2_000_000; // characters
const BEAT = 180; // milliseconds between steps of an animation

let state = null;
let colours = []; // of classes
let presets = {}; // the noise that each begins with
let seed = 0;

export const current = () => state;
export const chosenClass = () => Number(document.querySelector('input[name="label"]:checked')?.value ?? 0);
export const mode = () => document.querySelector('input[name="mode"]:checked').value;

export function startControls() {
  listen("state", (found) => {
    state = found;
    if (found.colours) colours = found.colours;
    if (found.presets) presets = Object.fromEntries(found.presets.map(([key, , noise]) => [key, noise]));
    if (found.presets) fill(element("preset"), [["", "points of your own"], ...found.presets]);
    if (found.preset !== element("preset").value || found.presets) showPreset(found);
    document.querySelector(`input[name="task"][value="${found.task}"]`).checked = true;
    fill(element("learner"), found.learners, found.learner);
    showSettings(found);
    showClasses(found);
    showPoints(found);
    element("undo").disabled = !found.undo;
    element("redo").disabled = !found.redo;
    element("title-errors").textContent = found.task === "regression" ? "Residuals" : "Margins";
    element("tune").disabled = found.penalty === null;
  });
  listen("fitted", ({ legend, notes }) => {
    element("legend").textContent = legend.join(" · ");
    element("fitnotes").textContent = notes.join(" ");
  });
  listen("numbers", showNumbers);
  startPoints();
  element("learner").onchange = () => ask({ do: "learner", key: element("learner").value });
  element("tune").onclick = () => ask({ do: "tune" });
  element("undo").onclick = () => ask({ do: "undo" });
  element("redo").onclick = () => ask({ do: "redo" });
  addEventListener("keydown", (event) => {
    const writes = event.target.matches("textarea, input[type=number]");
    if (!(event.ctrlKey || event.metaKey) || writes) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    ask({ do: key === "y" || event.shiftKey ? "redo" : "undo" });
  });
  startSteps();
}

function startPoints() {
  for (const radio of document.querySelectorAll('input[name="task"]')) {
    radio.onchange = () => ask({ do: "task", task: radio.value });
  }
  for (const radio of document.querySelectorAll('input[name="mode"]')) {
    radio.onchange = () => { element("stage").dataset.mode = mode(); };
  }
  element("stage").dataset.mode = "draw";
  const draw = (fresh) => {
    const key = element("preset").value;
    if (!key) return;
    const sizes = fresh ? {} : { count: element("count").valueAsNumber, noise: element("noise").valueAsNumber };
    ask({ do: "preset", key, seed, ...sizes });
  };
  element("preset").onchange = () => {
    seed = 0;
    draw(true);
    element("preset").value = state.preset; // until Python has taken it
  };
  element("again").onclick = () => { seed += 1; draw(false); };
  for (const id of ["count", "noise"]) {
    element(id).oninput = () => {
      document.querySelector(`output[for="${id}"]`).textContent = element(id).value;
      draw(false);
    };
  }
  element("clear").onclick = () => ask({ do: "clear" });
  element("table").onchange = async () => {
    const [file] = element("table").files;
    if (!file) return;
    if (file.size > LARGEST_TABLE) tell(`${file.name} is too large: up to 2 MB can be read here.`);
    else ask({ do: "table", text: await file.text(), name: file.name });
    element("table").value = "";
  };
  const hand = () => ({ x: element("handx").valueAsNumber || 0, y: element("handy").valueAsNumber || 0 });
  element("which").onchange = () => {
    const place = state?.points[Number(element("which").value)];
    if (place) [element("handx").value, element("handy").value] = place;
  };
  element("handadd").onclick = () => ask({ do: "add", ...hand(), label: chosenClass() });
  element("handmove").onclick = () => ask({ do: "move", i: Number(element("which").value), ...hand() });
  element("handerase").onclick = () => ask({ do: "erase", i: Number(element("which").value) });
}

function showPreset(found) {
  element("preset").value = found.preset;
  if (found.preset) setSize("noise", presets[found.preset]);
  setSize("count", found.count);
}

function setSize(id, value) {
  element(id).value = value;
  document.querySelector(`output[for="${id}"]`).textContent = value;
}

function fill(select, options, chosen) {
  const text = JSON.stringify(options);
  if (select.dataset.options !== text) {
    select.replaceChildren(...options.map(([value, title]) => new Option(title, value)));
    select.dataset.options = text;
  }
  if (chosen !== undefined) select.value = chosen;
}

function showSettings(found) {
  const box = element("settings");
  const shape = JSON.stringify(found.settings.map(({ value, ...rest }) => rest));
  if (box.dataset.shape !== shape) {
    box.replaceChildren(...found.settings.map((setting) => makeSetting(setting)));
    box.dataset.shape = shape;
  }
  found.settings.forEach((setting, i) => box.children[i].show(setting.value));
  element("steps").hidden = !found.settings.some((setting) => setting.name === "steps");
  if (element("steps").hidden) stopSteps();
}

function makeSetting(setting) {
  const send = (value) => ask({ do: "setting", name: setting.name, value });
  if (!setting.choices.length) return makeSlider(setting, send);
  const label = document.createElement("label");
  label.className = "line";
  const select = document.createElement("select");
  select.replaceChildren(...setting.choices.map((choice) => new Option(choice, choice)));
  select.onchange = () => send(select.value);
  label.append(`${setting.title} `, select);
  label.show = (value) => { select.value = value; };
  return label;
}

function showClasses(found) {
  const box = element("classes");
  box.hidden = found.classes === 0;
  if (box.children.length === found.classes) return;
  const chosen = Math.min(chosenClass(), Math.max(found.classes - 1, 0));
  box.replaceChildren(...Array.from({ length: found.classes }, (_, code) => {
    const label = document.createElement("label");
    const radio = Object.assign(document.createElement("input"), { type: "radio", name: "label", value: code, checked: code === chosen });
    const dot = document.createElement("span");
    dot.className = "dot";
    dot.style.background = colours[code];
    label.append(radio, dot, `class ${code}`);
    return label;
  }));
}

function showPoints(found) {
  const select = element("which");
  if (!element("byhand").open && select.options.length === found.points.length) return;
  const kept = select.value;
  select.replaceChildren(...found.points.map(([x, y], i) => new Option(`${i}: (${x}, ${y})`, i)));
  if (Number(kept) < found.points.length) select.value = kept;
}

function showNumbers(numbers) {
  element("numbers").replaceChildren(...numbers.map(([name, text, meaning]) => {
    const box = document.createElement("div");
    const term = document.createElement("dt");
    const value = document.createElement("dd");
    term.textContent = name;
    value.textContent = text;
    box.title = meaning;
    box.append(term, value);
    return box;
  }));
}

let timer = 0;
function step() {
  const setting = state?.settings.find(({ name }) => name === "steps");
  if (!setting || setting.value >= setting.high) return stopSteps();
  return ask({ do: "setting", name: "steps", value: setting.value + 1 });
}
function stopSteps() {
  clearInterval(timer);
  timer = 0;
  element("animate").setAttribute("aria-pressed", "false");
  element("animate").textContent = "Play";
}
function startSteps() {
  element("step").onclick = () => { stopSteps(); step(); };
  element("animate").onclick = () => {
    if (timer) return stopSteps();
    const setting = state.settings.find(({ name }) => name === "steps");
    if (setting.value >= setting.high) ask({ do: "setting", name: "steps", value: setting.low });
    timer = setInterval(step, BEAT);
    element("animate").setAttribute("aria-pressed", "true");
    element("animate").textContent = "Pause";
    return undefined;
  };
}
