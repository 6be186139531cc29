// Translate and align: the translation with its probabilities, the alignment twice, the search, and targets of one's own.
import { behind, bold, button, changedParts, entry, fill, heading, hint, isolated, logOf, make, menu, percent, section, short, table, tokensOf } from "./dom.js";
import { scale, tint } from "./shades.js";
import { asInspection, taking } from "./take.js";
import { Matrix } from "./matrix.js";
import * as api from "./api.js";
import { Lines } from "./lines.js";
import { Tree } from "./tree.js";

const [STEP, LONGEST_WRITING] = [60, 2400];
const MARGINS = 44;
const BEAMS = [1, 2, 3, 4, 5, 6, 8, 10];

export class TranslateView {
  constructor(page) {
    this.page = page;
    this.seen = page.seen;
    this.alignment = make("section", { class: "card alignment" });
    this.search = section();
    this.element = make("div", { class: "cards two" }, this.translation(), this.alignment, page.card.recorded?.only ? null : this.search);
    this.ready = Promise.all([this.align(), page.card.recorded?.only ? null : this.grow()]);
  }

  translation() {
    const { page, seen } = this;
    const chances = seen.values("probabilities");
    const labels = seen.shown.labels.target;
    this.tokens = labels.map((label, place) => {
      const token = make("span", { class: "token", title: percent(chances[place]) }, isolated(label));
      tint(token, chances[place]);
      return token;
    });
    const whole = logOf(chances);
    const title = page.changed ? "The same output" : page.state.target ? "A target of your own" : "Translation";
    const written = make("p", { class: "output", dir: "auto" }, ...this.words());
    write([...written.querySelectorAll(".word")], this.tokens);
    return section(make("h2", {}, title), written, page.changed ? this.rewritten() : this.unforced(),
      tokensOf("Its tokens", seen.leftward("target"), ...this.tokens),
      hint(`Probability ${percent(Math.exp(whole))}, log-probability ${short(whole)}.`, scale("unlikely", "likely")),
      behind("Table", () => this.tokenTable(labels, chances)),
      page.outputs.length ? this.choices() : null, page.card.recorded ? null : this.own());
  }

  /** The output, word by word; marked where it is another than without what was forced. */
  words() {
    const { page } = this;
    const text = page.texts[1] ?? this.seen.shown.title;
    const parts = page.free && page.free !== text ? changedParts(page.free, text) : text.split(/(?<=\s)/).map((word) => [word, false]);
    return parts.map(([word, isOther]) => make(isOther ? "mark" : "span", { class: "word" }, word));
  }

  unforced() {
    const { free, texts } = this.page;
    return free && free !== texts[1] ? hint("Left free, it writes ", bold(free), ".") : null;
  }

  /** What a changed model writes itself, beside the output that it is compared by. */
  rewritten() {
    const { outputs: [{ text }], texts } = this.page;
    const same = text === texts[1];
    return make("p", { class: "rewritten" }, same ? "Changed, the model writes the same." : ["Changed, the model writes ", bold(text || "nothing"), "."]);
  }

  tokenTable(labels, chances) {
    const candidates = this.seen.array("candidates");
    const [, count] = candidates.shape;
    const likeliest = (place) => Array.from({ length: count }, (_, rank) =>
      `${candidates.texts[place * count + rank]} ${percent(Number(candidates.values[place * count + rank]))}`).join("  ");
    return table("Tokens of the target", ["token", "probability", "likeliest here"],
      labels.map((label, place) => [label, percent(chances[place]), likeliest(place)]));
  }

  /** The n best, to choose from. */
  choices() {
    const { outputs, changed, name, card, texts } = this.page;
    const rows = outputs.map(({ text, probability }, place) => {
      const choose = () => this.page.go({ target: place || changed ? text : "" });
      const chosen = text === texts[1];
      return make("label", { class: chosen ? "chosen" : "" },
        make("input", { type: "radio", name: `output of ${name}`, checked: chosen, disabled: Boolean(card.recorded), onchange: choose }),
        make("span", { class: "text" }, isolated(text)), make("span", { class: "chance" }, percent(probability)));
    });
    const title = `Best outputs${changed ? " of the changed model" : ""}, by score`;
    const list = make("fieldset", { class: "outputs" }, make("legend", {}, title), ...rows);
    const every = (name) => ({ axes: ["rank"], shape: [outputs.length], values: outputs.map((output) => output[name]), texts: outputs.map(({ text }) => text) });
    return [list, taking({ name: () => title, picture: () => list,
      table: () => table(title, ["output", "score", "probability"], outputs.map(({ text, score, probability }) => [text, short(score), percent(probability)])),
      json: () => asInspection(title, { scores: every("score"), probabilities: every("probability") }, {}) }).element];
  }

  own() {
    const { page } = this;
    const input = make("input", { type: "text", dir: "auto", value: page.state.target, placeholder: "Another target …",
      "aria-label": "A target of your own" });
    const form = entry(input, "Score and align", (target) => page.go({ target }));
    if (page.state.target) form.append(button("Back to the model's own", () => page.go({ target: "" })));
    return form;
  }

  /** The alignment as a matrix and as lines, of all layers or of one head. */
  async align() {
    const { seen, page, page: { state } } = this;
    const names = seen.attention.filter((name) => seen.array(name).axes.join() === "head,target,source");
    if (!names.length) {
      this.alignment.append(make("h2", {}, "Alignment"), make("p", {}, seen.shown.note || "This model has no attention to its source, so there is nothing to align."));
      return;
    }
    const name = names.includes(state.tap) ? state.tap : "";
    const heads = name ? seen.array(name).shape[0] : 1;
    const options = { head: name ? seen.headOf(name, state.head) : "mean", words: state.words && seen.folds(["target", "source"]) };
    const data = name ? await seen.matrix(name, options) : await seen.mean(names, options);
    const room = Math.min(page.room(760), this.inside(this.alignment));
    const lines = new Lines(data, (r) => matrix.move(r, matrix.place[1], true), room);
    const matrix = new Matrix(data, { label: "Alignment", most: room, onmove: (r) => lines.light({ r }) });
    const again = (changes) => {
      page.set(changes);
      return this.align();
    };
    const words = make("input", { type: "checkbox", checked: options.words, onchange: (event) => again({ words: event.target.checked }) });
    const mean = names.length > 1 ? `mean of ${names.length} layers` : "mean";
    this.alignment.replaceChildren(heading("Alignment",
      names.length > 1 || seen.array(names[0]).shape[0] > 1 ? menu("Layer", [["", mean], ...names], name, (tap) => again({ tap, head: "mean" })) : null,
      name && heads > 1 ? menu("Head", ["mean", "max", ...Array(heads).keys()], options.head, (chosen) => again({ head: chosen })) : null,
      make("label", {}, words, " words")),
    make("div", { class: "pair" }, lines.element, matrix.element));
  }

  /** The width that a picture may take in a card. */
  inside(card) {
    return (card.clientWidth || Infinity) - MARGINS;
  }

  /** The beam search, which takes longer than the translation. */
  async grow() {
    const { page, page: { state } } = this;
    const beam = menu("Beam", BEAMS, state.beam, (size) => page.go({ beam: Number(size) }));
    beam.lastChild.disabled = Boolean(page.card.recorded);
    fill(this.search, heading("Search", beam), state.prefix
      ? make("p", { class: "forced" }, "Must begin with ", bold(state.prefix), " ", button("Leave free", () => page.go({ prefix: "", target: "" })))
      : null);
    const seen = await api.tree(page.card.name, { text: state.text, beam: state.beam, prefix: state.prefix, ...page.told });
    const room = this.inside(this.search);
    const tree = new Tree(seen, page, (prefix) => page.go({ prefix, target: "" }), room);
    // A large tree has the whole width of the page.
    this.search.classList.toggle("wide", tree.width > room);
    this.search.append(tree.element);
  }
}

/** Lets words and tokens appear one after another, as they were written, unless the reader wants no motion. */
function write(words, tokens) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const whole = Math.min(tokens.length * STEP, LONGEST_WRITING);
  for (const parts of [words, tokens]) {
    parts.forEach((part, place) => part.animate([{ opacity: 0, transform: "translateY(4px)" }, { opacity: 1, transform: "none" }],
      { duration: 180, delay: (whole * place) / parts.length, fill: "backwards" }));
  }
}
