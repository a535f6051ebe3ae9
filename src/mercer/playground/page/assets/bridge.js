// What the page asks of Python, and where answers go.

const listeners = {};
let bridge = null;
let serial = 0;
let waiting = 0;

export const element = (id) => document.getElementById(id);

/** Have a function called with every part of that name that Python sends. */
export function listen(name, call) {
  (listeners[name] ??= []).push(call);
}

/** Ask Python for something by name; returns the number by which its answer is known. */
export function ask(request) {
  serial += 1;
  waiting = serial;
  bridge.request = JSON.stringify({ ...request, serial });
  return serial;
}

/** Return a model of Bokeh's by its name, in any document of the page. */
export function find(name) {
  for (const document of Bokeh.documents) {
    const model = document.get_model_by_name(name);
    if (model) return model;
  }
  return null;
}

/** Return how a figure is drawn now: its scales and its box on the screen. */
export function viewOf(name) {
  return Bokeh.index.find_one(find(name));
}

/** Wait for Bokeh, connect, and call when parts can come. */
export async function connect() {
  while (!(globalThis.Bokeh && find("bridge") && find("plane") && viewOf("plane"))) {
    await new Promise((done) => setTimeout(done, 20));
  }
  bridge = find("bridge");
  bridge.properties.reply.change.connect(() => {
    const { parts } = JSON.parse(bridge.reply);
    for (const [name, part] of Object.entries(parts)) for (const call of listeners[name] ?? []) call(part);
  });
  document.addEventListener("visibilitychange", checkConnection);
  setInterval(checkConnection, 2000);
}

/** Return whether everything that was asked has been answered. */
export const isQuiet = () => waiting === 0;
listen("answered", (number) => { if (number === waiting) waiting = 0; });

async function checkConnection() {
  let there = true;
  try {
    there = (await fetch("metadata", { cache: "no-store" })).ok;
  } catch {
    there = false;
  }
  element("lost").hidden = there;
}

let fading = 0;
/** Say something for a moment. */
export function tell(text) {
  const toast = element("told");
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(fading);
  fading = setTimeout(() => { toast.hidden = true; }, 2500);
}

/** Put a text where it can be pasted; true if that was allowed. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
