// The beam search as a tree: arrow keys walk, Enter or a click shows what else could stand at a place, typing forces a word.
import { bold, entry, hint, isolated, make, measure, percent, short, table } from "./dom.js";
import { draw } from "./drawing.js";
import { scale, tint } from "./shades.js";
import * as api from "./api.js";
import { bar, bars } from "./shares.js";
import { taking } from "./take.js";

const HIGH = 34;
/** Between columns, where there is room and where there is little. */
const [GAP, NARROW_GAP] = [26, 10];

export class Tree {
  /** `onforce(prefix)` is asked for a translation that begins so; `room` is the width that there is. */
  constructor(seen, page, onforce, room) {
    Object.assign(this, { seen, page, onforce, room });
    const [parents, chances, scores, ranks] = ["parents", "probabilities", "scores", "ranks"].map((name) => seen.values(name));
    const texts = seen.array("scores").texts;
    const labels = seen.shown.labels.node;
    this.nodes = parents.map((parent, place) => ({ place, parent, label: labels[place], chance: chances[place],
      score: scores[place], rank: ranks[place], text: texts[place] === "∅" ? "" : texts[place].replaceAll("␣", " "), children: [] }));
    for (const node of this.nodes.slice(1)) this.nodes[node.parent].children.push(node);
    for (const node of this.nodes) node.children.sort((one, other) => other.chance - one.chance);
    this.arrange();
    this.boxes = this.nodes.map((node) => this.box(node));
    const canvas = make("div", { class: "canvas", role: "tree", "aria-label": "Hypotheses of the beam search" },
      this.edges(), ...this.boxes);
    Object.assign(canvas.style, { width: `${this.width}px`, height: `${this.height}px` });
    this.alternatives = make("div", { class: "alternatives", "aria-live": "polite" });
    this.alternatives.addEventListener("keydown", (event) => { if (event.key === "Escape") this.close(this.chosen); });
    this.element = make("div", { class: "tree" },
      hint(`Choose a place (a click, a tap, or arrow keys and Enter) to see what else could stand there${page.card.recorded ? "" : ", or type a text of your own"}.`, scale("unlikely", "likely")),
      make("div", { class: "scroll" }, canvas), this.alternatives,
      taking({ name: () => "Search tree", picture: () => canvas, table: () => this.buildTable(), json: () => seen.inspection() }).element);
    const first = this.nodes.find((node) => node.rank === 1) || this.nodes[0];
    this.focus(this.path(first)[1] || this.nodes[0], false);
  }

  /** The nodes from the root to one. */
  path(node) {
    return node.parent < 0 ? [node] : [...this.path(this.nodes[node.parent]), node];
  }

  /** Depth by depth to the right, the likelier above; each column as wide as its widest label. */
  arrange() {
    let row = 0;
    const widths = [];
    const widthOf = measure("14px");
    const walk = (node, depth) => {
      node.depth = depth;
      node.wide = Math.ceil(Math.min(widthOf(node.label), 150)) + 22 + (node.rank ? 12 : 0);
      widths[depth] = Math.max(widths[depth] || 0, node.wide);
      if (node.children.length) {
        node.children.forEach((child) => walk(child, depth + 1));
        node.row = node.children[0].row;
      } else {
        node.row = row;
        row += 1;
      }
    };
    walk(this.nodes[0], 0);
    const whole = (gap) => widths.reduce((sum, width) => sum + width + gap, 8);
    this.gap = whole(GAP) > this.room ? NARROW_GAP : GAP;
    const lefts = widths.map((_, depth) => widths.slice(0, depth).reduce((sum, width) => sum + width + this.gap, 0));
    for (const node of this.nodes) Object.assign(node, { left: lefts[node.depth], top: node.row * HIGH });
    this.width = lefts[lefts.length - 1] + widths[widths.length - 1] + 8;
    this.height = row * HIGH + 4;
  }

  edges() {
    const paths = this.nodes.slice(1).map((node) => {
      const parent = this.nodes[node.parent];
      const [x, y, right, down] = [parent.left + parent.wide, parent.top + 14, node.left, node.top + 14];
      const path = draw("path", { d: `M${x} ${y} C${x + this.gap / 2} ${y} ${right - this.gap / 2} ${down} ${right} ${down}` });
      path.style.strokeWidth = (0.8 + 3 * node.chance).toFixed(2);
      node.edge = path;
      return path;
    });
    return draw("svg", { width: this.width, height: this.height, class: "links", "aria-hidden": "true" }, ...paths);
  }

  box(node) {
    const told = node.parent < 0 ? "the beginning" : `${node.label}, ${percent(node.chance)}${node.rank ? `, output ${node.rank}` : ""}`;
    const box = make("div", { class: `node${node.rank ? " ends" : ""}`, role: "treeitem", tabindex: -1, "aria-label": told,
      "aria-level": node.depth + 1, title: told, onfocus: () => this.light(node),
      onclick: () => this.pick(node), onkeydown: (event) => this.key(event, node) },
    isolated(node.label), node.rank ? make("sup", {}, String(node.rank)) : null);
    if (node.parent >= 0) tint(box, node.chance);
    Object.assign(box.style, { left: `${node.left}px`, top: `${node.top}px`, width: `${node.wide}px` });
    return box;
  }

  focus(node, really = true) {
    this.boxes.forEach((box, place) => {
      box.tabIndex = place === node.place ? 0 : -1;
      box.setAttribute("aria-selected", String(place === node.place));
    });
    if (really) this.boxes[node.place].focus();
    else this.light(node);
  }

  /** Marks a place, and shows what else could stand there. */
  pick(node) {
    this.focus(node);
    return this.choose(node);
  }

  light(node) {
    const on = new Set(this.path(node));
    for (const each of this.nodes) {
      this.boxes[each.place].classList.toggle("lit", on.has(each));
      each.edge?.classList.toggle("lit", on.has(each));
    }
  }

  key(event, node) {
    const same = this.nodes.filter((other) => other.depth === node.depth).sort((one, other) => one.top - other.top);
    const near = same.indexOf(node);
    const next = { ArrowRight: node.children[0], ArrowLeft: this.nodes[node.parent], ArrowUp: same[near - 1],
      ArrowDown: same[near + 1], Home: this.nodes[0] }[event.key];
    if (next) {
      event.preventDefault();
      this.focus(next);
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.choose(node);
    } else if (event.key.length === 1 && !this.page.card.recorded && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      this.choose(node, event.key);
    }
  }

  /** What else could stand in the place of a node, and a text of one's own. */
  async choose(node, typed = "") {
    const before = node.parent < 0 ? (node.children.length ? this.page.state.prefix : "") : this.nodes[node.parent].text;
    const own = make("input", { type: "text", value: typed, "aria-label": "A text of your own for this place", dir: "auto", size: 14 });
    this.chosen = node;
    const force = (text) => this.onforce(text);
    const asked = api.alternatives(this.page.card.name, { text: this.page.state.text, prefix: before, ...this.page.told });
    const form = entry(own, "Force", async () => {
      await asked; // whether a space comes first
      if (own.value.trim()) force(before + own.value);
    });
    form.hidden = Boolean(this.page.card.recorded);
    const list = make("div");
    this.alternatives.replaceChildren(
      make("p", {}, before ? ["After ", bold(before), " could stand:"] : "At the beginning could stand:"), list, form);
    if (typed) {
      own.focus();
      own.setSelectionRange(typed.length, typed.length);
    }
    let found;
    try {
      found = await asked;
    } catch (error) {
      return this.alternatives.replaceChildren(hint(error.message));
    }
    const labels = found.array("candidates").texts;
    const texts = found.array("texts").texts.map((text) => text.replaceAll("␣", " "));
    // Where words have blanks between them, one's own begins with one, which can be deleted to go on with the word.
    const likeliest = texts.find((_, rank) => labels[rank] !== "∎");
    if (likeliest?.startsWith(`${before} `) && !own.value.startsWith(" ")) {
      const caret = own.selectionStart + 1;
      own.value = ` ${own.value}`;
      own.setSelectionRange(caret, caret);
    }
    const rows = found.values("candidates").map((chance, rank) => bar(labels[rank], chance, { disabled: labels[rank] === "∎" || Boolean(this.page.card.recorded),
      onchoose: () => force(texts[rank]) }));
    list.replaceChildren(bars("Likeliest here", ...rows));
    if (!typed && !this.page.card.recorded) rows.find((row) => !row.disabled)?.focus();
    return null;
  }

  close(node) {
    this.alternatives.replaceChildren();
    this.focus(node);
  }

  buildTable() {
    return table("Hypotheses of the beam search", ["text", "next", "probability", "log-probability", "output"],
      this.nodes.slice(1).map((node) => [node.text, node.label, percent(node.chance), short(node.score), node.rank ? String(node.rank) : ""]));
  }
}
