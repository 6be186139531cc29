// Gradients of several models that read the same text and write the same target, side by side.
import * as api from "./api.js";
import { chosen, hint, make } from "./dom.js";
import { drawGradients } from "./gradients.js";

const MOST = 6;

/** Draws the gradients of the models that are of one kind with that of a side. */
export async function drawFlow(place, side) {
  const { page, state } = side;
  // Where sides are compared, each shows its own.
  const same = !page.alone ? [side.card] : page.cards.filter((card) => card.explains && card.task === side.card.task);
  const alike = same.filter((card, at) => card.name === side.card.name || at < MOST);
  const wished = alike.filter((card) => card.name === side.card.name || !state.without.includes(card.name));
  const body = make("div", {}, hint("Computing …"));
  place.replaceChildren(...(alike.length > 1 ? [choice(place, side, alike)] : []), body);
  const found = await Promise.allSettled(wished.map((card) => one(side, card)));
  const refused = found.map(({ reason }, at) => reason && hint(`${wished[at].name}: ${reason.message}`));
  const drawn = make("div");
  body.replaceChildren(...refused.filter(Boolean), drawn);
  const all = found.filter(({ status }) => status === "fulfilled").map(({ value }) => value);
  if (all.length) await drawGradients(drawn, all, state);
}

/** What is shown of one model: the gradients of the target that is looked at, and what the model itself would write. */
async function one(side, card) {
  const { name } = card;
  const asked = { texts: side.texts, ...side.told };
  const [norms, seen, outputs] = await Promise.all([api.reasons(name, asked), name === side.card.name ? side.seen : api.inspect(name, asked),
    card.writes ? api.translate(name, { text: side.texts[0], beam: 1, ...side.told }).catch(() => null) : null]);
  return { name, norms, seen, places: card.places, says: outputs?.outputs[0].text };
}

function choice(place, side, alike) {
  const { state } = side;
  const boxes = alike.map(({ name }) => {
    const own = name === side.card.name;
    const box = make("input", { type: "checkbox", checked: own || !state.without.includes(name), disabled: own, onchange: () => {
      state.without = box.checked ? state.without.filter((other) => other !== name) : [...state.without, name];
      chosen(place);
      drawFlow(place, side);
    } });
    return make("label", {}, box, ` ${name}`);
  });
  return make("div", { class: "top choice", role: "group", "aria-label": "Models" }, make("span", { class: "hint" }, "Models side by side:"), ...boxes);
}
