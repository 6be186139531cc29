// A tree as arcs over its words, with how likely each is and what else was; and the moves that led to it, one by one.
import { bar, bars, ranked } from "./shares.js";
import { along, behind, button, chosen, hint, isolated, make, measure, percent, roving, room, section, table, telling } from "./dom.js";
import { draw } from "./drawing.js";
import { Matrix } from "./matrix.js";
import { taking } from "./take.js";

const [GAP, RISE, BASE] = [26, 30, 30];
const LEAST = 0.02;
const OTHERS = 6;
const ARRAYS = ["heads", "tree", "arcs", "relations", "moves", "made"];

export const hasArcs = (seen) => ["heads", "tree", "relations"].every((name) => seen.array(name)) && Boolean(seen.array("arcs") || seen.array("made"));

/** Draws the tree of a sentence. */
export async function drawArcs(place, seen, state) {
  await seen.load(...ARRAYS);
  const cards = make("div", { class: "cards even" });
  place.replaceChildren(cards);
  new Arcs(cards, seen, state).begin();
}

class Arcs {
  constructor(cards, seen, state) {
    Object.assign(this, { cards, seen, state });
    this.words = seen.labels("word");
    this.heads = seen.values("heads");
    this.relations = this.words.map((_, word) => seen.array("tree").texts[word].split("←")[0]);
    this.places = seen.shown.labels.source || ["<root>", ...this.words];
    this.made = seen.values("made");
    this.arcs = seen.array("arcs") && seen.values("arcs");
    this.chances = this.arcs ? this.heads.map((head, word) => this.arc(word, head)) : this.replayed().chances;
    if (!(state.place < this.words.length)) state.place = 0;
    this.told = telling();
    this.picture = make("div", { class: "scroll arcs" });
  }

  /** How likely a head is for a word. */
  arc(word, head) {
    return this.arcs[word * this.places.length + head];
  }

  begin() {
    const { seen } = this;
    const head = (word) => this.places[this.heads[word]];
    const matrix = this.arcs && this.matrix();
    this.cards.append(make("section", { class: "card wide" }, make("h2", {}, "Tree"),
      hint("An arc leads from a head to a word that depends on it, with its relation and its probability in percent; the bolder, the likelier. Choose a word to see, dashed, which other heads it could have."),
      this.picture, taking({ name: () => "Tree", picture: () => this.picture.firstChild, table: () => table("Tree", ["word", "relation", "head", "probability"],
        this.words.map((word, at) => [word, this.relations[at], head(at), percent(this.chances[at])])), json: () => seen.inspection(ARRAYS) }).element), section(this.told));
    if (matrix) {
      this.cards.append(section(make("h2", {}, "Every arc"),
        hint("The probability of each head for each word. The tree is the likeliest choice in which every word leads to the root."), matrix.element));
    }
    if (this.made) this.cards.append(this.moves());
    this.draw();
    this.show(this.state.place);
    if (this.made) this.go(this.state.move < 0 ? this.made.length : this.state.move);
  }

  matrix() {
    const { words, places } = this;
    return new Matrix({ values: Float32Array.from(this.arcs, (value) => value || 0), rows: words.length, columns: places.length, largest: 1, signed: false,
      rowLabels: words, columnLabels: places, rowMeaning: "words", columnMeaning: "heads", outlined: "the tree", gold: this.heads.map((head, word) => [head, word]) },
    { label: "Probability of each arc", most: Math.min(room(this.cards, 640), Math.max(300, room(this.cards, 1500) / 2)), cell: 30, onmove: (r) => this.show(r) });
  }

  /** Places of words and levels of arcs: an arc lies above all that it spans. */
  arrange() {
    const [large, small] = [measure("15px"), measure("12px")];
    let left = 14;
    this.middles = this.words.map((word, at) => {
      const wide = Math.max(large(word), small(this.relations[at]) + 26);
      const middle = left + wide / 2;
      left += wide + GAP;
      return middle;
    });
    this.wide = Math.max(left - GAP + 14, 60);
    if (this.seen.leftward("word")) this.middles = this.middles.map((middle) => this.wide - middle);
    const spans = this.heads.map((head, word) => ({ word, head: head - 1, first: Math.min(word, head - 1), last: Math.max(word, head - 1) }));
    const inner = spans.filter(({ head }) => head >= 0).sort((one, other) => (one.last - one.first) - (other.last - other.first));
    const levels = [];
    for (const span of inner) {
      const below = levels.filter((other) => other.first < span.last && span.first < other.last).map((other) => other.level);
      levels.push({ ...span, level: 1 + Math.max(0, ...below) });
    }
    this.levels = levels;
    this.top = BASE + RISE * Math.max(1, ...levels.map(({ level }) => level));
  }

  draw() {
    this.arrange();
    const height = this.top + 46;
    this.drawn = new Map();
    const parts = this.levels.map(({ word, head, level }) => this.path(word, head, level));
    this.heads.forEach((head, word) => { if (head === 0) parts.push(this.root(word)); });
    this.others = draw("g", { class: "others" });
    this.buttons = this.words.map((word, at) => draw("g", { role: "button", class: "word", "aria-label": `${word}: ${this.relations[at]} of ${this.places[this.heads[at]]}, ${percent(this.chances[at])}`,
      onclick: () => this.show(at), onfocus: () => this.show(at) },
    draw("rect", { x: this.middles[at] - 22, y: this.top + 6, width: 44, height: 30, rx: 7 }),
    draw("text", { x: this.middles[at], y: this.top + 26, "text-anchor": "middle" }, word)));
    roving(this.buttons, along(this.buttons.length), this.state.place);
    const svg = draw("svg", { viewBox: `0 0 ${this.wide} ${height}`, width: this.wide, height, role: "group", "aria-label": "Tree" },
      ...parts, this.others, ...this.buttons);
    this.picture.replaceChildren(svg);
    // As wide as its word, which can be measured only now.
    for (const button of this.buttons) {
      const box = button.lastChild.getBBox();
      button.firstChild.setAttribute("x", box.x - 7);
      button.firstChild.setAttribute("width", box.width + 14);
    }
  }

  curve(word, head, level) {
    const away = Math.sign(this.middles[word] - this.middles[head]);
    const [from, to] = [this.middles[head] + away * 7, this.middles[word] - away * 3];
    const y = this.top - RISE * level;
    const bend = Math.min(14, Math.abs(to - from) / 2);
    return `M${from} ${this.top} V${y + bend} Q${from} ${y} ${from + away * bend} ${y} H${to - away * bend} Q${to} ${y} ${to} ${y + bend} V${this.top - 5}`;
  }

  path(word, head, level) {
    const y = this.top - RISE * level;
    const middle = (this.middles[word] + this.middles[head]) / 2;
    return this.arrow(word, this.curve(word, head, level), middle, y);
  }

  root(word) {
    return this.arrow(word, `M${this.middles[word]} ${BASE - 12} V${this.top - 5}`, this.middles[word], BASE - 6);
  }

  arrow(word, d, x, y) {
    const chance = this.chances[word];
    const line = draw("path", { d });
    line.style.strokeWidth = (0.8 + 1.8 * chance).toFixed(2);
    line.style.strokeOpacity = (0.35 + 0.65 * chance).toFixed(2);
    const group = draw("g", { class: "arc", onclick: () => this.show(word) }, line,
      draw("path", { d: `M${this.middles[word] - (this.heads[word] ? Math.sign(this.middles[word] - this.middles[this.heads[word] - 1]) * 3 : 0)} ${this.top} l-4 -7 h8 z`, class: "tip" }),
      draw("text", { x, y: y - 5, "text-anchor": "middle" }, this.relations[word], draw("tspan", { class: "pale" }, ` ${Math.round(100 * chance)}`)));
    this.drawn.set(word, group);
    return group;
  }

  /** What a word could hang on, and how. */
  show(at) {
    this.state.place = at;
    chosen(this.cards);
    this.buttons.forEach((button, other) => button.setAttribute("aria-pressed", String(other === at)));
    for (const [word, arc] of this.drawn) arc.classList.toggle("lit", word === at);
    const columns = [];
    if (this.arcs) {
      const order = this.places.map((_, head) => head).sort((one, other) => this.arc(at, other) - this.arc(at, one));
      columns.push(make("div", {}, make("h3", {}, "Head of ", isolated(this.words[at])), bars("Heads", ...order.slice(0, OTHERS).map((head) =>
        bar(this.places[head], this.arc(at, head), { class: `candidate${head === this.heads[at] ? " lit" : ""}` })))));
      this.others.replaceChildren(...order.filter((head) => head !== this.heads[at] && head > 0 && this.arc(at, head) >= LEAST)
        .map((head) => this.other(at, head)));
    }
    columns.push(make("div", {}, make("h3", {}, "Relation of ", isolated(this.words[at]), " to ", isolated(this.places[this.heads[at]])),
      ranked("Relations", this.seen.array("relations"), { row: at })));
    this.told.replaceChildren(make("div", { class: "pair" }, ...columns));
  }

  other(at, head) {
    const levels = this.levels.find(({ word }) => word === at);
    const path = draw("path", { d: this.curve(at, head - 1, (levels?.level || 1) + 0.35) });
    path.style.strokeOpacity = (0.3 + 0.7 * this.arc(at, head)).toFixed(2);
    return path;
  }

  /** What stands where after each move, and which word each move gave its head with which probability. */
  replayed() {
    const moves = this.seen.values("moves");
    const kinds = this.seen.labels("move");
    let [stack, front] = [[], 0];
    const steps = [{ stack, front, word: null }];
    const chances = [];
    (this.made || []).forEach((move, step) => {
      let word = null;
      if (kinds[move] === "shift") {
        stack = [...stack, front];
        front += 1;
      } else {
        word = stack[stack.length - 1];
        stack = stack.slice(0, -1);
        chances[word] = moves[step * kinds.length + move];
      }
      steps.push({ stack, front, word });
    });
    return { steps, chances };
  }

  /** The moves one by one: the stack, the rest of the sentence, and how likely each next move is. */
  moves() {
    this.steps = this.replayed().steps;
    const last = this.made.length;
    this.slider = make("input", { type: "range", min: 0, max: last, step: 1, "aria-label": "Moves made", oninput: (event) => this.go(Number(event.target.value)) });
    const step = (label, told, goal) => button(label, () => this.go(goal()), { "aria-label": told, title: told });
    this.count = make("span", { class: "hint" });
    this.now = make("div", { class: "machine", "aria-live": "polite" });
    const [names, made] = [this.seen.labels("move"), this.made];
    const matrix = new Matrix({ values: Float32Array.from(this.seen.values("moves")), rows: last, columns: names.length, largest: 1, signed: false,
      rowLabels: made.map((_, step) => String(step + 1)), columnLabels: names, rowMeaning: "moves in order", columnMeaning: "kinds of moves", outlined: "the moves made",
      gold: made.map((move, step) => [move, step]) }, { label: "Probability of each move", most: Math.min(24 * last, 900), cell: 24, onmove: (r) => this.go(r) });
    return make("section", { class: "card wide" }, make("h2", {}, "Moves"),
      hint("How the tree is built: a move shifts the next word onto the stack, or removes the word on top of it and attaches that word to a head on its left or right."),
      make("div", { class: "buttons" }, step("|◀", "To the beginning", () => 0), step("◀", "One move back", () => this.state.move - 1),
        step("▶", "One move on", () => this.state.move + 1), step("▶|", "To the end", () => last), this.slider, this.count),
      this.now, behind("All moves as a picture", () => matrix.element));
  }

  go(step) {
    const last = this.made.length;
    const now = Math.max(0, Math.min(last, step));
    this.state.move = now;
    chosen(this.cards);
    this.slider.value = now;
    this.count.textContent = `${now} of ${last} moves`;
    const { stack, front } = this.steps[now];
    const names = this.seen.labels("move");
    const found = new Set(this.steps.slice(1, now + 1).map(({ word }) => word));
    for (const [word, arc] of this.drawn) arc.classList.toggle("waiting", !found.has(word));
    const boxes = (words) => words.map((word) => make("span", { class: "token" }, isolated(this.words[word])));
    const rest = this.words.map((_, word) => word).slice(front);
    const side = (title, ...content) => make("div", { class: "side-by-side" }, make("h3", {}, title), make("div", { class: "tokens" }, ...content));
    const next = now === last ? make("p", {}, "The tree is complete.") : bars("Next move", ...names.map((name, move) =>
      bar(name, this.seen.values("moves")[now * names.length + move], { class: `candidate${this.made[now] === move ? " lit" : ""}` })));
    this.now.replaceChildren(side("Stack (top on the right)", ...(stack.length ? boxes(stack) : [make("span", { class: "hint" }, "empty")])),
      side("Rest of the sentence", ...boxes(rest), make("span", { class: "token" }, isolated(this.places[0]))),
      make("div", {}, make("h3", {}, now === last ? "Done" : "Next"), next));
  }
}
