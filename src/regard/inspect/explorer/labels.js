// Labels: the tag of each word with its probability, the transitions between tags, the labels of a whole text and the
// words that weighed most for them.
import { bar, bars, ranked } from "./shares.js";
import { along, behind, button, chosen, hint, isolated, make, percent, room, roving, section, short, table, telling } from "./dom.js";
import { Matrix } from "./matrix.js";

const MOST = 8;

export const hasLabels = (seen) => Boolean((seen.array("tags") && seen.array("marginals")) || seen.array("labels")?.texts);

/** Draws the labels of words and of the whole text. */
export async function drawLabels(place, seen, state) {
  await seen.load("tags", "marginals", "scores", "transitions", "spans");
  const cards = make("div", { class: "cards even" });
  place.replaceChildren(cards);
  if (seen.array("labels")?.texts) drawText(cards, seen);
  if (seen.array("tags") && seen.array("marginals")) drawWords(cards, seen, state);
}

function drawWords(cards, seen, state) {
  const words = seen.shown.labels.source || [];
  const { texts: tags, values: chances } = seen.array("tags");
  const [names, marginals] = [seen.labels("tag"), seen.values("marginals")];
  if (!(state.place < words.length)) state.place = 0;
  const told = telling();
  const buttons = words.map((word, at) =>
    labelled(word, tags[at], chances[at], button(null, () => show(at), { "aria-label": `${word}: ${tags[at]}, ${percent(chances[at])}` })));
  roving(buttons, along(buttons.length), state.place);
  const matrix = new Matrix({ values: Float32Array.from(marginals), rows: words.length, columns: names.length, largest: 1, signed: false,
    rowLabels: words, columnLabels: names, rowMeaning: "words", columnMeaning: "tags", outlined: "the chosen labels", gold: tags.map((tag, at) => [names.indexOf(tag), at]) },
  { label: "Probability of each tag", most: room(cards, 560), cell: 28, onmove: (r) => show(r, false) });

  function show(at, moves = true) {
    state.place = at;
    chosen(cards);
    buttons.forEach((each, other) => each.setAttribute("aria-pressed", String(other === at)));
    if (moves) matrix.move(at, names.indexOf(tags[at]), true);
    const order = names.map((_, tag) => tag).sort((one, other) => marginals[at * names.length + other] - marginals[at * names.length + one]);
    told.replaceChildren(make("h3", {}, isolated(words[at])), bars("Tags of the word", ...order.slice(0, MOST).map((tag) =>
      bar(names[tag], marginals[at * names.length + tag], { class: `candidate${names[tag] === tags[at] ? " lit" : ""}` }))),
    ...decisions(seen, at));
  }

  cards.append(make("section", { class: "card high" }, make("h2", {}, "Labels"),
    hint("Each word with its label; the fuller the box of a label, the more likely it is. Choose a word to see its other labels."),
    make("div", { class: "sentence", dir: seen.leftward("source") ? "rtl" : "ltr" }, ...spanned(seen, buttons)), told));
  cards.append(section(make("h2", {}, "Every label"), matrix.element));
  if (seen.array("transitions")) cards.append(transitions(cards, seen));
  if (words.length) show(state.place);
}

/** A word above its label, whose box is as full as the label's share. */
function labelled(word, label, share, element) {
  const strip = make("span", { class: "bar" });
  strip.style.width = `${100 * share}%`;
  element.classList.add("tagged");
  element.append(isolated(word), make("span", { class: "tag" }, strip, isolated(label)));
  return element;
}

/** The buttons of words, those of a span held together with its type. */
function spanned(seen, buttons) {
  const spans = seen.array("spans");
  const parts = [...buttons];
  if (!spans) return parts;
  const [count] = spans.shape;
  for (let span = count - 1; span >= 0; span -= 1) {
    const [first, last] = [spans.values[2 * span], spans.values[2 * span + 1]].map(Number);
    parts.splice(first, last - first + 1, make("span", { class: "span" },
      make("span", { class: "words" }, ...buttons.slice(first, last + 1)), make("span", { class: "kind" }, isolated(spans.texts[2 * span]))));
  }
  return parts;
}

/** What a choice of tags together is made of: the scores at a word and of the steps to and from it. */
function decisions(seen, at) {
  const [scores, steps] = [seen.values("scores"), seen.array("transitions")];
  if (!scores || !steps) return [];
  const [names, { texts: tags }] = [seen.labels("tag"), seen.array("tags")];
  const step = stepOf(seen);
  const own = scores[at * names.length + names.indexOf(tags[at])];
  const [before, after] = [step(at), step(at + 1)];
  return [hint(`${tags[at]} scores ${short(own)} by itself, ${short(before.score)} for following ${before.from} and ${short(after.score)} for preceding ${after.to}.`)];
}

/** The transition into the word at a place, along the tags that were chosen. */
function stepOf(seen) {
  const [rows, columns] = ["before", "after"].map((axis) => seen.labels(axis));
  const [values, { texts: tags }] = [seen.values("transitions"), seen.array("tags")];
  return (at) => {
    const r = at ? rows.indexOf(tags[at - 1], 1) : 0;
    const c = at < tags.length ? columns.indexOf(tags[at]) : columns.length - 1;
    return { r, c, from: rows[r], to: columns[c], score: values[r * columns.length + c] };
  };
}

function transitions(cards, seen) {
  const { shape: [rows, columns], values, largest } = seen.array("transitions");
  const step = stepOf(seen);
  const path = Array.from({ length: (seen.array("tags").texts.length || 0) + 1 }, (_, at) => step(at));
  const matrix = new Matrix({ values: Float32Array.from(values.map(Number)), rows, columns, largest, signed: true, rowLabels: seen.labels("before"),
    columnLabels: seen.labels("after"), rowMeaning: "a tag", columnMeaning: "the tag after it", missing: "not allowed", outlined: "the steps taken here", gold: path.map(({ r, c }) => [c, r]) },
  { label: "Transitions", most: room(cards, 520), cell: 30 });
  return section(make("h2", {}, "Transitions"),
    hint("The score of each tag after each other: purple is favored, orange penalized, hatched not allowed."), matrix.element);
}

/** The labels of the whole text, and the weights of its words, where attention pools them, and of the texts before it. */
function drawText(cards, seen) {
  const weighed = seen.over("source").find(({ name }) => name.endsWith("weights"));
  cards.append(section(make("h2", {}, "Label of the text"), ranked("Labels", seen.array("labels"))));
  if (weighed) {
    const weights = weighed.values.map(Number);
    const words = seen.labels("source").map((word, at) => labelled(word, percent(weights[at]), weights[at] / (weighed.largest || 1), make("div")));
    cards.append(section(make("h2", {}, "Where the label comes from"), hint("The share of each word in the vector that the label is chosen from."),
      make("div", { class: "sentence", dir: seen.leftward("source") ? "rtl" : "ltr" }, ...words),
      behind("Table", () => table("Weights of the words", ["word", "weight"], seen.labels("source").map((word, at) => [word, short(weights[at])])))));
  }
  const [earlier] = seen.over("earlier").filter((array) => array.values?.length);
  if (earlier) {
    cards.append(section(make("h2", {}, "Earlier texts"), bars("Earlier texts, the last first", ...seen.labels("earlier").map((text, at) => bar(text, Number(earlier.values[at]))))));
  }
}
