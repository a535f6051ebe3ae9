// The kernel as text: completion while it is typed, a place where it is wrong, sliders, and what is proved of it.

import { ask, element, listen } from "./bridge.js";
import { makeSlider } from "./slider.js";

const PAUSE = 250; // milliseconds after which what was typed is read

let items = [];
let chosen = -1;
let later = 0;

export function startKernel() {
  const text = element("kernel");
  text.oninput = () => {
    hide(); // what completed the text before does not complete this one
    ask({ do: "complete", text: text.value, cursor: text.selectionStart });
    clearTimeout(later);
    later = setTimeout(send, PAUSE);
  };
  text.onkeydown = chooseByKey;
  text.onblur = () => setTimeout(hide, 150); // a click on a completion comes first
  listen("completions", (found) => {
    if (found.text === text.value && document.activeElement === text) show(found.items);
  });
  listen("state", (state) => {
    if (state.operations) showOperations(state.operations);
    if (document.activeElement !== text) text.value = state.kernel;
    showParameters(state.parameters);
    element("formula").innerHTML = state.formula; // written and escaped by the library
  });
  listen("note", (note) => {
    const wrong = note !== null && note.column !== null;
    element("wrong").hidden = element("where").hidden = !wrong;
    text.setAttribute("aria-invalid", String(wrong));
    if (!wrong) return;
    element("wrong").textContent = note.text;
    element("where").textContent = `${text.value}\n${" ".repeat(Math.max(note.column - 1, 0))}▲`;
  });
  listen("certificate", ({ kind, headline, reasons, drawn }) => {
    element("verdict").textContent = drawn ? `${headline}; the points are in the picture` : headline;
    element("verdict").dataset.kind = kind;
    element("reasons").innerHTML = reasons; // written and escaped by the library
    element("certificate").open ||= kind === "refuted";
  });
}

function showOperations(operations) {
  element("operations").replaceChildren(...operations.map((operation) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: operation });
    button.onclick = () => ask({ do: "combine", operation });
    return button;
  }));
}

function send() {
  clearTimeout(later);
  const text = element("kernel").value.trim();
  if (text) ask({ do: "kernel", text });
}

function show(found) {
  items = found;
  chosen = -1;
  const list = element("completions");
  list.replaceChildren(...found.map(({ title, what }, i) => {
    const item = document.createElement("li");
    const words = document.createElement("small");
    item.setAttribute("role", "option");
    item.id = `completion-${i}`;
    item.textContent = title;
    words.textContent = what;
    item.append(words);
    item.onmousedown = (event) => { event.preventDefault(); accept(i); };
    return item;
  }));
  list.hidden = found.length === 0;
  element("kernel").setAttribute("aria-expanded", String(found.length > 0));
}

function hide() {
  items = [];
  element("completions").hidden = true;
  element("kernel").setAttribute("aria-expanded", "false");
  element("kernel").removeAttribute("aria-activedescendant");
}

function accept(i) {
  const text = element("kernel");
  const { insert, start } = items[i];
  text.setRangeText(insert, start, text.selectionStart, "end");
  if (insert.endsWith(")") && insert.includes("(")) text.selectionStart = text.selectionEnd = start + insert.indexOf("(") + 1;
  hide();
  send();
}

function chooseByKey(event) {
  const open = items.length > 0;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (!open) return;
    event.preventDefault();
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : -1) + items.length) % items.length;
    [...element("completions").children].forEach((item, i) => item.setAttribute("aria-selected", String(i === chosen)));
    element("completions").children[chosen].scrollIntoView({ block: "nearest" });
    element("kernel").setAttribute("aria-activedescendant", `completion-${chosen}`);
  } else if (event.key === "Enter") {
    event.preventDefault();
    if (open && chosen >= 0) accept(chosen);
    else { hide(); send(); }
  } else if (event.key === "Tab" && open && chosen >= 0) {
    event.preventDefault();
    accept(chosen);
  } else if (event.key === "Escape") {
    hide();
  }
}

function showParameters(parameters) {
  const box = element("parameters");
  const shape = JSON.stringify(parameters.map(({ path, title }) => [path, title]));
  if (box.dataset.shape !== shape) {
    box.replaceChildren(...parameters.map((one) => makeSlider(one, (value) => ask({ do: "parameter", path: one.path, value }))));
    box.dataset.shape = shape;
  }
  parameters.forEach((one, i) => box.children[i].show(one.value, one.low, one.high));
}
