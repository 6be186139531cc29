// Two sides beside one another: the same view of two models, or of one before and after a change. Whatever a view
// draws as matrices is linked: a cell that is looked at in one is looked at in the other, and their difference is drawn.
import { behind, bold, button, hint, isolated, logOf, make, percent, readout, short, signed, table, tokensOf } from "./dom.js";
import { largestOf } from "./api.js";
import { matrixOf } from "./matrix.js";
import { differs, lookingAt, remember, state } from "./state.js";
import { tint } from "./shades.js";

export class Comparison {
  constructor(sides) {
    this.sides = sides;
    this.told = readout();
    this.why = make("span", { class: "hint" });
    this.buttons = ["Both", "Difference"].map((label, place) => button(label, () => {
      state.difference = Boolean(place);
      remember();
      this.pair();
    }));
    const [one, other] = sides;
    this.panes = sides.map((side, place) => make("section", { class: "compared", "aria-label": side.name },
      make("h2", { class: "of" }, make("span", { class: `badge badge-${place + 1}`, "aria-hidden": "true" }, "AB"[place]), isolated(side.name)), side.element));
    this.element = make("div", {}, make("div", { class: "comparing card" },
      make("div", { class: "top" }, make("h2", {}, "Side by side"), make("div", { class: "segments", role: "group", "aria-label": "What is shown on the other side" }, ...this.buttons, this.why), this.told),
      this.outputs(one, other)), make("div", { class: "panes" }, ...this.panes));
    for (const [place, pane] of this.panes.entries()) {
      pane.addEventListener("look-at", (event) => this.look(place, event));
      // However a view keeps what was chosen in it, the other side follows when the view has done so.
      for (const kind of ["click", "change", "keydown", "chosen"]) pane.addEventListener(kind, () => setTimeout(() => this.follow(sides[place])));
    }
    this.know();
    // Views draw when answers come, and anew when something is chosen.
    this.watching = new MutationObserver(() => this.pair());
    for (const pane of this.panes) this.watching.observe(pane, { childList: true, subtree: true });
    this.pair();
    Promise.allSettled(sides.map(({ view }) => view?.ready)).then(() => {
      this.isDrawn = true;
      this.pair();
    });
  }

  /** What both look at now. */
  know() {
    for (const side of this.sides) side.known = lookingAt(side.state);
  }

  follow(side) {
    const changes = Object.entries(lookingAt(side.state)).filter(([name, value]) => differs(value, side.known[name]));
    if (changes.length) side.page.follow(side, Object.fromEntries(changes));
  }

  close() {
    this.watching.disconnect();
  }

  /** The probabilities of both, where both write the same. */
  outputs(one, other) {
    const [mine, theirs] = [one, other].map((side) => side.seen && !side.failure && side.seen.values("probabilities"));
    const labels = mine && one.seen.labels("target", mine.length);
    if (!mine || !theirs || differs(labels, other.seen.labels("target", theirs.length))) return this.explain(one, other);
    const rows = labels.map((label, place) => [label, percent(mine[place]), percent(theirs[place]), signed(theirs[place] - mine[place])]);
    const tokens = labels.map((label, place) => {
      const token = make("span", { class: "token", title: `${percent(mine[place])} and ${percent(theirs[place])}` }, isolated(label));
      tint(token, theirs[place] - mine[place], true);
      return token;
    });
    return make("div", { class: "outputs-of-both" }, tokensOf("The same output", one.seen.leftward("target"), ...tokens),
      hint(`Log-probability of the same output: A ${short(logOf(mine))}, B ${short(logOf(theirs))}. Purple: likelier in B; orange: likelier in A.`),
      behind("Table", () => table("Probabilities of the output", ["token", `A: ${one.name}`, `B: ${other.name}`, "difference"], rows)));
  }

  explain(one, other) {
    if (![one, other].every((side) => side.texts?.length > 1 && !side.failure)) return null;
    return hint("They write different outputs. A target of your own is scored by both.");
  }

  /** Joins the matrices of both sides in their order, and draws differences if they are wished. */
  pair() {
    const [mine, theirs] = this.panes.map((pane) => [...pane.querySelectorAll(".plot")].map(matrixOf));
    this.partners = new Map();
    const same = [];
    for (const [place, matrix] of mine.entries()) {
      const partner = theirs[place];
      if (!partner || partner.data.rowMeaning !== matrix.data.rowMeaning || partner.data.columnMeaning !== matrix.data.columnMeaning) continue;
      this.partners.set(matrix, partner).set(partner, matrix);
      const own = partner.data.own || partner.data;
      const base = matrix.data;
      const isSame = !differs([base.rowLabels, base.columnLabels], [own.rowLabels, own.columnLabels]);
      if (isSame) same.push(matrix);
      if (state.difference && isSame) {
        if (partner.data.differs !== base) partner.show(differenceOf(base, own));
      } else if (partner.data.differs) partner.show(own);
    }
    const differing = state.difference && same.length > 0;
    this.panes[1].querySelector(".of").dataset.note = differing ? "minus A" : "";
    this.buttons.forEach((each, place) => each.setAttribute("aria-pressed", String(Boolean(place) === differing)));
    this.buttons[1].disabled = !same.length;
    this.why.textContent = same.length || !this.isDrawn ? "" : `No difference can be drawn: ${mine.length ? "rows and columns of A and B are not the same" : "there is no matrix here"}.`;
  }

  /** A cell that is looked at on one side is looked at on the other, and both numbers are told. */
  look(place, event) {
    const matrix = matrixOf(event.target);
    const partner = this.partners.get(matrix);
    const [r, c] = event.detail;
    if (!partner || r >= partner.data.rows || c >= partner.data.columns) return this.told.replaceChildren();
    partner.move(r, c, true);
    const [one, other] = place === 0 ? [matrix, partner] : [partner, matrix];
    const value = (each) => (each.data.own || each.data).values[r * each.data.columns + c];
    const labels = [[one, other][place].data.rowLabels[r], [one, other][place].data.columnLabels[c]];
    return this.told.replaceChildren(bold(labels[0]), " · ", bold(labels[1]),
      ` A ${short(value(one))}, B ${short(value(other))}, difference ${short(value(other) - value(one))}`);
  }
}

function differenceOf(base, own) {
  const values = own.values.map((value, place) => value - base.values[place]);
  return { ...own, values, shades: null, largest: largestOf(values), signed: true, differs: base, own };
}

