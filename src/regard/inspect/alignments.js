import { make } from "./dom.js";

const { pairs, both, gold } = JSON.parse(document.getElementById("data").textContent);
const ROW = 26;
const WIDTH = 150;
const at = (id) => document.getElementById(id);
const key = (i, j) => `${i}-${j}`;
let place = 0;

/** Everything that is known of each link of a pair, by its key. */
function known(pair) {
  const found = new Map();
  const get = (i, j) => {
    if (!found.has(key(i, j))) found.set(key(i, j), { i, j, p: 0, forward: false, backward: false });
    return found.get(key(i, j));
  };
  for (const [i, j, p] of pair.cells) get(i, j).p = p;
  for (const [i, j] of pair.links) get(i, j).linked = true;
  for (const [i, j] of pair.forward) get(i, j).forward = true;
  for (const [i, j] of pair.backward) get(i, j).backward = true;
  for (const [i, j] of pair.possible) get(i, j).gold = "possible";
  for (const [i, j] of pair.sure) get(i, j).gold = "sure";
  return found;
}

/** In which direction a link is, where it is but in one. */
function way(link) {
  if (!both || link.forward === link.backward) return "";
  return link.forward ? "forward" : "backward";
}

/** Whether there is something to look at: links that are not as they should be, or directions that disagree. */
function differs(pair) {
  const links = [...known(pair).values()];
  if (gold) return links.some((link) => (link.linked && !link.gold) || (link.gold === "sure" && !link.linked));
  return links.some((link) => way(link));
}

function tell(pair, link) {
  const words = `${pair.source[link.i]} – ${pair.target[link.j]}`;
  const facts = [`probability ${link.p.toFixed(3)}`, link.linked ? "linked" : "not linked"];
  if (way(link)) facts.push(way(link) === "forward" ? "source → target only" : "target → source only");
  if (gold) facts.push(link.gold === "sure" ? "true link" : link.gold ? "possible link" : "no true link");
  return `${words} (${key(link.i, link.j)}): ${facts.join(", ")}`;
}

function words(pair, side, letter) {
  return make("ol", { dir: "auto" }, ...pair[side].map((word, n) => make("li", { "data-word": `${letter}${n}`, dir: "auto" }, word)));
}

function lines(pair, links) {
  const rows = Math.max(pair.source.length, pair.target.length, 1);
  const svg = at("drawing").content.firstElementChild.cloneNode(true);
  const line = svg.firstElementChild;
  line.remove();
  svg.setAttribute("height", rows * ROW);
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${rows * ROW}`);
  for (const link of links.values()) {
    const missed = !link.linked && link.gold === "sure";
    if (!link.linked && !missed && !way(link)) continue;
    const path = line.cloneNode();
    const [top, bottom] = [(link.i + 0.5) * ROW, (link.j + 0.5) * ROW];
    path.setAttribute("d", `M2 ${top} C${WIDTH / 2} ${top} ${WIDTH / 2} ${bottom} ${WIDTH - 2} ${bottom}`);
    path.setAttribute("class", missed ? "missed" : way(link));
    path.setAttribute("stroke-opacity", link.linked ? Math.max(0.35, link.p).toFixed(2) : missed ? 1 : 0.5);
    path.dataset.link = key(link.i, link.j);
    svg.append(path);
  }
  at("lines").replaceChildren(words(pair, "source", "s"), svg, words(pair, "target", "t"));
}

function map(pair, links) {
  const heading = pair.source.map((word, i) => make("th", { scope: "col", "data-word": `s${i}`, title: word }, make("span", { dir: "auto" }, word)));
  const rows = pair.target.map((word, j) => {
    const row = make("tr", {}, make("th", { scope: "row", "data-word": `t${j}`, dir: "auto" }, word));
    pair.source.forEach((_, i) => {
      const link = links.get(key(i, j)) || { i, j, p: 0, forward: false, backward: false };
      const cell = make("td", { "data-link": key(i, j), title: tell(pair, link) });
      cell.className = [link.gold || "", link.linked ? "linked" : "", way(link)].filter(Boolean).join(" ");
      cell.style.setProperty("--p", link.p);
      row.append(cell);
    });
    return row;
  });
  at("map").replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, make("td"), ...heading)), make("tbody", {}, ...rows)));
}

/** Marks the links of a word, or one link with its words, and says what is known of it. */
function point(pair, links, target) {
  document.querySelectorAll(".marked").forEach((element) => element.classList.remove("marked"));
  const on = target && target.closest ? target.closest("[data-link], [data-word]") : null;
  at("lines").classList.toggle("pointed", Boolean(on));
  if (!on) return;
  const word = on.dataset.word;
  const touches = (link) => (word ? word === `s${link.i}` || word === `t${link.j}` : on.dataset.link === key(link.i, link.j));
  const [i, j] = (on.dataset.link || "-").split("-").map(Number);
  const marked = word ? [...links.values()].filter((link) => touches(link) && link.linked) : [links.get(on.dataset.link) || { i, j, p: 0 }];
  const names = new Set(marked.flatMap((link) => [`s${link.i}`, `t${link.j}`]));
  if (word) names.add(word);
  document.querySelectorAll("[data-word]").forEach((element) => element.classList.toggle("marked", names.has(element.dataset.word)));
  document.querySelectorAll("path").forEach((element) => {
    const link = links.get(element.dataset.link);
    element.classList.toggle("marked", touches(link));
  });
  const spoken = word ? (word[0] === "s" ? pair.source : pair.target)[Number(word.slice(1))] : "";
  at("detail").textContent = marked.length ? marked.map((link) => tell(pair, link)).join("; ") : `${spoken}: no link`;
}

function show(number) {
  place = Math.min(Math.max(Math.trunc(number) || 0, 0), pairs.length - 1);
  const pair = pairs[place];
  const links = known(pair);
  at("number").value = place + 1;
  at("before").disabled = place === 0;
  at("after").disabled = place === pairs.length - 1;
  at("detail").textContent = pair.score === null ? "" : `score ${pair.score.toFixed(4)}`;
  lines(pair, links);
  map(pair, links);
  at("lines").classList.remove("pointed");
  document.querySelector(".pair").onpointerover = (event) => point(pair, links, event.target);
  history.replaceState(null, "", `#${place + 1}`);
}

/** The next pair in a direction, of those that are looked at. */
function turn(step) {
  let next = place + step;
  while (at("only").checked && next >= 0 && next < pairs.length && !differs(pairs[next])) next += step;
  if (next >= 0 && next < pairs.length) show(next);
}

function begin() {
  at("count").textContent = pairs.length.toLocaleString("en");
  at("number").max = pairs.length;
  at("some").querySelector("span").textContent = gold ? "with errors only" : "where directions disagree only";
  at("some").hidden = !gold && !both;
  document.querySelectorAll(".key.forward, .key.backward").forEach((one) => { one.hidden = !both; });
  document.querySelector(".key.both").hidden = !both;
  document.querySelectorAll(".key.sure, .key.possible, .key.missed").forEach((one) => { one.hidden = !gold; });
  at("before").onclick = () => turn(-1);
  at("after").onclick = () => turn(1);
  at("number").onchange = () => show(Number(at("number").value || 1) - 1);
  const dark = (on) => {
    document.documentElement.dataset.theme = on ? "dark" : "light";
    at("theme").setAttribute("aria-pressed", String(on));
    at("theme").textContent = on ? "Light" : "Dark";
  };
  dark(matchMedia("(prefers-color-scheme: dark)").matches);
  at("theme").onclick = () => dark(document.documentElement.dataset.theme !== "dark");
  addEventListener("keydown", (event) => {
    if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowLeft: -1, PageUp: -1, k: -1, ArrowRight: 1, PageDown: 1, j: 1 };
    if (event.key in steps) turn(steps[event.key]);
    else if (event.key === "Home") show(0);
    else if (event.key === "End") show(pairs.length - 1);
    else return;
    event.preventDefault();
  });
  addEventListener("hashchange", () => show(Number(location.hash.slice(1) || 1) - 1));
  show(Number(location.hash.slice(1) || 1) - 1);
}

begin();
