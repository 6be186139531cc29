// Layers and heads: all of them as small pictures, one enlarged.
import { fill, heading, hint, make, section, segments } from "./dom.js";
import { Matrix } from "./matrix.js";
import { derived } from "./api.js";
import { Scatter } from "./scatter.js";
import { Thumbs } from "./thumbs.js";

const CROSS = "target × source";
const NAMES = { "source × source": "Source to source", "target × source": "Target to source", "target × past": "Target to its past", "target × past+sentinel": "Past or sentinel" };
const nameOf = (kind) => NAMES[kind] || kind;
const WAYS = [["mean", "Mean"], ["maximum", "Maximum"], ["rollout", "Rollout"]];

const TOGETHER = {
  mean: ["Mean of all layers", "The mean over all heads and layers."],
  maximum: ["Maximum of all layers", "The largest weight in any head or layer."],
  rollout: ["Rollout", "How much of each token reaches the top if every layer mixes tokens by its attention and adds its own input (Abnar and Zuidema 2020)."],
};

export class HeadsView {
  constructor(page) {
    this.page = page;
    this.seen = page.seen;
    const groups = this.seen.groups;
    this.kinds = [...groups.keys()];
    const { state } = page;
    this.kind = this.kinds.find((kind) => groups.get(kind).includes(state.tap)) || this.kinds[0];
    this.names = groups.get(this.kind);
    if (!this.names.includes(state.tap)) Object.assign(state, { tap: this.names[0], head: "mean" });
    this.large = make("section", { class: "card large" });
    this.small = section();
    this.plane = make("div", {});
    this.element = make("div", { class: "cards heads" }, this.small, this.large, this.plane);
    // What heads do takes longest, and comes last.
    this.ready = Promise.all([this.grid(), this.enlarge()]).then(() => this.find());
  }

  /** The way to the interesting head, once the server has counted. */
  async find() {
    const statistics = await derived(this.seen, "heads");
    if (statistics.shown.arrays.length < 2 || this.seen.attention.length + this.seen.array(this.names[0]).shape[0] < 3) return;
    const scatter = new Scatter(statistics, {
      kinds: this.kinds.map(nameOf),
      kindOf: (name) => this.kinds.findIndex((kind) => this.seen.groups.get(kind).includes(name)),
      chosen: (name, head) => name === this.page.state.tap && String(head) === this.page.state.head,
      onchoose: (name, head) => (this.names.includes(name) ? this.choose(name, head) : this.again({ tap: name, head: String(head) })),
    });
    this.plane.replaceChildren(scatter.element);
  }

  /** All layers as one: mean, maximum, and rollout where a text looks at itself. */
  async together(way) {
    const found = await derived(this.seen, "layers");
    const axes = this.seen.array(this.names[0]).axes.slice(1).join();
    const array = found.shown.arrays.find(({ name, axes: own }) => own.join() === axes && name.endsWith(`.${way}`));
    const matrix = new Matrix({ ...(await found.matrix(array.name)), weights: true },
      { label: array.name, most: this.page.room(720), cell: 34 });
    this.large.replaceChildren(heading(TOGETHER[way][0]), hint(TOGETHER[way][1]), matrix.element);
  }

  again(changes) {
    this.page.set(changes);
    this.page.show();
  }

  async grid() {
    const { seen, names, page: { state } } = this;
    const kinds = this.kinds.length > 1 ? segments("Which attention", this.kinds.map((kind) => [kind, nameOf(kind)]), this.kind,
      (kind) => this.again({ tap: seen.groups.get(kind)[0], head: "mean" })) : null;
    this.thumbs = new Thumbs(seen, names, [state.tap, Number(state.head)], (name, head) => this.choose(name, head));
    this.ways = segments("All layers as one", WAYS.slice(0, this.kind === CROSS ? 2 : 3), state.over, (way) => this.choose(state.tap, state.head, way));
    this.ways.prepend(make("span", { class: "hint" }, "All layers:"));
    fill(this.small, heading("Heads", kinds), hint("Each picture is a head: the stronger the color, the more it looks there. Each row is a layer. Both are counted from 0, as in Python. Choose one to enlarge it."),
      names.length > 1 ? this.ways : null, this.thumbs.element);
    this.press();
    await this.thumbs.ready;
  }

  press() {
    const { state } = this.page;
    [...this.ways.children].slice(1).forEach((each, place) => each.setAttribute("aria-pressed", String(state.over === WAYS[place][0])));
    this.thumbs.press(state.over ? "" : state.tap, Number(state.head));
  }

  choose(name, head, over = "") {
    this.page.set({ tap: name, head: String(head), over });
    this.press();
    return this.enlarge();
  }

  async enlarge() {
    const { seen, page: { state } } = this;
    if (state.over && this.names.length > 1 && (state.over !== "rollout" || this.kind !== CROSS)) return this.together(state.over);
    state.over = "";
    const name = state.tap;
    const count = seen.array(name).shape[0];
    state.head = seen.headOf(name, state.head);
    const folds = seen.folds(seen.array(name).axes.slice(1));
    const data = await seen.matrix(name, { head: state.head, words: state.words && folds });
    const over = segments("Over heads", [["mean", "Mean of heads"], ["max", "Maximum"]], state.head, (way) => this.choose(name, way));
    const words = make("input", { type: "checkbox", checked: state.words && folds, onchange: (event) => {
      this.page.set({ words: event.target.checked });
      this.enlarge();
    } });
    const isOne = /^\d+$/.test(state.head);
    const part = isOne ? `head ${seen.headNames(name)[state.head]}` : `${state.head === "max" ? "maximum" : "mean"} of ${count} heads`;
    const matrix = new Matrix(data, { label: isOne ? `${name}, head ${state.head}` : `${name}, ${part}`, most: this.page.room(720), cell: 34 });
    const layer = this.names.indexOf(name);
    const title = count > 1 || isOne ? `Layer ${layer}, ${part}` : `Layer ${layer}`;
    fill(this.large, heading(title, count > 1 ? over : null, folds ? make("label", {}, words, " words") : null),
      hint(make("code", {}, name)), matrix.element);
    return null;
  }
}
