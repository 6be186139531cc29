// An inspection as views read it: named arrays with labelled axes.

export class Seen {
  /** `shown` has `arrays` (each with name, axes, shape, largest, signed, and maybe values and texts), the labels and
   * meanings of axes, and what the server or the page says besides; `parts` are inspections made of this one, by kind. */
  constructor(shown, parts = {}) {
    Object.assign(this, { shown, parts });
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
    return this.array(name)?.values?.map(Number);
  }

  /** Makes sure that `values` has those of some arrays. */
  async load() {}

  /** All values of an array, or those of one head, or the mean or maximum of its heads. */
  async numbers(name, { head = "all" } = {}) {
    const { axes, shape } = this.array(name);
    const values = Float32Array.from(this.values(name));
    if (axes[0] !== "head" || head === "all") return { values, shape };
    const [heads, ...rest] = shape;
    const size = values.length / heads;
    const of = (each) => values.subarray(each * size, (each + 1) * size);
    if (head !== "mean" && head !== "max") return { values: of(Number(head)), shape: rest };
    const all = Array.from({ length: heads }, (_, each) => of(each));
    const join = head === "mean" ? (row) => row.reduce((sum, value) => sum + value, 0) / heads : (row) => Math.max(...row);
    return { values: Float32Array.from(all[0], (_, place) => join(all.map((each) => each[place]))), shape: rest };
  }

  /** What is made of this inspection, as another one. */
  async derived(kind) {
    return new Seen(this.parts[kind]);
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
      rowMeaning: this.meaning(axes[0]), columnMeaning: this.meaning(axes[1] || ""),
      leftward: this.shown.leftward.includes(axes[1]),
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

  /** Whether tokens over these axes can be taken together to words; a page without a server cannot. */
  folds() {
    return false;
  }

  /** The wished head of an array; the mean of all where it has no such head. */
  headOf(name, head) {
    const isHead = /^\d+$/.test(head) && Number(head) < this.array(name).shape[0];
    return isHead || ["mean", "max"].includes(head) ? head : "mean";
  }
}

export function largestOf(values) {
  let largest = 0;
  for (const value of values) if (Math.abs(value) > largest && Number.isFinite(value)) largest = Math.abs(value);
  return largest;
}
