// Gates and states over time: of one cell, all its units together or one of them, as lines; and every unit as pictures.
import { Chart } from "./chart.js";
import { button, chosen, heading, hint, make, menu, percent, room, section, table } from "./dom.js";
import { Matrix } from "./matrix.js";
import { derived, largestOf } from "./api.js";

const STATES = ["state", "memory", "candidate"];
const isUnits = ({ axes, shape }) => axes.length === 2 && axes[1] === "feature" && shape[1] > 1;
const lastOf = (name) => name.split(".").pop();
const cellOf = (name) => name.replace(/\.(gates\.)?[^.]+$/, "");

export const hasStates = (seen) => seen.shown.arrays.some(isUnits);

/** Draws the gates and states of a cell. */
export function drawStates(place, seen, state) {
  const cells = new Map();
  for (const array of seen.shown.arrays.filter(isUnits)) cells.set(cellOf(array.name), [...(cells.get(cellOf(array.name)) || []), array]);
  const cards = make("div", { class: "cards" });
  place.replaceChildren(cards);
  const current = () => (cells.has(cellOf(state.tap || "")) ? cellOf(state.tap) : [...cells.keys()][0]);
  const turn = (changes) => {
    Object.assign(state, changes);
    chosen(cards);
    draw();
  };

  async function draw() {
    const cell = current();
    const arrays = cells.get(cell);
    const [axis] = arrays[0].axes;
    const count = arrays[0].shape[1];
    const labels = seen.labels(axis, arrays[0].shape[0]);
    const together = await derived(seen, "units");
    await together.load(...arrays.map(({ name }) => name));
    const whole = new Map(await Promise.all(arrays.map(async ({ name }) => [name, (await seen.numbers(name)).values])));
    if (!(state.unit < count)) state.unit = -1;
    const series = ({ name }) => {
      if (state.unit >= 0) return { name: lastOf(name), values: labels.map((_, at) => whole.get(name)[at * count + state.unit]) };
      const rows = together.values(name);
      const row = (statistic) => rows.slice(statistic * labels.length, (statistic + 1) * labels.length);
      return { name: lastOf(name), values: row(0), low: row(1), high: row(2) };
    };
    const wide = room(cards, 1360);
    const chart = (title, some, limits) => (some.length ? [make("h3", {}, title), new Chart({ series: some.map(series), labels, meaning: seen.meaning(axis),
      leftward: seen.leftward(axis), ...limits }, { label: title, wide: some.length ? wide : 0, high: 190 }).element] : []);
    const gates = arrays.filter(({ name }) => !STATES.includes(lastOf(name)));
    const states = arrays.filter(({ name }) => STATES.includes(lastOf(name)));
    cards.replaceChildren(section(menus(cell, count),
      hint(state.unit < 0 ? "The lines are means over all units; each band holds the middle 80 % of the units." : "What this unit does at each step."),
      ...chart("Gates (0 is shut, 1 is open)", gates, { least: 0, most: 1 }), ...chart("States", states, {}), ...habits(together, gates)),
    section(make("h2", {}, "Every unit"),
      hint("Each row is a unit, each column a step. Choose a unit to see it alone."),
      make("div", { class: "pair units" }, ...arrays.map(({ name, signed }) => picture(name, signed, whole.get(name), labels, count)))));
  }

  function menus(cell, count) {
    const unit = make("input", { type: "number", min: 0, max: count - 1, step: 1, value: state.unit < 0 ? "" : state.unit, placeholder: "all",
      onchange: (event) => turn({ unit: event.target.value === "" ? -1 : Math.max(0, Math.min(count - 1, Math.round(Number(event.target.value)))) }) });
    return heading("Gates and states", menu("Cell", [...cells.keys()], cell, (name) => turn({ tap: cells.get(name)[0].name, unit: -1 })), make("label", {}, "Unit ", unit),
      button(`All ${count} units`, () => turn({ unit: -1 }), { "aria-pressed": String(state.unit < 0) }));
  }

  /** How many units are open or shut, over all steps. */
  function habits(together, gates) {
    if (!gates.length) return [];
    const mean = (name, statistic) => {
      const [, steps] = together.array(name).shape;
      return together.values(name).slice(statistic * steps, (statistic + 1) * steps).reduce((sum, value) => sum + value, 0) / steps;
    };
    const rows = gates.map(({ name }) => [lastOf(name), mean(name, 0).toFixed(2), percent(mean(name, 3)), percent(mean(name, 4))]);
    return [table("Gates over all steps", ["gate", "mean", "open (above 0.9)", "shut (below 0.1)"], rows)];
  }

  function picture(name, signed, values, labels, count) {
    const turned = new Float32Array(values.length);
    values.forEach((value, at) => { turned[(at % count) * labels.length + Math.floor(at / count)] = value; });
    const data = { values: turned, rows: count, columns: labels.length, largest: largestOf(turned) || 1, signed, rowLabels: Array.from({ length: count }, (_, unit) => `unit ${unit}`),
      columnLabels: labels, rowMeaning: "", columnMeaning: "", leftward: seen.leftward(seen.array(name).axes[0]) };
    const matrix = new Matrix(data, { label: name, most: room(cards, 310), tall: Math.max(320, count), cell: 22, onchoose: (unit) => turn({ unit }) });
    if (state.unit >= 0) matrix.move(state.unit, 0, true);
    return make("div", {}, make("h3", {}, lastOf(name)), matrix.element);
  }

  draw();
}
