// What is being looked at. It stands in the address, so that a link restores it.

const PLAIN = { model: "", into: "", text: "", target: "", prefix: "", beam: 5, view: "", tap: "", head: "mean",
  over: "", words: false, place: 0, step: 0, spot: [867, 5709], changes: [], against: "", difference: false, other: {},
  unit: -1, move: -1, color: "", without: [], written: [], temperature: 1, sample: 0,
  vectors: "", placed: [], word: "", top: 300, projection: "", sum: "" };

/** What each of two models that are compared has for itself. */
export const OWN = ["model", "into", "tap", "head", "over", "changes", "written", "vectors", "placed"];

/** What the models are asked with, which both have anew when it changes. */
const ASKED = ["model", "into", "text", "target", "prefix", "beam", "view", "changes", "against", "difference", "other"];
const FOLLOWED = Object.keys(PLAIN).filter((name) => !ASKED.includes(name));

/** What is looked at in what was answered. */
export const lookingAt = (own) => Object.fromEntries(FOLLOWED.map((name) => [name, own[name]]));

/** The model is compared with itself, as it is with the changes. */
export const CHANGED = "changed";

export const state = structuredClone(PLAIN);

/** The state of the second of two models: its own where they may differ, and otherwise that of the first. */
export function otherState() {
  if (state.against === CHANGED) return state;
  const own = { ...Object.fromEntries(OWN.map((name) => [name, structuredClone(PLAIN[name])])), model: state.against };
  for (const name of OWN.slice(1)) if (typeof state.other[name] === typeof own[name]) own[name] = state.other[name];
  return new Proxy(state, {
    get: (_, name) => (OWN.includes(name) ? own : state)[name],
    set: (_, name, value) => {
      (OWN.includes(name) ? own : state)[name] = value;
      state.other = Object.fromEntries(OWN.slice(1).filter((each) => differs(own[each], PLAIN[each])).map((each) => [each, own[each]]));
      return true;
    },
  });
}

export const differs = (one, other) => JSON.stringify(one) !== JSON.stringify(other);

/** The address of what is being looked at: everything that is not as it was at the beginning. */
export function link() {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (differs(value, PLAIN[name])) said.set(name, typeof PLAIN[name] === "string" ? value : JSON.stringify(value));
  }
  return `#${said}`;
}

/** Takes over what an address says; what is none of ours is left out. */
export function restore(address) {
  const said = new URLSearchParams(address.replace(/^#/, ""));
  for (const [name, plain] of Object.entries(PLAIN)) {
    state[name] = structuredClone(plain);
    if (!said.has(name)) continue;
    if (typeof plain === "string") {
      state[name] = said.get(name);
      continue;
    }
    try {
      const value = JSON.parse(said.get(name));
      if (value !== null && typeof value === typeof plain && Array.isArray(value) === Array.isArray(plain)) state[name] = value;
    } catch {
      // Not a link of this page: as it was.
    }
  }
}

export function remember() {
  const address = link();
  if (address !== location.hash) history.replaceState(null, "", address);
}
