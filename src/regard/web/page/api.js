// All that the page asks the server, and inspections with the numbers that are fetched when they are looked at.
import { Seen } from "./seen.js";

/** Why there is no answer, in a sentence for the reader. */
export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

async function fetched(path, options) {
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

/** An inspection on the server, whose large arrays are fetched when they are looked at. */
export class Inspected extends Seen {
  /** `ask` gives the inspection from the server, and again if it is no longer kept there. */
  static async of(ask) {
    return new Inspected(ask, await ask());
  }

  constructor(ask, shown) {
    super(shown);
    this.ask = ask;
    this.known = new Map();
    this.made = new Map();
  }

  async numbers(name, { head = "all", words = false, exact = true, most = 0 } = {}) {
    const query = new URLSearchParams({ name, head, words, exact, most }).toString();
    if (!this.known.has(query)) this.known.set(query, this.download(query));
    return this.known.get(query);
  }

  async load(...names) {
    const missing = names.map((name) => this.array(name)).filter((array) => array && !array.values);
    await Promise.all(missing.map(async (array) => { array.values = Array.from((await this.numbers(array.name)).values); }));
  }

  /** What is computed of it: what its "heads" do, its "layers" as one, what its "units" do together. */
  async derived(kind) {
    if (!this.made.has(kind)) this.made.set(kind, Inspected.of(async () => (await this.told(`derived/${kind}`)).json()));
    return this.made.get(kind);
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

  /** Saves a picture, the page or the numbers. */
  async save(kind, { name, head } = {}) {
    const query = new URLSearchParams({ ...(name && { name }), ...(Number.isInteger(head) && { head }) });
    const address = URL.createObjectURL(await (await this.told(`file.${kind}?${query}`)).blob());
    Object.assign(document.createElement("a"), { href: address, download: `look.${kind}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  }
}

async function post(model, verb, asked) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked) };
  return (await fetched(`/api/models/${encodeURIComponent(model)}/${verb}`, options)).json();
}

export const map = (model, asked) => Inspected.of(() => post(model, "map", asked));
export const neighbors = (model, asked) => Inspected.of(() => post(model, "neighbors", asked));
export const models = async () => (await fetched("/api/models")).json();
export const translate = (model, asked) => post(model, "translate", asked);
export const inspect = (model, asked) => Inspected.of(() => post(model, "inspect", asked));
export const tree = (model, asked) => Inspected.of(() => post(model, "tree", asked));
export const alternatives = (model, asked) => Inspected.of(() => post(model, "alternatives", asked));
export const goOn = (model, asked) => Inspected.of(() => post(model, "continue", asked));
export const score = (model, asked) => Inspected.of(() => post(model, "score", asked));
export const reasons = (model, asked) => Inspected.of(() => post(model, "reasons", asked));
