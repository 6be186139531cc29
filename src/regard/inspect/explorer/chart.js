// Numbers over positions as lines: a cursor that moves with pointer and arrow keys, the numbers there in words, and the
// table behind. Lines differ in dashes too, so that no one need tell their colors apart.
import { bold, make, measure, readout, short, table } from "./dom.js";
import { draw } from "./drawing.js";
import { asInspection, taking } from "./take.js";

const [LEFT, TOP, RIGHT] = [52, 10, 10];
const DASHES = ["", "7 4", "2 3", "9 3 2 3", "5 2", "1 5"];
const DECADES = 12;
const POWERS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

export class Chart {
  /** `data` has `series` (each a name, values and maybe the band `low` to `high`), the `labels` of positions, what they
   * are (`meaning`), `unit` of the values, and maybe `log`, `least`, `most` and `leftward`; `onmove(x)` and `onchoose(x)`
   * are told where the cursor is. */
  constructor(data, { label, wide = 640, high = 240, onmove, onchoose, begin = 0 } = {}) {
    Object.assign(this, { label, wide, high, onmove, onchoose });
    this.plot = make("div", { class: "plane", role: "slider", tabindex: 0, "aria-label": `${label}, position`, "aria-valuemin": 0 });
    this.legend = make("div", { class: "legend" });
    this.readout = readout();
    this.taken = taking({ name: () => label, picture: () => this.plot.parentElement.parentElement, table: () => this.buildTable(), json: () => this.inspection() });
    this.element = make("figure", { class: "chart" }, make("div", {}, this.legend, make("div", { class: "scroll" }, this.plot)), this.readout, this.taken.element);
    this.place = begin;
    this.listen();
    this.show(data);
  }

  /** Draws other numbers in the same place. */
  show(data) {
    this.data = data;
    this.count = data.labels.length;
    this.place = Math.max(0, Math.min(this.place, this.count - 1));
    this.scale();
    this.below = this.roomForLabels();
    const height = this.high + TOP + this.below;
    this.cursor = draw("line", { y1: TOP, y2: TOP + this.high, class: "cursor" });
    this.dots = data.series.map((_, place) => draw("circle", { r: 3.5, class: `dot line-${place % DASHES.length}` }));
    this.plot.replaceChildren(draw("svg", { viewBox: `0 0 ${this.wide} ${height}`, width: this.wide, height, "aria-hidden": "true" },
      ...this.rules(), ...this.names(), ...data.series.flatMap((each, place) => this.line(each, place)), this.cursor, ...this.dots));
    this.plot.setAttribute("aria-valuemax", Math.max(0, this.count - 1));
    this.legend.replaceChildren(...(data.series.length > 1 ? data.series.map((each, place) => make("span", {}, this.swatch(place), each.name)) : []));
    this.taken.close();
    this.mark();
    this.readout.replaceChildren(make("span", { class: "hint" }, "Point at a position, or use the arrow keys."));
  }

  buildTable() {
    const { labels, series, meaning } = this.data;
    return table(this.label, [meaning || "", ...series.map((each) => each.name)], labels.map((text, x) => [text, ...series.map((each) => told(each.values[x]))]));
  }

  /** What is shown, as `Inspection.from_json` reads it. */
  inspection() {
    const { labels, series } = this.data;
    const filled = (values) => labels.map((_, x) => values[x] ?? NaN);
    return asInspection(this.label, Object.fromEntries(series.map(({ name, values }) => [name, { axes: ["position"], shape: [labels.length], values: filled(values) }])),
      { position: labels });
  }

  swatch(place) {
    return draw("svg", { viewBox: "0 0 26 10", width: 26, height: 10, "aria-hidden": "true" },
      draw("line", { x1: 1, x2: 25, y1: 5, y2: 5, class: `curve line-${place % DASHES.length}`, "stroke-dasharray": DASHES[place % DASHES.length] }));
  }

  scale() {
    const { series, log } = this.data;
    const all = series.flatMap((each) => [...each.values, ...(each.low || []), ...(each.high || [])])
      .filter((value) => Number.isFinite(value) && (!log || value > 0)).map((value) => (log ? Math.log10(value) : value));
    const [least, most] = all.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    let [low, high] = all.length ? [least, most] : [0, 1];
    if (log) [low, high] = [Math.floor(Math.max(low, most - DECADES)), Math.ceil(high)];
    [low, high] = [this.data.least ?? low, this.data.most ?? high];
    if (high <= low) high = low + 1;
    this.step = log ? Math.ceil((high - low) / 6) : roundStep((high - low) / 4);
    this.range = [Math.floor(low / this.step + 1e-9) * this.step, Math.ceil(high / this.step - 1e-9) * this.step];
  }

  x(place) {
    const share = this.count > 1 ? place / (this.count - 1) : 0.5;
    const width = this.wide - LEFT - RIGHT;
    return LEFT + width * (this.data.leftward ? 1 - share : share);
  }

  y(value) {
    const [low, high] = this.range;
    const shown = this.data.log ? Math.log10(value) : value;
    return TOP + this.high * (1 - (Math.max(low, Math.min(high, shown)) - low) / (high - low));
  }

  isShown(value) {
    return Number.isFinite(value) && (!this.data.log || value > 0);
  }

  rules() {
    const [low, high] = this.range;
    const ticks = Array.from({ length: Math.round((high - low) / this.step) + 1 }, (_, place) => low + place * this.step);
    return ticks.flatMap((tick) => {
      const y = this.y(this.data.log ? 10 ** tick : tick);
      const text = this.data.log ? `10${[...String(Math.round(tick))].map((sign) => POWERS[sign]).join("")}` : String(Number(tick.toFixed(6))).replace("-", "−");
      return [draw("line", { x1: LEFT, x2: this.wide - RIGHT, y1: y, y2: y, class: "rule" }),
        draw("text", { x: LEFT - 7, y: y + 4, "text-anchor": "end" }, text)];
    });
  }

  /** Labels stand upright where they have room, and are slanted where not; of too many, some are left out. */
  roomForLabels() {
    const widest = Math.min(110, Math.max(0, ...this.data.labels.map(measure("12px"))));
    const gap = (this.wide - LEFT - RIGHT) / Math.max(1, this.count - 1);
    this.slanted = widest > gap - 4;
    this.every = Math.max(1, Math.ceil((this.slanted ? 13 : widest + 4) / gap));
    return this.slanted ? Math.ceil(widest * 0.8) + 22 : 24;
  }

  names() {
    return this.data.labels.flatMap((label, place) => {
      if (place % this.every) return [];
      const [x, y] = [this.x(place), TOP + this.high + 15];
      const turned = this.slanted ? { transform: `rotate(-50 ${x} ${y})`, "text-anchor": "end" } : { "text-anchor": "middle" };
      return [draw("text", { x, y, ...turned }, label.length > 16 ? `${label.slice(0, 15)}…` : label)];
    });
  }

  line({ values, low, high }, place) {
    const number = place % DASHES.length;
    const parts = [];
    values.forEach((value, x) => {
      if (!this.isShown(value)) return;
      const joins = x > 0 && this.isShown(values[x - 1]);
      parts.push(`${joins ? "L" : "M"}${this.x(x).toFixed(1)} ${this.y(value).toFixed(1)}`);
      // A position whose neighbors have no number is a point.
      if (!joins && !this.isShown(values[x + 1])) parts.push("h0.01");
    });
    const curve = draw("path", { d: parts.join(""), class: `curve line-${number}`, "stroke-dasharray": DASHES[number] });
    if (!low) return [curve];
    const edge = (numbers) => numbers.map((value, x) => `${this.x(x).toFixed(1)} ${this.y(value).toFixed(1)}`);
    return [draw("path", { d: `M${edge(low).join("L")}L${edge(high).reverse().join("L")}Z`, class: `band line-${number}` }), curve];
  }

  listen() {
    const at = (event) => {
      const box = this.plot.firstChild.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * this.wide;
      const share = Math.max(0, Math.min(1, (x - LEFT) / (this.wide - LEFT - RIGHT)));
      return Math.round((this.data.leftward ? 1 - share : share) * (this.count - 1));
    };
    this.plot.addEventListener("pointermove", (event) => this.count && this.move(at(event)));
    this.plot.addEventListener("click", (event) => this.count && this.onchoose?.(at(event)));
    this.plot.addEventListener("focus", () => this.count && this.move(this.place));
    this.plot.addEventListener("keydown", (event) => {
      const side = this.data.leftward ? -1 : 1;
      const goal = { ArrowRight: this.place + side, ArrowLeft: this.place - side, ArrowUp: this.place + 1, ArrowDown: this.place - 1,
        Home: 0, End: this.count - 1, PageUp: this.place + 10, PageDown: this.place - 10 }[event.key];
      if (goal !== undefined) {
        event.preventDefault();
        this.move(Math.max(0, Math.min(this.count - 1, goal)));
      } else if (event.key === "Enter") this.onchoose?.(this.place);
    });
  }

  move(place, silent = false) {
    this.place = place;
    this.mark();
    const { labels, series } = this.data;
    const unit = this.data.unit ? ` ${this.data.unit}` : "";
    const said = series.map((each) => `${series.length > 1 ? `${each.name} ` : ""}${told(each.values[place])}${unit}`).join(" · ");
    this.plot.setAttribute("aria-valuetext", `${labels[place]}: ${said}`);
    this.readout.replaceChildren(bold(labels[place]), ` ${said}`);
    if (!silent) this.onmove?.(place);
  }

  mark() {
    this.plot.setAttribute("aria-valuenow", Math.max(0, this.place));
    this.plot.setAttribute("aria-valuetext", this.data.labels[this.place] ?? "");
    const x = this.x(this.place);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    this.data.series.forEach(({ values }, number) => {
      const seen = this.isShown(values[this.place]);
      this.dots[number].setAttribute("cx", x);
      this.dots[number].setAttribute("cy", seen ? this.y(values[this.place]) : -9);
    });
  }
}

/** One, two or five times a power of ten, at least as large. */
export function roundStep(step) {
  const power = 10 ** Math.floor(Math.log10(step));
  return power * [1, 2, 5, 10].find((digit) => digit * power >= step * 0.999);
}

const told = (value) => (value === undefined || Number.isNaN(value) ? "–" : short(value));
