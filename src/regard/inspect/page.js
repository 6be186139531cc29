"use strict";

const inspections = JSON.parse(document.getElementById("data").textContent);
const arrayMenu = document.getElementById("array");
const headMenu = document.getElementById("head");
const names = Object.keys(inspections[0].arrays);
const SLANT = (55 * Math.PI) / 180;
const MOST_CELLS = 20000;
const NUMBERED = 16;

/** An element with attributes, then text or children. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const heads = (array) => (array.axes[0] === "head" ? array.shape[0] : 0);
const axesOf = (array) => (heads(array) ? array.axes.slice(1) : array.axes);
const sameAxes = (one, other) => heads(one) && heads(other) && one.axes.join() === other.axes.join();

/** Arrays whose mean is shown before anything is chosen: those of attention that stand together. */
function together(inspection) {
  const shown = inspection.shown.filter((name) => heads(inspection.arrays[name]));
  return shown.filter((name) => sameAxes(inspection.arrays[name], inspection.arrays[shown[0]]));
}

/** The rows of a matrix out of an array: of one head, or the mean of all. */
function matrixOf(array, head = "") {
  const count = Math.max(heads(array), 1);
  const [rows, columns] = [...array.shape.slice(heads(array) ? 1 : 0), 1, 1];
  const wanted = head === "" ? [...Array(count).keys()] : [Number(head)];
  const value = (h, r, c) => Number(array.values[(h * rows + r) * columns + c]);
  return Array.from({ length: rows }, (_, r) => Array.from({ length: columns }, (_, c) =>
    wanted.reduce((sum, h) => sum + value(h, r, c), 0) / wanted.length));
}

function mean(matrices) {
  return matrices[0].map((row, r) =>
    row.map((_, c) => matrices.reduce((sum, matrix) => sum + matrix[r][c], 0) / matrices.length));
}

/** What is drawn: matrix, texts, axes and labels of the chosen array, or of those that stand together. */
function chosen(inspection) {
  const named = arrayMenu.value === "" ? together(inspection) : [arrayMenu.value];
  const arrays = named.map((name) => inspection.arrays[name]);
  const matrix = mean(arrays.map((array) => matrixOf(array, headMenu.value)));
  const [rowAxis, columnAxis] = axesOf(arrays[0]);
  const columns = matrix.length ? matrix[0].length : 0;
  const texts = arrays[0].texts && matrix.map((_, r) => arrays[0].texts.slice(r * columns, (r + 1) * columns));
  return { matrix, texts, rowAxis, columnAxis, rows: labels(inspection, rowAxis, matrix.length),
    columns: columnAxis ? labels(inspection, columnAxis, columns) : [named[0]] };
}

/** Labels of an axis; numbers, and not all of many, where it has none. */
function labels(inspection, axis, size) {
  if (inspection.labels[axis]) return inspection.labels[axis];
  let step = 1;
  while (size > NUMBERED * step) step *= 10;
  return Array.from({ length: size }, (_, place) => (place % step ? "" : String(place)));
}

function largest(matrix) {
  return Math.max(0, ...matrix.map((row) => Math.max(0, ...row.map(Math.abs).filter(Number.isFinite)))) || 1;
}

/** Shades an element by a share of the largest number; on dark shades the text turns light. */
function shade(element, share) {
  element.style.setProperty("--share", `${(100 * Math.min(Math.abs(share) || 0, 1)).toFixed(1)}%`);
  element.style.setProperty("--tone", share < 0 ? "var(--below)" : "var(--full)");
  element.classList.toggle("strong", Math.abs(share) > 0.55);
}

/** One example: its tokens, small pictures of all heads, the heat map, and what is under the pointer. */
class InspectionView {
  constructor(inspection, number) {
    this.inspection = inspection;
    const title = inspection.title || `Example ${number + 1}`;
    this.body = make("div");
    this.readout = make("output", { class: "readout", "aria-live": "polite" });
    this.article = make("article", { "aria-label": title }, make("h2", { dir: "auto" }, title),
      ...(inspection.note ? [make("p", { class: "note" }, inspection.note)] : []), this.body, this.readout);
    this.article.addEventListener("mouseleave", () => this.clear());
    this.draw();
  }

  draw() {
    Object.assign(this, chosen(this.inspection));
    this.top = largest(this.matrix);
    const most = Math.max(Math.floor(MOST_CELLS / Math.max(this.rows.length, 1)), 1);
    this.cut = this.columns.length > most ? `the first ${most} of ${this.columns.length} columns` : "";
    this.columns = this.columns.slice(0, most);
    this.leftward = this.inspection.leftward.includes(this.columnAxis);
    const shown = this.inspection.labels[this.columnAxis] && this.columnAxis !== this.rowAxis;
    this.above = shown ? this.words(this.columns, (c) => this.showColumn(c)) : [];
    this.written = this.words(this.rows, (r) => this.showRow(r));
    this.table = this.buildTable();
    this.body.replaceChildren(
      ...(shown ? [this.sentence(this.meaning(this.columnAxis), this.leftward, this.above)] : []),
      this.sentence(this.meaning(this.rowAxis), this.inspection.leftward.includes(this.rowAxis), this.written),
      ...(this.cut ? [make("p", { class: "note" }, this.cut)] : []),
      make("div", { class: "map" }, make("div", { class: "scroll" }, this.table), this.buildHeads()));
    this.clear();
  }

  meaning(axis) {
    return this.inspection.meanings[axis] || "";
  }

  words(labels, show) {
    return labels.map((label, place) => {
      const word = make("span", { class: "word", dir: "auto" }, label);
      word.addEventListener("mouseenter", () => show(place));
      return word;
    });
  }

  sentence(name, leftward, words) {
    return make("div", { class: "sentence" }, make("b", {}, name),
      make("div", { class: "words", dir: leftward ? "rtl" : "ltr" }, ...words));
  }

  buildTable() {
    const long = (label) => [...label].length > 2 && !this.texts;
    this.heading = this.columns.map((label) =>
      make("th", { scope: "col", class: long(label) ? "long" : "" }, make("span", { dir: "auto" }, label)));
    this.side = this.rows.map((label) => make("th", { scope: "row", dir: "auto" }, label));
    const framed = this.rowAxis === "target" && this.columnAxis === "source" ? this.inspection.gold : [];
    const gold = new Set(framed.map(([c, r]) => `${c}-${r}`));
    this.cells = this.rows.map((_, r) => this.columns.map((_, c) => this.cell(r, c, gold.has(`${c}-${r}`))));
    const table = make("table", { role: "grid", dir: this.leftward ? "rtl" : "ltr", "aria-label": "Numbers" },
      make("thead", {}, make("tr", {}, make("td", { style: "all: unset" }), ...this.heading)),
      make("tbody", {}, ...this.cells.map((row, r) => make("tr", {}, this.side[r], ...row))));
    this.fit(table, this.columns.filter(long));
    const place = (event) => event.target.closest("td[data-r]");
    const show = (event) => place(event) && this.showCell(Number(place(event).dataset.r), Number(place(event).dataset.c));
    table.addEventListener("mouseover", show);
    table.addEventListener("focusin", show);
    table.addEventListener("keydown", (event) => this.move(event));
    return table;
  }

  cell(r, c, framed) {
    const number = this.matrix[r][c].toFixed(this.texts ? 2 : 3);
    const text = this.texts ? `${this.texts[r][c]} ${number}` : this.columnAxis ? "" : number;
    const cell = make("td", { tabindex: r || c ? -1 : 0, "data-r": r, "data-c": c,
      class: `${framed ? "gold" : ""} ${text ? "text" : ""}`.trim(),
      "aria-label": `${this.rows[r]}, ${text || this.columns[c] || c}: ${this.matrix[r][c].toFixed(3)}` }, text);
    shade(cell, this.matrix[r][c] / this.top);
    return cell;
  }

  /** Smaller cells for long sentences, and room for slanted labels above and beside. */
  fit(table, slanted) {
    const count = this.inspection.labels[this.columnAxis] ? this.columns.length : 1;
    const cell = Math.max(12, Math.min(28, Math.floor(980 / Math.max(count, this.rows.length, 1))));
    const wide = this.columnAxis === "feature" && this.columns.length > 40 ? 6 : cell;
    const pen = document.createElement("canvas").getContext("2d");
    const size = Math.max(9, Math.min(15, cell * 0.55));
    pen.font = `${size}px system-ui, sans-serif`;
    const width = Math.max(0, ...slanted.map((label) => pen.measureText(label).width));
    table.style.cssText = `--cell: ${cell}px; --wide: ${wide}px; font-size: ${size}px;` +
      `--rise: ${Math.ceil(width * Math.sin(SLANT) + size * 1.9)}px; margin-inline-end: ${Math.ceil(width * Math.cos(SLANT))}px`;
  }

  /** A small picture of every head of the layers that stand together with the chosen one. */
  buildHeads() {
    const { arrays } = this.inspection;
    const first = arrays[arrayMenu.value === "" ? together(this.inspection)[0] : arrayMenu.value];
    const layers = names.filter((name) => sameAxes(arrays[name], first));
    const box = make("div", { class: "heads", role: "group", "aria-label": "Heads" });
    box.hidden = layers.reduce((sum, name) => sum + heads(arrays[name]), 0) < 2;
    if (box.hidden) return box;
    layers.forEach((name, place) => {
      const pictures = Array.from({ length: heads(arrays[name]) }, (_, head) => this.thumbnail(name, place, head));
      box.append(make("div", { title: name }, make("span", {}, `layer ${place}`), ...pictures));
    });
    return box;
  }

  thumbnail(name, place, head) {
    const matrix = matrixOf(this.inspection.arrays[name], head);
    const width = Math.max(matrix.length ? matrix[0].length : 0, 1);
    const canvas = make("canvas", { width, height: Math.max(matrix.length, 1) });
    const pen = canvas.getContext("2d");
    const top = largest(matrix);
    matrix.forEach((row, r) => row.forEach((weight, c) => {
      pen.fillStyle = `rgba(${weight < 0 ? "180, 67, 15" : "52, 126, 196"}, ${(Math.abs(weight) / top).toFixed(3)})`;
      pen.fillRect(this.leftward ? width - 1 - c : c, r, 1, 1);
    }));
    const label = `layer ${place}, head ${head}`;
    const pressed = (arrayMenu.value === "" || arrayMenu.value === name) && headMenu.value === String(head);
    const button = make("button", { type: "button", title: `${name}, head ${head}`, "aria-label": label,
      "aria-pressed": pressed }, canvas);
    button.addEventListener("click", () => choose(...(pressed ? [arrayMenu.options[0].value, ""] : [name, String(head)])));
    return button;
  }

  clear() {
    for (const word of [...this.above, ...this.written]) shade(word, 0);
    this.mark(null, null);
    this.readout.replaceChildren();
  }

  mark(r, c) {
    for (const [elements, place] of [[this.side, r], [this.written, r], [this.heading, c], [this.above, c]]) {
      elements.forEach((element, index) => element.classList.toggle("chosen", index === place));
    }
  }

  showRow(r) {
    this.clear();
    this.mark(r, null);
    this.above.forEach((word, c) => shade(word, this.matrix[r][c] / this.top));
    this.tell(this.rows[r], this.matrix[r], this.texts ? this.texts[r] : this.columns);
  }

  showColumn(c) {
    this.clear();
    this.mark(null, c);
    const column = this.matrix.map((row) => row[c]);
    this.written.forEach((word, r) => shade(word, column[r] / this.top));
    this.tell(this.columns[c], column, this.rows);
  }

  showCell(r, c) {
    this.showRow(r);
    this.mark(r, c);
    const label = this.texts ? this.texts[r][c] : this.columns[c] || String(c);
    this.readout.replaceChildren(make("b", { dir: "auto" }, this.rows[r]), " · ",
      make("b", { dir: "auto" }, label), ": ", make("b", {}, this.matrix[r][c].toFixed(3)));
  }

  /** The three largest numbers in words. */
  tell(start, weights, labels) {
    const order = weights.map((weight, place) => [weight, labels[place] || String(place)]).sort((a, b) => b[0] - a[0]);
    const best = order.slice(0, 3).map(([weight, label], place) =>
      [place ? ", " : ": ", make("bdi", {}, label), ` ${weight.toFixed(3)}`]);
    this.readout.replaceChildren(make("bdi", {}, start), ...best.flat());
  }

  /** Arrow keys walk over the cells; only one cell of a table is a stop of the tab key. */
  move(event) {
    const cell = event.target.closest("td[data-r]");
    if (!cell) return;
    const along = this.leftward ? -1 : 1;
    const [rows, columns] = [this.rows.length, this.columns.length];
    const [r, c] = [Number(cell.dataset.r), Number(cell.dataset.c)];
    const goal = { ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowRight: [r, c + along], ArrowLeft: [r, c - along],
      Home: [r, 0], End: [r, columns - 1] }[event.key];
    if (!goal || goal[0] < 0 || goal[1] < 0 || goal[0] >= rows || goal[1] >= columns) return;
    event.preventDefault();
    cell.tabIndex = -1;
    const next = this.cells[goal[0]][goal[1]];
    next.tabIndex = 0;
    next.focus();
  }
}

/** The mean of those that stand together, if there are several, then those that are shown, then all others. */
function fillMenus() {
  const [first] = inspections;
  const several = together(first);
  const all = several.length > 1 ? [make("option", { value: "" }, `mean of ${several.length} layers`)] : [];
  const drawable = names.filter((name) => axesOf(first.arrays[name]).length <= 2);
  const order = [...drawable.filter((name) => first.shown.includes(name)), ...drawable.filter((name) => !first.shown.includes(name))];
  arrayMenu.replaceChildren(...all, ...order.map((name) => make("option", { value: name }, name)));
  arrayMenu.parentElement.hidden = arrayMenu.length < 2;
  fillHeads();
}

/** Heads that every chosen array has. */
function fillHeads() {
  const [first] = inspections;
  const named = arrayMenu.value === "" ? together(first) : [arrayMenu.value];
  const count = Math.min(...named.map((name) => heads(first.arrays[name])));
  headMenu.replaceChildren(make("option", { value: "" }, "mean of all"),
    ...Array.from({ length: count }, (_, head) => make("option", { value: head }, head)));
  headMenu.parentElement.hidden = count < 2;
}

function choose(array, head) {
  arrayMenu.value = array;
  fillHeads();
  headMenu.value = Number(head) < headMenu.length - 1 ? head : "";
  views.forEach((view) => view.draw());
  explain();
}

/** The line above the pictures: what rows, columns and colors are. */
function explain() {
  const [view] = views;
  const signed = views.some((each) => each.matrix.some((row) => row.some((value) => value < 0)));
  document.querySelector(".ramp").classList.toggle("signed", signed);
  document.querySelector(".least").textContent = signed ? "−largest" : "0";
  const columns = view.columnAxis ? `, columns: ${view.meaning(view.columnAxis)}` : "";
  document.querySelector(".meaning").textContent = `Rows: ${view.meaning(view.rowAxis)}${columns}.`;
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.getElementById("theme").setAttribute("aria-pressed", dark);
}

fillMenus();
const views = inspections.map((inspection, number) => new InspectionView(inspection, number));
explain();
document.getElementById("looks").replaceChildren(...views.map((view) => view.article));
document.querySelector(".gold-key").hidden = !inspections.some((inspection) => inspection.gold.length);
arrayMenu.addEventListener("change", () => choose(arrayMenu.value, headMenu.value));
headMenu.addEventListener("change", () => choose(arrayMenu.value, headMenu.value));
setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
document.getElementById("theme").addEventListener("click", () =>
  setTheme(document.documentElement.dataset.theme !== "dark"));
