// All that the page asks the server, and inspections with the numbers that are fetched when they are looked at. A page
// that was saved has no server behind it, and answers out of what was recorded.
import { recorded, unpacked } from "./recorded.js";
import { asInspection, save, saveJson } from "./take.js";

/** Why there is no answer, in a sentence for the reader. */
export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function fetched(path, options) {
  if (recorded) {
    const known = recorded.answer(path, options?.body);
    if (known) return known;
    throw new Refused("There is no model behind this page: `regard explore` asks one.", 0);
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Refused("The server does not answer; start `regard explore` again.", 0);
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Refused(told.error || `The server answered ${answer.status}.`, answer.status);
}

export class Inspected {
  /** `ask` gives the inspection from the server, and again if it is no longer kept there. */
  static async of(ask) {
    return new Inspected(ask, await ask());
  }

  constructor(ask, shown) {
    Object.assign(this, { ask, shown });
    this.known = new Map();
  }

  array(name) {
    return this.shown.arrays.find((array) => array.name === name);
  }

  /** The arrays over given axes. */
  over(...axes) {
    return this.shown.arrays.filter((array) => array.axes.join() === axes.join());
  }

  /** Names of the arrays with heads, those that are shown first coming first. */
  get attention() {
    const named = this.shown.arrays.filter((array) => array.axes[0] === "head").map((array) => array.name);
    const first = this.shown.shown.filter((name) => named.includes(name));
    return [...first, ...named.filter((name) => !first.includes(name))];
  }

  /** Arrays of attention by their axes: what may be laid side by side. */
  get groups() {
    const found = new Map();
    for (const name of this.attention) {
      const axes = this.array(name).axes.slice(1).join(" × ");
      found.set(axes, [...(found.get(axes) || []), name]);
    }
    return found;
  }

  /** Values of an array that came with the inspection. */
  values(name) {
    const array = this.array(name);
    return array?.packed ? Array.from(unpacked(array)) : array?.values?.map(Number);
  }

  /** Makes sure that `values` has those of some arrays. */
  async load(...names) {
    const missing = names.map((name) => this.array(name)).filter((array) => array && !array.values && !array.packed);
    await Promise.all(missing.map(async (array) => { array.values = Array.from((await this.numbers(array.name)).values); }));
  }

  async numbers(name, { head = "all", words = false, exact = true, most = 0 } = {}) {
    const query = new URLSearchParams({ name, head, words, exact, most }).toString();
    if (!this.known.has(query)) this.known.set(query, this.download(query));
    return this.known.get(query);
  }

  /** What the server says of the inspection; it is made anew if it is no longer kept. */
  async told(path) {
    const asked = () => fetched(`/api/inspections/${this.shown.id}/${path}`);
    try {
      return await asked();
    } catch (error) {
      if (error.status !== 404) throw error;
      await this.ask();
      return asked();
    }
  }

  async download(query) {
    const answer = await this.told(`array?${query}`);
    const body = await answer.arrayBuffer();
    const kind = { uint8: Uint8Array, int8: Int8Array, float32: Float32Array }[answer.headers.get("x-type")];
    const values = new kind(body);
    const largest = Number(answer.headers.get("x-largest"));
    return { values, shape: answer.headers.get("x-shape").split(",").map(Number), largest };
  }

  /** What is drawn of an array as a matrix: of one head, their mean or maximum; between words if that is wished. */
  async matrix(name, { head = "mean", words = false } = {}) {
    const array = this.array(name);
    const axes = array.axes[0] === "head" ? array.axes.slice(1) : array.axes;
    const folded = words && this.folds(axes);
    const { values, shape } = array.values && array.axes[0] !== "head"
      ? { values: Float32Array.from(array.values.map(Number)), shape: array.shape }
      : await this.numbers(name, { head: array.axes[0] === "head" ? head : "all", words: folded });
    return this.framed(axes, values, shape, folded, array);
  }

  /** The mean of several arrays over the same axes. */
  async mean(names, options) {
    const all = await Promise.all(names.map((name) => this.matrix(name, options)));
    const values = all[0].values.map((_, place) => all.reduce((sum, one) => sum + one.values[place], 0) / all.length);
    return { ...all[0], values, largest: largestOf(values) };
  }

  framed(axes, values, shape, folded, array) {
    const [rows, columns] = [...shape, 1, 1];
    const label = (axis, size, name) => (axis ? (folded ? this.wordLabels(axis) : this.labels(axis, size)) : [name]);
    const signed = array.signed && values.some((value) => value < 0);
    return {
      values, rows, columns, signed, largest: largestOf(values), weights: array.axes[0] === "head",
      within: axes[0] === axes[1] || axes[1] === "past",
      rowLabels: label(axes[0], rows), columnLabels: label(axes[1], columns, array.name.split(".").pop()),
      rowMeaning: this.meaning(axes[0]), columnMeaning: this.meaning(axes[1] || ""), axes: folded ? undefined : axes,
      leftward: this.leftward(axes[1]), texts: array.texts,
      gold: !folded && axes.join() === "target,source" ? this.shown.gold : [],
    };
  }

  labels(axis, size) {
    return this.shown.labels[axis] || Array.from({ length: size }, (_, place) => String(place));
  }

  meaning(axis) {
    return this.shown.meanings[axis] || axis;
  }

  leftward(axis) {
    return this.shown.leftward.includes(axis);
  }

  folds(axes) {
    return axes.length === 2 && axes.every((axis) => this.shown.words[axis]);
  }

  /** Words of an axis, of the tokens that are pieces of them. */
  wordLabels(axis) {
    const words = this.shown.words[axis];
    const count = 1 + Math.max(-1, ...words.filter((word) => word !== null));
    return Array.from({ length: count }, (_, word) =>
      this.shown.labels[axis].filter((__, place) => words[place] === word).join("").replaceAll("␣", "") || "·");
  }

  /** What heads are called: by their numbers, or as the inspection says, where but some are left. */
  headNames(name) {
    return this.labels("head", this.array(name).shape[0]);
  }

  /** The wished head of an array; the mean of all where it has no such head. */
  headOf(name, head) {
    const isHead = /^\d+$/.test(head) && Number(head) < this.array(name).shape[0];
    return isHead || ["mean", "max"].includes(head) ? head : "mean";
  }

  /** Saves all of it as a page, or as JSON. */
  async save(kind) {
    if (recorded) saveJson(await this.inspection(), "look");
    else save(await (await this.told(`file.${kind}`)).blob(), `look.${kind}`);
  }

  /** All of it, or some arrays, as `Inspection.from_json` reads it. */
  async inspection(names = this.shown.arrays.map(({ name }) => name)) {
    const { title, note, labels, words, gold } = this.shown;
    const shown = this.shown.shown.filter((name) => names.includes(name));
    const all = await Promise.all(names.filter((name) => this.array(name)).map((name) => this.array(name)).map(async ({ name, axes, shape, texts }) =>
      [name, { axes, shape, values: (await this.numbers(name)).values, ...(texts && { texts }) }]));
    return asInspection(title, Object.fromEntries(all), labels, { note, words, shown, gold });
  }
}

async function post(model, verb, asked) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked) };
  return (await fetched(`/api/models/${encodeURIComponent(model)}/${verb}`, options)).json();
}

const asking = (verb) => (model, asked) => Inspected.of(() => post(model, verb, asked));

export const models = async () => (await fetched("/api/models")).json();
export const translate = (model, asked) => post(model, "translate", asked);
export const inspect = asking("inspect");
export const tree = asking("tree");
export const alternatives = asking("alternatives");
export const goOn = asking("continue");
export const score = asking("score");
export const map = asking("map");
export const neighbors = asking("neighbors");
export const steps = asking("steps");
export const reasons = asking("reasons");

/** What is computed of an inspection: what its "heads" do, its "layers" as one, what its "units" do together. */
export const derived = (seen, kind) => Inspected.of(async () => (await seen.told(`derived/${kind}`)).json());

export function largestOf(values) {
  let largest = 0;
  for (const value of values) if (Math.abs(value) > largest && Number.isFinite(value)) largest = Math.abs(value);
  return largest;
}
