// Gradients of several models that read the same text and write the same target, side by side.
import * as api from "./api.js";
import { chosen, make } from "./dom.js";
import { drawGradients } from "./gradients.js";
import { state } from "./state.js";

const MOST = 6;

export async function drawFlow(place, page) {
  const same = page.cards.filter((card) => card.explains && card.task === page.card.task);
  const alike = same.filter((card, at) => card.name === page.card.name || at < MOST);
  const wished = alike.filter((card) => card.name === page.card.name || !state.without.includes(card.name));
  const body = make("div", {}, make("p", { class: "hint" }, "Computing …"));
  place.replaceChildren(...(alike.length > 1 ? [choice(place, page, alike)] : []), body);
  const found = await Promise.allSettled(wished.map((card) => one(page, card)));
  const refused = found.map(({ reason }, at) => reason && make("p", { class: "hint" }, `${wished[at].name}: ${reason.message}`));
  const drawn = make("div");
  body.replaceChildren(...refused.filter(Boolean), drawn);
  const all = found.filter(({ status }) => status === "fulfilled").map(({ value }) => value);
  if (all.length) await drawGradients(drawn, all, state);
}

/** What is shown of one model: the gradients of the target that is looked at, and what the model itself would write. */
async function one(page, card) {
  const { name } = card;
  const asked = { texts: page.texts, ...page.told };
  const [norms, seen, outputs] = await Promise.all([api.reasons(name, asked), name === page.card.name ? page.seen : api.inspect(name, asked),
    card.writes ? api.translate(name, { text: page.texts[0], beam: 1, ...page.told }) : null]);
  return { name, norms, seen, says: outputs?.outputs[0].text };
}

function choice(place, page, alike) {
  const boxes = alike.map(({ name }) => {
    const own = name === page.card.name;
    const box = make("input", { type: "checkbox", checked: own || !state.without.includes(name), disabled: own, onchange: () => {
      state.without = box.checked ? state.without.filter((other) => other !== name) : [...state.without, name];
      chosen(place);
      drawFlow(place, page);
    } });
    return make("label", {}, box, ` ${name}`);
  });
  return make("div", { class: "top choice", role: "group", "aria-label": "Models" }, make("span", { class: "hint" }, "Models side by side:"), ...boxes);
}
