// Layers and heads: all of them as small pictures, one enlarged.
import { fill, make, roving } from "./dom.js";
import { Matrix } from "./matrix.js";
import { paint } from "./shades.js";
import { derived, largestOf } from "./api.js";
import { Scatter } from "./scatter.js";

const SMALL = 48;
const CROSS = "target × source";
const NAMES = { "source × source": "Source to source", "target × source": "Target to source", "target × past": "Target to its past" };

const TOGETHER = {
  mean: ["Mean of all layers", "The mean of all heads and layers."],
  maximum: ["Maximum of all layers", "The largest weight of all heads and layers."],
  rollout: ["Rollout", "What reaches the top from each token, if a layer mixes by its attention and adds what it was (Abnar and Zuidema 2020)."],
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
    this.small = make("section", { class: "card" });
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
      axesOf: (name) => this.seen.array(name).axes.slice(1).join(),
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
    this.large.replaceChildren(make("div", { class: "top" }, make("h2", {}, TOGETHER[way][0])), make("p", { class: "hint" }, TOGETHER[way][1]), matrix.element);
  }

  again(changes) {
    this.page.set(changes);
    this.page.show();
  }

  async grid() {
    const { seen, names, page: { state } } = this;
    const kinds = make("div", { class: "segments", role: "group", "aria-label": "Which attention" }, ...this.kinds.map((kind) =>
      make("button", { type: "button", "aria-pressed": String(kind === this.kind),
        onclick: () => this.again({ tap: seen.groups.get(kind)[0], head: "mean" }) }, NAMES[kind] || kind)));
    const rows = make("div", { class: "thumbs" });
    fill(this.small, make("div", { class: "top" }, make("h2", {}, "Heads"), this.kinds.length > 1 ? kinds : null),
      make("p", { class: "hint" }, "Each picture is a head: the stronger the color, the more it looks there. Each row is a layer. Choose one to enlarge it."), rows);
    const own = this.kind !== CROSS;
    this.ways = ["mean", "maximum", ...(own ? ["rollout"] : [])].map((way) =>
      [way, make("button", { type: "button", "aria-pressed": "false", onclick: () => this.choose(state.tap, state.head, way) }, `${way[0].toUpperCase()}${way.slice(1)}`)]);
    if (names.length > 1) rows.before(make("div", { class: "segments", role: "group", "aria-label": "All layers as one" },
      make("span", { class: "hint" }, "All layers:"), ...this.ways.map(([, button]) => button)));
    const leftward = seen.shown.leftward.includes(seen.array(names[0]).axes[2]);
    const heads = names.map((name) => seen.array(name).shape[0]);
    const most = Math.max(...heads);
    this.buttons = names.flatMap((name, place) => Array.from({ length: heads[place] }, (_, head) => {
      const called = seen.headNames(name)[head];
      const canvas = make("canvas", { "aria-hidden": "true" });
      const button = make("button", { type: "button", "aria-label": `layer ${place + 1}, head ${called}`, title: `${name}, head ${called}`,
        onclick: () => this.choose(name, head) }, canvas);
      return { button, canvas, name, head };
    }));
    rows.style.setProperty("--heads", most);
    const of = (name) => this.buttons.filter((each) => each.name === name);
    rows.append(...names.map((name, place) => make("div", {}, make("span", {}, `layer ${place + 1}`), ...of(name).map(({ button }) => button))));
    const chosen = this.buttons.findIndex(({ name, head }) => name === state.tap && String(head) === state.head);
    roving(this.buttons.map(({ button }) => button), (key, place) => ({ ArrowRight: place + 1, ArrowLeft: place - 1,
      ArrowDown: place + most, ArrowUp: place - most, Home: 0, End: this.buttons.length - 1 })[key], Math.max(0, chosen));
    this.press();
    // Each layer is drawn when its numbers come.
    await Promise.all(names.map(async (name) => {
      const { values, shape: [, rowCount, columnCount] } = await seen.numbers(name, { exact: false, most: SMALL });
      const size = rowCount * columnCount;
      for (const { canvas, head } of of(name)) {
        const own = values.subarray(head * size, (head + 1) * size);
        paint(canvas, { values: own, rows: rowCount, columns: columnCount, largest: largestOf(own), signed: false }, leftward);
      }
    }));
  }

  press() {
    const { state } = this.page;
    for (const [way, button] of this.ways || []) button.setAttribute("aria-pressed", String(state.over === way));
    for (const { button, name, head } of this.buttons || []) {
      button.setAttribute("aria-pressed", String(!state.over && name === state.tap && String(head) === state.head));
    }
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
    const over = ["mean", "max"].map((way) => make("button", { type: "button", "aria-pressed": String(state.head === way),
      onclick: () => this.choose(name, way) }, way === "mean" ? "Mean of heads" : "Maximum"));
    const words = make("input", { type: "checkbox", checked: state.words && folds, onchange: (event) => {
      this.page.set({ words: event.target.checked });
      this.enlarge();
    } });
    const matrix = new Matrix(data, { label: `${name}, head ${state.head}`, most: this.page.room(720), cell: 34 });
    const layer = this.names.indexOf(name) + 1;
    const title = /^\d+$/.test(state.head) ? `Layer ${layer}, head ${seen.headNames(name)[state.head]}` : `Layer ${layer}, ${state.head} of ${count}`;
    fill(this.large, make("div", { class: "top" }, make("h2", {}, title),
      count > 1 ? make("div", { class: "segments", role: "group", "aria-label": "Over heads" }, ...over) : null,
      folds ? make("label", {}, words, " words") : null),
    make("p", { class: "hint" }, make("code", {}, name)), matrix.element);
    return null;
  }
}
