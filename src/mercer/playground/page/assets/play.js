// The page: connects to Python, and starts what it is made of.

import { ask, connect, copy, element, isQuiet, listen, tell } from "./bridge.js";
import { startControls } from "./controls.js";
import { startKernel } from "./kernel.js";
import { startPanels } from "./panels.js";
import { latencies, startStage } from "./stage.js";
import { startTheme } from "./theme.js";

const STATE = /[#&]state=([^&]*)/;

function startTakingAway() {
  let link = "";
  let later = 0;
  listen("link", (text) => {
    link = text;
    clearTimeout(later); // an address that changes with every pixel of a drag would be refused by browsers
    later = setTimeout(() => history.replaceState(null, "", `#state=${text}`), 300);
  });
  element("share").onclick = async () => {
    history.replaceState(null, "", `#state=${link}`);
    const there = await copy(location.href);
    tell(there ? "The link is copied. mercer play LINK opens it elsewhere." : "The address of this page is the link.");
  };
  element("code").onclick = () => ask({ do: "source" });
  listen("source", async (text) => {
    element("source").textContent = text;
    element("script").showModal();
    if (await copy(text)) tell("Copied.");
  });
  element("copysource").onclick = async () => {
    tell((await copy(element("source").textContent)) ? "Copied." : "Select the text, and copy it.");
  };
  element("closescript").onclick = () => element("script").close();
}

function startNotes() {
  listen("note", (note) => {
    const kernel = note !== null && note.column !== null;
    element("note").hidden = note === null || kernel;
    if (note !== null) element("note").textContent = note.text;
  });
  listen("slow", (text) => { element("slow").textContent = text; });
  listen("missing", ({ panel, text }) => showMissing(panel, text));
}

const PANELS = { spectrum: ["eigenvalues", "eigenfunction"], fit: ["plane"], numbers: [], certificate: [] };
function showMissing(name, text) {
  for (const id of PANELS[name] ?? [name]) {
    const words = document.querySelector(`#panel-${id} > .missing`);
    if (!words) continue;
    words.textContent = text;
    words.hidden = !text;
  }
}
listen("there", (name) => showMissing(name, ""));

await connect();
startTheme();
startNotes();
startControls();
startKernel();
startStage();
startPanels();
startTakingAway();
ask({ do: "start", link: STATE.exec(location.hash)?.[1] ?? "" }); // Python says what is wrong with it
addEventListener("hashchange", () => location.reload());
globalThis.mercer = { isQuiet, latencies };
document.documentElement.dataset.ready = "true";
