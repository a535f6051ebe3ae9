// Light or dark: the reader's setting until the button is pressed, on the page and in the pictures.

import { element } from "./bridge.js";

const FIGURES = ["plane", "matrix", "eigenvalues", "eigenfunction", "space", "penalties", "errors"];

export function startTheme() {
  const wish = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const set = (dark) => {
    root.dataset.theme = dark ? "dark" : "light";
    element("theme").setAttribute("aria-pressed", String(dark));
    paint();
  };
  element("theme").onclick = () => set(root.dataset.theme !== "dark");
  wish.addEventListener("change", () => set(wish.matches));
  set(wish.matches);
}

function paint() {
  const style = getComputedStyle(document.documentElement);
  const [ink, faint, line] = ["--ink", "--faint", "--line"].map((name) => style.getPropertyValue(name).trim());
  const quiet = { sync: false }; // Python need not know
  for (const document of Bokeh.documents) {
    for (const figure of document.roots()) {
      if (!FIGURES.includes(figure.name)) continue;
      figure.setv({ outline_line_color: line }, quiet);
      for (const axis of [...figure.below, ...figure.left]) {
        axis.setv({ axis_line_color: line, major_tick_line_color: line, axis_label_text_color: faint, major_label_text_color: faint }, quiet);
      }
      for (const grid of figure.center) if ("grid_line_color" in grid.attributes) grid.setv({ grid_line_color: faint }, quiet);
      for (const renderer of figure.renderers) if (renderer.name === "ink") renderer.glyph.setv({ line_color: { value: ink } }, quiet);
    }
  }
}
