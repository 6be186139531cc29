// Why: what an output rests on by three measures beside the attention, and whether other attention would have done as well.
import { fill, isolated, make, percent, short, table } from "./dom.js";
import { Matrix } from "./matrix.js";
import { largestOf, reasons } from "./api.js";

const BESIDE = 190;

export class WhyView {
  constructor(page) {
    this.page = page;
    this.state = page.state;
    this.outputs = make("div", { class: "tokens", role: "group", "aria-label": "Outputs" });
    this.measures = make("div", {}, make("p", { class: "hint" }, "Computing …"));
    this.tools = make("div", { class: "top" });
    this.answer = make("div", { "aria-live": "polite" });
    this.element = make("div", { class: "cards" }, make("section", { class: "card wide" }, make("h2", {}, "What an output rests on"),
      make("p", { class: "hint" }, "Choose an output. Attention says where the model looked; whether that is why it said what it said is another question."),
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
    this.buttons = labels.map((label, place) =>
      make("button", { type: "button", class: "token", onclick: () => this.choose(place) }, isolated(label)));
    this.outputs.replaceChildren(...this.buttons);
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
      this.answer.replaceChildren(make("p", { class: "hint" }, "This model has no attention to what it reads."));
      return;
    }
    const heads = seen.array(this.layer).axes[0] === "head" ? seen.array(this.layer).shape[0] : 0;
    this.head = /^\d+$/.test(this.state.head) && Number(this.state.head) < heads ? Number(this.state.head) : null;
    const again = (changes) => {
      this.page.set(changes);
      this.fillTools();
      return this.choose(this.state.place, false);
    };
    const layer = make("select", { onchange: (event) => again({ tap: event.target.value, head: "mean" }) },
      ...this.layers.map((name) => make("option", { value: name, selected: name === this.layer }, name)));
    const head = make("select", { onchange: (event) => again({ head: event.target.value }) }, make("option", { value: "mean" }, "all"),
      ...[...Array(heads).keys()].map((each) => make("option", { value: each, selected: each === this.head }, String(each))));
    fill(this.tools, make("h2", {}, "Is it an explanation?"), this.layers.length > 1 ? make("label", {}, "Attention ", layer) : null,
      heads > 1 ? make("label", {}, "Head ", head) : null,
      make("button", { type: "button", class: "go", onclick: () => this.search() }, "Is this attention an explanation?"));
    this.forget();
  }

  /** Weights that choices are made from: a row for each output, or one row for all. */
  looksFromOutputs(name) {
    const axes = this.page.seen.array(name).axes.filter((axis) => axis !== "head");
    return axes.length === 1 || axes[0] === this.axis;
  }

  forget() {
    this.answer.replaceChildren(make("p", { class: "hint" },
      "Searches for the most different weights that leave this output as it was (Jain and Wallace 2019), and tries uniform and permuted ones."));
  }

  /** What each position of the input adds to the probability of one output, beside the attention there. */
  async choose(place, telling = true) {
    if (telling) this.page.set({ place });
    this.buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === place)));
    if (telling && this.layer) this.forget();
    const found = await reasons(this.page.card.name, { ...this.asked, place });
    if (this.state.place !== place) return;
    const data = await found.matrix("attributions");
    const options = { most: this.page.room(1100), cell: 34, beside: BESIDE };
    const picture = new Matrix(data, { label: "Attributions", ...options });
    const attention = await this.attention(place, data, options);
    const [error] = found.values("completeness error");
    const [[chance], [without]] = ["probability", "probability of zeros"].map((name) => found.values(name));
    this.measures.replaceChildren(make("p", {}, `${found.shown.note[0].toUpperCase()}${found.shown.note.slice(1)}: ${percent(chance)}, and ${percent(without)} if it read only zeros. Purple adds, orange takes away.`),
      ...(attention ? [attention] : []), picture.element,
      make("p", { class: "hint" }, `Integrated gradients sum to the difference of the two, but for ${percent(error)} of it.`));
  }

  /** The weights that are asked about, at this output. */
  async attention(place, { columnLabels }, options) {
    const { seen } = this.page;
    if (!this.layer || !this.looksFromOutputs(this.layer)) return null;
    const all = await seen.matrix(this.layer, { head: this.head === null ? "mean" : this.head });
    const [count, row] = all.columns === 1 ? [all.rows, 0] : [all.columns, place];
    if (count !== columnLabels.length || (all.columns > 1 && place >= all.rows)) return null;
    const values = all.values.slice(row * count, (row + 1) * count);
    const data = { ...all, values, rows: 1, columns: count, rowLabels: ["attention"], columnLabels, largest: largestOf(values), signed: false,
      weights: true, gold: [], within: false, axes: ["attention", "source"], rowMeaning: "", columnMeaning: "" };
    return new Matrix(data, { label: "Attention at this output", ...options }).element;
  }

  /** Whether other attention would have given the same output: a search, so only when it is asked for. */
  async search() {
    const { place } = this.state;
    this.answer.replaceChildren(make("p", { class: "hint" }, "Searching …"));
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
    const picture = new Matrix({ ...weights, weights: true, within: false, rowMeaning: "", columnMeaning: "" },
      { label: "The weights, and the most different that were found", most: this.page.room(1100), cell: 34, beside: BESIDE });
    const tell = (name, axis, heading, caption) => {
      const labels = found.labels(axis, 0);
      return table(caption, heading, found.values(name).map((value, each) => [labels[each].replaceAll("-", " "), Number.isNaN(value) ? "–" : short(value)]));
    };
    const divergence = found.values("divergence")[0];
    this.answer.replaceChildren(make("p", { class: "verdict" }, found.shown.note), picture.element,
      make("div", { class: "numbers" }, tell("changes", "change", ["with these weights", "total variation"], "How the output changes"),
        tell("drops", "without", ["without these words", "probability lost"], "What it loses"),
        tell("correlations", "measure", ["weights and …", "Kendall's τ"], "Whether other measures agree")),
      make("p", { class: "hint" }, `Jensen–Shannon divergence of the most different weights: ${Number.isNaN(divergence) ? "–" : short(divergence)}, of at most 0.693. An output counts as unchanged up to a total variation of 0.01. A search that finds nothing proves nothing.`));
  }
}
