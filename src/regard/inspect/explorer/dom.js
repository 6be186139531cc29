// Elements. Whatever a text contains is shown as text: nothing here is ever parsed as HTML.

/** An element with attributes (`on…` are listeners), then texts and children; null is left out. */
export function make(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Puts children in place of those that are there; null is left out. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(2).filter((child) => child !== null && child !== undefined));
}

/** A text with a direction of its own. */
export const isolated = (text) => make("bdi", {}, text);

/** A text that stands out in a sentence. */
export const bold = (text) => make("b", {}, isolated(text));

/** Tokens beside one another, in the direction of their text. */
export const tokensOf = (label, leftward, ...tokens) => make("div", { class: "tokens", role: "group", "aria-label": label, dir: leftward ? "rtl" : "ltr" }, ...tokens);

/** A field and the button that takes what was typed. */
export const entry = (input, label, onenter) => make("form", { class: "own", onsubmit: (event) => {
  event.preventDefault();
  onenter(input.value);
} }, input, make("button", { type: "submit" }, label));

/** A button with a text, or something else, on it. */
export const button = (label, onclick, attributes = {}) => make("button", { type: "button", onclick, ...attributes }, label);

/** What a menu has to choose from: each option is a value, or a value and its name. */
export const optionsOf = (options, chosen) => options.map((option) => [option].flat()).map(([value, name = value]) =>
  make("option", { value, selected: String(value) === String(chosen) }, String(name)));

/** A menu with its label; `onchange` gets the value that was chosen. */
export const menu = (label, options, chosen, onchange) => make("label", {}, `${label} `,
  make("select", { onchange: (event) => onchange(event.target.value) }, ...optionsOf(options, chosen)));

/** Buttons of which one is pressed: each option is a value and its name; `onchoose` gets the value. */
export const segments = (label, options, chosen, onchoose) => make("div", { class: "segments", role: "group", "aria-label": label },
  ...options.map(([value, name]) => button(name, () => onchoose(value), { "aria-pressed": String(value === chosen) })));

/** What helps with what stands beside it, in a few words. */
export const hint = (...parts) => make("p", { class: "hint" }, ...parts);

export const section = (...children) => make("section", { class: "card" }, ...children);

/** The head of a card: its title, and what is chosen for it. */
export const heading = (title, ...tools) => make("div", { class: "top" }, make("h2", {}, title), ...tools);

/** Where it is told what was chosen. */
export const telling = () => make("div", { class: "told", "aria-live": "polite" });

export const readout = () => make("output", { class: "readout" });

/** The width of texts in a font, in pixels. */
export function measure(font) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${font} system-ui, sans-serif`;
  return (text) => pen.measureText(text).width;
}

/** Labels where there are only places: 0, 1, 2 … */
export const numbered = (count) => Array.from({ length: count }, (_, place) => String(place));

/** The log-probability of outputs together. */
export const logOf = (chances) => chances.reduce((sum, chance) => sum + Math.log(chance), 0);

/** A difference of two shares, in percent. */
export function signed(share) {
  const size = Math.abs(100 * share).toFixed(1);
  return `${Number(size) === 0 ? "" : share < 0 ? "−" : "+"}${size}`;
}

/** The words of a text, or its characters where it has but one word, each with whether it is another than before. */
export function changedParts(before, after) {
  const apart = /\s/.test(after.trim()) ? (text) => text.split(/(?<=\s)/) : (text) => [...text];
  const [old, now] = [apart(before), apart(after)];
  // The longest parts that both have in the same order, from the end.
  const most = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let one = old.length - 1; one >= 0; one -= 1) for (let other = now.length - 1; other >= 0; other -= 1) {
    most[one][other] = old[one] === now[other] ? most[one + 1][other + 1] + 1 : Math.max(most[one + 1][other], most[one][other + 1]);
  }
  let [one, other] = [0, 0];
  const found = [];
  while (other < now.length) {
    if (one < old.length && old[one] === now[other]) {
      found.push([now[other], false]);
      one += 1;
      other += 1;
    } else if (one < old.length && most[one + 1][other] >= most[one][other + 1]) one += 1;
    else {
      found.push([now[other], true]);
      other += 1;
    }
  }
  return found;
}

/** A number as short as it can be read: 0.812, −0.0047, 3.1e−5. */
export function short(number) {
  const size = Math.abs(number);
  if (!Number.isFinite(number)) return String(number);
  const digits = size !== 0 && size < 0.0005 ? number.toExponential(1) : size !== 0 && size < 0.01 ? number.toPrecision(2) : number.toFixed(size >= 100 ? 1 : 3);
  return digits.replaceAll("-", "−");
}

export function percent(share) {
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  if (share < 1 && share > 0.9995) return "> 99.9 %";
  return `${(100 * share).toFixed(1)} %`;
}

const NUMBER = /^([<>+−-]? ?[\d.,]+([eE][+−-]?\d+)?( ?[%°]C?| km)?|–|)$/;

/** A table for those who read rather than look: a head, then rows of texts, the first of each a heading. Numbers stand at
 * the right of their columns. */
export function table(caption, head, rows) {
  const kinds = head.map((_, column) => (column && rows.every((row) => NUMBER.test(row[column])) ? "number" : null));
  const cells = ([first, ...rest]) =>
    make("tr", {}, make("th", { scope: "row" }, isolated(first)), ...rest.map((cell, place) => make("td", { class: kinds[place + 1] }, isolated(cell))));
  return make("div", { class: "table", tabindex: 0, role: "region", "aria-label": caption },
    make("table", {}, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...head.map((text, column) => make("th", { scope: "col", class: kinds[column] }, isolated(text))))),
      make("tbody", {}, ...rows.map(cells))));
}

/** A button that shows a table, made when it is first opened; what makes it may have to ask for numbers first. */
export function behind(label, build) {
  const details = make("details", { class: "behind" }, make("summary", {}, label));
  let made = null;
  details.addEventListener("toggle", async () => {
    if (details.open && !made) details.append(await (made = build()));
  });
  return details;
}

/** Arrow keys walk among elements of which only one is a stop of the tab key; `step` gives the next place of a key. */
export function roving(elements, step, begin = 0) {
  elements.forEach((element, place) => {
    element.tabIndex = place === begin ? 0 : -1;
    element.addEventListener("keydown", (event) => {
      const next = step(event.key, place);
      if (next === undefined || !elements[next]) return;
      event.preventDefault();
      elements.forEach((other, index) => { other.tabIndex = index === next ? 0 : -1; });
      elements[next].focus();
    });
  });
}

/** The step of a row or column of elements. */
export const along = (count) => (key, place) =>
  ({ ArrowRight: place + 1, ArrowDown: place + 1, ArrowLeft: place - 1, ArrowUp: place - 1, Home: 0, End: count - 1 })[key];

/** Pixels that a picture in a card may be wide. */
export const room = (place, most) => Math.min(most, (place.clientWidth || document.documentElement.clientWidth) - 70);

/** Says that something was chosen, so that whoever keeps what is looked at remembers it. */
export const chosen = (element) => element.dispatchEvent(new Event("chosen", { bubbles: true }));
