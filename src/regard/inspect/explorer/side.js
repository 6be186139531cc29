// One model with one text, which views show. There are two of them where something is compared.
import { make } from "./dom.js";
import * as api from "./api.js";
import { remember } from "./state.js";

const MARGINS = 44;

export class Side {
  /** `page` is the whole; `state` what this side looks at; `changed` says that its model is changed in all it shows. */
  constructor(page, state, changed = false) {
    Object.assign(this, { page, state, changed });
    this.element = make("div", { class: "pane" });
  }

  get card() {
    return this.page.cards.find((card) => card.name === this.state.model) || this.page.cards[0];
  }

  get name() {
    return this.changed ? `${this.card.name}, changed` : this.card.name;
  }

  /** What every request says of how to compute. */
  get told() {
    const { into, changes } = this.state;
    return { ...(into && { into }), ...(this.changed && changes.length && { changes }) };
  }

  /** Asks for what views show. A changed model is shown with the target of the other, which its changes are about. */
  async ask(first) {
    const { state, card } = this;
    const { text, beam, prefix, target } = state;
    if (card.languages.length && !card.languages.includes(state.into)) state.into = card.languages[0];
    if (!card.languages.length && state.into) state.into = "";
    this.failure = null;
    if (!card.reads || !text.trim()) {
      // Vectors of words alone, or running text that is yet to be written.
      Object.assign(this, { outputs: [], texts: [text], seen: null });
      return;
    }
    try {
      const writes = card.writes && !card.recorded?.only;
      const outputs = writes ? (await api.translate(card.name, { text, beam, prefix, ...this.told })).outputs : [];
      const own = this.changed && first ? first.texts[1] : target || outputs[0]?.text || "";
      if (writes && !own.trim()) throw new api.Refused("The translation is empty: there is nothing to look at.", 400);
      const texts = writes ? [text, own] : [text];
      const seen = await this.inspect(texts);
      Object.assign(this, { outputs, texts, seen });
    } catch (error) {
      this.failure = error;
    }
  }

  /** What happens inside; of running text that is too long for that, how likely it is. */
  async inspect(texts) {
    try {
      return await api.inspect(this.card.name, { texts, ...this.told });
    } catch (error) {
      if (!this.card.goes_on || error.status !== 400) throw error;
      const seen = await api.score(this.card.name, { text: texts[0], ...this.told }).catch(() => { throw error; });
      seen.shown.note = `Only its surprisal: ${error.message}.`;
      return seen;
    }
  }

  /** Draws a view, or why there is none. */
  draw({ View, fits }) {
    if (this.failure) this.element.replaceChildren(make("p", { class: "empty", role: "alert" }, this.failure.message));
    else if (!fits(this)) this.element.replaceChildren(make("p", { class: "empty" }, `${this.name} has nothing to show here.`));
    else {
      this.view = new View(this);
      this.element.replaceChildren(this.view.element);
    }
    return this.element;
  }

  /** Something else is looked at in what is there; where two are compared, the other follows. */
  set(changes) {
    Object.assign(this.state, changes);
    remember();
    this.page.follow(this, changes);
  }

  /** Something of the state changes, and the models are asked again. */
  go(changes) {
    Object.assign(this.state, changes);
    return this.page.look();
  }

  show() {
    this.page.show();
  }

  /** Says why something failed; with null, that all is well again. */
  fail(error) {
    this.page.fail(error);
  }

  /** The width that a picture may take, at most. */
  room(most) {
    return Math.max(160, Math.min(most, (this.element.clientWidth || this.page.room) - MARGINS));
  }
}
