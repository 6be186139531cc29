// Generating token by token: the likeliest, what each is made of, and where it would be copied from.
import { bar, bars } from "./shares.js";
import * as api from "./api.js";
import { along, behind, bold, button, chosen, hint, isolated, make, percent, roving, section, table, telling } from "./dom.js";
import { tint } from "./shades.js";

const COUNT = 12;
const AT_ONCE = 10;

export class Writing {
  constructor(place, side) {
    Object.assign(this, { place, side, state: side.state, turn: 0 });
    this.text = make("div", { class: "reading", dir: "auto", role: "group", "aria-label": "The text so far" });
    this.list = telling();
    this.beside = hint();
    this.stopped = true;
    this.buttons = make("div", { class: "buttons" });
    this.element = make("div", { class: "cards sided" }, section(make("h2", {}, "Generate"),
      hint("Choose the next token: move with the arrow keys, take one with Enter, undo with Backspace. Sampling gives what ",
        make("code", {}, "regard generate"), " gives with this temperature and seed."),
      this.tools(), this.buttons, this.text, this.beside), make("section", { class: "card beside-it" }, this.list));
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Backspace" || event.target.matches("input")) return;
      event.preventDefault();
      this.back(this.state.written.length - 1, true);
    });
    place.replaceChildren(this.element);
  }

  tools() {
    const told = make("output", {}, this.state.temperature.toFixed(2));
    const slider = make("input", { type: "range", min: 0.1, max: 2, step: 0.05, value: this.state.temperature, "aria-label": "Temperature", oninput: () => {
      this.state.temperature = Number(slider.value);
      told.textContent = this.state.temperature.toFixed(2);
      this.ask();
    } });
    const sample = make("input", { type: "number", min: 0, max: 9999, step: 1, value: this.state.sample, onchange: () => {
      this.state.sample = Math.max(0, Math.min(9999, Math.round(Number(sample.value)) || 0));
      this.ask();
    } });
    return make("div", { class: "top" }, make("label", { class: "slider" }, "Temperature ", slider, told),
      make("label", { title: "Each seed gives another text" }, "Seed ", sample));
  }

  /** Asks what may come next; the answer to an older question is dropped. */
  ask(focus = false) {
    this.asked = this.answer(focus);
    return this.asked;
  }

  async answer(focus) {
    const turn = (this.turn += 1);
    chosen(this.place);
    const { text, written, temperature, sample } = this.state;
    const seen = await api.goOn(this.side.card.name, { text, written, temperature, sample, count: COUNT, ...this.side.told });
    if (turn !== this.turn) return;
    this.side.fail(null);
    this.seen = seen;
    const heads = await Promise.all(seen.over("head", "past").map(async ({ name }) => [name, (await seen.numbers(name)).values]));
    if (turn !== this.turn) return;
    this.rows = Object.fromEntries(heads);
    this.draw(focus);
  }

  draw(focus) {
    const { seen } = this;
    const labels = seen.shown.labels.past.slice(1);
    const first = labels.length - this.state.written.length;
    this.tokens = labels.map((label, at) => {
      const own = at >= first;
      return own ? button(isolated(label), () => this.back(at - first), { class: "token written", title: "Go back to this token" }) : make("span", { class: "token" }, isolated(label));
    });
    this.text.replaceChildren(...(this.tokens.length ? this.tokens.flatMap((token, at) => (labels[at] === "∎" ? [token, make("br")] : [token])) : [make("span", { class: "hint" }, "Nothing yet.")]));
    const { texts: names, values: chances } = seen.array("candidates");
    const parts = seen.values("parts");
    const kinds = parts ? seen.labels("part") : [];
    const rows = names.map((name, rank) => {
      const own = parts && parts.slice(rank * kinds.length, (rank + 1) * kinds.length);
      const whole = own && own.reduce((sum, part) => sum + part, 0);
      const shown = { ...(own && { parts: own.map((part) => (Number(chances[rank]) * part) / (whole || 1)) }), "data-rank": rank,
        onchoose: () => this.take(rank, true), onpointerenter: () => this.mark(rank), onfocus: () => this.mark(rank) };
      return bar(name, Number(chances[rank]), shown);
    });
    roving(rows, along(rows.length));
    this.list.replaceChildren(make("h3", {}, "What may come next", make("span", { class: "hint" }, ` entropy ${seen.values("entropy")[0].toFixed(2)} bits`)), bars("What may come next", ...rows),
      ...(kinds.length ? [hint(...kinds.flatMap((kind, number) => [make("span", { class: `swatch part-${number}`, "aria-hidden": "true" }), ` ${kind} `]))] : []),
      behind("Table", () => table("What may come next", ["token", "probability", ...kinds], names.map((name, rank) =>
        [name, percent(Number(chances[rank])), ...kinds.map((_, kind) => percent(parts[rank * kinds.length + kind]))]))));
    const none = { disabled: !this.state.written.length };
    this.buttons.replaceChildren(button("Take the likeliest", () => this.take(0)), button("Sample", () => this.draws(1)),
      this.stopped ? button(`Sample ${AT_ONCE}`, () => this.draws(AT_ONCE)) : button("Stop", () => { this.stopped = true; }),
      button("Undo", () => this.back(this.state.written.length - 1), none), button("Start over", () => this.back(0), none));
    this.mark(0);
    if (focus) rows[0].focus();
  }

  take(rank, focus = false) {
    this.state.written = [...this.state.written, this.seen.values("tokens")[rank]];
    return this.ask(focus);
  }

  back(count, focus = false) {
    if (count < 0) return null;
    this.stopped = true;
    this.state.written = this.state.written.slice(0, count);
    return this.ask(focus);
  }

  /** Draws what comes next, at the temperature that was asked for last. */
  async draws(most) {
    this.stopped = false;
    await this.asked;
    for (let count = 0; count < most && !this.stopped && this.element.isConnected; count += 1) await this.take(this.seen.values("next")[0]);
    this.stopped = true;
    if (this.element.isConnected) this.draw();
  }

  /** Where a candidate would be copied from; of a model that does not copy, where it looks. */
  mark(rank) {
    const { seen } = this;
    const copied = seen.over("past");
    const heads = seen.over("head", "past");
    const labels = seen.shown.labels.past;
    const name = seen.array("candidates").texts[rank];
    let weights = null;
    if (copied.length) {
      weights = labels.map((label, at) => (label === name ? copied.reduce((sum, { values }) => sum + Number(values[at]), 0) : 0));
      const all = weights.reduce((sum, weight) => sum + weight, 0);
      this.beside.replaceChildren(bold(name), all > 0 ? ` would be copied from the marked places with a probability of ${percent(all)}.` : " cannot be copied: it has not been read or written yet.");
    } else if (heads.length) {
      const rows = heads.flatMap(({ name: tap, shape: [count] }) => Array.from({ length: count }, (_, head) => this.rows[tap].subarray(head * labels.length, (head + 1) * labels.length)));
      weights = labels.map((_, at) => rows.reduce((sum, row) => sum + row[at], 0) / rows.length);
      this.beside.textContent = "The stronger its color, the more the model looks at a token (mean of all heads).";
    }
    if (!weights) return;
    const most = Math.max(1e-9, ...weights);
    this.tokens.forEach((token, at) => tint(token, weights[at + 1] / most));
  }
}

/** Draws how a text may go on. */
export const drawWriting = (place, side) => new Writing(place, side).ask();
