// The page: one text, one model or two, several views of what happens inside.
import { along, button, fill, hint, make, menu, optionsOf, roving } from "./dom.js";
import { isDark } from "./shades.js";
import * as api from "./api.js";
import { CHANGED, OWN, link, otherState, remember, restore, state } from "./state.js";
import { Comparison } from "./compare.js";
import { Side } from "./side.js";
import { savePng, saveSvg } from "./take.js";
import { ChangeView } from "./change.js";
import { GalleryView } from "./gallery.js";
import { HeadsView } from "./heads.js";
import { InsideView } from "./inside.js";
import { TourView } from "./tour.js";
import { TranslateView } from "./translate.js";
import { WhyView } from "./why.js";
import { drawArcs, hasArcs } from "./arcs.js";
import { drawFlow } from "./flow.js";
import { drawGradients, hasGradients } from "./gradients.js";
import { drawLabels, hasLabels } from "./labels.js";
import { drawMap, hasMap } from "./map.js";
import { drawReading, hasReading } from "./reading.js";
import { drawStates, hasStates } from "./states.js";
import { drawVectors } from "./vectors.js";
import { drawWriting } from "./writing.js";

const element = (id) => document.getElementById(id);
const on = (id, kind, listener) => element(id).addEventListener(kind, listener);

/** A view that is drawn into a place: of what an inspection holds, in which `state` says what is chosen, or of a side. */
const holding = (draw) => drawing((place, { seen, state }) => draw(place, seen, state));
const drawing = (draw) => class {
  constructor(side) {
    this.element = make("div");
    this.ready = draw(this.element, side);
  }
};

/** The views in their order: a name that links have, what the reader reads, what draws it of a side, and whether a side
 * has it. What is not shown of two sides says why it is `alone`, given what is compared. */
const VIEWS = [
  { name: "gallery", label: "All texts", View: GalleryView, fits: ({ card }) => card.recorded?.only && card.examples.length > 1 },
  { name: "translate", label: "Translate and align", View: TranslateView, fits: ({ card, seen }) => card.writes && seen },
  { name: "labels", label: "Labels", View: holding(drawLabels), fits: ({ seen }) => seen && hasLabels(seen) },
  { name: "arcs", label: "Tree", View: holding(drawArcs), fits: ({ seen }) => seen && hasArcs(seen) },
  { name: "reading", label: "Surprisal", View: holding(drawReading), fits: ({ seen }) => seen && hasReading(seen) },
  { name: "write", label: "Generate", View: drawing(drawWriting), fits: ({ card }) => card.goes_on && !card.recorded },
  { name: "heads", label: "Layers and heads", View: HeadsView, fits: ({ seen }) => seen?.attention.length > 0 },
  { name: "change", label: "Change it", View: ChangeView, fits: ({ card, seen }) => card.places.some(({ tap }) => seen?.array(tap)) && !card.recorded,
    alone: (against) => against === CHANGED && "This view has before and after beside one another by itself." },
  { name: "why", label: "Why", View: WhyView, fits: ({ card, seen }) => card.explains && seen },
  { name: "gradients", label: "Gradients", View: drawing(drawFlow), fits: ({ card, seen }) => card.explains && seen },
  { name: "flow", label: "Gradients", View: holding((place, seen, own) => drawGradients(place, [{ norms: seen }], own)), fits: ({ seen }) => seen && hasGradients(seen) },
  { name: "states", label: "States", View: holding(drawStates), fits: ({ seen }) => seen && hasStates(seen) },
  { name: "tour", label: "Tour", View: TourView, fits: ({ card }) => card.tours.length > 0 },
  { name: "map", label: "Map", View: drawing(drawVectors), fits: ({ card }) => card.vectors.length > 0 && !card.recorded,
    alone: (against) => against === CHANGED && "Changes leave the vectors of words as they are, so that there is one map." },
  { name: "plane", label: "Map", View: holding(drawMap), fits: ({ seen }) => seen && hasMap(seen) },
  { name: "inside", label: "Inside", View: InsideView, fits: ({ seen }) => seen },
];
/** What is said of one text, and not of the next. */
const FRESH = { target: "", prefix: "", changes: [], written: [] };
const about = (text) => ({ ...FRESH, text, other: Object.fromEntries(Object.entries(state.other).filter(([name]) => !(name in FRESH))) });
const MOST_BUTTONS = 6;
const FALLBACK_ROOM = 340;

/** The whole page: the models, the sides that are shown, and how to ask for others. */
class Page {
  constructor(cards, projections) {
    Object.assign(this, { cards, projections });
    this.turn = 0;
    this.sides = [];
    this.free = new Map();
  }

  get card() {
    return this.cards.find((card) => card.name === state.model) || this.cards[0];
  }

  get view() {
    return VIEWS.find(({ name }) => name === state.view) || VIEWS[0];
  }

  /** Whether the view stands alone, so that nothing is compared in it. */
  get alone() {
    return !state.against || Boolean(this.whyAlone);
  }

  get whyAlone() {
    return state.against && this.view.alone?.(state.against);
  }

  /** The width of a pane. */
  get room() {
    return element("view").clientWidth ? element("view").clientWidth / (this.alone || innerWidth < 1000 ? 1 : 2) : FALLBACK_ROOM;
  }

  /** Looks at the text again: the whole page follows. */
  async look() {
    const turn = (this.turn += 1);
    this.fail(null);
    this.fillModel();
    remember();
    if (this.card.reads && !state.text.trim() && !this.card.goes_on) {
      this.sides = [];
      element("view").replaceChildren(make("p", { class: "empty" },
        this.card.writes ? "Type a text to translate, or choose an example." : "Type a text, or choose an example."));
      element("tabs").replaceChildren();
      return;
    }
    document.body.classList.add("busy");
    const sides = [new Side(this, state)];
    if (state.against) sides.push(new Side(this, otherState(), state.against === CHANGED));
    await sides[0].ask();
    for (const side of sides.slice(1)) await side.ask(sides[0]);
    if (turn !== this.turn) return;
    document.body.classList.remove("busy");
    this.sides = sides;
    if (sides[0].failure) {
      element("view").replaceChildren();
      this.fail(sides[0].failure);
      return;
    }
    for (const side of sides) this.compareWithFree(side);
    this.fillTabs();
    this.show();
  }

  /** What a side writes when nothing is forced, to tell what that changes. */
  compareWithFree(side) {
    const key = JSON.stringify([side.name, state.text, side.state.into]);
    if (!state.prefix && !state.target && side.texts) this.free.set(key, side.texts[1]);
    side.free = state.prefix && !state.target ? this.free.get(key) : "";
  }

  /** Draws the chosen view. */
  show() {
    remember();
    const { view, alone } = this;
    const main = element("view");
    main.setAttribute("aria-labelledby", `tab-${view.name}`);
    const shown = alone ? this.sides.slice(0, 1) : this.sides;
    document.body.classList.toggle("compares", shown.length > 1);
    for (const side of shown) side.draw(view);
    this.comparison?.close();
    this.comparison = shown.length > 1 ? new Comparison(shown) : null;
    fill(main, this.whyAlone ? hint(this.whyAlone) : null, this.comparison ? this.comparison.element : shown[0].element);
    this.fillFiles();
  }

  /** Where one side looks at something else, the other looks at it too, if it has it. */
  follow(side, changes) {
    const other = this.sides.find((each) => each !== side);
    if (!other?.view || this.alone || other.failure) return;
    if (state.against !== CHANGED) {
      // Tokens that were written have other numbers in another model.
      const { written, ...own } = Object.fromEntries(Object.entries(changes).filter(([name]) => OWN.includes(name)));
      if (written && Object.keys(changes).length === 1) return;
      const has = !own.tap || other.seen?.array(own.tap);
      if (has) Object.assign(other.state, own);
      if (!has && Object.keys(own).length === Object.keys(changes).length) return;
      remember();
    }
    other.draw(this.view);
    this.comparison?.know();
  }

  fillModel() {
    const { card } = this;
    state.model = card.name;
    if (state.against === state.model || (state.against && state.against !== CHANGED && !this.cards.some(({ name }) => name === state.against))) state.against = "";
    element("model").value = card.name;
    const others = this.cards.map(({ name }) => name).filter((name) => name !== card.name);
    const choices = [["", "nothing"], ...(card.places.length && !card.recorded ? [[CHANGED, "itself, changed"]] : []), ...others];
    element("against").replaceChildren(...optionsOf(choices, state.against));
    element("against").parentElement.hidden = choices.length < 2;
    element("about").textContent = Object.entries(card.about).map(([name, fact]) => (name === "model" ? fact : name === "on" ? `on ${fact}` : /^[\d,]+$/.test(fact) ? `${fact} ${name}` : `${name}: ${fact}`)).join(" · ");
    element("ask").hidden = !card.reads;
    document.querySelector(".go").textContent = card.writes ? "Translate" : "Read";
    const into = element("into");
    into.parentElement.hidden = !card.languages.length;
    if (card.languages.length && !card.languages.includes(state.into)) state.into = card.languages[0];
    if (!card.languages.length) state.into = "";
    into.replaceChildren(...optionsOf(card.languages, state.into));
    this.fillExamples(card);
    element("text").value = state.text;
    grow();
  }

  /** Texts to begin with; all that there are, where nothing else was recorded. */
  fillExamples({ examples, recorded }) {
    const begin = (text) => this.go({ ...about(text), place: 0 });
    document.body.classList.toggle("recorded", Boolean(recorded));
    const places = element("examples");
    if (recorded && examples.length > MOST_BUTTONS) {
      places.replaceChildren(menu("Text", examples, state.text, begin));
      return;
    }
    places.replaceChildren(...(recorded?.only && examples.length === 1 ? [] : examples).map((text) =>
      button(text, () => begin(text), { dir: "auto", "aria-pressed": recorded ? String(text === state.text) : null })));
  }

  go(changes) {
    Object.assign(state, changes);
    return this.look();
  }

  fillTabs() {
    const fitting = VIEWS.filter(({ fits }) => fits(this.sides[0]));
    if (!fitting.some(({ name }) => name === state.view)) state.view = fitting[0].name;
    const tabs = fitting.map(({ name, label }) => button(label, () => choose(name),
      { role: "tab", id: `tab-${name}`, "aria-controls": "view", "aria-selected": String(name === state.view) }));
    const choose = (name) => {
      state.view = name;
      tabs.forEach((tab) => tab.setAttribute("aria-selected", String(tab.id === `tab-${name}`)));
      this.show();
    };
    roving(tabs, along(tabs.length), fitting.findIndex(({ name }) => name === state.view));
    element("tabs").replaceChildren(...tabs);
    element("tabs").querySelector('[aria-selected="true"]').scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  fillFiles() {
    const { sides, view } = this;
    element("take").hidden = !sides[0].seen;
    if (!sides[0].seen) return;
    const whole = element("view");
    const pages = sides[0].card.recorded ? [] : [["html", "Page (HTML)"]];
    const ofSides = sides.filter((side) => side.seen).flatMap((side) => [...pages, ["json", "Numbers (JSON)"]].map(([kind, label]) =>
      button(sides.length > 1 ? `${label} of ${side.name}` : label, () => side.seen.save(kind))));
    element("files").replaceChildren(button("This view (SVG)", () => saveSvg(whole, view.label)), button("This view (PNG)", () => savePng(whole, view.label)),
      ...ofSides, ...(sides[0].seen.shown.python ? [make("p", {}, "The same in Python:"), make("pre", { tabindex: 0 }, sides[0].seen.shown.python)] : []));
  }

  /** Says why something failed; with null, that all is well again. What is not a refusal is a fault of the page. */
  fail(error) {
    tell(error);
    if (error && !(error instanceof api.Refused)) throw error;
  }
}

function tell(error) {
  const told = element("failure");
  told.hidden = !error;
  told.textContent = error ? error.message || String(error) : "";
}

// Whatever a button began and nobody waits for.
window.addEventListener("unhandledrejection", (event) => {
  tell(event.reason);
  if (event.reason instanceof api.Refused) event.preventDefault();
});

function grow() {
  const text = element("text");
  text.style.height = "auto";
  text.style.height = `${Math.min(text.scrollHeight + 2, 160)}px`;
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  element("theme").textContent = dark ? "Light" : "Dark";
  try {
    localStorage.setItem("theme", dark ? "dark" : "light");
  } catch {
    // Private windows keep nothing.
  }
}

async function begin() {
  const { models, projections } = await api.models();
  const page = new Page(models, projections);
  element("model").replaceChildren(...optionsOf(models.map(({ name }) => name)));
  element("model").parentElement.hidden = models.length < 2;
  on("model", "change", (event) =>
    page.go({ ...FRESH, model: event.target.value, tap: "", head: "mean", over: "", against: "", other: {} }));
  on("against", "change", (event) => page.go({ against: event.target.value, other: {} }));
  on("into", "change", (event) => page.go({ into: event.target.value, target: "", prefix: "" }));
  on("ask", "submit", (event) => {
    event.preventDefault();
    page.go(about(element("text").value));
  });
  on("view", "chosen", remember);
  on("text", "input", grow);
  on("text", "keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    element("ask").requestSubmit();
  });
  on("theme", "click", () => {
    setTheme(!isDark());
    if (page.sides.length) page.show();
  });
  on("link", "click", async () => {
    const address = location.href.replace(/#.*/, "") + link();
    // There is no clipboard for a page of plain HTTP from another machine.
    const copied = await navigator.clipboard?.writeText(address).then(() => true, () => false);
    element("link").textContent = copied ? "Copied" : "Copy the address of the page";
    setTimeout(() => { element("link").textContent = "Copy link"; }, 1500);
  });
  document.addEventListener("click", (event) => {
    if (!element("take").contains(event.target)) element("take").open = false;
  });
  window.addEventListener("hashchange", () => {
    restore(location.hash);
    page.look();
  });
  restore(location.hash);
  const { recorded, examples } = page.card;
  if (recorded ? !examples.includes(state.text) : !location.hash) state.text = examples[0] || "";
  await page.look();
}

try {
  const kept = localStorage.getItem("theme");
  setTheme(kept ? kept === "dark" : isDark());
} catch {
  setTheme(isDark());
}
begin();
