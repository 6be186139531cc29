// The page: one text, one model, several views of what happens inside.
import { along, make, roving } from "./dom.js";
import { isDark } from "./shades.js";
import * as api from "./api.js";
import { link, remember, restore, state } from "./state.js";
import { TranslateView } from "./translate.js";
import { HeadsView } from "./heads.js";
import { ChangeView } from "./change.js";
import { WhyView } from "./why.js";
import { InsideView } from "./inside.js";
import { drawFlow } from "./flow.js";
import { drawVectors } from "./vectors.js";
import { drawWriting } from "./writing.js";
import { SEEN } from "./views.js";

const element = (id) => document.getElementById(id);
const built = (View) => (place, page) => place.replaceChildren(new View(page).element);
const held = Object.fromEntries(SEEN.map((view) => [view.name, { ...view, draw: (place, page) => view.draw(place, page.seen, state),
  fits: ({ seen }) => Boolean(seen && view.fits(seen)) }]));
/** What can be looked at: `draw(place, page)` draws it, where `fits(page)` says that there is something to see. */
const VIEWS = [
  { name: "translate", label: "Translate and align", draw: built(TranslateView), fits: ({ card }) => card.writes },
  held.labels,
  held.arcs,
  held.reading,
  { name: "write", label: "Write on", draw: drawWriting, fits: ({ card }) => card.goes_on },
  { name: "heads", label: "Layers and heads", draw: built(HeadsView), fits: ({ seen }) => seen?.attention.length > 0 },
  { name: "change", label: "Change it", draw: built(ChangeView), fits: ({ card, seen }) => card.places.some(({ tap }) => seen?.array(tap)) },
  { name: "why", label: "Why", draw: built(WhyView), fits: ({ card, seen }) => card.explains && Boolean(seen) },
  { name: "gradients", label: "Gradients", draw: drawFlow, fits: ({ card, seen }) => card.explains && Boolean(seen) },
  held.states,
  { name: "map", label: "Map", draw: drawVectors, fits: ({ card }) => card.vectors.length > 0 },
  { name: "inside", label: "Inside", draw: built(InsideView), fits: ({ seen }) => Boolean(seen) },
];

/** What all views share: the model, the inspection of the text, and how to ask for another. */
export class Page {
  constructor(cards, projections) {
    Object.assign(this, { cards, projections });
    this.turn = 0;
  }

  get card() {
    return this.cards.find((card) => card.name === state.model) || this.cards[0];
  }

  get asked() {
    return { texts: state.target ? [state.text, state.target] : [state.text], ...this.told };
  }

  get told() {
    return state.into ? { into: state.into } : {};
  }

  /** Looks at the text again: the whole page follows. */
  async look() {
    const turn = (this.turn += 1);
    this.fail(null);
    this.fillModel();
    remember();
    if (!this.card.reads || (!state.text.trim() && this.card.goes_on)) {
      Object.assign(this, { outputs: [], seen: null, texts: [""] });
      this.fillTabs();
      this.show();
      return;
    }
    if (!state.text.trim()) {
      element("view").replaceChildren(make("p", { class: "empty" },
        this.card.writes ? "Type a text to translate, or take an example." : "Type a text to read, or take an example."));
      element("tabs").replaceChildren();
      return;
    }
    document.body.classList.add("busy");
    try {
      const outputs = this.card.writes
        ? (await api.translate(state.model, { text: state.text, beam: state.beam, prefix: state.prefix, ...this.told })).outputs
        : [];
      if (turn !== this.turn) return;
      const target = state.target || outputs[0]?.text || "";
      if (this.card.writes && !target.trim()) throw new api.Refused("The translation is empty: there is nothing to look at.", 400);
      const texts = this.card.writes ? [state.text, target] : [state.text];
      const seen = await this.inspect(texts);
      if (turn !== this.turn) return;
      Object.assign(this, { outputs, seen, texts });
      this.fillTabs();
      this.show();
    } catch (error) {
      if (turn === this.turn) {
        element("view").replaceChildren();
        this.fail(error);
      }
    } finally {
      if (turn === this.turn) document.body.classList.remove("busy");
    }
  }

  /** What happens inside; of running text that is too long for that, how likely it is. */
  async inspect(texts) {
    try {
      return await api.inspect(state.model, { texts, ...this.told });
    } catch (error) {
      if (!this.card.goes_on || error.status !== 400) throw error;
      const seen = await api.score(state.model, { text: texts[0] }).catch(() => { throw error; });
      seen.shown.note = `Only its surprisal: ${error.message}.`;
      return seen;
    }
  }

  /** Draws the chosen view. */
  show() {
    remember();
    const view = element("view");
    view.setAttribute("aria-labelledby", `tab-${state.view}`);
    // Of its own, so that a view that still waits for numbers does not draw over another.
    const place = make("div");
    view.replaceChildren(place);
    VIEWS.find(({ name }) => name === state.view).draw(place, this);
    this.fillFiles();
  }

  /** Something of the page's state changes, and the text is looked at again. */
  go(changes) {
    Object.assign(state, changes);
    return this.look();
  }

  fillModel() {
    const { card } = this;
    state.model = card.name;
    element("model").value = card.name;
    element("about").textContent = Object.entries(card.about).map(([name, fact]) => (name === "model" ? fact : `${fact} ${name}`))
      .join(" · ").replace(/ · (\S+) on$/, " · on $1");
    element("ask").hidden = !card.reads;
    document.querySelector(".go").textContent = card.writes ? "Translate" : "Read";
    const into = element("into");
    into.parentElement.hidden = !card.languages.length;
    into.replaceChildren(...card.languages.map((tag) => make("option", { value: tag }, tag)));
    if (card.languages.length && !card.languages.includes(state.into)) state.into = card.languages[0];
    if (!card.languages.length) state.into = "";
    into.value = state.into;
    element("examples").replaceChildren(...card.examples.map((text) => {
      const begin = () => this.go({ text, target: "", prefix: "", changes: [], written: [] });
      return make("button", { type: "button", dir: "auto", onclick: begin }, text);
    }));
    element("text").value = state.text;
    grow();
  }

  fillTabs() {
    const fitting = VIEWS.filter((view) => view.fits(this));
    if (!fitting.some(({ name }) => name === state.view)) state.view = fitting[0].name;
    const tabs = fitting.map(({ name, label }) => make("button", { type: "button", role: "tab", id: `tab-${name}`,
      "aria-controls": "view", "aria-selected": String(name === state.view), onclick: () => choose(name) }, label));
    const choose = (name) => {
      state.view = name;
      tabs.forEach((tab) => tab.setAttribute("aria-selected", String(tab.id === `tab-${name}`)));
      this.show();
    };
    roving(tabs, along(tabs.length), fitting.findIndex(({ name }) => name === state.view));
    element("tabs").replaceChildren(...tabs);
  }

  fillFiles() {
    element("take").hidden = !this.seen;
    if (!this.seen) return;
    const kinds = { svg: "Picture (SVG)", png: "Picture (PNG)", html: "Page (HTML)", json: "Numbers (JSON)" };
    const array = this.seen.attention.includes(state.tap) ? state.tap : this.seen.attention[0];
    const head = array && this.seen.headOf(array, state.head);
    const { seen } = this;
    const links = Object.entries(kinds).map(([kind, label]) => make("button", { type: "button",
      onclick: () => seen.save(kind, { name: array, head: /^\d+$/.test(head) ? Number(head) : undefined }) }, label));
    const program = make("pre", { tabindex: 0 }, this.seen.shown.python);
    element("files").replaceChildren(...links, make("p", {}, "The same in Python:"), program);
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
  element("model").replaceChildren(...models.map(({ name }) => make("option", { value: name }, name)));
  element("model").parentElement.hidden = models.length < 2;
  element("model").addEventListener("change", (event) =>
    page.go({ model: event.target.value, target: "", prefix: "", changes: [], written: [], tap: "", head: "mean" }));
  element("into").addEventListener("change", (event) => page.go({ into: event.target.value, target: "", prefix: "" }));
  element("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    page.go({ text: element("text").value, target: "", prefix: "", changes: [], written: [] });
  });
  element("view").addEventListener("chosen", remember);
  element("text").addEventListener("input", grow);
  element("text").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    element("ask").requestSubmit();
  });
  element("theme").addEventListener("click", () => {
    setTheme(!isDark());
    if (page.seen) page.show();
  });
  element("link").addEventListener("click", async () => {
    const address = location.href.replace(/#.*/, "") + link();
    // There is no clipboard for a page of plain HTTP from another machine.
    const copied = await navigator.clipboard?.writeText(address).then(() => true, () => false);
    element("link").textContent = copied ? "Copied" : "Copy the address of the page";
    setTimeout(() => { element("link").textContent = "Copy link"; }, 1500);
  });
  window.addEventListener("hashchange", () => {
    restore(location.hash);
    page.look();
  });
  restore(location.hash);
  if (!location.hash) state.text = page.card.examples[0] || "";
  await page.look();
}

try {
  const kept = localStorage.getItem("theme");
  setTheme(kept ? kept === "dark" : isDark());
} catch {
  setTheme(isDark());
}
begin();
