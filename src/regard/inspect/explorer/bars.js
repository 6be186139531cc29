// A number for each of several tokens as a row of bars, one of which is chosen; with a table behind.
import { bold, isolated, make, readout, roving, short, table } from "./dom.js";
import { asInspection, taking } from "./take.js";

const HIGH = 110;

export class Bars {
  /** `rows` are named rows of numbers over the same labels; `onchoose(place)` gets a bar that is chosen. */
  constructor(labels, rows, { label, chosen = -1, leftward = false, axis = "token", onchoose } = {}) {
    Object.assign(this, { labels, rows, label, onchoose });
    this.tell = readout();
    const all = Object.entries(rows);
    this.columns = labels.map((name, place) => make(onchoose ? "button" : "span", { class: "column", ...(onchoose ? { type: "button" } : { role: "img" }),
      "aria-label": `${name}: ${all.map(([row, values]) => `${row} ${short(values[place])}`).join(", ")}`,
      onclick: () => this.choose(place), onpointerenter: () => this.show(place), onfocus: () => this.show(place) },
    ...all.map(([, values]) => this.bar(values, place)), make("span", { class: "under", "aria-hidden": "true" }, isolated(name))));
    const places = labels.map((_, place) => place);
    if (onchoose) {
      roving(leftward ? [...this.columns].reverse() : this.columns, (key, place) =>
        ({ ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: places.length - 1 })[key], Math.max(0, leftward ? places.length - 1 - chosen : chosen));
    }
    const heads = make("span", { class: "column heads", "aria-hidden": "true" }, ...all.map(([row]) => make("span", { class: "row-name" }, row)), make("span", { class: "under" }));
    const picture = make("div", { class: "bars-of-tokens", role: "group", "aria-label": label, dir: leftward ? "rtl" : "ltr" }, all.length > 1 ? heads : null, ...this.columns);
    this.element = make("div", { class: "drawn" }, make("div", { class: "scroll" }, picture), this.tell,
      taking({ name: () => label, picture: () => picture, table: () => table(label, ["", ...Object.keys(rows)],
        labels.map((name, place) => [name, ...all.map(([, values]) => short(values[place]))])),
      json: () => asInspection(label, Object.fromEntries(all.map(([row, values]) => [row, { axes: [axis], shape: [labels.length], values }])), { [axis]: labels }) }).element);
    this.mark(chosen);
    // Where not all have room, the chosen one is in sight.
    if (chosen >= 0) requestAnimationFrame(() => picture.parentElement.scrollTo({ left: this.columns[chosen].offsetLeft - picture.parentElement.clientWidth / 2 }));
  }

  /** A bar above or below its line. */
  bar(values, place) {
    const [least, most] = [Math.min(0, ...values), Math.max(0, ...values, 1e-12)];
    const scale = (most - least) || 1;
    const bar = make("span", { class: "fill" });
    const value = values[place];
    bar.style.height = `${(Math.abs(value) / scale) * HIGH}px`;
    bar.style.bottom = `${((Math.min(value, 0) - least) / scale) * HIGH}px`;
    const frame = make("span", { class: "frame" }, bar);
    frame.style.height = `${HIGH}px`;
    const line = make("span", { class: "line" });
    line.style.bottom = `${(-least / scale) * HIGH}px`;
    frame.append(line);
    return frame;
  }

  choose(place) {
    if (!this.onchoose) return;
    this.mark(place);
    this.onchoose(place);
  }

  mark(place) {
    this.columns.forEach((column, other) => {
      column.classList.toggle("chosen", other === place);
      if (this.onchoose) column.setAttribute("aria-pressed", String(other === place));
    });
    if (place >= 0) this.show(place);
  }

  show(place) {
    this.tell.replaceChildren(bold(this.labels[place]), Object.entries(this.rows).map(([row, values]) => ` ${row} ${short(values[place])}`).join(","));
  }
}
