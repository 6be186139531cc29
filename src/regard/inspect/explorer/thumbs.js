// All heads of some layers as small pictures, a row for each layer, to choose from.
import { button, make, roving, short, table } from "./dom.js";
import { largestOf } from "./api.js";
import { paint } from "./shades.js";
import { taking } from "./take.js";

const SMALL = 48;

export class Thumbs {
  /** `names` are arrays of attention over the same axes, `chosen` the name and head that are looked at; `onchoose(name,
   * head)` gets the head of a picture. */
  constructor(seen, names, chosen, onchoose) {
    this.pictures = names.flatMap((name, layer) => Array.from({ length: seen.array(name).shape[0] }, (_, head) => {
      const called = `layer ${layer}, head ${seen.headNames(name)[head]}`;
      const canvas = make("canvas", { "aria-hidden": "true" });
      return { name, head, canvas, button: button(canvas, () => onchoose(name, head), { "aria-label": called, title: `${called}: ${name}` }) };
    }));
    const rows = names.map((name, layer) => make("div", {}, make("span", {}, `layer ${layer}`), ...this.of(name).map((each) => each.button)));
    this.grid = make("div", { class: "thumbs", role: "group", "aria-label": "Heads" }, ...rows);
    this.element = make("div", {}, this.grid,
      taking({ name: () => "Heads", picture: () => this.grid, table: () => this.buildTable(seen, names), json: () => seen.inspection(names) }).element);
    const most = Math.max(...names.map((name) => this.of(name).length));
    this.grid.style.setProperty("--heads", most);
    roving(this.pictures.map((each) => each.button), (key, place) => ({ ArrowRight: place + 1, ArrowLeft: place - 1, ArrowDown: place + most, ArrowUp: place - most,
      Home: 0, End: this.pictures.length - 1 })[key], Math.max(0, this.press(...chosen)));
    this.ready = Promise.all(names.map((name) => this.paint(seen, name)));
  }

  of(name) {
    return this.pictures.filter((each) => each.name === name);
  }

  /** Each layer is drawn when its numbers come. */
  async paint(seen, name) {
    const { values, shape: [, rows, columns] } = await seen.numbers(name, { exact: false, most: SMALL });
    for (const { canvas, head } of this.of(name)) {
      const own = values.subarray(head * rows * columns, (head + 1) * rows * columns);
      paint(canvas, { values: own, rows, columns, largest: largestOf(own), signed: false }, seen.leftward(seen.array(name).axes[2]));
    }
  }

  /** Each head with its largest weight, and between which tokens that is. */
  async buildTable(seen, names) {
    const all = await Promise.all(names.map((name) => seen.numbers(name)));
    const rows = this.pictures.map(({ name, head }) => {
      const { values, shape: [, count, columns] } = all[names.indexOf(name)];
      const own = values.subarray(head * count * columns, (head + 1) * count * columns);
      const best = own.indexOf(largestOf(own));
      const [, from, to] = seen.array(name).axes;
      return [`${name} ${head}`, short(own[best]), seen.labels(from, count)[Math.floor(best / columns)], seen.labels(to, columns)[best % columns]];
    });
    return table("Where each head looks most", ["head", "largest weight", "from", "to"], rows);
  }

  /** Marks the head that is chosen, and gives its place. */
  press(name, head) {
    const chosen = this.pictures.findIndex((each) => each.name === name && each.head === head);
    this.pictures.forEach((each, place) => each.button.setAttribute("aria-pressed", String(place === chosen)));
    return chosen;
  }
}
