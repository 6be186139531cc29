// All heads in a plane, by two of the numbers that say what they do: the way to find the interesting one.
import { make, roving, short, table } from "./dom.js";
import { draw } from "./drawing.js";
import { taking } from "./take.js";

const [WIDE, HIGH, LEFT, BELOW] = [460, 320, 52, 40];
const [CIRCLE, TRIANGLE, SQUARE] = ["M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z", "M0-6L6 5L-6 5z", "M-4.5-4.5h9v9h-9z"];
const WORDS = { entropy: "entropy (bits)", distance: "mean distance", previous: "weight of the previous token", own: "weight of the token itself",
  next: "weight of the next token", punctuation: "weight of punctuation", special: "weight of the end mark", aligned: "weight of the aligned token" };

export class Scatter {
  /** `seen` is an inspection of "layer head" numbers; `axesOf(name)` tells what a layer's heads look from and to, and
   * `onchoose(name, head)` gets the head of a point. */
  constructor(seen, { axesOf, chosen, onchoose }) {
    Object.assign(this, { seen, axesOf, onchoose });
    this.names = seen.shown.arrays.map((array) => array.name);
    this.layers = seen.shown.labels.layer;
    this.chosen = chosen;
    this.picture = make("div");
    this.told = make("output", { class: "readout", "aria-live": "polite" });
    const menu = (label, first) => {
      const select = make("select", { "aria-label": label, onchange: () => this.draw() },
        ...this.names.map((name) => make("option", { value: name, selected: name === first }, WORDS[name] || name)));
      return select;
    };
    this.across = menu("Across", "entropy");
    this.up = menu("Up", this.widest());
    this.element = make("section", { class: "card" }, make("div", { class: "top" }, make("h2", {}, "What heads do"),
      make("label", {}, "across ", this.across), make("label", {}, "up ", this.up)), this.picture, this.told,
    taking({ name: () => "What heads do", picture: () => this.picture, table: () => this.buildTable(), json: () => seen.inspection() }).element);
    this.draw();
  }

  /** The share by which heads differ most, to begin with. */
  widest() {
    const range = (name) => {
      const known = this.seen.values(name).filter(Number.isFinite);
      return ["entropy", "distance"].includes(name) ? 0 : Math.max(...known) - Math.min(...known);
    };
    return [...this.names].sort((one, other) => range(other) - range(one))[0];
  }

  buildTable() {
    return table("What heads do, over the positions of this text", ["head", ...this.names.map((name) => WORDS[name] || name)],
      this.heads().map(({ name, head, place }) => [`${name} ${head}`, ...this.names.map((each) => this.number(each, place))]));
  }

  number(name, place) {
    const value = this.seen.values(name)[place];
    return Number.isNaN(value) ? "" : short(value);
  }

  heads() {
    const [, count] = this.seen.array(this.names[0]).shape;
    const entropies = this.seen.values("entropy");
    return entropies.map((value, place) => ({ name: this.layers[Math.floor(place / count)], head: place % count, place }))
      .filter(({ place }) => Number.isFinite(entropies[place]));
  }

  draw() {
    const [xs, ys] = [this.across.value, this.up.value].map((name) => this.seen.values(name));
    const points = this.heads().filter(({ place }) => Number.isFinite(xs[place]) && Number.isFinite(ys[place]));
    const most = (values) => Math.max(1e-9, ...points.map(({ place }) => values[place])) * 1.06;
    const [right, top] = [most(xs), most(ys)];
    const x = (value) => LEFT + (value / right) * (WIDE - LEFT - 14);
    const y = (value) => HIGH - BELOW - (value / top) * (HIGH - BELOW - 14);
    const ticks = [0, 0.25, 0.5, 0.75, 1];
    const lines = ticks.flatMap((share) => [
      draw("line", { x1: LEFT, x2: WIDE - 14, y1: y(share * top), y2: y(share * top), class: "rule" }),
      draw("text", { x: LEFT - 6, y: y(share * top) + 4, "text-anchor": "end" }, (share * top).toPrecision(2)),
      draw("text", { x: x(share * right), y: HIGH - BELOW + 18, "text-anchor": "middle" }, (share * right).toPrecision(2))]);
    const shapes = { "source,source": CIRCLE, "target,source": TRIANGLE };
    const dots = points.map(({ name, head, place }) => {
      const label = `${name}, head ${head}: ${this.across.value} ${short(xs[place])}, ${this.up.value} ${short(ys[place])}`;
      const tell = () => { this.told.textContent = label; };
      return draw("path", { d: shapes[this.axesOf(name)] || SQUARE, transform: `translate(${x(xs[place])} ${y(ys[place])})`, tabindex: -1, role: "button",
        "aria-label": label, class: this.chosen(name, head) ? "dot chosen" : "dot", onpointerenter: tell, onfocus: tell,
        onclick: (event) => this.choose(event.currentTarget, name, head), onkeydown: (event) => {
          if (event.key === "Enter" || event.key === " ") this.choose(event.currentTarget, name, head);
        } });
    });
    const order = points.map((_, place) => place).sort((one, other) => xs[points[one].place] - xs[points[other].place]);
    roving(order.map((place) => dots[place]), (key, place) => ({ ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: dots.length - 1 })[key]);
    this.picture.replaceChildren(draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "scatter", role: "group",
      "aria-label": `Heads by ${this.across.value} and ${this.up.value}` }, ...lines, ...dots));
    this.told.textContent = "● source to source, ▲ target to source, ■ target to its past. Choose a head to enlarge it.";
  }

  choose(dot, name, head) {
    for (const other of this.picture.querySelectorAll(".dot")) other.classList.toggle("chosen", other === dot);
    this.onchoose(name, head);
  }
}
