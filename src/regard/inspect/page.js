"use strict";

const looks = JSON.parse(document.getElementById("data").textContent);
const layerMenu = document.getElementById("layer");
const headMenu = document.getElementById("head");
const layers = Object.keys(looks[0].weights);
const SLANT = (55 * Math.PI) / 180;

/** An element with attributes, then text or children. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function mean(matrices) {
  return matrices[0].map((row, t) =>
    row.map((_, s) => matrices.reduce((sum, matrix) => sum + matrix[t][s], 0) / matrices.length));
}

/** The matrix that the menus name: one head, the mean of a layer, or the mean of layers. */
function chosenMatrix(look) {
  const head = headMenu.value;
  const names = layerMenu.value === "" ? layers : [layerMenu.value];
  return mean(names.map((name) => (head === "" ? mean(look.weights[name]) : look.weights[name][Number(head)])));
}

function largest(matrix) {
  return Math.max(...matrix.map((row) => Math.max(0, ...row))) || 1;
}

/** Shades an element by a share of the largest weight; on dark shades the text turns light. */
function shade(element, share) {
  element.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
  element.classList.toggle("strong", share > 0.55);
}

/** One example: sentences, small pictures of all heads, the heat map, and what is under the pointer. */
class LookView {
  constructor(look, number) {
    this.look = look;
    this.sources = this.words(look.source, (s) => this.showColumn(s));
    this.targets = this.words(look.target, (t) => this.showRow(t));
    this.readout = make("output", { class: "readout", "aria-live": "polite" });
    this.heads = make("div", { class: "heads", role: "group", "aria-label": "Heads" });
    this.table = this.buildTable();
    const title = look.title || `Example ${number + 1}`;
    this.article = make("article", { "aria-label": title },
      make("h2", { dir: "auto" }, title),
      this.sentence("read", look.leftward, this.sources),
      this.sentence("written", false, this.targets),
      make("div", { class: "map" }, make("div", { class: "scroll" }, this.table), this.heads),
      this.readout);
    this.article.addEventListener("mouseleave", () => this.clear());
    this.buildHeads();
    this.draw();
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
    const { source, target, leftward } = this.look;
    const long = (label) => [...label].length > 2;
    this.columns = source.map((label) =>
      make("th", { scope: "col", class: long(label) ? "long" : "" }, make("span", { dir: "auto" }, label)));
    this.rows = target.map((label) => make("th", { scope: "row", dir: "auto" }, label));
    const gold = new Set(this.look.gold.map(([s, t]) => `${s}-${t}`));
    this.cells = target.map((_, t) => source.map((_, s) =>
      make("td", { tabindex: t || s ? -1 : 0, class: gold.has(`${s}-${t}`) ? "gold" : "", "data-t": t, "data-s": s })));
    const table = make("table", { role: "grid", dir: leftward ? "rtl" : "ltr", "aria-label": "Attention weights" },
      make("thead", {}, make("tr", {}, make("td", { style: "all: unset" }), ...this.columns)),
      make("tbody", {}, ...this.cells.map((row, t) => make("tr", {}, this.rows[t], ...row))));
    this.fit(table, source.filter(long));
    const place = (event) => event.target.closest("td[data-t]");
    const show = (event) => place(event) && this.showCell(Number(place(event).dataset.t), Number(place(event).dataset.s));
    table.addEventListener("mouseover", show);
    table.addEventListener("focusin", show);
    table.addEventListener("keydown", (event) => this.move(event));
    return table;
  }

  /** Smaller cells for long sentences, and room for slanted labels above and beside. */
  fit(table, slanted) {
    const { source, target } = this.look;
    const cell = Math.max(12, Math.min(28, Math.floor(980 / Math.max(source.length, target.length, 1))));
    const pen = document.createElement("canvas").getContext("2d");
    const size = Math.max(9, Math.min(15, cell * 0.55));
    pen.font = `${size}px system-ui, sans-serif`;
    const width = Math.max(0, ...slanted.map((label) => pen.measureText(label).width));
    table.style.cssText = `--cell: ${cell}px; font-size: ${size}px;` +
      `--rise: ${Math.ceil(width * Math.sin(SLANT) + size * 1.9)}px; margin-inline-end: ${Math.ceil(width * Math.cos(SLANT))}px`;
  }

  buildHeads() {
    const count = layers.reduce((sum, name) => sum + this.look.weights[name].length, 0);
    this.heads.hidden = count < 2;
    if (this.heads.hidden) return;
    layers.forEach((name, place) => {
      const pictures = this.look.weights[name].map((matrix, head) => this.thumbnail(name, place, matrix, head));
      this.heads.append(make("div", { title: name }, make("span", {}, `layer ${place + 1}`), ...pictures));
    });
  }

  thumbnail(name, place, matrix, head) {
    const width = Math.max(this.look.source.length, 1);
    const canvas = make("canvas", { width, height: Math.max(this.look.target.length, 1) });
    const pen = canvas.getContext("2d");
    const top = largest(matrix);
    matrix.forEach((row, t) => row.forEach((weight, s) => {
      pen.fillStyle = `rgba(52, 126, 196, ${(weight / top).toFixed(3)})`;
      pen.fillRect(this.look.leftward ? width - 1 - s : s, t, 1, 1);
    }));
    const label = `layer ${place + 1}, head ${head + 1}`;
    const button = make("button", { type: "button", title: `${name}, head ${head + 1}`, "aria-label": label,
      "data-layer": name, "data-head": head }, canvas);
    button.addEventListener("click", () => choose(
      ...(layerMenu.value === name && headMenu.value === String(head) ? [layerMenu.options[0].value, ""] : [name, String(head)])));
    return button;
  }

  draw() {
    this.matrix = chosenMatrix(this.look);
    this.top = largest(this.matrix);
    this.cells.forEach((row, t) => row.forEach((cell, s) => {
      cell.style.setProperty("--share", `${(100 * this.matrix[t][s] / this.top).toFixed(1)}%`);
      cell.setAttribute("aria-label", `${this.look.target[t]}, ${this.look.source[s]}: ${this.matrix[t][s].toFixed(3)}`);
    }));
    const all = headMenu.value === "" && (layerMenu.value === "" || layers.length === 1);
    for (const button of this.heads.querySelectorAll("button")) {
      const layer = layerMenu.value === "" || layerMenu.value === button.dataset.layer;
      const head = headMenu.value === "" || headMenu.value === button.dataset.head;
      button.setAttribute("aria-pressed", layer && head && !all);
    }
    this.clear();
  }

  clear() {
    for (const word of [...this.sources, ...this.targets]) shade(word, 0);
    this.mark(null, null);
    this.readout.replaceChildren();
  }

  mark(t, s) {
    for (const [elements, place] of [[this.rows, t], [this.targets, t], [this.columns, s], [this.sources, s]]) {
      elements.forEach((element, index) => element.classList.toggle("chosen", index === place));
    }
  }

  showRow(t) {
    this.clear();
    this.mark(t, null);
    this.matrix[t].forEach((weight, s) => shade(this.sources[s], weight / this.top));
    this.tell(`${this.look.target[t]} read`, this.matrix[t], this.look.source);
  }

  showColumn(s) {
    this.clear();
    this.mark(null, s);
    const column = this.matrix.map((row) => row[s]);
    column.forEach((weight, t) => shade(this.targets[t], weight / this.top));
    this.tell(`${this.look.source[s]} was read for`, column, this.look.target);
  }

  showCell(t, s) {
    this.showRow(t);
    this.mark(t, s);
    this.readout.replaceChildren(make("b", { dir: "auto" }, this.look.target[t]), " read ",
      make("b", { dir: "auto" }, this.look.source[s]), " with weight ", make("b", {}, this.matrix[t][s].toFixed(3)));
  }

  /** The three largest weights in words. */
  tell(start, weights, labels) {
    const order = weights.map((weight, place) => [weight, labels[place]]).sort((a, b) => b[0] - a[0]);
    const best = order.slice(0, 3).map(([weight, label]) => `${label} ${weight.toFixed(3)}`);
    this.readout.replaceChildren(`${start} ${best.join(", ")}`);
  }

  /** Arrow keys walk over the cells; only one cell of a table is a stop of the tab key. */
  move(event) {
    const cell = event.target.closest("td[data-t]");
    if (!cell) return;
    const along = this.look.leftward ? -1 : 1;
    const [rows, columns] = [this.look.target.length, this.look.source.length];
    const [t, s] = [Number(cell.dataset.t), Number(cell.dataset.s)];
    const goal = { ArrowUp: [t - 1, s], ArrowDown: [t + 1, s], ArrowRight: [t, s + along], ArrowLeft: [t, s - along],
      Home: [t, 0], End: [t, columns - 1] }[event.key];
    if (!goal || goal[0] < 0 || goal[1] < 0 || goal[0] >= rows || goal[1] >= columns) return;
    event.preventDefault();
    cell.tabIndex = -1;
    const next = this.cells[goal[0]][goal[1]];
    next.tabIndex = 0;
    next.focus();
  }
}

function fillMenus() {
  const all = layers.length > 1 ? [make("option", { value: "" }, "mean of all")] : [];
  layerMenu.replaceChildren(...all, ...layers.map((name) => make("option", { value: name }, name)));
  layerMenu.parentElement.hidden = layers.length < 2;
  fillHeads();
}

/** Heads that every chosen layer has. */
function fillHeads() {
  const names = layerMenu.value === "" ? layers : [layerMenu.value];
  const count = Math.min(...names.map((name) => looks[0].weights[name].length));
  headMenu.replaceChildren(make("option", { value: "" }, "mean of all"),
    ...Array.from({ length: count }, (_, head) => make("option", { value: head }, head + 1)));
  headMenu.parentElement.hidden = count < 2;
}

function choose(layer, head) {
  layerMenu.value = layer;
  fillHeads();
  headMenu.value = Number(head) < headMenu.length - 1 ? head : "";
  views.forEach((view) => view.draw());
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.getElementById("theme").setAttribute("aria-pressed", dark);
}

fillMenus();
const views = looks.map((look, number) => new LookView(look, number));
document.getElementById("looks").replaceChildren(...views.map((view) => view.article));
document.querySelector(".gold-key").hidden = !looks.some((look) => look.gold.length);
layerMenu.addEventListener("change", () => choose(layerMenu.value, headMenu.value));
headMenu.addEventListener("change", () => choose(layerMenu.value, headMenu.value));
setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
document.getElementById("theme").addEventListener("click", () =>
  setTheme(document.documentElement.dataset.theme !== "dark"));
