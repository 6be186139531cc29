// Inspections as pictures that can be read; view, array and head are chosen for all of them together. Needs no server.
import { make, percent, table } from "./dom.js";
import { isDark, paint } from "./shades.js";
import { Matrix } from "./matrix.js";
import { Seen } from "./seen.js";
import { NOTHING_CHOSEN, SEEN } from "./views.js";

const inspections = JSON.parse(document.getElementById("data").textContent);
const [viewMenu, arrayMenu, headMenu] = ["view", "array", "head"].map((id) => document.getElementById(id));

const heads = (array) => (array.axes[0] === "head" ? array.shape[0] : 0);
const axesOf = (array) => (heads(array) ? array.axes.slice(1) : array.axes);
const alike = (one, other) => heads(one) && heads(other) && one.axes.join() === other.axes.join();

/** Arrays whose mean is shown before anything is chosen: those of attention that stand together. */
function together(inspection) {
  const shown = inspection.shown.filter((name) => heads(inspection.arrays[name]));
  return shown.filter((name) => alike(inspection.arrays[name], inspection.arrays[shown[0]]));
}

/** What a head is called: by its number, which one that stands alone has kept. */
const nameOfHead = (inspection, head) => (inspection.labels.head ? inspection.labels.head[head] : String(head));

const largestOf = (values) => values.reduce((most, value) => (Math.abs(value) > most ? Math.abs(value) : most), 0);

/** The mean of arrays: of one head, or of all. */
function meanOf(arrays, head) {
  const shape = [...arrays[0].shape.slice(heads(arrays[0]) ? 1 : 0), 1, 1];
  const size = shape[0] * shape[1];
  const values = new Float32Array(size);
  for (const array of arrays) {
    const some = head === "" ? [...Array(Math.max(heads(array), 1)).keys()] : [Number(head)];
    for (const each of some) for (let place = 0; place < size; place += 1) {
      values[place] += Number(array.values[each * size + place]) / some.length / arrays.length;
    }
  }
  return { values, rows: shape[0], columns: shape[1], largest: largestOf(values), signed: values.some((value) => value < 0) };
}

/** What is drawn of arrays of an inspection: their mean, of one head or of all. */
function drawn(inspection, names, head) {
  const arrays = names.map((name) => inspection.arrays[name]);
  const axes = axesOf(arrays[0]);
  const data = meanOf(arrays, head);
  const label = (axis, size) => (axis ? inspection.labels[axis] || Array.from({ length: size }, (_, place) => String(place)) : [names[0].split(".").pop()]);
  return { ...data, texts: arrays[0].texts, weights: heads(arrays[0]) > 0, within: axes[0] === axes[1] || axes[1] === "past",
    rowLabels: label(axes[0], data.rows), columnLabels: label(axes[1], data.columns), rowMeaning: inspection.meanings[axes[0]] || axes[0],
    columnMeaning: inspection.meanings[axes[1]] || axes[1] || "", leftward: inspection.leftward.includes(axes[1]),
    gold: axes.join() === "target,source" ? inspection.gold : [] };
}

/** Texts with their numbers, such as candidates with their probabilities. */
function written(name, { texts, values, rows, columns, rowLabels, columnLabels }) {
  const cell = (r, c) => `${texts[r * columns + c]} ${percent(values[r * columns + c])}`;
  return table(name, ["", ...columnLabels], Array.from({ length: rows }, (_, r) =>
    [rowLabels[r], ...Array.from({ length: columns }, (__, c) => cell(r, c))]));
}

/** An inspection as views read it. */
function seenOf({ arrays, parts, ...rest }) {
  const all = Object.entries(arrays).map(([name, array]) =>
    ({ name, ...array, largest: largestOf(array.values.map(Number)), signed: array.values.some((value) => value < 0) }));
  return new Seen({ ...rest, arrays: all }, Object.fromEntries(Object.entries(parts).map(([kind, part]) => [kind, seenOf(part).shown])));
}

class InspectionView {
  constructor(inspection, number) {
    this.inspection = inspection;
    this.seen = seenOf(inspection);
    this.state = { ...NOTHING_CHOSEN };
    const title = inspection.title || `Example ${number + 1}`;
    this.body = make("div", { class: "map" });
    this.article = make("article", { "aria-label": title }, make("h2", { dir: "auto" }, title),
      inspection.note ? make("p", { class: "hint" }, inspection.note) : null, this.body);
    this.draw();
  }

  draw() {
    const view = SEEN.find(({ name }) => name === viewMenu.value);
    this.body.classList.toggle("map", !view);
    if (view) {
      const place = make("div");
      this.body.replaceChildren(place);
      view.draw(place, this.seen, this.state);
    }
    else this.drawArrays();
  }

  drawArrays() {
    const names = arrayMenu.value === "" ? together(this.inspection) : [arrayMenu.value];
    this.data = drawn(this.inspection, names, headMenu.value);
    this.matrix = null;
    const first = this.data.texts ? written(arrayMenu.value, this.data) : this.picture(this.data);
    const thumbs = this.thumbs();
    this.body.replaceChildren(first, ...(thumbs ? [thumbs] : []), ...this.others());
  }

  picture(data, label = this.inspection.title || "Numbers") {
    const most = Math.min(data.columns > 60 ? 1100 : 640, document.documentElement.clientWidth - 90);
    const matrix = new Matrix(data, { label, most, cell: 28 });
    this.matrix ??= matrix;
    return matrix.element;
  }

  /** Where what is shown first is words, such as labels or a tree, all else that is shown and has no heads. */
  others() {
    const { arrays, shown } = this.inspection;
    if (!arrays[shown[0]]?.texts || !shown.includes(arrayMenu.value)) return [];
    const names = shown.filter((name) => name !== arrayMenu.value && !heads(arrays[name]));
    return names.map((name) => {
      const data = drawn(this.inspection, [name], "");
      return data.texts ? written(name, data) : make("section", {}, make("div", { class: "hint" }, name), this.picture(data, name));
    });
  }

  /** A small picture of every head of the layers that stand together with the chosen one. */
  thumbs() {
    const { arrays } = this.inspection;
    const first = arrays[arrayMenu.value === "" ? together(this.inspection)[0] : arrayMenu.value];
    const layers = Object.keys(arrays).filter((name) => alike(arrays[name], first));
    if (layers.reduce((sum, name) => sum + heads(arrays[name]), 0) < 2) return null;
    return make("div", { class: "thumbs", role: "group", "aria-label": "Heads" }, ...layers.map((name, place) =>
      make("div", { title: name }, make("span", {}, `layer ${place + 1}`),
        ...Array.from({ length: heads(arrays[name]) }, (_, head) => this.thumb(name, place, head)))));
  }

  thumb(name, place, head) {
    const canvas = make("canvas", { "aria-hidden": "true" });
    const label = nameOfHead(this.inspection, head);
    paint(canvas, meanOf([this.inspection.arrays[name]], head), this.data.leftward);
    const pressed = (arrayMenu.value === "" || arrayMenu.value === name) && headMenu.value === String(head);
    return make("button", { type: "button", title: `${name}, head ${label}`, "aria-label": `layer ${place + 1}, head ${label}`,
      "aria-pressed": String(pressed), onclick: () => choose(...(pressed ? [arrayMenu.options[0].value, ""] : [name, String(head)])) }, canvas);
  }
}

/** What the inspections hold; the arrays themselves come after what the model gives and before what is inside. */
function fillViews() {
  const views = SEEN.filter(({ fits }) => inspections.every((inspection) => fits(seenOf(inspection))));
  const order = [...views.filter(({ inside }) => !inside), { name: "", label: "All arrays" }, ...views.filter(({ inside }) => inside)];
  viewMenu.replaceChildren(...order.map(({ name, label }) => make("option", { value: name }, label)));
  viewMenu.parentElement.hidden = !views.length;
  showMenus();
}

/** Menus of arrays are there where arrays are chosen. */
function showMenus() {
  const arrays = viewMenu.value === "";
  arrayMenu.parentElement.hidden = !arrays || arrayMenu.length < 2;
  headMenu.parentElement.hidden = !arrays || headMenu.length < 3;
}

/** The mean of those that stand together, if there are several, then those that are shown, then all others; what is shown
 * first and has no heads, such as the alignment that was chosen, comes before the mean. */
function fillMenus() {
  const [first] = inspections;
  const several = together(first).length;
  const drawable = Object.keys(first.arrays).filter((name) => axesOf(first.arrays[name]).length <= 2);
  const order = [...first.shown.filter((name) => drawable.includes(name)), ...drawable.filter((name) => !first.shown.includes(name))];
  const options = order.map((name) => make("option", { value: name }, name));
  if (several > 1) options.splice(heads(first.arrays[order[0]]) ? 0 : 1, 0, make("option", { value: "" }, `mean of ${several} layers`));
  arrayMenu.replaceChildren(...options);
  fillHeads();
}

/** Heads that every chosen array has. */
function fillHeads() {
  const [first] = inspections;
  const names = arrayMenu.value === "" ? together(first) : [arrayMenu.value];
  const count = Math.min(...names.map((name) => heads(first.arrays[name])));
  headMenu.replaceChildren(make("option", { value: "" }, "mean of all"),
    ...Array.from({ length: count }, (_, head) => make("option", { value: head }, nameOfHead(first, head))));
  showMenus();
}

function choose(array, head) {
  arrayMenu.value = array;
  fillHeads();
  headMenu.value = Number(head) < headMenu.length - 1 ? head : "";
  views.forEach((view) => view.draw());
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.getElementById("theme").textContent = dark ? "Light" : "Dark";
}

fillViews();
fillMenus();
setTheme(isDark());
const views = inspections.map((inspection, number) => new InspectionView(inspection, number));
document.getElementById("looks").replaceChildren(...views.map((view) => view.article));
document.querySelector(".gold-key").hidden = !inspections.some((inspection) => inspection.gold.length);
viewMenu.addEventListener("change", () => {
  showMenus();
  views.forEach((view) => view.draw());
});
arrayMenu.addEventListener("change", () => choose(arrayMenu.value, headMenu.value));
headMenu.addEventListener("change", () => choose(arrayMenu.value, headMenu.value));
document.getElementById("theme").addEventListener("click", () => {
  setTheme(!isDark());
  views.forEach((view) => view.draw());
});
