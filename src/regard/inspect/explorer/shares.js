// Shares as bars, each behind the text that it belongs to.
import { button, isolated, make, percent } from "./dom.js";

/** A text with its share as a bar, or with `parts` of it as bars one after the other, each in a color of its own (that of
 * `part`, if there is but one), and what is `said` instead of the share in percent; a button if it can be chosen. */
export function bar(text, share, { parts = [share], part = 0, said = percent(share), onchoose, ...attributes } = {}) {
  let left = 0;
  const { class: name = "candidate", ...rest } = attributes;
  const looks = { ...rest, class: parts.length > 1 ? `${name} several` : name };
  const bars = parts.map((size, number) => {
    const strip = make("span", { class: `bar part-${part + number}` });
    strip.style.insetInlineStart = `${100 * left}%`;
    strip.style.width = `${Math.min(100, Math.max(number ? 0 : 1, 100 * size))}%`;
    left += size;
    return strip;
  });
  const content = [...bars, typeof text === "string" ? isolated(text) : text, make("span", { class: "chance" }, said)];
  return onchoose ? button(content, onchoose, looks) : make("div", looks, ...content);
}

/** Bars below each other. */
export const bars = (label, ...rows) => make("div", { class: "bars", role: "group", "aria-label": label }, ...rows);

/** Texts with their shares as bars, of a row of an array that has both; `lit` is the text that was chosen, and `onchoose`
 * gets one that is. */
export function ranked(label, { texts, values, shape }, { row = 0, lit, said, onchoose } = {}) {
  const count = shape[shape.length - 1];
  return bars(label, ...texts.slice(row * count, (row + 1) * count).map((text, rank) => {
    const value = Number(values[row * count + rank]);
    return bar(text, Math.max(0, value), { class: text === lit ? "candidate lit" : "candidate", said: said?.(value), onchoose: onchoose && (() => onchoose(text)) });
  }));
}
