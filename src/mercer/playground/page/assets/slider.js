// A slider with a number beside it, linear or by orders of magnitude.

const STEPS = 200;

/** Return a labelled slider; `show` sets it without telling anyone. */
export function makeSlider({ title, low, high, log, whole }, send) {
  const label = document.createElement("div");
  const name = document.createElement("span");
  const range = Object.assign(document.createElement("input"), { type: "range" });
  const number = Object.assign(document.createElement("input"), { type: "number", step: whole ? 1 : "any" });
  label.className = "slider";
  name.textContent = title;
  range.setAttribute("aria-label", title);
  number.setAttribute("aria-label", `${title}, as a number`);
  Object.assign(range, whole && !log ? { min: low, max: high, step: 1 } : { min: 0, max: STEPS, step: 1 });
  const toValue = (at) => {
    if (whole && !log) return at;
    const value = log ? low * (high / low) ** (at / STEPS) : low + (high - low) * (at / STEPS);
    return whole ? Math.round(value) : Number(value.toPrecision(3));
  };
  const toPlace = (value) => {
    if (whole && !log) return value;
    return log ? (STEPS * Math.log(value / low)) / Math.log(high / low) : (STEPS * (value - low)) / (high - low);
  };
  range.oninput = () => {
    const value = toValue(range.valueAsNumber);
    number.value = value;
    send(value);
  };
  number.onchange = () => {
    if (Number.isFinite(number.valueAsNumber)) send(number.valueAsNumber);
  };
  label.append(name, range, number);
  label.show = (value, newLow = low, newHigh = high) => {
    if (value < low || value > high) [low, high] = [newLow, newHigh]; // a range that moved with its value could not be dragged
    if (document.activeElement !== number) number.value = Number(Number(value).toPrecision(4));
    if (document.activeElement !== range || toValue(range.valueAsNumber) !== value) range.value = toPlace(value);
    range.setAttribute("aria-valuetext", String(number.value));
  };
  return label;
}
