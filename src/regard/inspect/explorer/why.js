// Why: what an output rests on by three measures beside the attention, and whether other attention would have done as well.
import { button, fill, hint, isolated, make, menu, percent, short, table, tokensOf } from "./dom.js";
import { Matrix } from "./matrix.js";
import { largestOf, reasons } from "./api.js";

const [CELL, LINE] = [34, 22];
/** Less room than this, in pixels, is for measures beside one another rather than above. */
const NARROW = 560;

export class WhyView {
  constructor(page) {
    this.page = page;
    this.state = page.state;
    this.outputs = make("div");
    this.measures = make("div", {}, hint("Computing …"));
    this.tools = make("div", { class: "top" });
    this.answer = make("div", { "aria-live": "polite" });
    this.element = make("div", { class: "cards" }, make("section", { class: "card wide" }, make("h2", {}, "What an output rests on"),
      hint("Choose an output. Attention says where the model looked; whether that is why it gave this output is another question."),
      this.outputs, this.measures), make("section", { class: "card wide" }, this.tools, this.answer));
    this.ready = this.begin();
  }

  get asked() {
    return { texts: this.page.texts, ...this.page.told };
  }

  /** The attention that can be asked about: of all heads, or of one. */
  get layers() {
    const { card, seen } = this.page;
    const known = card.places.filter((place) => place.kinds.includes("Uniform")).map((place) => place.tap);
    return known.filter((name) => seen.array(name));
  }

  async begin() {
    const norms = await reasons(this.page.card.name, this.asked);
    const [{ axes: [axis], shape: [count] }] = norms.shown.arrays;
    this.axis = axis;
    const labels = norms.labels(axis, count);
    if (!(this.state.place < labels.length)) this.state.place = 0;
    this.buttons = labels.map((label, place) => button(isolated(label), () => this.choose(place), { class: "token" }));
    this.outputs.replaceChildren(tokensOf("Outputs", norms.leftward(axis), ...this.buttons));
    this.fillTools();
    await this.choose(this.state.place, false);
  }

  /** Which attention is asked about; the layer that outputs are made from comes first. */
  fillTools() {
    const { seen } = this.page;
    const made = this.layers.filter((name) => this.looksFromOutputs(name));
    this.layer = this.layers.includes(this.state.tap) ? this.state.tap : made[made.length - 1] || this.layers[this.layers.length - 1];
    if (!this.layer) {
      this.tools.replaceChildren(make("h2", {}, "Is it an explanation?"));
      this.answer.replaceChildren(hint("This model has no attention to what it reads."));
      return;
    }
    const heads = seen.array(this.layer).axes[0] === "head" ? seen.array(this.layer).shape[0] : 0;
    this.head = /^\d+$/.test(this.state.head) && Number(this.state.head) < heads ? Number(this.state.head) : null;
    const again = (changes) => {
      this.page.set(changes);
      this.fillTools();
      return this.choose(this.state.place, false);
    };
    fill(this.tools, make("h2", {}, "Is it an explanation?"),
      this.layers.length > 1 ? menu("Attention", this.layers, this.layer, (tap) => again({ tap, head: "mean" })) : null,
      heads > 1 ? menu("Head", [["mean", "all"], ...Array(heads).keys()], this.head ?? "mean", (chosen) => again({ head: chosen })) : null,
      this.page.changed ? null : button("Is this attention an explanation?", () => this.search(), { class: "go" }));
    this.forget();
  }

  /** Weights that choices are made from: a row for each output, or one row for all. */
  looksFromOutputs(name) {
    const axes = this.page.seen.array(name).axes.filter((axis) => axis !== "head");
    return axes.length === 1 || axes[0] === this.axis;
  }

  forget() {
    this.answer.replaceChildren(hint(this.page.changed ? "Other attention is searched for in the model as it is, beside this one."
      : "Searches for the most different weights that leave this output as it was (Jain and Wallace 2019), and tries uniform and permuted ones."));
  }

  /** What each position of the input adds to the probability of one output, beside the attention there. */
  async choose(place, telling = true) {
    if (telling) this.page.set({ place });
    this.buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === place)));
    if (telling && this.layer) this.forget();
    const found = await reasons(this.page.card.name, { ...this.asked, place });
    if (this.state.place !== place) return;
    const data = await found.matrix("attributions");
    const attention = await this.attention(place, data);
    const values = Float32Array.from([...attention, ...data.values]);
    const rowLabels = [...(attention.length ? ["attention"] : []), ...data.rowLabels];
    const picture = this.strips({ ...data, values, rows: rowLabels.length, rowLabels, shades: shadesOfRows(values, data.columns) }, "Attributions");
    const [error] = found.values("completeness error");
    const [[chance], [without]] = ["probability", "probability of zeros"].map((name) => found.values(name));
    this.measures.replaceChildren(make("p", {}, `${found.shown.note[0].toUpperCase()}${found.shown.note.slice(1)}, which is ${percent(chance)}; if the model read only zeros, it would be ${percent(without)}. Purple adds, orange takes away; each measure has its own scale.`),
      picture, hint(`Integrated gradients add up to the difference between these two probabilities, up to an error of ${percent(error)}.`));
  }

  /** Numbers of every position of the input: in rows, or, where there is little room, in columns. */
  strips(data, label) {
    const most = this.page.room(1100);
    const upright = most < NARROW;
    const whole = { ...data, rowLabels: data.rowLabels.map((name) => name.replaceAll("-", " ")), within: false, rowMeaning: "", columnMeaning: "" };
    return new Matrix(upright ? turned(whole) : whole, { label, most, cell: CELL, tall: upright ? LINE * data.columns : 0 }).element;
  }

  /** The weights that are asked about, at this output; none if no row of them is that of an output. */
  async attention(place, { columnLabels }) {
    const { seen } = this.page;
    if (!this.layer || !this.looksFromOutputs(this.layer)) return [];
    const all = await seen.matrix(this.layer, { head: this.head === null ? "mean" : this.head });
    const [count, row] = all.columns === 1 ? [all.rows, 0] : [all.columns, place];
    return count !== columnLabels.length || (all.columns > 1 && place >= all.rows) ? [] : all.values.slice(row * count, (row + 1) * count);
  }

  /** Whether other attention would have given the same output: a search, so only when it is asked for. */
  async search() {
    const { place } = this.state;
    this.answer.replaceChildren(hint("Searching …"));
    let found;
    try {
      const asked = { ...this.asked, place, other_attention: true, layer: this.layer, ...(this.head !== null && { head: this.head }) };
      found = await reasons(this.page.card.name, asked);
    } catch (error) {
      this.answer.replaceChildren(make("p", {}, error.message));
      return;
    }
    if (this.state.place !== place) return;
    const weights = await found.matrix("weights");
    const picture = this.strips({ ...weights, weights: true }, "The weights, and the most different that were found");
    const tell = (name, axis, heading, caption) => {
      const labels = found.labels(axis, 0);
      return table(caption, heading, found.values(name).map((value, each) => [labels[each].replaceAll("-", " "), Number.isNaN(value) ? "–" : short(value)]));
    };
    const divergence = found.values("divergence")[0];
    this.answer.replaceChildren(make("p", { class: "verdict" }, found.shown.note), picture,
      make("div", { class: "numbers" }, tell("changes", "change", ["with these weights", "total variation"], "How the output changes"),
        tell("drops", "without", ["without these words", "probability lost"], "What the output loses"),
        tell("correlations", "measure", ["weights and …", "Kendall's τ"], "How far other measures agree")),
      hint(`Jensen–Shannon divergence of the most different weights: ${Number.isNaN(divergence) ? "–" : short(divergence)}, of at most 0.693. An output counts as unchanged up to a total variation of 0.01.${/^None/.test(found.shown.note) ? " That a search finds nothing does not prove that there is nothing." : ""}`));
  }
}

/** Each number as a share of the largest of its row. */
function shadesOfRows(values, columns) {
  const largest = Array.from({ length: values.length / columns }, (_, r) => largestOf(values.subarray(r * columns, (r + 1) * columns)) || 1);
  return values.map((value, place) => value / largest[Math.floor(place / columns)]);
}

/** The same with rows for columns. */
function turned({ values, shades, rows, columns, rowLabels, columnLabels, axes, ...more }) {
  const turn = (numbers) => numbers?.map((_, place) => numbers[(place % rows) * columns + Math.floor(place / rows)]);
  return { ...more, values: turn(values), shades: turn(shades), rows: columns, columns: rows, rowLabels: columnLabels, columnLabels: rowLabels,
    axes: [axes[1], axes[0]], leftward: false, weights: false };
}
