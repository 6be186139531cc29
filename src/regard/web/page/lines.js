// An alignment as lines between two columns of tokens: the thicker, the more weight.
import { isolated, make, percent, roving, along } from "./dom.js";
import { draw } from "./drawing.js";

const ROW = 24;
const WIDE = 130;
const LEAST = 0.03;
const MOST_LINES = 3;

export class Lines {
  /** `data` as of a matrix, rows looking at columns; `onmove(r)` tells which row is looked at. */
  constructor(data, onmove) {
    Object.assign(this, { data, onmove });
    const { rows, columns, rowLabels, columnLabels } = data;
    const height = ROW * Math.max(rows, columns);
    this.svg = draw("svg", { viewBox: `0 0 ${WIDE} ${height}`, width: WIDE, height, "aria-hidden": "true", class: "links" });
    this.links = [];
    for (let r = 0; r < rows; r += 1) {
      const row = Array.from(data.values.subarray(r * columns, (r + 1) * columns), (value, c) => [value, c]);
      for (const [value, c] of row.sort((a, b) => b[0] - a[0]).slice(0, MOST_LINES)) {
        if (value < LEAST * data.largest) continue;
        const [from, to] = [ROW * (c + 0.5), ROW * (r + 0.5)];
        const path = draw("path", { d: `M0 ${from} C${WIDE / 2} ${from} ${WIDE / 2} ${to} ${WIDE} ${to}` });
        path.style.strokeOpacity = (0.08 + 0.92 * value / data.largest).toFixed(3);
        path.style.strokeWidth = (0.6 + 3 * value / data.largest).toFixed(2);
        this.links.push({ r, c, path });
      }
    }
    this.svg.append(...this.links.map(({ path }) => path));
    this.columns = this.side(columnLabels, (place) => this.light({ c: place }));
    this.rows = this.side(rowLabels, (place) => {
      this.light({ r: place });
      this.onmove?.(place);
    });
    this.told = make("output", { class: "readout", "aria-live": "polite" });
    this.element = make("div", {}, make("div", { class: "lines" },
      make("div", { class: "side", role: "group", "aria-label": data.columnMeaning }, ...this.columns), this.svg,
      make("div", { class: "side", role: "group", "aria-label": data.rowMeaning }, ...this.rows)), this.told);
    this.element.addEventListener("pointerleave", () => this.light({}));
  }

  side(labels, show) {
    const made = labels.map((label, place) => make("span", { class: "token", role: "note",
      onpointerenter: () => show(place), onfocus: () => show(place) }, isolated(label)));
    roving(made, along(made.length));
    return made;
  }

  /** Lights the lines of one row or column. */
  light({ r, c }) {
    const chosen = r !== undefined || c !== undefined;
    this.svg.classList.toggle("some", chosen);
    const seen = [new Set(), new Set()];
    for (const link of this.links) {
      const lit = link.r === r || link.c === c;
      link.path.classList.toggle("lit", lit);
      if (lit) {
        seen[0].add(link.r);
        seen[1].add(link.c);
      }
    }
    this.rows.forEach((token, place) => token.classList.toggle("lit", place === r || seen[0].has(place)));
    this.columns.forEach((token, place) => token.classList.toggle("lit", place === c || seen[1].has(place)));
    if (r === undefined) return this.told.replaceChildren();
    const { columns, values, rowLabels, columnLabels } = this.data;
    const best = Array.from(values.subarray(r * columns, (r + 1) * columns), (value, place) => [value, place])
      .sort((one, other) => other[0] - one[0]).slice(0, 3);
    return this.told.replaceChildren(make("b", {}, isolated(rowLabels[r])), " looks at ",
      ...best.flatMap(([value, place], index) => [index ? ", " : "", make("b", {}, isolated(columnLabels[place])), ` ${percent(value)}`]));
  }
}
