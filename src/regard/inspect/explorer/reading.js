// A text as a model reads it: how much each token surprises it, what it expected instead, and, where it copies, what came
// from the vocabulary and what from where.
import { bar, bars, ranked } from "./shares.js";
import { Chart } from "./chart.js";
import { along, behind, button, chosen, heading, hint, isolated, make, percent, room, roving, section, segments, table, telling } from "./dom.js";
import { scale, tint } from "./shades.js";

const DARK = 12;
const PLACES = 5;
const END = "∎";
/** Widths in pixels: from which on something is told beside the text, and what that takes. */
const [SIDED, ASIDE] = [940, 456];

export const hasReading = (seen) => Boolean(seen.array("surprisals") && seen.array("probabilities") && seen.shown.labels.target && (seen.array("parts") || !seen.shown.labels.source));

/** Draws a text by its surprisal, or by the share of a token's probability that is copied. */
export async function drawReading(place, seen, state) {
  await seen.load("surprisals", "probabilities", "candidates", "parts");
  const labels = seen.shown.labels.target;
  const [surprisals, chances] = [seen.values("surprisals"), seen.values("probabilities")];
  const names = seen.array("parts") ? seen.labels("part") : [];
  const parts = seen.values("parts");
  const part = (at, name) => parts[at * names.length + names.indexOf(name)];
  if (!(state.place < labels.length)) state.place = 0;
  const color = names.includes(state.color) ? state.color : "";
  const from = await lookedFrom(seen, names);
  const told = telling();
  const share = (at) => (color ? part(at, color) / Math.max(chances[at], 1e-30) : surprisals[at] / DARK);
  const tokens = labels.map((label, at) => {
    const token = button(isolated(label), null, { class: "token", title: color ? percent(share(at)) : `${surprisals[at].toFixed(2)} bits`,
      onpointerenter: () => show(at), onfocus: () => show(at) });
    tint(token, share(at));
    return token;
  });
  roving(tokens, along(tokens.length), state.place);
  const read = from?.axis === "source" ? seen.labels("source").map((label) => make("span", { class: "token" }, isolated(label))) : null;

  function show(at) {
    state.place = at;
    chosen(place);
    tokens.forEach((token, other) => token.classList.toggle("lit", other === at));
    const beside = from ? marked(at) : [];
    told.replaceChildren(make("h3", {}, isolated(labels[at]), make("span", { class: "hint" }, ` probability ${percent(chances[at])}, surprisal ${surprisals[at].toFixed(2)} bits`)),
      ...(parts ? sources(at) : []), ...expected(at), ...beside);
    chart.move(at, true);
  }

  /** What the probability of the token is made of. */
  function sources(at) {
    const label = "Where this probability comes from";
    return [make("h3", {}, label), bars(label, ...names.map((name, number) => bar(name, part(at, name) / Math.max(chances[at], 1e-30), { part: number })))];
  }

  function expected(at) {
    const candidates = seen.array("candidates");
    return candidates ? [make("h3", {}, "Expected here"), ranked("Expected here", candidates, { row: at, lit: labels[at] })] : [];
  }

  /** Marks where a token was copied from or looked at, and says the strongest. */
  function marked(at) {
    const row = from.row(at);
    const most = Math.max(1e-9, ...row);
    const elements = read || [null, ...tokens];
    row.forEach((value, position) => {
      const element = elements[position];
      if (element) element.style.boxShadow = value > 0.02 * most && value > 1e-4 ? `inset 0 -${(1 + 4 * value / most).toFixed(1)}px 0 var(--mark)` : "";
    });
    for (const element of elements.slice(row.length)) if (element) element.style.boxShadow = "";
    const order = row.map((_, position) => position).filter((position) => row[position] > 1e-4).sort((one, other) => row[other] - row[one]).slice(0, PLACES);
    const name = (position) => seen.labels(from.axis)[position];
    return [make("h3", {}, from.said), hint("Underlined in the text: the thicker, the more."), order.length ? bars(from.said, ...order.map((position) =>
      bar(`${name(position)} (${position})`, row[position], { class: `candidate${name(position) === labels[at] ? " lit" : ""}` }))) : hint("Nothing.")];
  }

  const again = (wished) => {
    state.color = wished;
    chosen(place);
    drawReading(place, seen, state);
  };
  const choices = [["", "surprisal"], ...names.slice(1).map((name) => [name, name])];
  const sum = surprisals.reduce((total, bits) => total + bits, 0);
  const chart = new Chart({ series: [{ name: "surprisal", values: surprisals }], labels, meaning: "tokens", unit: "bits", least: 0, leftward: seen.leftward("target") },
    { label: "Surprisal", wide: room(place, 1360) - (place.clientWidth < SIDED ? 0 : ASIDE), high: 150, begin: state.place, onmove: (at) => show(at) });
  const dir = seen.leftward("target") ? "rtl" : "ltr";
  place.replaceChildren(make("div", { class: "cards sided" }, section(
    heading("Surprisal", choices.length > 1 ? segments("Color by", choices, color, again) : null),
    seen.shown.note ? hint(seen.shown.note) : null,
    hint(...(color ? [`How much of each token's probability is ${color === "cache" ? "from the cache" : color}.`, scale("none", "all")]
      : [`${sum.toFixed(1)} bits in all, ${(sum / labels.length).toFixed(2)} per token; perplexity ${(2 ** (sum / labels.length)).toFixed(1)}.`, scale("expected", `surprising (${DARK} bits or more)`)])),
    read && make("p", { class: "reading", dir: seen.leftward("source") ? "rtl" : "ltr" }, ...read),
    make("div", { class: "reading", dir, role: "group", "aria-label": "Tokens" }, ...broken(tokens, labels)),
    behind("Table", () => table("Tokens", ["token", "probability", "bits", ...names], labels.map((label, at) =>
      [label, percent(chances[at]), surprisals[at].toFixed(2), ...names.map((name) => percent(part(at, name)))])))),
  make("section", { class: "card beside-it" }, told),
  section(make("h2", {}, "Surprisal over the text"), chart.element)));
  if (labels.length) show(state.place);
}

/** Where each token was copied from, or else looked at: a row of shares for each. */
async function lookedFrom(seen, names) {
  const copied = names.slice(1).map((name) => seen.array(name)).filter(Boolean);
  if (copied.length) {
    const all = await Promise.all(copied.map(({ name }) => seen.numbers(name)));
    const [, columns] = copied[0].shape;
    return { axis: copied[0].axes[1], said: "What it copies",
      row: (at) => Array.from({ length: columns }, (_, position) => all.reduce((sum, { values }) => sum + values[at * columns + position], 0)) };
  }
  const looking = seen.groups.get("target × past");
  if (!looking) return null;
  const mean = await seen.mean(looking, { head: "mean" });
  const row = (at) => Array.from(mean.values.subarray(at * mean.columns, (at + 1) * mean.columns));
  return { axis: "past", said: "Where the model looked (mean of all heads)", row };
}

/** A line ends after the token that ends it. */
const broken = (tokens, labels) => tokens.flatMap((token, at) => (labels[at] === END ? [token, make("br")] : [token]));
