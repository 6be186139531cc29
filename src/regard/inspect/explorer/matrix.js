// A matrix as a picture that can be read: a canvas with a pixel for every number, labels around it, a cell that moves
// with pointer and arrow keys, the number in words below, and the table behind. Large ones can be brought nearer.
import { bold, button, isolated, make, measure, percent, readout, short, table } from "./dom.js";
import { paint } from "./shades.js";
import { asInspection, taking } from "./take.js";

const SMALLEST_WITH_LABELS = 10;
/** Cells that are smaller can be zoomed. */
const COMFORTABLE = 18;
const LARGEST_CELL = 34;
const ROW = 18;
/** Rows and columns of a table that can still be read. */
const MOST_WRITTEN = 100;
let made = 0;

const matrices = new WeakMap();

/** The matrix whose grid this element is. */
export const matrixOf = (plot) => matrices.get(plot);

export class Matrix {
  /** `data` has values (a flat array), rows, columns, largest, signed, rowLabels, columnLabels, rowMeaning,
   * columnMeaning, and maybe axes, leftward and gold with what is `outlined`, `weights` if rows are weights of attention,
   * and `within` if these are over the positions that the rows are, `shades` (shares of a color) where these are not those
   * of the values, what is said of what is `missing` (NaN), and `texts` that have these numbers as their shares. Rows
   * are as high as columns are wide, unless all of them are to be `tall` pixels. Listeners are `onmove(r, c)`,
   * `onchoose(r, c)` and, for values that can be dragged, `ondrag(r, c, share)`. */
  constructor(data, { label = "Weights", most = 640, tall = 0, cell = 30, beside = 0, onmove, onchoose, ondrag } = {}) {
    Object.assign(this, { data, label, onmove, onchoose, ondrag });
    this.limits = { most, tall, cell, beside };
    this.zoom = 1;
    this.canvas = make("canvas", { "aria-hidden": "true" });
    const id = `cell-${(made += 1)}`;
    this.active = make("div", { role: "gridcell", id, class: "active" });
    for (const name of ["across", "down", "frames", "above", "beside"]) this[name] = make("div", { class: name, "aria-hidden": "true" });
    this.row = make("div", { role: "row" }, this.active);
    this.plot = make("div", { class: ondrag ? "plot drags" : "plot", role: "grid", tabindex: 0, "aria-activedescendant": id, "aria-label": label },
      this.canvas, this.frames, this.across, this.down, this.row);
    matrices.set(this.plot, this);
    this.readout = readout();
    this.nearer = this.zooming();
    this.axes = make("div", { class: "axes" }, this.above, this.beside, this.plot);
    this.window = make("div", { class: "scroll" }, this.axes);
    this.taken = taking({ name: () => this.label, picture: () => this.axes, table: () => tableOf(this.label, this.data), json: () => inspectionOf(this.label, this.data) });
    this.element = make("figure", { class: "matrix" }, this.nearer, this.window, this.readout, this.taken.element);
    this.listen();
    this.show(data);
  }

  /** Draws other numbers in the same place. */
  show(data) {
    this.data = data;
    this.place = [Math.min(this.place?.[0] ?? 0, data.rows - 1), Math.min(this.place?.[1] ?? 0, data.columns - 1)];
    this.frames.replaceChildren(...(data.gold || []).map(([c, r]) => this.put(make("i"), r, c)));
    this.plot.setAttribute("aria-rowcount", data.rows);
    this.plot.setAttribute("aria-colcount", data.columns);
    this.taken.close();
    this.fit();
    this.paint();
    this.readout.replaceChildren(make("span", { class: "hint" }, this.hint()));
  }

  /** Gives cells their size: what fits, times how near it was brought. */
  fit() {
    const { data, limits: { most, tall, cell } } = this;
    const share = most / Math.max(tall ? 1 : data.rows, data.columns, 1);
    const whole = share < SMALLEST_WITH_LABELS ? share : Math.floor(share);
    const areUnits = data.axes?.[1] === "feature";
    const fits = (most - (areUnits || whole >= SMALLEST_WITH_LABELS ? this.besideWidth(14) : 0)) / Math.max(data.columns, 1);
    const fitting = Math.max(1, Math.min(cell, whole, areUnits ? fits : Math.max(SMALLEST_WITH_LABELS, Math.floor(fits))));
    this.largestZoom = LARGEST_CELL / fitting;
    this.zoom = Math.max(1, Math.min(this.zoom, this.largestZoom));
    const near = fitting * this.zoom;
    this.cell = near < SMALLEST_WITH_LABELS ? near : Math.round(near);
    // Units have no order in which neighbors would matter, so that their cells need not be square, and rows can be read.
    if (tall) this.high = Math.max(1, Math.min(this.cell, Math.floor(tall / Math.max(data.rows, 1))));
    else this.high = areUnits ? Math.max(this.cell, Math.min(ROW, Math.floor(most / Math.max(data.rows, 1)))) : this.cell;
    this.nearer.hidden = fitting >= COMFORTABLE || tall > 0 || areUnits;
    this.window.classList.toggle("near", this.zoom > 1);
    this.width = this.cell * data.columns;
    this.height = this.high * data.rows;
    for (const element of [this.canvas, this.plot]) {
      element.style.width = `${this.width}px`;
      element.style.height = `${this.height}px`;
    }
    this.plot.classList.toggle("fine", Math.min(this.cell, this.high) < 6);
    this.labels();
    [...this.frames.children].forEach((frame, place) => this.put(frame, data.gold[place][1], data.gold[place][0]));
    this.mark();
  }

  /** Buttons that bring a large matrix nearer, until its labels can be read. */
  zooming() {
    const zoom = (text, label, near) => button(text, () => this.bring(near()), { "aria-label": label });
    return make("div", { class: "zoom", role: "group", "aria-label": "Zoom" }, zoom("−", "Zoom out", () => this.zoom / 2),
      zoom("+", "Zoom in", () => this.zoom * 2), zoom("Whole", "The whole picture", () => 1));
  }

  /** Brings it nearer, with the chosen cell, or what the pointer is at, staying in sight. */
  bring(zoom, at = null) {
    const before = this.cell;
    const [r, c] = at || this.place;
    const x = (this.x(c) + before / 2) - this.window.scrollLeft;
    const y = (r + 0.5) * this.high - this.window.scrollTop;
    this.zoom = zoom;
    this.fit();
    const inside = (place, size) => (place >= 0 && place <= size ? place : size / 2);
    this.window.scrollLeft = this.x(c) + this.cell / 2 - inside(x, this.window.clientWidth);
    this.window.scrollTop = (r + 0.5) * this.high - inside(y, this.window.clientHeight);
  }

  hint() {
    const { rowMeaning, columnMeaning } = this.data;
    const axes = [rowMeaning && `Rows: ${rowMeaning}`, columnMeaning && `columns: ${columnMeaning}`].filter(Boolean).join("; ");
    return `${axes && `${axes[0].toUpperCase()}${axes.slice(1)}. `}${this.data.gold?.length ? `Outlined: ${this.data.outlined || "true links"}. ` : ""}Point at a cell, tap it, or use the arrow keys.`;
  }

  paint() {
    const { shades, leftward } = this.data;
    paint(this.canvas, shades ? { ...this.data, values: shades, largest: 1 } : this.data, leftward);
  }

  labels() {
    const { rowLabels, columnLabels } = this.data;
    const [shown, named] = [this.cell, this.high].map((size) => size >= SMALLEST_WITH_LABELS);
    const size = Math.max(9, Math.min(14, (named ? this.high : this.cell) * 0.56));
    // Numbers of units are left out where they would touch.
    const room = this.data.axes?.[1] !== "feature" || widest(columnLabels, size) < this.cell - 2;
    const slanted = room && columnLabels.some((label) => [...label].length > 2) && this.data.axes?.[1] !== "feature";
    const wide = (labels) => (shown ? widest(labels, size) : 0);
    const rise = !room ? 0 : slanted ? wide(columnLabels) * 0.82 + size * 1.5 : size * 1.8;
    this.above.style.height = `${shown ? Math.ceil(rise) : 0}px`;
    this.above.style.width = `${this.width}px`;
    this.above.style.setProperty("--half", `${this.cell / 2}px`);
    this.above.style.marginInlineEnd = slanted ? `${Math.ceil(wide(columnLabels) * 0.57)}px` : "0";
    this.beside.style.width = named ? `${this.besideWidth(size)}px` : "0";
    for (const element of [this.above, this.beside]) element.style.fontSize = `${size}px`;
    this.above.classList.toggle("slanted", slanted);
    const columns = shown && room ? columnLabels.map((label, c) => this.put(make("span", {}, isolated(label)), null, c)) : [];
    const rows = named ? rowLabels.map((label, r) => this.put(make("span", {}, isolated(label)), r, null)) : [];
    this.above.replaceChildren(...columns);
    this.beside.replaceChildren(...rows);
    this.chosen = [];
  }

  besideWidth(size) {
    return Math.max(this.limits.beside, Math.ceil(Math.min(widest(this.data.rowLabels, size), 180) + 16));
  }

  x(c) {
    return (this.data.leftward ? this.data.columns - 1 - c : c) * this.cell;
  }

  put(element, r, c) {
    const { style } = element;
    if (c !== null) Object.assign(style, { left: `${this.x(c)}px`, width: `${this.cell}px` });
    if (r !== null) Object.assign(style, { top: `${r * this.high}px`, height: `${this.high}px` });
    if (r !== null && c === null) style.lineHeight = `${this.high}px`;
    return element;
  }

  value(r, c) {
    return this.data.values[r * this.data.columns + c];
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
    this.window.addEventListener("wheel", (event) => {
      if (!event.ctrlKey || this.nearer.hidden) return;
      event.preventDefault();
      this.bring(this.zoom * (event.deltaY < 0 ? 1.25 : 0.8), at(event));
    }, { passive: false });
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
      this.active.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.onchoose?.(r, c);
    } else if (this.ondrag && (event.key === "+" || event.key === "-")) {
      event.preventDefault();
      const step = event.key === "+" ? 0.1 : -0.1;
      this.ondrag(r, c, Math.max(0, Math.min(1, Math.round((this.value(r, c) + step) * 10) / 10)));
    }
  }

  /** Looks at a cell; a silent move is told to nobody. */
  move(r, c, silent = false) {
    if (!this.data.values.length) return;
    this.place = [r, c];
    this.mark();
    this.told = true;
    const { rowLabels, columnLabels, columns } = this.data;
    this.readout.replaceChildren(bold(rowLabels[r]), ...(columns > 1 ? [" · ", bold(columnLabels[c])] : []), " ",
      make("strong", {}, written(this.data, r, c)), " ", make("span", {}, this.rowInWords(r)));
    if (silent) return;
    this.onmove?.(r, c);
    this.plot.dispatchEvent(new CustomEvent("look-at", { bubbles: true, detail: [r, c] }));
  }

  /** What a row of weights does: how spread it is, and where it looks most. */
  rowInWords(r) {
    if (this.data.signed || !this.data.weights) return "";
    const { columns, within, rowMeaning } = this.data;
    const row = this.data.values.subarray(r * columns, (r + 1) * columns);
    const sum = row.reduce((total, value) => total + value, 0);
    if (!(sum > 0)) return "· this row looks at nothing";
    const entropy = row.reduce((total, value) => total - (value > 0 ? (value / sum) * Math.log2(value / sum) : 0), 0);
    const distance = row.reduce((total, value, c) => total + (value / sum) * Math.abs(c - r), 0);
    const apart = within ? `, mean distance ${distance.toFixed(1)}` : rowMeaning && "; there is no distance between two texts";
    return `· row: entropy ${entropy.toFixed(2)} bits${apart}`;
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
    this.active.setAttribute("aria-label", `${rowLabels[r]}, ${columnLabels[c]}: ${written(this.data, r, c)}`);
    for (const label of this.chosen) label.classList.remove("chosen");
    this.chosen = [this.above.children[c], this.beside.children[r]].filter(Boolean);
    for (const label of this.chosen) label.classList.add("chosen");
  }
}

const written = ({ values, columns, missing, texts }, r, c) => {
  const value = values[r * columns + c];
  if (texts) return `${texts[r * columns + c]} ${percent(value)}`;
  return Number.isNaN(value) && missing ? missing : short(value);
};

/** The numbers of a matrix as a table, or its texts, each with its share. */
export function tableOf(label, data) {
  const { rowLabels, columnLabels, texts } = data;
  const most = texts ? Infinity : MOST_WRITTEN;
  const [rows, columns] = [rowLabels, columnLabels].map((labels) => labels.slice(0, most));
  const cut = Math.max(rowLabels.length, columnLabels.length) > most ? `, the first ${rows.length} × ${columns.length}` : "";
  return table(`${label}${cut}`, ["", ...columns], rows.map((name, r) => [name, ...columns.map((_, c) => written(data, r, c))]));
}

/** The same as `Inspection.from_json` reads it. */
export function inspectionOf(label, { rows, columns, values, rowLabels, columnLabels, axes: [row, column] = ["row", "column"] }) {
  const labels = { [row]: rowLabels, ...(column && { [column]: columnLabels }) };
  const axes = column ? [row, column] : [row];
  return asInspection(label, { [label]: { axes, shape: column ? [rows, columns] : [rows], values } }, labels);
}

/** The width of the widest label, as it is when it is chosen. */
function widest(labels, size) {
  return Math.max(0, ...labels.map(measure(`700 ${size}px`)));
}
