// What is taken along of a picture: a table, the picture as SVG or PNG as it is seen, and its numbers.
import { behind, button, make } from "./dom.js";
import { pictureOf } from "./svg.js";

const SHARPNESS = 2;

/** A row below a picture. `picture()` gives the element that is the picture, `table()` builds its table, and `json()`
 * gives what is shown as numbers; each may be missing. */
export function taking({ name, picture, table, json }) {
  const saving = (kind, save) => button(kind, save, { "aria-label": `Save as ${kind}` });
  let details = null;
  const element = make("div", { class: "taking" });
  const fill = () => {
    details = table ? behind("Table", table) : null;
    element.replaceChildren(...[details, picture && saving("SVG", () => saveSvg(picture(), name())),
      picture && saving("PNG", () => savePng(picture(), name())), json && saving("JSON", async () => saveJson(await json(), name()))].filter(Boolean));
  };
  fill();
  /** The table is built anew when it is opened next. */
  return { element, close: () => { if (details?.children.length > 1) fill(); } };
}

export function saveSvg(element, name) {
  save(new Blob([pictureOf(element).text], { type: "image/svg+xml" }), `${plain(name)}.svg`);
}

export async function savePng(element, name) {
  const { text, width, height } = pictureOf(element);
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const image = new Image(width, height);
  image.src = address;
  await image.decode();
  const canvas = make("canvas", { width: Math.ceil(width * SHARPNESS), height: Math.ceil(height * SHARPNESS) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  save(await new Promise((done) => canvas.toBlob(done, "image/png")), `${plain(name)}.png`);
}

export function saveJson(value, name) {
  save(new Blob([`${JSON.stringify(value)}\n`], { type: "application/json" }), `${plain(name)}.json`);
}

export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

const plain = (name) => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-|-$/g, "") || "look";

/** Arrays with their labels, as `Inspection.from_json` reads them. */
export function asInspection(title, arrays, labels, { words = {}, shown = Object.keys(arrays), gold = [], note = "" } = {}) {
  const number = (value) => (Number.isFinite(value) ? Number(value.toPrecision(9)) : String(value).replace("Infinity", "inf").replace("NaN", "nan"));
  const whole = Object.entries(arrays).map(([name, { values, ...array }]) => [name, { ...array, values: Array.from(values, number) }]);
  return { inspection: 1, title, note, labels, words, shown, gold, arrays: Object.fromEntries(whole) };
}
