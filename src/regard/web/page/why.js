// Why: what an output rests on by three measures, beside the attention.
import { isolated, make, percent } from "./dom.js";
import { Matrix } from "./matrix.js";
import { reasons } from "./api.js";
import { largestOf } from "./seen.js";
import { remember, state } from "./state.js";

export class WhyView {
  constructor(page) {
    this.page = page;
    this.outputs = make("div", { class: "tokens", role: "group", "aria-label": "Outputs" });
    this.measures = make("div", {}, make("p", { class: "hint" }, "Computing …"));
    this.element = make("div", { class: "cards" }, make("section", { class: "card wide" }, make("h2", {}, "What an output rests on"),
      make("p", { class: "hint" }, "Choose an output. Attention says where the model looked; whether that is why it said what it said is another question."),
      this.outputs, this.measures));
    this.ready = this.begin();
  }

  get asked() {
    return { texts: this.page.texts, ...this.page.told };
  }

  async begin() {
    const norms = await reasons(this.page.card.name, this.asked);
    const [{ axes: [axis], shape: [count] }] = norms.shown.arrays;
    this.axis = axis;
    const labels = norms.labels(axis, count);
    if (!(state.place < labels.length)) state.place = 0;
    this.buttons = labels.map((label, place) =>
      make("button", { type: "button", class: "token", onclick: () => this.choose(place) }, isolated(label)));
    this.outputs.replaceChildren(...this.buttons);
    await this.choose(state.place);
  }

  /** What each position of the input adds to the probability of one output, beside the attention there. */
  async choose(place) {
    state.place = place;
    remember();
    this.buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === place)));
    const found = await reasons(this.page.card.name, { ...this.asked, place });
    if (state.place !== place) return;
    const data = await found.matrix("attributions");
    const most = Math.min(980, innerWidth - 190);
    const picture = new Matrix(data, { label: "Attributions", most, cell: 34 });
    const attention = await this.attention(place, data);
    const [error] = found.values("completeness error");
    const [[chance], [without]] = ["probability", "probability of zeros"].map((name) => found.values(name));
    this.measures.replaceChildren(make("p", {}, `${found.shown.note[0].toUpperCase()}${found.shown.note.slice(1)}: ${percent(chance)}, and ${percent(without)} if it read only zeros. Purple adds, orange takes away.`),
      picture.element, ...(attention ? [make("h3", {}, "Attention at this output"), attention] : []),
      make("p", {}, ...this.question(place)),
      make("p", { class: "hint" }, `Integrated gradients sum to the difference of the two, but for ${percent(error)} of it.`));
  }

  /** Whether other attention would have given the same output: a search, so only when it is asked for. */
  question(place) {
    const answer = make("output", { "aria-live": "polite" });
    const ask = async () => {
      answer.textContent = " Searching …";
      try {
        const found = await reasons(this.page.card.name, { ...this.asked, place, other_attention: true });
        answer.textContent = ` ${found.shown.note}`;
      } catch (error) {
        answer.textContent = ` ${error.message}`;
      }
    };
    return [make("button", { type: "button", onclick: ask }, "Is this attention an explanation?"), answer];
  }

  async attention(place, { columnLabels }) {
    const { seen } = this.page;
    const names = seen.attention.filter((name) => seen.array(name).axes.slice(1).join() === `${this.axis},source`);
    if (!names.length) return null;
    const all = await seen.mean(names, { head: "mean" });
    if (all.columns !== columnLabels.length || place >= all.rows) return null;
    const values = all.values.slice(place * all.columns, (place + 1) * all.columns);
    const row = { ...all, values, rows: 1, rowLabels: ["attention"], largest: largestOf(values), gold: [], within: false };
    return new Matrix(row, { label: "Attention", most: Math.min(980, innerWidth - 190), cell: 34 }).element;
  }
}
