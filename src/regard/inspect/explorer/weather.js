// Attention without a network: stations know the weather where they stand, and a place between them asks for its own.
import { make, readout, table } from "./dom.js";
import { draw } from "./drawing.js";
import { asInspection, taking } from "./take.js";
import { css, shade } from "./shades.js";

/** Coordinates in kilometers are keys; temperature and wind are values. */
export const STATIONS = [
  ["Hamburg", [700, 5955], [14, 7]],
  ["Berlin", [939, 5840], [17, 5]],
  ["Köln", [488, 5664], [19, 3]],
  ["Frankfurt", [608, 5572], [21, 2]],
  ["München", [811, 5353], [23, 1]],
];
/** Leipzig: where the query begins. */
export const SPOT = [867, 5709];
const [WEST, EAST, SOUTH, NORTH] = [420, 1090, 5260, 6040];
const [WIDE, HIGH] = [400, 466];
const STEP = 10;
const FLOOR = 1e-6;
const GRID = 8;

/** Distance, score and weight of each station for a place, and the weather there: the mean under the weights. */
export function weatherAt([east, north]) {
  const distances = STATIONS.map(([, [x, y]]) => Math.hypot(x - east, y - north));
  const scores = distances.map((distance) => 1 / (distance + FLOOR));
  const sum = scores.reduce((total, score) => total + score, 0);
  const weights = scores.map((score) => score / sum);
  const mean = (which) => weights.reduce((total, weight, place) => total + weight * STATIONS[place][2][which], 0);
  return { distances, scores, sum, weights, temperature: mean(0), wind: mean(1) };
}

/** What the map shows for a place: keys and scores, or, `weighed`, the weights and the mean under them. */
export function stationsTable(spot, weighed) {
  const { distances, scores, sum, weights, temperature } = weatherAt(spot);
  const score = scores.map((each) => each.toPrecision(3));
  if (!weighed) {
    return table("Keys and scores", ["station", "key (km)", "distance", "score = 1 / distance"],
      STATIONS.map(([name, key], place) => [name, key.join(", "), `${distances[place].toFixed(0)} km`, score[place]]));
  }
  return table("Weights and values", ["station", "score", "weight", "°C", "m/s", "weight × °C"],
    [...STATIONS.map(([name, , [degrees, wind]], place) => [name, score[place], weights[place].toFixed(3), degrees, wind, (weights[place] * degrees).toFixed(2)]),
      ["sum", sum.toPrecision(3), "1.000", "–", "–", temperature.toFixed(2)]]);
}

export class WeatherMap {
  /** A map with the place at a spot, which moves by pointer and arrow keys; `weighed` draws the weights as lines. */
  constructor(spot, { weighed, onmove }) {
    Object.assign(this, { spot, weighed, onmove });
    this.field = make("canvas", { "aria-hidden": "true" });
    this.lines = STATIONS.map(([, [x, y]]) => draw("line", { class: "relevance", x1: right(x), y1: down(y) }));
    this.shares = STATIONS.map(() => draw("tspan", { class: "share-of", dy: 15 }));
    this.names = STATIONS.map(([name, , [degrees]], place) => draw("text", { "text-anchor": "middle" }, draw("tspan", {}, `${name} ${degrees}°`), this.shares[place]));
    const stations = STATIONS.map(([, [x, y]]) => draw("circle", { class: "station", cx: right(x), cy: down(y), r: 5 }));
    this.point = draw("g", { class: "query" }, draw("circle", { r: 11 }), draw("circle", { r: 4, class: "dot-of" }));
    this.here = draw("text", { class: "here" });
    this.svg = draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "weather", role: "application", tabindex: 0,
      "aria-label": "A map with five stations. Arrow keys move your place.", onkeydown: (event) => this.key(event) },
    ...this.lines, ...stations, ...this.names, this.point, this.here);
    this.told = readout();
    this.picture = make("div", { class: "map-of" }, this.field, this.svg);
    this.taken = taking({ name: () => "Weather stations", picture: () => this.picture, table: () => stationsTable(this.spot, this.weighed), json: () => this.inspection() });
    this.element = make("div", { class: "drawn" }, this.picture, this.told, this.taken.element);
    this.listen();
    this.paint();
    this.move(spot, false);
  }

  listen() {
    const at = (event) => {
      const box = this.svg.getBoundingClientRect();
      return [WEST + ((event.clientX - box.left) / box.width) * (EAST - WEST), NORTH - ((event.clientY - box.top) / box.height) * (NORTH - SOUTH)];
    };
    this.svg.addEventListener("pointerdown", (event) => {
      this.svg.setPointerCapture(event.pointerId);
      this.dragged = true;
      this.move(at(event));
    });
    this.svg.addEventListener("pointermove", (event) => { if (this.dragged) this.move(at(event)); });
    for (const name of ["pointerup", "pointercancel"]) this.svg.addEventListener(name, () => { this.dragged = false; });
  }

  key(event) {
    const way = { ArrowUp: [0, STEP], ArrowDown: [0, -STEP], ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0] }[event.key];
    if (!way) return;
    event.preventDefault();
    this.move([this.spot[0] + way[0], this.spot[1] + way[1]]);
  }

  move([east, north], telling = true) {
    this.spot = [Math.round(Math.max(WEST, Math.min(EAST, east))), Math.round(Math.max(SOUTH, Math.min(NORTH, north)))];
    const { weights, scores, temperature, wind } = weatherAt(this.spot);
    const [x, y] = [right(this.spot[0]), down(this.spot[1])];
    this.point.setAttribute("transform", `translate(${x} ${y})`);
    const largest = Math.max(...scores);
    this.lines.forEach((line, place) => {
      line.setAttribute("x2", x);
      line.setAttribute("y2", y);
      line.style.strokeWidth = (this.weighed ? 14 * weights[place] : 5 * scores[place] / largest).toFixed(2);
    });
    this.shares.forEach((share, place) => { share.textContent = this.weighed ? weights[place].toFixed(2) : scores[place].toPrecision(2); });
    // The name of a station stands on the side of it that no line crosses.
    this.names.forEach((name, place) => {
      const [left, top] = [right(STATIONS[place][1][0]), down(STATIONS[place][1][1])];
      const middle = Math.max(38, Math.min(WIDE - 38, left));
      name.setAttribute("y", top < y ? top - 26 : top + 20);
      for (const part of name.children) part.setAttribute("x", middle);
    });
    this.here.setAttribute("x", x + 15);
    this.here.setAttribute("y", y - 8);
    this.here.textContent = this.weighed ? `${temperature.toFixed(1)}°` : "?";
    this.told.textContent = this.weighed ? `At your place: ${temperature.toFixed(1)} °C and a wind of ${wind.toFixed(1)} m/s.` : `Your place, the query: (${this.spot.join(", ")}) km.`;
    this.taken.close();
    if (telling) this.onmove(this.spot);
  }

  /** The temperature everywhere: a query for every point of a grid. */
  paint() {
    const [columns, rows] = [Math.round((EAST - WEST) / GRID), Math.round((NORTH - SOUTH) / GRID)];
    Object.assign(this.field, { width: columns, height: rows });
    if (!this.weighed) return;
    const pen = this.field.getContext("2d");
    for (let r = 0; r < rows; r += 1) for (let c = 0; c < columns; c += 1) {
      const { temperature } = weatherAt([WEST + (c + 0.5) * GRID, NORTH - (r + 0.5) * GRID]);
      pen.fillStyle = css(shade(((temperature - 14) / 9) * 0.34));
      pen.fillRect(c, r, 1, 1);
    }
  }

  /** What is shown, as `Inspection.from_json` reads it. */
  inspection() {
    const { scores, weights } = weatherAt(this.spot);
    const each = (values) => ({ axes: ["station"], shape: [STATIONS.length], values });
    const pairs = (which) => ({ axes: ["station", "feature"], shape: [STATIONS.length, 2], values: STATIONS.flatMap((station) => station[which]) });
    return asInspection("Weather stations", { query: { axes: ["feature"], shape: [2], values: this.spot }, keys: pairs(1), values: pairs(2), scores: each(scores), weights: each(weights) },
      { station: STATIONS.map(([name]) => name) });
  }
}

const right = (east) => ((east - WEST) / (EAST - WEST)) * WIDE;
const down = (north) => ((NORTH - north) / (NORTH - SOUTH)) * HIGH;
