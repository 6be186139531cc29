// Vectors of words: their map, the words nearest to one, and analogies.
import { ranked } from "./shares.js";
import * as api from "./api.js";
import { behind, button, chosen, entry, hint, isolated, make, menu, section, short, table, telling } from "./dom.js";
import { drawMap } from "./map.js";

const SIZES = [100, 300, 1000, 2000];
const NAMES = { tsne: "t-SNE", umap: "UMAP", pca: "principal components" };

/** Draws a map of the vectors of a side's model, with what is near to a word, and sums of words. */
export async function drawVectors(place, side) {
  const { card, page, state } = side;
  if (!card.vectors.includes(state.vectors)) [state.vectors] = card.vectors;
  if (!page.projections.includes(state.projection)) [state.projection] = page.projections;
  // A model has vectors of its tokens, which may be characters; a folder of vectors has those of words.
  const unit = card.reads ? "token" : "word";
  const again = (changes) => {
    Object.assign(state, changes);
    chosen(place);
    return drawVectors(place, side);
  };
  const choice = (label, key, options) => menu(label, options, state[key], (value) => again({ [key]: typeof state[key] === "number" ? Number(value) : value }));
  const more = make("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: `${unit}s …`, "aria-label": `More ${unit}s to place` });
  const form = entry(more, "Place", (typed) => {
    const words = typed.split(/[\s,]+/).filter(Boolean);
    if (words.length) add(words, words[0]);
  });
  const body = make("div", {}, hint("Computing …"));
  const sums = section();
  place.replaceChildren(make("div", { class: "cards" }, make("div", { class: "top choice" },
    card.vectors.length > 1 ? choice("Vectors of", "vectors", card.vectors) : null, choice("Most frequent", "top", SIZES),
    page.projections.length > 1 ? choice("by", "projection", page.projections.map((name) => [name, NAMES[name]])) : null, form,
    state.placed.length ? button("Only the most frequent", () => again({ placed: [] })) : null), body, sums));

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
    const told = [make("h3", {}, "Nearest to ", isolated(word)), hint("…")];
    const list = make("div", {}, ...told);
    api.neighbors(card.name, { vectors: state.vectors, positive: [word] }).then((found) => list.replaceChildren(told[0],
      nearest("Nearest", found, go), ...onMap(found)), (error) => list.replaceChildren(make("p", {}, error.message)));
    return list;
  };
  /** A button that puts those on the map that are not there yet. */
  const onMap = (found) => {
    const missing = found.array("neighbors").texts.filter((word) => !plane.words.includes(word));
    return missing.length ? [button(`Place the ${missing.length} not on the map`, () => add(missing, state.word))] : [];
  };
  drawSums(sums, side, unit, go, (found) => {
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
  plane = await drawMap(drawn, seen, state, { beside, arrows: () => arrows, unit });
  if (state.word && plane.words.includes(state.word)) plane.onchoose(state.word);
}

const nearest = (label, found, go) => ranked(label, found.array("neighbors"), { said: short, onchoose: go });

/** Sums of words, such as king − man + woman; `show` gets the arrows of an analogy. */
function drawSums(place, side, unit, go, show) {
  const { card: { name }, state } = side;
  const input = make("input", { type: "text", autocomplete: "off", spellcheck: "false", value: state.sum, placeholder: unit === "word" ? "king − man + woman" : "a − b + c", "aria-label": `A sum of ${unit}s`, size: 34 });
  const told = telling();
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
  place.append(make("h2", {}, "Arithmetic"), hint(`Add and subtract ${unit}s, with spaces around the signs; those of the sum are left out of the answer.${unit === "word" ? " King − man + woman: man is to king as woman is to …" : ""}`),
    entry(input, "Find", solve), told);
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
