// All heads in a plane, by two of the numbers that say what they do: the way to find the interesting one.
import { heading, make, menu, readout, roving, section, short, table } from "./dom.js";
import { roundStep } from "./chart.js";
import { draw } from "./drawing.js";
import { taking } from "./take.js";

const [WIDE, HIGH, LEFT, RIGHT, TOP, BELOW] = [460, 350, 58, 14, 34, 48];
const SHAPES = ["M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z", "M0-6L6 5L-6 5z", "M-4.5-4.5h9v9h-9z", "M0-6.5L6 0L0 6.5L-6 0z"];
const WORDS = { entropy: "entropy (bits)", distance: "mean distance", previous: "weight of the previous token", own: "weight of the token itself",
  next: "weight of the next token", punctuation: "weight of punctuation", special: "weight of the end mark", aligned: "weight of the aligned token" };
const said = (name) => WORDS[name] || name;

export class Scatter {
  /** `seen` is an inspection of "layer head" numbers; `kinds` are the names of kinds of attention, of which `kindOf(name)`
   * is that of a layer; `chosen(name, head)` says which head is looked at, and `onchoose(name, head)` gets that of a
   * point. */
  constructor(seen, { kinds, kindOf, chosen, onchoose }) {
    Object.assign(this, { seen, kinds, kindOf, chosen, onchoose });
    this.names = seen.shown.arrays.map((array) => array.name);
    this.layers = seen.shown.labels.layer;
    [this.across, this.up] = [this.names[0], this.widest()];
    this.picture = make("div");
    this.told = readout();
    const axis = (label, key) => menu(label, this.names.map((name) => [name, said(name)]), this[key], (name) => {
      this[key] = name;
      this.draw();
    });
    this.element = section(heading("What each head does", axis("x", "across"), axis("y", "up")), this.picture, this.told,
      taking({ name: () => "What each head does", picture: () => this.picture, table: () => this.buildTable(), json: () => seen.inspection() }).element);
    this.draw();
  }

  /** The share by which heads differ most, to begin with; never what the other axis shows. */
  widest() {
    const range = (name) => {
      const known = this.seen.values(name).filter(Number.isFinite);
      return name === "distance" ? 0 : Math.max(...known) - Math.min(...known);
    };
    return this.names.slice(1).sort((one, other) => range(other) - range(one))[0];
  }

  buildTable() {
    return table("What each head does, over the positions of this text", ["head", ...this.names.map(said)],
      this.heads().map(({ name, head, place }) => [`${name} ${head}`, ...this.names.map((each) => this.number(each, place))]));
  }

  number(name, place) {
    const value = this.seen.values(name)[place];
    return Number.isNaN(value) ? "–" : short(value);
  }

  heads() {
    const [, count] = this.seen.array(this.names[0]).shape;
    const first = this.seen.values(this.names[0]);
    return first.map((value, place) => ({ name: this.layers[Math.floor(place / count)], head: place % count, place }))
      .filter(({ place }) => Number.isFinite(first[place]));
  }

  draw() {
    const { across, up } = this;
    const [xs, ys] = [across, up].map((name) => this.seen.values(name));
    const points = this.heads().filter(({ place }) => Number.isFinite(xs[place]) && Number.isFinite(ys[place]));
    const ticks = (values) => {
      const most = Math.max(1e-6, ...points.map(({ place }) => values[place]));
      const step = roundStep(most / 4);
      return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, number) => Number((number * step).toPrecision(6)));
    };
    const [right, top] = [ticks(xs), ticks(ys)];
    const x = (value) => LEFT + (value / right.at(-1)) * (WIDE - LEFT - RIGHT);
    const y = (value) => HIGH - BELOW - (value / top.at(-1)) * (HIGH - BELOW - TOP);
    const middle = (HIGH - BELOW + TOP) / 2;
    const axes = [
      ...top.flatMap((tick) => [draw("line", { x1: LEFT, x2: WIDE - RIGHT, y1: y(tick), y2: y(tick), class: "rule" }), draw("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, String(tick))]),
      ...right.map((tick) => draw("text", { x: x(tick), y: HIGH - BELOW + 18, "text-anchor": "middle" }, String(tick))),
      draw("text", { x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 8, "text-anchor": "middle", class: "title" }, said(across)),
      draw("text", { x: 14, y: middle, "text-anchor": "middle", class: "title", transform: `rotate(-90 14 ${middle})` }, said(up))];
    const dots = points.map(({ name, head, place }) => {
      const label = `${name}, head ${head}: ${said(across)} ${short(xs[place])}, ${said(up)} ${short(ys[place])}`;
      const tell = () => { this.told.textContent = label; };
      const choose = (event) => this.choose(event.currentTarget, name, head);
      return draw("path", { d: SHAPES[this.kindOf(name) % SHAPES.length], transform: `translate(${x(xs[place])} ${y(ys[place])})`, role: "button", "aria-label": label,
        class: this.chosen(name, head) ? "dot chosen" : "dot", onpointerenter: tell, onfocus: tell, onclick: choose, onkeydown: (event) => {
          if (event.key === "Enter" || event.key === " ") choose(event);
        } });
    });
    const order = points.map((_, place) => place).sort((one, other) => xs[points[one].place] - xs[points[other].place]);
    roving(order.map((place) => dots[place]), (key, place) => ({ ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: dots.length - 1 })[key]);
    this.picture.replaceChildren(draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "scatter", role: "group", "aria-label": `Heads by ${said(across)} and ${said(up)}` },
      ...this.legend(points), ...axes, ...dots));
    this.told.replaceChildren(make("span", { class: "hint" }, "Point at a head to read its numbers; choose it to enlarge it."));
  }

  /** The shapes of those kinds of attention that there are. */
  legend(points) {
    const kinds = [...new Set(points.map(({ name }) => this.kindOf(name)))].sort();
    const wide = (WIDE - LEFT - RIGHT) / kinds.length;
    return kinds.map((kind, place) => draw("g", { transform: `translate(${LEFT + 6 + place * wide} 14)` },
      draw("path", { d: SHAPES[kind % SHAPES.length], class: "shape" }), draw("text", { x: 11, y: 4 }, this.kinds[kind])));
  }

  choose(dot, name, head) {
    for (const other of this.picture.querySelectorAll(".dot")) other.classList.toggle("chosen", other === dot);
    this.onchoose(name, head);
  }
}
