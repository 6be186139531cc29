// Words as points of a plane, near ones near: to zoom, move, point at and search in.
import { ranked } from "./shares.js";
import { button, chosen, hint, isolated, make, section, short, table, telling } from "./dom.js";
import { taking } from "./take.js";

const [MARGIN, NEAR, CLOSEST, STEP] = [40, 16, 400, 40];
const SHAPES = 4;
const COLORS = 6;

export const hasMap = (seen) => Boolean(seen.array("places") && seen.array("neighbors") && seen.shown.labels.word);

/** Draws a map of words; `beside` is asked what is shown beside it of the word that was chosen, its nearest by default; `unit` is what words are called. */
export async function drawMap(place, seen, state, { beside = nearest, arrows = () => [], unit = "word" } = {}) {
  await seen.load("places", "neighbors");
  const plane = new Plane(seen, { arrows, onchoose: (word) => choose(word) });
  const words = seen.labels("word");
  const told = telling();
  const id = `words-${Math.random().toString(36).slice(2)}`;
  const found = make("output", { class: "hint" });
  const search = make("input", { type: "search", list: id, autocomplete: "off", spellcheck: "false", placeholder: `a ${unit}`, "aria-label": "Search the map",
    oninput: () => {
      const hits = plane.find(search.value);
      found.textContent = search.value.trim() ? (hits === 0 ? `no such ${unit} here` : `${hits} ${unit}${hits === 1 ? "" : "s"}`) : "";
    },
    onkeydown: (event) => {
      if (event.key !== "Enter") return;
      const word = words.find((each) => each.toLowerCase() === search.value.trim().toLowerCase());
      if (word) choose(word);
    } });
  const zooming = (label, told, onclick) => button(label, onclick, { "aria-label": told, title: told });
  const groups = plane.groups.map((name, group) => button([plane.swatch(group), ` ${name}`], () => {
    plane.only = plane.only === group ? -1 : group;
    groups.forEach((other, each) => other.setAttribute("aria-pressed", String(each === plane.only)));
    plane.draw();
  }, { "aria-pressed": "false" }));

  function choose(word) {
    state.word = word;
    chosen(place);
    plane.pin(word);
    const shown = beside(word, { seen, choose });
    if (shown) told.replaceChildren(...[shown].flat());
  }

  place.replaceChildren(make("div", { class: "cards" }, section(
    make("div", { class: "top" }, make("label", {}, "Search ", search), make("datalist", { id }, ...words.map((word) => make("option", { value: word }))), found,
      make("div", { class: "buttons" }, zooming("+", "Zoom in", () => plane.zoom(1.4)), zooming("−", "Zoom out", () => plane.zoom(1 / 1.4)), zooming("Whole map", "Whole map", () => plane.showWhole()))),
    groups.length ? make("div", { class: "segments groups", role: "group", "aria-label": "Groups" }, ...groups) : null,
    make("div", { class: "map-beside" }, plane.element, told),
    hint(`${seen.shown.note ? `${seen.shown.note}. ` : ""}Zoom with the wheel, by pinching, or with + and −; move by dragging or with the arrow keys. Choose a ${unit} to see its nearest.`),
    taking({ name: () => "Map", picture: () => plane.canvas, table: () => table("The map", [unit, "nearest", "x", "y"], words.map((word, at) => [word, plane.near(at).map((other) => words[other]).join(", "),
      short(plane.places[2 * at]), short(plane.places[2 * at + 1])])), json: () => seen.inspection() }).element)));
  plane.resize();
  new ResizeObserver(() => plane.resize()).observe(plane.canvas);
  if (words.includes(state.word)) choose(state.word);
  else told.replaceChildren(hint(`Choose a ${unit}.`));
  return plane;
}

/** The nearest words of the map itself. */
function nearest(word, { seen, choose }) {
  return [make("h3", {}, "Nearest to ", isolated(word)),
    ranked("Nearest", seen.array("neighbors"), { row: seen.labels("word").indexOf(word), said: short, onchoose: choose })];
}

class Plane {
  constructor(seen, { arrows, onchoose }) {
    Object.assign(this, { seen, arrows, onchoose });
    this.words = seen.labels("word");
    this.places = seen.values("places");
    const groups = seen.array("groups")?.texts.map((name) => (name === "∅" ? "" : name)) || [];
    this.groups = [...new Set(groups)].filter(Boolean);
    this.of = this.words.map((_, word) => this.groups.indexOf(groups[word] || ""));
    /** Words of groups first, as their names may take the room of others. */
    this.order = this.words.map((_, word) => word).sort((one, other) => (this.of[one] < 0) - (this.of[other] < 0) || one - other);
    Object.assign(this, { only: -1, hits: new Set(), pointed: -1, pinned: -1, swatches: [], view: { x: 0, y: 0, scale: 1 }, size: { width: 0, height: 0 } });
    this.canvas = make("canvas", { tabindex: 0, role: "application", "aria-label": "Map of words: arrow keys move, + and − zoom, 0 shows all, Enter chooses the word in the middle" });
    this.pen = this.canvas.getContext("2d");
    this.element = make("div", { class: "plane-of-words" }, this.canvas);
    this.listen();
  }

  near(word) {
    const { texts, shape: [, count] } = this.seen.array("neighbors");
    return texts.slice(word * count, (word + 1) * count).map((text) => this.words.indexOf(text)).filter((other) => other >= 0);
  }

  onScreen(word) {
    const { view: { x, y, scale }, size } = this;
    return [size.width / 2 + (this.places[2 * word] - x) * scale, size.height / 2 - (this.places[2 * word + 1] - y) * scale];
  }

  showWhole() {
    const range = (axis) => this.words.reduce(([low, high], _, word) => [Math.min(low, this.places[2 * word + axis]), Math.max(high, this.places[2 * word + axis])], [Infinity, -Infinity]);
    const [[left, right], [low, high]] = [range(0), range(1)];
    const fit = (pixels, length) => Math.max(50, pixels - 2 * MARGIN) / Math.max(length, 1e-6);
    this.whole = Math.min(fit(this.size.width, right - left), fit(this.size.height, high - low));
    this.view = { x: (left + right) / 2, y: (low + high) / 2, scale: this.whole };
    this.draw();
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    if (!box.width) return;
    const density = devicePixelRatio || 1;
    const first = !this.size.width;
    this.size = { width: box.width, height: box.height };
    this.canvas.width = Math.round(box.width * density);
    this.canvas.height = Math.round(box.height * density);
    this.pen.setTransform(density, 0, 0, density, 0, 0);
    if (first) this.showWhole();
    if (first && this.pinned >= 0) this.pin(this.words[this.pinned]);
    this.draw();
  }

  /** Words that stand out: those searched for, and the one pointed at or chosen with its nearest. */
  marked() {
    const word = this.pointed >= 0 ? this.pointed : this.pinned;
    return new Set([...this.hits, ...(word >= 0 ? [word, ...this.near(word)] : []), ...this.arrows().flat().map((each) => this.words.indexOf(each))]);
  }

  draw() {
    const { pen, size } = this;
    const { ink, pale, mark, lines } = (this.colors ||= this.readColors());
    pen.clearRect(0, 0, size.width, size.height);
    const bright = this.marked();
    const closer = this.view.scale / this.whole;
    this.drawArrows(mark);
    const look = (word) => {
      const group = this.of[word];
      const dim = (bright.size > 0 && !bright.has(word)) || (this.only >= 0 && group !== this.only);
      return { dim, group, fill: this.hits.has(word) || word === this.pinned ? mark : group >= 0 ? lines[group % COLORS] : pale };
    };
    for (const word of this.order) {
      const { dim, group, fill } = look(word);
      const [x, y] = this.onScreen(word);
      pen.globalAlpha = dim ? 0.2 : 1;
      pen.fillStyle = fill;
      this.point(x, y, group, (group >= 0 ? 3.4 : 2.2) * Math.min(2, Math.sqrt(closer)) + (bright.has(word) ? 1.5 : 0));
    }
    const taken = [];
    const first = (word) => (word === this.pinned) + bright.has(word);
    for (const word of [...this.order].sort((one, other) => first(other) - first(one))) {
      const { dim, group, fill } = look(word);
      pen.globalAlpha = dim ? 0.25 : 1;
      pen.font = `${bright.has(word) ? "600 14" : group >= 0 ? "13" : "12"}px system-ui, sans-serif`;
      pen.fillStyle = group >= 0 || fill === mark ? fill : ink;
      this.name(word, taken, bright.has(word));
    }
    pen.globalAlpha = 1;
    for (const { pen: small, group } of this.swatches) {
      small.clearRect(0, 0, 14, 14);
      small.fillStyle = lines[group % COLORS];
      this.point(7, 7, group, 4, small);
    }
  }

  /** Colors of the page, which has them as functions of the theme that a canvas cannot read, but an element can. */
  readColors() {
    const read = (name) => {
      this.element.style.color = `var(${name})`;
      return getComputedStyle(this.element).color;
    };
    const [ink, pale, mark] = ["--ink", "--pale", "--mark"].map(read);
    const lines = Array.from({ length: COLORS }, (_, number) => read(`--line-${number}`));
    this.element.style.color = "";
    return { ink, pale, mark, lines };
  }

  /** A circle, or the shape of a group. */
  point(x, y, group, radius, pen = this.pen) {
    pen.beginPath();
    const shape = group < 0 ? 0 : group % SHAPES;
    if (shape === 0) pen.arc(x, y, radius, 0, 7);
    else {
      const corners = [[], [-90, 30, 150], [-135, -45, 45, 135], [-90, 0, 90, 180]][shape];
      corners.forEach((degrees, place) => {
        const turn = (degrees * Math.PI) / 180;
        pen[place ? "lineTo" : "moveTo"](x + 1.35 * radius * Math.cos(turn), y + 1.35 * radius * Math.sin(turn));
      });
      pen.closePath();
    }
    pen.fill();
  }

  swatch(group) {
    const canvas = make("canvas", { "aria-hidden": "true", width: 14, height: 14 });
    this.swatches.push({ pen: canvas.getContext("2d"), group });
    return canvas;
  }

  drawArrows(mark) {
    const { pen } = this;
    for (const [from, to] of this.arrows()) {
      const [one, other] = [from, to].map((word) => this.words.indexOf(word));
      if (one < 0 || other < 0) continue;
      const [[x, y], [right, down]] = [this.onScreen(one), this.onScreen(other)];
      const turn = Math.atan2(down - y, right - x);
      pen.strokeStyle = mark;
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(right, down);
      for (const side of [-0.4, 0.4]) {
        pen.moveTo(right - 8 * Math.cos(turn), down - 8 * Math.sin(turn));
        pen.lineTo(right - 16 * Math.cos(turn + side), down - 16 * Math.sin(turn + side));
      }
      pen.stroke();
    }
  }

  /** Writes the name of a word where there is room. */
  name(word, taken, bright) {
    const { pen, size } = this;
    const [x, y] = this.onScreen(word);
    const width = pen.measureText(this.words[word]).width;
    if (x < -width - 8 || y < -8 || x > size.width || y > size.height + 8) return;
    const boxes = [[x + 5, y], [x - 5 - width, y], [x - width / 2, y - 14], [x - width / 2, y + 14]].map(([left, middle]) => [left, middle - 8, left + width, middle + 8]);
    const isFree = (box) => box[0] >= 0 && box[2] <= size.width
      && taken.every(([left, top, right, low]) => box[0] > right || box[2] < left || box[1] > low || box[3] < top);
    const box = (bright ? boxes : boxes.slice(0, 2)).find(isFree) || (word === this.pinned ? boxes[0] : null);
    if (!box) return;
    taken.push(box);
    pen.textBaseline = "middle";
    pen.fillText(this.words[word], box[0], (box[1] + box[3]) / 2);
  }

  zoom(factor, x = this.size.width / 2, y = this.size.height / 2) {
    const { view, size } = this;
    const scale = Math.min(this.whole * CLOSEST, Math.max(this.whole / 2, view.scale * factor));
    // The place under the pointer stays under it.
    view.x += (x - size.width / 2) * (1 / view.scale - 1 / scale);
    view.y -= (y - size.height / 2) * (1 / view.scale - 1 / scale);
    view.scale = scale;
    this.draw();
  }

  move(x, y) {
    this.view.x += x / this.view.scale;
    this.view.y += y / this.view.scale;
    this.draw();
  }

  nearest(x, y, least = NEAR) {
    let best = -1;
    for (const word of this.order) {
      const [a, b] = this.onScreen(word);
      const distance = Math.hypot(a - x, b - y);
      if (distance < least) [best, least] = [word, distance];
    }
    return best;
  }

  pointAt(word) {
    if (word === this.pointed) return;
    this.pointed = word;
    this.canvas.title = word >= 0 ? this.words[word] : "";
    this.draw();
  }

  /** A word stands out with its nearest, and is brought into sight. */
  pin(word) {
    this.pinned = this.words.indexOf(word);
    if (this.pinned >= 0 && this.size.width) {
      const [x, y] = this.onScreen(this.pinned);
      if (x < 0 || y < 0 || x > this.size.width || y > this.size.height) [this.view.x, this.view.y] = [this.places[2 * this.pinned], this.places[2 * this.pinned + 1]];
    }
    this.draw();
  }

  /** Marks the words that contain a text, or the one that it is; gives how many. */
  find(text) {
    const wanted = text.trim().toLowerCase();
    const found = wanted ? this.order.filter((word) => this.words[word].toLowerCase().includes(wanted)) : [];
    const exact = found.filter((word) => this.words[word].toLowerCase() === wanted);
    this.hits = new Set(exact.length ? exact : found);
    if (exact.length) {
      [this.view.x, this.view.y] = [this.places[2 * exact[0]], this.places[2 * exact[0] + 1]];
      this.view.scale = Math.max(this.view.scale, 4 * this.whole);
    }
    this.draw();
    return this.hits.size;
  }

  listen() {
    const { canvas } = this;
    const held = new Map();
    let moved = false;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, [event.offsetX, event.offsetY]);
      moved = false;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      const now = [event.offsetX, event.offsetY];
      if (!before) return this.pointAt(this.nearest(...now));
      if (Math.hypot(now[0] - before[0], now[1] - before[1]) > 3) moved = true;
      if (!moved) return undefined;
      held.set(event.pointerId, now);
      const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
      if (!other) return this.move(before[0] - now[0], now[1] - before[1]);
      const apart = (one) => Math.max(1, Math.hypot(one[0] - other[0], one[1] - other[1]));
      return this.zoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => {
      held.delete(event.pointerId);
      const word = moved || end === "pointercancel" ? -1 : this.nearest(event.offsetX, event.offsetY);
      if (word >= 0) this.onchoose(this.words[word]);
    });
    canvas.addEventListener("pointerleave", () => held.size || this.pointAt(-1));
    canvas.addEventListener("keydown", (event) => {
      const does = { "+": () => this.zoom(1.3), "=": () => this.zoom(1.3), "-": () => this.zoom(1 / 1.3), 0: () => this.showWhole(),
        ArrowLeft: () => this.move(-STEP, 0), ArrowRight: () => this.move(STEP, 0), ArrowUp: () => this.move(0, STEP), ArrowDown: () => this.move(0, -STEP),
        Enter: () => {
          const word = this.nearest(this.size.width / 2, this.size.height / 2, Infinity);
          if (word >= 0) this.onchoose(this.words[word]);
        } }[event.key];
      if (!does) return;
      event.preventDefault();
      does();
    });
  }
}
