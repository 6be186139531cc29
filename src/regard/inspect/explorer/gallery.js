// All texts that were recorded, each with a picture; the array and its head are chosen for all of them together.
import { button, fill, make, menu, section } from "./dom.js";
import { inspect } from "./api.js";
import { Matrix, tableOf } from "./matrix.js";

export class GalleryView {
  constructor(page) {
    this.page = page;
    this.tools = make("div", { class: "top" });
    this.pictures = make("div", { class: "gallery" });
    this.element = make("div", { class: "cards" }, this.tools, this.pictures);
    this.ready = this.begin();
  }

  async begin() {
    const { card } = this.page;
    this.every = await Promise.all(card.examples.map((text) => inspect(card.name, { texts: [text] })));
    this.draw();
  }

  /** Arrays that are laid over one another before anything is chosen. */
  get together() {
    const [first] = this.every;
    return first.attention.length ? [...first.groups.values()][0] : [];
  }

  draw() {
    const { state } = this.page;
    const [first] = this.every;
    const drawable = first.shown.arrays.filter(({ axes }) => axes.length - (axes[0] === "head") <= 2).map(({ name }) => name);
    const shown = first.shown.shown.filter((name) => drawable.includes(name));
    const order = [...shown, ...drawable.filter((name) => !shown.includes(name))];
    const several = this.together.length > 1 && first.array(order[0]).axes[0] === "head";
    const name = order.includes(state.tap) ? state.tap : several ? "" : order[0];
    const chosen = first.array(name || this.together[0]);
    const heads = chosen.axes[0] === "head" ? chosen.shape[0] : 0;
    const again = (changes) => {
      this.page.set(changes);
      this.draw();
    };
    fill(this.tools, menu("Array", [...(several ? [["", `mean of ${this.together.length} layers`]] : []), ...order], name, (tap) => again({ tap, head: "mean" })),
      heads > 1 ? menu("Head", [["mean", "mean of all"], ...first.headNames(name || this.together[0]).map((label, head) => [head, label])], state.head, (head) => again({ head })) : null);
    this.every.forEach(async (seen, place) => {
      const options = { head: seen.headOf(name || this.together[0], state.head) };
      const data = name ? await seen.matrix(name, options) : await seen.mean(this.together, options);
      const title = this.page.card.examples[place];
      const open = button(title, () => this.page.go({ text: title, view: "" }), { class: "title", dir: "auto" });
      const body = data.texts ? tableOf(name, data) : new Matrix(data, { label: title, most: this.page.room(560), cell: 24 }).element;
      this.pictures.children[place].replaceWith(section(make("h2", {}, open), body));
    });
    this.pictures.replaceChildren(...this.every.map(() => section()));
  }
}
