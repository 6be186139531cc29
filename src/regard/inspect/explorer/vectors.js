// Vectors of words: their map, the words nearest to one, and analogies.
import { bar, bars } from "./shares.js";
import * as api from "./api.js";
import { behind, chosen, isolated, make, short, table } from "./dom.js";
import { drawMap } from "./map.js";

const SIZES = [100, 300, 1000, 2000];
const NAMES = { tsne: "t-SNE", umap: "UMAP", pca: "principal components" };

/** Draws a map of the vectors of a side's model, with what is near to a word, and sums of words. */
export async function drawVectors(place, side) {
  const { card, page, state } = side;
  if (!card.vectors.includes(state.vectors)) [state.vectors] = card.vectors;
  if (!page.projections.includes(state.projection)) [state.projection] = page.projections;
  const again = (changes) => {
    Object.assign(state, changes);
    chosen(place);
    return drawVectors(place, side);
  };
  const menu = (label, key, options, name = (option) => option) => make("label", {}, `${label} `, make("select", { onchange: (event) =>
    again({ [key]: typeof state[key] === "number" ? Number(event.target.value) : event.target.value }) },
  ...options.map((option) => make("option", { value: option, selected: option === state[key] }, String(name(option))))));
  const more = make("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: "words …", "aria-label": "More words to place" });
  const form = make("form", { class: "own", onsubmit: (event) => {
    event.preventDefault();
    const words = more.value.split(/[\s,]+/).filter(Boolean);
    if (words.length) add(words, words[0]);
  } }, more, make("button", { type: "submit" }, "Place"));
  const body = make("div", {}, make("p", { class: "hint" }, "Computing …"));
  const sums = make("section", { class: "card" });
  place.replaceChildren(make("div", { class: "cards" }, make("div", { class: "top choice" },
    card.vectors.length > 1 ? menu("Vectors of", "vectors", card.vectors) : null, menu("Words", "top", SIZES),
    page.projections.length > 1 ? menu("by", "projection", page.projections, (name) => NAMES[name]) : null, form,
    state.placed.length ? make("button", { type: "button", onclick: () => again({ placed: [] }) }, `Only the most frequent`) : null), body, sums));

  let arrows = [];
  let plane = null;
  /** Puts words on the map; the others keep their places only as far as the projection lets them. */
  const add = (words, word) => again({ placed: [...new Set([...state.placed, ...words])].slice(-200), word });
  const go = (word) => {
    if (!plane) return;
    if (plane.words.includes(word)) plane.onchoose(word);
    else add([word], word);
  };

  const beside = (word) => {
    const told = [make("h3", {}, "Nearest to ", isolated(word)), make("p", { class: "hint" }, "…")];
    const list = make("div", {}, ...told);
    api.neighbors(card.name, { vectors: state.vectors, positive: [word] }).then((found) => list.replaceChildren(told[0],
      nearest("Nearest", found, go), ...onMap(found)), (error) => list.replaceChildren(make("p", {}, error.message)));
    return list;
  };
  /** A button that puts those on the map that are not there yet. */
  const onMap = (found) => {
    const missing = found.array("neighbors").texts.filter((word) => !plane.words.includes(word));
    return missing.length ? [make("button", { type: "button", onclick: () => add(missing, state.word) }, `Place the ${missing.length} that are not on the map`)] : [];
  };
  drawSums(sums, side, go, (found) => {
    arrows = found;
    plane?.draw();
  });
  const ask = () => api.map(card.name, { vectors: state.vectors, words: state.placed, top: state.top, projection: state.projection });
  side.fail(null);
  const seen = await ask().catch((error) => {
    if (!state.placed.length) throw error;
    // A word that is not known must not stay in the way of this map and all later ones.
    state.placed = [];
    side.fail(error);
    return ask();
  });
  const drawn = make("div");
  body.replaceChildren(drawn);
  plane = await drawMap(drawn, seen, state, { beside, arrows: () => arrows });
  if (state.word && plane.words.includes(state.word)) plane.onchoose(state.word);
}

const nearest = (label, found, go) => {
  const { texts, values } = found.array("neighbors");
  return bars(label, ...texts.map((word, rank) => bar(word, Math.max(0, Number(values[rank])), { said: short(Number(values[rank])), onchoose: () => go(word) })));
};

/** Sums of words, such as king − man + woman; `show` gets the arrows of an analogy. */
function drawSums(place, side, go, show) {
  const { card: { name }, state } = side;
  const input = make("input", { type: "text", autocomplete: "off", spellcheck: "false", value: state.sum, placeholder: "king − man + woman", "aria-label": "A sum of words", size: 34 });
  const told = make("div", { class: "told", "aria-live": "polite" });
  const solve = async () => {
    state.sum = input.value.trim();
    chosen(place);
    show([]);
    if (!state.sum) return told.replaceChildren();
    const { positive, negative } = parsed(state.sum);
    try {
      const found = await api.neighbors(name, { vectors: state.vectors, positive, negative });
      const best = found.array("neighbors").texts[0];
      // a − b + c: what b is to a, c is to the best.
      if (positive.length === 2 && negative.length === 1) show([[negative[0], positive[0]], [positive[1], best]]);
      return told.replaceChildren(make("h3", {}, isolated(state.sum), " is nearest to"), nearest("Nearest to the sum", found, go),
        behind("Table", () => table(found.shown.title, ["word", "score"], found.array("neighbors").texts.map((word, rank) => [word, short(Number(found.array("neighbors").values[rank]))]))));
    } catch (error) {
      return told.replaceChildren(make("p", {}, error.message));
    }
  };
  place.append(make("h2", {}, "Arithmetic"), make("p", { class: "hint" }, "Add and subtract words; what is given is left out. Man is to woman as king is to: king − man + woman."),
    make("form", { class: "own", onsubmit: (event) => {
      event.preventDefault();
      solve();
    } }, input, make("button", { type: "submit" }, "Find")), told);
  if (state.sum) solve();
}

/** The words of a sum; signs stand between blanks, as words may contain hyphens. */
export function parsed(sum) {
  const found = { positive: [], negative: [] };
  let sign = "positive";
  for (const part of sum.split(/\s+/).filter(Boolean)) {
    if (part === "+") sign = "positive";
    else if (["-", "−", "–"].includes(part)) sign = "negative";
    else {
      found[sign].push(part);
      sign = "positive";
    }
  }
  return found;
}
