// The gradient that reaches each position from an output, of several models side by side: where it vanishes or explodes.
import { Chart } from "./chart.js";
import { bold, button, chosen, heading, hint, isolated, logOf, make, menu, numbered, room, section, short, table, tokensOf } from "./dom.js";
import { Matrix } from "./matrix.js";
import { largestOf } from "./api.js";
import { scale } from "./shades.js";

const DECADES = 6;
const [DISTANCE, FACTOR] = [" by distance", " factor"];
/** Places where gradients were taken. */
const placesIn = (norms) => norms.shown.arrays.filter(({ name }) => norms.array(name + DISTANCE)).map(({ name }) => name);

export const hasGradients = (seen) => placesIn(seen).length > 0;

/** Where gradients are looked at first, of the places that most models have: at states, or else at what was read. */
function first(taps, every) {
  const having = (name) => every.map((norms) => norms.array(name)).filter(Boolean);
  const most = Math.max(...taps.map((name) => having(name).length));
  const common = taps.filter((name) => having(name).length === most);
  return common.find((name) => name.endsWith("state")) || common.find((name) => having(name)[0].axes[1] === "source") || common[0];
}

/** Draws the gradients of models: each of `all` has `norms` (an inspection of them) and, if several are shown, a `name`, and maybe
 * `seen` (what happens in the model), and what it `says`. */
export async function drawGradients(place, all, state) {
  await Promise.all(all.map(({ norms, seen }) => Promise.all([norms.load(...norms.shown.arrays.map(({ name }) => name)), seen?.load("probabilities")])));
  const taps = [...new Set(all.flatMap(({ norms }) => placesIn(norms)))];
  const tap = taps.includes(state.tap) ? state.tap : first(taps, all.map(({ norms }) => norms));
  const of = ({ norms }) => norms.array(tap);
  const shown = all.filter(of);
  const [axis, along] = of(shown[0]).axes;
  const outputs = shown[0].norms.labels(axis, of(shown[0]).shape[0]);
  if (!(state.place < outputs.length)) state.place = outputs.length - 1;
  const again = (changes) => {
    Object.assign(state, changes);
    chosen(place);
    drawGradients(place, all, state);
  };
  const byDistance = state.color === "distance";
  const buttons = outputs.map((label, at) => button(isolated(label), () => again({ place: at, color: "" }),
    { class: "token", "aria-pressed": String(!byDistance && at === state.place) }));
  const far = button("All, by distance", () => again({ color: byDistance ? "" : "distance" }), { "aria-pressed": String(byDistance) });
  const cards = make("div", { class: "cards" });
  place.replaceChildren(cards);
  const chart = new Chart(byDistance ? distances(shown, tap) : positions(shown, tap, state.place, along),
    { label: byDistance ? "Gradient by distance" : `Gradient of ${outputs[state.place]}`, wide: room(cards, 1360), high: 260, begin: 0 });
  cards.append(section(
    heading("The gradient that reaches each position", menu("At", taps, tap, (name) => again({ tap: name }))),
    hint("How strongly the log-probability of an output depends on the vector at each position. The scale is logarithmic: a straight line downward is a gradient that vanishes exponentially."),
    tokensOf("Outputs", shown[0].norms.leftward(axis), ...buttons, far),
    chart.element, ...factors(shown, tap)));
  const largest = Math.max(...shown.map(({ norms }) => largestOf(norms.values(tap))));
  const options = { tap, largest, several: all.length > 1, most: Math.max(300, room(place, 900 * all.length) / Math.min(all.length, 3) - 40), choose: (at) => again({ place: at, color: "" }) };
  cards.append(hint(`All outputs${all.length > 1 ? " of all models" : ""}, on one scale. Choose a row to see it above.`, scale(`${short(largest / 10 ** DECADES)} or less`, short(largest))),
    make("div", { class: "cards thirds" }, ...all.map((model) => card(model, options))));
}

/** The norms of one output, a line for each model. */
function positions(shown, tap, place, along) {
  const longest = shown.reduce((most, each) => (each.norms.array(tap).shape[1] > most.norms.array(tap).shape[1] ? each : most));
  const count = longest.norms.array(tap).shape[1];
  const labels = longest.norms.labels(along, count);
  const same = shown.every(({ norms }) => norms.labels(along, norms.array(tap).shape[1]).join("\n") === labels.join("\n"));
  const row = ({ name, norms }) => {
    const { shape: [rows, columns] } = norms.array(tap);
    const values = place < rows ? norms.values(tap).slice(place * columns, (place + 1) * columns) : [];
    return { name: name || tap, values };
  };
  return { series: shown.map(row), labels: same ? labels : numbered(count), meaning: longest.norms.meaning(along), log: true, leftward: same && longest.norms.leftward(along) };
}

function distances(shown, tap) {
  const series = shown.map(({ name, norms }) => ({ name: name || tap, values: norms.values(tap + DISTANCE) }));
  return { series, labels: numbered(Math.max(...series.map(({ values }) => values.length))), meaning: "steps back from the output", log: true };
}

/** What a step farther does to the gradient of each model. */
function factors(shown, tap) {
  const rows = shown.map(({ name, norms }) => [name || tap, Number(norms.values(tap + FACTOR)[0])]).filter(([, factor]) => Number.isFinite(factor));
  if (!rows.length) return [];
  const steps = (factor) => Math.abs(Math.log(2) / Math.log(factor));
  const inWords = (factor) => (steps(factor) > 999 ? "stays as it is" : `${factor > 1 ? "doubles" : "halves"} every ${steps(factor).toFixed(1)} steps`);
  return [table("Each step farther back, over all outputs", ["", "multiplies the gradient by", "so that it"], rows.map(([name, factor]) => [name, factor.toFixed(3), inWords(factor)]))];
}

function card({ name, norms, seen, places, says }, { tap, largest, several, most, choose }) {
  const parts = several ? [make("h2", {}, name), says ? make("p", {}, "It writes ", bold(says), ".") : null] : [];
  if (seen?.array("probabilities") && seen.shown.labels.target) parts.push(...probability(seen));
  if (norms.array(tap)) parts.push(norm(norms, tap, largest, most, choose));
  else parts.push(make("p", {}, "This model has no ", make("code", {}, tap), "; choose another place above."));
  if (several && seen) parts.push(attention(seen, places, most));
  return section(...parts);
}

function probability(seen) {
  return [hint(`Log-probability of the output: ${short(logOf(seen.values("probabilities")))}.`)];
}

/** The norms as a picture, each power of ten below the largest one shade lighter. */
function norm(norms, tap, largest, most, choose) {
  const { axes, shape: [rows, columns] } = norms.array(tap);
  const values = Float32Array.from(norms.values(tap));
  const shades = values.map((value) => (value > 0 ? Math.max(0, 1 + Math.log10(value / largest) / DECADES) : 0));
  const matrix = new Matrix({ values, shades, rows, columns, largest: largestOf(values), signed: false, rowLabels: norms.labels(axes[0], rows), columnLabels: norms.labels(axes[1], columns),
    rowMeaning: "outputs", columnMeaning: norms.meaning(axes[1]), leftward: norms.leftward(axes[1]) }, { label: "Norm of the gradient", most, cell: 26, onchoose: choose });
  return matrix.element;
}

/** What the output is made from: attention to all positions, or the one state in which everything must stand. */
function attention(seen, places, most) {
  const [names] = [...seen.groups].filter(([axes]) => axes === "target × source").map(([, found]) => found);
  const body = make("div", { class: "more" });
  if (names) {
    seen.mean(names, { head: "mean" }).then((data) => body.append(make("h3", {}, "Attention: each output can look at every position"),
      new Matrix(data, { label: "Attention", most, cell: 26 }).element));
  } else if (seen.shown.labels.target && seen.shown.labels.source) {
    const states = places.filter(({ tap, kind }) => kind === "state" && seen.array(tap)?.axes.join() === "source,feature");
    Promise.all(states.map(async ({ tap: name, backward }) => {
      const { values, shape: [steps, units] } = await seen.numbers(name);
      const last = backward ? 0 : steps - 1;
      return { name, values: values.slice(last * units, (last + 1) * units) };
    })).then((rows) => {
      if (!rows.length) return;
      const units = Math.max(...rows.map(({ values }) => values.length));
      const all = Float32Array.from(rows.flatMap(({ values }) => Array.from({ length: units }, (_, unit) => values[unit] ?? NaN)));
      body.append(make("h3", {}, `No attention: all it knows about the text is in ${rows.reduce((sum, { values }) => sum + values.length, 0)} numbers`),
        new Matrix({ values: all, rows: rows.length, columns: units, largest: largestOf(all), signed: true, rowLabels: rows.map(({ name }) => name.split(".").slice(-2).join(" ")),
          columnLabels: numbered(units), rowMeaning: "last states", columnMeaning: "units", missing: "–" },
        { label: "Last states", most, tall: 12 * rows.length, cell: 12 }).element);
    });
  }
  return body;
}
