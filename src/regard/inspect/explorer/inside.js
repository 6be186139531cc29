// Everything that an inspection holds: one array at a time, and the tokens with their candidates.
import { isolated, make, percent, table } from "./dom.js";
import { Matrix } from "./matrix.js";
import { tint } from "./shades.js";

export class InsideView {
  constructor(page) {
    this.page = page;
    this.seen = page.seen;
    const { state } = page;
    const drawable = this.seen.shown.arrays.filter((array) => array.axes.length - (array.axes[0] === "head") <= 2);
    this.names = drawable.map((array) => array.name);
    if (!this.names.includes(state.tap)) Object.assign(state, { tap: this.seen.shown.shown[0] || this.names[0], head: "mean" });
    this.picture = make("div");
    const menu = make("select", { onchange: (event) => this.choose(event.target.value) },
      ...this.names.map((name) => make("option", { value: name, selected: name === state.tap }, name)));
    const note = this.seen.shown.note;
    this.element = make("div", { class: "cards" }, this.text(), make("section", { class: "card wide" },
      make("div", { class: "top" }, make("h2", {}, "Arrays"), make("label", {}, "Array ", menu)),
      note ? make("p", { class: "hint" }, note) : null, this.picture));
    this.ready = this.draw();
  }

  choose(name) {
    this.page.set({ tap: name, head: "mean" });
    return this.draw();
  }

  /** The text with the surprisal of each token as its color. */
  text() {
    const { seen } = this;
    const surprisals = seen.values("surprisals");
    if (!surprisals) return null;
    const chances = seen.values("probabilities");
    const candidates = seen.array("candidates");
    const labels = seen.shown.labels.target;
    const likeliest = make("div", { class: "bars" });
    const show = (place) => {
      const [, count] = candidates.shape;
      likeliest.replaceChildren(make("p", {}, "Instead of ", make("b", {}, isolated(labels[place])), ` (${percent(chances[place])}) the model expected:`),
        ...Array.from({ length: count }, (_, rank) => {
          const chance = Number(candidates.values[place * count + rank]);
          const bar = make("span", { class: "bar" });
          bar.style.width = `${Math.max(1, 100 * chance)}%`;
          return make("div", { class: "candidate" }, bar, isolated(candidates.texts[place * count + rank]), make("span", { class: "chance" }, percent(chance)));
        }));
    };
    const most = Math.max(8, ...surprisals);
    const tokens = labels.map((label, place) => {
      const token = make("button", { type: "button", class: "token", title: `${surprisals[place].toFixed(2)} bits`,
        onpointerenter: () => show(place), onfocus: () => show(place) }, isolated(label));
      tint(token, surprisals[place] / most);
      return token;
    });
    const sum = surprisals.reduce((total, bits) => total + bits, 0);
    return make("section", { class: "card wide" }, make("h2", {}, "Surprisal"),
      make("div", { class: "tokens", dir: seen.shown.leftward.includes("target") ? "rtl" : "ltr" }, ...tokens),
      make("p", { class: "hint" }, `${sum.toFixed(1)} bits in all, ${(sum / labels.length).toFixed(2)} a token. The darker, the more surprising.`), likeliest);
  }

  async draw() {
    const { seen, page: { state } } = this;
    const array = seen.array(state.tap);
    const data = await seen.matrix(state.tap);
    const most = this.page.room(data.columns > 60 ? 1200 : 720);
    if (array.texts) {
      const [rows, columns] = [data.rows, data.columns];
      const text = (r, c) => `${array.texts[r * columns + c]} ${percent(data.values[r * columns + c])}`;
      this.picture.replaceChildren(table(state.tap, ["", ...data.columnLabels],
        Array.from({ length: rows }, (_, r) => [data.rowLabels[r], ...Array.from({ length: columns }, (__, c) => text(r, c))])));
      return;
    }
    this.picture.replaceChildren(new Matrix(data, { label: state.tap, most, cell: 28 }).element);
  }
}
