// A tour of ten steps from score to weights to context to output: first at weather stations, then with the numbers of
// the reader's own sentence. Arrow keys turn the pages.
import { along, bold, button, fill, hint, isolated, make, menu, numbered, percent, roving, short, table, tokensOf } from "./dom.js";
import { Bars } from "./bars.js";
import { Matrix } from "./matrix.js";
import { ranked } from "./shares.js";
import { Thumbs } from "./thumbs.js";
import { inspect, largestOf, steps } from "./api.js";
import { SPOT, WeatherMap, stationsTable } from "./weather.js";

const MOST_ROWS = 6;
const b = (text) => bold(String(text));
const p = (...parts) => make("p", {}, ...parts);
const labelled = (label, picture) => make("div", { class: "labelled" }, make("h3", {}, label), picture);

export class TourView {
  constructor(page) {
    this.page = page;
    this.state = page.state;
    this.title = make("h2", { class: "step", tabindex: -1 });
    this.number = make("p", { class: "hint of-ten", "aria-live": "polite" });
    this.prose = make("div", { class: "prose" });
    this.figure = make("div", { class: "figure" });
    this.tools = make("div", { class: "top" });
    this.pages = [near, mean, keysAndValues, query, score, weights, context, output, everyOutput, elsewhere];
    this.dots = this.pages.map((_, place) => button(null, () => this.go(place), { class: "dot-of-ten", "aria-label": `Step ${place + 1}` }));
    roving(this.dots, along(this.dots.length), this.step);
    this.back = button("← Back", () => this.go(this.step - 1));
    this.next = button("Next →", () => this.go(this.step + 1), { class: "go" });
    this.element = make("section", { class: "card tour" }, make("div", { class: "turning" }, this.back, make("div", { class: "dots", role: "group", "aria-label": "Steps" }, ...this.dots), this.next),
      make("div", { class: "spread" }, make("div", { class: "told" }, this.number, this.title, this.prose), make("div", {}, this.tools, this.figure)));
    const turn = (event) => this.key(event);
    document.addEventListener("keydown", turn);
    this.end = () => document.removeEventListener("keydown", turn);
    this.ready = this.draw();
  }

  get step() {
    return Math.max(0, Math.min(9, Math.round(this.state.step) || 0));
  }

  /** Arrow keys turn the page, unless they do something else where the focus is. */
  key(event) {
    if (!this.element.isConnected) return this.end();
    const way = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[event.key];
    const first = this.page.page.sides[0] === this.page;
    if (!way || !first || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return null;
    if (event.target.closest?.("input, select, textarea, summary, [role=tab], [role=grid], [role=application], .dots, .tokens, .bars-of-tokens, .table, pre")) return null;
    event.preventDefault();
    return this.go(this.step + way);
  }

  go(place) {
    if (place < 0 || place > 9 || place === this.step) return null;
    this.page.set({ step: place });
    const inside = this.element.contains(document.activeElement);
    const drawn = this.draw();
    if (inside && document.activeElement?.disabled) this.title.focus();
    return drawn;
  }

  async draw() {
    const { step } = this;
    this.back.disabled = step === 0;
    this.next.disabled = step === 9;
    this.dots.forEach((dot, place) => {
      dot.classList.toggle("done", place <= step);
      if (place === step) dot.setAttribute("aria-current", "step");
      else dot.removeAttribute("aria-current");
    });
    if (step > 1 && !this.data) await this.load();
    if (step !== this.step) return;
    this.fillTools();
    const { title, prose, figure } = await this.pages[step](this);
    if (step !== this.step) return;
    this.number.textContent = `Step ${step + 1} of 10`;
    this.title.replaceChildren(title);
    fill(this.prose, prose);
    fill(this.figure, figure);
    // Whoever chose this view wants to turn its pages.
    if (document.activeElement?.id === "tab-tour") this.title.focus({ preventScroll: true });
  }

  /** The numbers of one attention: of a layer, and of the head that is followed. */
  async load() {
    const { page, state } = this;
    const { tours } = page.card;
    this.layer = tours.includes(state.tap) ? state.tap : tours[tours.length - 1];
    this.seen = await steps(page.card.name, { texts: page.texts, layer: this.layer, ...page.told });
    const names = ["query", "key", "value", "scores", "weights", "context", "output", "energy"].filter((name) => this.seen.array(name));
    const all = await Promise.all(names.map((name) => this.seen.numbers(name)));
    this.data = Object.fromEntries(names.map((name, place) => [name, all[place]]));
    [this.heads] = this.data.weights.shape;
    this.source = this.seen.shown.labels.source;
    this.target = this.seen.shown.labels.target;
    this.chances = this.seen.values("probabilities");
    if (!(state.place < this.target.length)) state.place = 0;
    this.chosen = this.instead = null;
  }

  get head() {
    const { head } = this.state;
    return /^\d+$/.test(head) && Number(head) < this.heads ? Number(head) : this.sharpest;
  }

  /** The head that looks most at single words, which shows most. */
  get sharpest() {
    const { values, shape: [heads, rows, columns] } = this.data.weights;
    const words = this.seen.shown.words.source || [];
    const sharp = (head) => Array.from({ length: rows }, (_, row) => values.subarray((head * rows + row) * columns, (head * rows + row + 1) * columns))
      .reduce((sum, own) => sum + Math.max(...own.filter((__, token) => words[token] !== null)), 0);
    return [...Array(heads).keys()].sort((one, other) => sharp(other) - sharp(one))[0];
  }

  get place() {
    return this.state.place;
  }

  /** The token of the source that is followed: one that was chosen, or the one that gets most weight. */
  get token() {
    return this.chosen ?? argmax(this.row("weights", this.place));
  }

  /** A row of an array of the head that is followed; heads may share keys and values. */
  row(name, place) {
    const { values, shape } = this.data[name];
    const [rows, columns] = shape.slice(-2);
    const head = shape.length > 2 ? Math.floor((this.head * shape[0]) / this.heads) : 0;
    return values.slice((head * rows + place) * columns, (head * rows + place + 1) * columns);
  }

  /** All rows of an array as a matrix. */
  whole(name, rowLabels, meaning) {
    const [rows, columns] = this.data[name].shape.slice(-2);
    const values = Float32Array.from({ length: rows * columns });
    for (let place = 0; place < rows; place += 1) values.set(this.row(name, place), place * columns);
    return this.units(values, rowLabels, meaning);
  }

  units(values, rowLabels, rowMeaning) {
    const columns = values.length / rowLabels.length;
    return { values, rows: rowLabels.length, columns, largest: largestOf(values), signed: values.some((value) => value < 0), rowLabels,
      columnLabels: numbered(columns), rowMeaning, columnMeaning: "units", axes: ["row", "feature"] };
  }

  /** The outputs to choose from, and the layer and head that are followed. */
  fillTools() {
    if (this.step < 3) return fill(this.tools);
    const { page, state, step } = this;
    const again = async (changes, loading) => {
      page.set(changes);
      if (loading) this.data = null;
      await this.draw();
    };
    const { tours } = page.card;
    const layer = tours.length > 1 ? menu("Layer", tours.map((name, place) => [name, place]), this.layer, (tap) => again({ tap, head: "mean" }, true)) : null;
    const head = this.heads > 1 ? menu("Head", numbered(this.heads), this.head, (each) => again({ head: each })) : null;
    const choose = (place) => {
      this.chosen = this.instead = null;
      return again({ place });
    };
    const buttons = this.target.map((label, place) => button(isolated(label), () => choose(place), { class: "token", "aria-pressed": String(place === state.place) }));
    roving(buttons, along(buttons.length), state.place);
    return fill(this.tools, tokensOf("Output", this.seen.leftward("target"),
      make("span", { class: "hint" }, step === 8 ? "Outputs" : "Output"), ...buttons), layer, head);
  }

  follow(token) {
    this.chosen = token;
    return this.draw();
  }

  look(token) {
    this.instead = token;
    return this.draw();
  }

  matrix(data, label, more = {}) {
    return labelled(label, new Matrix(data, { label, most: this.room, cell: 30, ...more }).element);
  }

  bars(rows, label, choosing = true) {
    return labelled(label, new Bars(this.source, rows, { label, axis: "source", chosen: this.token,
      leftward: this.seen.shown.leftward.includes("source"), onchoose: choosing ? (token) => this.follow(token) : undefined }).element);
  }

  get room() {
    const wide = this.page.room(1400);
    return wide > 900 ? wide - 400 : wide;
  }
}

const argmax = (values) => values.reduce((best, value, place) => (value > values[best] ? place : best), 0);
const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

/** The map, with its table beside it. */
function stations(tour, weighed) {
  const beside = make("div", { class: "labelled" });
  const spot = tour.state.spot.length === 2 && tour.state.spot.every(Number.isFinite) ? tour.state.spot : SPOT;
  const redraw = (at) => fill(beside, stationsTable(at, weighed));
  const map = new WeatherMap(spot, { weighed, onmove: (at) => {
    tour.page.set({ spot: at });
    redraw(at);
  } });
  redraw(map.spot);
  return make("div", { class: "map-and-table" }, map.element, beside);
}

function near(tour) {
  return { title: "Who is near?", prose: [
    p("Attention does not need a neural network. Five weather stations stand at known places: their coordinates are the ", b("keys"), ". What they measure, temperature and wind, are the ", b("values"), "."),
    p("You want to know the weather somewhere else: the coordinates of your place are the ", b("query"), ". Drag the place, or move it with the arrow keys."),
    p("The nearer a station, the more it matters. Its ", b("score"), " is one divided by its distance."),
    another(tour),
  ], figure: stations(tour, false) };
}

function mean(tour) {
  return { title: "A weighted mean", prose: [
    p("Divide each score by the sum of all. None is negative, and they add up to 1, as probabilities do. These are the ", b("weights"), "."),
    p("The answer is the mean of the values under these weights, the ", b("context"), ". A near station counts most, and the distant ones still have a say."),
    p("The map is colored by asking the same question at every point. All that follows is just this, with keys, queries and values that a model has learned."),
  ], figure: stations(tour, true) };
}

function keysAndValues(tour) {
  const { source } = tour;
  const [, , wide] = tour.data.key.shape;
  const [, , deep] = tour.data.value.shape;
  return { title: "A sentence as a map", prose: [
    p("Here nobody gives coordinates: the model computes them. It reads ", b(tour.page.texts[0]), `, and for each of its ${source.length} tokens it makes a `, b("key"), ` of ${wide} numbers and a `, b("value"), ` of ${deep}.`),
    p("Each row is a token, each column a unit. Purple is above zero, orange below. What the units mean was learned from nothing but pairs of texts."),
    p("A place on a map has two coordinates. A key has ", b(wide), ", so there are many ways to be near."),
  ], figure: [make("div", { class: "pair" }, ...["key", "value"].map((name) => tour.matrix(tour.whole(name, source, "tokens"), name === "key" ? "Keys" : "Values", { cell: 24 })))] };
}

function query(tour) {
  const { target, place } = tour;
  const written = target.slice(0, place).join("");
  const data = tour.whole("query", target, "outputs");
  const one = tour.units(tour.row("query", place), [target[place]], "output");
  return { title: "The query", prose: [
    p("The model writes ", b(tour.page.texts[1]), " token by token. Before each one it asks what it needs to know, in numbers that can be compared with the keys: the ", b("query"), "."),
    p(place ? ["So far it has written ", b(written), ". At the top is its query for the next token; it will write ", b(target[place]), "."] : ["Nothing has been written yet. At the top is its first query; it will write ", b(target[0]), "."]),
    p("Choose another output above. Outputs that need the same part of the text ask similar questions: compare the rows."),
  ], figure: [tour.matrix(one, `The query for output ${place + 1}`), tour.matrix(data, "The queries for all outputs")] };
}

function score(tour) {
  const { token, source, place } = tour;
  const [asked, key, all] = [tour.row("query", place), tour.row("key", token), tour.row("scores", place)];
  const additive = Boolean(tour.data.energy);
  const energy = additive ? tour.data.energy.values.slice((tour.data.energy.shape[0] > 1 ? tour.head : 0) * key.length).subarray(0, key.length) : null;
  const known = additive || tour.seen.shown.note;
  const parts = known ? asked.map((value, unit) => (additive ? energy[unit] * Math.tanh(value + key[unit]) : value * key[unit])) : null;
  const rest = known ? all[token] - sumOf(parts) : 0;
  return { title: "The score", prose: [
    p("How well does the key of ", b(source[token]), " fit the query? ", additive
      ? "Add the two unit by unit, squash each sum with tanh, and multiply it by a learned number, its energy."
      : known ? `Multiply the two unit by unit${tour.seen.array("query").shape[2] > 1 ? " (the query has already been divided by the square root of the number of units)" : ""}.` : "This model compares them with a function of its own."),
    known ? p("The products add up to the ", b("score"), `: ${short(sumOf(parts))}${Math.abs(rest) > 1e-3 ? `, with ${short(rest)} for how far apart they are` : ""}.`) : p("Its ", b("score"), ` is ${short(all[token])}.`),
    p("Choose another token below the bars. The stations used 1 / distance; the model has learned what “near” means."),
  ], figure: [tour.bars({ score: all }, "Scores"), tour.matrix(tour.units(Float32Array.from([...asked, ...key]), ["query", "key"], ""), `The query, and the key of “${source[token]}”`, { beside: 70 }),
    known ? tour.matrix(tour.units(Float32Array.from([...(energy || []), ...parts]), [...(energy ? ["energy"] : []), "product"], ""), `The products, unit by unit: they add up to ${short(sumOf(parts))}`, { beside: 70 }) : null] };
}

function weights(tour) {
  const { token, source, place } = tour;
  const [scores, own] = [tour.row("scores", place), tour.row("weights", place)];
  const largest = Math.max(...scores);
  const powers = scores.map((value) => Math.exp(value - largest));
  const sum = sumOf(powers);
  const isSoftmax = powers.every((power, each) => Math.abs(power / sum - own[each]) < 1e-3);
  return { title: "The weights", prose: [
    p("Scores can be any numbers. To turn them into probabilities, ", isSoftmax ? ["raise e to the power of each, and divide by the sum of all: the ", b("softmax"), "."] : "the model normalizes them."),
    isSoftmax ? p("For ", b(source[token]), `: e to the power of (${short(scores[token])} − ${short(largest)}) is ${short(powers[token])}; divided by the sum, ${short(sum)}, it is `, b(short(own[token])), ". Subtracting the largest score first changes nothing and keeps the numbers small.")
      : p(b(source[token]), " gets ", b(short(own[token])), "."),
    p("With the stations, twice the score meant twice the weight. Here a score ", b("one higher"), " means e ≈ 2.7 times the weight, so the model can look at almost nothing but one token."),
  ], figure: [tour.bars({ score: scores, ...(isSoftmax && { "e^(score − largest)": powers }), weight: own }, "From scores to weights")] };
}

function context(tour) {
  const { source, place } = tour;
  const own = tour.row("weights", place);
  const order = [...own.keys()].sort((one, other) => own[other] - own[one]).slice(0, MOST_ROWS);
  const rows = order.map((token) => tour.row("value", token).map((value) => value * own[token]));
  const mixed = tour.row("context", place);
  const values = Float32Array.from([...rows.flatMap((row) => [...row]), ...mixed]);
  const others = 1 - sumOf(order.map((token) => own[token]));
  return { title: "The context", prose: [
    p("Each value is multiplied by its weight, and all are added up, as the temperatures were. The sum is the ", b("context"), `: ${mixed.length} numbers about what the model looked at.`),
    p("Most of it comes from ", b(source[order[0]]), ` (${percent(own[order[0]])})`, order.length > 1 ? [" and ", b(source[order[1]]), ` (${percent(own[order[1]])})`] : "", `. The tokens not shown here have ${percent(Math.max(0, others))} in all.`),
    p("No token is cut off entirely. A mean can be differentiated, which is how the model could learn where to look."),
  ], figure: [tour.matrix(tour.units(values, [...order.map((token) => `${own[token].toFixed(2)} × ${source[token]}`), "context"], ""), "Weight × value, and their sum")] };
}

function output(tour) {
  const { target, place, seen } = tour;
  const candidates = seen.array("candidates");
  const heads = tour.heads > 1 ? ["The contexts of all ", b(tour.heads), " heads are put side by side."] : null;
  const made = tour.data.output ? tour.matrix(tour.units(tour.row("output", place), [target[place]], ""), "What the decoder makes of it") : null;
  return { title: "The output", prose: [
    heads ? p(...heads) : null,
    p("The decoder combines the context with what it has written", tour.data.output ? `, and makes ${tour.data.output.shape[1]} numbers from both.` : "."),
    p("A row of weights for each token it knows turns these into scores, and another softmax turns the scores into probabilities: ", b(target[place]), " gets ", b(percent(tour.chances[place])), "."),
  ], figure: [tour.matrix(tour.units(tour.row("context", place), [target[place]], ""), "The context"), made,
    labelled("What may come next", ranked("What may come next", candidates, { row: place }))] };
}

async function everyOutput(tour) {
  const { page, source, target, place, head } = tour;
  const all = await tour.seen.matrix("weights", { head });
  const weighed = { ...all, weights: true };
  const matrix = new Matrix(weighed, { label: "Weights of every output", most: tour.room, cell: 30, onchoose: (row) => {
    tour.page.set({ place: row });
    tour.draw();
  } });
  matrix.move(place, argmax(tour.row("weights", place)), true);
  const { tours } = page.card;
  const count = tour.heads * tours.length;
  const small = count > 1 ? heads(tour) : null;
  return { title: "Again, for every output", prose: [
    p(`What you have followed for one token happens before each of the ${target.length}. Every row is one answer of attention and adds up to 1. `, b(target[place]), " looks mostly at ", b(source[argmax(tour.row("weights", place))]), "."),
    count > 1 ? p("This model has ", b(tour.heads), " heads in each of ", b(tours.length), ` layers: ${count} such pictures at once, each with its own keys, queries and values, so it can ask several questions. Choose one.`)
      : p("Nobody told it which tokens belong together. It found out that looking there helps it to guess right."),
    p("A translator of sentences does the same with words; such a picture is then called an alignment."),
    another(tour),
  ], figure: [small, labelled(count > 1 ? `Layer ${tours.indexOf(tour.layer)}, head ${head}` : "All outputs", matrix.element)] };
}

/** The way to a Transformer on the same dates, for whoever has but the model of the demo. */
function another({ page }) {
  const { card, page: { cards } } = page;
  if (card.recorded || !card.examples.length || card.tours.length > 1 || cards.some(({ tours }) => tours.length > 1)) return null;
  const folder = /load\('(.*)'\)/.exec(page.seen.shown.python)?.[1] || "runs/demo";
  return hint("To take this tour with a Transformer that reads the same dates as well, train it (a minute or two) and open both:",
    make("pre", { tabindex: 0 }, `regard train dates-transformer\nregard explore ${folder} runs/dates-transformer`));
}

/** A small picture of every head of every layer that looks at the source. */
function heads(tour) {
  const { page } = tour;
  return new Thumbs(page.seen, page.card.tours, [tour.layer, tour.head], (tap, head) => {
    page.set({ tap, head: String(head) });
    if (tap !== tour.layer) tour.data = null;
    return tour.draw();
  }).element;
}

async function elsewhere(tour) {
  const { page, source, target, place, head } = tour;
  const own = tour.row("weights", place);
  const best = argmax(own);
  const token = tour.instead ?? Number(best === 0);
  const { tours, recorded } = page.card;
  const change = (tap, heads = {}) => ({ kind: "SetWeight", tap, ...heads, query: place, key: token, value: 1 });
  const ask = async (changes) => {
    const seen = await inspect(page.card.name, { texts: page.texts, ...page.told, changes: [...(page.told.changes || []), ...changes] });
    const candidates = seen.array("candidates");
    return { chance: seen.values("probabilities")[place], now: candidates.texts[place * candidates.shape[1]], likely: Number(candidates.values[place * candidates.shape[1]]) };
  };
  let rows;
  let refused = null;
  try {
    const tried = [[tour.heads > 1 ? `head ${head} of layer ${tours.indexOf(tour.layer)}` : "its attention", [change(tour.layer, { head })]]];
    if (tour.heads > 1) tried.push(["all heads of this layer", [change(tour.layer)]]);
    if (tours.length > 1) tried.push(["all heads of all layers", tours.map((tap) => change(tap))]);
    const found = await Promise.all(tried.map(([, changes]) => ask(changes)));
    rows = found.map(({ chance, now, likely }, each) => [tried[each][0], percent(tour.chances[place]), percent(chance), `${now} (${percent(likely)})`]);
  } catch (error) {
    refused = hint(error.message);
  }
  const go = (view, label) => button(label, () => page.go({ view, tap: tour.layer, head: String(head) }));
  const after = rows ? [labelled(["With all the weight on ", isolated(source[token])], table("Before and after", ["changed", `${target[place]} before`, "after", "now likeliest"], rows))] : [refused];
  return { title: "What if it had looked elsewhere?", prose: [
    p("It looked at ", b(source[best]), ` (${percent(own[best])}) to write `, b(target[place]), recorded ? [". Here it looks at ", b(source[token]), " instead: all the weight goes there, and the model computes on."]
      : ". Choose where it should look instead: all the weight goes there, and the model computes on."),
    p(tour.heads > 1 ? "One head of many may not matter, since others do the same. All of them together often do." : "If the output changes, it did depend on what was read there. If not, the model knew it from elsewhere."),
    p("Whether attention explains an output is a question to ask of every sentence anew."),
    make("div", { class: "buttons" }, recorded ? null : go("change", "Change it"), go("why", "Why")),
  ], figure: [labelled(recorded ? "Its own weights" : "Its own weights (choose another token)", new Bars(source, { weight: own }, { label: "Weights", axis: "source", chosen: token,
    leftward: tour.seen.shown.leftward.includes("source"), onchoose: recorded ? undefined : (chosen) => tour.look(chosen) }).element), ...after] };
}
