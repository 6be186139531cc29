// An alignment as lines between two texts: the thicker, the more weight. One above the other where both fit in a row,
// otherwise beside one another.
import { along, bold, isolated, make, measure, percent, readout, roving } from "./dom.js";
import { draw } from "./drawing.js";
import { inspectionOf, tableOf } from "./matrix.js";
import { taking } from "./take.js";

const TITLE = "Alignment as lines";
const ROW = 24;
const GAP = 130;
const LEAST = 0.03;
const MOST_LINES = 3;
const [PADDING, SPACE, LONGEST] = [12, 2, 130];

export class Lines {
  /** `data` as of a matrix, rows looking at columns; `onmove(r)` tells which row is looked at; `room` is the width that
   * there is. */
  constructor(data, onmove, room = 560) {
    Object.assign(this, { data, onmove });
    const { rows, columns, rowLabels, columnLabels, leftward } = data;
    const wide = [columnLabels, rowLabels].map(widths);
    const whole = Math.max(...wide.map((each) => each.reduce((sum, width) => sum + width + SPACE, 0)));
    this.lying = whole <= room;
    this.middles = wide.map((each, side) => (this.lying ? middlesOf(each, whole, side === 0 && leftward) : each.map((_, place) => ROW * (place + 0.5))));
    const [width, height] = this.lying ? [whole, GAP] : [GAP, ROW * Math.max(rows, columns)];
    this.svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true", class: "links" });
    this.links = [];
    for (let r = 0; r < rows; r += 1) {
      const row = Array.from(data.values.subarray(r * columns, (r + 1) * columns), (value, c) => [value, c]);
      for (const [value, c] of row.sort((a, b) => b[0] - a[0]).slice(0, MOST_LINES)) {
        if (value < LEAST * data.largest) continue;
        const path = draw("path", { d: this.curve(this.middles[0][c], this.middles[1][r]) });
        path.style.strokeOpacity = (0.08 + 0.92 * value / data.largest).toFixed(3);
        path.style.strokeWidth = (0.6 + 3 * value / data.largest).toFixed(2);
        this.links.push({ r, c, path });
      }
    }
    this.svg.append(...this.links.map(({ path }) => path));
    this.columns = this.side(columnLabels, 0, wide[0], (place) => this.light({ c: place }));
    this.rows = this.side(rowLabels, 1, wide[1], (place) => {
      this.light({ r: place });
      this.onmove?.(place);
    });
    this.told = readout();
    const picture = make("div", { class: this.lying ? "lines lying" : "lines" },
      this.group(data.columnMeaning, this.columns, whole), this.svg, this.group(data.rowMeaning, this.rows, whole));
    this.element = make("div", { class: "drawn" }, make("div", { class: "scroll" }, picture), this.told,
      taking({ name: () => TITLE, picture: () => picture, table: () => tableOf(TITLE, data), json: () => inspectionOf(TITLE, data) }).element);
    this.light({});
    this.element.addEventListener("pointerleave", () => this.light({}));
  }

  curve(from, to) {
    const half = GAP / 2;
    return this.lying ? `M${from} 0 C${from} ${half} ${to} ${half} ${to} ${GAP}` : `M0 ${from} C${half} ${from} ${half} ${to} ${GAP} ${to}`;
  }

  group(meaning, tokens, whole) {
    const group = make("div", { class: "side", role: "group", "aria-label": meaning }, ...tokens);
    if (this.lying) group.style.width = `${whole}px`;
    return group;
  }

  side(labels, side, wide, show) {
    const made = labels.map((label, place) => {
      const token = make("span", { class: "token", role: "note", onpointerenter: () => show(place), onfocus: () => show(place) }, isolated(label));
      if (this.lying) {
        token.style.left = `${this.middles[side][place] - wide[place] / 2}px`;
        token.style.width = `${wide[place]}px`;
      }
      return token;
    });
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
    if (r === undefined) return this.told.replaceChildren(make("span", { class: "hint" }, "The thicker a line, the more weight. Point at a token to see its lines."));
    const { columns, values, rowLabels, columnLabels } = this.data;
    const best = Array.from(values.subarray(r * columns, (r + 1) * columns), (value, place) => [value, place])
      .sort((one, other) => other[0] - one[0]).slice(0, 3);
    return this.told.replaceChildren(bold(rowLabels[r]), " looks at ",
      ...best.flatMap(([value, place], index) => [index ? ", " : "", bold(columnLabels[place]), ` ${percent(value)}`]));
  }
}

/** How wide each token is drawn. */
function widths(labels) {
  const widthOf = measure("13px");
  return labels.map((label) => Math.ceil(Math.min(widthOf(label), LONGEST)) + PADDING);
}

/** Where the tokens of a row stand, in the middle of the room. */
function middlesOf(wide, whole, leftward) {
  const sum = wide.reduce((total, width) => total + width + SPACE, 0);
  let left = (whole - sum) / 2;
  const found = wide.map((width) => {
    left += width + SPACE;
    return left - SPACE / 2 - width / 2;
  });
  return leftward ? found.map((middle) => whole - middle) : found;
}
