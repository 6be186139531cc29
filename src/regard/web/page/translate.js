// Translate and align: the translation with its probabilities, the alignment twice, the search, and targets of one's own.
import { behind, isolated, make, percent, short, table } from "./dom.js";
import { tint } from "./shades.js";
import { Matrix } from "./matrix.js";
import * as api from "./api.js";
import { Lines } from "./lines.js";
import { Tree } from "./tree.js";
import { state } from "./state.js";

export class TranslateView {
  constructor(page) {
    this.page = page;
    this.seen = page.seen;
    this.alignment = make("section", { class: "card alignment" });
    this.search = make("section", { class: "card wide" });
    this.element = make("div", { class: "cards two" }, this.translation(), this.alignment, this.search);
    this.ready = Promise.all([this.align(), this.grow()]);
  }

  translation() {
    const { page, seen } = this;
    const chances = seen.values("probabilities");
    const labels = seen.shown.labels.target;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.tokens = labels.map((label, place) => {
      const token = make("span", { class: "token", title: percent(chances[place]) }, isolated(label));
      tint(token, 1 - chances[place]);
      if (!calm) token.animate([{ opacity: 0, transform: "translateY(4px)" }, { opacity: 1, transform: "none" }],
        { duration: 160, delay: Math.min(place * 45, 1800), fill: "backwards" });
      return token;
    });
    const whole = chances.reduce((sum, chance) => sum + Math.log(chance), 0);
    const given = state.target !== "";
    return make("section", { class: "card" },
      make("h2", {}, given ? "A target of your own" : "Translation"),
      make("p", { class: "output", dir: "auto" }, isolated(page.texts[1])),
      make("div", { class: "tokens", dir: seen.shown.leftward.includes("target") ? "rtl" : "ltr" }, ...this.tokens),
      make("p", { class: "hint" }, `Probability ${percent(Math.exp(whole))}, log-probability ${short(whole)}. The darker a token, the more it surprises the model.`),
      behind("Table", () => this.tokenTable(labels, chances)),
      this.choices(), this.own());
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
    const { outputs } = this.page;
    const rows = outputs.map((output, place) => {
      const choose = () => this.page.go({ target: place ? output.text : "" });
      const chosen = output.text === this.page.texts[1];
      return make("label", { class: chosen ? "chosen" : "" },
        make("input", { type: "radio", name: "output", checked: chosen, onchange: choose }),
        make("span", { class: "text" }, isolated(output.text)), make("span", { class: "chance" }, percent(output.probability)));
    });
    return make("fieldset", { class: "outputs" }, make("legend", {}, "Best outputs, by score"), ...rows);
  }

  own() {
    const input = make("input", { type: "text", dir: "auto", maxlength: 10000, value: state.target, placeholder: "Another target …",
      "aria-label": "A target of your own" });
    return make("form", { class: "own", onsubmit: (event) => {
      event.preventDefault();
      this.page.go({ target: input.value });
    } }, input, make("button", { type: "submit" }, "Score and align"),
    state.target ? make("button", { type: "button", onclick: () => this.page.go({ target: "" }) }, "Back to the model's own") : null);
  }

  /** The alignment as a matrix and as lines, of all layers or of one head. */
  async align() {
    const { seen } = this;
    const names = seen.attention.filter((name) => seen.array(name).axes.join() === "head,target,source");
    if (!names.length) {
      this.alignment.append(make("h2", {}, "Alignment"), make("p", {}, seen.shown.note || "This model has no attention to its source, so there is nothing to align."));
      return;
    }
    const name = names.includes(state.tap) ? state.tap : "";
    const heads = name ? seen.array(name).shape[0] : 1;
    const options = { head: name ? seen.headOf(name, state.head) : "mean", words: state.words && seen.folds(["target", "source"]) };
    const data = name ? await seen.matrix(name, options) : await seen.mean(names, options);
    const lines = new Lines(data, (r) => matrix.move(r, matrix.place[1], true));
    const matrix = new Matrix(data, { label: "Alignment", most: Math.min(560, innerWidth - 90), onmove: (r) => lines.light({ r }) });
    const again = (changes) => {
      Object.assign(state, changes);
      this.page.show();
    };
    const layer = make("select", { onchange: (event) => again({ tap: event.target.value, head: "mean" }) },
      make("option", { value: "" }, names.length > 1 ? `mean of ${names.length} layers` : "mean"),
      ...names.map((each) => make("option", { value: each, selected: each === name }, each)));
    const head = make("select", { onchange: (event) => again({ head: event.target.value }) },
      ...["mean", "max", ...Array(heads).keys()].map((each) => make("option", { value: each, selected: String(each) === options.head }, String(each))));
    const words = make("input", { type: "checkbox", checked: options.words, onchange: (event) => again({ words: event.target.checked }) });
    this.alignment.replaceChildren(make("div", { class: "top" }, make("h2", {}, "Alignment"),
      names.length > 1 || seen.array(names[0]).shape[0] > 1 ? make("label", {}, "Layer ", layer) : null,
      name && heads > 1 ? make("label", {}, "Head ", head) : null, make("label", {}, words, " words")),
    make("div", { class: "pair" }, matrix.element, lines.element));
  }

  /** The beam search, which takes longer than the translation. */
  async grow() {
    const { page } = this;
    const beam = make("select", { onchange: (event) => page.go({ beam: Number(event.target.value) }) },
      ...[1, 2, 3, 4, 5, 6, 8, 10].map((size) => make("option", { value: size, selected: size === state.beam }, String(size))));
    const forced = state.prefix
      ? make("p", { class: "forced" }, "Must begin with ", make("b", {}, isolated(state.prefix)), " ",
        make("button", { type: "button", onclick: () => page.go({ prefix: "", target: "" }) }, "Leave free"))
      : null;
    this.search.append(make("div", { class: "top" }, make("h2", {}, "Search"), make("label", {}, "Beam ", beam)), ...(forced ? [forced] : []));
    const seen = await api.tree(page.card.name, { text: state.text, beam: state.beam, prefix: state.prefix, ...page.told });
    const tree = new Tree(seen, page, (prefix) => page.go({ prefix, target: "" }));
    this.search.append(tree.element);
  }
}
