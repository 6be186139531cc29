"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const canvas = document.getElementById("map");
const pen = canvas.getContext("2d");
const card = document.getElementById("card");
const search = document.getElementById("search");
const MARGIN = 40, NEAR = 14, CLOSEST = 400;

/** Where the middle of the canvas is on the map, and how many pixels its unit has. */
const view = { x: 0, y: 0, scale: 1 };
let whole = 1, size = { width: 0, height: 0 }, pointed = -1, pinned = -1, hits = new Set(), shownGroup = -1, drag = null;
/** Words of groups first, as their names may take the room of others. */
const order = data.words.map((_, word) => word).sort((a, b) => (data.of[a] < 0) - (data.of[b] < 0) || a - b);

const onScreen = (word) => {
  const [x, y] = data.places[word];
  return [size.width / 2 + (x - view.x) * view.scale, size.height / 2 - (y - view.y) * view.scale];
};
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function extent() {
  const [xs, ys] = [0, 1].map((axis) => data.places.map((place) => place[axis]));
  return [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
}

function showWhole() {
  const [left, right, low, high] = extent();
  const fit = (pixels, length) => Math.max(50, pixels - 2 * MARGIN) / Math.max(length, 1e-6);
  whole = Math.min(fit(size.width, right - left), fit(size.height, high - low));
  Object.assign(view, { x: (left + right) / 2, y: (low + high) / 2, scale: whole });
  draw();
}

function resize() {
  const box = canvas.getBoundingClientRect(), density = devicePixelRatio || 1;
  const first = !size.width;
  size = { width: box.width, height: box.height };
  canvas.width = Math.round(box.width * density);
  canvas.height = Math.round(box.height * density);
  pen.setTransform(density, 0, 0, density, 0, 0);
  first ? showWhole() : draw();
}

/** Words that stand out now: those searched for, and the one pointed at with its nearest. */
function marked() {
  const chosen = pointed >= 0 ? pointed : pinned;
  return new Set([...hits, ...(chosen >= 0 ? [chosen, ...data.neighbors[chosen]] : [])]);
}

function draw() {
  pen.clearRect(0, 0, size.width, size.height);
  const bright = marked(), [ink, point, gold] = ["--ink", "--point", "--gold"].map(color);
  const closer = view.scale / whole;
  const shades = order.map((word) => {
    const group = data.groups[data.of[word]];
    const dim = (bright.size && !bright.has(word)) || (shownGroup >= 0 && data.of[word] !== shownGroup);
    return { word, dim, fill: hits.has(word) ? gold : group ? group.color : point, group };
  });
  for (const { word, dim, fill, group } of shades) {
    const [x, y] = onScreen(word);
    pen.globalAlpha = dim ? 0.25 : 1;
    pen.fillStyle = fill;
    pen.beginPath();
    pen.arc(x, y, (group ? 3.2 : 2.2) * Math.min(2, Math.sqrt(closer)) + (bright.has(word) ? 1.5 : 0), 0, 7);
    pen.fill();
  }
  const taken = [];
  for (const { word, dim, fill, group } of [...shades].sort((a, b) => bright.has(b.word) - bright.has(a.word))) {
    pen.globalAlpha = dim ? 0.2 : 1;
    pen.font = `${bright.has(word) ? "600 14" : group ? "13" : "12"}px system-ui, sans-serif`;
    pen.fillStyle = group || hits.has(word) ? fill : ink;
    writeName(word, taken, bright.has(word));
  }
  pen.globalAlpha = 1;
}

function writeName(word, taken, always) {
  const [x, y] = onScreen(word), width = pen.measureText(data.words[word]).width;
  if (x < -width - 8 || y < -8 || x > size.width || y > size.height + 8) return;
  const box = [x + 5, y - 8, x + 5 + width, y + 8];
  const free = taken.every(([left, top, right, low]) => box[0] > right || box[2] < left || box[1] > low || box[3] < top);
  if (!free && !always) return;
  taken.push(box);
  pen.textBaseline = "middle";
  pen.fillText(data.words[word], x + 5, y);
}

function zoom(factor, x = size.width / 2, y = size.height / 2) {
  const scale = Math.min(whole * CLOSEST, Math.max(whole / 2, view.scale * factor));
  // The place under the pointer stays under it.
  view.x += (x - size.width / 2) * (1 / view.scale - 1 / scale);
  view.y -= (y - size.height / 2) * (1 / view.scale - 1 / scale);
  view.scale = scale;
  draw();
}

function nearest(x, y) {
  let best = -1, least = NEAR;
  for (const word of order) {
    const [a, b] = onScreen(word), distance = Math.hypot(a - x, b - y);
    if (distance < least) [best, least] = [word, distance];
  }
  return best;
}

function point(word) {
  if (word === pointed) return;
  pointed = word;
  card.hidden = word < 0;
  if (word >= 0) {
    const group = data.groups[data.of[word]];
    const name = document.createElement("b");
    name.textContent = data.words[word];
    const near = data.neighbors[word].map((other) => data.words[other]).join(", ");
    card.replaceChildren(name, ...(group ? [group.name, document.createElement("br")] : []), `near: ${near}`);
    // In the corner that is farther away, so that it does not hide the neighbors it names.
    card.className = onScreen(word)[0] > size.width / 2 ? "left" : "right";
  }
  draw();
}

function find() {
  const wanted = search.value.trim().toLowerCase();
  const found = wanted ? order.filter((word) => data.words[word].toLowerCase().includes(wanted)) : [];
  const exact = found.filter((word) => data.words[word].toLowerCase() === wanted);
  hits = new Set(exact.length ? exact : found);
  pinned = exact.length ? exact[0] : -1;
  const count = hits.size === 1 ? "1 word" : `${hits.size} words`;
  document.getElementById("found").value = wanted ? (hits.size ? count : "no such word here") : "";
  if (pinned >= 0) {
    [view.x, view.y] = data.places[pinned];
    view.scale = Math.max(view.scale, 4 * whole);
  }
  draw();
}

function move(x, y) {
  view.x += x / view.scale;
  view.y += y / view.scale;
  draw();
}

function listGroups() {
  document.getElementById("groups").replaceChildren(...data.groups.map((group, number) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.textContent = group.name;
    button.style.setProperty("--color", group.color);
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      shownGroup = shownGroup === number ? -1 : number;
      document.querySelectorAll("#groups button").forEach((other, place) =>
        other.setAttribute("aria-pressed", place === shownGroup));
      draw();
    });
    item.append(button);
    return item;
  }));
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.getElementById("theme").setAttribute("aria-pressed", dark);
  draw();
}

canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  point(-1);
  zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.offsetX, event.offsetY);
}, { passive: false });
canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  canvas.classList.add("moving");
  drag = [event.offsetX, event.offsetY];
});
canvas.addEventListener("pointermove", (event) => {
  if (!drag) return point(nearest(event.offsetX, event.offsetY));
  point(-1);
  move(drag[0] - event.offsetX, event.offsetY - drag[1]);
  drag = [event.offsetX, event.offsetY];
});
for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => {
  drag = null;
  canvas.classList.remove("moving");
});
canvas.addEventListener("pointerleave", () => drag || point(-1));
canvas.addEventListener("keydown", (event) => {
  const step = 40;
  const does = { "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: showWhole,
    ArrowLeft: () => move(-step, 0), ArrowRight: () => move(step, 0), ArrowUp: () => move(0, step),
    ArrowDown: () => move(0, -step) }[event.key];
  if (!does) return;
  event.preventDefault();
  does();
});
search.addEventListener("input", find);
document.getElementById("whole").addEventListener("click", showWhole);
document.getElementById("theme").addEventListener("click", () =>
  setTheme(document.documentElement.dataset.theme !== "dark"));
document.getElementById("conditions").textContent = data.conditions;
document.getElementById("words").replaceChildren(...data.words.map((word) => {
  const option = document.createElement("option");
  option.value = word;
  return option;
}));
listGroups();
new ResizeObserver(resize).observe(canvas);
resize();
setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
