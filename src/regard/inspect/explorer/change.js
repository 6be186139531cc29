// Change it: a weight, a head, a gate; the probabilities before and after, and the program that does the same.
import { bold, button, fill, heading, hint, isolated, logOf, make, menu, section, short, signed } from "./dom.js";
import { Matrix } from "./matrix.js";
import { tint } from "./shades.js";
import * as api from "./api.js";
import { CHANGED, remember } from "./state.js";

/** The first text of each row. */
const firstTexts = ({ texts, shape }) => Array.from({ length: shape[0] }, (_, row) => texts[row * (shape[1] || 1)]);

export class ChangeView {
  constructor(page) {
    this.page = page;
    this.state = page.state;
    this.before = page.seen;
    this.after = page.seen;
    this.made = []; // the changes that `after` shows
    const known = new Set(this.before.shown.arrays.map((array) => array.name));
    this.places = page.card.places.filter((place) => known.has(place.tap));
    if (!this.places.some((place) => place.tap === this.state.tap)) {
      const first = this.before.shown.shown.find((name) => this.places.some((place) => place.tap === name));
      Object.assign(this.state, { tap: first || this.places[0]?.tap, head: "0" });
    }
    this.picture = make("div");
    this.tools = make("div", { class: "changes" });
    this.result = make("section", { class: "card", "aria-live": "polite" });
    this.heads = make("span");
    this.list = make("section", { class: "card wide" });
    const where = menu("Where", this.places.map(({ tap }) => tap), this.state.tap, (tap) => this.turn({ tap, head: "0" }));
    this.element = make("div", { class: "cards halves", onkeydown: (event) => this.press(event) }, section(heading("Change", where, this.heads),
      this.tools, this.picture), this.result, this.list);
    this.ready = this.run();
  }

  press(event) {
    if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || !this.state.changes.length || event.target.matches("input[type=text]")) return;
    event.preventDefault();
    this.leave(this.state.changes.length - 1);
  }

  get place() {
    return this.places.find((place) => place.tap === this.state.tap);
  }

  get isAttention() {
    return this.place.kind === "attention";
  }

  /** The chosen head; null for what has none, or for all. */
  get head() {
    return this.before.array(this.state.tap).axes[0] === "head" && /^\d+$/.test(this.state.head) ? Number(this.state.head) : null;
  }

  turn(changes) {
    Object.assign(this.state, changes);
    remember();
    return this.draw();
  }

  /** Adds a change; a second one of the same number takes the place of the first. */
  add(change, replaces = false) {
    const same = (other) => ["kind", "tap", "head", "query", "key", "unit", "step"].every((name) => other[name] === change[name]);
    const last = this.state.changes[this.state.changes.length - 1];
    this.state.changes = replaces && last && same(last) ? [...this.state.changes.slice(0, -1), change] : [...this.state.changes, change];
    return this.run();
  }

  /** Computes anew. While the server is busy only the last wish is kept. */
  async run() {
    if (this.running) {
      this.wanted = true;
      return;
    }
    this.running = true;
    try {
      do {
        this.wanted = false;
        remember();
        await this.apply();
        await this.draw();
        this.compare();
        this.tell();
        if (!this.wanted && this.page.card.writes) await this.rewrite().catch((error) => this.page.fail(error));
      } while (this.wanted);
    } finally {
      this.running = false;
    }
  }

  /** Makes the changes; those that are refused are taken back, or every later one would be refused with them. */
  async apply() {
    const { changes } = this.state;
    const asked = { texts: this.page.texts, changes, ...this.page.told };
    try {
      this.after = changes.length ? await api.inspect(this.page.card.name, asked) : this.before;
      this.made = changes;
      this.page.fail(null);
    } catch (error) {
      this.state.changes = this.made;
      this.wanted = false;
      remember();
      this.page.fail(error);
    }
  }

  async draw() {
    const array = this.before.array(this.state.tap);
    const heads = array.axes[0] === "head" ? array.shape[0] : 0;
    if (heads && !(Number(this.state.head) < heads) && this.state.head !== "all") this.state.head = "0";
    fill(this.heads, heads > 1 ? menu("Head", [...Array(heads).keys(), "all"], this.state.head, (head) => this.turn({ head })) : null);
    const data = await this.after.matrix(this.state.tap, { head: this.head === null ? "mean" : this.head });
    if (!this.matrix || this.drawn !== this.state.tap) {
      this.matrix = new Matrix(data, { label: `${this.state.tap}, changed`, most: this.page.room(620),
        onmove: () => this.follow(), ondrag: (r, c, share) => this.drag(r, c, share) });
      this.drawn = this.state.tap;
      this.picture.replaceChildren(this.matrix.element);
      this.buildTools();
    } else {
      const told = this.matrix.told;
      this.matrix.show(data);
      if (told) this.matrix.move(...this.matrix.place, true);
    }
    this.follow();
  }

  drag(r, c, share) {
    const value = Math.round(share * 1000) / 1000;
    this.slider.value = value;
    return this.add(this.isAttention ? { kind: "SetWeight", tap: this.state.tap, ...this.ofHead(), ...this.ofQuery(r), key: this.key(r, c), value }
      : { kind: "SetGate", tap: this.state.tap, ...this.step(r), unit: c, value }, true);
  }

  ofHead() {
    return this.head === null ? {} : { head: this.head };
  }

  ofQuery(r) {
    return this.before.array(this.state.tap).axes.length > 2 ? { query: r } : {};
  }

  /** What has one axis is drawn as a column. */
  key(r, c) {
    return this.before.array(this.state.tap).axes.length === 1 ? r : c;
  }

  /** Steps are counted as they are read: backward in a cell that reads backward. */
  step(r) {
    return { step: this.place.backward ? this.matrix.data.rows - 1 - r : r };
  }

  buildTools() {
    this.slider = make("input", { type: "range", min: 0, max: 1, step: 0.01, "aria-label": "The number of the chosen cell",
      oninput: (event) => this.drag(...this.matrix.place, Number(event.target.value)) });
    if (["state", "candidate"].includes(this.place.kind)) this.slider.min = -1;
    this.sliderLabel = make("span", {});
    const row = make("input", { type: "checkbox" });
    const whole = (kind, label, more = () => {}) => button(label, () => {
      const [r] = this.matrix.place;
      const only = !row.checked ? {} : this.isAttention ? this.ofQuery(r) : this.step(r);
      return this.add({ kind, tap: this.state.tap, ...this.ofHead(), ...only, ...more() });
    });
    const gate = (value, label) => whole("SetGate", label, () => ({ value }));
    const buttons = this.isAttention ? [
      whole("Silence", "Silence"), whole("Uniform", "Make uniform"),
      whole("Permute", "Permute", () => ({ seed: this.state.changes.filter((change) => change.kind === "Permute").length })),
      whole("Temper", "Sharpen", () => ({ temperature: 0.5 })), whole("Temper", "Flatten", () => ({ temperature: 2 }))]
      : this.place.kind === "gate" ? [gate(0, "Shut: all 0"), gate(1, "Open: all 1")] : [gate(0, "All 0")];
    this.tools.replaceChildren(make("div", { class: "buttons" }, ...buttons, this.before.array(this.state.tap).axes.length > 1 ? make("label", {}, row, this.isAttention ? " only this row" : " only this step") : null),
      make("label", { class: "slider" }, this.sliderLabel, this.slider));
  }

  follow() {
    const [r, c] = this.matrix.place;
    const { rowLabels, columnLabels } = this.matrix.data;
    this.sliderLabel.replaceChildren(isolated(rowLabels[r]), ...(columnLabels.length > 1 ? [" → ", isolated(columnLabels[c])] : []), " ");
    if (document.activeElement !== this.slider) this.slider.value = this.matrix.value(r, c);
  }

  /** What comes out, before and after. */
  compare() {
    const name = this.outcome();
    if (!name) {
      this.result.replaceChildren(make("h2", {}, "Before and after"), make("p", {}, "This model shows no probabilities."));
      return;
    }
    const [before, after] = [this.before.values(name), this.after.values(name)];
    const labels = this.outcomeLabels(name);
    const [axis] = this.before.array(name).axes;
    const said = this.said(name, axis);
    const texts = said && [this.before, this.after].map((seen) => firstTexts(seen.array(said)));
    const rows = labels.map((label, place) => {
      const change = make("td", { class: "number" }, signed(after[place] - before[place]));
      tint(change, after[place] - before[place], true);
      const [then, now] = texts ? texts.map((each) => each[place]) : ["", ""];
      return make("tr", {}, make("th", { scope: "row" }, isolated(label)), this.share(before[place]), this.share(after[place]), change,
        make("td", { class: then === now ? "" : "other" }, isolated(now)));
    });
    this.result.replaceChildren(make("h2", {}, "Before and after"),
      make("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Before and after" }, make("table", { class: "outcome" },
        make("thead", {}, make("tr", {}, ...["", "before %", "after %", "difference", said ? "now likeliest" : ""].map((text, place) => make("th", { scope: "col", class: place % 4 ? "number" : null }, text)))),
        make("tbody", {}, ...rows))), this.rewritten = make("p", { class: "rewritten" }));
    if (name === "probabilities" && axis === "target") {
      this.result.append(hint(`Log-probability of the output: ${short(logOf(before))} before, ${short(logOf(after))} after.`));
    }
  }

  /** The array of probabilities that are compared: of given outputs or labels, or of what is chosen at each position. */
  outcome() {
    if (this.before.array("probabilities")?.values) return "probabilities";
    return this.before.shown.shown.find((name) => {
      const { axes, texts, values } = this.before.array(name) || {};
      return values && texts && axes.length === 1 && axes[0] !== "rank";
    });
  }

  /** The array with texts that says what is likeliest at each position of the outcome. */
  said(name, axis) {
    if (this.before.array(name).texts) return name;
    return this.before.array("candidates")?.axes[0] === axis ? "candidates" : "";
  }

  outcomeLabels(name) {
    const array = this.before.array(name);
    const [rows, columns] = array.axes.map((axis, place) => this.before.labels(axis, array.shape[place]));
    return columns ? rows.flatMap((row) => columns.map((column) => `${row} ${column}`)) : rows;
  }

  share(value) {
    const bar = make("span", { class: "bar" });
    bar.style.width = `${Math.max(0, Math.min(100, 100 * value))}%`;
    return make("td", { class: "number share" }, bar, make("span", {}, (100 * value).toFixed(1)));
  }

  /** What the changed model writes by itself, as far as changes do not name positions of another target. */
  async rewrite() {
    if (!this.state.changes.length) return;
    const changes = JSON.stringify(this.state.changes);
    const asked = { text: this.state.text, beam: 1, changes: this.state.changes, ...this.page.told };
    const { outputs } = await api.translate(this.page.card.name, asked);
    if (changes === JSON.stringify(this.state.changes)) {
      this.rewritten?.replaceChildren("Changed, the model writes ", bold(outputs[0].text || "nothing"));
    }
  }

  leave(place) {
    this.state.changes = this.state.changes.filter((_, other) => other !== place);
    return this.run();
  }

  /** The changes, each of which can be taken back, and the program that makes them. */
  tell() {
    const items = this.state.changes.map((change, place) => {
      const words = make("span", {}, this.inWords(change));
      return make("li", {}, words, " ", make("code", {}, change.tap), " ", button("Take back", () => this.leave(place), { "aria-label": `Take back: ${words.textContent}` }));
    });
    const none = { disabled: !items.length };
    const undo = button("Undo", () => this.leave(items.length - 1), none);
    const all = button("Undo all", () => { this.state.changes = []; this.run(); }, none);
    const program = this.after.shown.python;
    const copy = navigator.clipboard ? button("Copy", () => navigator.clipboard.writeText(program)) : null;
    const everywhere = button("Compare in all views", () => this.page.go({ against: CHANGED, view: "" }), none);
    fill(this.list, heading("Changes", undo, all, this.state.against === CHANGED || this.page.card !== this.page.page.card ? null : everywhere),
      items.length ? make("ol", {}, ...items) : hint("None yet. Drag a cell up or down with the mouse or a finger, press + and −, or use the buttons."),
      make("div", { class: "top" }, make("h3", {}, "The same in Python"), copy), make("pre", { tabindex: 0 }, program));
  }

  /** What a change does, with the tokens that it is about. */
  inWords({ kind, tap, head, query, key, unit, step, value, temperature }) {
    const array = this.before.array(tap);
    if (!array) return kind; // a pattern of a link, for several places
    const axes = array.axes.filter((axis) => axis !== "head");
    const at = (axis, place) => isolated(this.before.shown.labels[axis]?.[place] ?? String(place));
    const { backward } = this.places.find((place) => place.tap === tap) || {};
    const parts = {
      SetWeight: () => [...(query === undefined ? [] : [at(axes[0], query), " → "]), at(axes[axes.length - 1], key), `: ${value}`],
      SetGate: () => [unit === undefined ? "all units" : `unit ${unit}`, ...(step === undefined ? [] : [" at ", at(axes[0], backward ? array.shape[0] - 1 - step : step)]), `: ${value}`],
    }[kind]?.() || [{ Silence: "silenced", Uniform: "made uniform", Permute: "permuted", Temper: temperature < 1 ? "sharpened" : "flattened" }[kind],
      ...(query === undefined ? [] : [": the row of ", at(axes[0], query)])];
    return [...parts, head === undefined || array.shape[0] < 2 ? "" : `, head ${head}`];
  }
}
