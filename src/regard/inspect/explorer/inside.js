// Everything that an inspection holds, one array at a time.
import { heading, hint, make, menu } from "./dom.js";
import { Matrix, tableOf } from "./matrix.js";

export class InsideView {
  constructor(page) {
    this.page = page;
    this.seen = page.seen;
    const { state } = page;
    const drawable = this.seen.shown.arrays.filter((array) => array.axes.length - (array.axes[0] === "head") <= 2);
    this.names = drawable.map((array) => array.name);
    if (!this.names.includes(state.tap)) Object.assign(state, { tap: this.seen.shown.shown[0] || this.names[0], head: "mean" });
    this.picture = make("div");
    const note = this.seen.shown.note;
    this.element = make("div", { class: "cards" }, make("section", { class: "card wide" },
      heading("Arrays", menu("Array", this.names, state.tap, (name) => this.choose(name))),
      note ? hint(note) : null, this.picture));
    this.ready = this.draw();
  }

  choose(name) {
    this.page.set({ tap: name, head: "mean" });
    return this.draw();
  }

  async draw() {
    const { seen, page: { state } } = this;
    const data = await seen.matrix(state.tap);
    const most = this.page.room(data.columns > 60 ? 1200 : 720);
    this.picture.replaceChildren(data.texts ? tableOf(state.tap, data) : new Matrix(data, { label: state.tap, most, cell: 28 }).element);
  }
}
