// A matrix as a picture that can be read: a canvas with a pixel for every number, labels around it, a cell that moves
// with pointer and arrow keys, the number in words below, and the table behind.
import { behind, isolated, make, short, table } from "./dom.js";
import { paint } from "./shades.js";

const SMALLEST_WITH_LABELS = 10;
let made = 0;

export class Matrix {
  /** `data` has values (a flat array), rows, columns, largest, signed, rowLabels, columnLabels, rowMeaning,
   * columnMeaning, and maybe leftward and gold, `weights` if rows are weights of attention, and `within` if these are
   * over the positions that the rows are, `shades` (shares of a color) where these are not the values', and what is said of
   * what is `missing` (NaN); listeners are `onmove(r, c)`, `onchoose(r, c)` and, for values that
   * can be dragged, `ondrag(r, c, share)`. It is at most `most` pixels wide and high, or `high` pixels high. */
  constructor(data, { label = "Weights", most = 640, high, cell = 30, onmove, onchoose, ondrag } = {}) {
    Object.assign(this, { data, label, onmove, onchoose, ondrag });
    this.limits = { most, high, cell };
    this.canvas = make("canvas", { "aria-hidden": "true" });
    const id = `cell-${(made += 1)}`;
    this.active = make("div", { role: "gridcell", id, class: "active" });
    this.across = make("div", { class: "across", "aria-hidden": "true" });
    this.down = make("div", { class: "down", "aria-hidden": "true" });
    this.frames = make("div", { class: "frames", "aria-hidden": "true" });
    this.above = make("div", { class: "above", "aria-hidden": "true" });
    this.beside = make("div", { class: "beside", "aria-hidden": "true" });
    this.row = make("div", { role: "row" }, this.active);
    this.plot = make("div", { class: "plot", role: "grid", tabindex: 0, "aria-activedescendant": id, "aria-label": label },
      this.canvas, this.frames, this.across, this.down, this.row);
    this.readout = make("output", { class: "readout", "aria-live": "polite" });
    this.element = make("figure", { class: "matrix" },
      make("div", { class: "scroll" }, make("div", { class: "axes" }, this.above, this.beside, this.plot)), this.readout);
    this.table = null;
    this.listen();
    this.show(data);
  }

  /** Draws other numbers in the same place. */
  show(data) {
    this.data = data;
    this.place = [Math.min(this.place?.[0] ?? 0, data.rows - 1), Math.min(this.place?.[1] ?? 0, data.columns - 1)];
    const { most, high, cell } = this.limits;
    const size = (pixels, count) => Math.max(1, Math.min(cell, Math.floor(pixels / Math.max(count, 1))));
    this.cell = size(most, high ? data.columns : Math.max(data.rows, data.columns));
    this.tall = high ? size(high, data.rows) : this.cell;
    this.width = this.cell * data.columns;
    this.height = this.tall * data.rows;
    for (const element of [this.canvas, this.plot]) {
      element.style.width = `${this.width}px`;
      element.style.height = `${this.height}px`;
    }
    this.plot.setAttribute("aria-rowcount", data.rows);
    this.plot.setAttribute("aria-colcount", data.columns);
    this.plot.classList.toggle("fine", Math.min(this.cell, this.tall) < 6);
    this.labels();
    this.frames.replaceChildren(...(data.gold || []).map(([c, r]) => this.put(make("i"), r, c)));
    this.table?.remove();
    this.table = behind("Table", () => this.buildTable());
    this.element.append(this.table);
    this.paint();
    this.mark();
    this.readout.replaceChildren(make("span", { class: "hint" }, this.hint()));
  }

  hint() {
    const { rowMeaning, columnMeaning } = this.data;
    const axes = [rowMeaning && `Rows: ${rowMeaning}`, columnMeaning && `columns: ${columnMeaning}`].filter(Boolean).join("; ");
    return `${axes && `${axes}. `}Point at a cell, or move with the arrow keys.`;
  }

  paint() {
    const { shades, leftward } = this.data;
    paint(this.canvas, shades ? { ...this.data, values: shades, largest: 1 } : this.data, leftward);
  }

  labels() {
    const { rowLabels, columnLabels } = this.data;
    const [above, beside] = [this.cell >= SMALLEST_WITH_LABELS, this.tall >= SMALLEST_WITH_LABELS];
    const size = Math.max(9, Math.min(14, (beside ? Math.min(this.cell, this.tall) : this.cell) * 0.56));
    const slanted = columnLabels.some((label) => [...label].length > 2);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = `700 ${size}px system-ui, sans-serif`; // as the chosen label is
    const wide = (labels, shown) => (shown ? Math.max(0, ...labels.map((label) => pen.measureText(label).width)) : 0);
    const rise = slanted ? wide(columnLabels, above) * 0.82 + size * 1.5 : size * 1.8;
    this.above.style.height = `${above ? Math.ceil(rise) : 0}px`;
    this.above.style.width = `${this.width}px`;
    this.above.style.setProperty("--half", `${this.cell / 2}px`);
    this.above.style.marginInlineEnd = slanted ? `${Math.ceil(wide(columnLabels, above) * 0.57)}px` : "0";
    this.beside.style.width = beside ? `${Math.ceil(Math.min(wide(rowLabels, true), 180) + 16)}px` : "0";
    for (const element of [this.above, this.beside]) element.style.fontSize = `${size}px`;
    this.above.classList.toggle("slanted", slanted);
    const columns = above ? columnLabels.map((label, c) => this.put(make("span", {}, isolated(label)), null, c)) : [];
    const rows = beside ? rowLabels.map((label, r) => this.put(make("span", {}, isolated(label)), r, null)) : [];
    this.above.replaceChildren(...columns);
    this.beside.replaceChildren(...rows);
  }

  x(c) {
    return (this.data.leftward ? this.data.columns - 1 - c : c) * this.cell;
  }

  put(element, r, c) {
    if (c !== null) element.style.left = `${this.x(c)}px`;
    if (r !== null) element.style.top = `${r * this.tall}px`;
    if (c !== null) element.style.width = `${this.cell}px`;
    if (r !== null) element.style.height = `${this.tall}px`;
    if (r !== null && c === null) element.style.lineHeight = `${this.tall}px`;
    return element;
  }

  value(r, c) {
    return this.data.values[r * this.data.columns + c];
  }

  written(r, c) {
    const value = this.value(r, c);
    return Number.isNaN(value) && this.data.missing ? this.data.missing : short(value);
  }

  listen() {
    const at = (event) => {
      const box = this.canvas.getBoundingClientRect();
      const c = Math.floor(((event.clientX - box.left) / box.width) * this.data.columns);
      const r = Math.floor(((event.clientY - box.top) / box.height) * this.data.rows);
      if (r < 0 || c < 0 || r >= this.data.rows || c >= this.data.columns) return null;
      return [r, this.data.leftward ? this.data.columns - 1 - c : c];
    };
    this.plot.addEventListener("pointermove", (event) => {
      if (this.dragged) return this.drag(event);
      const place = at(event);
      if (place && (place[0] !== this.place[0] || place[1] !== this.place[1] || !this.told)) this.move(...place);
    });
    this.plot.addEventListener("pointerdown", (event) => {
      const place = at(event);
      if (!place || event.button) return;
      this.move(...place);
      this.onchoose?.(...place);
      if (this.ondrag) {
        this.dragged = { y: event.clientY, from: this.value(...place) };
        this.plot.setPointerCapture(event.pointerId);
      }
    });
    for (const name of ["pointerup", "pointercancel"]) this.plot.addEventListener(name, () => { this.dragged = null; });
    this.plot.addEventListener("focus", () => this.move(...this.place));
    this.plot.addEventListener("keydown", (event) => this.key(event));
  }

  /** Up is more: a hand's breadth from nothing to all. */
  drag(event) {
    const share = this.dragged.from + (this.dragged.y - event.clientY) / 150;
    this.ondrag(...this.place, Math.max(0, Math.min(1, share)));
  }

  key(event) {
    const [r, c] = this.place;
    const side = this.data.leftward ? -1 : 1;
    const { rows, columns } = this.data;
    const goal = event.ctrlKey
      ? { Home: [0, 0], End: [rows - 1, columns - 1] }[event.key]
      : { ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowRight: [r, c + side], ArrowLeft: [r, c - side], Home: [r, 0],
        End: [r, columns - 1], PageUp: [Math.max(0, r - 10), c], PageDown: [Math.min(rows - 1, r + 10), c] }[event.key];
    if (goal) {
      event.preventDefault();
      if (goal[0] >= 0 && goal[1] >= 0 && goal[0] < rows && goal[1] < columns) this.move(...goal);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.onchoose?.(r, c);
    } else if (this.ondrag && (event.key === "+" || event.key === "-")) {
      event.preventDefault();
      const step = event.key === "+" ? 0.1 : -0.1;
      this.ondrag(r, c, Math.max(0, Math.min(1, Math.round((this.value(r, c) + step) * 10) / 10)));
    }
  }

  move(r, c, silent = false) {
    if (!this.data.values.length) return;
    this.place = [r, c];
    this.mark();
    this.told = true;
    const { rowLabels, columnLabels } = this.data;
    this.readout.replaceChildren(make("b", {}, isolated(rowLabels[r])), " · ", make("b", {}, isolated(columnLabels[c])), " ",
      make("strong", {}, this.written(r, c)), " ", make("span", {}, this.rowInWords(r)));
    if (!silent) this.onmove?.(r, c);
  }

  /** What a row of weights does: how spread it is, and where it looks most. */
  rowInWords(r) {
    if (this.data.signed || !this.data.weights) return "";
    const { columns, within } = this.data;
    const row = this.data.values.subarray(r * columns, (r + 1) * columns);
    const sum = row.reduce((total, value) => total + value, 0);
    if (!(sum > 0)) return "· this row looks at nothing";
    const entropy = row.reduce((total, value) => total - (value > 0 ? (value / sum) * Math.log2(value / sum) : 0), 0);
    const distance = row.reduce((total, value, c) => total + (value / sum) * Math.abs(c - r), 0);
    return `· row: entropy ${entropy.toFixed(2)} bits${within ? `, mean distance ${distance.toFixed(1)}` : ""}`;
  }

  mark() {
    const [r, c] = this.place;
    if (r < 0 || c < 0) return;
    this.put(this.active, r, c);
    this.put(this.across, r, null);
    this.put(this.down, null, c);
    const { rowLabels, columnLabels } = this.data;
    this.row.setAttribute("aria-rowindex", r + 1);
    this.active.setAttribute("aria-colindex", c + 1);
    this.active.setAttribute("aria-label", `${rowLabels[r]}, ${columnLabels[c]}: ${this.written(r, c)}`);
    [...this.above.children].forEach((label, place) => label.classList.toggle("chosen", place === c));
    [...this.beside.children].forEach((label, place) => label.classList.toggle("chosen", place === r));
  }

  buildTable() {
    const { rows, columns, rowLabels, columnLabels } = this.data;
    const [shownRows, shownColumns] = [Math.min(rows, 100), Math.min(columns, 100)];
    const cut = rows > shownRows || columns > shownColumns ? `, the first ${shownRows} × ${shownColumns}` : "";
    return table(`${this.label}${cut}`, ["", ...columnLabels.slice(0, shownColumns)],
      Array.from({ length: shownRows }, (_, r) =>
        [rowLabels[r], ...Array.from({ length: shownColumns }, (__, c) => this.written(r, c))]));
  }
}
